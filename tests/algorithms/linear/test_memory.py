"""The memory stated in the table of linear policies is what their states take."""

import re

import pytest

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.registry import examples, facts

SQUARES = ["oful", "lin-ucb", "lin-ts", "crt", "hvt-ucb", "linear-clipped-sgd-ucb", "greedy-ridge", "square-cb"]
SMALL = 100  # bytes of counters and constants


@pytest.mark.parametrize("name", SQUARES)
def test_bytes_are_what_a_state_takes(name: str) -> None:
    stated = re.fullmatch(r"8 \((\d*) ?d² \+ (\d+) d\) bytes in all", facts("linear")[name].memory)
    assert stated is not None
    squares, lines = int(stated[1] or 1), int(stated[2])
    for d in (5, 30):
        state = hb.make(name, **examples()[name]).init(d, 1000)
        taken = sum(array.nbytes for _, array in arrays(state))
        assert 0 <= taken - 8 * (squares * d * d + lines * d) < SMALL
