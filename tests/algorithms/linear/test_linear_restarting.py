"""linear-restarting: changes of theta are found, nothing else is, and agents can be saved in between."""

from typing import Any

import numpy as np
import pytest
from linear_auto import played, problem, regret

import heavybandits as hb
from heavybandits.algorithms.linear.linear_restarting import SETTLING, LinearRestarting
from heavybandits.algorithms.parts.state.drift import DRIFT_BETS, FALLS
from heavybandits.protocols import FloatArray

UCB = hb.make("lin-ucb", beta=0.5)


def halves(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return contexts, mean rewards whose theta changes its sign after 400 rounds, and heavy noise."""
    contexts, means = problem(seed, 800)
    means[400:] *= -1.0
    return contexts, means, 0.5 * np.random.default_rng(seed).standard_t(2, 800)


def test_bets_on_falls_come_first() -> None:
    assert (DRIFT_BETS[:FALLS] < 0).all()
    assert (DRIFT_BETS[FALLS:] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto"])
def test_a_new_theta_is_found_and_the_policy_starts_afresh(name: str) -> None:
    contexts, means, noise = halves(3)
    alone, inside = hb.make(name), LinearRestarting(hb.make(name))
    rows, state = played(inside, contexts, means, noise)
    assert state.restarts[0] == 1
    assert regret(rows[500:], means[500:]) < 0.3 * regret(played(alone, contexts, means, noise)[0][500:], means[500:])


@pytest.mark.slow
def test_without_an_alarm_it_plays_as_the_policy_inside() -> None:
    contexts, means = problem(4, 200)
    noise = np.random.default_rng(4).standard_normal(200)
    rows, state = played(LinearRestarting(UCB), contexts, means, noise)
    assert state.restarts[0] == 0
    assert state.since[0] == 200
    assert rows.tolist() == played(UCB, contexts, means, noise)[0].tolist()


def residual_state(residuals: list[float]) -> Any:
    """Return the state after rewards of 0 while the policy settles, then of its predictions plus these residuals."""
    policy = LinearRestarting(UCB)
    state, x = policy.init(1, None), np.array([1.0])
    for i in range(SETTLING * 2):
        policy.update(state, x, i % 7 / 7)
    for residual in residuals:
        policy.update(state, x, policy.value(state, x) + residual)
    return state


def test_rewards_above_their_predictions_raise_no_alarm() -> None:
    calm = [i * 7 % 50 / 50 - 0.5 for i in range(100)]
    assert residual_state([*calm, *([-2.0] * 40)]).restarts[0] == 1
    assert residual_state([*calm, *([2.0] * 40)]).restarts[0] == 0


def test_an_agent_starts_afresh_with_decisions_pending_and_can_be_saved() -> None:
    rng = np.random.default_rng(5)
    agent = hb.LinearAgent(UCB, n_features=2, drift=True)
    for t in range(120):
        rows = rng.normal(size=(4, 2))
        row, other = agent.select(rows), agent.select(-rows)
        agent.update(rows[row], float((1.0 if t < 60 else -3.0) * rows[row].sum() + 0.1 * rng.normal()))
        if t % 2:
            agent.update(-rows[other], float((-1.0 if t < 60 else 3.0) * rows[other].sum() + 0.1 * rng.normal()))
    assert agent.pending == 60
    again = hb.LinearAgent.loads(agent.dumps())
    assert again.policy == LinearRestarting(UCB)
    rows = rng.normal(size=(4, 2))
    assert again.select(rows) == agent.select(rows) == int(np.argmin(rows.sum(axis=1)))


@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto"])
def test_rewards_of_rows_from_before_a_restart_do_no_harm(name: str) -> None:
    """They settle rows that were asked for later, in any order, and some are given up."""
    rng, agent = np.random.default_rng(6), hb.LinearAgent(hb.make(name), n_features=3, drift=True)
    waiting: list[tuple[np.ndarray, float]] = []
    chosen = []
    for t in range(1500):
        rows = rng.normal(size=(4, 3))
        values = rows @ (np.ones(3) if t < 500 or t >= 1000 else -np.ones(3))
        row = agent.select(rows)
        chosen.append(row == np.argmax(values))
        waiting.append((rows[row], float(values[row] + 0.1 * rng.normal())))
        if len(waiting) > 40:
            x, reward = waiting.pop(int(rng.integers(len(waiting))))
            if t % 20:
                agent.update(x, reward)
            else:
                agent.cancel(x)
    assert agent._state.restarts[0] >= 2
    assert np.mean(chosen[-200:]) > 0.9
    assert hb.LinearAgent.loads(agent.dumps()).pending == agent.pending == 40


def test_named_attributes_may_change_their_effect_too() -> None:
    agent = hb.LinearAgent(UCB, arms=["red", "green"], drift=True)
    for t in range(300):
        visitor = {"returning": t % 3 == 0}
        arm = agent.select(visitor)
        agent.update(arm, float((arm == "red") == (t < 150)) + t % 5 / 20, context=visitor)
    assert agent.select({"returning": True}) == "green"
