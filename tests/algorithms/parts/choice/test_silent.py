"""Arms that do not report, among arms that are drawn at random."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.algorithms.parts.choice.ftrl import draw, init_draws
from heavybandits.algorithms.parts.choice.late import MANY, Late, init_late, is_silent, least_asked
from heavybandits.algorithms.parts.choice.pending import ask, find_pending, give_up, settle
from heavybandits.algorithms.registry import examples

COUNTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.booleans()), min_size=1)


def late_of(counts: list[tuple[int, int, int, bool]]) -> tuple[Late, np.ndarray]:
    """Return counts of arms by rewards, pending and lost decisions, and which arms are open: at least one."""
    rewards, pending, lost, open = (np.array(column) for column in zip(*counts, strict=True))
    open[0] |= not open.any()
    return Late(asked=rewards + pending + lost, pending=pending, lost=lost), open


@given(COUNTS)
def test_silence_is_what_its_definition_says(counts: list[tuple[int, int, int, bool]]) -> None:
    late, open = late_of(counts)
    least = least_asked(late, open)
    rewards = [n for n, _, _, _ in counts]
    reporting = [late.asked[arm] for arm in range(len(counts)) if open[arm] and rewards[arm] > 0]
    assert least == min(reporting, default=MANY)
    for arm, n in enumerate(rewards):
        often = late.asked[arm] >= 4 * least and late.asked[arm] >= 4 * len(counts) * n
        assert is_silent(late, arm, least) == (often and late.asked[arm] > n)


@given(COUNTS)
def test_some_open_arm_is_never_silent(counts: list[tuple[int, int, int, bool]]) -> None:
    late, open = late_of(counts)
    least = least_asked(late, open)
    assert any(open[arm] and not is_silent(late, arm, least) for arm in range(len(counts)))


@given(COUNTS, st.integers(0, 2**32 - 1))
def test_draws_leave_out_silent_arms_and_report_their_probabilities(
    counts: list[tuple[int, int, int, bool]], seed: int
) -> None:
    late, open = late_of(counts)
    rng = np.random.default_rng(seed)
    draws = init_draws(len(counts), rate=1.0)._replace(late=late, open=open)
    draws.chance[:] = rng.dirichlet(np.ones(len(counts)))
    draws.loss[:] = rng.standard_normal(len(counts))
    before, least = draws.loss.copy(), least_asked(late, open)
    arm = draw(draws, rng)
    drawable = np.array([open[i] and not is_silent(late, i, least) for i in range(len(counts))])
    assert drawable[arm]
    np.testing.assert_allclose(draws.drawn, np.where(drawable, draws.chance, 0.0) / draws.chance[drawable].sum())
    assert draws.awaited[arm] == draws.drawn[arm] >= draws.chance[arm] * (1 - 1e-12)
    reporting = drawable & (late.asked - late.pending - late.lost > 0)
    floor = before[reporting].min() if reporting.any() else -math.inf
    np.testing.assert_allclose(draws.loss, np.where(open & ~drawable, np.maximum(before, floor), before))


def test_nothing_is_silent_where_every_decision_brought_a_reward() -> None:
    late, rng = init_late(3), np.random.default_rng(0)
    for arm in rng.integers(0, 3, 500) % 2:  # the last arm is never chosen
        late.asked[arm] += 1
        assert not any(is_silent(late, i, least_asked(late, np.ones(3, np.bool_))) for i in range(3))


def shares(policy: Any, reports: int, gives_up: bool) -> np.ndarray:
    """Return the decisions per arm, of which the first brings only so many rewards; interpreted."""
    state, rng, n_rewards = policy.init(3, 600), np.random.default_rng(0), 0
    pending, asked, coins = find_pending(state), np.zeros(3, np.int64), (0.2, 0.3, 0.6)
    with np.errstate(all="ignore"):
        for _ in range(600):
            arm = int(policy.select(state, n_rewards, rng))
            ask(pending, arm)
            asked[arm] += 1
            if arm > 0 or asked[0] <= reports:
                settle(pending, arm)
                policy.update(state, arm, float(rng.random() < coins[arm]))
                n_rewards += 1
            elif gives_up:
                give_up(pending, arm)
    return asked


PROPER = {"thompson-gaussian": {"prior_scale": 1.0},
          "thompson-normal-gamma": {"prior_weight": 1.0, "prior_shape": 1.0, "prior_rate": 1.0}}  # fmt: skip
DRAWN = ("thompson-beta", "thompson-gaussian", "thompson-normal-gamma", "student-thompson", "ape2", "mr-ape",
         "tsallis-inf", "exp3", "htinf", "inf-clip", "ada-tinf", "opt-tinf", "uni-inf")  # fmt: skip


@pytest.mark.parametrize("gives_up", [False, True])
@pytest.mark.parametrize("reports", [0, 3])
@pytest.mark.parametrize("name", DRAWN)
def test_an_arm_that_does_not_report_is_held_to_its_bound(name: str, reports: int, gives_up: bool) -> None:
    asked = shares(hb.make(name, **{**examples()[name], **PROPER.get(name, {})}), reports, gives_up)
    assert asked[0] <= max(4 * asked[1:].min(), 4 * 3 * reports)


def test_reported_probabilities_are_those_of_draws_without_silent_arms() -> None:
    agent = hb.Agent(hb.TsallisINF(), n_arms=4, seed=0)
    for _ in range(40):
        agent.assign(0)  # never reports
    for arm in (1, 2, 3):
        agent.assign(arm)
        agent.update(arm, 0.5 + 0.1 * arm)
    chances = agent.probabilities()
    assert chances[0] == 0.0
    assert math.isclose(sum(chances.values()), 1.0)
    assert chances[1] < chances[2] < chances[3]
    trials = [copy.deepcopy(agent).assign(key=bytes([i % 256, i // 256] * 16)) for i in range(600)]
    counts = np.bincount([trial.arm for trial in trials], minlength=4)
    assert all(trial.propensity == chances[trial.arm] for trial in trials)
    assert all(abs(counts[arm] - 600 * p) <= 4 * math.sqrt(600 * p) for arm, p in chances.items())
    assert agent.assign(0).propensity == 0.0
    assert hb.Agent.loads(agent.dumps()).probabilities() == agent.probabilities()
