"""KL-UCB for counts and waiting times, against bisection and a slow policy."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from playing import play

import heavybandits as hb
from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.algorithms.policies.kl_ucb import exponential_bound, poisson_bound
from heavybandits.algorithms.registry import make, to_spec
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


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
def test_kl_ucb_plays_as_its_reference(family: str, n_arms: int, c: float) -> None:
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
