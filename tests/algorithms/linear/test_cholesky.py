"""Cholesky factors against NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heavybandits.algorithms.linear._cholesky import add_to_factor, factorise, invert, solve_lower, solve_upper


@given(st.integers(0, 2**32 - 1))
def test_the_factor_solves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 4))
    matrix = root.T @ root + 0.1 * np.eye(4)
    right = rng.normal(size=4)
    expected = np.linalg.solve(matrix, right)
    factor = matrix.copy()
    factorise(factor)
    assert_allclose(np.tril(factor), np.linalg.cholesky(matrix), atol=1e-9)
    assert_allclose(np.triu(factor), np.tril(factor).T)
    solve_lower(factor, right)
    solve_upper(factor, right)
    assert_allclose(right, expected, rtol=1e-6, atol=1e-9)
    inverse = np.full((4, 4), np.nan)
    invert(factor, inverse)
    assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-6, atol=1e-9)


def test_a_matrix_that_rounding_made_indefinite_has_a_finite_factor() -> None:
    factor = np.array([[1.0, 0.0], [1.0, 1.0 - 2.0**-53]])
    factorise(factor)
    assert_allclose(np.tril(factor), [[1.0, 0.0], [1.0, 1e-9]])


def test_rounding_leaves_factors_and_solutions_finite() -> None:
    """Two rows in twelve directions, so large that the ridge is lost: nothing may exceed the roots of the diagonal."""
    table = 1e100 * np.random.default_rng(0).normal(size=(2, 12))
    updated, matrix = np.eye(12), np.eye(12)
    for x in np.tile(table, (20, 1)):
        add_to_factor(updated, x.copy())
        matrix += np.outer(x, x)
    computed = matrix.copy()
    factorise(computed)
    for factor in (updated, computed):
        assert (np.abs(np.tril(factor)) <= 1.001 * np.sqrt(matrix.diagonal())[:, None]).all()
        solution = table[0].copy()
        solve_lower(factor, solution)
        solve_upper(factor, solution)
        assert np.isfinite(solution).all()
