"""Instances: what they hold, what they refuse, their keys, and the Lai-Robbins limit."""

import dataclasses
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from heavybandits.engine.arms import draw_noise
from heavybandits.world.environments import (
    delta_cauchy,
    delta_gaussian,
    env1,
    env2,
    env3,
    gaussian_env1,
    gaussian_env2,
    gaussian_env3,
    instances,
)
from heavybandits.world.instances import Instance
from heavybandits.world.noises import (
    Cauchy,
    CauchyPareto,
    Empirical,
    Frechet,
    Gaussian,
    Laplace,
    Mixture,
    Noise,
    Pareto,
    ScipyNoise,
    StudentT,
    ZeroInflated,
)

Floats = NDArray[np.float64]


class Plain:
    """A user's noise that offers the least, and whose ``repr`` is an address."""

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.uniform(-1, 1, size)


class Tuple(NamedTuple):
    """A user's noise that is a sequence, too."""

    df: float = 1.5

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.standard_t(self.df, size)


class CountingCauchy(Cauchy):
    """Cauchy noise that remembers what it was asked."""

    asked: list[float] = []  # noqa: RUF012

    def kl_shift(self, d: float) -> float:
        self.asked.append(d)
        return super().kl_shift(d)


def limit(instance: Instance, horizon: int) -> float:
    found = instance.lai_robbins(horizon)
    assert found is not None
    return found


def constant(instance: Instance) -> float:
    return limit(instance, 10_000) / math.log(10_000)


def test_what_an_instance_holds() -> None:
    instance = Instance(means=[0, 3, 1, 3], noise=Cauchy(2))
    assert instance.means.dtype == np.float64
    assert instance.means.tolist() == [0.0, 3.0, 1.0, 3.0]
    assert instance.gaps.tolist() == [3.0, 0.0, 2.0, 0.0]
    assert (instance.n_arms, instance.best_arm) == (4, 1)
    assert instance.noise == Cauchy(2.0)
    assert instance.noises == (Cauchy(2.0),) * 4
    assert instance.shared_noise
    assert repr(instance) == "Instance(means=array([0., 3., 1., 3.]), noise=Cauchy(scale=2.0))"


def test_a_noise_per_arm() -> None:
    given = [Cauchy(1), Gaussian(2)]
    instance = Instance([0, 1], given)
    given.clear()
    assert instance.noises == instance.noise == (Cauchy(1.0), Gaussian(2.0))
    assert not instance.shared_noise
    assert Instance([0, 1], [Cauchy(), Cauchy(1)]).shared_noise
    assert not Instance([0, 1], [Cauchy(1), Cauchy(2)]).shared_noise


def test_any_object_that_samples_is_a_noise() -> None:
    for noise in (Plain(), Tuple(2.5)):
        instance = Instance([0, 1], noise)
        assert instance.noises == (noise, noise)
        assert instance.shared_noise
    assert Instance([0, 1], (Tuple(), Tuple(3.0))).noises == (Tuple(1.5), Tuple(3.0))


def test_an_instance_cannot_be_changed() -> None:
    means = np.array([0.0, 1.0])
    instance = Instance(means, Cauchy())
    means[0] = 5.0
    assert instance.means.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        instance.means[0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.means = means  # type: ignore[misc]


@pytest.mark.parametrize(
    ("means", "noise", "error", "message"),
    [
        ([], Cauchy(), ValueError, "means must be a sequence of at least one number, got []"),
        (3.0, Cauchy(), ValueError, "means must be a sequence of at least one number, got 3.0"),
        ([[1, 2], [3, 4]], Cauchy(), ValueError, "means must be a sequence of at least one number, got [[1, 2]"),
        ([[1], [3, 4]], Cauchy(), ValueError, "means must be a sequence of at least one number, got [[1], [3"),
        ([0, math.nan], Cauchy(), ValueError, "Instance: means must be finite, got [0, nan]"),
        ([0, math.inf], Cauchy(), ValueError, "Instance: means must be finite, got [0, inf]"),
        (["0", "1"], Cauchy(), TypeError, "Instance: means must be numbers, got ['0', '1']"),
        ([True, False], Cauchy(), TypeError, "Instance: means must be numbers, got [True, False]"),
        ([0, None], Cauchy(), TypeError, "Instance: means must be numbers, got [0, None]"),
        ([0, 1], 3, TypeError, "noise must be an object with a method sample(rng, size), got 3"),
        ([0, 1], "cauchy", TypeError, "noise must be an object with a method sample(rng, size), got 'cauchy'"),
        ([0, 1], [Cauchy(), None], TypeError, "noise must be an object with a method sample(rng, size), got None"),
        ([0, 1], Cauchy, TypeError, "noise must be an object with a method sample(rng, size), got <class"),
        ([0, 1], scipy.stats.t(3), TypeError, "wrap a law of SciPy in hb.ScipyNoise"),
        ([0, 1], [Cauchy()] * 3, ValueError, "Instance: needs one noise per arm, got 3 for 2 arms"),
    ],
)
def test_refusals(means: Any, noise: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        Instance(means, noise)
    assert message in str(caught.value)


# Keys


def test_key_is_the_same_for_ever() -> None:
    assert env1(Cauchy()).key == "09ad65e34163256f033f3c1309575be294f4cd8f2ab5a73bf4f6b5ba87ffd1d2"
    instance = Instance([0, 0.1], [Cauchy(), Mixture([0.5, 0.5], [Gaussian(), Laplace()])])
    assert instance.key == "0f7a35a5c50b487b2e32bcfd01c86592371b0fe88f17d05bf4b2c82712813697"


def test_equal_instances() -> None:
    instance = Instance([0, 1], Cauchy())
    for same in (Instance((0.0, 1.0), Cauchy(1)), Instance(np.array([-0.0, 1]), [Cauchy(), Cauchy()])):
        assert same == instance
        assert hash(same) == hash(instance)
        assert same.key == instance.key
    copy = pickle.loads(pickle.dumps(instance))
    assert copy == instance
    assert instance != "instance"


def test_keys_tell_instances_apart() -> None:
    different = [
        Instance([0, 1], Cauchy()),
        Instance([1, 0], Cauchy()),
        Instance([0, 1, 1], Cauchy()),
        Instance([0, 1 + 2**-52], Cauchy()),
        Instance([0, 1], Cauchy(2)),
        Instance([0, 1], Gaussian()),
        Instance([0, 1], [Cauchy(), Gaussian()]),
        Instance([0, 1], [Gaussian(), Cauchy()]),
        Instance([0, 1], Plain()),
        Instance([0, 1], Plain(scale=1)),
        Instance([0, 1], Plain(scale=2)),
        Instance([0, 1], Plain(table=np.zeros(2000))),
        Instance([0, 1], Plain(table=np.arange(2000) == 1000)),
        Instance([0, 1], Plain(table=np.arange(2000) == 1001)),
        Instance([0, 1], Plain(transform=math.sinh)),
        Instance([0, 1], Plain(transform=constant)),
        Instance([0, 1], Plain(transform=[constant])),
        Instance([0, 1], Plain(transform={"a": constant})),
        Instance([0, 1], Plain(inner=Plain(scale=1))),
        Instance([0, 1], Plain(inner=Plain(scale=2))),
    ]
    assert len({instance.key for instance in different}) == len(different)


def test_key_of_a_noise_without_a_telling_repr() -> None:
    first, second = (Plain(scale=2, inner=Plain(), table=np.arange(5000), transform=constant) for _ in range(2))
    assert repr(first) != repr(second)
    assert Instance([0, 1], first).key == Instance([0, 1], second).key
    assert Instance([0, 1], first) == Instance([0, 1], first) != Instance([0, 1], second)


class Bent:
    """A law with a function in it, which its attributes do not spell out."""

    def __init__(self, bend: Callable[[Floats], Floats]) -> None:
        self.bend = bend

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        return self.bend(rng.random(size))


class Slotted:
    """A law whose parameters are not in a ``__dict__``."""

    __slots__ = ("by",)

    def __init__(self, by: float) -> None:
        self.by = by

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.random(size) + self.by


class Terse(Slotted):
    """A law whose ``repr`` says nothing of its parameters."""

    def __repr__(self) -> str:
        return "Terse()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Terse)

    def __hash__(self) -> int:
        return 1


class Sneaky(Cauchy):
    """A subclass of ours that has more to it than its fields."""

    def sample(self, rng: np.random.Generator, size: Any) -> Floats:
        drawn: Floats = rng.random(size) + float(self.__dict__.get("by", 0.0))
        return drawn


def sneaky(by: float) -> Sneaky:
    made = Sneaky()
    made.__dict__["by"] = by
    return made


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (Bent(lambda u: u), Bent(lambda u: u + 10.0)),
        (Slotted(0.0), Slotted(10.0)),
        (Terse(0.0), Terse(10.0)),
        (sneaky(0.0), sneaky(10.0)),
        (Mixture([1.0], [sneaky(0.0)]), Mixture([1.0], [sneaky(10.0)])),
    ],
    ids=["a lambda inside", "slots", "a terse repr", "a subclass of ours", "inside a mixture"],
)
def test_laws_that_read_alike_are_played_apart(low: Any, high: Any) -> None:
    instance = Instance([0, 0], [low, high])
    assert not instance.shared_noise
    drawn = draw_noise(instance, np.random.default_rng(0), 100)
    assert (drawn[:, 0] < 5).all()
    assert (drawn[:, 1] > 5).all()
    assert instance != Instance([0, 0], low)
    assert Instance([0, 0], low) != Instance([0, 0], high)
    assert len({instance.key, Instance([0, 0], low).key}) == 2
    assert Instance([0, 0], [low, low]).shared_noise
    assert Instance([0, 0], [low, high]) == instance


def test_equal_laws_of_ours_are_shared() -> None:
    pairs: list[tuple[Noise, Noise]] = [
        (Cauchy(2), Cauchy(2.0)),
        (Mixture([0.5, 0.5], [Cauchy(), Gaussian()]), Mixture((0.5, 0.5), (Cauchy(), Gaussian()))),
        (ScipyNoise(scipy.stats.t(3)), ScipyNoise(scipy.stats.t(df=3))),
        (Empirical([1.0, 2.0]), Empirical([2.0, 1.0])),
        (ZeroInflated(0.5, Pareto(2)), ZeroInflated(0.5, Pareto(2.0))),
    ]
    for one, two in pairs:
        assert Instance([0, 1], [one, two]).shared_noise
        assert Instance([0, 1], one) == Instance([0, 1], two)
    assert not Instance(laws=[Empirical([1.0, 2.0]), Empirical([1.0, 2.0], replace=False)]).shared_noise


@pytest.mark.slow
def test_keys_agree_between_processes() -> None:
    script = (
        "from heavybandits.world.instances import Instance\n"
        "class Own:\n"
        "    def __init__(self): self.f = print; self.g = Instance\n"
        "    def sample(self, rng, size): return rng.random(size)\n"
        "pad = [object() for _ in range({})]\n"
        "print(Instance([0, 1], Own()).key)\n"
    )
    run = [
        subprocess.run([sys.executable, "-c", script.format(pad)], capture_output=True, text=True, check=True).stdout
        for pad in (1, 100_000)
    ]
    assert len(run[0].strip()) == 64
    assert run[0] == run[1]


# The Lai-Robbins limit


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (env1(Cauchy()), 26.004479),
        (env2(Cauchy()), 115.369393),
        (env3(Cauchy()), 1081.827389),
        (Instance(np.arange(10) / 50, Cauchy()), 566.243314),
        (env1(Gaussian()), 5.657937),
        (gaussian_env1(), 56.579365),
        (gaussian_env2(), 282.896825),
        (gaussian_env3(), 517.737752),
        (delta_cauchy(0.4), 40.794771),
        (delta_cauchy(2), 11.541560),
        (delta_cauchy(10), 12.277107),
        (delta_gaussian(0.5), 4.0),
    ],
)
def test_lai_robbins_constants(instance: Instance, expected: float) -> None:
    assert constant(instance) == pytest.approx(expected, abs=1e-6)


def test_lai_robbins_grows_with_the_logarithm_of_the_horizon() -> None:
    instance = env2(Cauchy())
    assert instance.lai_robbins(10_000) == pytest.approx(1062.6, abs=0.05)
    assert instance.lai_robbins(100) == pytest.approx(limit(instance, 10_000) / 2)
    assert instance.lai_robbins(1) == 0.0


def test_lai_robbins_of_other_laws() -> None:
    noise = CauchyPareto()
    assert constant(Instance([0, 1, 3], noise)) == pytest.approx(3 / noise.kl_shift(3) + 2 / noise.kl_shift(2))
    assert constant(env1(Frechet())) == 0.0  # one draw near zero rules an arm out


def test_lai_robbins_uses_the_noise_of_the_inferior_arm() -> None:
    assert constant(Instance([0, 1], [Gaussian(3), Cauchy()])) == pytest.approx(1 / (1 / 18))
    assert constant(Instance([0, 1], [Cauchy(), Gaussian(3)])) == pytest.approx(1 / math.log(1.25))


def test_lai_robbins_without_inferior_arms() -> None:
    assert delta_cauchy(0).lai_robbins(1000) == 0.0
    assert Instance([1.0], Plain()).lai_robbins(1000) == 0.0


def test_lai_robbins_is_unknown_for_a_noise_that_only_samples() -> None:
    assert Instance([0, 1], Plain()).lai_robbins(1000) is None
    assert Instance([0, 1, 2], [StudentT(3), Plain(), Cauchy()]).lai_robbins(1000) is None
    assert limit(Instance([0, 1], [Cauchy(), Plain()]), 1000) > 0


def test_lai_robbins_of_a_gap_too_small_to_tell() -> None:
    assert Instance([0, 1e-200], Cauchy()).lai_robbins(1000) == math.inf


def test_divergences_are_computed_once() -> None:
    noise = CountingCauchy()
    instance = Instance([0, 0, 0, 1, 2], noise)
    assert limit(instance, 10) < limit(instance, 100)
    assert sorted(noise.asked) == [1.0, 2.0]


@pytest.mark.parametrize(("horizon", "error"), [(0, ValueError), (-5, ValueError), (9.0, TypeError), (True, TypeError)])
def test_lai_robbins_needs_a_horizon(horizon: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"lai_robbins: horizon must be a positive whole number, got {horizon}"):
        env1(Cauchy()).lai_robbins(horizon)


# The environments of the paper


@pytest.mark.parametrize(
    ("instance", "means", "noise"),
    [
        (env1(StudentT(2)), [float(i) for i in range(10)], StudentT(2)),
        (env2(Frechet()), [i / 10 for i in range(10)], Frechet()),
        (env3(CauchyPareto()), [i / 50 for i in range(100)], CauchyPareto()),
        (gaussian_env1(), [i / 10 for i in range(10)], Gaussian(1)),
        (gaussian_env2(), [i / 50 for i in range(10)], Gaussian(1)),
        (gaussian_env3(), [i / 50 for i in range(100)], Gaussian(1)),
        (delta_gaussian(0.25), [0.0, 0.25], Gaussian(1)),
        (delta_cauchy(10), [0.0, 0.0, 0.0, 0.0, 10.0], Cauchy(1)),
    ],
)
def test_environments(instance: Instance, means: list[float], noise: Noise) -> None:
    assert instance.means.tolist() == means
    assert instance.noise == noise


@pytest.mark.parametrize("make", [delta_gaussian, delta_cauchy])
def test_delta_must_not_be_negative(make: Callable[[float], Instance]) -> None:
    name = make.__name__
    with pytest.raises(ValueError, match=f"{name}: delta must be a non-negative finite number, got -1"):
        make(-1)


def test_registered_names() -> None:
    assert instances() == {
        "env1": env1,
        "env2": env2,
        "env3": env3,
        "gaussian-env1": gaussian_env1,
        "gaussian-env2": gaussian_env2,
        "gaussian-env3": gaussian_env3,
        "delta-gaussian": delta_gaussian,
        "delta-cauchy": delta_cauchy,
    }
