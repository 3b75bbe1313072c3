"""Rows of features from named attributes."""

import json

import numpy as np
import pytest

from heavybandits.online.attributes.encoder import MOST_ATTRIBUTE_COLUMNS, Encoder
from heavybandits.protocols import FloatArray


def encoder_of(*arms: str, schema: dict[str, object] | None = None) -> Encoder:
    encoder = Encoder(schema or {})
    encoder.add_arms({arm: {} for arm in arms})
    return encoder


def rows(encoder: Encoder, visitor: dict[str, object], **offers: dict[str, object] | None) -> FloatArray:
    checked = {arm: None if values is None else encoder.offers.checked(values) for arm, values in offers.items()}
    return encoder.rows(checked, encoder.visitors.checked(visitor))


def labelled(encoder: Encoder, row: FloatArray) -> dict[str, float]:
    return {label: number for label, number in zip(encoder.labels, row, strict=True) if number != 0.0}


def test_a_row_has_the_arm_the_visitor_and_their_products() -> None:
    encoder = encoder_of("a", "b")
    for age in (20, 20, 20, 30, 30, 30, 40):
        rows(encoder, {"age": age}, a=None, b=None)
    table = rows(encoder, {"age": 40, "country": "CA"}, b=None, a=None)
    assert labelled(encoder, table[0]) == {"b": 1, "age": 1, "b: age": 1, "country = CA": 1, "b: country = CA": 1}
    assert labelled(encoder, table[1]) == {"a": 1, "age": 1, "a: age": 1, "country = CA": 1, "a: country = CA": 1}


def test_products_belong_to_their_arm_or_to_the_attribute_by_which_arms_are_known() -> None:
    known = encoder_of("a", "b")
    rows(known, {"country": "CA"}, a=None, b=None)
    free = Encoder({})
    rows(free, {"country": "CA"}, x={"topic": "sport"}, y={"topic": "arts"})
    for encoder, owners in ((known, ["a", "b"]), (free, ["topic = sport", "topic = arts"])):
        found = {encoder.labels[product]: encoder.labels[owner] for product, owner in encoder.owners.items()}
        assert found == {f"{owner}: country = CA": owner for owner in owners}


def test_attributes_may_be_left_out() -> None:
    encoder = encoder_of("a")
    rows(encoder, {"age": 30, "country": "CA"}, a=None)
    nothing: list[dict[str, object]] = [{}, {"age": None, "country": None}, {"age": float("nan")}]
    for missing in nothing:
        expected = {
            "a": 1,
            "age (missing)": 1,
            "a: age (missing)": 1,
            "country (missing)": 1,
            "a: country (missing)": 1,
        }
        assert labelled(encoder, rows(encoder, missing, a=None)[0]) == expected


def test_arms_with_attributes_of_their_own() -> None:
    encoder = Encoder({})
    encoder.add_arms({"a": {"price": 3.0}, "b": {"price": 5.0, "brand": "x"}})
    table = rows(encoder, {"country": "CA"}, a=None, b=None)
    assert labelled(encoder, table[0]) == {"a": 1, "price": -1, "country = CA": 1, "a: country = CA": 1}
    assert labelled(encoder, table[1]) == {"b": 1, "brand = x": 1, "country = CA": 1, "b: country = CA": 1}
    (today,) = rows(encoder, {"country": "CA"}, b={"price": 7.0})
    assert labelled(encoder, today)["price"] == 1.0


def test_arms_that_are_known_by_their_attributes() -> None:
    encoder = encoder_of()
    for age in (20, 20, 20, 30, 30, 30, 40):
        rows(encoder, {"age": age}, n1={"words": 100})
    table = rows(encoder, {"age": 40}, n2={"words": 300}, n3={"words": 200, "topic": "arts"})
    assert labelled(encoder, table[0]) == {"age": 1, "words": 1, "words: age": 1}
    expected = {"age": 1, "words": 0.5, "words: age": 0.5, "topic = arts": 1, "topic = arts: age": 1}
    assert labelled(encoder, table[1]) == expected


def test_columns_never_move() -> None:
    rng = np.random.default_rng(0)
    encoder = encoder_of("a", "b", "c")
    first = rows(encoder, {"x": "0"}, a=None, c=None)
    for _ in range(50):
        before = list(encoder.labels)
        rows(encoder, {f"x{rng.integers(3)}": str(rng.integers(5))}, b=None)
        assert encoder.labels[: len(before)] == before
    again = rows(encoder, {"x": "0"}, a=None, c=None)
    np.testing.assert_array_equal(again[:, : first.shape[1]], first)
    assert len(set(encoder.labels)) == len(encoder.labels)


def test_there_is_an_end_to_columns() -> None:
    encoder = encoder_of("a", "b")
    for number in range(400):
        table = rows(encoder, {f"x{number}": "y", "z": 1 + number}, a=None, b=None)
    assert len(encoder.labels) == table.shape[1] <= MOST_ATTRIBUTE_COLUMNS
    with pytest.raises(ValueError, match="at most 512 features"):
        encoder.add_arms({"c": {}})


def test_a_saved_encoder_goes_on_as_it_was() -> None:
    rng = np.random.default_rng(1)
    one = encoder_of("a", "b", schema={"x": "number", "y": 3, "z": "boolean"})
    for t in range(100):
        visitor = {"x": rng.normal(), "y": str(rng.integers(5)), "z": bool(rng.integers(2))}
        if t == 20:
            two = Encoder.loaded(json.loads(json.dumps(one.saved())))
        table = rows(one, visitor, a=None, b=None)
        if t >= 20:
            np.testing.assert_array_equal(rows(two, visitor, a=None, b=None), table)
    assert one.saved() == two.saved()


def test_columns_that_do_not_exist_are_refused() -> None:
    encoder = encoder_of("a", "b")
    rows(encoder, {"x": 1}, a=None)
    stored = encoder.saved()
    for change in ({"labels": stored["labels"][:-1]}, {"arm_columns": [0, 99]}, {"visitor_columns": [0]}):
        with pytest.raises(ValueError, match="features must belong"):
            Encoder.loaded({**stored, **change})
