"""Argument checks: what passes, what is refused, and how."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from heavybandits import _validate


@pytest.mark.parametrize(
    ("check", "good", "bad", "wrong_type"),
    [
        (_validate.finite, [-1, 0, 2.5, np.float32(1.5)], [math.inf, math.nan], [None, True, "1", 1j]),
        (_validate.positive, [1, 1e-300], [0, -1], [np.bool_(True)]),
        (_validate.non_negative, [0, 3], [-1e-9], [[]]),
        (_validate.fraction, [1, 1e-9], [0, 1.01], [False]),
        (_validate.count, [1, np.int32(7), 2**53], [0, -1, 2**53 + 1], [1.0, True, "1"]),
        (_validate.whole, [0, 5], [-1], [0.5, False]),
        (_validate.odd_or_zero, [0, 1, 3], [2, -1], [1.0]),
    ],
)
def test_checks(check: Callable[..., float], good: list[Any], bad: list[Any], wrong_type: list[Any]) -> None:
    for value in good:
        result = check("Thing", "size", value)
        assert result == value
        assert type(result) in (int, float)
    for values, error in ((bad, ValueError), (wrong_type, TypeError)):
        for value in values:
            with pytest.raises(error, match=r"^Thing: size must be .*, got "):
                check("Thing", "size", value)


def test_open_and_closed_ends() -> None:
    for ends, low_belongs, high_belongs in (("[]", 1, 1), ("()", 0, 0), ("(]", 0, 1), ("[)", 1, 0)):
        for value, belongs in ((0, low_belongs), (1, high_belongs), (0.5, 1)):
            if belongs:
                assert _validate.in_range("Thing", "size", value, 0, 1, ends) == value
            else:
                with pytest.raises(ValueError, match="Thing: size must be a number in "):
                    _validate.in_range("Thing", "size", value, 0, 1, ends)


def test_an_error_names_the_known_ones_unless_they_are_thousands() -> None:
    names = [f"arm {number}" for number in range(1000 + _validate.MOST_NAMED)]
    few, many = (_validate.unknown("arm", "arm 7x", names[:n]) for n in (_validate.MOST_NAMED, len(names)))
    for text in (few, many):
        assert text.startswith("unknown arm 'arm 7x'; did you mean 'arm 7'? Known: arm 0, ")
    assert few.endswith(names[_validate.MOST_NAMED - 1])
    assert many == f"{few} and 1,000 more"
