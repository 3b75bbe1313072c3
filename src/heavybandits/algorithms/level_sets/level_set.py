r"""Level sets of an arm's own loss: what the level-set policies remember, and how they learn.

Up to the sixteenth, an arm keeps its rewards, and its index is the upper end U of their level set: see
:mod:`.exact_sets`.  Then it follows the minimiser x of the sum F of losses :math:`\rho` by stochastic approximation,
with the scale s, the score :math:`\psi = \rho'` and its information :math:`I = E\,\psi^2`,

.. math::  x \leftarrow x + \frac{s}{I\,n}\,\psi\Bigl(\frac{r - x}{s}\Bigr),

and F is replaced by its mean: :math:`U = x + s\,d` where :math:`n\,E[\rho(Z - d) - \rho(Z)] = \ell`.  If the last exact
set of an arm was wider than that, because the arm is louder or its rewards disagree, the excess decays like 1/n.

What the arms share is learned from all of them: the scale, as the median size of the residuals, by a multiplicative
recursion; and the law, as the likeliest of several.  An arm that is clearly louder or quieter than the others has its
own scale: see :mod:`.spreads`.  Indices are stored.  That of an arm is updated when the arm gets a reward, and all of
them are when t has grown by a tenth and by K.  An arm's loudness and the width d of its bonus change slowly: they are
recomputed for each of its first sixteen rewards, then whenever the number of its rewards has grown by a thirty-second.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_within
from ...numerics import LARGEST_FLOAT, clip, saturate
from ...protocols import FloatArray, IntArray, compilable, rarely_called
from ..parts.choice.tournament import Tournament, init_tournament, set_bound
from .exact_sets import minimiser, upper_end
from .loss_tables import Losses, at, shift_of, weigh
from .spreads import Spreads, init_spreads, learn_spread, loudness

EXACT_REWARDS = 16  # rewards of an arm up to which its level set is exact
FIRST_SIZES = 16  # the scale starts as the median of this many residuals
FEWEST_RESIDUALS = 5  # with fewer residuals, the scale comes from the differences between arms
MEMORY = 1000  # residuals that the scale remembers, and from which the law is learned
SCALE_UP, SCALE_DOWN = math.exp(1.5 / MEMORY), math.exp(-1.5 / MEMORY)  # steps of the scale after that many residuals
REFRESH_GROWTH = 1.1  # factor by which t grows between two refreshes of all indices
FAR_BELOW_SCALES = 10.0  # one or two rewards are not trusted if they are this many scales below the best arm
STEADY_REWARDS = 32  # an arm's width and loudness are kept until its rewards have grown by one in this many
SAME = 0.05  # a relative change of the scale that hardly moves a minimiser
STEP = 4.0  # longest step of x times n, in units of the scale
DIFFERENCES, RESIDUALS = range(2)  # rows of Shared.sizes: differences between arms' first rewards, and residuals


class Shared(NamedTuple):
    """What the arms share: the noise and the clock."""

    scale: FloatArray  # of the noise
    sizes: FloatArray  # (2, FIRST_SIZES): first differences and residuals, sorted
    seen: IntArray  # (2,): how many of them there were in all
    latest: FloatArray  # the latest first reward of an arm
    evidence: FloatArray  # per law: its log likelihood
    law: IntArray  # the likeliest at the last refresh
    clock: IntArray  # number of rewards
    due: FloatArray  # clock at the next refresh
    top: FloatArray  # highest minimiser at the last refresh

    def check(self, fresh: Shared, n_arms: int) -> None:
        """Refuse a law that does not exist, and impossible counts."""
        require_within("law", self.law, 0, len(self.evidence) - 1)
        require_within("seen", self.seen, 0, LARGEST_COUNT)
        require_within("clock", self.clock, 0, LARGEST_COUNT)


class LevelSets(NamedTuple):
    """What is known about each arm, and about the noise that all share."""

    pulls: IntArray
    x: FloatArray  # minimisers
    kept: FloatArray  # (arm, EXACT_REWARDS): first rewards, sorted
    unit: FloatArray  # per arm: the scale for which the minimiser of its first rewards was found; 0 if it must be found
    stretch: FloatArray  # per arm: how much wider its last exact set was than its mean suggests
    loud: FloatArray  # per arm: its scale divided by that of all arms
    width: FloatArray  # per arm with more than EXACT_REWARDS rewards: width of its bonus, in units of its scale
    until: IntArray  # per arm: number of rewards at which these two are recomputed
    shared: Shared
    spreads: Spreads
    losses: Losses
    tournament: Tournament


def init_level_sets(n_arms: int, losses: Losses, evidence: FloatArray, scale: float) -> LevelSets:
    """Return a state without rewards; a ``scale`` of 0 means that it is learned."""
    return LevelSets(
        pulls=np.zeros(n_arms, np.int64),
        x=np.zeros(n_arms),
        kept=np.zeros((n_arms, EXACT_REWARDS)),
        unit=np.zeros(n_arms),
        stretch=np.ones(n_arms),
        loud=np.ones(n_arms),
        width=np.zeros(n_arms),
        until=np.zeros(n_arms, np.int64),
        shared=Shared(
            scale=np.array([scale]),
            sizes=np.zeros((2, FIRST_SIZES)),
            seen=np.zeros(2, np.int64),
            latest=np.array([math.nan]),
            evidence=evidence,
            law=np.zeros(1, np.int64),
            clock=np.zeros(1, np.int64),
            due=np.array([float(n_arms)]),
            top=np.array([-math.inf]),
        ),
        spreads=init_spreads(n_arms),
        losses=losses,
        tournament=init_tournament(n_arms),
    )


@compilable
def insert(values: FloatArray, n: int, x: float) -> None:
    """Insert x among n sorted values."""
    while n > 0 and values[n - 1] > x:
        values[n] = values[n - 1]
        n -= 1
    values[n] = x


@compilable
def learn_scale(shared: Shared, row: int, size: float) -> None:
    """Follow the median size of the residuals that are not 0; at first, differences between arms stand in for them."""
    if size == 0.0:
        return
    scale, sizes, seen = shared.scale, shared.sizes, shared.seen[row]
    shared.seen[row] = seen + 1
    residuals = shared.seen[RESIDUALS]
    if seen < FIRST_SIZES:
        insert(sizes[row], seen, size)
        if (
            residuals < FEWEST_RESIDUALS
            if row == DIFFERENCES
            else residuals >= FEWEST_RESIDUALS or shared.seen[DIFFERENCES] == 0
        ):
            scale[0] = 0.5 * sizes[row, seen // 2] + 0.5 * sizes[row, (seen + 1) // 2]
    elif row == RESIDUALS:
        grows = size > scale[0]
        if residuals < MEMORY:
            factor = math.exp(1.5 / residuals if grows else -1.5 / residuals)
        else:
            factor = SCALE_UP if grows else SCALE_DOWN
        scale[0] = min(max(scale[0] * factor, 1e-300), LARGEST_FLOAT)


@compilable
def renew(state: LevelSets, arm: int, reward: float, c: float) -> None:
    """Update the index of an arm; ``reward`` is its latest reward if that is new."""
    shared, losses, n_arms, n = state.shared, state.losses, len(state.pulls), state.pulls[arm]
    law, scale = shared.law[0], shared.scale[0] * state.loud[arm]
    # The level compares the arm with its fair share of the pulls, as MOSS does, instead of taking a union over all
    # rounds: c is measured, not derived.  The factor n/(n - slack) allows for few rewards of a heavy-tailed law, which
    # lie together far from the truth more often than their loss says.
    share, slack = shared.clock[0] / (n_arms * n), losses.slack[law]
    lead = math.log(1.0 + share)
    caution = 1.0 + slack / 1.5 * lead * lead
    level = math.log(1.0 + c / n_arms * (1.0 + share * caution)) * n / (n - slack)
    if scale == 0.0:  # all rewards so far are equal
        state.x[arm] = upper = reward
    elif n <= 2 and state.kept[arm, n - 1] < shared.top[0] - FAR_BELOW_SCALES * scale:
        state.x[arm], upper = state.kept[arm, n - 1], LARGEST_FLOAT  # look again: these may be outliers
    elif n <= EXACT_REWARDS:
        rho, score, mode, rewards = losses.rho[law], losses.score[law], losses.mode[law], state.kept[arm]
        if abs(scale - state.unit[arm]) > SAME * scale:
            guess = state.x[arm] if n > 1 else reward
            state.x[arm], state.unit[arm] = minimiser(rho, score, mode, rewards, n, scale, guess), scale
        upper = upper_end(rho, score, mode, rewards, n, scale, state.x[arm], level)
        if n == EXACT_REWARDS:
            # From here on the sum of losses is replaced by its mean, which knows nothing of how much these rewards
            # disagree.  The ratio remembers it.
            width = scale * shift_of(losses.divergence[law], level / n)
            state.stretch[arm] = max(1.0, (upper - state.x[arm]) / width)
    else:
        wider = 1.0 + (state.stretch[arm] - 1.0) * EXACT_REWARDS / n
        state.width[arm] = shift_of(losses.divergence[law], level / n) * wider
        state.until[arm] = n + n // STEADY_REWARDS + 1
        upper = state.x[arm] + scale * state.width[arm]
    set_bound(state.tournament, arm, n, saturate(upper), state.x[arm])


@compilable
def observe(state: LevelSets, arm: int, reward: float, c: float, learns_scale: bool) -> None:
    """Learn from a reward."""
    shared, losses, evidence = state.shared, state.losses, state.shared.evidence
    # All that follows uses the location from before this reward: residuals from one that has seen it are too small.
    reward, n, x = saturate(reward), state.pulls[arm], state.x[arm]
    residual, before = saturate(reward - x), shared.scale[0] * state.loud[arm]
    learn_spread(state.spreads, arm, reward)
    if learns_scale and n > 0:
        learn_scale(shared, RESIDUALS, abs(residual) * (0.5 if n == 1 else 1.0))  # x is then a single reward
    elif n > 0:
        shared.seen[RESIDUALS] += 1
    elif learns_scale:
        if not math.isnan(shared.latest[0]):
            learn_scale(shared, DIFFERENCES, 0.5 * abs(saturate(reward - shared.latest[0])))
        shared.latest[0] = reward
    changes = n + 1 >= state.until[arm]
    if changes and learns_scale:
        state.loud[arm] = loudness(state.spreads, arm)
    scale, law = shared.scale[0] * state.loud[arm], shared.law[0]
    # Residuals from fewer than three rewards say more about the location than about the noise.  A thousand tell these
    # laws apart; weighing all of them at every reward would take longer than everything else.
    if n >= 3 and scale > 0.0 and len(evidence) > 1 and shared.seen[RESIDUALS] < MEMORY:
        weigh(evidence, losses.beside, residual / scale)
    if n < EXACT_REWARDS:
        insert(state.kept[arm], n, reward)
        state.unit[arm] = 0.0
    elif before > 0.0:  # the scale before this reward: waiting for the new one would double the time
        information = losses.information[law]
        score = clip(at(losses.score[law], residual * (1.0 / before), 0.0), STEP * information)
        state.x[arm] = saturate(x + score * (before / (information * (n + 1))))
    state.pulls[arm] = n + 1
    shared.clock[0] += 1
    if shared.clock[0] >= shared.due[0]:
        refresh(state, arm, reward, c, learns_scale)
    elif changes:
        renew(state, arm, reward, c)
    else:
        set_bound(state.tournament, arm, n + 1, saturate(state.x[arm] + scale * state.width[arm]), state.x[arm])


@rarely_called
def refresh(state: LevelSets, arm: int, reward: float, c: float, learns_scale: bool) -> None:
    """Choose the likeliest law, and update all indices; ``reward`` is the arm's latest."""
    shared, evidence = state.shared, state.shared.evidence
    shared.due[0] = max(REFRESH_GROWTH * shared.clock[0], shared.clock[0] + len(state.pulls))
    for i in range(len(evidence)):
        if evidence[i] > evidence[shared.law[0]]:
            shared.law[0] = i
            state.unit[:] = 0.0
    shared.top[0] = -math.inf
    for other in range(len(state.pulls)):
        if state.pulls[other] > 1:
            shared.top[0] = max(shared.top[0], state.x[other])
    for other in range(len(state.pulls)):
        if state.pulls[other] > 0:
            if learns_scale:
                state.loud[other] = loudness(state.spreads, other)
            renew(state, other, reward if other == arm else state.x[other], c)
