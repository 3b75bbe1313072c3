"""The classical policies play as their slow references do, and forget and break ties as documented."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playing import KINDS, fed, play, rewards_table

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import carried
from heavybandits.algorithms.policies._draws import draw_beta, draw_gamma
from heavybandits.algorithms.policies.discounted_ucb import DiscountedUCB
from heavybandits.algorithms.policies.epsilon_greedy import EpsilonGreedy
from heavybandits.algorithms.policies.lb_sda import LBSDA
from heavybandits.algorithms.policies.moss import MOSS
from heavybandits.algorithms.policies.sliding_window_ucb import SlidingWindowUCB
from heavybandits.algorithms.policies.thompson_beta import ThompsonBeta
from heavybandits.algorithms.policies.thompson_normal_gamma import ThompsonNormalGamma
from heavybandits.algorithms.policies.ucb_tuned import UCBTuned
from heavybandits.numerics import SUMMABLE, clip, saturate
from heavybandits.protocols import FloatArray

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


def reference_lb_sda(table: FloatArray, memory: float) -> list[int]:
    horizon, n_arms = table.shape
    rewards: list[list[float]] = [[] for _ in range(n_arms)]
    arms: list[int] = []
    kept: list[list[float]] = [[] for _ in range(n_arms)]
    rounds, leader = 0, 0

    def limit() -> float:
        return max(10, math.floor(memory * math.log(max(rounds, 1)) ** 2)) if memory < math.inf else math.inf

    def pull(arm: int) -> None:
        if len(arms) < horizon:
            reward = float(table[len(rewards[arm]), arm])
            rewards[arm].append(reward)
            kept[arm].append(reward)
            if len(kept[arm]) >= 2 * limit():
                kept[arm] = kept[arm][-int(limit()) :]
            arms.append(arm)

    for arm in range(n_arms):
        pull(arm)
    while len(arms) < horizon:
        rounds += 1
        leader = max(range(n_arms), key=lambda a: (len(rewards[a]), sum(rewards[a]), a == leader, -a))
        pulled = []
        for arm in range(n_arms):
            if len(rewards[arm]) < len(rewards[leader]):
                n = int(min(len(kept[arm]), len(kept[leader]), limit()))
                won = sum(kept[arm][-n:]) >= sum(kept[leader][-n:])
                if len(rewards[arm]) <= math.sqrt(math.log(rounds)) or won:
                    pulled.append(arm)
        for arm in pulled or [leader]:
            pull(arm)
    return arms


@pytest.mark.parametrize("memory", [math.inf, 0.5])
@pytest.mark.parametrize("kind", ["normal", "constant", "cauchy"])
def test_lb_sda_plays_as_its_reference(kind: str, memory: float) -> None:
    for seed, n_arms in ((0, 2), (1, 5)):
        table = rewards_table(kind, seed, 300, n_arms)
        assert play(LBSDA(memory), table).tolist() == reference_lb_sda(table, memory)


def test_limited_memory_is_limited() -> None:
    policy = hb.make("lb-sda-limited")
    state = policy.init(2, 3000)
    for reward in np.random.default_rng(0).standard_normal(3000):
        policy.update(state, policy.select(state, 0, None), reward)
    assert state.rewards.size.max() < 2 * math.log(3000) ** 2
    assert state.pulls.max() > 1000


def test_epsilon_greedy_explores_as_often_as_it_says() -> None:
    """Greedy play takes the best of 4 arms; exploration takes each equally often."""
    for policy, t, chance in (
        (EpsilonGreedy(0.2), 10**6, 0.2),
        (EpsilonGreedy(0.0, c=5.0), 50, 0.4),
        (EpsilonGreedy(0.0, c=5.0), 10, 1.0),
        (EpsilonGreedy(0.3, c=5.0), 100, 0.3),
    ):
        state, rng = fed(policy, [[0.0], [3.0], [1.0], [2.0]]), np.random.default_rng(0)
        share = np.bincount([policy.select(state, t, rng) for _ in range(4000)], minlength=4) / 4000
        assert share == pytest.approx([chance / 4, 1 - 0.75 * chance, chance / 4, chance / 4], abs=0.03)


def test_epsilon_greedy_explores_open_arms_only() -> None:
    policy = EpsilonGreedy(1.0)
    state, rng = fed(policy, [[0.0]] * 5), np.random.default_rng(0)
    state.open[:] = [False, True, False, True, True]
    assert {policy.select(state, 9, rng) for _ in range(200)} == {1, 3, 4}


@pytest.mark.parametrize("shape", [0.3, 1.0, 7.5, 400.0])
def test_gamma_numbers_follow_their_law(shape: float) -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    sample = [draw_gamma(rng, shape) for _ in range(4000)]
    assert stats.kstest(sample, stats.gamma(shape).cdf).pvalue > 0.01
    other = [draw_beta(rng, shape, 2.0) for _ in range(4000)]
    assert stats.kstest(other, stats.beta(shape, 2.0).cdf).pvalue > 0.01


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


def test_a_window_forgets_removed_arms_and_infinite_rewards() -> None:
    policy = SlidingWindowUCB(window=4)
    state = policy.init(3, None)
    for arm, reward in [(0, 1.0), (1, math.inf), (2, 5.0), (2, 7.0), (1, 2.0)]:
        policy.update(state, arm, reward)
    state = carried(state, policy.init(3, None), policy.init(3, None), np.array([1, 2]))
    assert [policy.value(state, arm) for arm in (0, 1)] == [SUMMABLE / 2, 6.0]
    assert math.isnan(policy.value(state, 2))
    for arm in (1, 1, 2):
        policy.update(state, arm, 3.0)
    assert [policy.value(state, arm) for arm in (0, 1, 2)] == [2.0, 3.0, 3.0]
    assert state.window.size.tolist() == [1, 2, 1]


def test_moss_needs_a_horizon_unless_it_is_anytime() -> None:
    with pytest.raises(ValueError, match="MOSS: needs a horizon, or anytime=True"):
        MOSS().init(2, None)
    assert hb.make("moss-anytime").init(2, None).horizon[0] == 0


def test_of_coins_that_always_fall_heads_kl_ucb_plays_the_one_seen_less() -> None:
    """All their indices are 1, whatever the pulls."""
    for order in ([3, 1, 2], [1, 2, 3], [2, 3, 1]):
        state = fed(hb.KLUCB(), [[1.0] * pulls for pulls in order])
        assert hb.KLUCB().select(state, 6, None) == order.index(1)
