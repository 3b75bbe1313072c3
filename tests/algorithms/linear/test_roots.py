"""Square roots of matrices."""

import numpy as np
from hand_computed import close

from heavybandits.algorithms.linear._roots import square_root


def test_square_root_of_a_large_matrix() -> None:
    rng = np.random.default_rng(0)
    turns, _ = np.linalg.qr(rng.standard_normal((12, 12)))
    matrix = turns @ np.diag(10.0 ** rng.uniform(-6, 2, 12)) @ turns.T
    root = np.zeros((12, 12))
    square_root(matrix, root, np.zeros((12, 12)), np.zeros((12, 12)))
    close(root @ root, matrix, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh(root).min() > 0.0
