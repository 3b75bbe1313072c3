"""Evidence in simulations: it changes nothing else, counts decisions, and agrees with a comparison of the rewards."""

import math
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.engine.witness import Witness, first_winner

COINS = hb.Instance(laws=[hb.Bernoulli(0.1), hb.Bernoulli(0.3)], goal="mean")
POLICIES = {"identify": hb.make("identify"), "uniform": hb.make("epsilon-greedy", epsilon=1.0)}


@pytest.mark.parametrize("late", [{}, {"delay": hb.Pareto(1.1, scale=10), "lost": 0.1}])
def test_evidence_changes_nothing_else(late: dict[str, Any]) -> None:
    asked, not_asked = (
        hb.simulate(COINS, POLICIES, horizon=600, replications=3, evidence=evidence, **late)
        for evidence in (True, False)
    )
    assert np.array_equal(asked.regret, not_asked.regret)
    assert np.array_equal(asked.pulls, not_asked.pulls)
    with pytest.raises(ValueError, match="evidence=True"):
        _ = not_asked.named
    assert "named" not in not_asked.summary()


def test_late_rewards_are_seen_when_they_come() -> None:
    """All rewards are 100 rounds late, so nothing can be named before decision 150."""
    at_once, late = (
        hb.simulate(COINS, POLICIES, horizon=1000, replications=5, evidence=True, delay=delay).named["decisions"]
        for delay in (0, 100)
    )
    assert float(late.min()) >= 150
    assert float(np.median(late.sel(policy="uniform"))) == float(np.median(at_once.sel(policy="uniform"))) + 100


def test_arms_that_tie_are_named_wrongly_whichever_it_is() -> None:
    tied = hb.Instance(laws=[hb.Bernoulli(0.3), hb.Bernoulli(0.3), hb.Bernoulli(0.1)], goal="mean")
    result = hb.simulate(tied, POLICIES, horizon=300, replications=4, evidence=True)
    assert (result.named["arm"] == -1).all()
    assert not result.named["wrong"].any()
    result._named[0][0, 0] = 1  # type: ignore[index]
    del result.__dict__["named"]
    assert result.named["wrong"].values[0].tolist() == [True, False, False, False]
    assert result.summary()["named wrongly"].tolist() == [0.25, 0.0]
    assert result.at(slice(0, 1)).summary()["named wrongly"].tolist() == [1.0, 0.0]


def test_what_was_seen_is_what_was_learned() -> None:
    policy = Witness(hb.UCB())
    state, rng = policy.init(2, 400), np.random.default_rng(0)
    arms, rewards = [], []
    for t in range(400):
        arms.append(policy.select(state, t, None))
        rewards.append(float(rng.random() < (0.1, 0.9)[arms[-1]]))
        policy.update(state, arms[-1], rewards[-1])
    assert state.seen.arms.tolist() == arms
    assert state.seen.rewards.tolist() == rewards
    assert state.seen.when.tolist() == list(range(1, 401))


def test_evidence_is_for_arms() -> None:
    with pytest.raises(ValueError, match="evidence must be False except for an Instance"):
        hb.simulate(
            hb.LinearInstance([1.0], [[1.0], [2.0]], hb.Gaussian()),
            {"a": hb.make("linear-auto")},
            horizon=9,
            evidence=True,
        )


def test_no_winner_takes_forever() -> None:
    assert first_winner(np.zeros(3, np.int64), np.zeros(3), 2) == (-1, math.inf)
