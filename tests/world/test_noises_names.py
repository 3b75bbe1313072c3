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
from laws import ASYMMETRIC, DISCRETE, LAWS, MIXED, SYMMETRIC

from heavybandits.world.noises import (
    Bernoulli,
    Beta,
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Empirical,
    Exponential,
    Frechet,
    Gaussian,
    Laplace,
    LogNormal,
    Mixture,
    Negative,
    NegativeBinomial,
    Noise,
    Pareto,
    Poisson,
    ScipyNoise,
    Shifted,
    StudentT,
    SymmetricStable,
    ZeroInflated,
    make_noise,
    noise_spec,
    noises,
)
from heavybandits.world.registered import register_noise

DECK = Empirical([1.0, 2.0], replace=False)


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
        (lambda: Bernoulli(1.5), ValueError, "Bernoulli: p must be a number in [0, 1], got 1.5"),
        (lambda: Poisson(0), ValueError, "Poisson: rate must be a number in (0, 9.0072e+15], got 0"),
        (lambda: NegativeBinomial(0, 0.5), ValueError, "NegativeBinomial: n must be a positive finite number, got 0"),
        (lambda: NegativeBinomial(1, 0), ValueError, "NegativeBinomial: p must be a number in (0, 1], got 0"),
        (lambda: NegativeBinomial(1, 1e-300), ValueError, "NegativeBinomial: counts beyond 9007199254740992 must be"),
        (lambda: Beta(0, 1), ValueError, "Beta: a must be a positive finite number, got 0"),
        (lambda: Beta(1, math.inf), ValueError, "Beta: b must be a positive finite number, got inf"),
        (lambda: Exponential(-1), ValueError, "Exponential: scale must be a positive finite number, got -1"),
        (lambda: Shifted(Cauchy(), math.nan), ValueError, "Shifted: by must be a finite number, got nan"),
        (lambda: Negative(3), TypeError, "Negative: law must be a Noise, got 3"),  # type: ignore[arg-type]
        (lambda: ZeroInflated(0, Cauchy()), ValueError, "ZeroInflated: share must be a number in (0, 1], got 0"),
        (lambda: ZeroInflated(1, "x"), TypeError, "ZeroInflated: law must be a Noise, got 'x'"),  # type: ignore[arg-type]
        (lambda: Negative(DECK), ValueError, "Negative: law must be drawn with replacement; use replace=True, got"),
        (lambda: Mixture([1.0], [DECK]), ValueError, "Mixture: each of noises must be drawn with replacement"),
        (lambda: Empirical([]), ValueError, "Empirical: values must be a sequence of at least one number, got []"),
        (lambda: Empirical([[1, 2]]), ValueError, "Empirical: values must be a sequence of at least one number"),
        (lambda: Empirical([1.0, math.nan]), ValueError, "Empirical: values must be finite; leave out missing values"),
        (lambda: Empirical(["a"]), TypeError, "Empirical: values must be numbers, got ['a']"),
        (lambda: Empirical([1, 2], [1]), ValueError, "Empirical: needs one weight per value, got 1 for 2"),
        (lambda: Empirical([1, 2], [1, -1]), ValueError, "Empirical: weights must not be negative, nor all zero"),
        (lambda: Empirical([1, 2], [0, 0]), ValueError, "Empirical: weights must not be negative, nor all zero"),
        (lambda: Empirical([1, 2], [1, 2], False), ValueError, "Empirical: weights need draws with replacement"),
        (
            lambda: make_noise("empirical", values=[1, 2], replace=1),
            TypeError,
            "Empirical: replace must be True or False, got 1",
        ),
        (lambda: make_noise("zero-inflated", share=1, law={"kind": "cauchi"}), ValueError, "unknown noise 'cauchi'"),
        (lambda: make_noise("cauchi"), ValueError, "unknown noise 'cauchi'; did you mean 'cauchy'? Known: bernoulli, "),
        (lambda: make_noise("zzz"), ValueError, "unknown noise 'zzz'; known: bernoulli, beta, "),
        (lambda: make_noise("cauchy", skale=1), ValueError, "unknown parameter 'skale'; did you mean 'scale'?"),
        (lambda: make_noise("student-t"), ValueError, "student-t: parameter 'df' is missing"),
        (lambda: make_noise("cauchy", scale=-1), ValueError, "Cauchy: scale must be a positive finite number, got -1"),
        (lambda: make_noise("scipy"), ValueError, "scipy: unknown law ''"),
        (lambda: make_noise("scipy", law="norn"), ValueError, "scipy: unknown law 'norn'; did you mean 'norm'?"),
        (lambda: make_noise("scipy", law="t", dg=3), ValueError, "scipy: t cannot be made with {'dg': 3}: "),
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


@pytest.mark.parametrize("noise", [*LAWS, *DISCRETE, *MIXED], ids=repr)
def test_repr_spells_the_law_out(noise: Noise) -> None:
    if not isinstance(noise, ScipyNoise):
        assert eval(repr(noise)) == noise
        assert hash(eval(repr(noise))) == hash(noise)
    assert [repr(other) for other in (*LAWS, *DISCRETE, *MIXED)].count(repr(noise)) == 1


def test_much_data_has_a_short_text_that_tells_it_apart() -> None:
    laws = [Empirical(np.arange(1000.0)), Empirical(np.arange(1000.0) + (np.arange(1000) == 500) / 2)]
    laws += [Empirical(np.arange(1000.0), replace=False), Empirical(np.arange(1000.0), weights=np.arange(1, 1001))]
    assert len({repr(law) for law in laws}) == len(set(laws)) == 4
    assert max(len(repr(law)) for law in laws) < 130
    assert laws[0] == Empirical(np.arange(1000.0)[::-1])


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
    assert first == ScipyNoise(histograms[0])
    assert first != again  # they read alike, but the code of either may do anything
    assert first != second


def test_every_law_is_compared_with_its_distribution() -> None:
    tested = {type(law) for law in (*SYMMETRIC, *ASYMMETRIC, *DISCRETE, *MIXED)}
    assert set(noises().values()) <= tested, "tests/laws.py must have an example of each law"


def test_a_name_can_be_registered_once() -> None:
    with pytest.raises(ValueError, match="two classes register the name 'cauchy': Cauchy and Gaussian"):
        register_noise("cauchy")(Gaussian)


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
        ("exponential", {"scale": 2}, Exponential(2.0)),
        ("beta", {"a": 1, "b": 2}, Beta(1.0, 2.0)),
        ("bernoulli", {"p": 0.1}, Bernoulli(0.1)),
        ("poisson", {"rate": 3}, Poisson(3.0)),
        ("negative-binomial", {"n": 3, "p": 0.5}, NegativeBinomial(3.0, 0.5)),
        ("empirical", {"values": [1, 2, 2]}, Empirical([2.0, 1.0, 2.0])),
        ("negative", {"law": {"kind": "pareto", "shape": 2}}, Negative(Pareto(2.0))),
        ("shifted", {"law": {"kind": "cauchy"}, "by": 1}, Shifted(Cauchy(), 1.0)),
        ("zero-inflated", {"share": 0.5, "law": {"kind": "poisson", "rate": 1}}, ZeroInflated(0.5, Poisson(1.0))),
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


@pytest.mark.slow
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
        Empirical(range(100), weights=range(100)),
        ZeroInflated(0.1, Negative(Empirical([1.0, 2.0]))),
    ],
    ids=repr,
)
def test_a_noise_is_made_again_from_its_description(noise: Noise) -> None:
    spec = noise_spec(noise)
    assert repr(make_noise(**json.loads(json.dumps(spec)))) == repr(noise)


def test_a_noise_of_ones_own_has_no_description() -> None:
    class Mine(Cauchy):
        pass

    with pytest.raises(ValueError, match=r"noise must be one of bernoulli, .*, got"):
        noise_spec(Mine())
