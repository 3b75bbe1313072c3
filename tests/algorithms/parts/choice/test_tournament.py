"""Choosing the highest of many lines."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.algorithms.parts.choice.kinetic_tree import SCAN, VALUE, height, highest
from heavybandits.algorithms.parts.choice.pending import ask, find_pending
from heavybandits.algorithms.parts.choice.tournament import Tournament, choose, init_tournament, set_line


class Lines(NamedTuple):
    """The parts of a state that `choose` needs."""

    pulls: np.ndarray
    tournament: Tournament


class Steady:
    """A policy whose level is constant."""

    def level(self, state: Lines, t: int) -> float:
        return 1.0


def asked_for(state: Lines, initial: int, in_a_row: int) -> int:
    """Choose an arm, record the decision as pending, and return the arm."""
    arm = choose(Steady(), state, 10, initial, in_a_row)
    ask(find_pending(state), arm)
    return int(arm)


def top(tournament: Tournament, level: float) -> int:
    pulls = np.zeros(len(tournament.line), np.int64)
    return highest(tournament.line, tournament.open, tournament.tree, pulls, level)


def naive_heights(values: np.ndarray, widths: np.ndarray, level: float) -> np.ndarray:
    return np.where(np.isinf(widths), math.inf, values + level * np.where(np.isinf(widths), 0.0, widths))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e9, 1e16]), st.booleans())
def test_highest_is_the_argmax_of_all_lines(n_arms: int, seed: int, offset: float, whole: bool) -> None:
    """Scan and tournament agree with a plain argmax while lines move and the level rises, near ties included."""
    rng = np.random.default_rng(seed)
    tournament = init_tournament(n_arms)
    values, widths = np.full(n_arms, math.nan), np.full(n_arms, math.inf)
    level = 0.0
    for _ in range(300):
        arm = top(tournament, level) if rng.random() < 0.7 else int(rng.integers(n_arms))
        values[arm] = offset + (rng.integers(3) if whole else rng.standard_normal())
        widths[arm] = rng.integers(1, 3) if whole else rng.exponential()
        set_line(tournament, arm, 1, values[arm], widths[arm])
        level += rng.integers(2) if whole else 0.1 * rng.exponential()
        assert top(tournament, level) == int(np.argmax(naive_heights(values, widths, level)))


@pytest.mark.parametrize("n_arms", [5, SCAN + 10])
def test_closed_arms_are_never_chosen(n_arms: int) -> None:
    tournament = init_tournament(n_arms)
    for arm in range(n_arms):
        set_line(tournament, arm, 1, float(arm), 1.0)
    assert top(tournament, 1.0) == n_arms - 1
    tournament.restrict(np.array([1, 3]))
    assert top(tournament, 1.0) == 3
    assert height(tournament.line, tournament.open, 0, 1.0) == -math.inf
    tournament.restrict(None)
    assert top(tournament, 1.0) == n_arms - 1


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("value", [-math.inf, math.nan])
@pytest.mark.parametrize("n_arms", [5, SCAN + 10])
def test_an_open_arm_is_chosen_however_bad_it_is(n_arms: int, value: float) -> None:
    tournament = init_tournament(n_arms)
    for arm in range(n_arms):
        set_line(tournament, arm, 1, value if arm == 2 else 1.0, 1.0)
    assert top(tournament, 1.0) == 0
    tournament.restrict(np.array([2]))
    assert top(tournament, 1.0) == 2


@pytest.mark.parametrize("n_arms", [3, SCAN + 2])
def test_levels_may_be_negative(n_arms: int) -> None:
    class Low:
        def level(self, state: Lines, t: int) -> float:
            return -2.0

    state = Lines(np.ones(n_arms, np.int64), init_tournament(n_arms))
    for arm in range(n_arms):
        set_line(state.tournament, arm, 1, 5.0 if arm == 1 else 1.0, 0.25)
    carried = Lines(state.pulls, state.tournament.carry(init_tournament(n_arms), np.arange(n_arms)))
    assert [choose(Low(), carried, t, 1, 1) for t in range(5)] == [1] * 5


@pytest.mark.parametrize("n_arms", [4, SCAN + 5])
def test_ties_go_to_the_arm_with_fewer_pulls_then_to_the_lower_number(n_arms: int) -> None:
    tournament, pulls = init_tournament(n_arms), np.full(n_arms, 7)
    for arm in range(n_arms):
        set_line(tournament, arm, 7, 1.0, 0.5)
    pulls[2:4] = 5

    def best(level: float) -> int:
        return highest(tournament.line, tournament.open, tournament.tree, pulls, level)

    assert best(1.0) == 2
    pulls[2] = 6
    set_line(tournament, 2, 6, 1.0, 0.5)
    assert best(1.0) == 3


@pytest.mark.parametrize("n_arms", [4, SCAN + 1])
def test_all_unknown_arms_tie_and_the_first_wins(n_arms: int) -> None:
    tournament = init_tournament(n_arms)
    assert top(tournament, 1.0) == 0
    set_line(tournament, 0, 1, 1e300, 1.0)
    assert top(tournament, 1.0) == 1  # infinity beats any estimate


def test_choose_asks_for_initial_pulls_in_order_then_plays_batches() -> None:
    tournament, pulls = init_tournament(2), np.zeros(2, np.int64)
    state = Lines(pulls, tournament)
    assert [asked_for(state, 3, 2) for _ in range(6)] == [0, 0, 0, 1, 1, 1]
    pulls[:] = 3
    tournament.late.pending[:] = 0
    set_line(tournament, 0, 1, 0.0, 1.0)
    set_line(tournament, 1, 1, 5.0, 1.0)
    assert choose(Steady(), state, 10, 3, 2) == 1
    set_line(tournament, 0, 1, 99.0, 1.0)  # the batch goes on, whatever else happens
    assert choose(Steady(), state, 10, 3, 2) == 1
    assert choose(Steady(), state, 10, 3, 2) == 0


def test_rewards_that_came_unasked_count_as_initial_pulls() -> None:
    state = Lines(np.array([0, 3, 1]), init_tournament(3))
    assert [asked_for(state, 2, 1) for _ in range(3)] == [0, 0, 2]


def test_an_initial_pull_is_not_lost_when_its_arm_was_unavailable() -> None:
    tournament, pulls = init_tournament(2), np.zeros(2, np.int64)
    state = Lines(pulls, tournament)
    tournament.restrict(np.array([1]))
    assert choose(Steady(), state, 10, 1, 1) == 1
    tournament.restrict(None)
    assert choose(Steady(), state, 10, 1, 1) == 0


def test_carry_keeps_the_lines_of_the_arms_that_stay() -> None:
    tournament = init_tournament(3)
    for arm in range(3):
        set_line(tournament, arm, 1, float(arm), 0.5)
    kept = tournament.carry(init_tournament(2), np.array([0, 2]))
    assert kept.line[:, VALUE].tolist() == [0.0, 2.0]
    assert top(kept, 1.0) == 1
    grown = tournament.carry(init_tournament(SCAN + 1), np.arange(3))
    assert top(grown, 1.0) == 3  # the first arm without an estimate


class Rising:
    """A policy whose level grows with time."""

    def level(self, state: Lines, t: int) -> float:
        return math.sqrt(math.log(t))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(2, 150), st.integers(0, 2**32 - 1), st.sampled_from([0.001, 0.1, 3.0]))
def test_a_lead_is_never_kept_too_long(n_arms: int, seed: int, noise: float) -> None:
    """Whether the leader or a rival moves, the choice is the arm with the highest index in that round."""
    rng = np.random.default_rng(seed)
    state, policy = Lines(np.ones(n_arms, np.int64), init_tournament(n_arms)), Rising()
    means = rng.standard_normal(n_arms)
    for arm in range(n_arms):
        set_line(state.tournament, arm, 1, means[arm], 1.0)
    leads = 0
    for t in range(n_arms + 1, n_arms + 600):
        chosen = choose(policy, state, t, 1, 1)
        line = state.tournament.line
        heights = line[:, 0] + policy.level(state, t) * line[:, 1]
        assert heights[chosen] >= heights.max() - 1e-12
        leads += t < state.tournament.turn[0].until or policy.level(state, t) < state.tournament.lead[0].end
        arm = chosen if rng.random() < 0.9 else int(rng.integers(n_arms))
        state.pulls[arm] += 1
        set_line(
            state.tournament, arm, 1, means[arm] + noise * rng.standard_normal(), 1.0 / math.sqrt(state.pulls[arm])
        )
    assert leads > 0  # otherwise nothing was tested
