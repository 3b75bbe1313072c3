"""What an instance holds, and what it refuses."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from laws import Plain
from numpy.typing import NDArray

from heavybandits.world.instances import Instance
from heavybandits.world.noises import (
    Cauchy,
    Gaussian,
)

Floats = NDArray[np.float64]


class Tuple(NamedTuple):
    """A user's noise that is also a sequence."""

    df: float = 1.5

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.standard_t(self.df, size)


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
