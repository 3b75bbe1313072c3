r"""Level-set UCB: the upper end of a sub-level set of each arm's own loss.

draft
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..choice import VALUE, Choice, choose, height, init_choice, place
from ..level_set import BINS, SHIFTS, centre, complete, KEPT, Loss, at, deviation, descend, shift_of, tabulated, upper_end
from ..noises import Cauchy
from ..numerics import LARGEST, saturate
from ..parameters import NonNegative, Positive, validated
from ..protocols import FloatArray, IntArray, compilable, rarely_called

FIRST = 16  # sizes of residuals whose median starts the scale
ENOUGH = 5  # of them, before which the spread of the arms stands in
MEMORY = 1000.0  # residuals that the scale remembers
SCALE, SPREADS, RESIDUALS, LAST, CLOCK, DUE = range(6)  # places in LevelSetUCBState.pool


class LevelSetUCBState(NamedTuple):
    """What is known of each arm, and of the noise that all share."""

    pulls: IntArray
    x: FloatArray
    kept: FloatArray  # (arm, KEPT): its first rewards, sorted
    pool: FloatArray  # the scale; residuals it was learned from; last first reward; rewards so far; next refresh of all
    sizes: FloatArray  # (2, FIRST): differences between arms, residuals; sorted
    loss: Loss
    laws: FloatArray
    evidence: FloatArray
    slack: FloatArray
    choice: Choice


@compilable
def insert(values: FloatArray, n: int, x: float) -> None:
    """Put x into the n sorted values."""
    while n > 0 and values[n - 1] > x:
        values[n] = values[n - 1]
        n -= 1
    values[n] = x


@compilable
def learn_scale(state: Any, row: int, size: float) -> None:
    """Follow the median size of residuals that are not zero."""
    pool, sizes = state.pool, state.sizes
    if size == 0.0:
        return
    seen = int(pool[SPREADS + row])
    pool[SPREADS + row] += 1.0
    if seen < FIRST:
        insert(sizes[row], seen, size)
        if row == 0 or seen + 1 >= ENOUGH:
            pool[SCALE] = 0.5 * sizes[row, seen // 2] + 0.5 * sizes[row, (seen + 1) // 2]
    elif row == 1:
        gain = 1.5 / min(seen, MEMORY)
        pool[SCALE] = min(LARGEST, max(1e-300, pool[SCALE] * math.exp(gain if size > pool[SCALE] else -gain)))


@rarely_called
def mix(state):
    laws, evidence, loss = state.laws, state.evidence, state.loss
    best = 0
    for q in range(1, len(evidence)):
        if evidence[q] > evidence[best]:
            best = q
    loss.density[0] = best


DICT = {
    "c": [("t",1,1,1)],
    "ctg": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1)],
    "skew": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("t",1e9,1,3),("t",1,1e9,1/3)],
    "skew2": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("t",1e9,1,3),("t",1,1e9,1/3),("t",3,1,2),("t",1,3,.5)],
    "skew4": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("t",1e9,1,4),("t",1,1e9,1/4),("t",1e9,1,2),("t",1,1e9,.5)],
    "grid": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1)]+[("t",a,b,r) for (a,b) in ((1e9,1),(1e9,3),(3,1)) for r in (2,4)]+[("t",b,a,1/r) for (a,b) in ((1e9,1),(1e9,3),(3,1)) for r in (2,4)],
    "grid2": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1)]+[("t",a,b,r) for (a,b) in ((1e9,1),(1e9,3),(3,1),(1e9,1e9)) for r in (2,4,8)]+[("t",b,a,1/r) for (a,b) in ((1e9,1),(1e9,3),(3,1),(1e9,1e9)) for r in (2,4,8)],
    "ev1": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("f",1.5),("m",1.5)],
    "ev2": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("f",1),("m",1),("f",2),("m",2)],
    "ev3": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("f",1),("m",1),("f",2),("m",2),("f",4),("m",4)],
    "ev4": [("t",1,1,1),("t",3,3,1),("t",1e9,1e9,1),("f",1.5),("m",1.5),("t",3,1,2),("t",1,3,.5)],
    "f": [("f",1.0)], "f125": [("f",1.25)], "g": [("t",1e9,1e9,1)],
    "p3": [("t",1e9,1,3)],
}


def slack(name):
    out=[]
    for item in DICT[name]:
        nu = item[1] if item[0] in "tm" else 1e9
        out.append(2/(1+nu))
    return np.array(out)

@functools.cache
def dict_tables(name):
    out = []
    z = np.array([centre(i) for i in range(BINS)])
    grid = np.concatenate([-np.logspace(6,-5,20000), np.logspace(-5,6,20000)])
    for item in DICT[name]:
        if item[0] == "t":
            _, nl, nr, ratio = item
            def lf(x, nl=nl, nr=nr, ratio=ratio):
                left, right = x, x / ratio
                g = lambda u, nu: -0.5*(nu+1)*np.log1p(u*u/nu) if nu < 1e6 else -0.5*u*u
                return np.where(x < 0, g(left, nl), g(right, nr))
        else:
            alpha = item[1]
            import heavybandits as hb
            noise = hb.Frechet(alpha)
            lf = (lambda x, noise=noise: np.maximum(noise.log_pdf(x + noise.quantile(0.5)),-700)) if item[0]=="f" else (lambda x, noise=noise: np.maximum(noise.log_pdf(-x + noise.quantile(0.5)), -700))
        f = np.exp(lf(grid)); w = np.gradient(grid)*f; w /= w.sum()
        # Cauchy M-centre with MAD scale, iterate
        c, s = 0.0, 1.0
        cdf = np.cumsum(w)
        for _ in range(60):
            e = np.abs(grid - c); o = np.argsort(e); s = e[o][np.searchsorted(np.cumsum(w[o]), 0.5)]
            u = (grid-c)/s; wt = w/(1+u*u); c = (wt*grid).sum()/wt.sum()
        norm = np.trapezoid(np.exp(lf(grid)), grid)
        logd = lf(c + s*z) + np.log(s) - np.log(norm)
        dens = 0.98*np.exp(logd) + 0.02/np.pi/(1+z*z)
        out.append(-np.log(dens))
        print(name, item, "centre", c, "scale", s)
    return np.array(out)

def dictionary(name):
    laws = dict_tables(name).copy()
    evidence = np.zeros(len(laws)); evidence[0] = 0.7
    z = np.array([centre(i) for i in range(BINS)])
    if name not in CACHE:
        Q = len(laws)
        loss = Loss(laws, np.zeros((Q,BINS)), np.zeros((Q,1)), np.zeros((Q,SHIFTS)), np.zeros(1))
        for q in range(Q):
            density = np.exp(-laws[q])*(1+np.abs(z))**2
            complete(Loss(*(a[q] for a in loss[:4]), loss.density), density*(64/density.sum()))
        CACHE[name]=loss
    return Loss(*(a.copy() for a in CACHE[name])), laws, evidence, slack(name)
CACHE={}

@validated
class LevelSetUCB(NamedTuple):
    """draft."""

    scale: NonNegative = 0.0
    c0: Positive = 0.25
    c1: NonNegative = 0.5
    ratio: Positive = 1.1
    forced: int = 1
    half: NonNegative = 0.5
    plus: NonNegative = 0.0
    kappa: NonNegative = 0.5
    cap: float = 1000.0
    power: float = 1.0
    c: float = 0.0
    nmin: int = 3
    due: int = 0
    laws: str = "c"

    def init(self, n_arms: int, horizon: int | None) -> LevelSetUCBState:
        """Fresh state."""
        return LevelSetUCBState(
            np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros((n_arms, KEPT)),
            np.array([self.scale, 0.0, 0.0, math.nan, 0.0, n_arms]), np.zeros((2, FIRST)), *dictionary(self.laws), init_choice(n_arms),
        )  # fmt: skip

    def level(self, state: LevelSetUCBState, t: int) -> float:
        """Indices do not depend on t between refreshes."""
        return 0.0

    def select(self, state: LevelSetUCBState, t: int, rng: Any) -> int:
        """Each arm once, then the highest index."""
        return choose(self, state, t, self.forced, 1)

    def update(self, state: LevelSetUCBState, arm: int, reward: float) -> None:
        """Learn."""
        reward = saturate(reward)
        pool, n, x, loss = state.pool, state.pulls[arm], state.x[arm], state.loss
        law = int(loss.density[0])
        if self.scale == 0.0:
            if n == 0:
                if not math.isnan(pool[LAST]):
                    learn_scale(state, 0, 0.5 * abs(saturate(reward - pool[LAST])))
                pool[LAST] = reward
            else:
                learn_scale(state, 1, abs(saturate(reward - x)) * (0.5 if n == 1 else 1.0))
        scale = pool[SCALE]
        laws, evidence = state.laws, state.evidence
        if len(evidence) > 1 and n >= self.nmin and pool[RESIDUALS] < self.cap and scale > 0.0:
            for q in range(len(evidence)):
                evidence[q] -= self.kappa * at(laws[q], saturate(reward - x) / scale, 2.0)
        if n < KEPT:
            insert(state.kept[arm], n, reward)
        elif scale > 0.0:
            z = saturate(reward - x) / scale
            step = at(loss.score[law], z, 0.0) / max(loss.information[law, 0], 0.2)
            state.x[arm] = saturate(x + scale * max(-4.0, min(4.0, step)) / (n + 1))
        state.pulls[arm] = n + 1
        pool[CLOCK] += 1.0
        if pool[CLOCK] >= pool[DUE]:
            pool[DUE] = max(self.ratio * pool[CLOCK], pool[CLOCK] + len(state.pulls))
            if len(evidence) > 1:
                mix(state)
            for other in range(len(state.pulls)):
                if state.pulls[other] > 0:
                    self.renew(state, other, reward if other == arm else state.x[other])
        else:
            self.renew(state, arm, reward)

    def renew(self, state: LevelSetUCBState, arm: int, reward: float) -> None:
        """Bring the arm's index up to date."""
        n, scale, pool = state.pulls[arm], state.pool[SCALE], state.pool
        law = int(state.loss.density[0])
        if self.c > 0.0:
            share = (pool[DUE] if self.due > 0 else pool[CLOCK]) / (len(state.pulls) * n)
            level = math.log(1.0 + self.c / len(state.pulls) * (1.0 + share))
        else:
            level = math.log(1.0 + self.c0 * pool[DUE] / (len(state.pulls) * n**self.power)) + self.c1
        level *= n / (n - self.half * state.slack[law])
        if scale == 0.0:
            state.x[arm] = state.kept[arm, 0]
            upper = state.x[arm]
        elif n <= KEPT:
            state.x[arm] = descend(state.loss, law, state.kept[arm], n, scale, state.x[arm] if n > 1 else reward, reward)
            upper = upper_end(state.loss.rho[law], state.kept[arm], n, scale, state.x[arm], level)
        else:
            upper = state.x[arm] + scale * shift_of(state.loss.divergence[law], level / n)
        place(state.choice, arm, saturate(upper), 0.0)

    def value(self, state: LevelSetUCBState, arm: int) -> float:
        """Location."""
        return float(state.x[arm]) if state.pulls[arm] > 0 else math.nan

    def index_of(self, state: LevelSetUCBState, arm: int, t: int) -> float:
        """Upper end."""
        return float(height(state.choice.line, state.choice.open, arm, 0.0))
