"""Keys of instances: equal for equal instances, different for others, and the same for ever."""

import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from laws import Plain
from numpy.typing import NDArray

from heavybandits.engine.arms_game import draw_noise
from heavybandits.world.environments import (
    env1,
)
from heavybandits.world.instances import Instance
from heavybandits.world.noises import (
    Cauchy,
    Empirical,
    Gaussian,
    Laplace,
    Mixture,
    Noise,
    Pareto,
    ScipyNoise,
    ZeroInflated,
)

Floats = NDArray[np.float64]


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
        Instance([0, 1], Plain(transform=sneaky)),
        Instance([0, 1], Plain(transform=[sneaky])),
        Instance([0, 1], Plain(transform={"a": sneaky})),
        Instance([0, 1], Plain(inner=Plain(scale=1))),
        Instance([0, 1], Plain(inner=Plain(scale=2))),
    ]
    assert len({instance.key for instance in different}) == len(different)


def test_key_of_a_noise_without_a_telling_repr() -> None:
    first, second = (Plain(scale=2, inner=Plain(), table=np.arange(5000), transform=sneaky) for _ in range(2))
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
    """A law whose ``repr`` says nothing about its parameters."""

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
