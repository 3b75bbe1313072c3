"""How many decisions it takes to name the best arm: the table of docs/evidence-measured.md on identification.

``python benchmarks/identify.py`` prints it; it takes about ten minutes on one core.  All rules but the last two stop by
the same evidence: an arm is out once the leader is shown to beat it.  They differ in which arms they play.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from evidence import Law, Rng, coins, exponential, lognormal, normal, orders, pareto, scaled, shifted, weibull

import heavybandits as hb
from heavybandits.algorithms.policies.identify import GROWTH, Identify
from heavybandits.evidence.measures import ClippedMean, measures
from heavybandits.evidence.tally import Tally, add, is_sized_up, new_tally
from heavybandits.protocols import FloatArray

DELTA = 0.05
MOST = 100_000  # decisions

INSTANCES: dict[str, list[Law]] = {
    "2 exponential 1, 1.3": [exponential, scaled(1.3, exponential)],
    "2 coins 5%, 8%": [coins(0.05), coins(0.08)],
    "3 normal 1, 1, 1.3": [shifted(mean, normal) for mean in (1.0, 1.0, 1.3)],
    "5 exponential 1 x 4, 1.3": [exponential] * 4 + [scaled(1.3, exponential)],
    "5 exponential 0.6 to 1.3": [scaled(mean, exponential) for mean in (0.6, 0.8, 0.9, 1.05, 1.3)],
    "5 orders 2% to 10%": [orders(chance, lognormal(1.3)) for chance in (0.02, 0.03, 0.04, 0.05, 0.1)],
    "5 Pareto 1.5, 1 x 4, 1.5": [pareto(1.5)] * 4 + [scaled(1.5, pareto(1.5))],
    "10 coins 5% x 9, 10%": [coins(0.05)] * 9 + [coins(0.1)],
    "10 Weibull 0.5, 1 to 1.9, 2.4": [scaled(mean, weibull) for mean in (*np.linspace(1.0, 1.9, 9), 2.4)],
    "20 exponential 1 x 19, 1.5": [exponential] * 19 + [scaled(1.5, exponential)],
    "20 exponential 0.5 to 1.4, 1.7": [scaled(mean, exponential) for mean in (*np.linspace(0.5, 1.4, 19), 1.7)],
    "8 log-normal 1.5, 1 x 7, 1.6": [lognormal(1.5)] * 7 + [scaled(1.6, lognormal(1.5))],
}
Shares = Callable[[FloatArray, FloatArray, FloatArray, int], FloatArray]  # of means, variances, decisions, leader


def uniform(means: FloatArray, variances: FloatArray, n: FloatArray, leader: int) -> FloatArray:
    return np.ones(len(means))


def _costs(means: FloatArray, variances: FloatArray, n: FloatArray, leader: int) -> FloatArray:
    """Return how well each arm is told from the leader, as squared standard errors."""
    costs = (means[leader] - means) ** 2 / (variances / n + variances[leader] / n[leader])
    costs[leader] = math.inf
    return np.asarray(costs)


def lucb(means: FloatArray, variances: FloatArray, n: FloatArray, leader: int) -> FloatArray:
    """Play the leader and the arm with the highest upper bound, in turn."""
    upper = means + np.sqrt(2.0 * variances * math.log(n.sum() + 1.0) / n)
    upper[leader] = -math.inf
    return _at(len(means), {leader: 0.5, int(np.argmax(upper)): 0.5})


def top_two(means: FloatArray, variances: FloatArray, n: FloatArray, leader: int) -> FloatArray:
    """Play the leader and the arm that is least well told from it, in turn."""
    return _at(len(means), {leader: 0.5, int(np.argmin(_costs(means, variances, n, leader))): 0.5})


def track_and_stop(means: FloatArray, variances: FloatArray, n: FloatArray, leader: int) -> FloatArray:
    """Play the proportions that would be best if means and variances were as estimated and rewards normal."""
    gaps = np.maximum(means[leader] - means, 1e-3 * abs(means[leader]) + 1e-12)
    rivals = np.delete(np.arange(len(means)), leader)

    def weights(level: float) -> FloatArray:  # so that each rival is told from the leader equally well
        found = np.zeros(len(means))
        found[leader] = 1.0
        found[rivals] = variances[rivals] / (gaps[rivals] ** 2 / level - variances[leader])
        return found

    top = 0.999 * float((gaps[rivals] ** 2).min() / max(variances[leader], 1e-12))
    levels = top * np.linspace(0.01, 1.0, 60)
    best = max(levels, key=lambda level: level / weights(float(level)).sum())
    return weights(float(best))


def _at(size: int, shares: dict[int, float]) -> FloatArray:
    found = np.zeros(size)
    for arm, share in shares.items():
        found[arm] += share
    return found


RULES: dict[str, Shares] = {"uniform": uniform, "LUCB": lucb, "top-two": top_two, "track and stop": track_and_stop}


def race(draws: list[FloatArray], rule: Shares, rng: Rng) -> tuple[int, int]:
    """Return after how many decisions an arm is named, and which; -1 if none is."""
    tally, n_arms = new_tally(len(draws)), len(draws)
    n, squares = np.zeros(n_arms), np.zeros(n_arms)
    out, total, share = np.zeros(n_arms, bool), 0, np.ones(n_arms)
    while total < MOST:
        batch = min(max(n_arms, total // GROWTH), MOST - total)
        # Each arm that is still open keeps sqrt(n)/2 decisions, as these rules need to be sure of their estimates.
        wanted = (total + batch) * share / share.sum()
        wanted[~out] = np.maximum(wanted[~out], 0.5 * math.sqrt(total + batch))
        lack = np.maximum(wanted - n, 0.0) + 1e-9
        arms = rng.choice(n_arms, batch, p=lack / lack.sum())
        rewards = np.empty(batch)
        for arm in range(n_arms):
            done = int(n[arm])
            rewards[arms == arm] = draws[arm][done : done + int((arms == arm).sum())]
        add(tally, arms, rewards)
        n += np.bincount(arms, minlength=n_arms)
        total += batch
        if not is_sized_up(tally) or tally.rows.sum(axis=1).min() == 0:
            continue
        one = measures(tally)[0]
        assert isinstance(one, ClippedMean)
        means, squares = one.estimates(), _variances(one, tally)
        leader = int(np.argmax(np.where(out, -math.inf, means)))
        need = math.log(n_arms / (DELTA * one.share))
        for rival in np.flatnonzero(~out).tolist():
            if rival != leader and one.log_evidence(leader, rival, below=need, above=need) >= need:
                out[rival] = True
        if out.sum() == n_arms - 1:
            return total, int(np.argmin(out))
        alive = np.flatnonzero(~out) if rule is not uniform else np.arange(n_arms)
        share = np.zeros(n_arms)
        share[alive] = rule(means[alive], squares[alive], n[alive], int(np.flatnonzero(alive == leader)[0]))
    return MOST, -1


def _variances(one: ClippedMean, tally: Tally) -> FloatArray:
    low, high = one.limits
    first, last, _ = one.clip
    rows = tally.rows[:, first : last + 1].copy()
    rows[:, 0] += tally.rows[:, :first].sum(axis=1)
    rows[:, -1] += tally.rows[:, last + 1 :].sum(axis=1)
    rows /= rows.sum(axis=1, keepdims=True)
    x = low + (high - low) * one.clip.x
    return np.asarray(np.maximum(rows @ x**2 - (rows @ x) ** 2, 1e-6 * (high - low) ** 2))


def identify(draws: list[FloatArray]) -> tuple[int, int]:
    """Play the policy of the library."""
    agent = hb.Agent(Identify(delta=DELTA), n_arms=len(draws))
    state: Any = agent._state
    for t in range(MOST):
        arm = agent.select()
        if state.named.any():
            return t, int(np.argmax(state.named))
        agent.update(arm, float(draws[arm][state.pulls[arm]]))
    return MOST, -1


def eliminate(laws: list[Law], order: float, estimator: str) -> float:
    """Return the decisions that successive elimination takes by its bounds, if all means were exact.

    The bounds are those of Bubeck, Cesa-Bianchi and Lugosi (2013), as in Yu, Shao, Lyu and King (2018), with the true
    moment of this order, and a share of delta for each arm and time.
    """
    rng = np.random.default_rng(1)
    draws = [law(rng, 10**6) for law in laws]
    moment = max(float((np.abs(x) ** order).mean()) for x in draws)
    means = np.array([float(x.mean()) for x in draws])
    gaps, total = means.max() - means, 0.0
    for gap in [*np.sort(gaps)[1:].tolist(), float(np.sort(gaps)[1])]:
        n = 1.0
        while True:
            log = math.log(2.0 * len(laws) * n * n / DELTA)
            rate = (log / n) ** ((order - 1.0) / order)
            width = 4.0 * moment ** (1.0 / order) * rate
            if estimator == "median of means":
                width = (12.0 * moment) ** (1.0 / order) * (16.0 * (log + 0.125) / n) ** ((order - 1.0) / order)
            if 2.0 * width <= gap or n > 1e12:
                break
            n *= 1.1
        total += n
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    runs = parser.parse_args().runs
    others = list(RULES)[1:]
    print(f"| instance | uniform | identify | {' | '.join(others)} | truncated means | medians of means |")
    print(f"| --- |{' --- |' * (len(others) + 4)}")
    logs, wrong, unnamed = np.zeros(1 + len(others)), np.zeros(2 + len(others), int), np.zeros(2 + len(others), int)
    for row, (name, laws) in enumerate(INSTANCES.items()):
        best, totals = len(laws) - 1, np.zeros(2 + len(others))
        for seed in range(runs):
            rng = np.random.default_rng([row, seed])
            draws = [law(rng, MOST) for law in laws]  # all rules get the same rewards of an arm
            raced = [race(draws, RULES[rule], rng) for rule in RULES]
            for number, (n, arm) in enumerate((raced[0], identify(draws), *raced[1:])):
                totals[number] += n
                wrong[number] += arm not in (best, -1)
                unnamed[number] += arm == -1
        means = totals / runs
        ratios = means[1:] / means[0]
        logs += np.log(ratios)
        order = 1.4 if "Pareto" in name else 2.0
        slow = [eliminate(laws, order, how) / means[0] for how in ("truncated", "median of means")]
        cells = [f"{means[0]:,.0f}", *(f"{ratio:.2f}" for ratio in ratios), *(f"{ratio:,.0f}" for ratio in slow)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"| geometric mean | | {' | '.join(f'{ratio:.2f}' for ratio in np.exp(logs / len(INSTANCES)))} | | |")
    print(f"| wrong of {runs * len(INSTANCES)} | {' | '.join(map(str, wrong))} | | |")
    print(f"| open at {MOST:,} | {' | '.join(map(str, unnamed))} | | |")


if __name__ == "__main__":
    main()
