"""The propensity of a decision: the probability with which the arm was drawn, for every policy, and with a floor."""

import copy
import hashlib
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.choice.propensity import N_DRAWS
from heavybandits.algorithms.registry import examples
from heavybandits.online.floor import mixed, taken_by_floor
from heavybandits.protocols import is_randomised

ROWS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.6, 0.6]}
WRAPPED = {
    "restarting thompson": hb.Restarting(hb.ThompsonGaussian()),
    "restarting tsallis-inf": hb.Restarting(hb.TsallisINF()),
    "medians of thompson": hb.MeanOfMedians(hb.ThompsonGaussian(), m=1),
    "medians of tsallis-inf": hb.MeanOfMedians(hb.TsallisINF(), m=1),
}
POLICIES = {**{name: hb.make(name, **given) for name, given in examples().items() if name in hb.policies()}, **WRAPPED}
LINEAR = {
    **{name: hb.make(name, **examples().get(name, {})) for name in hb.policies("linear")},
    "median of lin-ts": hb.make("median-of", policy=hb.make("lin-ts"), m=1),
}


def key_of(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def learned(policy: Any, rewards: int = 30, **given: Any) -> hb.Agent:
    """Return an agent of three arms that has played for a while; some decisions are still pending."""
    agent = hb.Agent(policy, arms=["a", "b", "c"], horizon=1000, seed=1, **given)
    rng = np.random.default_rng(2)
    for _ in range(rewards):
        arm = agent.select()
        agent.update(arm, 0.5 + 0.3 * rng.standard_normal() + 0.1 * "abc".index(arm))
    agent.select()
    return agent


def linear_learned(policy: Any, **given: Any) -> hb.LinearAgent:
    agent = hb.LinearAgent(policy, n_features=2, horizon=1000, seed=1, **given)
    rng = np.random.default_rng(2)
    for _ in range(9):
        arm = agent.select(ROWS)
        agent.update(ROWS[arm], 0.3 * rng.standard_normal() + 0.1 * "abc".index(arm))
    return agent


def are_frequencies(chances: list[dict[Any, float]], arms: list[Any]) -> None:
    """Check that arms were drawn as often as their propensities say, which may differ from draw to draw."""
    for arm in chances[0]:
        p = np.array([each[arm] for each in chances])
        drawn = np.array([each == arm for each in arms])
        spread = math.sqrt(float((p * (1.0 - p)).sum()))
        assert abs(float((drawn - p).sum())) <= 4.5 * spread + 1e-9, arm
    for each, arm in zip(chances, arms, strict=True):
        assert sum(each.values()) == pytest.approx(1.0, abs=1e-6)
        assert each[arm] > 0.0


def trials(agent: Any, n: int, *features: Any, **given: Any) -> tuple[list[dict[Any, float]], list[Any]]:
    """Make the next decision again and again, with other keys, and ask for the propensity of each arm under each."""
    contents, chances, arms = agent.dumps(), [], []
    load = type(agent).loads
    for number in range(n):
        key = key_of(number)
        made = load(contents).assign(*features, key=key, **given)
        chances.append({arm: load(contents).assign(*features, arm, key=key, **given).propensity for arm in "abc"})
        assert chances[-1][made.arm] == made.propensity
        arms.append(made.arm)
    return chances, arms


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_propensities_of_arms_are_frequencies(name: str) -> None:
    agent = learned(POLICIES[name])
    are_frequencies(*trials(agent, 120 if agent._rng is not None else 5))


@pytest.mark.slow
@pytest.mark.parametrize("name", LINEAR)
def test_propensities_of_rows_are_frequencies(name: str) -> None:
    agent = linear_learned(LINEAR[name])
    are_frequencies(*trials(agent, 120 if agent._rng is not None else 2, ROWS))


@pytest.mark.parametrize("name", [name for name in POLICIES if is_randomised(POLICIES[name])])
def test_propensities_are_those_among_the_arms_available(name: str) -> None:
    chances, arms = trials(learned(POLICIES[name]), 60, among=["a", "c"])
    are_frequencies(chances, arms)
    assert all(each["b"] == 0.0 for each in chances)


@pytest.mark.parametrize("name", ["ucb", "thompson-beta", "tsallis-inf", "restarting thompson"])
def test_a_floor_is_part_of_the_propensity(name: str) -> None:
    chances, arms = trials(learned(POLICIES[name], floor=0.3), 150)
    are_frequencies(chances, arms)
    assert all(min(each.values()) >= 0.1 * (1.0 - 1e-12) for each in chances)
    chances, arms = trials(learned(POLICIES[name], floor=0.3), 150, among=["a", "c"])
    are_frequencies(chances, arms)
    assert all(each["b"] == 0.0 and min(each["a"], each["c"]) >= 0.15 * (1.0 - 1e-12) for each in chances)


@pytest.mark.parametrize("name", ["lin-ucb", "lin-ts"])
def test_a_floor_is_part_of_the_propensity_of_a_row(name: str) -> None:
    chances, arms = trials(linear_learned(LINEAR[name], floor=0.3), 150, ROWS)
    are_frequencies(chances, arms)
    assert all(min(each.values()) >= 0.1 * (1.0 - 1e-12) for each in chances)


def test_draws_by_shares_have_the_law_of_thompson_sampling() -> None:
    """Two normal posteriors: the lead of one is normal, so its chance is known."""
    agent = hb.Agent(hb.ThompsonGaussian(scale=1.0), n_arms=2, seed=0)
    agent.update_many([0] * 4 + [1] * 4, [0.0] * 4 + [0.5] * 4)
    exact = 0.5 * (1.0 + math.erf(0.5 / math.sqrt(0.5) / math.sqrt(2.0)))
    expected = (N_DRAWS * exact + 0.5) / (N_DRAWS + 1)
    found = [copy.deepcopy(agent).assign(1, key=key_of(number)).propensity for number in range(100)]
    error = math.sqrt(exact * (1.0 - exact) / N_DRAWS / len(found))
    assert np.mean(np.array(found, dtype=float)) == pytest.approx(expected, abs=4.0 * error)


@pytest.mark.parametrize("name", ["thompson-gaussian", "student-thompson", "ape2", "epsilon-greedy"])
def test_an_arm_that_is_due_is_certain(name: str) -> None:
    agent = hb.Agent(POLICIES[name], arms=["a", "b", "c"], horizon=100, seed=0)
    for arm in "abc":
        assert agent.assign() == (arm, arm, 1.0)
        agent.update(arm, 1.0)
    assert 0.0 < agent.assign().propensity < 1.0  # type: ignore[operator]


def test_asking_leaves_no_trace() -> None:
    """A selection after an assignment draws once, as one does after a restart."""
    agent = learned(hb.ThompsonGaussian())
    agent.assign()
    again = hb.Agent.loads(agent.dumps())
    agent.probabilities()
    assert agent.dumps() == again.dumps()
    assert [agent.select() for _ in range(20)] == [again.select() for _ in range(20)]


@hb.policy(randomised=True)
class Overruling(NamedTuple):
    """A policy of one's own that overrules the draws of another, and does not tell how."""

    policy: Any

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return self.policy.init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        arm = self.policy.select(state, t, rng)
        return 0 if rng.random() < 0.5 else arm

    def update(self, state: Any, arm: int, reward: float) -> None:
        self.policy.update(state, arm, reward)


def test_a_policy_that_does_not_tell_has_no_propensity() -> None:
    agent = hb.Agent(Overruling(hb.make("thompson-beta")), n_arms=2, seed=0)
    assert agent.assign().propensity is None
    with pytest.raises(TypeError, match="does not tell the probabilities by which it draws"):
        agent.probabilities()


@pytest.mark.parametrize("policy", [hb.UCB(), hb.ThompsonGaussian(), hb.TsallisINF()])
def test_an_agent_with_a_floor_is_replayed_saved_and_peeked_at(policy: Any) -> None:
    first, again = (learned(policy, floor=0.5) for _ in range(2))
    for number in range(40):
        key = key_of(number) if number % 3 == 0 else None
        if number % 3 == 1:
            again = hb.Agent.loads(again.dumps())
        assert key is not None or first.peek() == first.peek()
        made = first.assign(key=key)
        assert again.assign(made.arm, key=key) == made
        for agent in (first, again):
            agent.update(made.arm, 0.1 * number, propensity=made.propensity)
    assert first.dumps() == again.dumps()
    for _ in range(20):
        assert first.peek() == first.select()


def test_a_linear_agent_with_a_floor_is_saved_and_peeked_at() -> None:
    first = linear_learned(hb.make("lin-ucb"), floor=0.5)
    again = hb.LinearAgent.loads(first.dumps())
    arms = [first.select(ROWS) for _ in range(40)]
    assert [again.select(ROWS) for _ in range(40)] == arms
    assert set(arms) == set(ROWS)
    for _ in range(20):
        assert first.peek(ROWS) == first.select(ROWS)


def test_a_floor_weighs_rewards_by_the_mixture() -> None:
    agent = hb.Agent(hb.TsallisINF(), arms=["a", "b"], seed=0, floor=0.5)
    agent._state.draws.loss[:] = 0.0, 100.0
    made = agent.assign("b")
    assert made.propensity == pytest.approx(0.25, abs=0.01)
    assert agent._awaited.propensities == [(1, [made.propensity])]


@pytest.mark.parametrize("floor", [-0.1, 1.5, math.nan, "much"])
def test_a_floor_is_a_share(floor: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="floor must be a number in"):
        hb.Agent(hb.UCB(), n_arms=2, floor=floor)
    with pytest.raises((TypeError, ValueError), match="floor must be a number in"):
        hb.LinearAgent(hb.make("lin-ucb"), n_features=2, floor=floor)


def test_shares_of_a_floor_are_taken_in_turn() -> None:
    shares = {"a": 0.1, "b": 0.2}
    counts = np.unique([str(taken_by_floor(shares, at)) for at in (np.arange(1000) + 0.5) / 1000], return_counts=True)
    assert dict(zip(*(column.tolist() for column in counts), strict=True)) == {"None": 700, "a": 100, "b": 200}
    assert mixed(shares, "a", 0.5) == pytest.approx(0.1 + 0.7 * 0.5)
    assert mixed(shares, "c", 0.5) == pytest.approx(0.7 * 0.5)
    assert mixed({}, "a", 0.3) == 0.3
    assert mixed(shares, "a", None) is None
