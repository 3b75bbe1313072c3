r"""Propensities: with which probability each arm was drawn.

Thompson sampling and its relatives draw a number for each arm and play the arm with the largest.  How likely each arm
was they do not know.  An agent that asks for propensities makes them draw 255 times and then draw the arm by the shares
of these draws, smoothed:

.. math::  p_a = \frac{k_a + 1/K}{256},

where the arm won :math:`k_a` of the draws and K arms are open.  Whatever the draws were, this is exactly the
probability of the arm that is then played.  On average over the draws, 255 of 256 decisions follow the policy's own
law, and one is uniform.  So no propensity is below 1/(256 K), and a log can be evaluated for any other policy.

Nobody asks in a simulation, nor when an agent only selects, and then the policy draws once.

An agent asks by a negative number in the first place of ``propensity``.  It is still there after a choice that was not
drawn, as when an arm is due or its turn goes on; such a choice was certain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....protocols import BoolArray, FloatArray, compilable, is_named_tuple
from ....tree import changed, walk
from .ftrl import Draws
from .late import is_due, is_silent, least_asked

N_DRAWS = 255
ASKED = -1.0


def with_propensities(state: Any, n_rows: int | None = None) -> Any:
    """Return the state with room for propensities, of ``n_rows`` rows or of its arms, if its policy can be asked.

    Examples
    --------
    >>> import heavybandits as hb
    >>> with_propensities(hb.ThompsonGaussian().init(n_arms=2, horizon=None)).propensity
    array([0., 0.])
    """

    def with_room(part: Any) -> Any:
        if not is_named_tuple(part) or not hasattr(part, "propensity"):
            return part
        size = len(part.open) if n_rows is None else n_rows
        if part.propensity is not None and len(part.propensity) == size:
            return part
        return part._replace(propensity=np.zeros(size))

    return changed(state, with_room)


def without_propensities(state: Any) -> Any:
    """Return the state as it is in files and in simulations, where nobody asks for propensities."""

    def without(part: Any) -> Any:
        return part._replace(propensity=None) if getattr(part, "propensity", None) is not None else part

    return changed(state, without)


def find_propensities(state: Any) -> FloatArray | None:
    """Return the array in which a policy writes the probabilities of its draws, or None if there is none.

    Examples
    --------
    >>> import heavybandits as hb
    >>> find_propensities(hb.TsallisINF().init(n_arms=2, horizon=None))
    array([0.5, 0.5])
    >>> find_propensities(hb.UCB().init(n_arms=2, horizon=None)) is None
    True
    """
    for _, part in walk(state):
        if isinstance(part, Draws):
            return part.drawn
        if is_named_tuple(part) and getattr(part, "propensity", None) is not None:
            return part.propensity  # type: ignore[no-any-return]
    return None


@compilable
def highest_draw(policy: Any, state: Any, initial: int, rng: Any) -> int:
    """Draw a number for each arm by ``policy.draw_of(state, arm, rng)``, and return the arm with the highest.

    An arm that still lacks one of its ``initial`` pulls comes first.  NaN says that nothing is known of an arm, as long
    as its first rewards are on the way.
    """
    best, highest, least = -1, -math.inf, least_asked(state.late, state.open)
    for arm in range(len(state.pulls)):
        if not state.open[arm] or is_silent(state.late, arm, least):
            continue
        if is_due(state.late, state.pulls, arm, initial):
            return arm
        draw = policy.draw_of(state, arm, rng)
        if draw > highest or (draw == highest and (best < 0 or state.pulls[arm] < state.pulls[best])):
            best, highest = arm, draw
    return best


@compilable
def draw_arm(policy: Any, state: Any, propensity: FloatArray | None, initial: int, rng: Any) -> int:
    """Return the arm with the highest draw or, if asked for propensities, draw by the shares of such arms.

    An arm that still lacks one of its ``initial`` pulls comes first, and for certain.
    """
    if propensity is None or propensity[0] >= 0.0:
        return highest_draw(policy, state, initial, rng)
    for arm in range(len(state.open)):
        if state.open[arm] and is_due(state.late, state.pulls, arm, initial):
            return arm
    propensity[:] = 0.0
    for _ in range(N_DRAWS):
        propensity[highest_draw(policy, state, initial, rng)] += 1.0
    return draw_by_shares(propensity, state.open, rng)


@compilable
def draw_row(policy: Any, state: Any, propensity: FloatArray | None, features: FloatArray, t: int, rng: Any) -> int:
    """Return ``policy.draw_once(state, features, t, rng)`` or, if asked, draw by the shares of such draws."""
    if propensity is None or propensity[0] >= 0.0:
        return policy.draw_once(state, features, t, rng)  # type: ignore[no-any-return]
    propensity[:] = 0.0
    for _ in range(N_DRAWS):
        propensity[policy.draw_once(state, features, t, rng)] += 1.0
    return draw_by_shares(propensity, np.ones(features.shape[0], np.bool_), rng)


@compilable
def draw_by_shares(propensity: FloatArray, open: BoolArray, rng: Any) -> int:
    """Turn counts of draws into propensities, and draw an arm by them.

    Examples
    --------
    >>> propensity = np.array([200.0, 55.0, 0.0, 0.0])
    >>> draw_by_shares(propensity, np.array([True, True, True, False]), np.random.default_rng(0))
    0
    >>> (3 * 256 * propensity).round(6).tolist()
    [601.0, 166.0, 1.0, 0.0]
    """
    n_open, left, drawn = 0, rng.random(), -1
    for arm in range(len(open)):
        n_open += open[arm]
    for arm in range(len(open)):
        propensity[arm] = (propensity[arm] + 1.0 / n_open) / (N_DRAWS + 1.0) if open[arm] else 0.0
        if open[arm] and left >= 0.0:
            drawn = arm
            left -= propensity[arm]
    return drawn


@compilable
def write_chances(propensity: FloatArray | None, open: BoolArray, arm: int, explored: float) -> None:
    """Write, if asked, that any open arm was drawn with probability ``explored`` in all, and else this one."""
    if propensity is None or propensity[0] >= 0.0:
        return
    n_open = 0
    for each in range(len(open)):
        n_open += open[each]
    for each in range(len(open)):
        propensity[each] = explored / n_open if open[each] else 0.0
    propensity[arm] += 1.0 - explored
