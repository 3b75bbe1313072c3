"""UCB: indices, and whole games against a slow reference."""

import math

import pytest
from playing import (
    KINDS,
    best_arm,
    fed,
    play,
    rewards_table,
)

import heavybandits as hb
from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.numerics import saturate
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def test_ucb_indices() -> None:
    columns = [[0.5] * 10, [0.4] * 20, [0.9] * 3]
    for c, expected in [(1.0, (1.336242496, 0.991312740, 2.426762929)), (0.1, (0.583624250, 0.459131274, 1.052676293))]:
        policy = hb.UCB(c=c)
        state = fed(policy, columns)
        assert [index_of(policy, state, arm, 33) for arm in range(3)] == pytest.approx(expected, abs=1e-9)
        assert policy.select(state, 33, None) == 2


def reference_ucb(c: float, table: FloatArray) -> list[int]:
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            level = math.sqrt(2 * math.log(t))
            indices = [means[i] + level * (c / math.sqrt(pulls[i])) for i in range(n_arms)]
            arm = best_arm(indices, pulls)
        reward = saturate(float(table[pulls[arm], arm]))
        pulls[arm] += 1
        means[arm] = saturate(means[arm] * (1 - 1 / pulls[arm]) + reward / pulls[arm])
        arms.append(arm)
    return arms


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 300), (5, 400), (90, 500)])
def test_ucb_plays_as_its_reference(kind: str, n_arms: int, horizon: int) -> None:
    for seed in range(3):
        table = rewards_table(kind, seed, horizon, n_arms)
        for c in (0.0, 0.5):
            assert play(hb.UCB(c=c), table).tolist() == reference_ucb(c, table)
