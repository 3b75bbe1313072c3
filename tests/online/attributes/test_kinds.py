"""Values of attributes as features."""

import math
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandits.online.attributes.kinds import (
    ATTRIBUTE_KINDS,
    Attribute,
    Features,
    attribute_for,
    declared,
    loaded,
    saved,
)


def featured(attribute: Attribute, *values: object) -> list[Features]:
    labels: list[str] = []

    def new_slot(label: str) -> int:
        labels.append(label)
        return len(labels) - 1

    made = [attribute.missing(new_slot) if value is None else attribute.features(attribute.plain(value), new_slot)
            for value in values]  # fmt: skip
    assert sorted(set(attribute.slots.values())) == sorted(attribute.slots.values())
    return made


def test_eight_numbers_set_the_origin_and_the_unit() -> None:
    made = featured(attribute_for("age", 31), 31, 31, 40, 22.0, 31, 40, 22, 40, 49, 31)
    assert made == [[]] * 7 + [[(0, 1.0)], [(0, 2.0)], [(0, 0.0)]]  # the middle is 31, the quartiles 31 and 40


def test_eight_equal_numbers_leave_that_to_the_next_sixteen() -> None:
    made = featured(declared("x", "number"), *[7] * 22, 8, 7, 8)
    assert made == [[]] * 23 + [[(0, 0.0)], [(0, 1.0)]]


@pytest.mark.parametrize("position", range(8))
@pytest.mark.parametrize("wrong", [-1e9, 310.0, 1e9])
def test_a_mistyped_number_among_the_first_spoils_nothing(position: int, wrong: float) -> None:
    values = [20.0, 31.0, 42.0, 53.0, 64.0, 25.0, 36.0, 47.0]
    values[position] = wrong
    made = featured(declared("age", "number"), *values, *range(20, 65))
    assert max(abs(number) for features in made[8:] for _, number in features) < 4.0


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=100), st.sampled_from([0.25, 1024.0]), st.integers(-5, 5))
def test_units_have_no_effect(values: list[int], unit: float, shift: int) -> None:
    plain = featured(declared("x", "number"), *values)
    assert featured(declared("x", "number"), *(unit * (value + shift) for value in values)) == plain


def test_one_outlier_counts_as_a_value_at_the_limit_and_others_as_before() -> None:
    values = [*range(20, 28), 1e9, 23, -1e9, 23]
    made = featured(declared("age", "number"), *values)
    assert made[8] == [(0, (25 + 10 * 3 - 24) / 3)]
    assert made[9] == made[11] == [(0, (23 - 24) / 3)]
    assert made[10] == [(0, (22 - 10 * 3 - 24) / 3)]


def test_limits_follow_values_that_move() -> None:
    made = featured(declared("time", "number"), *np.arange(0.0, 10_000.0, 1.0))
    assert [features[0][1] for features in made[7:]] == [(value - 4) / 3 for value in range(7, 10_000)]


def test_values_that_are_mostly_equal_have_no_limit() -> None:
    made = featured(declared("orders", "number"), 1, *[0] * 200, 50)
    assert made[-1] == [(0, 50.0)]


def test_levels_come_in_order_until_there_is_no_room() -> None:
    made = featured(declared("zip", 2), "b", "a", "c", "d", "a", None, "c")
    assert [slot for ((slot, number),) in made] == [0, 1, 2, 2, 1, 3, 2]


def test_fixed_levels_are_the_only_ones() -> None:
    country = declared("country", ["CA", "US"])
    made = featured(country, "MX", "US", "CA", "FR")
    assert [slot for ((slot, number),) in made] == [0, 1, 2, 0]
    assert country.described() == ["CA", "US"]


def test_25_levels_by_default() -> None:
    made = featured(attribute_for("city", "x"), *map(str, range(100)))
    assert len({slot for ((slot, number),) in made}) == 26


def test_hours_are_on_a_circle() -> None:
    midnight, evening, next_midnight = featured(declared("hour", "hour"), 0, 18, 24)
    np.testing.assert_allclose(midnight, next_midnight, atol=1e-12)
    np.testing.assert_allclose([number for _, number in evening], [0.0, -1.0, -1.0, 0.0], atol=1e-12)


def test_datetimes_have_an_hour_and_a_day_of_the_week() -> None:
    when = attribute_for("when", datetime(2026, 5, 17, 18, 30))
    (made,) = featured(when, "2026-05-17T18:30")
    assert made == featured(attribute_for("when", datetime(2026, 5, 17)), datetime(2026, 5, 17, 18, 30))[0]
    assert made[0][1] == pytest.approx(math.cos(math.tau * 18.5 / 24))
    assert "= Sunday" in when.weekday  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("number", "31"), ("number", True), ("number", math.inf), ("number", 1e31), ("boolean", 1), ("category", 0.5),
     ("category", "x" * 201), ("hour", 25), ("hour", True), ("weekday", 7), ("weekday", "Mon"), ("datetime", "noon"),
     ("datetime", 5)],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_name(kind: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"attribute 'it' must be .* got"):
        declared("it", kind).plain(value)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_numbers_that_python_does_not_print_are_refused_with_the_name(kind: str) -> None:
    with pytest.raises(ValueError, match=r"attribute 'it' must be .* got a whole number of thousands of digits"):
        declared("it", kind).plain(10**5000)


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"x", object()])
def test_other_types_are_no_values(value: object) -> None:
    with pytest.raises(TypeError, match="attribute 'it' must be"):
        attribute_for("it", value)


@pytest.mark.parametrize("description", ["text", [], 0, True, None, {"kind": "number"}])
def test_a_schema_that_means_nothing_is_refused(description: object) -> None:
    with pytest.raises(ValueError, match="schema of 'it' must be"):
        declared("it", description)


@pytest.mark.parametrize("levels", [["a", "b", "a"], [1, "1"]])
def test_a_schema_does_not_name_a_level_twice(levels: list[object]) -> None:
    with pytest.raises(ValueError, match="schema of 'it' must have different levels, got"):
        declared("it", levels)


def test_all_kinds_can_be_saved() -> None:
    values = {"number": 3.5, "boolean": True, "category": "x", "hour": 3, "weekday": 2, "datetime": "2026-05-17"}
    assert values.keys() == ATTRIBUTE_KINDS.keys()
    for kind, value in values.items():
        attribute = declared("it", kind)
        featured(attribute, value, None, value)
        assert loaded(saved(attribute)) == attribute
