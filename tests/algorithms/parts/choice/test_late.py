"""Late rewards: narrowed bonuses, arms that wait, and decisions that are given up."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heavybandits as hb
from heavybandits.algorithms.parts.choice.late import WAITING_FACTOR, Late, bonus_factor, init_late
from heavybandits.algorithms.parts.choice.pending import ask, find_pending, give_up, settle
from heavybandits.algorithms.parts.choice.tournament import Tournament, choose, init_tournament, set_bound, set_line
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.policies._draws import draw_beta
from heavybandits.algorithms.policies._scan import due, scan, unseen, waiting
from heavybandits.algorithms.policies.moss import MOSS
from heavybandits.algorithms.policies.student_thompson import StudentThompson
from heavybandits.algorithms.policies.thompson_beta import ThompsonBeta
from heavybandits.numerics import LARGEST_FLOAT


class Lines(NamedTuple):
    """The parts of a state that `choose` needs."""

    pulls: np.ndarray
    tournament: Tournament


class Rising:
    """A policy whose level grows with time."""

    def level(self, state: Lines, t: int) -> float:
        return math.sqrt(math.log(t))


class Scanned(NamedTuple):
    """The parts of a state that `scan` needs."""

    pulls: np.ndarray
    late: Late
    mean: np.ndarray
    open: np.ndarray


class Means:
    """A policy whose index is the mean plus one over the root of the pulls, infinite before the first."""

    def value(self, state: Scanned, arm: int) -> float:
        return float(state.mean[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: Scanned, arm: int, t: int) -> float:
        return float(state.mean[arm] + 1 / math.sqrt(state.pulls[arm])) if state.pulls[arm] > 0 else math.inf


def factor(n: int, pending: int, lost: int) -> float:
    return max(0.5, math.sqrt(n / (n + pending * (n + 1) / (n + lost + 1)))) if pending else 1.0


def test_the_factor_is_the_formula() -> None:
    late = init_late(1)
    for n, pending, lost in [(1, 0, 5), (1, 1, 0), (3, 3, 0), (9, 2, 4), (10, 1000, 0), (10, 1000, 10**6)]:
        late.pending[0], late.lost[0] = pending, lost
        assert bonus_factor(late, 0, n) == pytest.approx(factor(n, pending, lost), rel=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("n_arms", [20, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_choice_is_the_highest_narrowed_index_whatever_becomes_of_decisions(n_arms: int, seed: int) -> None:
    """The tournament and its lead agree with a plain scan that keeps its own counts and writes the formulas out."""
    rng = np.random.default_rng(seed)
    state, policy = Lines(np.ones(n_arms, np.int64), init_tournament(n_arms)), Rising()
    pending = find_pending(state)
    means, values, widths = rng.standard_normal(n_arms), np.zeros(n_arms), np.ones(n_arms)
    counts = np.zeros((n_arms, 2), np.int64)  # pending, given up
    for arm in range(n_arms):
        values[arm] = means[arm]
        set_line(state.tournament, arm, 1, means[arm], 1.0)
    due_now: list[int] = []
    for t in range(n_arms + 1, n_arms + 1200):
        level = policy.level(state, t)
        heights = [
            values[arm] + level * widths[arm] * factor(int(state.pulls[arm]), *map(int, counts[arm]))
            for arm in range(n_arms)
        ]
        chosen = choose(policy, state, t, 1, 1)
        assert heights[chosen] >= max(heights) - 1e-12
        ask(pending, chosen)
        counts[chosen, 0] += 1
        due_now.append(int(chosen))
        while due_now and rng.random() < 0.5:
            arm = due_now.pop(int(rng.integers(len(due_now))))
            counts[arm, 0] -= 1
            if rng.random() < 0.2:
                give_up(pending, arm)
                counts[arm, 1] += 1
                continue
            settle(pending, arm)
            state.pulls[arm] += 1
            values[arm] = means[arm] + 0.1 * rng.standard_normal()
            widths[arm] = 1.0 / math.sqrt(state.pulls[arm])
            set_line(state.tournament, arm, int(state.pulls[arm]), values[arm], widths[arm])
    late = state.tournament.late
    assert_array_equal(np.column_stack([late.pending, late.lost]), counts)
    assert counts.sum() > 100  # otherwise nothing was tested


@pytest.mark.parametrize("n_arms", [5, 100])
def test_an_arm_that_never_reports_is_asked_ever_less(n_arms: int) -> None:
    policy = hb.UCB()
    state, silent = policy.init(n_arms, None), 2
    pending, late, seen = find_pending(state), state.tournament.late, 0
    for _ in range(40 * n_arms):
        arm = policy.select(state, seen, None)
        if arm == silent and late.asked[silent] > 0:
            others = np.delete(late.asked, silent)
            assert late.asked[silent] < WAITING_FACTOR * others.min()
        ask(pending, arm)
        if arm != silent:
            settle(pending, arm)
            policy.update(state, arm, float(arm == 0))
            seen += 1
    assert late.asked[silent] > 1  # but it is chosen again
    give_up(pending, silent)
    assert late.lost[silent] == 1


@pytest.mark.parametrize("n_arms", [3, 100])
def test_an_infinite_index_waits_while_something_is_pending(n_arms: int) -> None:
    state = Lines(np.full(n_arms, 5), init_tournament(n_arms))
    pending = find_pending(state)
    for arm in range(n_arms):
        set_bound(state.tournament, arm, 5, 1.0, 0.0)
    set_bound(state.tournament, 1, 5, LARGEST_FLOAT, 0.0)
    assert choose(Rising(), state, 100, 1, 1) == 1
    state.tournament.late.asked[:] = 5
    state.tournament.late.asked[1] = 1000
    ask(pending, 1)
    for _ in range(n_arms):  # one walk around the arms, to learn how often the others were chosen
        choose(Rising(), state, 100, 1, 1)
    assert {int(choose(Rising(), state, 100, 1, 1)) for _ in range(n_arms)} == {0}
    settle(pending, 1)
    assert choose(Rising(), state, 100, 1, 1) == 1


def test_all_wait_for_first_rewards_in_turn() -> None:
    policies: list[Any] = [hb.UCB(), hb.KLUCB(), hb.ThompsonGaussian(), MOSS(anytime=True), StudentThompson(1, 1)]
    for policy in policies:
        state, rng = policy.init(3, None), np.random.default_rng(0)
        pending, arms = find_pending(state), []
        for _ in range(9):
            arms.append(int(policy.select(state, 0, rng)))
            ask(pending, arms[-1])
        assert arms[:3] == [0, 1, 2]
        assert np.ptp(np.bincount(arms)) <= 1


def scanned(pulls: list[int], asked: list[int], pending: list[int], mean: list[float]) -> Scanned:
    late = Late(np.array(asked), np.array(pending), np.array(asked) - np.array(pulls) - np.array(pending))
    return Scanned(np.array(pulls), late, np.array(mean), np.ones(len(pulls), np.bool_))


def test_scans_ask_waiting_arms_only_as_often_as_the_rule_says() -> None:
    state = scanned([0, 2, 3], [7, 2, 3], [7, 0, 0], [0.0, 1.0, 2.0])
    assert (due(state, 1), waiting(state, 1), unseen(state, 1)) == (-1, 0, 0)  # 7 < 4 * 2
    assert scan(Means(), state, 10) == 0
    state.late.asked[0] = 8
    assert (waiting(state, 1), unseen(state, 1), scan(Means(), state, 10)) == (-1, -1, 2)
    state.open[2] = False
    state.late.asked[1] = 3
    assert (waiting(state, 1), scan(Means(), state, 10)) == (0, 0)
    state = scanned([0, 0], [2, 1], [2, 0], [0.0, 0.0])  # the only decision for the second was given up
    assert (waiting(state, 1), scan(Means(), state, 0)) == (1, 1)  # nothing is known: the one chosen least
    state = scanned([0, 0, 5], [1, 0, 5], [1, 0, 0], [0.0, 0.0, 1.0])
    assert (due(state, 1), waiting(state, 1), unseen(state, 1)) == (1, -1, 1)  # arms that are due come first


def test_scans_narrow_bonuses() -> None:
    state = scanned([4, 4], [4, 4], [0, 0], [0.0, 0.1])
    assert scan(Means(), state, 10) == 1
    state.late.pending[1] = 4  # 0.1 + 0.5/sqrt(2) < 0.5
    assert scan(Means(), state, 10) == 0
    state.mean[1] = 0.2  # 0.2 + 0.5/sqrt(2) > 0.5
    assert scan(Means(), state, 10) == 1


def test_thompson_draws_come_closer_to_the_mean_while_rewards_are_out() -> None:
    policy = hb.ThompsonGaussian()
    shares = []
    for outstanding in (0, 1000):
        state, rng = policy.init(2, None), np.random.default_rng(0)
        for arm, reward in ((0, 0.0), (1, 1.0)):
            policy.update(state, arm, reward)
        state.late.pending[:] = outstanding
        shares.append(np.mean([policy.select(state, 2, rng) for _ in range(4000)]))
    expected = [0.5 * (1 + math.erf(1 / 2)), 0.5 * (1 + math.erf(1 / (2 * 0.5)))]  # for the difference of two draws
    assert shares == pytest.approx(expected, abs=0.02)


def test_draws_from_a_beta_posterior_come_closer_to_its_mean() -> None:
    """Draws shrink by the factor of the formula, where n counts the rewards and the prior together."""
    policy, state = ThompsonBeta(), ThompsonBeta().init(2, None)
    for reward in (1.0, 1.0, 0.0):
        policy.update(state, 0, reward)
    policy.update(state, 1, 1.0)
    rng, draws = np.random.default_rng(0), np.random.default_rng(0)
    state.late.pending[0] = 7
    chosen = [policy.select(state, 4, rng) for _ in range(300)]
    expected = []
    for _ in range(300):
        first, second = (draw_beta(draws, state.a[arm], state.b[arm]) for arm in range(2))
        expected.append(int(second > 0.6 + (first - 0.6) * factor(5, 7, 0)))
    assert chosen == expected


@pytest.mark.parametrize("name", ["lb-sda", "lb-sda-limited"])
def test_duels_begin_when_first_rewards_are_known(name: str) -> None:
    """Until then arms take turns; one whose first reward was given up is chosen again."""
    policy = hb.make(name)
    state = policy.init(3, 500)
    pending = find_pending(state)
    asked = []
    for _ in range(30):
        asked.append(int(policy.select(state, 0, None)))
        ask(pending, asked[-1])
    assert asked == [0, 1, 2] * 10
    for _ in range(10):
        give_up(pending, 1)
    for t in range(400):
        arm = int(policy.select(state, t, None))
        ask(pending, arm)
        if arm != 1:
            settle(pending, arm)
            policy.update(state, arm, 1.0 * arm)
        else:
            give_up(pending, arm)
        asked.append(arm)
    assert asked.count(0) > 0
    assert 10 < asked.count(1) <= WAITING_FACTOR * asked.count(0)


@pytest.mark.parametrize(
    "name",
    ["ucb", "auto", "kl-ucb", "moss-anytime", "thompson-gaussian", "thompson-beta", "lb-sda", "mean-of-medians"],
)
def test_rewards_that_come_at_once_change_nothing(name: str) -> None:
    """A decision that is settled before the next one leaves the state as if it had not been recorded."""
    parameters: dict[str, Any] = {"policy": hb.UCB()} if name == "mean-of-medians" else {}
    policy = hb.make(name, **parameters)
    plain, told = policy.init(4, 300), policy.init(4, 300)
    pending, rngs, rewards = find_pending(told), [np.random.default_rng(1) for _ in range(2)], np.random.default_rng(2)
    for t in range(300):
        arms = [int(policy.select(state, t, rng)) for state, rng in zip((plain, told), rngs, strict=True)]
        assert arms[0] == arms[1]
        reward = float(arms[0] + rewards.standard_normal())
        ask(pending, arms[0])
        settle(pending, arms[0])
        policy.update(plain, arms[0], reward)
        policy.update(told, arms[0], reward)
    for (path, one), (_, other) in zip(arrays(plain), arrays(told), strict=True):
        # The last walk around waiting arms may differ.
        if not path.endswith((".asked", ".walk", ".bar", ".least", ".waiting", ".found")):
            assert_array_equal(one, other, path)


def test_a_policy_of_medians_counts_groups_of_decisions() -> None:
    policy = hb.MeanOfMedians(hb.UCB(), m=1)
    state = policy.init(2, None)
    pending, inner = find_pending(state), state.inner.tournament.late
    for _ in range(4):
        ask(pending, 0)
    assert (state.late.pending[0], inner.pending[0], inner.asked[0]) == (4, 2, 2)
    settle(pending, 0)
    assert inner.pending[0] == 1
    for _ in range(3):
        give_up(pending, 0)
    assert (inner.pending[0], inner.lost[0]) == (0, 1)


def test_what_nobody_asked_for_settles_nothing() -> None:
    state = hb.UCB().init(2, None)
    pending = find_pending(state)
    settle(pending, 0)
    give_up(pending, 0)
    assert [list(counts) for counts in state.tournament.late] == [[0, 0]] * 3
