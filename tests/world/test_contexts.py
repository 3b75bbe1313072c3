"""Contexts: their laws, shapes and names, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.world.context_names import contexts, make_contexts

RNG = np.random.default_rng


def test_the_sphere_is_uniform() -> None:
    rows = hb.Sphere(2, 3).sample(RNG(0), 20_000).reshape(-1, 3)
    assert np.allclose((rows**2).sum(axis=1), 1.0)
    assert np.abs(rows.mean(axis=0)).max() < 0.015
    assert np.abs(np.cov(rows.T) - np.eye(3) / 3).max() < 0.01
    heights = np.sort(rows[:, 2])  # by Archimedes uniform on [-1, 1]
    assert np.abs((heights + 1) / 2 - np.arange(len(rows)) / len(rows)).max() < 0.012


def test_a_cube() -> None:
    rows = hb.Cube(2, 3, low=-1.0, high=3.0, normalised=False).sample(RNG(0), 5000)
    assert rows.shape == (5000, 2, 3)
    assert (rows.min(), rows.max()) == (pytest.approx(-1.0, abs=0.01), pytest.approx(3.0, abs=0.01))
    assert np.allclose((hb.Cube(2, 3).sample(RNG(0), 50) ** 2).sum(axis=2), 1.0)
    raw = hb.Cube(2, 3, normalised=False).sample(RNG(7), 1)
    assert np.allclose(hb.Cube(2, 3).sample(RNG(7), 1), raw / np.sqrt((raw**2).sum(axis=2, keepdims=True)))


@given(st.integers(1, 4), st.lists(st.floats(-5, 5), min_size=1, max_size=4))
def test_blocks_give_each_arm_a_model_of_its_own(n_arms: int, context: list[float]) -> None:
    features = hb.blocks(context, n_arms)
    theta = np.arange(1.0, n_arms * len(context) + 1).reshape(n_arms, -1)
    assert features.shape == (n_arms, theta.size)
    assert np.allclose(features @ theta.ravel(), theta @ np.array(context))
    several = hb.blocks([context, context], n_arms)
    assert np.array_equal(several, np.stack([features, features]))


def test_disjoint_contexts_are_blocks() -> None:
    drawn = hb.Disjoint(3, hb.Sphere(1, 2)).sample(RNG(0), 4)
    assert np.array_equal(drawn, hb.blocks(hb.Sphere(1, 2).sample(RNG(0), 4)[:, 0], 3))
    with pytest.raises(ValueError, match="context must have one row, got 2"):
        hb.Disjoint(3, hb.Sphere(2, 2)).sample(RNG(0), 4)


def test_logged_contexts_are_drawn_from_the_table() -> None:
    table = RNG(0).normal(size=(3, 2, 4))
    drawn = hb.Logged(table).sample(RNG(1), 200)
    assert {part.tobytes() for part in drawn} == {part.tobytes() for part in table}
    assert hb.Logged(table) == hb.Logged(table.tolist()) != hb.Logged(table + 1e-15)
    assert hash(hb.Logged(table)) == hash(hb.Logged(table))
    assert repr(hb.Logged(table)) != repr(hb.Logged(table + 1e-15))
    assert hb.Logged(table[:, 0]).sample(RNG(0), 5).shape == (5, 1, 4)
    assert not hb.Logged(table).values.flags.writeable


def test_every_kind_has_a_name() -> None:
    sphere: Any = {"kind": "sphere", "n_arms": 2, "n_features": 3}
    made = [
        make_contexts(**sphere),
        make_contexts("cube", n_arms=2, n_features=3, low=-1),
        make_contexts("frozen", contexts=sphere),
        make_contexts("held", contexts=sphere, rounds=3),
        make_contexts("disjoint", n_arms=2, context={**sphere, "n_arms": 1}),
        make_contexts("logged", values=[[[1.0, 2.0]]]),
    ]
    assert {type(one) for one in made} == set(contexts().values())
    assert made[1] == hb.Cube(2, 3, low=-1.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: hb.Sphere(0, 3), ValueError, "Sphere: n_arms must be a positive whole number, got 0"),
        (lambda: hb.Cube(2, 2, 1.0, 1.0), ValueError, "Cube: high must be above low, got low=1.0, high=1.0"),
        (
            lambda: make_contexts("cube", n_arms=2, n_features=2, normalised=1),
            TypeError,
            "normalised must be True or False, got 1",
        ),
        (lambda: hb.Frozen(np.eye(2)), TypeError, "Frozen: contexts must be contexts with a method sample"),
        (lambda: hb.Logged([1.0]), ValueError, r"values must have shape \(n, K, d\) or \(n, d\), got \(1,\)"),
        (lambda: hb.Logged([[np.nan]]), ValueError, "Logged: values must be finite"),
        (lambda: hb.Logged([["a"]]), TypeError, "Logged: values must be an array of numbers"),
        (lambda: hb.blocks(1.0, 2), ValueError, "blocks: context must be p numbers"),
        (lambda: make_contexts("spere"), ValueError, "unknown contexts 'spere'; did you mean 'sphere'"),
        (lambda: make_contexts("sphere", arms=3), ValueError, "sphere: unknown parameter 'arms'"),
        (lambda: make_contexts("sphere", n_arms=3), ValueError, "sphere: needs n_features"),
    ],
)
def test_what_is_wrong_is_named(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
