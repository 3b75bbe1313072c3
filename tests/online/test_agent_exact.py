"""Saving and loading is exact: an agent that is restored at any moments and one that never was stay equal in all bytes.

Two equal agents get the same calls, but one of them is restored now and then.  After every call, both must have given
the same answer, and must be saved as the same bytes.
"""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.algorithms.registry import examples

ARMS = ["zeta", "Alpha", 7, "mid"]  # in no order that sorting would give
WILD = (0.0, -0.0, 1.0, 1.0, -2.5, 1e-320, 1e150, 1.7e308, -1.7e308, math.inf, -math.inf)
ROWS = (
    (1.0, 0.0), (0.0, 1.0), (-0.0, 1.0), (0.5, 0.5), (1.0, 1.0), (-1.0, 0.3), (1e6, 1.0), (1e-9, -3.0), (0.0, 0.0),
    (1e50, -1e50),
)  # fmt: skip
POINTS = (0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.999, 1.0)
HORIZON = 300
RESTORED: tuple[Callable[[Any], Any], ...] = (
    lambda agent: type(agent).loads(agent.dumps()),
    copy.copy,
    copy.deepcopy,
    lambda agent: pickle.loads(pickle.dumps(agent)),
)


class Call(NamedTuple):
    """A call, and numbers from which its arguments are made."""

    name: str
    which: int  # arm, row or point
    others: tuple[int, ...]  # arms, rows or points
    rewards: tuple[float, ...]
    flag: bool
    restored: int  # before the call, in the way of this number, if there is one


class OfArms:
    """Calls of an agent with named arms."""

    CHANGES = ("select", "assign", "update", "update_many", "cancel", "correct", "add_arm", "remove_arm", "play")
    READS = ("peek", "probabilities", "estimates", "str")

    @staticmethod
    def agent(policy: Any) -> hb.Agent:
        return hb.Agent(policy, arms=ARMS, horizon=HORIZON, seed=5)

    @staticmethod
    def answer(agent: hb.Agent, call: Call) -> Any:
        arms = agent.arms
        arm, several = arms[call.which % len(arms)], [arms[other % len(arms)] for other in call.others]
        among = several if call.flag else None
        match call.name:
            case "select":
                return agent.select(among)
            case "assign":
                given = arm if call.which % 2 else None
                return agent.assign(given, among, bytes(range(call.which, call.which + 32)) if call.which % 3 else None)
            case "update":
                chance = None if call.which % 3 else 0.5
                return agent.update(arm, call.rewards[0], selected=call.flag, propensity=chance)
            case "update_many":
                pairs = list(zip(several, call.rewards, strict=False))
                return agent.update_many([a for a, _ in pairs], [r for _, r in pairs], selected=call.flag)
            case "cancel":
                return agent.cancel(arm, propensity=0.25 if call.which % 3 == 0 else None)
            case "correct":
                return agent.correct_propensity(arm, 0.25)
            case "add_arm":
                return agent.add_arm(f"{'zaM'[call.which % 3]}{len(arms)}" if call.flag else None)
            case "remove_arm":
                return agent.remove_arm(arm)
            case "play":
                return played(agent.select, agent.update, call)
            case "peek":
                return agent.peek(among)
            case "probabilities":
                return agent.probabilities()
            case "estimates":
                return agent.estimates.to_csv()
            case _:
                return str(agent)


class OfRows:
    """Calls of an agent that chooses rows."""

    CHANGES = ("select", "assign", "update", "update_many", "cancel", "play")
    READS = ("peek", "estimates", "str")

    @staticmethod
    def agent(policy: Any) -> hb.LinearAgent:
        return hb.LinearAgent(policy, n_features=2, horizon=HORIZON, seed=5)

    @staticmethod
    def answer(agent: hb.LinearAgent, call: Call) -> Any:
        row, several = ROWS[call.which % len(ROWS)], {str(at): ROWS[at % len(ROWS)] for at in call.others}
        match call.name:
            case "select":
                return agent.select(several)
            case "assign":
                given = str(call.others[0]) if call.flag else None
                return agent.assign(several, given, bytes(range(call.which, call.which + 32)))
            case "update":
                return agent.update(row, call.rewards[0], selected=call.flag)
            case "update_many":
                rows = [ROWS[at % len(ROWS)] for at in call.others[: len(call.rewards)]]
                return agent.update_many(rows, call.rewards[: len(rows)], selected=call.flag)
            case "cancel":
                return agent.cancel(row)
            case "play":
                return played(lambda: several[agent.select(several)], agent.update, call)
            case "peek":
                return agent.peek(several)
            case "estimates":
                return agent.estimates(several).to_csv()
            case _:
                return str(agent)


class OfPoints:
    """Calls of an agent that chooses points."""

    CHANGES = ("select", "update", "update_many", "cancel", "play")
    READS = ("peek", "estimates", "str")

    @staticmethod
    def agent(policy: Any) -> hb.LipschitzAgent:
        return hb.LipschitzAgent(policy, dim=2, horizon=HORIZON, seed=5)

    @staticmethod
    def answer(agent: hb.LipschitzAgent, call: Call) -> Any:
        known = agent.estimates
        points = [*known[["x0", "x1"]].to_numpy().tolist(), *([x, y] for x in POINTS for y in POINTS)]
        point, several = points[call.which % len(points)], [points[at % len(points)] for at in call.others]
        match call.name:
            case "select":
                return agent.select().tolist()
            case "update":
                return agent.update(point, call.rewards[0], selected=call.flag)
            case "update_many":
                n = min(len(several), len(call.rewards))
                return agent.update_many(several[:n], call.rewards[:n], selected=call.flag)
            case "cancel":
                return agent.cancel(point)
            case "play":
                return played(agent.select, agent.update, call)
            case "peek":
                return agent.peek().tolist()
            case "estimates":
                return known.to_csv()
            case _:
                return str(agent)


def played(select: Callable[[], Any], update: Callable[[Any, float], None], call: Call) -> list[str]:
    """Play some rounds with heavy-tailed rewards; return what was chosen."""
    rng = np.random.default_rng(call.which)
    chosen = [select() for _ in range(call.which % 4)]  # some rewards come late
    for _ in range(len(call.others) * 6):
        chosen.append(select())
        update(chosen[rng.integers(len(chosen)) if call.flag else -1], float(rng.standard_t(1.5)))
    return list(map(str, chosen))


def calls(names: tuple[str, ...]) -> st.SearchStrategy[list[Call]]:
    reward = st.sampled_from(WILD) | st.floats(-10, 10) | st.floats(allow_nan=False)
    number = st.integers(0, 99)
    call = st.builds(
        Call, st.sampled_from(names), number, st.lists(number, min_size=1, max_size=6).map(tuple),
        st.lists(reward, min_size=1, max_size=6).map(tuple), st.booleans(), st.integers(0, 2 * len(RESTORED)),
    )  # fmt: skip
    return st.lists(call, min_size=10, max_size=40)


def answered(kind: Any, agent: Any, call: Call) -> Any:
    """Return what an agent answers, or how it refuses."""
    try:
        return kind.answer(agent, call)
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def stays_exact(kind: Any, name: str) -> None:
    policy = hb.make(name, **examples()[name])

    @settings(max_examples=10, derandomize=True, phases=[Phase.generate])  # Phase.shrink would take minutes
    @given(calls(kind.CHANGES + kind.READS))
    def test(made: list[Call]) -> None:
        whole, restored = kind.agent(policy), kind.agent(policy)
        for call in made:
            before = whole.dumps()
            if call.restored < len(RESTORED):
                restored = RESTORED[call.restored](restored)
                assert restored.dumps() == before
            answers = answered(kind, whole, call), answered(kind, restored, call)
            assert repr(answers[0]) == repr(answers[1])
            assert whole.dumps() == restored.dumps()
            if call.name in kind.READS:
                assert whole.dumps() == before

    test()


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies())
def test_an_agent_with_arms_is_restored_exactly(name: str) -> None:
    stays_exact(OfArms, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("linear"))
def test_an_agent_with_rows_is_restored_exactly(name: str) -> None:
    stays_exact(OfRows, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("lipschitz"))
def test_an_agent_with_points_is_restored_exactly(name: str) -> None:
    stays_exact(OfPoints, name)


@hb.policy(kind="lipschitz")
class Growing(NamedTuple):
    """A policy for points that has one more cell after each reward, at one of two points in turn."""

    first: float = 0.25

    def init(self, dim: int, horizon: int | None) -> Any:
        return Seen(np.zeros(1, np.int64))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t

    def update(self, state: Any, cell: int, reward: float) -> None:
        state.rewards[0] += 1

    def point(self, state: Any, cell: int) -> Any:
        return np.array([self.first + 0.5 * (cell % 2)])

    def n_cells(self, state: Any) -> int:
        return int(state.rewards[0]) + 1


class Seen(NamedTuple):
    rewards: Any


def test_cells_that_share_a_point_are_found_again_as_before() -> None:
    agent = hb.LipschitzAgent(Growing(), dim=1)
    for _ in range(5):
        agent.update(agent.select(), 1.0)
    restored = hb.LipschitzAgent.loads(agent.dumps(), policy=Growing())
    for one in (agent, restored):
        one.update(0.25, 1.0)
        one.update(0.1, 1.0)
    assert agent.dumps() == restored.dumps()
