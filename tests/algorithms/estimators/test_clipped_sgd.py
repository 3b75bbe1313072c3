"""Clipped SGD, clipped SSTM, the two-point optimiser and the smoothed median of means: worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD, descend, init_iterates, init_schedule
from heavybandits.algorithms.estimators.clipped_sstm import ClippedSSTM
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.parts.means.smom import Waiting, collect, init_waiting, smoothed, smoothed_median
from heavybandits.algorithms.parts.state.stream import SEED, Stream, init_stream, next_normal, next_number
from heavybandits.jit.compiled import compiled
from heavybandits.numerics import (
    LARGEST_FLOAT,
    clip,
    running_mean,
    saturate,
    small_median,
)
from heavybandits.theory import practical_step

pytestmark = pytest.mark.filterwarnings(
    "ignore:overflow encountered"
)  # plain NumPy scalars warn, compiled code does not
rewards = st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, math.inf, -math.inf, 1e308, -1e308]))


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30))
def test_small_median_is_the_median(values: list[float]) -> None:
    array = np.array([saturate(value) for value in values])
    expected = float(np.sort(array)[len(values) // 2]) if len(values) % 2 else None
    result = small_median(array.copy(), len(values))
    if expected is None:
        middle = np.sort(array)[len(values) // 2 - 1 : len(values) // 2 + 1]
        expected = middle[0] / 2 + middle[1] / 2
    assert result == expected


class Counted(list[float]):
    """A list that counts how often its items are read."""

    reads = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        self.reads += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("n", [63, 64, 128, 129, 5001])
def test_long_arrays_are_sorted_in_far_less_than_quadratic_time(n: int) -> None:
    values = Counted(np.random.default_rng(n).permutation(n).astype(float).tolist()[::-1])
    assert small_median(values, n) == (n - 1) / 2  # type: ignore[arg-type]
    assert list(values) == sorted(values)
    assert values.reads < 30 * n**1.3


@given(rewards, st.floats(1e-3, 1e3))
def test_clip_and_saturate_never_give_nan(x: float, limit: float) -> None:
    assert abs(clip(x, limit)) <= limit
    assert abs(saturate(x)) <= LARGEST_FLOAT
    assert clip(x, limit) == min(max(x, -limit), limit)


def test_running_mean_of_extremes_is_finite() -> None:
    mean = 0.0
    for n, reward in enumerate([math.inf, math.inf, -math.inf, 1e308, 5.0], 1):
        mean = running_mean(mean, n, reward)
        assert math.isfinite(mean)
    values = [1.0, 5.0, -2.0, 7.5]
    mean = 0.0
    for n, value in enumerate(values, 1):
        mean = running_mean(mean, n, value)
    assert mean == pytest.approx(np.mean(values), rel=1e-14)


def fill(policy: hb.UCB, stream: Stream, draws: np.ndarray) -> None:
    """Fill an array with draws, in compiled code."""
    for i in range(len(draws)):
        draws[i] = next_normal(stream)


@pytest.mark.slow
def test_smoothing_stream_is_normal_and_independent() -> None:
    stream, draws = init_stream(), np.zeros(5_000_000)
    compiled(fill, hb.UCB(), stream, draws)(hb.UCB(), stream, draws)
    assert stats.kstest(draws, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / math.sqrt(len(draws))
    for edge in (3.442619855899, 4.5):  # the tails are as heavy as they should be
        share = 2 * stats.norm.sf(edge)
        assert np.mean(np.abs(draws) > edge) == pytest.approx(share, abs=4 * math.sqrt(share / len(draws)))
    stream = init_stream()
    assert [next_normal(stream) for _ in range(2000)] == draws[:2000].tolist()  # interpreted


def is_prime(n: int) -> bool:
    """Apply Miller and Rabin's test, which with these bases is right for all numbers below 3e24."""
    halvings = (n - 1 & 1 - n).bit_length() - 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        powers = [pow(base, (n - 1 >> halvings) << i, n) for i in range(halvings)]
        if powers[0] != 1 and n - 1 not in powers:
            return False
    return True


def test_whole_numbers_are_those_of_multiplication_with_carry() -> None:
    multiplier, base = 1253407776, 2**31
    modulus = multiplier * base - 1
    assert all(map(is_prime, (modulus, modulus // 2)))  # so the period is the latter for every seed
    assert 0 < SEED < modulus < 2**63
    assert not any(map(is_prime, (modulus - 2, 3215031751)))  # the second fools the bases up to 7
    state, stream = SEED, init_stream()
    for _ in range(2000):
        state = state * multiplier % modulus
        assert next_number(stream) == state % base


def smom(values: list[float], m: int, n: int, theta: float = 0.0, waiting: Waiting | None = None) -> float:
    waiting = init_waiting(1, len(values), smooths=theta > 0.0) if waiting is None else waiting
    for value in values:
        collect(waiting, 0, value, len(values))
    return smoothed_median(waiting, 0, m, n, theta)


def test_smoothed_median_of_means_vector() -> None:
    assert smom([1, 3, 10, -2, 0, 4], 1, 2) == 2.0  # the median of 2, 4, 2


@pytest.mark.slow
@given(st.integers(0, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_smoothed_median_of_means_is_the_median_of_block_means(m: int, n: int, random: object) -> None:
    values = [random.uniform(-9, 9) for _ in range((2 * m + 1) * n)]  # type: ignore[attr-defined]
    blocks = np.array(values).reshape(2 * m + 1, n).mean(axis=1)
    assert smom(values, m, n) == pytest.approx(np.median(blocks), rel=1e-12, abs=1e-15)


def test_smoothing_adds_noise_of_the_given_scale_to_each_block() -> None:
    waiting = init_waiting(1, 1, smooths=True)
    draws = [smoothed(waiting, 3.0, 0.25) for _ in range(5000)]
    assert stats.kstest((np.array(draws) - 3.0) / 0.25, "norm").pvalue > 1e-3
    waiting, stream, means = init_waiting(1, 3, smooths=True), init_stream(), (1.0, 5.0, -2.0)
    for _ in range(50):
        expected = np.median([mean + 0.25 * next_normal(stream) for mean in means])
        assert smom(list(means), 1, 1, 0.25, waiting) == pytest.approx(expected)


@given(st.lists(rewards, min_size=6, max_size=6), st.sampled_from([0.0, 1e-3, 1e308]))
def test_smoothed_median_of_extremes_is_a_number(values: list[float], theta: float) -> None:
    for m, n in ((0, 6), (1, 2)):
        assert not math.isnan(smom(values, m, n, theta))
    assert not math.isnan(smoothed(init_waiting(1, 1, smooths=True), values[0], theta))


@pytest.mark.parametrize(
    "optimizer",
    [
        ClippedSGD(clip=1e308),
        ClippedSGD(clip=1e308, radius="exp"),
        ClippedSGD(clip=1e308, theta=1e308, schedule="practical"),
        ClippedSGD(m=1, n=2, clip=1e308, theta=1e308, init_pulls=3),
        ClippedSSTM(clip=1e304),
    ],
)
def test_iterates_stay_finite_if_clipping_is_as_good_as_off(optimizer: ClippedSGD | ClippedSSTM) -> None:
    state = optimizer.init(1, 1000)
    for reward in [math.inf, -math.inf, math.inf, 0.0, -1e308, 1e308] * 20 + [math.inf] * 200:
        optimizer.observe(state, 0, reward)  # type: ignore[arg-type]
        assert math.isfinite(optimizer.value(state, 0))  # type: ignore[arg-type]


def practical(horizon: int, radius: float, m: int, n: int, start: float) -> tuple[object, object]:
    state = init_iterates(1, (2 * m + 1) * n, 0, start, 0.0, init_schedule(practical_step(horizon), radius, 0.0))

    def feed(rewards: list[float]) -> float:
        for reward in rewards:
            descend(state, 0, reward, m, n, 0.0, 0)
        return float(state.x[0])

    return state, feed


def test_median_and_smom_steps_of_the_practical_schedule() -> None:
    _, feed = practical(100, 2.0, 1, 1, 1.0)
    assert feed([3, -50, 0.5]) == pytest.approx(0.967130683357, abs=1e-12)  # type: ignore[operator]
    _, feed = practical(100, 2.0, 1, 2, 1.0)
    assert feed([3, -50, 0.5, 1, 1, 2]) == pytest.approx(0.983565341679, abs=1e-12)  # type: ignore[operator]


def test_noiseless_rewards_contract_by_one_minus_the_step() -> None:
    step = practical_step(1000)
    _, feed = practical(1000, 2.0, 0, 1, 1.5)
    assert feed([0.25] * 40) - 0.25 == pytest.approx((1 - step) ** 40 * 1.25, rel=1e-12)  # type: ignore[operator]


@given(st.lists(rewards, min_size=1, max_size=30))
def test_no_reward_moves_an_iterate_by_more_than_step_times_clip(stream: list[float]) -> None:
    _, feed = practical(100, 2.0, 0, 1, 0.5)
    before = 0.5
    for reward in stream:
        after = feed([reward])  # type: ignore[operator]
        assert abs(after - before) <= practical_step(100) * 2.0 * (1 + 1e-12)
        before = after


def test_theory_schedule_first_updates() -> None:
    # the example is for delta = 1/(T(T+1)), but the schedule uses 1/T^2, so steps are set by hand
    from heavybandits.theory import first_clip, printed_step

    horizon, radius = 100, 2.0
    delta = 1 / (horizon * (horizon + 1))
    step = printed_step(horizon, radius, delta)
    for reward, expected in ((5.0, 0.000821195755), (1e300, 0.001094747858)):
        schedule = init_schedule(step, first_clip(step, radius, horizon, delta), 0.5 * step)
        state = init_iterates(1, 1, 0, 0.0, 0.0, schedule)
        descend(state, 0, reward, 0, 1, 0.0, 0)
        assert state.x[0] == pytest.approx(expected, abs=1e-12)


def test_theory_clipping_levels_decay() -> None:
    sgd = ClippedSGD(clip=2.0)
    state = sgd.init(1, 100)
    schedule = state.schedule[0]
    for k in range(60):
        before = state.x[0]
        sgd.observe(state, 0, 1e300)
        assert state.x[0] - before == pytest.approx(
            schedule.step * schedule.level * math.exp(-schedule.decay * k), rel=1e-9
        )


def test_bounds_of_clipped_sgd() -> None:
    printed, exp = ClippedSGD(clip=2.0), ClippedSGD(clip=2.0, radius="exp")
    states = printed.init(1, 100), exp.init(1, 100)
    assert printed.bound(states[0], 0, 1e-4) == math.inf
    for _ in range(5):
        printed.observe(states[0], 0, 1.0)
        exp.observe(states[1], 0, 1.0)
    factor = math.log(4 * 101 / 1e-4)
    assert printed.bound(states[0], 0, 1e-4) == pytest.approx(5400 * factor * math.log(101 * 4) ** 2 / 6)
    assert exp.bound(states[1], 0, 1e-4) == pytest.approx(4 * math.exp(-states[1].schedule[0].step * 5))


def test_sstm_vector() -> None:
    sstm = ClippedSSTM(a=2.0, clip=2.0, schedule="practical")
    state = sstm.init(1, 100)
    expected = [(0.5, 0.5), (2.0, 1.4), (0.0, 0.777777778), (1.25, 0.946428571)]
    for reward, (z, y) in zip((1.0, 3.0, -20.0, 1.5), expected, strict=True):
        sstm.observe(state, 0, reward)
        assert state.z[0] == pytest.approx(z, abs=1e-9)
        assert state.y[0] == pytest.approx(y, abs=1e-9)


def test_sstm_theory_schedule_uses_its_own_constants() -> None:
    horizon, radius = 50, 3.0
    sstm = ClippedSSTM(clip=radius, sigma=0.5)
    state = sstm.init(1, horizon)
    factor = math.log(4 * horizon**3)
    a = max(97200 * factor**2, 1800 * 0.5 * 51 * math.sqrt(horizon * factor) / radius)
    sstm.observe(state, 0, 1e300)
    alpha = 2 / (2 * a)
    assert state.z[0] == pytest.approx(alpha * radius / (30 * alpha * factor), rel=1e-12)
    assert sstm.bound(state, 0, 0.1) == pytest.approx(6 * a * radius**2 / 4)


@given(st.lists(rewards, min_size=1, max_size=40), st.floats(0.1, 10))
def test_two_point_descent_is_clipped_descent(stream: list[float], tau: float) -> None:
    """|u + tau| - |u - tau| = 2 clip(u, tau): the zero-order step is a clipped gradient step."""
    zo = TwoPoint(tau=tau, step=1.5, init_pulls=1)
    state = zo.init(1, None)
    x = saturate(stream[0])
    zo.observe(state, 0, stream[0])
    for k, reward in enumerate(stream[1:]):
        zo.observe(state, 0, reward)
        x -= 1.5 / (k + 2) * clip(x - saturate(reward), tau)
        assert zo.value(state, 0) == pytest.approx(x, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("make", [lambda: ClippedSGD(clip=-1), lambda: ClippedSGD(m=-1), lambda: ClippedSGD(n=0),
                                  lambda: ClippedSGD(init_pulls=2), lambda: ClippedSGD(schedule="fast"),  # type: ignore[arg-type]
                                  lambda: TwoPoint(tau=0), lambda: ClippedSSTM(a=math.nan)])  # fmt: skip
def test_bad_parameters_are_named(make: object) -> None:
    with pytest.raises(ValueError, match=r"^(ClippedSGD|TwoPoint|ClippedSSTM): \w+ must be .*, got "):
        make()  # type: ignore[operator]


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match=r"ClippedSGD: clip must be .*, got 'ten'"):
        ClippedSGD(clip="ten")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="horizon"):
        ClippedSGD().init(2, None)
