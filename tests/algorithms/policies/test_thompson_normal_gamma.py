"""Thompson sampling with a normal-gamma posterior draws from it, once it is proper."""

import math

import numpy as np
import pytest
from playing import fed, play, rewards_table

from heavybandits.algorithms.policies.thompson_normal_gamma import ThompsonNormalGamma

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.slow
@pytest.mark.parametrize("prior", [(0.0, 0.0, -1.5, 0.0), (1.0, 2.0, 3.0, 1.5)])
def test_thompson_normal_gamma_draws_from_the_posterior(prior: tuple[float, ...]) -> None:
    from scipy import integrate, stats

    policy = ThompsonNormalGamma(*prior)
    columns = [[0.5, 1.5, 2.0, 0.0, 1.0, 0.7], [1.0, 3.0, -1.0, 2.0, 0.5]]
    state, rng = fed(policy, columns), np.random.default_rng(3)
    mean, weight, shape, rate = prior
    laws = []
    for rewards in columns:
        n, own = len(rewards), float(np.mean(rewards))
        total = rate + np.var(rewards) * n / 2 + weight * n * (own - mean) ** 2 / (2 * (weight + n))
        freedom = 2 * shape + n
        centre = (weight * mean + n * own) / (weight + n)
        laws.append(stats.t(freedom, centre, math.sqrt(2 * total / (freedom * (weight + n)))))
        assert policy.value(state, len(laws) - 1) == pytest.approx(centre)
    chance = integrate.quad(lambda x: laws[0].pdf(x) * laws[1].cdf(x), -60, 60, limit=500)[0]
    assert np.mean([policy.select(state, 11, rng) == 0 for _ in range(5000)]) == pytest.approx(chance, abs=0.02)


def test_thompson_normal_gamma_pulls_until_the_posterior_is_proper() -> None:
    assert [ThompsonNormalGamma(prior_shape=shape).initial_pulls() for shape in (-1.5, -1.0, -0.5, 2.0)] == [
        5, 4, 3, 2,
    ]  # fmt: skip
    assert ThompsonNormalGamma(0.0, 1.0, 1.0, 1.0).initial_pulls() == 0
    arms = play(ThompsonNormalGamma(), rewards_table("normal", 0, 20, 3))
    assert arms[:15].tolist() == [0] * 5 + [1] * 5 + [2] * 5
