"""INF-clip: numbers by hand, and the rate that minimises its bound."""

import math

import numpy as np
import pytest
from randomised import choose
from scipy import optimize

from heavybandits.algorithms.policies.inf_clip import INFClip
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def test_inf_clip_numbers() -> None:
    policy = INFClip(eps=0.5, scale=2, offset=0)
    state = policy.init(2, 1000)
    assert state.level[0] == pytest.approx(79.370052598, abs=1e-9)
    assert state.draws.rate[0] == pytest.approx(0.008908987181, abs=1e-12)
    policy.update(state, 0, -5.0)
    assert choose(policy, state, 1).tolist() == pytest.approx([0.468579763, 0.531420237], abs=1e-9)
    for reward in (math.inf, 1e300):
        state = policy.init(2, 1000)
        policy.update(state, 1, reward)
        assert state.draws.loss[1] == pytest.approx(-2 * 79.370052598, abs=1e-8)


def test_inf_clip_minimises_its_bound() -> None:
    n_arms, horizon, eps, scale = 3, 5000, 0.6, 1.7
    state = INFClip(eps=eps, scale=scale, offset=0).init(n_arms, horizon)

    def bound(logs: FloatArray) -> float:
        rate, level = np.exp(logs)
        spread = rate * horizon * math.sqrt(n_arms) * scale ** (1 + eps) * level ** (1 - eps)
        return float(2 * math.sqrt(n_arms) / rate + spread + horizon * scale ** (1 + eps) * level**-eps)

    found = optimize.minimize(bound, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert np.exp(found.x).tolist() == pytest.approx([state.draws.rate[0], state.level[0]], rel=1e-5)
    finite = INFClip(eps=1, scale=scale, offset=0).init(n_arms, horizon)
    assert finite.level[0] == math.inf
    assert finite.draws.rate[0] == pytest.approx(math.sqrt(2 / horizon) / scale)
