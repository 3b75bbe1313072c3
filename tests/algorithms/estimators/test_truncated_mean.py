"""The truncated mean against its definition."""

import math

import numpy as np
import pytest
from means import fed, stream

from heavybandits.algorithms.estimators.truncated_mean import TruncatedMean
from heavybandits.protocols import FloatArray


def truncated_mean(rewards: FloatArray, eps: float, u: float, log_term: float) -> tuple[float, float]:
    """Return the mean by its definition, and the size of its rounding errors."""
    n = len(rewards)
    kept = np.abs(rewards) <= (u * np.arange(1, n + 1) / log_term) ** (1 / (1 + eps))
    return math.fsum(rewards[kept]) / n, math.fsum(np.abs(rewards[kept])) / n


def test_truncated_mean_vector() -> None:
    mean = TruncatedMean(eps=0.5, u=10.0)
    rewards = [1.0, -2.0, 50.0, 3.0, -8.0, 0.5]
    state = fed(mean, rewards)
    heap = state.heap.records[state.heap.start[0] :][: 2 * state.heap.size[0]].reshape(-1, 2)
    kappas = sorted(heap.tolist(), key=lambda pair: rewards.index(pair[1]))
    expected = [10, 7.071068, 0.084853, 7.698004, 2.209709, 169.705627]
    assert [kappa for kappa, _ in kappas] == pytest.approx(expected, abs=5e-7)
    log_term = 2 * math.log(20)
    assert mean.refresh(state, 0, log_term) == pytest.approx(0.416666667, abs=5e-10)
    radius = mean.width(6) * mean.factor(log_term)
    assert radius == pytest.approx(18.557547142, rel=1e-9)
    assert mean.value(state, 0) + radius == pytest.approx(18.974213809, rel=1e-9)
    # -2 has kappa 7.07 and leaves when t > e^3.5355 = 34.31; 3 leaves when t > 46.946.
    assert mean.until(state, 0, log_term) == pytest.approx(7.071068, abs=5e-7)
    assert mean.refresh(state, 0, 2 * math.log(46.94)) * 6 == pytest.approx(4.5)
    assert mean.refresh(state, 0, 2 * math.log(46.95)) * 6 == pytest.approx(1.5)


def test_truncated_mean_keeps_at_equality() -> None:
    mean = TruncatedMean(eps=1.0, u=4.0)
    state = fed(mean, [2.0])
    assert mean.refresh(state, 0, 1.0) == 2.0
    assert mean.refresh(state, 0, 1.0 + 1e-9) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("eps", "u"), [(1.0, 3.0), (0.5, 1.0), (0.1, 1e-3), (0.5, 1e200)])
def test_truncated_mean_is_exact_while_its_threshold_moves(eps: float, u: float) -> None:
    rewards, mean, rng = stream(3, 3000), TruncatedMean(eps, u), np.random.default_rng(0)
    rewards[np.abs(rewards) == math.inf] = 1e300  # the definition cannot take infinities; they are tested below
    state, checked = mean.init(1, len(rewards)), 0
    for n, reward in enumerate(rewards, 1):
        mean.observe(state, 0, reward)
        if rng.random() < 0.3:  # so several rewards come between estimates, and before the first
            log_term = 2 * math.log(2 * n + 2)
            expected, size = truncated_mean(rewards[:n], eps, u, log_term)
            assert mean.refresh(state, 0, log_term) == pytest.approx(expected, rel=1e-12, abs=1e-12 * size)
            checked += 1
    assert checked > 800


def test_truncated_mean_estimate_changes_after_until_only() -> None:
    mean = TruncatedMean(0.5, 3.0)
    rewards = stream(5, 500)
    state, log_term, steps = fed(mean, rewards), 0.05, 0
    while log_term < 100.0:
        value = mean.refresh(state, 0, log_term)
        until = mean.until(state, 0, log_term)
        assert until >= log_term
        if until < 100.0:
            assert mean.refresh(state, 0, until) == value
        log_term, steps = math.nextafter(until, math.inf), steps + 1
    assert steps > 50


def test_truncated_mean_stores_little() -> None:
    """Reward s is stored with probability at most 175/s if the assumption holds; all are if it is grossly wrong."""
    rewards = np.random.default_rng(0).standard_normal(5000)
    assert fed(TruncatedMean(1.0, 1.0), rewards).heap.size[0] < 175 * (1 + math.log(5000 / 175))
    assert fed(TruncatedMean(1.0, 1e-9), rewards).heap.size[0] > 4900
