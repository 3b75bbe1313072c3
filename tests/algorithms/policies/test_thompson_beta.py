"""Thompson sampling with a beta posterior draws from it."""

import numpy as np
import pytest
from playing import fed

from heavybandits.algorithms.policies.thompson_beta import ThompsonBeta

pytestmark = pytest.mark.usefixtures("silent")


def test_thompson_beta_draws_from_the_posterior() -> None:
    """Arm 0 is chosen as often as its posterior exceeds the other's."""
    from scipy import integrate, stats

    policy = ThompsonBeta(low=-1.0, high=3.0)
    state = fed(policy, [[-1.0, 3.0, 1.0, 99.0], [3.0, -1.0]])
    assert (state.a.tolist(), state.b.tolist()) == ([3.5, 2.0], [2.5, 2.0])
    one, two = stats.beta(3.5, 2.5), stats.beta(2.0, 2.0)
    chance = integrate.quad(lambda x: one.pdf(x) * two.cdf(x), 0, 1)[0]
    rng = np.random.default_rng(2)
    assert np.mean([policy.select(state, 6, rng) == 0 for _ in range(5000)]) == pytest.approx(chance, abs=0.02)
    assert policy.value(state, 0) == pytest.approx(-1.0 + 4.0 * 3.5 / 6.0)
