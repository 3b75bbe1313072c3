"""KL-UCB for coins, counts and waiting times: indices, bounds by bisection, games against slow references."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playing import (
    KINDS,
    fed,
    play,
    rewards_table,
)

import heavybandits as hb
from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.algorithms.policies.kl_ucb import bernoulli_bound, exponential_bound, poisson_bound
from heavybandits.algorithms.registry import make, to_spec
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def test_of_coins_that_always_fall_heads_kl_ucb_plays_the_one_seen_less() -> None:
    """All their indices are 1, whatever the pulls."""
    for order in ([3, 1, 2], [1, 2, 3], [2, 3, 1]):
        state = fed(hb.KLUCB(), [[1.0] * pulls for pulls in order])
        assert hb.KLUCB().select(state, 6, None) == order.index(1)


@pytest.mark.parametrize(
    ("c", "expected"), [(0, (0.887908761646, 0.369042655520)), (3, (0.958464787587, 0.600950937639))]
)
def test_kl_ucb_indices(c: float, expected: tuple[float, float]) -> None:
    policy = hb.KLUCB(c=c)
    state = fed(policy, [[0.0, 1.0] * 5, [0.0] * 10, [1.0] * 10])
    assert [index_of(policy, state, arm, 100) for arm in range(3)] == pytest.approx((*expected, 1.0), abs=1e-12)
    assert index_of(policy, state, 0, 2) == bernoulli_bound(0.5, math.log(2) / 10)  # ln ln 2 is negative: left out
    moved = hb.KLUCB(low=-3, high=5, c=c)
    state = fed(moved, [[-3.0, 5.0] * 5, [-math.inf] * 10])
    back = [(index_of(moved, state, arm, 100) + 3) / 8 for arm in range(2)]
    assert back == pytest.approx(expected, abs=1e-12)


def test_kl_indices_of_location_families() -> None:
    """For normal noise the KL index is UCB's; the Cauchy radius inverts the Cauchy divergence."""
    policy = hb.UCB(c=1)
    assert index_of(policy, fed(policy, [[0.5] * 10]), 0, 100) == pytest.approx(1.459705182438, abs=1e-12)
    for n, radius in [(10, 1.529566203158), (100, 0.434182210833)]:
        assert n * hb.Cauchy().kl_shift(radius) == pytest.approx(math.log(100), rel=1e-9)


@pytest.mark.slow
@settings(max_examples=300, derandomize=True)
@given(st.one_of(st.floats(0, 1), st.floats(0, 1e-6)), st.floats(-18, 3), st.booleans())
def test_bernoulli_bound_solves_its_equation(p: float, exponent: float, mirrored: bool) -> None:
    """It agrees with bisection on the divergence written with log1p, which is exact to the last digits."""
    p = 1.0 - p if mirrored else p
    budget = 10.0**exponent
    bound = bernoulli_bound(p, budget)
    assert p <= bound <= 1.0
    if 1e-300 < p < 1.0:
        low, high = 0.0, 1.0 - p
        for _ in range(200):
            x = 0.5 * (low + high)
            below = x < 1.0 - p and -p * math.log1p(x / p) - (1.0 - p) * math.log1p(-x / (1.0 - p)) <= budget
            low, high = (x, high) if below else (low, x)
        assert bound == pytest.approx(p + low, abs=3e-16)
    if p > 1e-3 and bound < 1 - 1e-3 and exponent > -6:
        divergence = p * math.log(p / bound) + (1.0 - p) * math.log((1.0 - p) / (1.0 - bound))
        assert divergence == pytest.approx(budget, rel=1e-6)


def reference_kl_ucb(policy: hb.KLUCB, table: FloatArray) -> list[int]:
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            threshold = math.log(t) + (policy.c * math.log(math.log(t)) if t >= 3 else 0.0)
            bounds = [bernoulli_bound(means[i], threshold / pulls[i]) for i in range(n_arms)]
            arm = max(range(n_arms), key=lambda i: (bounds[i], -pulls[i], -i))
        reward = min(max(float(table[pulls[arm], arm]), policy.low), policy.high)
        pulls[arm] += 1
        scaled = (reward - policy.low) / (policy.high - policy.low)
        means[arm] = min(max(means[arm] * (1 - 1 / pulls[arm]) + scaled / pulls[arm], 0.0), 1.0)
        arms.append(arm)
    return arms


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 300), (5, 400), (30, 400)])
def test_kl_ucb_plays_as_its_reference(kind: str, n_arms: int, horizon: int) -> None:
    for seed in range(3):
        table = rewards_table(kind, seed, horizon, n_arms)
        for policy in (hb.KLUCB(), hb.KLUCB(low=-1, high=2, c=3)):
            assert play(policy, table).tolist() == reference_kl_ucb(policy, table)


def poisson_divergence(p: float, q: float) -> float:
    return q - p + (p * math.log(p / q) if p > 0.0 else 0.0)


def exponential_divergence(p: float, q: float) -> float:
    return p / q - 1.0 - math.log(p / q) if p > 0.0 else math.inf


Divergence = Callable[[float, float], float]


FAMILIES: dict[str, tuple[Divergence, Callable[[float, float], float]]] = {
    "poisson": (poisson_divergence, poisson_bound),
    "exponential": (exponential_divergence, exponential_bound),
}


def bisected(divergence: Divergence, p: float, budget: float) -> float:
    """Return the largest q with a divergence of at most the budget, slowly."""
    low, high = p, p + 1.0
    while divergence(p, high) <= budget:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle > low and divergence(p, middle) <= budget else (low, middle)
    return low


@pytest.mark.parametrize("family", FAMILIES)
@given(st.floats(1e-3, 1e4), st.floats(1e-4, 30.0))
def test_bounds_solve_their_equations(family: str, p: float, budget: float) -> None:
    divergence, bound = FAMILIES[family]
    assert math.isclose(bound(p, budget), bisected(divergence, p, budget), rel_tol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
@given(st.floats(0.0, 1e300), st.floats(0.0, 1e4))
@example(1.0, 4e-33)
def test_bounds_are_not_below_the_mean(family: str, p: float, budget: float) -> None:
    assert FAMILIES[family][1](p, budget) >= p


def test_bounds_at_the_ends() -> None:
    assert poisson_bound(0.0, 0.7) == 0.7
    assert poisson_bound(1e-310, 0.7) == 0.7
    assert exponential_bound(0.0, 0.7) == 0.0
    assert poisson_bound(2.0, 0.0) == exponential_bound(2.0, 0.0) == 2.0


def reference(family: str, c: float, table: FloatArray) -> list[int]:
    """Play by computing the index of every arm in every round."""
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            threshold = math.log(t) + (c * math.log(math.log(t)) if t >= 3 else 0.0)
            shown = [
                max(m, max(means) / (n + 1)) if family == "exponential" else m
                for m, n in zip(means, pulls, strict=True)
            ]
            bounds = [FAMILIES[family][1](shown[i], threshold / pulls[i]) for i in range(n_arms)]
            arm = max(range(n_arms), key=lambda i: (bounds[i], -pulls[i], -i))
        reward = max(float(table[pulls[arm], arm]), 0.0)
        pulls[arm] += 1
        means[arm] = means[arm] * (1 - 1 / pulls[arm]) + reward / pulls[arm]
        arms.append(arm)
    return arms


def rewards(family: str, seed: int, horizon: int, n_arms: int) -> FloatArray:
    """Return a table of rewards of the family; a few are negative, which it does not allow."""
    rng = np.random.default_rng(seed)
    means = rng.exponential(size=n_arms)
    drawn = rng.poisson(means, (horizon, n_arms)) if family == "poisson" else rng.exponential(means, (horizon, n_arms))
    return np.where(rng.random((horizon, n_arms)) < 0.03, -1.0, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n_arms", "c"), [(2, 0.0), (5, 3.0), (30, 0.0)])
def test_other_families_play_as_their_reference(family: str, n_arms: int, c: float) -> None:
    for seed in range(3):
        table = rewards(family, seed, 400, n_arms)
        assert play(hb.make("kl-ucb", c=c, family=family), table).tolist() == reference(family, c, table)


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_and_interpreted_agree(family: str) -> None:
    hb.check_policy(hb.make("kl-ucb", family=family))


@pytest.mark.parametrize("first", [(0.0,), (0.0, 0.0), (1e-9,), (0.0, 1e-9), (1e-3,), (0.0, 0.01)])
@pytest.mark.parametrize("better", [1.5, 4.0])
def test_an_arm_whose_first_waiting_times_are_zero_or_tiny_is_tried_again(
    first: tuple[float, ...], better: float
) -> None:
    policy = hb.KLUCB(family="exponential")
    for seed in range(20):
        table = np.random.default_rng(seed).exponential([1.0, better], (400, 2))
        table[: len(first), 1] = first
        assert np.count_nonzero(play(policy, table)) > 100


def test_an_arm_that_never_pays_is_given_up() -> None:
    table = np.random.default_rng(0).exponential(size=(2000, 2)) * [1.0, 0.0]
    assert np.count_nonzero(play(hb.KLUCB(family="exponential"), table)) < 12


def test_arms_that_never_pay_take_turns() -> None:
    assert np.bincount(play(hb.KLUCB(family="exponential"), np.zeros((30, 3)))).tolist() == [10, 10, 10]


def test_exponential_rewards_may_have_any_scale() -> None:
    table, policy = rewards("exponential", 0, 300, 5), hb.KLUCB(family="exponential")
    assert np.array_equal(play(policy, table), play(policy, table * 2.0**-60))


def test_infinite_and_negative_rewards_are_clipped() -> None:
    for family in FAMILIES:
        policy = hb.make("kl-ucb", family=family)
        state = policy.init(2, None)
        policy.update(state, 0, -math.inf)
        policy.update(state, 1, math.inf)
        assert policy.value(state, 0) == 0.0
        assert 1e300 < policy.value(state, 1) <= index_of(policy, state, 1, 10) < math.inf
        assert policy.select(state, 2, None) == (1 if family == "poisson" else 0)  # zeros get the benefit of the doubt


def test_a_family_is_saved_with_the_agent_and_missing_in_older_files() -> None:
    agent = hb.Agent(hb.KLUCB(c=1.0, family="poisson"), n_arms=3)
    agent.update_many([0, 1, 2, 2], [3.0, 0.0, 7.0, 1.0])
    loaded = hb.Agent.loads(agent.dumps())
    assert loaded.policy == agent.policy
    assert [loaded.select() for _ in range(5)] == [agent.select() for _ in range(5)]
    older = {key: value for key, value in to_spec(hb.KLUCB(c=1.0)).items() if key != "family"}
    assert make(**older) == hb.KLUCB(c=1.0, family="bernoulli")


def test_a_wrong_family_and_a_range_that_a_family_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="KLUCB: family must be one of 'bernoulli', 'poisson', 'exponential', got 'p'"):
        hb.KLUCB(family="p")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="KLUCB: low and high must be left out for the family 'exponential', got low=1"
    ):
        hb.KLUCB(low=1.0, high=2.0, family="exponential")
