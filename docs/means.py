"""Print the tables of docs/means-measured.md from the results of ``heavybandits run means``.

``python docs/means.py means`` reads the folder ``means``.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from tables import geometric_mean, head, print_ratio, row

import heavybandits as hb

OURS = ("auto-mean", "auto", "LB-SDA")


def shown(value: float) -> str:
    """Return a regret with a decimal if it is small."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}"


def name_of(case: str) -> str:
    """Return the name of an instance without the words on its group."""
    name = case.partition(", ")[2] if case.startswith("Held out") else case
    return name[:1].upper() + name[1:].replace("rechet", "réchet")


def line(case: str, summary: pd.DataFrame, at_random: float) -> str:
    """Return the row of an instance."""
    mean = summary["mean"]
    best = mean[mean.index.str.startswith("UCB")].idxmin()
    ours = f"{shown(mean['auto-mean'])} ± {shown(summary.loc['auto-mean', 'se'])}"
    told = f"{shown(mean[best])} ({best.partition('=')[2]})"
    ratio = f"{mean['auto-mean'] / mean[best]:.2f}"
    return row(name_of(case), ours, shown(mean["auto"]), shown(mean["LB-SDA"]), told, ratio, f"{at_random:,.0f}")


def main() -> None:
    """Print the regret on each instance, and geometric means of the ratio to the best UCB."""
    results = hb.load_study(sys.argv[1]).results
    groups = {"held out": [case for case in results if case.startswith("Held out")],
              "developed on": [case for case in results if not case.startswith("Held out")]}  # fmt: skip
    ratios: dict[str, pd.DataFrame] = {}
    shares = []
    for group, cases in groups.items():
        print(head("instance", "`auto-mean`", "`auto`", "LB-SDA", "best UCB, c/sd", "`auto-mean` / UCB", "at random"))
        table = {}
        for case in cases:
            summary, gaps = results[case].summary(), results[case].instance.gaps
            at_random = float(np.mean(gaps)) * results[case].horizon
            print(line(case, summary, at_random))
            mean = summary["mean"]
            shares.append(mean["auto-mean"] / at_random)
            table[case] = mean / mean[mean.index.str.startswith("UCB")].min()
        ratios[group] = pd.DataFrame(table)
        print()
    print(head("ratio to the best UCB", *(f"`{label}`" if label.startswith("auto") else label for label in OURS),
               *(label.replace("times=", "c = ") for label in ratios["held out"].index[len(OURS) :])))  # fmt: skip
    for group, table in ratios.items():
        order = [*OURS, *table.index[len(OURS) :]]
        print(row(f"{group}, geometric mean", *(f"{geometric_mean(table.loc[label]):.2f}" for label in order)))
        print(row(f"{group}, median", *(f"{table.loc[label].median():.2f}" for label in order)))
    ours = ratios["held out"].loc["auto-mean"]
    print_ratio("held out, geometric mean", geometric_mean(ours))
    print_ratio("held out, median", ours.median())
    print_ratio("held out, without the last", geometric_mean(ours.iloc[:-1]))
    one_scale = ratios["held out"].iloc[len(OURS) :].apply(geometric_mean, axis=1)
    print_ratio("held out, UCB with the best scale for all", one_scale.min())
    print_ratio("all, at most this share of what choosing at random loses", max(shares))


if __name__ == "__main__":
    main()
