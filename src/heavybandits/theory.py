r"""Rates and regret bounds of the paper's theorems, in the readings that make them consistent.

An optimiser is *g-bounded* if after k steps :math:`f(x_k) - f^* \le g(k, \delta)` with probability at least
:math:`1 - \delta`.  The templates FO-UCB and ZO-UCB turn g into a confidence radius, and its inverse into a regret
bound (:func:`fo_regret_bound`, :func:`zo_regret_bound`); clipped SGD has the g printed in the paper
(:func:`printed_rate`), hence :func:`clipped_sgd_ucb_regret_bound`.

Four readings differ from the paper as printed.  The pairs (:math:`\delta = 1/T^2`, constant 2) and
(:math:`\delta = 1/(T(T+1))`, constant 1) are both right; a mixture of them is not.  The gap-free bound has the constant
:math:`4\sqrt 2`, which is what minimising :math:`T\Delta + 8 C A \ell^2 K/\Delta` gives.  The regret bounds print
:math:`\ln((T + 1) T R^2)`, but the rate that they are derived from has :math:`\ell = \ln((T + 1) R^2)`, which is used
here: the extra T is a slip that would only weaken the bounds.  And the theorem behind
clipped SGD (Puchkin et al. 2024, B.6) proves :math:`(x_k - \mu)^2 \le 2 R^2 e^{-\gamma k}` (:func:`exponential_rate`)
with the step of :func:`proven_step`; the printed 1/(k + 1) for every k does not follow from it, and is wrong if sigma
is small: with steps of :math:`\gamma` the start is not forgotten that fast.

References
----------
Y. Dorn, A. Katrutsa, I. Latypov, A. Pudovikov (2024), Fast UCB-type algorithms for stochastic bandits with heavy and
super heavy symmetric noise.  N. Puchkin, E. Gorbunov, N. Kutuzov, A. Gasnikov (2024), Breaking the heavy-tailed noise
barrier in stochastic optimization problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from .protocols import compilable

Inverse = Callable[[float, float], float]


def confidence(horizon: int) -> float:
    r"""Return :math:`\delta = 1/T^2`, at which the failure of any bound costs at most two pulls of each arm."""
    return 1.0 / float(horizon) ** 2


@compilable
def log_factor(horizon: float, delta: float) -> float:
    r"""Return :math:`A = \ln(4 (T + 1)/\delta)`.

    Examples
    --------
    >>> round(log_factor(10_000, 1 / (10_000 * 10_001)), 9)
    29.017515467
    """
    return math.log(4.0 * (horizon + 1.0)) - math.log(delta)


def practical_step(horizon: int) -> float:
    r"""Return the step :math:`\gamma = 1/\ln(4 (T + 1) T^2)` of the schedule that the published experiments run.

    Examples
    --------
    >>> round(practical_step(100), 14)
    0.06573863328521
    """
    return 1.0 / log_factor(horizon, confidence(horizon))


@compilable
def distance_factor(horizon: float, radius: float) -> float:
    r"""Return :math:`\ell = \ln(\max(2, (T + 1) R^2))`; without the maximum, which the paper lacks, it may be zero.

    Examples
    --------
    >>> round(distance_factor(10_000, 10.0) / 10_001, 9), round(distance_factor(1, 1e-200), 6)
    (0.001381423, 0.693147)
    """
    return max(math.log(2.0), math.log(horizon + 1.0) + 2.0 * math.log(radius))


def printed_step(horizon: int, radius: float, delta: float) -> float:
    r"""Return the step :math:`\gamma = \min\{1/(400 A),\ \ell/(T + 1)\}`.

    Examples
    --------
    >>> printed_step(100, 2.0, 1 / (100 * 101)) == 1 / (400 * log_factor(100, 1 / (100 * 101)))
    True
    """
    return min(1.0 / (400.0 * log_factor(horizon, delta)), distance_factor(horizon, radius) / (horizon + 1))


def proven_step(horizon: int, radius: float, delta: float, sigma: float) -> float:
    r"""Return the step of the cited theorem, :math:`\gamma = \min\{1/(400 A),\ \ln(B)/(T + 1)\}`.

    Here :math:`B = \max\{2, (T + 1) R^2/(5400\,\sigma^2 A \ln^2 B)\}`.

    Examples
    --------
    The two steps differ when the horizon is long; at T = 10,000 and R = 10 the first term decides both.

    >>> proven_step(10**6, 10.0, 1e-12, 1.0) < 0.2 * printed_step(10**6, 10.0, 1e-12)
    True
    >>> proven_step(10**4, 10.0, 1e-8, 1.0) == printed_step(10**4, 10.0, 1e-8)
    True
    """
    factor = log_factor(horizon, delta)
    # y = ln B solves y + 2 ln y = ln S, unless that y is below ln 2.  The left side increases, so bisection finds y;
    # iterating the definition of B does not: it jumps back and forth between two numbers.
    log_scale = math.log(horizon + 1.0) + 2.0 * math.log(radius / sigma) - math.log(5400.0 * factor)
    low, high = math.log(2.0), max(math.log(2.0), log_scale - 2.0 * math.log(math.log(2.0)))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle + 2.0 * math.log(middle) < log_scale else (low, middle)
    return min(1.0 / (400.0 * factor), low / (horizon + 1))


def first_clip(step: float, radius: float, horizon: int, delta: float) -> float:
    r"""Return :math:`\lambda_0` of the clipping levels :math:`\lambda_k = R e^{-\gamma (1 + k/2)}/(120 \gamma A)`."""
    return radius * math.exp(-step) / (120.0 * step * log_factor(horizon, delta))


@compilable
def printed_rate(k: float, delta: float, horizon: float, radius: float, sigma: float) -> float:
    r"""Return the rate :math:`g(k, \delta) = 5400\,\sigma^2 A\,\ell^2/(k + 1)`.

    Examples
    --------
    >>> round(printed_rate(50, 1 / (100 * 101), 100, 2.0, 1.0), 4)
    58048.9278
    """
    distance = distance_factor(horizon, radius)
    return 5400.0 * sigma * sigma * log_factor(horizon, delta) * distance * distance / (k + 1.0)


def inverse_printed_rate(value: float, delta: float, horizon: int, radius: float, sigma: float) -> float:
    """Return the k at which :func:`printed_rate` has come down to ``value`` (0 if it starts below).

    Examples
    --------
    >>> k = inverse_printed_rate(0.5, 1e-4, 100, 2.0, 1.0)
    >>> round(printed_rate(k, 1e-4, 100, 2.0, 1.0), 9)
    0.5
    """
    return max(0.0, printed_rate(0.0, delta, horizon, radius, sigma) / value - 1.0)


@compilable
def exponential_rate(k: float, step: float, radius: float) -> float:
    r"""Return the rate :math:`g(k) = R^2 e^{-\gamma k}` that the cited theorem proves.

    As a radius it is :math:`\sqrt 2 R e^{-\gamma k/2}`.

    Examples
    --------
    >>> round(math.sqrt(2 * exponential_rate(50, 1.642391509e-04, 2.0)), 9)
    2.816837473
    """
    return radius * radius * math.exp(-step * k)


def inverse_exponential_rate(value: float, step: float, radius: float) -> float:
    """Return the k at which :func:`exponential_rate` has come down to ``value`` (0 if it starts below).

    Examples
    --------
    >>> round(inverse_exponential_rate(exponential_rate(70, 0.01, 2.0), 0.01, 2.0), 9)
    70.0
    """
    return max(0.0, (2.0 * math.log(radius) - math.log(value)) / step)


def fo_regret_bound(gaps: Iterable[float], horizon: int, inverse: Inverse) -> float:
    r"""Return :math:`\sum_i \Delta_i (\lceil g^{-1}(\Delta_i^2/8, 1/T^2)\rceil + 2)`, at most :math:`T \max \Delta_i`.

    ``inverse(value, delta)`` is the number of pulls after which g is at most ``value``; if a policy starts with more
    than one pull of each arm, it must return at least that number.

    Examples
    --------
    The mean of k rewards with normal noise has :math:`g(k, \delta) = \sigma^2 \ln(2/\delta)/k`.  Here sigma is 0.1.

    >>> round(fo_regret_bound([0.0, 0.5, 1.0], 1000, lambda value, delta: 0.01 * math.log(2 / delta) / value), 9)
    7.5
    """
    return _regret_bound([(gap, inverse(gap * gap / 8.0, confidence(horizon))) for gap in gaps if gap > 0.0], horizon)


def zo_regret_bound(gaps: Iterable[float], horizon: int, inverse: Inverse) -> float:
    r"""Return :math:`\sum_i \Delta_i (\lceil g^{-1}(\Delta_i/2, 1/T^2)\rceil + 2)`, at most :math:`T \max \Delta_i`.

    See :func:`fo_regret_bound` for ``inverse``.

    Examples
    --------
    As a radius, the rate in the example of :func:`fo_regret_bound` is :math:`\sqrt{2 g}`.

    >>> round(zo_regret_bound([0.0, 0.5, 1.0], 1000, lambda value, delta: 0.02 * math.log(2 / delta) / value**2), 9)
    7.5
    """
    return _regret_bound([(gap, inverse(gap / 2.0, confidence(horizon))) for gap in gaps if gap > 0.0], horizon)


def _regret_bound(pulls: list[tuple[float, float]], horizon: int) -> float:
    trivial = horizon * max((gap for gap, _ in pulls), default=0.0)
    return min(trivial, sum(gap * (math.ceil(min(n, horizon)) + 2) for gap, n in pulls))


def clipped_sgd_ucb_regret_bound(gaps: Iterable[float], horizon: int, radius: float, sigma: float) -> float:
    r"""Return :math:`\sum_i [\Delta_i + 8 C \ln(4 T (T + 1)^2)\,\ell^2/\Delta_i]` with :math:`C = 5400\,\sigma^2`.

    Examples
    --------
    The bound says nothing until T is about a billion times the squared ratio of sigma to the gap.

    >>> clipped_sgd_ucb_regret_bound([0.0, 1.0], 10**4, 2.0, 1.0) > 10**4
    True
    """
    delta = 1.0 / (horizon * (horizon + 1.0))
    rate = printed_rate(0.0, delta, horizon, radius, sigma)
    return sum(gap + 8.0 * rate / gap for gap in gaps if gap > 0.0)


def clipped_sgd_ucb_worst_case(gaps: Iterable[float], horizon: int, radius: float, sigma: float) -> float:
    r"""Return :math:`4\sqrt 2\,\ell \sqrt{C \ln(4 T (T + 1)^2) T K} + \sum_i \Delta_i`, a bound for any gaps.

    Examples
    --------
    >>> small = clipped_sgd_ucb_worst_case([0.0, 0.1], 10**4, 2.0, 1.0)
    >>> round(clipped_sgd_ucb_worst_case([0.0] * 7 + [0.1], 10**4, 2.0, 1.0) / small, 3)  # four times the arms
    2.0
    """
    gaps = list(gaps)
    delta = 1.0 / (horizon * (horizon + 1.0))
    rate = printed_rate(0.0, delta, horizon, radius, sigma)
    return 4.0 * math.sqrt(2.0 * rate * horizon * len(gaps)) + sum(gaps)
