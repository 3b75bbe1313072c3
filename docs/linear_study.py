"""Print tables of docs/linear-measured.md from the results of two studies.

``python docs/linear_study.py linear linear-told`` reads the folders of ``heavybandits run`` with these names.
"""

from __future__ import annotations

import sys

import pandas as pd
from tables import geometric_mean, head, print_ratio, row

import heavybandits as hb

KINDS = ("Fixed", "Fresh", "Positive", "Disjoint")
OURS = ("linear-auto", "linear-auto-mean", "linear level sets, Cauchy loss")
STEP = "clipped SGD 1 with intercept"


def averages(means: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of each policy over the instances of each kind, and over all of them."""
    groups = {kind: means.loc[means.index.str.startswith(kind)] for kind in KINDS} | {"all": means}
    return pd.DataFrame({kind: group.apply(geometric_mean) for kind, group in groups.items()})


def print_policies(table: pd.DataFrame) -> None:
    """Print the geometric means, ours first and then the best rivals first."""
    print(head("geometric mean of regret", *(f"{kind.lower()} (8)" for kind in KINDS), "all"))
    for label in [*OURS, *table.drop(index=list(OURS))["all"].sort_values().index]:
        name = f"`{label}`" if label in OURS[:2] else label
        print(row(name, *(f"{regret:.0f}" for regret in table.loc[label])))
    print()


def print_cells(results: dict[str, hb.Result], means: pd.DataFrame) -> None:
    """Print the regret on each instance beside that of the best rivals in hindsight."""
    print(head("regret", f"`{OURS[0]}`", "worst run", f"`{OURS[1]}`", "OFUL, best scale", STEP, "best rival, which"))
    for case, result in results.items():
        summary = result.summary()
        shown = {label: f"{mean:.0f} ± {se:.0f}" for label, mean, se in summary[["mean", "se"]].itertuples()}
        rivals = means.loc[case].drop(list(OURS))
        oful = rivals[rivals.index.str.startswith("OFUL")].min()
        print(row(case, shown[OURS[0]], f"{summary.loc[OURS[0], 'worst']:.0f}", shown[OURS[1]], f"{oful:.0f}",
                  shown[STEP], f"{rivals.min():.0f} {rivals.idxmin()}"))  # fmt: skip
    print()


def print_ratios(results: dict[str, hb.Result], means: pd.DataFrame) -> None:
    """Print what the page says about these tables."""
    ours, rivals = means[OURS[0]], means.drop(columns=list(OURS))
    learned = ~means.index.str.startswith("Positive")
    single = rivals.apply(geometric_mean).idxmin()
    print_ratio(f"{single}, all instances", geometric_mean(ours / rivals[single]))
    print_ratio(f"{single}, without positive rows", geometric_mean((ours / rivals[single])[learned]))
    hindsight = ours / rivals.min(axis=1)
    print_ratio("best rival in hindsight, all instances", geometric_mean(hindsight))
    for kind in KINDS:
        of_kind = hindsight[hindsight.index.str.startswith(kind)]
        print_ratio(f"best rival in hindsight, {kind.lower()}", geometric_mean(of_kind))
    print_ratio("best rival in hindsight, without positive rows", geometric_mean(hindsight[learned]))
    oful = rivals.loc[:, rivals.columns.str.startswith("OFUL")].min(axis=1)
    for kind in KINDS:
        print_ratio(f"OFUL at its best, {kind.lower()}, normal noise", (ours / oful)[f"{kind}, Gaussian"])
    failed = sum(round(result.summary().loc[OURS[0], "failures"] * result.regret.sizes["replication"])
                 for result in results.values())  # fmt: skip
    print(f"failed runs: {failed}")


def print_told(results: dict[str, hb.Result]) -> None:
    """Print the regret beside that of policies that are told a law."""
    print(head("regret", "`linear-auto`", "told the true law", "told the worst of three"))
    ratios = []
    for case, result in results.items():
        summary = result.summary()
        told = summary["mean"].drop("linear-auto")
        true = f"told {case.partition(', ')[2]}"
        labels = ("linear-auto", true, told.idxmax())
        cells = (f"{summary.loc[label, 'mean']:.0f} ± {summary.loc[label, 'se']:.0f}" for label in labels)
        print(row(case[:1].lower() + case[1:], *cells))
        ratios.append(summary.loc["linear-auto", "mean"] / told[true])
    print_ratio("told the true law", geometric_mean(ratios))


def main() -> None:
    """Print all tables."""
    linear, told = (dict(hb.load_study(folder).results) for folder in sys.argv[1:])
    means = pd.DataFrame({case: result.summary()["mean"] for case, result in linear.items()}).T
    print_policies(averages(means))
    print_cells(linear, means)
    print_ratios(linear, means)
    print_told(told)


if __name__ == "__main__":
    main()
