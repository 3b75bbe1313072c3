"""How often the intervals of ``hb.compare`` miss, how wide they are, and how fast it reads.

``python benchmarks/compare.py widths`` prints one of the tables; the others are ``once``, ``column``, ``shares`` and
``rows``.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from evidence import coins, exponential, jackpots, lognormal, normal, orders, pareto, poisson, shifted, student, weibull
from scipy.stats import ttest_ind

import heavybandits as hb
from heavybandits.evidence.ab_test.adjusted import Adjusted
from heavybandits.evidence.ab_test.once import FoldSums
from heavybandits.evidence.ab_test.sample_ratio import FALSE_ALARMS, log_mismatch
from heavybandits.evidence.measures import Measure, measures
from heavybandits.evidence.scale import ladder
from heavybandits.evidence.tally import add, is_sized_up, new_tally

DELTA = 0.05
NEED = math.log(2.0 / DELTA)
SIZES = (500, 5_000, 50_000)  # rewards per arm, if both get as many
# The constants of evidence were chosen on the first five; nothing was chosen on the others.
LAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "coins 5%": coins(0.05),
    "exponential": exponential,
    "normal, mean 1": shifted(1.0, normal),
    "orders 5%, log-normal 1.3": orders(0.05, lognormal(1.3)),
    "Pareto 1.5": pareto(1.5),
    "Pareto 1.1, held out": pareto(1.1),
    "orders 10%, Pareto 1.3, held out": orders(0.1, pareto(1.3)),
    "Student 1.5, held out": student(1.5),
    "jackpots 1 in 200, held out": jackpots(0.005, 200.0),
    "Weibull 0.5, held out": weibull,
    "log-normal 2, held out": lognormal(2.0),
    "Poisson 0.3, held out": poisson(0.3),
}


def bounds(one: Measure) -> tuple[float, float]:
    """Return the interval of the difference that holds at all times."""
    return one.least_difference(1, 0, NEED), -one.least_difference(0, 1, NEED)


def look_once(law: Any, rng: np.random.Generator, n: int, share: float) -> tuple[Any, Any, Any]:
    """Return the arms and rewards of an A/A test, and what is said of it to those who look once."""
    arms, rewards = (rng.random(2 * n) < share).astype(np.int64), law(rng, 2 * n)
    tally, end = new_tally(2), 0
    while not is_sized_up(tally):
        add(tally, arms[end : end + 50], rewards[end : end + 50])
        end += 50
    left_out = int(tally.n.sum() - round(tally.rows.sum()))
    sums = FoldSums(2, ladder(tally.scale)[0].limits(tally.scale))
    sums.add(arms[left_out:], rewards[left_out:])
    return arms, rewards, sums.differences(("a", "b"), 0, DELTA)[0]


def widths(runs: int) -> None:
    """A/A: the difference of the counted means is 0, whatever the law."""
    print("| law | n | missed at all times | width/Welch | if you look once, width/Welch |")
    print("| --- | --- | --- | --- | --- |")
    for number, (name, law) in enumerate(LAWS.items()):
        for n in SIZES:
            missed, ratios = 0, []
            for run in range(runs):
                arms, rewards, once = look_once(law, np.random.default_rng([run, n, number]), n, 0.5)
                tally = new_tally(2)
                add(tally, arms, rewards)
                low, high = bounds(measures(tally)[0])
                missed += not low <= 0.0 <= high
                welch = ttest_ind(rewards[arms == 1], rewards[arms == 0], equal_var=False).confidence_interval(0.95)
                ratios.append(np.array([high - low, once.high - once.low]) / (welch.high - welch.low))
            always, single = np.median(ratios, axis=0)
            print(f"| {name} | {n:,} | {missed} of {runs} | {always:.2f} | {single:.2f} |", flush=True)


def once(runs: int) -> None:
    """A/A: how often the interval for those who look once covers."""
    heads = [f"{plan}, n = {n:,}" for plan in ("1 : 1", "9 : 1") for n in SIZES]
    print(f"| law | {' | '.join(heads)} |")
    print("| --- |" + " --- |" * len(heads))
    for number, (name, law) in enumerate(LAWS.items()):
        cells = []
        for share in (0.5, 0.1):
            for n in SIZES:
                seeds = ([run, n, number, round(10 * share)] for run in range(runs))
                found = [look_once(law, np.random.default_rng(seed), n, share)[2] for seed in seeds]
                cells.append(f"{sum(one.low <= 0.0 <= one.high for one in found) / runs:.1%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def column(runs: int) -> None:
    """A/A with a column from before: errors ever under 20 looks, and how much narrower differences are."""
    print("| units, correlation of logarithms | ever wrong, 20 looks | missed once | width, with/without the column |")
    print("| --- | --- | --- | --- |")
    for name, tail in {"log-normal 1.3": lognormal(1.3), "Pareto 1.5": pareto(1.5)}.items():
        for rho in (0.0, 0.5, 0.8):
            wrong, missed, ratios, n = 0, 0, [], 10_000
            for run in range(runs):
                rng = np.random.default_rng([run, 7])
                common = tail(rng, n)
                own = [tail(rng, n) for _ in range(2)]
                y, u = (np.exp(math.sqrt(rho) * np.log(common) + math.sqrt(1.0 - rho) * np.log(one)) for one in own)
                arms, kept, ever = rng.integers(2, size=n), Adjusted(2), False
                for start in range(0, n, n // 20):
                    rows = slice(start, start + n // 20)
                    kept.add(arms[rows], y[rows], u[rows])
                    low, high = bounds(kept.measures()[0])
                    ever |= not low <= 0.0 <= high
                wrong += ever
                low_plain, high_plain = bounds(measures(kept.tally)[0])
                ratios.append((high - low) / (high_plain - low_plain))
                first, left_out = kept.parts[0], kept.left_out
                sums = FoldSums(2, first.limits, first.before)
                sums.add(arms[left_out:], y[left_out:], u[left_out:])
                (found,) = sums.differences(("a", "b"), 0, DELTA)
                missed += not found.low <= 0.0 <= found.high
            print(
                f"| {name}, {rho:g} | {wrong / runs:.1%} | {missed / runs:.1%} | {np.median(ratios):.2f} |", flush=True
            )


def shares(runs: int) -> None:
    """False alarms ever and power of the test of planned shares, looking after every 100 of 100,000 decisions."""
    print("| planned | drawn | alarm at some look |")
    print("| --- | --- | --- |")
    for plan, true in (((0.5, 0.5), (0.5, 0.5)), ((0.9, 0.1), (0.9, 0.1)), ((0.25,) * 4, (0.25,) * 4),
                       ((0.5, 0.5), (0.51, 0.49)), ((0.9, 0.1), (0.91, 0.09))):  # fmt: skip
        alarms = 0
        for run in range(runs):
            rows = np.random.default_rng([run, 3]).multinomial(100, true, size=1_000)
            counts = np.cumsum(rows, axis=0).astype(float)
            alarms += bool((log_mismatch(counts, np.array(plan)) >= -math.log(FALSE_ALARMS)).any())
        planned, drawn = (" : ".join(f"{100 * share:g}" for share in law) for law in (plan, true))
        print(f"| {planned} | {drawn} | {alarms / runs:.1%} |", flush=True)


def rows(runs: int) -> None:
    """Processor time for ten million rows of Parquet, with a control."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, n = np.random.default_rng(0), 10_000_000
    names = np.array(["blue", "green"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        pq.write_table(pa.table({"arm": names[rng.integers(2, size=n)], "reward": pareto(1.5)(rng, n),
                                 "spent": rng.exponential(1.0, n)}), path)  # fmt: skip
        analyses: tuple[dict[str, Any], ...] = ({}, {"before": "spent", "shares": "equal", "once": True})
        for options in analyses:
            for _ in range(runs):
                wall, start = time.perf_counter(), time.process_time()
                str(hb.compare(path, control="blue", **options))
                print(f"{', '.join(options) or 'plain'}: {time.process_time() - start:.1f} s of processor time, "
                      f"{time.perf_counter() - wall:.1f} s in all")  # fmt: skip


if __name__ == "__main__":
    tables = {
        "widths": (widths, 20), "once": (once, 4_000), "column": (column, 100), "shares": (shares, 1_000),
        "rows": (rows, 2),
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=tables)
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    table, usual = tables[given.table]
    table(given.runs or usual)
