"""Print the first table of docs/level-set-measured.md from the results of ``heavybandits run auto``.

``python docs/auto.py auto`` reads the folder ``auto``.
"""

from __future__ import annotations

import sys

import pandas as pd
from tables import geometric_mean, head, print_ratio, row

import heavybandits as hb

SHOWN = 18  # the instances of the paper, and three Gaussian ones; the study has more
GREEDY = "RUCB-Median eps=0"


def rivals(case: str, labels: pd.Index) -> pd.Index:
    """Return the policies to compare with: UCB under Gaussian noise, else the paper's, and UCB with two settings."""
    if case.startswith("Gaussian"):
        return labels[labels.str.startswith("UCB")]
    return labels[labels.str.startswith(("UCB c=0.1", "UCB c=1", "RUCB", "SGD"))]


def name_of(label: str) -> str:
    """Return the name of a policy and its setting."""
    return "RUCB-Median greedy" if label == GREEDY else " ".join(part.split("=")[-1] for part in label.split())


def main() -> None:
    """Print regret on each instance, and the ratio to the best rival in hindsight."""
    ratios: dict[str, list[float]] = {"paper": [], "Gaussian": []}
    print(head("instance", "`auto`", "Cauchy loss", "order statistics", "paper", "`auto` / paper"))
    for case, result in list(hb.load_study(sys.argv[1]).results.items())[:SHOWN]:
        summary = result.summary()
        regret = {label: f"{mean:.0f} ± {se:.0f}" for label, mean, se in summary[["mean", "se"]].itertuples()}
        means = summary["mean"]
        best = means[rivals(case, means.index)].idxmin()
        ratio = means["auto"] / means[best]
        ratios["Gaussian" if case.startswith("Gaussian") else "paper"].append(ratio)
        ours = (regret[label] for label in ("auto", "Level-set", "Order-statistic"))
        print(row(case.replace("Frechet", "Fréchet"), *ours, f"{regret[best]} ({name_of(best)})", f"{ratio:.2f}"))
    print_ratio("the paper's instances, geometric mean", geometric_mean(ratios["paper"]))
    print_ratio("Gaussian instances, lowest", min(ratios["Gaussian"]))
    print_ratio("Gaussian instances, highest", max(ratios["Gaussian"]))


if __name__ == "__main__":
    main()
