"""The environments of the paper."""

from collections.abc import Callable

import pytest

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
    Frechet,
    Gaussian,
    Noise,
    StudentT,
)


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
