"""The Lai-Robbins limit."""

import math
from typing import Any

import numpy as np
import pytest
from laws import Plain

from heavybandits.world.environments import (
    delta_cauchy,
    delta_gaussian,
    env1,
    env2,
    env3,
    gaussian_env1,
    gaussian_env2,
    gaussian_env3,
)
from heavybandits.world.instances import Instance
from heavybandits.world.noises import (
    Cauchy,
    CauchyPareto,
    Frechet,
    Gaussian,
    StudentT,
)


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
