r"""What a policy earns beyond always choosing its control, by its own decisions as they come, at all times.

Let :math:`p_t` be the probability that decision t is for the control, known and at least q, and :math:`w_t = 1/p_t` if
it was, else 0.  Rewards u count from 0 to 1.  For any g that the past decides, the terms

.. math:: z_t = (u_t - g)(1 - w_t)

have the mean :math:`D_t` given the past: what the policy earns at this decision minus what the control would.  So have
those of :math:`w_t (u_t - g) + g` the mean of the control.  For a fixed bet l with :math:`l z_t \ge -0.8`,

.. math:: \prod_t (1 + l z_t)\,e^{-l D_t}

is a nonnegative supermartingale, because :math:`1 + l D_t \le e^{l D_t}`, and so is a mixture over bets.  By Ville's
inequality it ever reaches :math:`1/\delta` with a probability of at most :math:`\delta`: the largest sum of differences
at which it has is a lower bound of the true sum.  Neither contexts nor what the policy earns need stay the same.

Kept are the products, by side, cap and bet: multiplied as they come, so that every computer finds the same bits.
"""

from __future__ import annotations

import json
import math
from typing import NamedTuple

import numpy as np

from ..evidence.bets import SAFE
from ..evidence.measures import SHARES
from ..evidence.scale import CAPS, ladder
from ..evidence.tally import Tally, is_sized_up, learn, new_tally
from ..protocols import FloatArray
from .bounds import largest_total

GAIN_BETS = SAFE * 0.5 ** np.arange(14.0)  # for n decisions about sqrt(2 log(1/delta)/n) deviations of z is best
GAIN_WEIGHTS = 1.0 / (1.0 + ((np.arange(14.0) - 5.0) / 3.0) ** 2)
LOG_WEIGHTS = np.log(GAIN_WEIGHTS / GAIN_WEIGHTS.sum())
BOUNDS = MORE, LESS, CONTROL = range(3)  # below the gain, below the loss, above what the control pays
HALVED = 60


class PolicyGain(NamedTuple):
    """What a policy earns beyond its control per decision, on average over those that count.

    Attributes
    ----------
    low, high
        Between what the difference lies.
    lift
        At least which part of what the control pays it is, if it is not 0 and rewards have one sign; else 0.
    cap
        From which amount to which rewards count.
    has_one_sign
        Whether no reward lies on the other side of an end of the cap that is 0.
    """

    low: float
    high: float
    lift: float
    cap: tuple[float, float]
    has_one_sign: bool


class Wealth(NamedTuple):
    """What bets have made, in arrays that are updated in place; all are by cap and bet, the first two also by side."""

    mantissas: FloatArray
    exponents: FloatArray  # of 2
    centres: FloatArray  # sums of the centres of bets on what the control pays
    sums: FloatArray  # (all or control, cap): of rewards
    counts: FloatArray  # (all or control,)
    extremes: FloatArray  # the lowest and the highest reward


class GainRecord:
    """Bets on the difference between a policy and its control, updated with each reward.

    Parameters
    ----------
    floor
        What the probability of the control is never below; 0 if it is positive, and no more is known.

    Examples
    --------
    >>> rng, record = np.random.default_rng(0), GainRecord(0.1)
    >>> for control in rng.random(4000) < 0.1:
    ...     record.learn(control, 0.1 if control else 0.9, rng.exponential(1.0 if control else 2.0))
    >>> found = record.found(delta=0.05)
    >>> found.cap, found.low > 0.0, found.lift > 0.2
    ((0.0, 21.0), True, True)
    """

    def __init__(self, floor: float) -> None:
        self.floor = floor
        self._tally = new_tally(1)
        shape = CAPS, len(GAIN_BETS)
        self._wealth = Wealth(
            np.full((len(BOUNDS), *shape), 0.5), np.ones((len(BOUNDS), *shape)), np.zeros(shape), np.zeros((2, CAPS)),
            np.zeros(2), np.array([math.inf, -math.inf]),
        )  # fmt: skip
        self._prepare()

    def _prepare(self) -> None:
        """Work out between what rewards count, and which centres keep every factor above 1 - SAFE."""
        most = math.inf if self.floor == 0.0 else 1.0 / self.floor
        with np.errstate(divide="ignore"):
            room, room_control = SAFE / (GAIN_BETS * (most - 1.0)), SAFE / (GAIN_BETS * most)
        self._least_centres = np.array([1.0 - room, 0.0 * GAIN_BETS, 1.0 - room_control])[:, None]
        self._most_centres = np.array([0.0 * GAIN_BETS + 1.0, room, 0.0 * GAIN_BETS + 1.0])[:, None]
        self._limits = np.array([clip.limits(self._tally.scale) for clip in ladder(self._tally.scale)]).reshape(-1, 2)
        # What the control pays is seen from 0: from above if rewards are negative, as costs are.
        self._mirrored = bool(len(self._limits)) and self._limits[0, 1] == 0.0

    @property
    def n(self) -> int:
        """How many rewards count."""
        return int(self._wealth.counts[0])

    @property
    def first(self) -> Tally:
        """The first rewards, which decide up to which amount the others count."""
        return self._tally

    def learn(self, is_control: bool, p: float, reward: float) -> None:
        """Take in a reward, which may be infinite but not NaN, of a decision made with probability p."""
        if not is_sized_up(self._tally):
            with np.errstate(all="ignore"):
                learn(self._tally, 0, reward)
            self._prepare()
            return
        low, high = self._limits.T
        u = (np.clip(reward, low, high) - low) / (high - low)
        held, weight = self._wealth, 1.0 / p if is_control else 0.0
        guess = (held.sums[1] + held.sums[0] / (held.counts[0] + 1.0)) / (held.counts[1] + 1.0)
        seen = np.array([(u, guess)] * len(BOUNDS))
        if self._mirrored:
            seen[CONTROL] = 1.0 - seen[CONTROL]
        centres = np.clip(seen[:, 1, :, None], self._least_centres, self._most_centres)
        weights = np.array([1.0 - weight, weight - 1.0, -weight])[:, None, None]
        held.mantissas[:] *= 1.0 + GAIN_BETS * weights * (seen[:, 0, :, None] - centres)
        held.centres[:] += 1.0 - centres[CONTROL]
        held.mantissas[:], shifted = np.frexp(held.mantissas)
        held.exponents[:] += shifted
        held.extremes[:] = min(held.extremes[0], reward), max(held.extremes[1], reward)
        for part in (0, 1) if is_control else (0,):
            held.sums[part] += u
            held.counts[part] += 1.0

    def found(self, delta: float) -> PolicyGain | None:
        """Return what is known, wrong at any time with probability delta; None before any reward counts.

        The largest cap decides for which the policy is shown to earn more, or less, than its control; but none that is
        larger than needed, so that all rewards so far count in full.
        """
        if not self.n:
            return None
        lowest, highest = self._wealth.extremes
        needed = 1 + int(((self._limits[:-1, 0] > lowest) | (self._limits[:-1, 1] < highest)).sum())
        found = [self._at(rung, delta * SHARES[rung] / len(BOUNDS)) for rung in range(needed)]
        return next((gain for gain in reversed(found) if gain.low > 0.0 or gain.high < 0.0), found[0])

    def _at(self, rung: int, level: float) -> PolicyGain:
        """Return what is known for a cap, with three bounds that are each wrong with probability ``level``."""
        n, (low, high) = self.n, self._limits[rung].tolist()
        more, less = (max(self._least(side, rung, level) / n, -1.0) for side in (MORE, LESS))
        most = 1.0 - max(self._least(CONTROL, rung, level) / n, 0.0)
        shown = more if more > 0.0 else less
        lift = shown / most if shown > 0.0 and most > 0.0 and low * high == 0.0 else 0.0
        lowest, highest = self._wealth.extremes
        has_one_sign = not ((low == 0.0 and lowest < 0.0) or (high == 0.0 and highest > 0.0))
        return PolicyGain(more * (high - low), -less * (high - low), lift, (low, high), has_one_sign)

    def _least(self, side: int, rung: int, level: float) -> float:
        """Return a lower bound of a sum of means."""
        held = self._wealth
        logs = np.log(held.mantissas[side, rung]) + math.log(2.0) * held.exponents[side, rung] + LOG_WEIGHTS
        if side == CONTROL:
            logs += GAIN_BETS * held.centres[rung]
        return largest_total(logs, GAIN_BETS, -float(self.n), float(self.n), level, HALVED)

    def copied(self) -> GainRecord:
        """Return a copy that later rewards do not change."""
        return GainRecord.loads(self.dumps())

    def dumps(self) -> bytes:
        """Return all of it as bytes: the same for equal records."""
        held = b"".join(array.tobytes() for array in self._wealth)
        return b"\n".join([json.dumps(self.floor).encode(), held + self._tally.dumps()])

    @classmethod
    def loads(cls, contents: bytes) -> GainRecord:
        """Return the record that was turned into these bytes.

        Examples
        --------
        >>> GainRecord.loads(GainRecord(0.05).dumps()).floor
        0.05
        """
        head, _, rest = contents.partition(b"\n")
        record = cls(json.loads(head))
        for array in record._wealth:
            array[:] = np.frombuffer(rest[: array.nbytes]).reshape(array.shape)
            rest = rest[array.nbytes :]
        record._tally.fill(rest)
        record._prepare()
        return record
