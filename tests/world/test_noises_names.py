"""Laws by name and as text, and what they refuse."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from laws import LAWS, each_law

from heavybandits.world.noises import (
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Frechet,
    Gaussian,
    Laplace,
    LogNormal,
    Mixture,
    Noise,
    Pareto,
    ScipyNoise,
    StudentT,
    SymmetricStable,
    make_noise,
    noise_spec,
    noises,
)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Cauchy(-1), ValueError, "Cauchy: scale must be a positive finite number, got -1"),
        (lambda: Cauchy(math.inf), ValueError, "Cauchy: scale must be a positive finite number, got inf"),
        (lambda: Cauchy(10**400), ValueError, "Cauchy: scale must be a positive finite number, got 1000"),
        (lambda: Cauchy(True), TypeError, "Cauchy: scale must be a positive finite number, got True"),
        (lambda: Gaussian(0), ValueError, "Gaussian: scale must be a positive finite number, got 0"),
        (lambda: make_noise("laplace", scale="1"), TypeError, "scale must be a positive finite number, got '1'"),
        (lambda: Frechet(math.nan), ValueError, "Frechet: alpha must be a positive finite number, got nan"),
        (lambda: StudentT(0.0), ValueError, "StudentT: df must be a positive finite number, got 0.0"),
        (lambda: Pareto(1, 0), ValueError, "Pareto: scale must be a positive finite number, got 0"),
        (lambda: LogNormal(-2.0), ValueError, "LogNormal: sigma must be a positive finite number, got -2.0"),
        (lambda: SymmetricStable(2.5), ValueError, "SymmetricStable: alpha must be a number in (0, 2], got 2.5"),
        (lambda: SymmetricStable(0), ValueError, "SymmetricStable: alpha must be a number in (0, 2], got 0"),
        (lambda: CauchyPareto(1.5), ValueError, "CauchyPareto: weight must be a number in [0, 1], got 1.5"),
        (lambda: CauchyExponential(-0.1), ValueError, "CauchyExponential: weight must be a number in [0, 1], got -0.1"),
        (lambda: Mixture([0.5, 0.6], [Cauchy()] * 2), ValueError, "Mixture: weights must have sum 1, got [0.5, 0.6]"),
        (lambda: Mixture([1.0], [Cauchy()] * 2), ValueError, "Mixture: needs one weight per noise, got 1 and 2"),
        (lambda: Mixture([0.0, 1.0], [Cauchy()] * 2), ValueError, "each of weights must be a positive finite number"),
        (lambda: Mixture([], []), ValueError, "Mixture: weights must have sum 1, got []"),
        (lambda: make_noise("mixture", weights=[1], noises=[3]), TypeError, "each of noises must be a Noise, got 3"),
        (lambda: ScipyNoise(scipy.stats.norm), TypeError, "frozen must be a scipy.stats law with its parameters"),
        (lambda: ScipyNoise(Cauchy()), TypeError, "such as scipy.stats.t(df=3), got Cauchy(scale=1.0)"),
        (lambda: ScipyNoise(scipy.stats.multivariate_normal()), TypeError, "frozen must be a scipy.stats law"),
        (lambda: ScipyNoise(scipy.stats.t([2, 3])), TypeError, "ScipyNoise: df must be a finite number, got [2, 3]"),
        (lambda: make_noise("cauchi"), ValueError, "unknown noise 'cauchi'; did you mean 'cauchy'? Known: cauchy, "),
        (lambda: make_noise("zzz"), ValueError, "unknown noise 'zzz'; known: cauchy, frechet, "),
        (lambda: make_noise("cauchy", skale=1), ValueError, "unknown parameter 'skale'; did you mean 'scale'?"),
        (lambda: make_noise("student-t"), ValueError, "student-t: parameter 'df' is missing"),
        (lambda: make_noise("cauchy", scale=-1), ValueError, "Cauchy: scale must be a positive finite number, got -1"),
        (lambda: make_noise("scipy"), ValueError, "scipy: unknown law ''"),
        (lambda: make_noise("scipy", law="norn"), ValueError, "scipy: unknown law 'norn'; did you mean 'norm'?"),
        (lambda: make_noise("scipy", law="t", dg=3), ValueError, "scipy: t cannot be made of {'dg': 3}: "),
    ],
)
def test_refusals(make: Callable[[], Noise], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_parameters_become_floats() -> None:
    noise = Pareto(2, np.float64(3))
    assert repr(noise) == "Pareto(shape=2.0, scale=3.0)"
    assert noise == Pareto(2.0, 3.0)
    assert hash(noise) == hash(Pareto(2.0, 3.0))
    assert noise != Pareto(2.0, 3.5)


@each_law
def test_repr_spells_the_law_out(noise: Noise) -> None:
    if not isinstance(noise, ScipyNoise):
        assert eval(repr(noise)) == noise
    assert [repr(other) for other in LAWS].count(repr(noise)) == 1


def test_scipy_laws_are_equal_whichever_way_they_are_written() -> None:
    noise = ScipyNoise(scipy.stats.t(3, 0, 2))
    assert repr(noise) == "ScipyNoise(t(df=3.0, scale=2.0))"
    assert noise == ScipyNoise(scipy.stats.t(scale=2, df=3.0))
    assert hash(noise) == hash(ScipyNoise(scipy.stats.t(df=3, scale=2)))
    assert noise != ScipyNoise(scipy.stats.t(3))
    assert noise != Cauchy()


def test_scipy_laws_of_the_users_own_are_told_apart() -> None:
    histograms = [scipy.stats.rv_histogram((counts, [0, 1, 2]), density=False)() for counts in ([1, 2], [2, 1], [1, 2])]
    first, second, again = (ScipyNoise(histogram) for histogram in histograms)
    assert first == again
    assert first != second


def test_registered_names() -> None:
    assert list(noises()) == [
        "cauchy", "frechet", "cauchy-exponential", "cauchy-pareto", "gaussian", "student-t", "symmetric-stable",
        "pareto", "log-normal", "laplace", "mixture", "scipy",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("cauchy", {}, Cauchy()),
        ("frechet", {"alpha": 1.25}, Frechet(1.25)),
        ("cauchy-exponential", {"weight": 0.5}, CauchyExponential(0.5)),
        ("cauchy-pareto", {}, CauchyPareto(0.7)),
        ("gaussian", {"scale": 2}, Gaussian(2.0)),
        ("student-t", {"df": 3}, StudentT(3.0)),
        ("symmetric-stable", {"alpha": 1.5, "scale": 2}, SymmetricStable(1.5, 2.0)),
        ("pareto", {"shape": 2}, Pareto(2.0)),
        ("log-normal", {}, LogNormal()),
        ("laplace", {}, Laplace()),
        ("scipy", {"law": "t", "df": 3}, ScipyNoise(scipy.stats.t(3))),
        ("scipy", {"law": "poisson", "mu": 3}, ScipyNoise(scipy.stats.poisson(3))),
    ],
)
def test_make_noise(kind: str, parameters: dict[str, Any], expected: Noise) -> None:
    assert make_noise(kind, **parameters) == expected
    assert type(make_noise(kind, **parameters)) is noises()[kind]


def test_make_nested_mixture() -> None:
    inner = {"kind": "mixture", "weights": [0.5, 0.5], "noises": [{"kind": "cauchy", "scale": 1}, Gaussian()]}
    parts = [inner, {"kind": "pareto", "shape": 2}]
    expected = Mixture([0.9, 0.1], [Mixture([0.5, 0.5], [Cauchy(), Gaussian()]), Pareto(2.0)])
    assert make_noise("mixture", weights=[0.9, 0.1], noises=parts) == expected
    assert parts[0] is inner  # what the caller gave is left as it was


def test_scipy_is_imported_late() -> None:
    script = (
        "import sys, heavybandits.world.noises; sys.exit(any(name.startswith('scipy.stats') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    "noise",
    [
        Cauchy(2.0),
        CauchyPareto(),
        Frechet(1.25),
        StudentT(3.0),
        Mixture([0.9, 0.1], [Gaussian(), Mixture([0.5, 0.5], [Cauchy(), Laplace()])]),
        ScipyNoise(scipy.stats.t(3, scale=2)),
    ],
    ids=repr,
)
def test_a_noise_is_made_again_from_its_description(noise: Noise) -> None:
    spec = noise_spec(noise)
    assert repr(make_noise(**json.loads(json.dumps(spec)))) == repr(noise)


def test_a_noise_of_ones_own_has_no_description() -> None:
    class Mine(Cauchy):
        pass

    with pytest.raises(ValueError, match=r"noise must be one of cauchy, .*, got"):
        noise_spec(Mine())
