"""A replication that reuses the memory of the one before begins as if it had memory of its own."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.registry import examples
from heavybandits.engine.memory import Memory
from heavybandits.engine.streams import seeds
from heavybandits.protocols import FloatArray, IntArray


@pytest.mark.parametrize("name", hb.policies("arms"))
def test_what_a_replication_changed_is_undone(name: str) -> None:
    policy: Any = hb.make(name, **examples()[name])
    memory = Memory(lambda: policy.init(3, 100))
    state, rng = memory.renewed(), np.random.default_rng(0)
    for t in range(30):
        policy.update(state, policy.select(state, t, rng), float(rng.integers(2)))
    for (path, array), (_, fresh) in zip(arrays(memory.renewed()), arrays(policy.init(3, 100)), strict=True):
        if not path.endswith(".records"):  # those are read only where they were written
            assert_array_equal(array, fresh, err_msg=path)


class Nested(NamedTuple):
    pulls: IntArray
    again: tuple[IntArray, None, float]


def test_parts_that_share_an_array_still_do() -> None:
    def init() -> Nested:
        pulls = np.ones(2, np.int64)
        return Nested(pulls, (pulls, None, 0.5))

    memory = Memory(init)
    memory.renewed().pulls[:] = 7
    state = memory.renewed()
    assert state.again[0] is state.pulls
    assert state.pulls.tolist() == [1, 1]


def test_memory_that_nobody_has_set_and_negative_zeros_come_back_bit_for_bit() -> None:
    signalling = np.uint64(0x7FF0_0000_0000_0001)  # a NaN that raises "invalid value" wherever it is used as a number
    bits = np.array([signalling, 1 << 63, 0], np.uint64)
    memory = Memory(lambda: (bits.copy().view(np.float64), np.zeros(2)))
    for array in memory.renewed():
        array[:] = 7.0
    garbage, zeros = memory.renewed()
    assert_array_equal(garbage.view(np.uint64), bits)
    assert_array_equal(zeros, 0.0)


class Opaque(NamedTuple):
    values: FloatArray
    rng: np.random.Generator


def test_a_state_of_unknown_parts_is_made_anew() -> None:
    memory = Memory(lambda: Opaque(np.zeros(1), np.random.default_rng(0)))
    state = memory.renewed()
    state.values[0] = 1.0
    first = state.rng.random()
    assert memory.renewed().values[0] == 0.0
    assert memory.renewed().rng.random() == first


@settings(max_examples=100, derandomize=True)
@given(st.integers(0, 2**200), st.lists(st.integers(0, 2**32 - 1), max_size=4), st.integers(0, 2**32 - 1))
def test_seeds_are_those_of_numpy(seed: int, names: list[int], replication: int) -> None:
    expected = np.random.SeedSequence(seed, spawn_key=(*names, replication))
    assert_array_equal(seeds((seed, *names), replication).generate_state(8), expected.generate_state(8))
