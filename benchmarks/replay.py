"""How often the promises of a replay hold: files drawn from known laws, and policies played on the laws themselves.

For each kind of file: how many of 90% intervals hold what the advised policy really earns per pull, and what it really
earns more than was logged; how many hold what the file's best arm pays; and how often a gain is called sure although
there is none.  ``python benchmarks/replay.py [FILES]`` prints the table, by default for 100 files of each kind; with
``logged`` instead, how many of 5,000 intervals of what was logged hold it, without policies, also for kinds of files on
which nothing was tried.  Constants of the replay were chosen on other laws, except three.  The factor 2 of how far
choices may have been lucky was the square root of 2 until a first run of this script, whose intervals of policies held
too seldom.  And either both tails of rewards of both signs are capped or none, since intervals of what was logged held
too seldom for Student's noise.  The ends of intervals were quantiles at 5% until such intervals of some laws held in
89.8% of 20,000 files; now they are quantiles at 4.5%.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.diagnosis.replay import ALWAYS_BEST, IN_FULL, LOGGED, cap_of, replay_rewards
from heavybandits.diagnosis.shape import measure
from heavybandits.protocols import FloatArray

Law = Callable[[np.random.Generator, int], FloatArray]
DRAWN = 1_000_000  # for the true means of what counts
PLAYED = 300  # replications of a policy on the laws


class Kind(NamedTuple):
    """The laws of the arms, how many rewards a file has of each, and the goal."""

    laws: list[Law]
    rows: int
    goal: str = "mean"


class Drawn:
    """A law as a noise."""

    def __init__(self, law: Law) -> None:
        self.law = law

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return self.law(rng, size)


def clicks(chance: float) -> Law:
    return lambda rng, size: (rng.random(size) < chance).astype(float)


def orders(share: float, size: float) -> Law:
    return lambda rng, n: np.where(rng.random(n) < share, size * rng.lognormal(0, 1.2, n), 0.0)


def shifted(draw: str, by: float, *parameters: float) -> Law:
    return lambda rng, n: by + np.asarray(getattr(rng, draw)(*parameters, n))


def scaled(draw: str, by: float, *parameters: float) -> Law:
    return lambda rng, n: by * np.asarray(getattr(rng, draw)(*parameters, n))


KINDS = {
    "clicks, 3% and 5%": Kind([clicks(0.03), clicks(0.05)], 1000),
    "clicks, four equal arms": Kind([clicks(0.04)] * 4, 700),
    "clicks, 20 items": Kind([clicks(0.004 + 0.001 * (i % 7)) for i in range(20)], 200),
    "orders": Kind([orders(0.1, 12.0), orders(0.06, 30.0), orders(0.15, 6.0)], 800),
    "orders, equal arms": Kind([orders(0.1, 12.0)] * 3, 800),
    "normal": Kind([shifted("normal", m, 0.0, 1.0) for m in (0.0, 0.15, 0.3)], 250),
    "exponential, 25 rows": Kind([scaled("standard_exponential", m) for m in (1.0, 1.6)], 25),
    "Student 2.5": Kind([shifted("standard_t", m, 2.5) for m in (0.0, 0.2, 0.6)], 400),
    "Pareto 1.6": Kind([scaled("pareto", m, 1.6) for m in (1.0, 1.3)], 600),
    "counts": Kind([scaled("poisson", 1.0, m) for m in (1.0, 1.1, 1.3, 1.4)], 150),
    "Cauchy, medians": Kind([shifted("standard_cauchy", m) for m in (0.0, 0.2, 0.5)], 300, "location"),
    "latencies, medians": Kind([scaled("lognormal", -m, 3.0, 0.8) for m in (1.0, 1.15)], 250, "location"),
}


HELD_OUT = {
    "Student 1.7": Kind([shifted("standard_t", m, 1.7) for m in (0.0, 0.3, 0.4)], 500),
    "Laplace": Kind([shifted("laplace", m, 0.0, 1.0) for m in (0.0, 0.3)], 100),
    "log-normal 1.4": Kind([scaled("lognormal", m, 0.0, 1.4) for m in (1.0, 1.2)], 300),
    "gamma 0.4, 60 rows": Kind([scaled("gamma", m, 0.4, 1.0) for m in (1.0, 1.4)], 60),
    "rare orders": Kind([orders(0.03, 10.0), orders(0.04, 10.0)], 500),
    "losses, Pareto 1.8": Kind([scaled("pareto", -m, 1.8) for m in (1.0, 1.3)], 400),
    "normal, 15 rows": Kind([shifted("normal", m, 0.0, 1.0) for m in (0.0, 0.5)], 15),
    "logistic, medians": Kind([shifted("logistic", m, 0.0, 1.0) for m in (0.0, 0.5)], 60, "location"),
}


def true_levels(kind: Kind, samples: list[FloatArray], cap: tuple[float, float]) -> FloatArray:
    levels = np.array([np.median(x) if kind.goal == "location" else np.clip(x, *cap).mean() for x in samples])
    return np.full(len(levels), levels.mean()) if len(set(map(id, kind.laws))) == 1 else levels


def measured(kind: Kind, files: int) -> list[float]:
    """Return the shares of files in which each of the statements holds."""
    name = "auto-mean" if kind.goal == "mean" else "auto"
    policy: Any = hb.make(name)
    n_arms, horizon = len(kind.laws), min(kind.rows * len(kind.laws), 10_000)
    rng = np.random.default_rng(1)
    samples = [law(rng, DRAWN) for law in kind.laws]
    instance = hb.Instance(np.zeros(n_arms), [Drawn(law) for law in kind.laws])
    played = hb.simulate(instance, {name: policy}, horizon=horizon, replications=PLAYED, checkpoints="end")
    shares = played.pulls.to_numpy()[0].mean(axis=0) / horizon
    held = np.zeros((files, 4))
    for number in range(files):
        rng = np.random.default_rng((number, 2))
        log = [law(rng, kind.rows) for law in kind.laws]
        residuals = np.concatenate([rewards - np.median(rewards) for rewards in log])
        cap = cap_of(log, measure(residuals)) if kind.goal == "mean" else IN_FULL
        found = replay_rewards(log, {name: policy}, kind.goal, cap=cap)
        truth = true_levels(kind, samples, cap)
        whole = [np.median(rewards) if kind.goal == "location" else np.clip(rewards, *cap).mean() for rewards in log]
        earns, logged, best = float(shares @ truth), float(truth.mean()), float(truth[int(np.argmax(whole))])
        lead = found.lead(name, LOGGED)
        pairs = (found.earned(name), earns), (lead, earns - logged), (found.earned(ALWAYS_BEST), best)
        inside = [low <= value <= high for (_, low, high), value in pairs]
        held[number] = *inside, lead.low > max(earns - logged, 0.0)
    return [float(share) for share in held.mean(axis=0)]


def logged(files: int = 5000) -> None:
    """Count how many intervals of what was logged hold it."""
    print("| files | held | too high | too low |\n|---|---|---|---|")
    for name, kind in (KINDS | {f"{name}, held out": kind for name, kind in HELD_OUT.items()}).items():
        samples = [law(np.random.default_rng(1), DRAWN) for law in kind.laws]
        missed = np.zeros(2)
        for number in range(files):
            rng = np.random.default_rng((number, 3))
            log = [law(rng, kind.rows) for law in kind.laws]
            residuals = np.concatenate([rewards - np.median(rewards) for rewards in log])
            cap = cap_of(log, measure(residuals)) if kind.goal == "mean" else IN_FULL
            found = replay_rewards(log, {}, kind.goal, cap=cap).earned(LOGGED)
            truth = float(true_levels(kind, samples, cap).mean())
            missed += found.low > truth, found.high < truth
        high, low = missed / files
        print(f"| {name} | {1.0 - high - low:.1%} | {high:.1%} | {low:.1%} |", flush=True)


def main() -> None:
    if sys.argv[1:] == ["logged"]:
        logged()
        return
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("| files | policy | gain | best arm | gain overstated |\n|---|---|---|---|---|")
    for name, kind in KINDS.items():
        print(f"| {name} | " + " | ".join(f"{share:.0%}" for share in measured(kind, files)) + " |", flush=True)


if __name__ == "__main__":
    main()
