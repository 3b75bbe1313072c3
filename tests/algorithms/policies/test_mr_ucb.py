"""MR-UCB: its bonus, and whole games against a slow reference."""

import math

import pytest
from means import estimates
from playing import (
    KINDS,
    fed,
    play,
    rewards_table,
)

from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.algorithms.policies.mr_ucb import MRUCB, minimax_width

pytestmark = pytest.mark.usefixtures("silent")


def test_bonus_vector() -> None:
    assert minimax_width(1.0, 1.5, 25, 1000.0) == pytest.approx(1.261579027, abs=1e-9)
    assert minimax_width(1.0, 1.5, 2000, 1000.0) == 0.0
    policy = MRUCB(p=1.5)
    state = fed(policy, [[0.0] * 25] + [[0.0]] * 9, 10_000)
    assert index_of(policy, state, 0, 34) == pytest.approx(1.261579027, abs=1e-9)
    assert float(policy.c * 4 ** (1 / 1.5 - 1)) == pytest.approx(0.629960525, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_arms", [1, 4])
def test_mr_ucb_plays_as_its_reference(kind: str, n_arms: int) -> None:
    """With each arm's estimates computed in advance, the policy must play the highest index by the formula."""
    p, c, horizon = 1.5, 0.5, 200
    table = rewards_table(kind, 5, horizon, n_arms)
    after = [estimates(table[:, arm], p, c) for arm in range(n_arms)]
    pulls, arms = [0] * n_arms, []
    for t in range(horizon):
        bonus = [c * max(0.0, math.log(horizon / n_arms / n)) * n ** (1 / p - 1) if n else math.inf for n in pulls]
        indices = [(after[i][n - 1] if n else 0.0) + bonus[i] for i, n in enumerate(pulls)]
        arm = t if t < n_arms else indices.index(max(indices))
        pulls[arm] += 1
        arms.append(arm)
    assert play(MRUCB(p, c), table).tolist() == arms
