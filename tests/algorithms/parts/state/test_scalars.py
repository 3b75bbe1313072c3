"""Scalars in a state: they are saved, checked and restored one by one, under their names."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.state.scalars import Scalars, init_scalars
from heavybandits.algorithms.parts.state.tree import arrays, check_state, rebuilt
from heavybandits.engine.memory import Memory
from heavybandits.protocols import copy_into


class State(NamedTuple):
    numbers: Scalars
    last: np.ndarray


def fresh() -> State:
    return State(numbers=init_scalars(seen=0, scale=1.5), last=np.zeros(2))


def test_numbers_keep_their_types_and_change_in_place() -> None:
    numbers = fresh().numbers
    one = numbers[0]
    one.seen += 3
    one.scale *= 2.0
    assert numbers.dtype.descr == [("seen", "<i8"), ("scale", "<f8")]
    assert numbers.tolist() == [(3, 3.0)]


def test_they_are_arrays_of_one_by_name_and_are_restored_from_these() -> None:
    state = fresh()
    state.numbers[0].seen = 7
    values = {path: array.copy() for path, array in arrays(state)}
    assert {path: array.tolist() for path, array in values.items()} == {
        "state.numbers.seen": [7], "state.numbers.scale": [1.5], "state.last": [0.0, 0.0],
    }  # fmt: skip
    restored = rebuilt(fresh(), values)
    restored.numbers[0].seen += 1
    assert (state.numbers[0].seen, restored.numbers[0].seen) == (7, 8)
    with pytest.raises(ValueError, match=r"state.numbers.seen must be int64 of shape \(1,\), got float64"):
        rebuilt(fresh(), {**values, "state.numbers.seen": np.zeros(1)})


def test_they_are_copied_and_begin_anew() -> None:
    memory = Memory(fresh)
    state, copy = memory.renewed(), fresh()
    state.numbers[0].seen, state.numbers[0].scale = 4, 9.0
    copy_into(copy, state)
    assert copy.numbers.tolist() == [(4, 9.0)]
    assert memory.renewed().numbers.tolist() == [(0, 1.5)]


@pytest.mark.parametrize(
    ("part", "name", "number", "complaint"),
    [
        ("turn", "walk", 2, "state.tournament: the next arm of the walk must be from 0 to 1, got 2"),
        ("turn", "found", -1, "state.tournament: counts of the walk must be from 0 to"),
        ("lead", "end", math.nan, "state.tournament.lead.end must not be NaN"),
    ],
)
def test_numbers_out_of_range_are_refused(part: str, name: str, number: float, complaint: str) -> None:
    state, blank = (hb.UCB().init(n_arms=2, horizon=None) for _ in range(2))
    check_state(state, blank, n_arms=2)
    getattr(state.tournament, part)[name] = number
    with pytest.raises(ValueError, match=complaint):
        check_state(state, blank, n_arms=2)
