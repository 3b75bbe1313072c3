"""``linear-auto`` beside Vowpal Wabbit, on the streams of the study `contexts`.

``python benchmarks/vowpal.py`` plays every case of the study with seven settings of Vowpal Wabbit, on the same contexts
and the same noise as our policies, and prints the regret of each beside that of ``linear-auto``.  It takes ten minutes;
given names of cases, it plays these alone.  ``pip install 'heavybandits[bench,data]'`` installs what it needs.

Each action has the features of its row, those that are 0 left out, and Vowpal Wabbit adds a constant.  It minimises
costs, here minus the rewards, and learns from the probability with which an action was drawn.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.engine.linear_game import LinearGame
from heavybandits.protocols import FloatArray

HORIZON, EARLY, REPLICATIONS = 3000, 300, 3
SETTINGS = {
    "greedy": "--epsilon 0",
    "epsilon 0.05": "--epsilon 0.05",
    "bag 5": "--bag 5",
    "bag 5, greedify": "--bag 5 --greedify",
    "cover 5": "--cover 5",
    "squarecb": "--squarecb",
    "squarecb 100": "--squarecb --gamma_scale 100",
}


def lines(rows: FloatArray) -> list[str]:
    """Return rows of features in the text format, without those that are 0."""
    return ["| " + " ".join(f"{i}:{row[i]:.6g}" for i in np.flatnonzero(row)) for row in rows]


def rival_regret(instance: hb.LinearInstance, options: str, seed: int, replication: int) -> tuple[float, float]:
    """Return the regret after a tenth of the rounds and after all, on the stream that our policies play."""
    vowpal: Any = importlib.import_module("vowpalwabbit")
    model = vowpal.Workspace(f"--cb_explore_adf {options} --quiet --random_seed {replication + 1}")
    rng, regret, early = np.random.default_rng([seed, replication]), 0.0, 0.0
    for start, (contexts, means, best, step, noise) in LinearGame(instance).blocks(seed, replication, HORIZON):
        for i in range(len(noise)):
            rows = contexts[i * step]
            told = lines(rows)
            chances = np.array(model.predict(told))
            row = int(rng.choice(len(chances), p=chances / chances.sum()))
            mean = means[i * step, row]
            told[row] = f"0:{-(mean + noise[i, row]):.6g}:{chances[row]:.6g} {told[row]}"
            model.learn(told)
            regret += float(best[i * step] - mean)
            if start + i + 1 == EARLY:
                early = regret
    model.finish()
    return early, regret


def main() -> None:
    """Print regrets by case, and the mean ratio of ours to the best setting of each case and to each over all."""
    study = hb.read_study("contexts")
    cases = {name: case.instance for name, case in study.cases.items() if not sys.argv[1:] or name in sys.argv[1:]}
    auto, seed = {"linear-auto": hb.make("linear-auto")}, study.spec.study.seed
    print(f"| case | linear-auto | {' | '.join(SETTINGS)} | ratio | after a tenth |", flush=True)
    print("|---" * (len(SETTINGS) + 4) + "|", flush=True)
    logs = []
    for name, instance in cases.items():
        result = hb.simulate(instance, auto, horizon=HORIZON, replications=REPLICATIONS, seed=seed, workers=1,
                             checkpoints=[EARLY, HORIZON])  # fmt: skip
        ours = result.regret.to_numpy()[0].mean(axis=0)
        theirs = np.array([
            np.mean([rival_regret(instance, options, seed, replication) for replication in range(REPLICATIONS)], axis=0)
            for options in SETTINGS.values()
        ])  # fmt: skip
        ratios = ours / np.vstack([theirs.min(axis=0), theirs])  # to the best setting, then to each
        logs.append(np.log(ratios))
        values = " | ".join(f"{x:.0f}" for x in [ours[1], *theirs[:, 1]])
        print(f"| {name} | {values} | {ratios[0, 1]:.2f} | {ratios[0, 0]:.2f} |", flush=True)
    print("\nGeometric means over the cases, of linear-auto to a setting:\n")
    for name, (early, late) in zip(["best of each case", *SETTINGS], np.exp(np.mean(logs, axis=0)), strict=True):
        print(f"{name}: {late:.2f}\n{name}, after a tenth of the rounds: {early:.2f}")


if __name__ == "__main__":
    main()
