"""Located arguments: compiled code finds in them what plain Python sees, whatever the arrays are."""

import sys
import weakref
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.state.scalars import init_scalars
from heavybandits.jit.compiled import compiled
from heavybandits.jit.located import Located


class Plan(NamedTuple):
    """A policy that does nothing."""

    step: float = 0.5


class Counts(NamedTuple):
    """Arrays of one type."""

    first: Any
    second: Any


class Arrays(NamedTuple):
    """Arrays of all kinds."""

    table: Any
    nothing: Any
    counts: Counts
    numbers: Any
    flags: Any
    column: Any
    single: Any
    empty: Any


def arrays() -> Arrays:
    table = np.arange(12.0).reshape(3, 4)
    return Arrays(
        table=table,
        nothing=None,
        counts=Counts(np.array([1, 2, 3]), np.array([4, 5, 6])),
        numbers=init_scalars(arm=2, level=0.5),
        flags=np.array([False, True]),
        column=table[:, 1],  # not contiguous
        single=np.array(7.0),  # without an axis
        empty=np.zeros((0, 3)),
    )


def look(policy: Plan, located: Any, scale: float) -> Any:
    """Change the arrays, and return a number that depends on all of them."""
    state, counts = located
    state.table[2, 3] += policy.step
    state.counts.second[0] += 1
    state.numbers[0].arm += 1
    state.flags[0] = not state.flags[0]
    total = state.single[()] + 10.0 * len(state.empty) + 100.0 * counts.second[0] + state.numbers[0].arm
    for i in range(state.table.shape[0]):
        total += scale * state.column[i] * state.table[i, 3] + state.counts.first[i]
    return total + (0.25 if state.nothing is None and state.flags[1] else 0.0)


def alike(policy: Plan, located: Any) -> int:
    """Change parts that are of one type."""
    one, other = located
    one.first[0] += other.second[0]
    return len(one.second)


@pytest.mark.usefixtures("either_path")
def test_compiled_code_finds_what_plain_python_sees() -> None:
    mine, theirs = arrays(), arrays()
    machine = compiled(look, Plan(), (theirs, theirs.counts), 0.0)
    located = Located((theirs, theirs.counts))
    for scale in (1.0, 2.0):
        assert machine(Plan(), located, scale) == look(Plan(), Located((mine, mine.counts)), scale)
    for one, other in zip(mine, theirs, strict=True):
        assert np.array_equal(np.array(one), np.array(other)) or one is None


@pytest.mark.usefixtures("either_path")
def test_parts_may_be_of_one_type() -> None:
    one, other = arrays().counts, arrays().counts
    assert compiled(alike, Plan(), (one, other))(Plan(), Located((one, other))) == 3
    assert (one.first[0], other.first[0]) == (5, 1)


def corners(policy: Plan, located: Any) -> float:
    """Return a number that depends on arrays of several kinds."""
    state, counts = located
    return float(state.table[2, 3] + state.column[2] + state.numbers[0].level + counts.second[2])


@pytest.mark.usefixtures("public_path")
def test_with_a_version_that_is_not_known_the_parts_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "__version__", "0.99.0")
    state, other = arrays(), arrays()
    other.table[:] = 0.0
    machine = compiled(corners, Plan(), (state, state.counts))
    located = Located((other, other.counts))
    located.parts = state, state.counts  # so the words lead elsewhere
    before = sys.getrefcount(located.parts), sys.getrefcount(state.table)
    for _ in range(10):
        assert machine(Plan(), located) == 11.0 + 9.0 + 0.5 + 6.0
    assert before == (sys.getrefcount(located.parts), sys.getrefcount(state.table))


def test_located_states_keep_their_arrays() -> None:
    table = np.zeros(3)
    kept, located = weakref.ref(table), Located((Counts(table, None), None))
    del table
    assert kept() is not None
    del located
    assert kept() is None


def test_agents_locate_a_state_that_has_grown() -> None:
    agent = hb.Agent(hb.make("rucb-catoni", v=1.0), n_arms=2)  # keeps all rewards
    agent.compile()
    for _ in range(300):
        agent.update(agent.select(), 1.0)
    state, pending = agent._located
    assert state is agent._state
    assert pending is agent._pending
    assert sum(agent.pulls.values()) == agent._state.pulls.sum() == 300
