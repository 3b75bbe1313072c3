"""How often evidence errs, and how many rewards it takes: the tables of docs/evidence-measured.md.

``python benchmarks/evidence.py errors`` prints one of the tables; the others are ``levels``, ``samples``, ``tails``,
``bandits``, ``forecast`` and ``speed``.  Together they take about ten minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.evidence.measures import measures
from heavybandits.evidence.tally import Tally, add, is_sized_up, new_tally
from heavybandits.evidence.verdict import Forecast, Peaks, Verdict, judge
from heavybandits.evidence.words import tail_warning
from heavybandits.protocols import FloatArray, IntArray

Rng = np.random.Generator
Law = Callable[[Rng, int], Any]
DELTA = 0.05
GROWTH = 1.04  # from one look to the next


def orders(chance: float, law: Law) -> Law:
    return lambda rng, n: (rng.random(n) < chance) * law(rng, n)


def pareto(index: float) -> Law:
    """Pareto rewards with mean 1."""
    return lambda rng, n: (index - 1.0) / index * (1.0 + rng.pareto(index, n))


def lognormal(sigma: float) -> Law:
    return lambda rng, n: rng.lognormal(0.0, sigma, n) * math.exp(-(sigma**2) / 2)


def scaled(factor: float, law: Law) -> Law:
    return lambda rng, n: factor * law(rng, n)


def shifted(by: float, law: Law) -> Law:
    return lambda rng, n: by + law(rng, n)


def coins(chance: float) -> Law:
    return lambda rng, n: 1.0 * (rng.random(n) < chance)


def poisson(mean: float) -> Law:
    return lambda rng, n: 1.0 * rng.poisson(mean, n)


def weibull(rng: Rng, n: int) -> FloatArray:
    return rng.weibull(0.5, n)


def exponential(rng: Rng, n: int) -> FloatArray:
    return rng.exponential(1.0, n)


def normal(rng: Rng, n: int) -> FloatArray:
    return rng.normal(0.0, 1.0, n)


def student(df: float) -> Law:
    return lambda rng, n: rng.standard_t(df, n)


def jackpots(chance: float, size: float) -> Law:
    return lambda rng, n: np.where(rng.random(n) < chance, size, rng.exponential(1.0, n))


# The constants were chosen on the first five.
EQUAL: dict[str, Law] = {
    "coins 5%": coins(0.05),
    "exponential": exponential,
    "normal, mean 1": shifted(1.0, normal),
    "orders 5%, log-normal 1.3": orders(0.05, lognormal(1.3)),
    "Pareto 1.5": pareto(1.5),
    "Pareto 1.1, held out": pareto(1.1),
    "orders 10%, Pareto 1.3, held out": orders(0.1, pareto(1.3)),
    "Student 1.5, held out": student(1.5),
    "jackpots 1 in 200, held out": jackpots(0.005, 200.0),
    "negated log-normal 2, held out": scaled(-1.0, lognormal(2.0)),
    "Poisson 0.3, held out": poisson(0.3),
}


def looks(start: int, end: int) -> Iterator[int]:
    """Yield numbers of decisions after which one looks."""
    n = float(start)
    while n <= end:
        yield int(n)
        n = max(n * GROWTH, n + 1.0)


# ---- rules that choose arms: they yield batches of arms, and see what is known --------------------------------------
def uniform(tally: Tally, rng: Rng, n: int) -> IntArray:
    return rng.integers(len(tally.n), size=n)


def _means(tally: Tally, unknown: float) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(tally.totals / tally.rows.sum(axis=1), nan=unknown))


def greedy(tally: Tally, rng: Rng, n: int) -> IntArray:
    """Play the arm with the best mean, and any arm in a fifth of decisions."""
    return np.where(rng.random(n) < 0.2, rng.integers(len(tally.n), size=n), int(np.argmax(_means(tally, np.inf))))


def hostile(tally: Tally, rng: Rng, n: int) -> IntArray:
    """Leave an arm alone while it looks lucky, and play the unluckiest: luck that is never tested stays."""
    worst = int(np.argmin(_means(tally, 0.0)))
    return np.full(n, worst if rng.random() < 0.8 else int(rng.integers(len(tally.n))))


RULES = {"uniform": uniform, "greedy": greedy, "hostile": hostile}


def run(laws: list[Law], rule: Any, rng: Rng, decisions: int, delta: float) -> tuple[int, Verdict | None]:
    """Play until a winner is named; return how many decisions that took, and the verdict or None."""
    tally, peaks, done = new_tally(len(laws)), Peaks(), 0
    for n in looks(50, decisions):
        batch = rule(tally, rng, n - done)
        rewards = np.empty(n - done)
        for arm, law in enumerate(laws):
            rewards[batch == arm] = law(rng, int((batch == arm).sum()))
        add(tally, batch, rewards)
        done = n
        if is_sized_up(tally):
            verdict = judge(tally, measures(tally), delta, peaks=peaks)
            if verdict.is_winner:
                return n, verdict
    return decisions, None


def agent_rule(policy: str, floor: float) -> Any:
    """A policy of the library, which is played one decision at a time, with a floor for each arm."""

    def start(laws: list[Law], rng: Rng, decisions: int) -> tuple[IntArray, FloatArray]:
        agent = hb.Agent(hb.make(policy), arms=[str(arm) for arm in range(len(laws))], seed=int(rng.integers(2**31)))
        stock = [law(rng, decisions).tolist() for law in laws]
        arms, rewards = np.empty(decisions, np.int64), np.empty(decisions)
        forced = np.where(rng.random(decisions) < floor * len(laws), rng.integers(len(laws), size=decisions), -1)
        for t in range(decisions):
            arm = int(agent.select()) if forced[t] < 0 else int(forced[t])
            rewards[t] = stock[arm].pop()
            arms[t] = arm
            agent.update(str(arm), float(rewards[t]), selected=bool(forced[t] < 0))
        return arms, rewards

    return start


def logged(arms: IntArray, rewards: FloatArray, n_arms: int, delta: float) -> tuple[int, Verdict | None]:
    """Look at what an agent did; return when a winner was named, and the verdict or None."""
    tally, peaks, done = new_tally(n_arms), Peaks(), 0
    for n in looks(50, len(arms)):
        add(tally, arms[done:n], rewards[done:n])
        done = n
        if is_sized_up(tally):
            verdict = judge(tally, measures(tally), delta, peaks=peaks)
            if verdict.is_winner:
                return n, verdict
    return len(arms), None


def errors(runs: int) -> None:
    """Print how often a winner is ever named although the best arms are equal."""
    decisions = 10_000
    print(f"| law | {' | '.join(f'K = {k}, {rule}' for k in (2, 5, 20) for rule in RULES)} |")
    print(f"| --- |{' --- |' * 9}")
    total = np.zeros(9)
    for row, (name, law) in enumerate(EQUAL.items()):
        cells = []
        for n_arms in (2, 5, 20):
            laws = [law, law, *[scaled(0.5, law)] * (n_arms - 2)]
            for number, rule in enumerate(RULES.values()):
                wrong = sum(
                    run(laws, rule, np.random.default_rng([row, n_arms, number, seed]), decisions, DELTA)[1] is not None
                    for seed in range(runs)
                )
                cells.append(wrong)
        total += cells
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)
    print(f"| of {runs * len(EQUAL):,} | {' | '.join(f'{wrong:.0f}' for wrong in total)} |")


def levels(runs: int) -> None:
    """Print the same for delta = 50%, where errors can be seen."""
    print("| delta = 50%, K = 2 | " + " | ".join(RULES) + " |")
    print(f"| --- |{' --- |' * len(RULES)}")
    for row, name in enumerate(("exponential", "orders 10%, Pareto 1.3, held out")):
        cells = [
            np.mean([run([EQUAL[name]] * 2, rule, np.random.default_rng([9, row, seed]), 5_000, 0.5)[1] is not None
                     for seed in range(runs)])
            for rule in RULES.values()
        ]  # fmt: skip
        print(f"| {name} | {' | '.join(f'{cell:.0%}' for cell in cells)} |", flush=True)


# ---- rewards needed -------------------------------------------------------------------------------------------------
PAIRS: dict[str, tuple[Law, Law, int]] = {
    "coins 5%, 7%": (coins(0.05), coins(0.07), 20_000),
    "exponential 1, 1.2": (exponential, scaled(1.2, exponential), 8_000),
    "normal 1, 1.15": (shifted(1.0, normal), shifted(1.15, normal), 8_000),
    "orders 5%, 8%, log-normal 1.3": (orders(0.05, lognormal(1.3)), orders(0.08, lognormal(1.3)), 40_000),
    "Pareto 1.5, +30%": (pareto(1.5), scaled(1.3, pareto(1.5)), 60_000),
    "coins 30%, 34%, held out": (coins(0.3), coins(0.34), 20_000),
    "Poisson 2, 2.2, held out": (poisson(2.0), poisson(2.2), 8_000),
    "Weibull 0.5, +30%, held out": (weibull, scaled(1.3, weibull), 20_000),
    "Student 3, +0.2, held out": (student(3.0), shifted(0.2, student(3.0)), 20_000),
    "log-normal 1.5, +30%, held out": (lognormal(1.5), scaled(1.3, lognormal(1.5)), 30_000),
    "orders 2%, 3%, Pareto 1.8, held out": (orders(0.02, pareto(1.8)), orders(0.03, pareto(1.8)), 60_000),
    "orders 5%, amounts +40%, held out": (
        orders(0.05, lognormal(1.0)), orders(0.05, scaled(1.4, lognormal(1.0))), 40_000,
    ),
    "normal 100, 100.2, held out": (shifted(100.0, normal), shifted(100.2, normal), 8_000),
}  # fmt: skip
OPTIMAL_AT = 100  # where the asymptotic sequence is narrowest


def samples(runs: int) -> None:
    """Print how many rewards per arm a verdict takes, as ratios to other rules."""
    print("| laws | rewards per arm | TensorZero | asymptotic | Welch, n known | wrong |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row, (name, (a, b, most)) in enumerate(PAIRS.items()):
        grid = np.array(list(looks(20, most)))
        ours, theirs, asymptotic, welch = [], [], [], np.zeros(len(grid))
        wrong = 0
        for seed in range(runs):
            rng = np.random.default_rng([row, seed])
            x_a, x_b = a(rng, most), b(rng, most)
            gap, variance = _moments(x_a, x_b, grid)
            z2 = gap**2 / np.maximum(variance, 1e-300)
            theirs.append(_first(grid, z2 / 2 > np.log((1 + np.log(2 * grid)) / DELTA)))
            rho2 = (-2 * math.log(DELTA) + math.log(1 - 2 * math.log(DELTA))) / OPTIMAL_AT
            wide = (grid * rho2 + 1) / (grid * rho2) * np.log((grid * rho2 + 1) / DELTA**2)
            asymptotic.append(_first(grid, (z2 > wide) & (grid > OPTIMAL_AT)))
            welch += (z2 > 1.96**2) & (gap > 0)
            n, right = _ours(x_a, x_b, grid)
            ours.append(n)
            wrong += not right
        known = grid[np.argmax(welch / runs >= 0.8)] if (welch / runs >= 0.8).any() else math.inf
        middle = float(np.median(ours))
        ratios = [middle / float(np.median(theirs)), middle / float(np.median(asymptotic)), middle / known]
        print(f"| {name} | {middle:,.0f} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} | {wrong} |", flush=True)


def _moments(x_a: FloatArray, x_b: FloatArray, grid: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the gap of the means and its estimated variance, after the first n rewards of each arm."""
    gap, variance = np.zeros(len(grid)), np.zeros(len(grid))
    for x, sign in ((x_b, 1.0), (x_a, -1.0)):
        mean = np.cumsum(x)[grid - 1] / grid
        gap += sign * mean
        variance += np.maximum(np.cumsum(x**2)[grid - 1] / grid - mean**2, 0.0) / (grid - 1)
    return gap, variance


def _first(grid: IntArray, stops: Any) -> float:
    return float(grid[np.argmax(stops)]) if stops.any() else math.inf


def _ours(x_a: FloatArray, x_b: FloatArray, grid: IntArray) -> tuple[float, bool]:
    """Return the rewards per arm until a winner is named, and whether it is not the wrong one."""
    tally, peaks, done = new_tally(2), Peaks(), 0
    for n in grid.tolist():
        add(tally, np.tile([0, 1], n - done), np.column_stack([x_a[done:n], x_b[done:n]]).ravel())
        done = n
        if is_sized_up(tally):
            verdict = judge(tally, measures(tally), DELTA, peaks=peaks)
            if verdict.is_winner:
                return n, verdict.leader == 1
    return math.inf, True


# ---- tails that differ ----------------------------------------------------------------------------------------------
MISLEADING: dict[str, tuple[Law, Law]] = {
    "exponential / Pareto 1.2, +20%": (exponential, scaled(1.2, pareto(1.2))),
    "exponential / Pareto 1.5, +5%": (exponential, scaled(1.05, pareto(1.5))),
    "Pareto 2.5 / Pareto 1.3, +20%": (pareto(2.5), scaled(1.2, pareto(1.3))),
    "orders 5% exponential / 2% Pareto 1.3, +20%": (orders(0.05, exponential), orders(0.02, scaled(3.0, pareto(1.3)))),
    "exponential / one in 1,000 pays 1,200": (exponential, orders(0.001, lambda rng, n: np.full(n, 1200.0))),
    "same tails: exponential, +20%": (exponential, scaled(1.2, exponential)),
    "same tails: Pareto 1.5, +30%": (pareto(1.5), scaled(1.3, pareto(1.5))),
    "same tails: orders 5%, 8%": (orders(0.05, lognormal(1.3)), orders(0.08, lognormal(1.3))),
}


def tails(runs: int) -> None:
    """Print which arm is named when the one with the higher mean has the heavier tail, and who is warned."""
    most = 10_000
    print("| A / B, which has the higher mean | names A | names B | warned at the first verdict | warned at the end |")
    print("| --- | --- | --- | --- | --- |")
    for row, (name, (a, b)) in enumerate(MISLEADING.items()):
        named, first, last = np.zeros(2), [], []
        for seed in range(runs):
            rng = np.random.default_rng([7, row, seed])
            x = np.column_stack([a(rng, most), b(rng, most)])
            tally, peaks, done, seen = new_tally(2), Peaks(), 0, False
            for n in looks(50, most):
                add(tally, np.tile([0, 1], n - done), x[done:n].ravel())
                done = n
                if is_sized_up(tally):
                    verdict = judge(tally, measures(tally), DELTA, peaks=peaks)
                    if verdict.is_winner and not seen:
                        seen = True
                        first.append(tail_warning(tally, verdict) >= 0)
            named[verdict.leader] += verdict.is_winner
            last.append(tail_warning(tally, verdict) >= 0)
        at_first = f"{np.mean(first):.0%}" if first else "-"
        print(
            f"| {name} | {named[0] / runs:.0%} | {named[1] / runs:.0%} | {at_first} | {np.mean(last):.0%} |", flush=True
        )


# ---- bandits --------------------------------------------------------------------------------------------------------
def bandits(runs: int) -> None:
    """Print how soon a winner is named under a bandit with a floor, and how often equal arms have one."""
    decisions = 10_000
    cases: dict[str, list[Law]] = {
        "exponential 1, 1.3": [exponential, scaled(1.3, exponential)],
        "orders 5%, 10%": [orders(0.05, lognormal(1.3)), orders(0.1, lognormal(1.3))],
        "Pareto 1.5, +50%": [pareto(1.5), scaled(1.5, pareto(1.5))],
        "equal exponential": [exponential, exponential],
        "equal Pareto 1.5": [pareto(1.5), pareto(1.5)],
    }
    rules = [("auto-mean", 0.0), ("auto-mean", 0.05), ("auto-mean", 0.1), ("auto-mean", 0.2), ("auto", 0.1),
             ("thompson-gaussian", 0.0)]  # fmt: skip
    print(f"| | {' | '.join(f'{policy}, floor {floor:.0%}' for policy, floor in rules)} |")
    print(f"| --- |{' --- |' * len(rules)}")
    for row, (name, laws) in enumerate(cases.items()):
        cells = []
        for number, (policy, floor) in enumerate(rules):
            named = []
            for seed in range(runs):
                rng = np.random.default_rng([11, row, number, seed])
                arms, rewards = agent_rule(policy, floor)(laws, rng, decisions)
                named.append(logged(arms, rewards, len(laws), DELTA))
            share = np.mean([verdict is not None for _, verdict in named])
            cells.append(f"{share:.0%}, {np.median([n for n, _ in named]):,.0f}" if share >= 0.5 else f"{share:.0%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# ---- forecasts ------------------------------------------------------------------------------------------------------
def forecast(runs: int) -> None:
    """Print how forecasts compare with what a verdict then takes."""
    found: dict[int, list[float]] = {1: [], 2: [], 3: []}
    held = 0
    for row, name in enumerate(("exponential 1, 1.2", "normal 1, 1.15", "coins 5%, 7%", "Poisson 2, 2.2, held out",
                                "log-normal 1.5, +30%, held out", "Student 3, +0.2, held out")):  # fmt: skip
        a, b, most = PAIRS[name]
        for seed in range(runs):
            rng = np.random.default_rng([13, row, seed])
            x = np.column_stack([a(rng, most), b(rng, most)])
            tally, peaks, done = new_tally(2), Peaks(), 0
            said: list[tuple[int, float, Forecast]] = []
            for n in looks(50, most):
                add(tally, np.tile([0, 1], n - done), x[done:n].ravel())
                done = n
                if is_sized_up(tally):
                    verdict = judge(tally, measures(tally), DELTA, peaks=peaks)
                    if verdict.is_winner:
                        for at, log, guess in said:
                            if at < n:
                                found[min(int(log), 3)].append(guess.decisions / (2 * (n - at)))
                                held += guess.low <= 2 * (n - at) <= guess.high
                        break
                    if verdict.forecast is not None and math.isfinite(verdict.forecast.decisions):
                        said.append((n, float(verdict.logs.min()), verdict.forecast))
    print("| log-evidence when it was made | forecasts | forecast/truth: 10% | median | 90% |")
    print("| --- | --- | --- | --- | --- |")
    for log, ratios in found.items():
        cells = " | ".join(f"{q:.2f}" for q in np.quantile(ratios, [0.1, 0.5, 0.9]))
        print(f"| {log} to {log + 1 if log < 3 else 'verdict'} | {len(ratios):,} | {cells} |")
    print(f"\nOf all forecasts, {held / sum(map(len, found.values())):.0%} had the truth within their range.")


def speed(_: int) -> None:
    """Print the processor time per reward, and for a report on 100 arms."""
    rng = np.random.default_rng(0)
    tally = new_tally(100)
    arms, rewards = rng.integers(100, size=10**6), rng.exponential(1.0, 10**6)
    add(tally, arms, rewards)
    start = time.process_time()
    add(tally, arms, rewards)
    print(f"one reward: {1e3 * (time.process_time() - start):.1f} ns, {tally.rows[0].nbytes} bytes per arm")
    for factor, control in ((1.0, None), (1.5, None), (1.0, "arm 1"), (1.5, "arm 1")):
        columns = {f"arm {arm}": rng.exponential(1.0 + 0.005 * arm, 1000) for arm in range(100)}
        columns["arm 0"] = columns["arm 0"] * factor * 1.5
        times = []
        for _attempt in range(5):
            start = time.process_time()
            found = hb.compare(columns, control=control)
            str(found)
            times.append(time.process_time() - start)
        lifts = " with lifts" if control else ""
        print(f"comparing 100 arms{lifts}, winner {found.winner}: {1e3 * min(times):.0f} ms", end="")
        start = time.process_time()
        assert len(found.table) == len(columns)
        print(f", and {1e3 * (time.process_time() - start):.0f} ms more for the table of all arms")
    for n_arms in (2, 20):
        more = _cost_of_keeping(n_arms)
        print(f"an agent of {n_arms} arms that keeps evidence: {more:.1f} us more for each decision with its reward")


def _cost_of_keeping(n_arms: int) -> float:
    """Return the microseconds that an agent which keeps evidence takes longer for a decision and its reward."""
    rewards = np.random.default_rng(0).exponential(1.0, 20_000).tolist()
    agents = [hb.Agent(hb.make("auto-mean"), n_arms=n_arms, evidence=keeps) for keeps in (False, True)]
    times: list[list[float]] = [[], []]
    for _attempt in range(6):
        for agent, spent in zip(agents, times, strict=True):
            start = time.process_time()
            for reward in rewards:
                agent.update(agent.select(), reward)
            spent.append(time.process_time() - start)
    return 1e6 * (min(times[1]) - min(times[0])) / len(rewards)


RUNS = {"errors": 10, "levels": 100, "samples": 200, "tails": 40, "bandits": 20, "forecast": 12, "speed": 1}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=list(RUNS))
    parser.add_argument("--runs", type=int)
    chosen = parser.parse_args()
    globals()[chosen.table](chosen.runs or RUNS[chosen.table])
