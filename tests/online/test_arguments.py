"""Arguments of agents that had other names in the version before."""

from typing import Any

import pytest

import heavybandits as hb


def agents() -> list[tuple[Any, Any]]:
    """Return an agent of each kind, and something to learn about."""
    return [
        (hb.Agent(hb.TsallisINF(), n_arms=2, seed=0), 1),
        (hb.LinearAgent(hb.make("lin-ucb"), n_features=1), [1.0]),
        (hb.LipschitzAgent(hb.make("zooming", nu=1.0), dim=1), 0.5),
    ]


def test_old_names_of_arguments_do_the_same_and_warn() -> None:
    for (old, arm), (new, _) in zip(agents(), agents(), strict=True):
        for agent in (old, new):
            agent.assign([arm], 0) if isinstance(agent, hb.LinearAgent) else agent.select()
        with pytest.warns(DeprecationWarning, match=r"update: 'asked' is called 'selected' now") as caught:
            old.update(arm, 1.0, asked=False)
        assert caught[0].filename == __file__
        with pytest.warns(DeprecationWarning, match=r"update_many: 'asked' is called 'selected' now"):
            old.update_many([arm], [2.0], asked=False)
        new.update(arm, 1.0, selected=False)
        new.update_many([arm], [2.0], selected=False)
        assert old.dumps() == new.dumps()


def test_old_names_of_propensities_do_the_same_and_warn() -> None:
    (old, arm), (new, _) = agents()[0], agents()[0]
    for agent in (old, new):
        assigned = agent.assign(arm)
        agent.assign(arm)
        agent.assign(arm)
    with pytest.warns(DeprecationWarning, match="'chance' is called 'propensity' now"):
        assert assigned.chance == assigned.propensity == 0.5
    with pytest.warns(DeprecationWarning, match="correct_chance is called correct_propensity now"):
        old.correct_chance(arm, 0.25)
    with pytest.warns(DeprecationWarning, match="update: 'chance' is called 'propensity' now"):
        old.update(arm, -1.0, chance=0.25)
    with pytest.warns(DeprecationWarning, match="cancel: 'chance' is called 'propensity' now"):
        old.cancel(arm, chance=0.5)
    new.correct_propensity(arm, 0.25)
    new.update(arm, -1.0, propensity=0.25)
    new.cancel(arm, propensity=0.5)
    assert old.dumps() == new.dumps()


def test_an_argument_by_both_of_its_names_is_refused() -> None:
    agent: Any = hb.Agent(hb.UCB(), n_arms=2)
    with pytest.raises(TypeError, match=r"update: 'asked' is called 'selected' now; .* only one of them can be given"):
        agent.update(0, 1.0, asked=False, selected=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'ask'"):
        agent.update(0, 1.0, ask=False)
    assert agent.seen == 0
