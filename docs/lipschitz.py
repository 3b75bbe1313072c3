"""Print the tables of docs/lipschitz.md from the results of ``heavybandits run lipschitz``.

``python docs/lipschitz.py lipschitz`` reads the folder ``lipschitz``.
"""

from __future__ import annotations

import sys

from tables import geometric_mean, head, row

import heavybandits as hb

FUNCTIONS = {
    "Two peaks": "two peaks (Lu et al.)", "Peak": "peak", "Bump": "bump, noise 0.3",
    "Held out, garland": "*held out*: garland, noise 0.3",
    "Held out, double sine": "*held out*: double sine, noise 0.3",
    "Held out, plateau": "*held out*: plateau, noise 0.3",
    "Held out, Himmelblau": "*held out*: Himmelblau, 2 dimensions, noise 0.3",
    "Held out, Hartmann": "*held out*: Hartmann, 3 dimensions",
}  # fmt: skip
NOISES = ("Gaussian", "Student 3", "Pareto 3", "Student 1.5", "Cauchy", "contaminated")
OURS, RIVALS = "lipschitz-auto", ("ADTM", "ADMM", "SDTM", "zooming", "HOO")


def main() -> None:
    """Print regrets by function, regrets at one setting per rival, and ratios to the best rival setting."""
    results = hb.load_study(sys.argv[1]).results
    means = {case: result.summary()["mean"] for case, result in results.items()}
    settings = [label for label in next(iter(means.values())).index if label != OURS]

    def mean(label: str, cases: list[str]) -> float:
        return geometric_mean(means[case][label] for case in cases)

    def best(labels: list[str], cases: list[str]) -> str:
        return min(labels, key=lambda label: mean(label, cases))

    def ratio(cases: list[str], rivals: list[str]) -> str:
        return f"{mean(OURS, cases) / mean(best(rivals, cases), cases):.2f}"

    families = [[label for label in settings if label.startswith(rival)] for rival in RIVALS]
    print(head("function", OURS, *RIVALS, "to the best rival setting"))
    for function, name in FUNCTIONS.items():
        cases = [f"{function}, {noise}" for noise in NOISES]
        values = [mean(label, cases) for label in (OURS, *(best(family, cases) for family in families))]
        print(row(name, *(f"{value:.0f}" for value in values), ratio(cases, settings)))

    chosen = sorted((best(family, list(means)) for family in families), key=lambda label: mean(label, list(means)))
    print("\n" + head("cases", OURS, *chosen, "to the best"))
    tuned = [case for case in means if not case.startswith("Held out")]
    held_out = [case for case in means if case.startswith("Held out")]
    groups = {f"{len(tuned)} that it was tuned on": tuned, f"{len(held_out)} held out": held_out,
              f"all {len(means)}": list(means)}  # fmt: skip
    for name, cases in groups.items():
        print(row(name, *(f"{mean(label, cases):.0f}" for label in (OURS, *chosen)), ratio(cases, chosen)))

    print("\n" + head("best rival setting", "ratio to it"))
    for noise in NOISES:
        print(row(f"of all functions, {noise}", ratio([f"{function}, {noise}" for function in FUNCTIONS], settings)))
    each = [means[case][OURS] / means[case][settings].min() for case in means]
    below = sum(value < 1 for value in each)
    print(row("of each case", f"{geometric_mean(each):.2f}, below 1 in {below} of {len(each)} cases"))


if __name__ == "__main__":
    main()
