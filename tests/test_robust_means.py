"""Robust means against their definitions, on rewards that include ties, zeros, 1e17, 1e300 and infinities."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from heavybandits.estimators import catoni
from heavybandits.estimators.catoni import Catoni, CatoniInfiniteVariance, influence
from heavybandits.estimators.median_of_means import MOST_BLOCKS, MedianOfMeans, _range_sum, median
from heavybandits.estimators.truncated_mean import TruncatedMean
from heavybandits.numerics import LARGEST, saturate
from heavybandits.protocols import FloatArray

WILD = np.array([0.0, 0.0, 1.0, 1.0, -1.0, 1e17, -1e17, 1e300, -1e300, math.inf, -math.inf])
TWELVE = [1.0, 2.0, 3.0, 4.0, 100.0, 6.0, 7.0, -50.0, 9.0, 10.0, 11.0, 12.0]
TWENTY = TWELVE + 8 * [5.0]
MEANS = [MedianOfMeans(0.5, 2.0), TruncatedMean(0.5, 2.0), Catoni(2.0), CatoniInfiniteVariance(0.5, 2.0)]


def stream(seed: int, n: int, wild: float = 0.1) -> FloatArray:
    """Rewards of which a share is wild."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < wild, rng.choice(WILD, n), rng.standard_t(2, n))


def fed(mean: Any, rewards: Any) -> Any:
    """State after these rewards of the only arm."""
    state = mean.init(1, len(rewards))
    for reward in rewards:
        mean.observe(state, 0, reward)
    return state


# Median of means


def block_means(rewards: FloatArray, log_term: float) -> list[tuple[Fraction, Fraction]]:
    """Mean of each block as the definition has it, with what summing in floating point may add to it."""
    n = len(rewards)
    k = max(1, math.floor(min(1 + 8 * log_term, n / 2)))
    length = n // k
    blocks = [[Fraction(saturate(x)) for x in rewards[i * length : (i + 1) * length].tolist()] for i in range(k)]
    sizes = [sum(map(abs, block), Fraction(0)) for block in blocks]
    slack = [2 * Fraction(LARGEST) if size > Fraction(LARGEST) else size * Fraction(1e-14) for size in sizes]
    return [(sum(block, Fraction(0)) / length, room / length) for block, room in zip(blocks, slack, strict=True)]


def exact_median(values: list[Fraction]) -> Fraction:
    ordered = sorted(values)
    return (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2


def test_median_of_means_vectors() -> None:
    mean = MedianOfMeans(eps=0.5, v=4.0)
    log_term = 2 * math.log(20)
    state = fed(mean, TWELVE)
    assert mean.refresh(state, 0, log_term) == mean.value(state, 0) == 6.5
    assert (state.blocks[0], state.length[0]) == (6, 2)
    assert mean.width(12) * mean.factor(log_term) == pytest.approx(26.585238332, rel=1e-9)
    long = fed(mean, range(1, 401))
    assert mean.refresh(long, 0, 2 * math.log(3)) == 198.5
    assert (long.blocks[0], long.length[0]) == (18, 22)
    assert mean.refresh(long, 0, -1.0) == 200.5  # one block, of all


def test_median_of_means_survives_what_ruins_prefix_sums() -> None:
    state = fed(MedianOfMeans(1.0, 1.0), [1.0, 2.0, 1e17, 3.0, 4.0, 5.0])
    assert _range_sum(state.sums, 0, 3, 6) == 12.0


def test_sums_of_infinities_are_finite() -> None:
    state = fed(MedianOfMeans(1.0, 1.0), 16 * [math.inf])
    assert {_range_sum(state.sums, 0, begin, end) for begin in range(15) for end in range(begin + 1, 16)} == {LARGEST}


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 600), st.floats(0.01, 200.0))
def test_median_of_means_is_the_median_of_the_block_means(seed: int, n: int, log_term: float) -> None:
    rewards, mean = stream(seed, n), MedianOfMeans(1.0, 1.0)
    value = Fraction(mean.refresh(fed(mean, rewards), 0, log_term))
    blocks = block_means(rewards, log_term)
    assert exact_median([m - slack for m, slack in blocks]) <= value <= exact_median([m + slack for m, slack in blocks])


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(0, 300), st.integers(1, 300))
def test_sums_over_ranges(seed: int, begin: int, length: int) -> None:
    rewards = stream(seed, begin + length, wild=0.0)
    state = fed(MedianOfMeans(1.0, 1.0), rewards)
    expected = rewards[begin:]
    assert _range_sum(state.sums, 0, begin, begin + length) == pytest.approx(
        math.fsum(expected), abs=1e-14 * math.fsum(abs(expected))
    )


@settings(deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.floats(-LARGEST, LARGEST), st.sampled_from([0.0, 1.0])), min_size=1, max_size=60))
def test_median_by_selection(values: list[float]) -> None:
    ordered = sorted(values)
    expected = 0.5 * ordered[(len(values) - 1) // 2] + 0.5 * ordered[len(values) // 2]
    assert median(np.array([*values, math.nan]), len(values)) == expected


def test_median_of_means_stays_until_it_says() -> None:
    """k is worked out from L without rounding, so that the estimate changes exactly when it was announced."""
    mean = MedianOfMeans(1.0, 1.0)
    state, log_term, values = fed(mean, stream(1, 1000, wild=0.0)), 0.01, set()
    while log_term < 50.0:
        value = mean.refresh(state, 0, log_term)
        values.add(value)
        blocks, until = state.blocks[0], mean.until(state, 0, log_term)
        assert mean.refresh(state, 0, math.nextafter(until, 0.0)) == value
        assert state.blocks[0] == blocks
        mean.refresh(state, 0, until)
        assert state.blocks[0] == blocks + 1 == math.floor(1 + 8 * until)
        log_term = until
    assert len(values) > 100


def test_number_of_blocks_is_limited() -> None:
    mean = MedianOfMeans(1.0, 1.0)
    for n, blocks in ((10, 5), (3000, MOST_BLOCKS)):
        state = fed(mean, range(n))
        mean.refresh(state, 0, 1e300)
        assert state.blocks[0] == blocks
        assert mean.until(state, 0, 1e300) == math.inf


def test_eps_zero_makes_the_radius_a_constant() -> None:
    mean = MedianOfMeans(eps=0, v=2)
    assert {mean.width(n) * mean.factor(log_term) for n in (1, 7, 1000) for log_term in (0.5, 20.0)} == {24.0}


# Truncated mean


def truncated_mean(rewards: FloatArray, eps: float, u: float, log_term: float) -> tuple[float, float]:
    """The definition, and the size of its rounding errors."""
    n = len(rewards)
    kept = np.abs(rewards) <= (u * np.arange(1, n + 1) / log_term) ** (1 / (1 + eps))
    return math.fsum(rewards[kept]) / n, math.fsum(np.abs(rewards[kept])) / n


def test_truncated_mean_vector() -> None:
    mean = TruncatedMean(eps=0.5, u=10.0)
    rewards = [1.0, -2.0, 50.0, 3.0, -8.0, 0.5]
    state = fed(mean, rewards)
    heap = state.heap.pool[state.heap.start[0] :][: 2 * state.heap.size[0]].reshape(-1, 2)
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


@pytest.mark.parametrize(("eps", "u"), [(1.0, 3.0), (0.5, 1.0), (0.1, 1e-3), (0.5, 1e200)])
def test_truncated_mean_is_exact_while_its_threshold_moves(eps: float, u: float) -> None:
    rewards, mean, rng = stream(3, 3000), TruncatedMean(eps, u), np.random.default_rng(0)
    rewards[np.abs(rewards) == math.inf] = 1e300  # for the definition; infinities are as large as can be, see below
    state, checked = mean.init(1, len(rewards)), 0
    for n, reward in enumerate(rewards, 1):
        mean.observe(state, 0, reward)
        if rng.random() < 0.3:  # several rewards between estimates, and before the first
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
    """At most 175 / s of the rewards number s, if the assumption holds; all of them if it is grossly wrong."""
    rewards = np.random.default_rng(0).standard_normal(5000)
    assert fed(TruncatedMean(1.0, 1.0), rewards).heap.size[0] < 175 * (1 + math.log(5000 / 175))
    assert fed(TruncatedMean(1.0, 1e-9), rewards).heap.size[0] > 4900


# Catoni


def naive_influence(z: FloatArray, c: float, p: float) -> FloatArray:
    """psi in logarithms, good for every size: ln(1 + |z| + c |z|^p)."""
    with np.errstate(divide="ignore"):
        log = np.log(np.abs(z))
    return np.sign(z) * np.logaddexp(np.logaddexp(0.0, log), math.log(c) + p * log)


def constant(eps: float) -> float:
    return float((eps / (1 + eps)) ** ((1 + eps) / 2) * ((1 - eps) / eps) ** ((1 - eps) / 2))


def shape(mean: Any, n: int, log_term: float) -> tuple[float, float, float]:
    """alpha, C and p as published."""
    if isinstance(mean, Catoni):
        spread = mean.v + 2 * mean.v * log_term / (n - 2 * log_term)
        return math.sqrt(2 * log_term / (n * spread)), 0.5, 2.0
    eps, c = mean.eps, constant(mean.eps)
    alpha = (log_term / (eps * mean.h**-eps * c * mean.v * n)) ** (1 / (1 + eps))
    return float(alpha), c, 1 + eps


def excess(rewards: FloatArray, m: float, alpha: float, c: float, p: float) -> float:
    with np.errstate(over="ignore"):
        z = np.clip(alpha * np.clip(rewards - m, -LARGEST, LARGEST), -LARGEST, LARGEST)
    return math.fsum(naive_influence(z, c, p))


def test_catoni_vector() -> None:
    mean, log_term = Catoni(v=4.0), math.log(1 / 0.05)
    assert mean.alpha(20, log_term) == pytest.approx(0.229035536985, rel=1e-11)
    assert mean.refresh(fed(mean, TWENTY), 0, log_term) == pytest.approx(6.035413440029, rel=1e-11)
    assert mean.width(20) * mean.factor(log_term) == pytest.approx(1.548091024, rel=1e-9)


def test_catoni_infinite_variance_vector() -> None:
    mean, log_term = CatoniInfiniteVariance(eps=0.5, v=2.0), math.log(2 / 0.05)
    state = fed(mean, TWENTY)
    alpha = mean.alpha(20, log_term)
    assert alpha == pytest.approx(0.445444506553, rel=1e-11)
    assert mean.refresh(state, 0, log_term) == math.inf  # the radius asks for more rewards
    assert 1.0 / mean.log_limit(1) * log_term == pytest.approx(34.08, abs=5e-3)
    catoni._solve(state, 0, alpha, mean.constant(), 1.5)
    assert mean.value(state, 0) == pytest.approx(5.740894720969, rel=1e-11)
    assert mean.width(20) * mean.factor(log_term) == pytest.approx(2.484403377, rel=1e-9)


@pytest.mark.parametrize(("eps", "c"), [(0.25, 0.552159079), (0.5, 0.438691338), (0.75, 0.415317428), (1.0, 0.5)])
def test_catoni_constant(eps: float, c: float) -> None:
    assert CatoniInfiniteVariance(eps, 1.0).constant() == pytest.approx(c, abs=5e-10)


def test_least_number_of_rewards() -> None:
    """Against the published products, and at eps = 1 where 0^0 is 1."""
    for eps, h, tau in [(0.5, 0.5, 1.0), (0.25, 0.3, 2.0), (1.0, 0.9, 0.5)]:
        mean = CatoniInfiniteVariance(eps, 1.0, h, tau)
        power = constant(eps) ** (1 / eps) * (1 + tau) ** ((1 + eps) / eps) * tau ** (-1 / eps)
        assert 1.0 / mean.log_limit(1) == pytest.approx((1 + eps) / eps / (1 - h) * power, rel=1e-12)
        radius = (1 + tau) * (1 + eps) ** 0.5 * (1 - eps) ** (1 / (1 + eps) - 0.5) * h ** (-eps / (1 + eps))
        assert mean.width(1) == pytest.approx(radius, rel=1e-12)
    classical = Catoni(1.0)
    state = fed(classical, np.arange(40.0))
    assert classical.refresh(state, 0, 10.0) == math.inf
    assert classical.refresh(state, 0, 9.99) < math.inf
    assert classical.until(state, 0, 9.99) == 10.0


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.floats(-LARGEST, LARGEST), st.sampled_from([1.1, 1.5, 2.0]))
def test_influence(z: float, p: float) -> None:
    psi, slope = influence(z, 0.5, p)
    assert psi == pytest.approx(float(naive_influence(np.array(z), 0.5, p)), rel=1e-12, abs=1e-15)
    size = abs(z)
    if size < 1e100:
        assert slope == pytest.approx((1 + 0.5 * p * size ** (p - 1)) / (1 + size + 0.5 * size**p), rel=1e-12)
    assert 0.0 < slope <= 1.35


def test_influence_is_smooth_where_its_formula_changes() -> None:
    below, above = influence(1e8, 0.5, 2.0), influence(math.nextafter(1e8, 1e9), 0.5, 2.0)
    assert above == pytest.approx(below, rel=1e-14)


@pytest.mark.parametrize("mean", [Catoni(1.0), Catoni(1e-6), CatoniInfiniteVariance(0.5, 1.0), MEANS[3]])
def test_root_is_that_of_the_sum(mean: Any) -> None:
    for seed in range(10):
        rewards = stream(seed, 100 + 20 * seed, wild=0.0) + 50.0 * seed
        log_term = 4.0 + 0.1 * seed
        alpha, c, p = shape(mean, len(rewards), log_term)
        root = optimize.brentq(
            lambda m, x=rewards, a=alpha, c=c, p=p: excess(x, m, a, c, p), rewards.min(), rewards.max(), xtol=1e-13
        )
        assert mean.refresh(fed(mean, rewards), 0, log_term) == pytest.approx(root, rel=1e-10, abs=1e-10 / alpha)


@pytest.mark.parametrize("mean", [Catoni(1.0), Catoni(1e-300), Catoni(1e300), *MEANS[3:]])
def test_root_among_wild_rewards(mean: Any) -> None:
    """The sum changes its sign around the root, whatever the rewards are."""
    for seed in range(12):
        rewards = stream(seed, 80, wild=0.1 * seed)
        if seed == 11:
            rewards[:40] = 1.7e308 * np.where(np.arange(40) % 3, 1.0, -1.0)
        log_term = 3.0
        value = mean.refresh(fed(mean, rewards), 0, log_term)
        rewards = np.clip(rewards, -LARGEST, LARGEST)
        alpha, c, p = shape(mean, 80, log_term)
        assert rewards.min() <= value <= rewards.max()
        margin = 1e-7 / alpha + 1e-9 * abs(value)
        assert excess(rewards, value - margin, alpha, c, p) >= -1e-9
        assert excess(rewards, value + margin, alpha, c, p) <= 1e-9


@pytest.mark.parametrize("rewards", [[math.inf], [5e-324], [1.7e308, math.inf], [-1e308, -math.inf], [3.0, 3.0]])
@pytest.mark.parametrize("v", [1e-300, 1.0, 1e300])
def test_root_at_the_edges_of_floating_point(v: float, rewards: list[float]) -> None:
    mean = Catoni(v)
    value = mean.refresh(fed(mean, 20 * rewards), 0, 2.0)
    assert saturate(min(rewards)) <= value <= saturate(max(rewards))


@pytest.mark.parametrize("mean", [Catoni(3.0), CatoniInfiniteVariance(0.5, 3.0)])
def test_warm_start_finds_the_same_root(mean: Any) -> None:
    rewards = stream(2, 400, wild=0.03)
    warm = mean.init(1, 400)
    for n, reward in enumerate(rewards, 1):
        mean.observe(warm, 0, reward)
        log_term = min(1.0 + 0.01 * n, 0.9 * mean.log_limit(n))
        value = mean.refresh(warm, 0, log_term)
        if n % 23 == 0 and warm.solved[0] == n:
            cold = mean.refresh(fed(mean, rewards[:n]), 0, log_term)
            assert value == pytest.approx(cold, rel=1e-9, abs=1e-8)


def test_equation_is_solved_again_after_a_percent() -> None:
    mean, state = Catoni(1.0), fed(Catoni(1.0), stream(0, 200))
    mean.refresh(state, 0, 5.0)
    assert mean.until(state, 0, 5.0) == pytest.approx(5.05)
    before = mean.value(state, 0)
    assert mean.refresh(state, 0, 5.04) == before
    mean.observe(state, 0, 100.0)
    assert mean.refresh(state, 0, 5.04) == before
    mean.observe(state, 0, 100.0)
    assert mean.refresh(state, 0, 5.04) > before
    before = mean.value(state, 0)
    assert mean.refresh(state, 0, 5.1) != before


# All of them


@pytest.mark.parametrize("mean", MEANS)
def test_no_reward_gives_nan(mean: Any) -> None:
    for seed in range(3):
        state, rng = mean.init(2, 150), np.random.default_rng(seed)
        for n, reward in enumerate(rng.choice([math.inf, -math.inf, LARGEST, -1e308, 0.0, 5e-324], 150), 1):
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
    """E|X - centre|^p."""
    left = integrate.quad(lambda x: (centre - x) ** p * law.pdf(x), -math.inf, centre)[0]
    return float(left + integrate.quad(lambda x: (x - centre) ** p * law.pdf(x), centre, math.inf)[0])


LAWS = {"student": stats.t(3, loc=1.0), "pareto": stats.pareto(2.1, loc=-1.0)}
MAKERS: list[Callable[[float, float, float], Any]] = [
    lambda eps, v, u: MedianOfMeans(eps, v),
    lambda eps, v, u: TruncatedMean(eps, u),
    lambda eps, v, u: CatoniInfiniteVariance(eps, v),
    lambda eps, v, u: Catoni(v),
]


@pytest.mark.parametrize(("make", "eps"), [*((make, 0.5) for make in MAKERS[:3]), *((make, 1.0) for make in MAKERS)])
@pytest.mark.parametrize("law", LAWS)
def test_radius_covers(law: str, make: Callable[[float, float, float], Any], eps: float) -> None:
    """On each side at least as often as promised; and a radius of a tenth would not."""
    mu, p, n, delta = LAWS[law].mean(), 1 + eps, 120, 0.05
    mean = make(eps, moment(LAWS[law], mu, p), moment(LAWS[law], 0.0, p))
    log_term = math.log(1 / delta)
    samples = LAWS[law].rvs((200, n), random_state=np.random.default_rng(11))
    errors = np.array([mean.refresh(fed(mean, sample), 0, log_term) - mu for sample in samples])
    radius = mean.width(n) * mean.factor(log_term)
    assert np.mean(errors > radius) <= delta
    assert np.mean(errors < -radius) <= delta
    assert np.mean(np.abs(errors) > 0.02 * radius) > delta


@settings(deadline=None, derandomize=True, max_examples=25)
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
