"""Designs: inverses against plain linear algebra, symmetric to the last bit, and pending rows that leave no trace."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.algorithms.linear._design import (
    add_row,
    add_rows,
    init_design,
    known_leverage,
    leverage,
    renew,
)
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.protocols import FloatArray


def rows(seed: int, n: int, d: int) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(n, d)) * np.logspace(-1, 1, d)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(0, 40), st.sampled_from([0.01, 1.0]))
def test_the_inverse_follows_rows_and_weights(seed: int, d: int, n: int, ridge: float) -> None:
    design, gram = init_design(d, ridge), ridge * np.eye(d)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, n)
    for x, weight in zip(rows(seed, n, d), weights, strict=True):
        before = x @ np.linalg.inv(gram) @ x
        assert add_row(design, x, weight) == pytest.approx(before, rel=1e-6)
        assert np.allclose(design.product, np.linalg.solve(gram, x), rtol=1e-5, atol=1e-8)
        gram += weight * np.outer(x, x)
    assert np.allclose(design.inverse @ gram, np.eye(d), atol=1e-6)
    assert np.array_equal(design.inverse, design.inverse.T)
    assert design.log_det[0] == pytest.approx(np.linalg.slogdet(gram / ridge)[1], abs=1e-8)


@pytest.mark.parametrize(
    ("scales", "most"),
    [
        ((1e-9, 1e-3, 1e3, 1e9), 2.0),  # leverages are at most 1; the rest is rounding
        ((1e-9, 1.0, 1.0, 1e9), 2.0),
        ((1e15,) * 4, np.inf),  # here rounding is all that remains of the inverse
        ((1e20,) * 4, np.inf),
    ],
)
@pytest.mark.parametrize("n_pending", [0, 3])
def test_features_of_very_different_scale_do_no_harm(scales: tuple[float, ...], most: float, n_pending: int) -> None:
    rng = np.random.default_rng(0)
    design, offers = init_design(4, 1.0), rng.normal(size=(5, 4)) * scales
    for x in offers[:n_pending]:
        design.ask(x)
    for x in offers[rng.integers(5, size=200)]:
        add_row(design, x, 1.0)
        assert leverage(design, x) < most
    assert all(np.isfinite(array).all() for _, array in arrays(design))
    design.check(init_design(4, 1.0), 1)


def test_a_row_can_be_taken_out_again() -> None:
    design, table = init_design(3, 1.0), rows(1, 5, 3)
    for x in table:
        add_row(design, x, 1.0)
    add_row(design, table[2], -1.0)
    gram = np.eye(3) + sum(np.outer(x, x) for x in np.delete(table, 2, axis=0))
    assert np.allclose(design.inverse, np.linalg.inv(gram))


@settings(max_examples=30)
@given(st.integers(0, 1000), st.lists(st.sampled_from(["ask", "learn", "cancel", "stray"]), max_size=30))
def test_pending_rows_narrow_widths_and_leave_no_trace(seed: int, steps: list[str]) -> None:
    d, table = 3, rows(seed, 30, 3)
    design, plain = init_design(d, 0.5), init_design(d, 0.5)
    known, waiting = 0.5 * np.eye(d), []
    for x, step in zip(table, steps, strict=False):
        if step == "ask":
            design.ask(x)
            waiting.append(x)
        elif step == "stray":  # a reward without a decision
            add_row(design, x, 0.7)
            add_row(plain, x, 0.7)
            known += 0.7 * np.outer(x, x)
        elif waiting:
            settled = waiting.pop(0)
            if step == "learn":
                add_row(design, settled, 0.3)
                add_row(plain, settled, 0.3)
                known += 0.3 * np.outer(settled, settled)
            design.settle(settled)
        assert np.array_equal(design.inverse, plain.inverse)
        assert design.log_det[0] == plain.log_det[0]
        both = known + sum((np.outer(w, w) for w in waiting), np.zeros((d, d)))
        probe = table[-1]
        assert leverage(design, probe) == pytest.approx(probe @ np.linalg.solve(both, probe), rel=1e-6)
        assert known_leverage(design, probe) == known_leverage(plain, probe)
        if not waiting:
            assert leverage(design, probe) == leverage(plain, probe)
    assert design.pending[0] == len(waiting)


@pytest.mark.parametrize("ridge", [1e-9, 1e-6])
def test_a_row_that_alone_spans_a_direction_may_be_given_up(ridge: float) -> None:
    design, first, second = init_design(2, ridge), np.array([1.0, 0.0]), np.array([0.3, 1.0])
    design.ask(first)
    design.ask(second)
    design.settle(second)
    expected = np.linalg.inv(ridge * np.eye(2) + np.outer(first, first))
    assert np.allclose(design.asked, expected, rtol=1e-3)
    design.settle(first)
    design.settle(first)  # nothing is left to settle
    assert design.pending[0] == 0
    assert leverage(design, first) == 1.0 / ridge


def test_an_inverse_written_anew_is_followed() -> None:
    design, (x, y) = init_design(2, 1.0), rows(3, 2, 2)
    design.ask(x)
    design.inverse[:] = np.linalg.inv(np.array([[3.0, 1.0], [1.0, 2.0]]))
    renew(design)
    assert leverage(design, y) == pytest.approx(
        y @ np.linalg.solve(np.array([[3.0, 1.0], [1.0, 2.0]]) + np.outer(x, x), y)
    )


@pytest.mark.parametrize(("d", "n"), [(1, 2), (2, 4), (5, 10), (9, 4)])
def test_rows_are_added_by_their_gram_matrix(d: int, n: int) -> None:
    table, found = rows(d, n, d), np.eye(d)
    gram = table.T @ table
    add_rows(found, gram, gram.copy(), np.zeros(d), np.zeros(d))
    assert np.allclose(found @ (np.eye(d) + gram), np.eye(d))
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("scales", [(1e-30, 1.0, 1e30), (1e100, 1.0, 1e-100), (1e100,) * 3])
def test_rounding_leaves_no_negative_diagonal(scales: tuple[float, ...]) -> None:
    """Here two rows determine features that are so large that their inverse is singular to the last digit."""
    rng = np.random.default_rng(0)
    design, fresh, offers = init_design(9, 1.0), init_design(9, 1.0), rng.normal(size=(2, 9)) * np.tile(scales, 3)
    for x in offers[rng.integers(2, size=200)]:
        design.ask(x)
        design.ask(offers[0])
        add_row(design, x, 1.0)
        design.settle(x)
        design.settle(offers[0])
        for inverse in (design.inverse, design.asked):
            assert inverse.diagonal().min() >= 0.0
            assert np.abs(inverse).max() <= 1.0 + 1e-9  # that of the ridge
    design.check(fresh, 1)


@pytest.mark.parametrize(
    ("inverse", "least"),
    [([[1.0, 0.0], [0.0, 0.0]], None), (np.diag([4.0, -1.0]), "-1.0"), (np.full((2, 2), np.inf), "nan")],
)
def test_a_saved_inverse_has_no_negative_diagonal(inverse: FloatArray, least: str | None) -> None:
    design, fresh = init_design(2, 1.0), init_design(2, 1.0)
    design.inverse[:] = inverse
    if least is None:
        design.check(fresh, 2)
    else:
        with pytest.raises(ValueError, match=f"with no negative diagonal; the least there is {least}$"):
            design.check(fresh, 2)


def test_zeros_among_the_features_change_nothing() -> None:
    design = init_design(4, 1.0)
    for x in ([1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0]):
        add_row(design, np.array(x), 1.0)
    assert not design.inverse[:2, 2:].any()
    assert leverage(design, np.zeros(4)) == 0.0
    assert all(np.isfinite(array).all() for _, array in arrays(design))
