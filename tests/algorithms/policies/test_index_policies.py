"""The classical policies of one index play as their slow references do, and break ties as documented."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from playing import KINDS, fed, play, rewards_table

from heavybandits.algorithms.policies.discounted_ucb import DiscountedUCB
from heavybandits.algorithms.policies.moss import MOSS
from heavybandits.algorithms.policies.sliding_window_ucb import SlidingWindowUCB
from heavybandits.algorithms.policies.ucb_tuned import UCBTuned
from heavybandits.numerics import SUMMABLE, clip, saturate

pytestmark = pytest.mark.usefixtures("silent")


History = list[tuple[int, float]]  # arms and rewards, in order


Index = Callable[[History, int, int, int], float]  # (history, arm, number of arms, horizon) -> index


def rewards_of(history: History, arm: int) -> list[float]:
    return [saturate(reward) for pulled, reward in history if pulled == arm]


def average(values: list[float], weights: list[float] | None = None) -> float:
    """Return the mean as a sum of scaled numbers, so that nothing overflows."""
    weights = weights or [1.0] * len(values)
    total = math.fsum(weights)
    return saturate(math.fsum(value * (weight / total) for value, weight in zip(values, weights, strict=True)))


def moss(history: History, arm: int, n_arms: int, horizon: int) -> float:
    own = rewards_of(history, arm)
    return average(own) + 0.7 * math.sqrt(max(0.0, math.log(horizon / (n_arms * len(own)))) / len(own))


def moss_anytime(history: History, arm: int, n_arms: int, horizon: int) -> float:
    return moss(history, arm, n_arms, len(history))


def ucb_tuned(history: History, arm: int, n_arms: int, horizon: int) -> float:
    own = rewards_of(history, arm)
    mean, log = average(own), math.log(len(history))
    variance = average([min(abs(x / 2 - mean / 2), 1e100) ** 2 for x in own]) + math.sqrt(2 * log / len(own))
    return mean + 2 * math.sqrt(log / len(own) * min(0.25, variance))


def sliding_window(history: History, arm: int, n_arms: int, horizon: int) -> float:
    own = [clip(reward, SUMMABLE) for reward in rewards_of(history[-30:], arm)]
    return average(own) + 0.5 * math.sqrt(0.6 * math.log(min(len(history), 30)) / len(own)) if own else math.inf


def discounted(history: History, arm: int, n_arms: int, horizon: int) -> float:
    weights = [0.95**age for age in range(len(history))][::-1]
    own = [weight for weight, (pulled, _) in zip(weights, history, strict=True) if pulled == arm]
    bonus = math.sqrt(0.6 * math.log(math.fsum(weights)) / math.fsum(own))
    return average(rewards_of(history, arm), own) + 2 * 0.5 * bonus


INDICES: dict[str, tuple[Any, Index]] = {
    "moss": (MOSS(c=0.7), moss),
    "moss-anytime": (MOSS(c=0.7, anytime=True), moss_anytime),
    "ucb-tuned": (UCBTuned(width=2.0), ucb_tuned),
    "sliding-window-ucb": (SlidingWindowUCB(window=30, width=0.5), sliding_window),
    "discounted-ucb": (DiscountedUCB(discount=0.95, width=0.5), discounted),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", INDICES)
def test_an_index_policy_plays_its_highest_index(name: str, kind: str) -> None:
    """It plays each arm once, then the highest index up to rounding; ties go to the arm with the fewest pulls."""
    policy, index = INDICES[name]
    for seed, n_arms in ((0, 2), (1, 5)):
        table = rewards_table(kind, seed, 120, n_arms)
        history: History = []
        for t, arm in enumerate(play(policy, table).tolist()):
            pulls = [sum(pulled == other for pulled, _ in history) for other in range(n_arms)]
            if t < n_arms:
                assert arm == t
            else:
                indices = [index(history, other, n_arms, 120) for other in range(n_arms)]
                largest = max(1.0, *(abs(saturate(reward)) for _, reward in history))
                assert indices[arm] >= max(indices) - 1e-12 * largest
                if kind == "constant":
                    assert indices[arm] > max(indices) - 1e-12
                    tied = [other for other in range(n_arms) if abs(indices[other] - indices[arm]) < 1e-12]
                    assert pulls[arm] == min(pulls[other] for other in tied)
            history.append((arm, float(table[pulls[arm], arm])))


@pytest.mark.parametrize("name", INDICES)
def test_of_equal_indices_the_arm_with_fewer_pulls_is_chosen(name: str) -> None:
    policy = INDICES[name][0]
    state = fed(policy, [[1e200] * 2, [1e200], [1e200]], horizon=100)  # no bonus changes these
    assert policy.select(state, 4, None) == 1
