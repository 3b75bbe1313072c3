"""Bounds of what another arm would have earned: how often they miss, and how close they are.

``python benchmarks/evaluate.py`` logs decisions between two arms of one law and evaluates "always the second arm".
``usual`` chooses it with probability 5% for 20,000 decisions, and looks six times; ``learning`` lets policies choose,
for 3,000 decisions; ``control`` compares linear policies with their control as they go; ``speed`` evaluates a million
decisions.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

import heavybandits as hb
from heavybandits.evaluation.policy_gain import GainRecord, PolicyGain
from heavybandits.evaluation.value import Counting, Weighted
from heavybandits.protocols import FloatArray

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
LAWS: dict[str, tuple[Draw, float]] = {  # how to draw rewards, and a cap
    "coins of 2%": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 1.0),
    "coins of 5%": (lambda rng, n: (rng.random(n) < 0.05).astype(float), 1.0),
    "coins of 50%": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 1.0),
    "uniform from 1 to 1.2": (lambda rng, n: rng.uniform(1.0, 1.2, n), 1.2),
    "exponential": (lambda rng, n: rng.exponential(size=n), 3.0),
    "orders of 20%, log-normal 1.3": (lambda rng, n: (rng.random(n) < 0.2) * rng.lognormal(0.0, 1.3, n), 10.0),
    "log-normal 1.5": (lambda rng, n: rng.lognormal(0.0, 1.5, n), 10.0),
    "Pareto 1.5": (lambda rng, n: 1.0 + rng.pareto(1.5, n), 10.0),
    "Pareto 1.2": (lambda rng, n: 1.0 + rng.pareto(1.2, n), 10.0),
}
MEANS = (0.02, 0.05, 0.5, 1.1, 1.0, 0.2 * math.exp(1.3**2 / 2), math.exp(1.5**2 / 2), 3.0, 6.0)
LOOKS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
FLOOR, DELTA, Z = 0.05, 0.05, 1.6448536


def capped_mean(draw: Draw, cap: float) -> float:
    """Return the mean of rewards that count up to a cap, by many draws."""
    return float(np.minimum(draw(np.random.default_rng(99), (4_000_000,)), cap).mean())


def bounds(weights: FloatArray, rewards: FloatArray, cap: float) -> tuple[float, float]:
    """Return our lower and upper bounds, each one-sided."""
    none = np.zeros(0, np.int64)
    one = Weighted("the second arm", weights, rewards, none, (none, none, np.zeros(0)), 1.0 / FLOOR)
    coins = bool(np.isin(rewards, (0.0, cap)).all())
    limits = Counting(0.0, cap, not coins)  # nobody has to state a cap for coins
    return one.low(limits if coins else Counting(0.0, math.inf, False), DELTA), one.high(limits, DELTA)


def usual_bounds(weights: FloatArray, rewards: FloatArray) -> tuple[float, float]:
    """Return the lower bound from IPS and the upper one from SNIPS that normal laws give."""
    y = weights * rewards
    mean = float(y.sum() / max(weights.sum(), 1e-9))
    error = math.sqrt(float(np.sum((weights * (rewards - mean)) ** 2))) / max(float(weights.sum()), 1e-9)
    return float(y.mean() - Z * y.std() / math.sqrt(len(y))), mean + Z * error


def usual(runs: int = 400, n: int = 20_000) -> None:
    """Compare with the usual bounds on logs with fixed probabilities."""
    print(
        "| rewards | usual upper: at the end / ever | usual lower | ours: upper, lower | lower / truth: usual, ours |"
    )
    print("|---|---|---|---|---|")
    for (law, (draw, cap)), mean in zip(LAWS.items(), MEANS, strict=True):
        rng, capped = np.random.default_rng(0), capped_mean(draw, cap)
        missed, close = np.zeros((4, len(LOOKS), runs), np.bool_), np.zeros((2, runs))
        for run in range(runs):
            weights, rewards = np.where(rng.random(n) < FLOOR, 1.0 / FLOOR, 0.0), draw(rng, (n,))
            for look, part in enumerate(LOOKS):
                w, r = weights[: int(part * n)], rewards[: int(part * n)]
                low, high = bounds(w, r, cap)
                usual_low, usual_high = usual_bounds(w, r)
                missed[:, look, run] = usual_high < mean, usual_low > mean, high < capped, low > mean
            close[:, run] = usual_low / mean, low / mean
        end, ever = missed[:, -1].mean(axis=1), missed.any(axis=1).mean(axis=1)
        print(f"| {law} | {end[0]:.0%} / {ever[0]:.0%} | {end[1]:.0%} / {ever[1]:.0%} | {ever[2]:.0%}, {ever[3]:.0%} | "
              f"{close[0].mean():.2f}, {close[1].mean():.2f} |", flush=True)  # fmt: skip


def thompson(pulls: FloatArray, sums: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the probability of the second arm by normal posteriors, in many runs at once."""
    means = sums / np.maximum(pulls, 1)
    variances = np.maximum(squares / np.maximum(pulls, 1) - means**2, 1e-6) / np.maximum(pulls, 1)
    return np.where(pulls.min(axis=1) < 2, 0.5, ndtr((means[:, 1] - means[:, 0]) / np.sqrt(variances.sum(axis=1))))


def tsallis(losses: FloatArray, t: int) -> FloatArray:
    """Return the probability of the second arm by Tsallis-INF, in many runs at once."""
    rate, low = 2.0 / math.sqrt(t), losses.min(axis=1)
    below, above = low - 2.0 * 2.0 / rate, low - 2.0 / rate
    for _ in range(40):
        x = 0.5 * (below + above)
        total = (4.0 / (rate * (losses - x[:, None])) ** 2).sum(axis=1)
        below, above = np.where(total < 1.0, x, below), np.where(total < 1.0, above, x)
    parts = 4.0 / (rate * (losses - x[:, None])) ** 2
    return np.asarray(parts[:, 1] / parts.sum(axis=1))


def logged(logger: str, draw: Draw, cap: float, runs: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the weights of "always the second arm" and the rewards, (run, decision), of a logger that learns."""
    rng = np.random.default_rng(1)
    rewards, weights = draw(rng, (runs, n)), np.zeros((runs, n))
    pulls, sums, squares, losses = (np.zeros((runs, 2)) for _ in range(4))
    every = np.arange(runs)
    agents = (
        [hb.Agent(hb.make("auto-mean"), n_arms=2, seed=run) for run in range(runs)] if logger == "auto-mean" else []
    )
    for t in range(n):
        if agents:
            chosen = np.array([agent.select() for agent in agents])
            second = (chosen == 1).astype(float)
        else:
            second = thompson(pulls, sums, squares) if logger == "Thompson" else tsallis(losses, t + 1)
        second = FLOOR + (1.0 - 2.0 * FLOOR) * second
        arms = (rng.random(runs) < second).astype(int)
        p = np.where(arms == 1, second, 1.0 - second)
        weights[:, t] = arms / p
        seen = np.minimum(rewards[:, t], cap)
        pulls[every, arms] += 1
        sums[every, arms] += seen
        squares[every, arms] += seen**2
        losses[every, arms] += (1.0 - seen / cap) / p
        for agent, was, arm, reward in zip(agents, chosen if agents else (), arms, rewards[:, t], strict=bool(agents)):
            if was != arm:
                agent.cancel(int(was))
            agent.update(int(arm), float(reward))
    return weights, rewards


def learning(runs: int = 60, n: int = 3000) -> None:
    """Count how often our bounds are ever wrong on logs of policies that learn."""
    loggers = ("Thompson", "Tsallis-INF", "auto-mean")
    print("| rewards | " + " | ".join(f"{logger}: upper, lower" for logger in loggers) + " |")
    print("|---|" + "---|" * len(loggers))
    for (law, (draw, cap)), mean in zip(LAWS.items(), MEANS, strict=True):
        cells, capped = [], capped_mean(draw, cap)
        for logger in loggers:
            weights, rewards = logged(logger, draw, cap, runs, n)
            wrong = np.zeros((2, runs), np.bool_)
            for run in range(runs):
                for part in LOOKS:
                    low, high = bounds(weights[run, : int(part * n)], rewards[run, : int(part * n)], cap)
                    wrong[:, run] |= high < capped, low > mean
            cells.append(f"{wrong[0].mean():.0%}, {wrong[1].mean():.0%}")
        print(f"| {law} | {' | '.join(cells)} |", flush=True)


def looks(policy: str, floor: float, draw: Draw, better: float, seed: int, n: int) -> list[PolicyGain]:
    """Return what is known at every hundredth decision of a policy that decides by contexts, whose level drifts.

    Rewards are drawn from a law and grow with the context; the second arm's are ``better`` times those of the control.
    """
    rng, record = np.random.default_rng(seed), GainRecord(floor / 2.0)
    agent = hb.LinearAgent(hb.make(policy), n_features=4, floor=floor, seed=seed)
    rewards, found = draw(rng, (n,)), []
    for t in range(n):
        x = rng.normal() + 3.0 * math.sin(6.28 * t / n)
        rows = {"control": [1.0, x, 0.0, 0.0], "other": [0.0, 0.0, 1.0, x]}
        made = agent.assign(rows)
        reward = float(rewards[t]) * math.exp(0.3 * x) * (1.0 if made.arm == "control" else better)
        agent.update(rows[made.arm], reward)
        assert made.propensity is not None
        record.learn(made.arm == "control", made.propensity, reward)
        if t % 100 == 99 and (gain := record.found(DELTA)) is not None:
            found.append(gain)
    return found


def control(runs: int = 20, n: int = 3000) -> None:
    """Count how often a linear policy is ever said to differ from its control: if both arms are equal, and if not."""
    kinds = {"lin-ucb, floor 10%": ("lin-ucb", 0.1), "lin-ts": ("lin-ts", 0.0),
             "linear-auto-mean, floor 10%": ("linear-auto-mean", 0.1)}  # fmt: skip
    print("| rewards | " + " | ".join(f"{kind}: equal arms, one 1.5 times as good" for kind in kinds) + " |")
    print("|---|" + "---|" * len(kinds))
    for law, (draw, _) in LAWS.items():
        cells = []
        for policy, floor in kinds.values():
            equal, better = (
                [looks(policy, floor, draw, times, seed, n) for seed in range(runs)] for times in (1.0, 1.5)
            )  # fmt: skip
            wrong = np.mean([any(not gain.low <= 0.0 <= gain.high for gain in run) for run in equal])
            told = np.mean([any(gain.low > 0.0 for gain in run) for run in better])
            cells.append(f"{wrong:.0%}, {told:.0%}")
        print(f"| {law} | {' | '.join(cells)} |", flush=True)


def speed(n: int = 1_000_000) -> None:
    """Evaluate an arm and a function on a million decisions."""
    rng = np.random.default_rng(0)
    arms = rng.integers(4, size=n)
    log = {"arm": arms, "reward": rng.pareto(1.5, n), "p": np.full(n, 0.25), "x": rng.normal(size=n)}
    targets: dict[str, dict[str, Any]] = {"arm": {"arm": "2"}, "by": {"by": lambda known: 2 if known["x"] > 0 else 1}}
    for name, target in targets.items():
        began = time.process_time()
        hb.evaluate(log, cap=50.0, **target)
        print(f"| {name} | {time.process_time() - began:.1f} s |")


if __name__ == "__main__":
    parts: dict[str, Callable[[], None]] = {"usual": usual, "learning": learning, "control": control, "speed": speed}
    for part in sys.argv[1:] or parts:
        parts[part]()
