"""The randomised policies as a family: slow references, invariances, and what holds for all of them."""

import itertools
import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    seeds,
)
from randomised import choose, play, rewards_table, solved
from scipy import optimize

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import carried
from heavybandits.algorithms.policies.ada_tinf import AdaTINF
from heavybandits.algorithms.policies.exp3 import Exp3
from heavybandits.algorithms.policies.htinf import HTINF
from heavybandits.algorithms.policies.inf_clip import INFClip
from heavybandits.algorithms.policies.median_inf import MedianINF
from heavybandits.algorithms.policies.uni_inf import UniINF
from heavybandits.numerics import clip, saturate
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

# Slow references: each is the formula, written with lists.


def reference_exp3(policy: Exp3, n_arms: int, horizon: int) -> Any:
    gamma = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * horizon)))

    def chances(loss: list[float], t: int) -> list[float]:
        weights = [math.exp(gamma / n_arms * (min(loss) - own)) for own in loss]
        return [(1 - gamma) * weight / sum(weights) + gamma / n_arms for weight in weights]

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        loss[arm] -= (min(max(reward, policy.low), policy.high) - policy.low) / (policy.high - policy.low) / x[arm]

    return chances, learn


def reference_tsallis_inf(policy: hb.TsallisINF, n_arms: int, horizon: int) -> Any:
    """Use the paper's scaling: w = 4/(eta (L - z))^2."""
    reduced = policy.estimator == "reduced-variance"

    def eta(t: int) -> float:
        return (4 if reduced else 2) / math.sqrt(t)

    def chances(loss: list[float], t: int) -> list[float]:
        top = min(loss) - 2 / eta(t)
        bottom = min(loss) - 2 * math.sqrt(n_arms) / eta(t)
        z = optimize.brentq(lambda z: sum(4 / (eta(t) * (own - z)) ** 2 for own in loss) - 1, bottom, top, rtol=1e-15)
        return [4 / (eta(t) * (own - z)) ** 2 for own in loss]

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        own = (policy.high - min(max(reward, policy.low), policy.high)) / (policy.high - policy.low)
        for i in range(n_arms):
            baseline = 0.5 if reduced and x[i] >= eta(t) ** 2 else 0.0
            loss[i] += baseline + ((own - baseline) / x[i] if i == arm else 0.0)

    return chances, learn


def reference_htinf(policy: HTINF, n_arms: int, horizon: int) -> Any:
    alpha = 1 + policy.eps

    def eta(t: int) -> float:
        return float(1 / (policy.scale * t ** (1 / alpha)))

    def chances(loss: list[float], t: int) -> list[float]:
        return list(solved(np.array(loss), eta(t), alpha / (alpha - 1)))

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        own = policy.offset - reward
        if abs(own) <= (1 - 2 ** (-(alpha - 1) / (2 * alpha - 1))) / eta(t) * x[arm] ** (1 / alpha):
            loss[arm] += own / x[arm]

    return chances, learn


def reference_ada_tinf(policy: AdaTINF, n_arms: int, horizon: int) -> Any:
    doublings, costs, unit = 0, 0.0, math.sqrt(n_arms * (horizon + 1))

    def chances(loss: list[float], t: int) -> list[float]:
        return list(solved(np.array(loss), 1 / (2.0**doublings * math.sqrt(t)), 2))

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        nonlocal doublings, costs
        own = saturate(policy.offset - reward)
        cost = own
        if abs(own) <= 2.0**doublings * (1 - 2 ** (-1 / 3)) * math.sqrt(t * x[arm]):
            loss[arm] += own / x[arm]
            cost = own * (2 / (2.0**doublings * math.sqrt(t)) * own / math.sqrt(x[arm]))
        costs = saturate(costs + cost)
        if costs > 2.0**doublings * unit:
            doublings = min(1000, max(doublings + 1, math.ceil(math.log2(cost / unit)) + 1))
            costs = cost

    return chances, learn


def reference_inf_clip(policy: INFClip, n_arms: int, horizon: int) -> Any:
    a, scale = policy.eps, policy.scale
    level = scale * (2 * a / (1 - a)) ** (2 / (1 + a)) * (horizon / (8 * n_arms)) ** (1 / (1 + a))
    rate = math.sqrt(2 / (horizon * level ** (1 - a) * scale ** (1 + a)))

    def chances(loss: list[float], t: int) -> list[float]:
        return list(solved(np.array(loss), rate, 2))

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        loss[arm] += clip(policy.offset - reward, level) / x[arm]

    return chances, learn


def reference_uni_inf(policy: UniINF, n_arms: int, horizon: int) -> Any:
    barrier = 4.0

    def chances(loss: list[float], t: int) -> list[float]:
        return list(solved(np.array(loss), 1 / barrier, 1))

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        nonlocal barrier
        own, limit = policy.offset - reward, barrier / (4 * (1 - x[arm]))
        if abs(own) < limit:
            loss[arm] += own / x[arm]
        barrier = math.sqrt(barrier**2 + (clip(own, limit) * (1 - x[arm])) ** 2 / (n_arms * math.log(horizon)))

    return chances, learn


def reference_play(reference: Any, policy: Any, table: FloatArray, seed: int, batch: int = 1) -> Any:
    """Draw arms by cumulative probabilities, play each ``batch`` times, and learn from the median reward."""
    horizon, n_arms = table.shape
    chances, learn = reference(policy, n_arms, horizon)
    loss, arms, rng = [0.0] * n_arms, [], np.random.default_rng(seed)
    for t in range(0, horizon, batch):
        x = chances(loss, t + 1)
        u = rng.random()
        arm = next(i for i, total in enumerate(itertools.accumulate(x)) if u < total)
        arms += [arm] * batch
        rewards = [saturate(float(reward)) for reward in table[t : t + batch, arm]]
        learn(loss, x, t + 1, arm, statistics.median(rewards))
    return arms[:horizon], loss


REFERENCES: list[tuple[Any, Any]] = [
    (Exp3(low=-1, high=2), reference_exp3),
    (hb.TsallisINF(low=-1, high=2), reference_tsallis_inf),
    (hb.TsallisINF(low=-1, high=2, estimator="reduced-variance"), reference_tsallis_inf),
    (HTINF(eps=0.5, scale=2, offset=1), reference_htinf),
    (HTINF(eps=0.3, scale=2, offset=1), reference_htinf),
    (hb.make("opt-tinf", offset=1), reference_htinf),
    (AdaTINF(offset=1), reference_ada_tinf),
    (INFClip(eps=0.5, scale=2, offset=1), reference_inf_clip),
    (UniINF(offset=1), reference_uni_inf),
]


@pytest.mark.parametrize("kind", ["heavy", "coins", "constant", "wild"])
@pytest.mark.parametrize(("policy", "reference"), REFERENCES, ids=[repr(policy) for policy, _ in REFERENCES])
def test_plays_as_its_reference(policy: Any, reference: Any, kind: str) -> None:
    for n_arms in (2, 7):
        table = rewards_table(kind, n_arms, 100, n_arms)
        arms, state = play(policy, table, seed=5)
        expected, loss = reference_play(reference, policy, table, seed=5)
        assert arms == expected
        assert state.draws.loss == pytest.approx(np.array(loss), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["heavy", "coins", "constant", "wild"])
@pytest.mark.parametrize("m", [0, 2])
def test_median_inf_plays_as_inf_on_medians(kind: str, m: int) -> None:
    def reference(policy: MedianINF, n_arms: int, horizon: int) -> Any:
        n_draws = horizon / (2 * m + 1)

        def chances(loss: list[float], t: int) -> list[float]:
            return list(solved(np.array(loss), math.sqrt(2 / n_draws) / policy.scale, 2))

        def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
            loss[arm] += clip(policy.offset - reward, policy.scale * math.sqrt(n_draws)) / x[arm]

        return chances, learn

    policy = MedianINF(m=m, scale=2, offset=1)
    table = rewards_table(kind, m, 300, 3)
    arms, state = play(policy, table)
    expected, loss = reference_play(reference, policy, table, 0, 2 * m + 1)
    assert arms == expected
    assert state.draws.loss == pytest.approx(np.array(loss), rel=1e-9)


# Invariances.

FAMILY: list[Any] = [policy for policy, _ in REFERENCES] + [MedianINF(m=1, scale=2, offset=1)]


def moved(policy: Any, shift: float) -> Any:
    return policy._replace(**{name: getattr(policy, name) + shift
                              for name in ("low", "high", "offset") if name in policy._fields})  # fmt: skip


@pytest.mark.slow
@settings(max_examples=20, derandomize=True)
@given(seeds, st.floats(-50, 50))
def test_a_common_shift_of_rewards_and_offset_changes_nothing(seed: int, shift: float) -> None:
    table = rewards_table("heavy", seed, 60, 4)
    for policy in FAMILY:
        assert play(policy, table)[0] == play(moved(policy, shift), table + shift)[0]


@pytest.mark.slow
@settings(max_examples=20, derandomize=True)
@given(seeds, st.integers(-30, 30), st.sampled_from(["heavy", "coins", "wild"]))
def test_scaling_by_a_power_of_two_is_exact(seed: int, power_of_two: int, kind: str) -> None:
    """This leaves out the policies whose scale is fixed at the start."""
    a = 2.0**power_of_two
    table = rewards_table(kind, seed, 60, 4)
    for policy in FAMILY:
        if "low" in policy._fields or "scale" in policy._fields:
            fields = {name: a * getattr(policy, name)
                      for name in ("low", "high", "offset", "scale") if name in policy._fields}  # fmt: skip
            (one, state), (two, scaled) = play(policy, table), play(policy._replace(**fields), a * table)
            assert one == two
            unit = 1.0 if "low" in policy._fields else a
            assert (unit * state.draws.loss).tolist() == scaled.draws.loss.tolist()
            assert state.draws.chance.tolist() == scaled.draws.chance.tolist()


@pytest.mark.slow
@settings(max_examples=10, derandomize=True)
@given(seeds, st.permutations(range(5)))
def test_permuted_arms_have_permuted_probabilities(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    table, arms = rewards_table("heavy", seed, 40, 5), rng.integers(5, size=40)
    for policy in FAMILY:
        one, two = policy.init(5, 40), policy.init(5, 40)
        for t, arm in enumerate(arms):
            chance, permuted = choose(policy, one, t), choose(policy, two, t)
            assert np.allclose(chance[order], permuted, rtol=1e-9, atol=0.0)
            policy.update(one, arm, table[t, arm])
            policy.update(two, order.index(arm), table[t, arm])


@pytest.mark.slow
@settings(max_examples=15, derandomize=True)
@given(seeds)
def test_probabilities_sum_to_one_whatever_the_rewards(seed: int) -> None:
    table = rewards_table("wild", seed, 80, 5)
    for policy in FAMILY:
        _, state = play(policy, table, seed)
        chance = choose(policy, state, 80)
        assert math.fsum(chance) == pytest.approx(1.0, abs=1e-13)
        assert chance.min() >= 0.0


# Draws.


def test_a_new_arm_is_as_likely_as_the_best() -> None:
    for policy in FAMILY:
        state = policy.init(3, 100)
        state.draws.loss[:] = 5.0, -3.0, 7.0
        grown = carried(state, policy.init(3, 100), policy.init(4, 100), np.array([0, 1, 2]))
        assert grown.draws.loss.tolist() == [5.0, -3.0, 7.0, -3.0]
        chance = choose(policy, grown, 50)
        assert chance[3] == chance[1] == chance.max() > chance[0]


# Heavy tails.


@pytest.mark.parametrize(
    ("policy", "noise"),
    [
        *((policy, hb.StudentT(1.8)) for policy in FAMILY),
        (MedianINF(m=2, scale=2, offset=2), hb.Cauchy(0.5)),
    ],
    ids=repr,
)
def test_the_best_arm_is_found(policy: Any, noise: Any) -> None:
    """Choosing at random would pull it in a third of the rounds."""
    policy = policy._replace(offset=2.0) if "offset" in policy._fields else policy._replace(low=-8.0, high=8.0)
    rng = np.random.default_rng(1)
    table = np.array([0.0, 2.0, 0.0]) + noise.sample(rng, 3 * 2000).reshape(2000, 3)
    arms, _ = play(policy, table)
    assert arms[1000:].count(1) > 600


# What is proved for any rewards.


@pytest.mark.slow
@pytest.mark.parametrize("policy", FAMILY[:3], ids=repr)
def test_regret_is_within_the_bound_where_arms_lure(policy: Any) -> None:
    """All arms but one are perfect for a quarter of the time, then worthless; choosing at random loses 825."""
    policy, n_arms, horizon = policy._replace(low=0.0, high=1.0), 4, 2000
    table = np.zeros((horizon, n_arms))
    table[: horizon // 4] = 1.0
    table[:, 2] = 0.8
    best = table.sum(axis=0).max()
    regrets = [best - table[range(horizon), play(policy, table, seed)[0]].sum() for seed in range(3)]
    if isinstance(policy, Exp3):
        assert np.mean(regrets) < 2 * math.sqrt((math.e - 1) * horizon * n_arms * math.log(n_arms))
    else:
        assert np.mean(regrets) < 4 * math.sqrt(n_arms * horizon) + 1


# Bad input.


@pytest.mark.parametrize("policy", [Exp3(), *FAMILY[6:]], ids=repr)
def test_a_missing_horizon_is_named(policy: Any) -> None:
    with pytest.raises(
        ValueError, match=r"\A[A-Z][A-Za-z3]+: its \w+ is tuned to a horizon, so horizon must be given, got None\Z"
    ):
        policy.init(2, None)
