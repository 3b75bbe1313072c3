"""Restarts: when they come, what they restore, and that they work with every policy."""

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from playing import play

import heavybandits as hb
from heavybandits.algorithms.parts.choice.pending import ask, find_pending
from heavybandits.algorithms.parts.state.drift import CAPACITY, DRIFT_BETS, THRESHOLD, has_changed, init_detectors
from heavybandits.algorithms.parts.state.tree import arrays, carried, check_state, with_room
from heavybandits.algorithms.policies._probes import PACE, QUIET
from heavybandits.algorithms.policies.epsilon_greedy import EpsilonGreedy
from heavybandits.algorithms.policies.sliding_window_ucb import SlidingWindowUCB
from heavybandits.algorithms.registry import examples
from heavybandits.jit.compiled import compiled
from heavybandits.protocols import FloatArray, IntArray

pytestmark = pytest.mark.usefixtures("silent")


def reference_wealth(rewards: list[float]) -> FloatArray:
    """Return the wealth after the rewards of one arm, from ranks among all earlier ones."""
    wealth = np.ones(len(DRIFT_BETS))
    for n, reward in enumerate(rewards):
        if n >= 5:
            rank = sum(x < reward for x in rewards[:n]) + 0.5 * sum(x == reward for x in rewards[:n]) + 0.5
            wealth = np.maximum(1.0, wealth) * (1.0 + DRIFT_BETS * (2.0 * rank / (n + 1) - 1.0))
    return wealth


@pytest.mark.parametrize("decimals", [0, 9])
def test_the_detector_bets_on_ranks(decimals: int) -> None:
    rewards = np.random.default_rng(1).standard_cauchy(60).round(decimals).tolist()
    detectors = init_detectors(2)
    for n, reward in enumerate(rewards, start=1):
        has_changed(detectors, 1, reward)
        assert detectors.wealth[1] == pytest.approx(reference_wealth(rewards[:n]), rel=1e-12)
    assert detectors.wealth[0].tolist() == [1.0] * len(DRIFT_BETS)


def test_an_alarm_is_the_first_time_the_average_wealth_exceeds_its_threshold() -> None:
    rng = np.random.default_rng(2)
    rewards = [*rng.standard_normal(60), *(4.0 + rng.standard_normal(40))]
    detectors = init_detectors(1)
    alarms = [has_changed(detectors, 0, reward) for reward in rewards]
    expected = [reference_wealth(rewards[:n]).mean() > THRESHOLD for n in range(1, 101)]
    assert alarms == expected
    assert 60 < alarms.index(True) < 90


def test_increasing_maps_of_the_rewards_change_nothing() -> None:
    one, two = init_detectors(1), init_detectors(1)
    for reward in np.random.default_rng(3).standard_normal(300):
        assert has_changed(one, 0, reward) == has_changed(two, 0, math.exp(5.0 * reward) - 3.0)
    assert np.array_equal(one.wealth, two.wealth)


@pytest.mark.slow
def test_the_sample_stays_sorted_and_keeps_its_quantiles() -> None:
    detectors, n = init_detectors(1), 10_000
    for reward in np.random.default_rng(4).permutation(n):
        has_changed(detectors, 0, float(reward))
    size, stride = int(detectors.size[0]), int(detectors.stride[0])
    sample = detectors.sample[0, :size]
    assert CAPACITY // 2 <= size <= CAPACITY
    assert stride == 16
    assert (np.diff(sample) > 0).all()
    assert np.quantile(sample, [0.1, 0.5, 0.9]) / n == pytest.approx([0.1, 0.5, 0.9], abs=0.04)


def feed(policy: Any, state: Any, rewards: FloatArray) -> None:
    for i in range(len(rewards)):
        policy.update(state, 0, rewards[i])


@pytest.mark.slow
@pytest.mark.parametrize(("chance", "seldom"), [(None, 100_000), (0.5, 100_000), (0.02, 60_000)])
def test_false_alarms_are_rare(chance: float | None, seldom: float) -> None:
    """Of continuous rewards only ranks count; rare ones among zeros cause more false alarms."""
    policy, n, runs = hb.Restarting(EpsilonGreedy(0.0)), 20_000, 100
    learn = compiled(feed, policy, policy.init(1, 1), np.zeros(n))
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(runs):
        state, rewards = policy.init(1, 1), rng.random(n)
        learn(policy, state, rewards if chance is None else (rewards < chance).astype(float))
        alarms += int(state.restarts[0])
    assert n * runs / 400_000 < alarms < n * runs / seldom


class Counter(NamedTuple):
    """What the recorder has seen."""

    pulls: IntArray
    clock: IntArray


class Recorder(NamedTuple):
    """A policy that plays arms in turn, and notes the clock."""

    step: int = 1

    def init(self, n_arms: int, horizon: int | None) -> Counter:
        return Counter(np.full(n_arms, 7), np.zeros(1, np.int64))

    def select(self, state: Counter, t: int, rng: Any) -> int:
        state.clock[0] = t
        return t % len(state.pulls)

    def update(self, state: Counter, arm: int, reward: float) -> None:
        state.pulls[arm] += self.step


def test_a_restart_brings_back_the_first_state_and_the_clock() -> None:
    policy = hb.Restarting(Recorder(), every=5)
    state, clocks = policy.init(3, None), []
    for _ in range(12):
        arm = policy.select(state, 99, None)
        clocks.append(int(state.inner.clock[0]))
        policy.update(state, arm, 0.0)
    assert clocks == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert state.restarts[0] == 2
    assert state.inner.pulls.tolist() == [8, 8, 7]
    assert state.initial.pulls.tolist() == [7, 7, 7]


def test_after_a_change_it_plays_as_a_fresh_policy_does() -> None:
    table = np.array([0.0, 1.0, 3.0]) + np.random.default_rng(6).standard_normal((600, 3))
    policy: Any = hb.Restarting(hb.UCB())
    inner: Any = hb.UCB()
    state = policy.init(3, 600)
    for reward in np.random.default_rng(7).standard_normal(200):
        policy.update(state, 2, reward)
    while state.restarts[0] == 0:
        policy.update(state, 2, -9.0)
    fresh, pulls = inner.init(3, 600), np.zeros(3, np.int64)
    for t in range(100):
        arm = policy.select(state, 1000 + t, None)
        assert arm == inner.select(fresh, t, None)
        for one, its in ((policy, state), (inner, fresh)):
            one.update(its, arm, table[pulls[arm], arm])
        pulls[arm] += 1


def test_before_the_first_probe_it_plays_as_the_policy_inside() -> None:
    table = np.array([0.0, 0.5, 1.0]) + np.random.default_rng(8).standard_cauchy((3 * QUIET, 3))
    assert play(hb.Restarting(hb.make("auto")), table).tolist() == play(hb.make("auto"), table).tolist()


@pytest.mark.parametrize("name", sorted(set(hb.policies()) - {"restarting"}))
def test_a_restart_restores_every_policy(name: str) -> None:
    """Everything but the contents of pools is as at first, even if pools have grown."""
    policy = hb.Restarting(hb.make(name, **examples()[name]), every=90)
    state, rng = policy.init(3, 200), np.random.default_rng(9)
    for t in range(90):
        state = with_room(state)
        policy.update(state, int(policy.select(state, t, rng)), float(rng.standard_cauchy()))
    assert state.restarts[0] == 1
    first = dict(arrays(policy.policy.init(3, 200)))
    for path, array in arrays(state.inner):
        if not path.endswith(".records"):
            assert np.array_equal(array, first[path], equal_nan=True), path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb", "auto", "rucb-catoni", "htinf", "thompson-normal-gamma"])
def test_it_keeps_to_the_protocol_around(name: str) -> None:
    hb.check_policy(hb.Restarting(hb.make(name, **examples()[name]), every=40), horizon=200)


def test_arms_may_come_and_go() -> None:
    policy = hb.Restarting(hb.make("rucb-catoni", v=1.0))
    state = policy.init(3, 100)
    for arm in (0, 1, 2, 2):
        policy.update(state, arm, float(arm))
    state = carried(state, policy.init(3, 100), policy.init(2, 100), np.array([0, 2]))
    assert state.inner.pulls.tolist() == state.detectors.seen.tolist() == [1, 2]
    assert state.initial.pulls.tolist() == [0, 0]


def test_never_is_zero() -> None:
    assert hb.Restarting(hb.UCB(), every=None) == hb.Restarting(hb.UCB()) == (hb.UCB(), 0)
    with pytest.raises(ValueError, match="every must be a positive whole number, got -3"):
        hb.Restarting(hb.UCB(), every=-3)


def test_drift_of_an_agent_is_a_policy_that_restarts() -> None:
    agent = hb.Agent(hb.UCB(), n_arms=2, drift=True)
    assert agent.policy == hb.Restarting(hb.UCB())
    assert hb.Agent(hb.UCB(), n_arms=2).policy == hb.UCB()


def settled(n_arms: int = 3, rounds: int = 1000) -> tuple[Any, Any]:
    """Return a restarting policy and its state after its last arm has turned out to be the best."""
    policy: Any = hb.Restarting(hb.UCB())
    state, rng = policy.init(n_arms, None), np.random.default_rng(10)
    for t in range(rounds):
        arm = policy.select(state, t, None)
        policy.update(state, arm, 1.5 * (arm == n_arms - 1) + rng.standard_normal())
    return policy, state


@pytest.mark.slow
def test_an_arm_is_probed_when_it_has_not_been_seen_for_long() -> None:
    """Compare with the rule written out; the policy inside alone would not play the arm again."""
    policy, state = settled()
    rng, probed = np.random.default_rng(11), 0
    for _ in range(3000):
        since, last, seen = int(state.since[0]), state.probes.last.copy(), state.detectors.seen.copy()
        again, turn = int(state.probes.suspect[0]), since % 3
        expected = turn if turn < 2 and (since - last[turn]) * PACE * math.sqrt(max(seen[turn], 3)) >= since else -1
        own = int(policy.policy.select(copy.deepcopy(state.inner), since, None))
        arm = int(policy.select(state, since, None))
        assert arm == (again if again >= 0 else expected if expected >= 0 else own)
        probed += arm == expected
        policy.update(state, arm, 1.5 * (arm == 2) + rng.standard_normal())
    assert 2 < probed < 50


def test_an_arm_that_rises_unseen_is_found() -> None:
    """The policy inside alone would not play it again."""
    policy, state = settled()
    alone = copy.deepcopy(state.inner)
    for one, its in ((policy, state), (policy.policy, alone)):
        rng, arms = np.random.default_rng(12), []
        for t in range(1500):
            arms.append(int(one.select(its, 1000 + t, None)))
            one.update(its, arms[-1], (4.0 if arms[-1] == 0 else 1.5 * (arms[-1] == 2)) + rng.standard_normal())
        assert arms[-500:].count(0) > 450 if one is policy else 0 not in arms


def test_a_probe_that_is_not_ahead_is_not_repeated() -> None:
    policy, state = settled()
    while (arm := policy.select(state, 0, None)) == 2:
        policy.update(state, arm, 5.0)
    policy.update(state, arm, 0.0)
    assert state.probes.suspect[0] == -1
    assert state.probes.looks.tolist() == [0, 0, 0]


def test_a_probe_whose_reward_is_late_is_not_repeated() -> None:
    """It is repeated neither while no rewards come, nor when those of other arms do."""
    policy, state = settled()
    pending, rng, probed = find_pending(state), np.random.default_rng(15), []
    asked = [int(policy.select(state, 0, None)) for _ in range(500)]
    assert asked.count(0) + asked.count(1) <= 1
    for _ in range(100):
        before = state.probes.last.copy()
        arm = int(policy.select(state, 0, None))
        ask(pending, arm)
        if arm == 2:
            policy.update(state, arm, 1.5 + rng.standard_normal())
        else:
            probed += [arm] * (state.probes.last[arm] > before[arm])
    assert probed.count(0) <= 1
    assert probed.count(1) <= 1


def test_probes_heed_which_arms_are_open() -> None:
    agent, rng, chosen = hb.Agent(hb.UCB(), n_arms=3, drift=True), np.random.default_rng(13), set()
    for t in range(4000):
        among = [0, 2] if t % 2 else [1, 2]
        arm = agent.select(among=among)
        assert arm in among
        chosen.add((t > 1000, arm))
        agent.update(arm, 1.5 * (arm == 2) + rng.standard_normal())
    assert chosen >= {(True, 0), (True, 1), (True, 2)}


def test_policies_that_draw_arms_by_chance_are_not_interrupted() -> None:
    assert hb.Restarting(hb.TsallisINF()).init(2, None).probes is None
    assert hb.Restarting(hb.ThompsonGaussian()).init(2, None).probes is not None


def test_an_agent_that_probes_is_saved_and_its_arms_come_and_go() -> None:
    agent, rng = hb.Agent(hb.UCB(), n_arms=4, drift=True), np.random.default_rng(14)

    def play(agent: hb.Agent, rewards: FloatArray) -> list[Any]:
        arms = []
        for reward in rewards:
            arms.append(agent.select())
            agent.update(arms[-1], 1.5 * (arms[-1] == 3) + reward)
        return arms

    play(agent, rng.standard_normal(1000))
    copied, rewards = hb.Agent.loads(agent.dumps()), rng.standard_normal(1000)
    assert play(agent, rewards) == play(copied, rewards)
    agent.remove_arm(0)
    agent.add_arm()
    assert set(play(agent, rng.standard_normal(4000))) == {1, 2, 3, 4}


def test_a_file_with_an_arm_to_probe_that_is_none_is_refused() -> None:
    state: Any = hb.Restarting(hb.UCB()).init(2, None)
    state.probes.suspect[0] = 2
    with pytest.raises(ValueError, match="suspect must be from -1 to 1, got 2"):
        check_state(state, hb.Restarting(hb.UCB()).init(2, None), 2)


@pytest.mark.slow
def test_unseen_rises_cost_half_of_a_window_and_probes_little_where_nothing_changes() -> None:
    policies = {
        "auto": hb.make("auto"),
        "restarting": hb.Restarting(hb.make("auto")),
        **{f"window {window}": SlidingWindowUCB(window) for window in (250, 500, 1000)},
    }
    means = [0.0, 0.5, 1.0, 1.5, 2.0]
    rises = hb.Instance(means=means, noise=hb.Cauchy(), changes={3000: [4.0, 0.5, 1.0, 1.5, 2.0]})
    regret = hb.simulate(rises, policies, horizon=10_000, replications=12, seed=15).summary()["mean"]
    assert regret["restarting"] < 0.5 * min(regret[name] for name in policies if "window" in name)
    for noise in (hb.Cauchy(), hb.Gaussian()):
        some = {name: policies[name] for name in ("auto", "restarting")}
        still = hb.Instance(means=means, noise=noise)
        regret = hb.simulate(still, some, horizon=10_000, replications=24, seed=16).summary()["mean"]
        assert regret["restarting"] < 3.0 * regret["auto"]
