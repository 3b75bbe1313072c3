"""Gamma numbers follow their law."""

import numpy as np
import pytest

from heavybandits.algorithms.policies._draws import draw_beta, draw_gamma

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize("shape", [0.3, 1.0, 7.5, 400.0])
def test_gamma_numbers_follow_their_law(shape: float) -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    sample = [draw_gamma(rng, shape) for _ in range(4000)]
    assert stats.kstest(sample, stats.gamma(shape).cdf).pvalue > 0.01
    other = [draw_beta(rng, shape, 2.0) for _ in range(4000)]
    assert stats.kstest(other, stats.beta(shape, 2.0).cdf).pvalue > 0.01
