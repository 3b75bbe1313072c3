"""How often a winner is named although the best arms are equal, under policies of the library.

``python benchmarks/false_winners.py`` prints the table of docs/evidence-measured.md on policies; ``--arms 5`` and
``--arms 20`` add arms that pay half; ``--late`` lets rewards come late.  ``--sticky`` prints the table on
units that return, and ``--zeros-last`` that on zeros which come later than other rewards.
"""

from __future__ import annotations

import argparse

import numpy as np
from evidence import Law

import heavybandits as hb
from heavybandits.engine.witness import first_winner
from heavybandits.evidence.ledger import Ledger

HORIZON = 5_000
WAIT = 1_000  # decisions until it is known that nothing was paid
# Each law has a mean; its rewards are multiplied by one half for the other arms.
LAWS: dict[str, Law] = {
    "coins 10%": lambda rng, n: 1.0 * (rng.random(n) < 0.1),
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "normal, mean 1": lambda rng, n: rng.normal(1.0, 1.0, n),
    "orders 10%, log-normal 1.3": lambda rng, n: (rng.random(n) < 0.1) * rng.lognormal(0.0, 1.3, n),
    "Pareto 1.5": lambda rng, n: 1.0 + rng.pareto(1.5, n),
    "Pareto 1.1, held out": lambda rng, n: 1.0 + rng.pareto(1.1, n),
    "Student 1.5, held out": lambda rng, n: rng.standard_t(1.5, n),
    "jackpots 1 in 200, held out": lambda rng, n: np.where(rng.random(n) < 0.005, 200.0, rng.exponential(1.0, n)),
    "Poisson 0.3, held out": lambda rng, n: 1.0 * rng.poisson(0.3, n),
}
POLICIES = {
    "uniform": hb.make("epsilon-greedy", epsilon=1.0),
    "auto-mean": hb.make("auto-mean"),
    "auto": hb.make("auto"),
    "Thompson": hb.make("thompson-gaussian"),
    "greedy, floor 10%": hb.make("epsilon-greedy", epsilon=0.2),
    "identify": hb.make("identify"),
}


def policies(n_arms: int, late: bool, runs: int) -> None:
    """Print in how many runs an arm is ever named."""
    print(f"| law | {' | '.join(POLICIES)} |")
    print(f"| --- |{' --- |' * len(POLICIES)}")
    total = np.zeros(len(POLICIES), int)
    for row, (name, law) in enumerate(LAWS.items()):
        draws = law(np.random.default_rng(row), 100_000)
        best, other = hb.Empirical(draws), hb.Empirical(0.5 * draws)
        instance = hb.Instance(laws=[best, best, *[other] * (n_arms - 2)], goal="mean")
        delay = hb.Pareto(1.1, scale=10.0) if late else 0
        result = hb.simulate(
            instance, POLICIES, horizon=HORIZON, replications=runs, checkpoints="end", evidence=True, delay=delay
        )
        wrong = (result.named["arm"].to_numpy() >= 0).sum(axis=1)
        total += wrong
        print(f"| {name} | {' | '.join(map(str, wrong))} |", flush=True)
    print(f"| of {runs * len(LAWS)} | {' | '.join(map(str, total))} |")


def sticky(runs: int) -> None:
    """Print in how many runs an arm is named if each unit keeps its arm, and pays ten times about as much."""
    print("| law of a unit's level | all rewards | one reward per unit | totals per unit |")
    print("| --- | --- | --- | --- |")
    for row, (name, law) in enumerate(LAWS.items()):
        named = np.zeros(3, int)
        for seed in range(runs):
            rng = np.random.default_rng([row, seed])
            units = HORIZON // 10
            arms, levels = rng.integers(2, size=units), law(rng, units)
            rewards = levels[:, None] * rng.exponential(1.0, (units, 10))
            for column, (of, paid) in enumerate((
                (np.repeat(arms, 10), rewards.ravel()), (arms, rewards[:, 0].copy()), (arms, rewards.sum(axis=1)),
            )):  # fmt: skip
                named[column] += first_winner(of, paid, 2).arm >= 0
        print(f"| {name} | {' | '.join(f'{n / runs:.0%}' for n in named)} |", flush=True)


def zeros_last(runs: int) -> None:
    """Print in how many runs an arm is named if what pays is known at once, and zeros long after."""
    print("| law | uniform, as they come | greedy, as they come | greedy, when windows end |")
    print("| --- | --- | --- | --- |")
    laws = {name: law for name, law in LAWS.items() if name.startswith(("coins", "orders", "Poisson"))}
    for row, (name, law) in enumerate(laws.items()):
        cells = []
        for explored, waits in ((1.0, False), (0.2, False), (0.2, True)):
            named = 0
            for seed in range(runs):
                named += _names_one(law, np.random.default_rng([row, seed]), explored, waits)
            cells.append(f"{named / runs:.0%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _names_one(law: Law, rng: np.random.Generator, explored: float, waits: bool) -> bool:
    """Return whether an arm is ever named, of two that are equal."""
    ledger, sums, counts, look = Ledger("ab", "mean"), [0.0, 0.0], [1, 1], 50.0
    rewards, random, chosen = law(rng, HORIZON), rng.random((HORIZON, 2)), []
    for t in range(HORIZON):
        better = int(sums[1] / counts[1] > sums[0] / counts[0])
        chosen.append(int(2 * random[t, 1]) if random[t, 0] < explored else better)
        known = [made for made in (t - WAIT, t) if made >= 0 and (rewards[made] != 0.0) == (made == t)]
        for made in known:
            sums[chosen[made]] += rewards[made]
            counts[chosen[made]] += 1
        for made in [t - WAIT] * (t >= WAIT) if waits else known:
            ledger.learn("ab"[chosen[made]], float(rewards[made]))
        if t >= look:
            look *= 1.04
            if ledger.evidence("ab").winner is not None:
                return True
    return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=2)
    parser.add_argument("--late", action="store_true")
    parser.add_argument("--sticky", action="store_true")
    parser.add_argument("--zeros-last", action="store_true")
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    if given.sticky:
        sticky(given.runs)
    elif given.zeros_last:
        zeros_last(given.runs)
    else:
        policies(given.arms, given.late, given.runs)
