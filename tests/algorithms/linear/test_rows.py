"""What linear policies share: rows with a 1 appended, and the row of highest index."""

import numpy as np
import pytest

from heavybandits.algorithms.linear._design import leverage
from heavybandits.algorithms.linear._rows import Fit, init_fit, learn_fit, optimistic, value_at
from heavybandits.protocols import FloatArray


def taught(seed: int, d: int, intercept: bool) -> tuple[Fit, FloatArray, FloatArray]:
    """Return an estimate, and the rows and rewards that it was learned from."""
    rng = np.random.default_rng(seed)
    rows, rewards, fit = rng.standard_normal((7, d)), rng.standard_normal(7), init_fit(d, intercept, 0.3)
    for x, y in zip(rows, rewards, strict=True):
        learn_fit(fit, x, y)
    return fit, rows, rewards


@pytest.mark.parametrize(("n_rows", "d"), [(1, 1), (3, 2), (9, 4), (40, 11)])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("pending", [False, True])
def test_the_chosen_row_has_the_highest_index(n_rows: int, d: int, intercept: bool, pending: bool) -> None:
    for seed in range(5):
        fit, rows, _ = taught(seed, d, intercept)
        if pending:
            fit.ask(rows[3])
        features = np.random.default_rng(seed + 100).standard_normal((n_rows, d))
        lifted = np.column_stack([features, np.ones((n_rows, int(intercept)))])
        index = [x @ fit.theta + 1.7 * np.sqrt(leverage(fit.design, x)) for x in lifted]
        assert optimistic(fit, features, 1.7) == int(np.argmax(index))


def test_ties_go_to_the_first_row() -> None:
    assert optimistic(init_fit(3, False, 1.0), np.ones((20, 3)), 1.0) == 0


def test_an_intercept_is_a_feature_that_is_always_1() -> None:
    fit, rows, rewards = taught(0, 3, True)
    plain = init_fit(4, False, 0.3)
    for x, y in zip(rows, rewards, strict=True):
        learn_fit(plain, np.append(x, 1.0), y)
    assert np.array_equal(fit.theta, plain.theta)
    assert value_at(fit, rows[0]) == value_at(plain, np.append(rows[0], 1.0))


def test_pending_rows_count_with_their_1() -> None:
    fit, rows, _ = taught(0, 3, True)
    before = leverage(fit.design, np.append(rows[0], 1.0))
    fit.ask(rows[0])
    np.testing.assert_allclose(leverage(fit.design, np.append(rows[0], 1.0)), before / (1.0 + before), rtol=1e-9)
    fit.settle(rows[0])
    assert leverage(fit.design, np.append(rows[0], 1.0)) == before
