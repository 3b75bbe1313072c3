r"""Whether arms got the shares of decisions that were planned: an exact test at all times.

If decisions are drawn with the planned shares :math:`p_k`, whatever the rewards are, then the ratio of the chance of
the counts :math:`n_k` under shares drawn from a Dirichlet law to their chance under the plan,

.. math:: M = \frac{\Gamma(c)}{\Gamma(c + n)} \prod_k \frac{\Gamma(c p_k + n_k)}{\Gamma(c p_k)}\, p_k^{-n_k},

is a nonnegative martingale that starts at 1.  So is a mixture over concentrations c, from laws that allow all shares to
laws that allow those near the plan only.  By Ville's inequality it ever reaches :math:`1/\alpha` with a probability of
at most :math:`\alpha`.  Only counts are needed, so replicas add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..._validate import positive, unknown
from ...protocols import FloatArray
from ..words import odds

CONCENTRATIONS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)  # per arm
FALSE_ALARMS = 0.01  # in this share of experiments: an alarm makes everything else void


class SampleRatio(NamedTuple):
    """Planned shares and counts of arms; :func:`check_shares` makes it."""

    arms: tuple[str, ...]
    shares: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def log_evidence(self) -> float:
        """The logarithm of the evidence that decisions were not drawn by the plan."""
        return float(log_mismatch(np.array(self.counts, float), np.array(self.shares)))

    @property
    def p(self) -> float:
        """The always-valid p-value of the plan."""
        return min(1.0, math.exp(-self.log_evidence))

    @property
    def is_alarm(self) -> bool:
        """Whether the counts refute the plan."""
        return self.log_evidence >= -math.log(FALSE_ALARMS)

    @property
    def sentence(self) -> str:
        """What the counts say about the plan."""
        if not self.is_alarm:
            return f"The arms' counts do not refute the planned shares (p = {self.p:.2g})."
        counts, shares = np.array(self.counts), np.array(self.shares)
        expected = counts.sum() * shares
        worst = int(np.argmax(np.abs(counts - expected) / np.sqrt(expected)))
        return (
            f"ALARM: the arms did not get their planned shares: {self.arms[worst]} has {counts[worst]:,} of "
            f"{counts.sum():,} rows, where {expected[worst]:,.0f} were planned (evidence {odds(self.log_evidence)}). "
            "Find out why before you believe anything else here."
        )


def log_mismatch(counts: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the logarithm of the evidence against the shares; the last axis is that of the arms.

    Examples
    --------
    >>> log_mismatch(np.array([[5000, 5000], [5200, 4800], [0, 0]]), np.array([0.5, 0.5])).round(1)
    array([-0.9,  5. ,  0. ])
    """
    from scipy.special import gammaln, logsumexp

    logs = []
    for each in CONCENTRATIONS:
        c = each * len(shares)
        rising = gammaln(c * shares + counts) - gammaln(c * shares) - counts * np.log(shares)
        logs.append(gammaln(c) - gammaln(c + counts.sum(axis=-1)) + rising.sum(axis=-1))
    return np.asarray(logsumexp(logs, axis=0) - math.log(len(logs)))


def check_shares(owner: str, shares: Mapping[str, float] | str, counts: Mapping[str, int]) -> SampleRatio:
    """Compare counts with planned shares, given as weights by arm, or ``"equal"``.

    Arms that were planned may lack decisions; arms that got decisions must have a share.

    Examples
    --------
    >>> ratio = check_shares("compare", {"blue": 2, "green": 1}, {"blue": 5210, "green": 2580})
    >>> print(ratio.sentence)
    The arms' counts do not refute the planned shares (p = 1).
    >>> check_shares("compare", "equal", {"blue": 5210, "green": 2580}).is_alarm
    True
    """
    if isinstance(shares, str):
        if shares != "equal":
            raise ValueError(f"{owner}: shares must be 'equal' or weights by arm, got {shares!r}")
        shares = dict.fromkeys(counts, 1.0)
    weights = {str(arm): positive(owner, f"the share of {arm!r}", weight) for arm, weight in shares.items()}
    for arm in counts:
        if arm not in weights:
            raise ValueError(f"{owner}: shares: {unknown('arm', arm, weights)}")
    whole = sum(weights.values())
    return SampleRatio(
        tuple(weights), tuple(weight / whole for weight in weights.values()),
        tuple(int(counts.get(arm, 0)) for arm in weights),
    )  # fmt: skip
