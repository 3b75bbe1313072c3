"""What all robust means have in common: no NaN, radii that cover, shifts and scales."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from means import MEANS, fed, stream
from scipy import integrate, stats

from heavybandits.algorithms.estimators.catoni import Catoni
from heavybandits.algorithms.estimators.catoni_infinite_variance import CatoniInfiniteVariance
from heavybandits.algorithms.estimators.median_of_means import MedianOfMeans
from heavybandits.algorithms.estimators.truncated_mean import TruncatedMean
from heavybandits.numerics import LARGEST_FLOAT


@pytest.mark.slow
@pytest.mark.parametrize("mean", MEANS)
def test_no_reward_gives_nan(mean: Any) -> None:
    for seed in range(3):
        state, rng = mean.init(2, 150), np.random.default_rng(seed)
        for n, reward in enumerate(rng.choice([math.inf, -math.inf, LARGEST_FLOAT, -1e308, 0.0, 5e-324], 150), 1):
            arm = int(rng.integers(2))
            mean.observe(state, arm, reward)
            estimate = mean.refresh(state, arm, 2 * math.log(n + 1))
            assert not math.isnan(estimate)
            assert math.isfinite(mean.value(state, arm))
            assert not math.isnan(mean.until(state, arm, 2 * math.log(n + 1)))


@pytest.mark.parametrize("mean", MEANS)
def test_without_rewards_there_is_no_estimate(mean: Any) -> None:
    state = mean.init(1, None)
    assert math.isnan(mean.value(state, 0))
    assert mean.refresh(state, 0, 1.0) == math.inf
    assert math.isnan(mean.value(state, 0))


def moment(law: Any, centre: float, p: float) -> float:
    """Return E|X - centre|^p."""
    left = integrate.quad(lambda x: (centre - x) ** p * law.pdf(x), -math.inf, centre)[0]
    return float(left + integrate.quad(lambda x: (x - centre) ** p * law.pdf(x), centre, math.inf)[0])


LAWS = {"student": stats.t(3, loc=1.0), "pareto": stats.pareto(2.1, loc=-1.0)}
MAKERS: list[Callable[[float, float, float], Any]] = [
    lambda eps, v, u: MedianOfMeans(eps, v),
    lambda eps, v, u: TruncatedMean(eps, u),
    lambda eps, v, u: CatoniInfiniteVariance(eps, v),
    lambda eps, v, u: Catoni(v),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "eps"), [*((make, 0.5) for make in MAKERS[:3]), *((make, 1.0) for make in MAKERS)])
@pytest.mark.parametrize("law", LAWS)
def test_radius_covers(law: str, make: Callable[[float, float, float], Any], eps: float) -> None:
    """It covers on each side at least as often as promised; a tenth of the radius would not."""
    mu, p, n, delta = LAWS[law].mean(), 1 + eps, 120, 0.05
    mean = make(eps, moment(LAWS[law], mu, p), moment(LAWS[law], 0.0, p))
    log_term = math.log(1 / delta)
    samples = LAWS[law].rvs((200, n), random_state=np.random.default_rng(11))
    errors = np.array([mean.refresh(fed(mean, sample), 0, log_term) - mu for sample in samples])
    radius = mean.width(n) * mean.factor(log_term)
    assert np.mean(errors > radius) <= delta
    assert np.mean(errors < -radius) <= delta
    assert np.mean(np.abs(errors) > 0.02 * radius) > delta


@settings(derandomize=True, max_examples=25)
@given(st.sampled_from(MEANS), st.integers(0, 2**32 - 1), st.floats(-100, 100), st.floats(1e-3, 1e3))
def test_shift_and_scale(mean: Any, seed: int, shift: float, scale: float) -> None:
    rewards, log_term = stream(seed, 120, wild=0.0), 4.0
    plain = mean.refresh(fed(mean, rewards), 0, log_term)
    p = 2.0 if isinstance(mean, Catoni) else 1 + mean.eps
    name = "u" if isinstance(mean, TruncatedMean) else "v"
    scaled = mean._replace(**{name: getattr(mean, name) * scale**p})
    assert scaled.refresh(fed(scaled, scale * rewards), 0, log_term) == pytest.approx(scale * plain, rel=1e-6)
    assert scaled.width(120) == pytest.approx(scale * mean.width(120))
    assert scaled.factor(log_term) == mean.factor(log_term)
    if name == "v":
        assert mean.refresh(fed(mean, rewards + shift), 0, log_term) == pytest.approx(plain + shift, abs=1e-9)


def test_truncated_mean_depends_on_the_origin() -> None:
    mean = TruncatedMean(1.0, 1.0)
    rewards = stream(0, 120, wild=0.0)
    assert abs(mean.refresh(fed(mean, rewards + 100.0), 0, 4.0) - 100.0) > 50.0


@pytest.mark.parametrize(
    "bad",
    [
        lambda: MedianOfMeans(eps=1.5, v=1.0),
        lambda: MedianOfMeans(eps=-0.1, v=1.0),
        lambda: MedianOfMeans(eps=1.0, v=0.0),
        lambda: TruncatedMean(eps=0.0, u=1.0),
        lambda: TruncatedMean(eps=1.0, u=math.inf),
        lambda: Catoni(v=-1.0),
        lambda: CatoniInfiniteVariance(eps=0.0, v=1.0),
        lambda: CatoniInfiniteVariance(eps=0.5, v=1.0, h=1.0),
        lambda: CatoniInfiniteVariance(eps=0.5, v=1.0, tau=0.0),
    ],
)
def test_bad_parameters(bad: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        bad()
