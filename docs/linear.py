"""Print three tables of ``docs/linear-measured.md``: ``python docs/linear.py`` takes about four minutes.

The first has, for instances of the study ``linear``, what a learner loses that has seen as many random rows, and how
many runs of ``linear-auto`` fail.  The second has rows whose noises differ in scale, the third coins and revenue.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.protocols import FloatArray

ROUNDS, RUNS, ROWS, FEATURES = 4000, 20, 20, 10
POLICIES = {
    "`linear-auto`": hb.make("linear-auto"),
    "`linear-auto-mean`": hb.make("linear-auto-mean"),
    "OFUL x 0.3, told the deviation": "oful",
}
DEVIATIONS = {"coins": 0.5, "revenue": 0.6}


def reward(kind: str, mean: float, rng: np.random.Generator) -> float:
    """Return a coin, or what a visitor spends (nine in ten buy nothing); its expectation is linear in ``mean``."""
    if kind == "coins":
        return float(rng.random() < 0.5 + 0.4 * mean)
    return float(rng.lognormal(0.0, 0.7)) if rng.random() < 0.1 + 0.08 * mean else 0.0


def slope(kind: str) -> float:
    """Return what a unit of ``mean`` is worth."""
    return 0.4 if kind == "coins" else 0.08 * float(np.exp(0.5 * 0.7**2))


def regret(policy: Any, kind: str, contexts: FloatArray, theta: FloatArray, seed: int) -> float:
    """Return the regret of a policy, or of random rows if it is None."""
    rng, total = np.random.default_rng(seed), 0.0
    agent = hb.LinearAgent(policy, n_features=FEATURES) if policy is not None else None
    for t in range(ROUNDS):
        rows = contexts[t % len(contexts)]
        means = rows @ theta
        row = agent.select(rows) if agent else int(rng.integers(ROWS))
        total += means.max() - means[row]
        if agent:
            agent.update(rows[row], reward(kind, means[row], rng))
    return total * slope(kind)


def learner_loss(instance: hb.LinearInstance, horizon: int) -> float:
    """Return what all rounds lose with the most precise estimate possible after as many random rows."""
    rounds = np.unique(np.geomspace(1, horizon, 40).astype(int))
    return float(np.trapezoid([instance.learning_loss(int(n)) or 0.0 for n in rounds], rounds))


def print_learners() -> None:
    """Print the table of what a learner still loses, and of failures."""
    print("| | regret of a learner | `linear-auto` | failed |\n|---|---|---|---|")
    study = hb.read_study("linear")
    for label, case in study.cases.items():
        if not label.startswith("Fixed") and label.endswith(("Gaussian", "t(3)", "Cauchy", "contaminated")):
            result = hb.simulate(case.instance, {"auto": hb.make("linear-auto")}, horizon=case.horizon,
                                 replications=case.replications, seed=study.spec.study.seed)  # fmt: skip
            row = result.summary().loc["auto"]
            found = learner_loss(case.instance, case.horizon)
            print(
                f"| {label} | {found:.0f} | {row['mean']:.0f} ± {row['se']:.0f} | {row['failures']:.0%} |", flush=True
            )


def loud_rows(which: str, means: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the scale of the noise of each row: five for loud rows."""
    scales, order = np.ones(ROWS), np.argsort(-means)
    loud = {"none": [], "best": order[:1], "second": order[1:2], "random": [rng.integers(ROWS)], "half": order[::2]}
    scales[np.array(loud[which], dtype=int)] = 5.0
    return scales


def print_unequal() -> None:
    """Print the regret on fixed rows of which some are five times as loud as the others."""
    policies = {
        "linear-auto": hb.make("linear-auto"),
        "linear-auto-mean": hb.make("linear-auto-mean"),
        "OFUL": hb.make("oful", beta_scale=0.3),
        "clipped SGD": hb.make("linear-clipped-sgd-ucb", coeff=1.0, intercept=True),
    }
    print("| loud rows | noise | `linear-auto` | `linear-auto-mean` | OFUL x 0.3 | clipped SGD 1 with intercept |")
    print("|---|---|---|---|---|---|")
    for which in ("none", "best", "second", "random", "half"):
        for name, law in (("normal", hb.Gaussian), ("Cauchy", hb.Cauchy)):
            lost = []
            for run in range(RUNS):
                rng = np.random.default_rng(2000 + run)
                rows, theta = hb.Sphere(ROWS, FEATURES).sample(rng, 1)[0], hb.Sphere(1, FEATURES).sample(rng, 1).ravel()
                noises = [law(scale) for scale in loud_rows(which, rows @ theta, rng)]
                result = hb.simulate(hb.LinearInstance(theta, rows, noises), policies, horizon=ROUNDS, replications=1,
                                     seed=run)  # fmt: skip
                lost.append(result.summary()["mean"].to_numpy())
            cells = zip(np.mean(lost, axis=0), np.std(lost, axis=0) / RUNS**0.5, strict=True)
            print(f"| {which} | {name} | {' | '.join(f'{m:.0f} ± {e:.0f}' for m, e in cells)} |", flush=True)


def main() -> None:
    """Print all tables."""
    print_learners()
    print_unequal()
    print(f"| | random | {' | '.join(POLICIES)} |\n|{'---|' * (len(POLICIES) + 2)}")
    for name, n_contexts in (("fixed", 1), ("fresh", ROUNDS)):
        for kind, deviation in DEVIATIONS.items():
            cells = []
            for policy in (None, *POLICIES.values()):
                made = hb.make("oful", scale=deviation, bound=0.4, beta_scale=0.3) if policy == "oful" else policy
                lost = []
                for run in range(RUNS):
                    rng = np.random.default_rng(1000 + run)
                    contexts = hb.Sphere(ROWS, FEATURES).sample(rng, n_contexts)
                    lost.append(regret(made, kind, contexts, hb.Sphere(1, FEATURES).sample(rng, 1).ravel(), run))
                cells.append(f"{np.mean(lost):.0f} ± {np.std(lost) / RUNS**0.5:.0f}")
            print(f"| {name} rows, {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
