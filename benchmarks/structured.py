"""Speed of linear policies as ratios within one run, beside mabwiser and vowpalwabbit.

Run from the repository: ``pip install '.[bench]' && python benchmarks/structured.py``.  Takes about three minutes.
Times are processor times, and the fastest of several repeats counts, for all alike: on a shared machine this depends
least on other programs.  Costs in the simulator exclude drawing contexts and noise; they include the fits to the
first rewards of each of three replications.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heavybandits as hb

AUTO, OFUL = hb.make("linear-auto"), hb.make("oful", beta_scale=0.3)
ROWS, FEATURES = 20, 10
REPLICATIONS = 3  # a call of simulate takes a millisecond to begin, which is not part of a round
Pair = tuple[Callable[[NDArray[np.float64]], int], Callable[[NDArray[np.float64], int, float], object]]


@hb.policy(kind="linear")
class First(NamedTuple):
    """A policy that plays the first row, so that only drawing contexts and noise takes time."""

    c: float = 1.0

    def init(self, n_features: int, horizon: int | None) -> Nothing:
        return Nothing(np.zeros(1))

    def select(self, state: Nothing, features: NDArray[np.float64], t: int, rng: Any) -> int:
        return 0

    def update(self, state: Nothing, x: NDArray[np.float64], reward: float) -> None:
        pass


class Nothing(NamedTuple):
    """A state that holds nothing."""

    none: NDArray[np.float64]


def simulated(policy: Any, contexts: Any, horizon: int, repeats: int) -> float:
    """Return the microseconds of a round in the simulator, without drawing."""
    n_features = contexts.sample(np.random.default_rng(0), 1).shape[2]
    instance = hb.LinearInstance(hb.Sphere(1, n_features), contexts, hb.StudentT(df=3))
    spent: dict[Any, list[float]] = {policy: [], First(): []}
    for repeat in range(repeats + 1):  # the first compiles
        for each, times in spent.items():
            start = time.process_time()
            rounds = horizon if repeat else 50
            hb.simulate(instance, {"policy": each}, horizon=rounds, replications=REPLICATIONS, workers=1)
            times += [time.process_time() - start] if repeat else []
    return 1e6 * (min(spent[policy]) - min(spent[First()])) / (REPLICATIONS * horizon)


def ours(policy: Any, n_features: int = FEATURES) -> Pair:
    """Return our agent: rows of features."""
    agent = hb.LinearAgent(policy, n_features=n_features)
    agent.compile()
    return agent.select, lambda rows, row, reward: agent.update(rows[row], reward)


def mabwiser(policy: str) -> Pair:
    """Return mabwiser's LinUCB or LinTS: one context for all arms, and a model for each."""
    mab: Any = importlib.import_module("mabwiser.mab")
    made = mab.LearningPolicy.LinUCB(alpha=1.0) if policy == "LinUCB" else mab.LearningPolicy.LinTS(alpha=0.3)
    model = mab.MAB(list(range(ROWS)), made, seed=0)
    model.fit(list(range(ROWS)), [0.0] * ROWS, np.zeros((ROWS, FEATURES)))
    return (
        lambda rows: int(model.predict(rows[:1])),
        lambda rows, row, reward: model.partial_fit([row], [reward], rows[:1]),
    )


def vowpal() -> Pair:
    """Return vowpalwabbit's epsilon-greedy with features of actions, given in its text format."""
    workspace: Any = importlib.import_module("vowpalwabbit").Workspace
    model, draws = workspace("--cb_explore_adf --epsilon 0.1 --quiet"), random.Random(0)

    def lines(rows: NDArray[np.float64]) -> list[str]:
        return ["| " + " ".join(f"{i}:{x:.6g}" for i, x in enumerate(row)) for row in rows.tolist()]

    def select(rows: NDArray[np.float64]) -> int:
        chances = model.predict(lines(rows))
        return draws.choices(range(len(chances)), chances)[0]

    def update(rows: NDArray[np.float64], row: int, reward: float) -> None:
        told = lines(rows)
        told[row] = f"0:{-reward:.6g}:0.5 {told[row]}"
        model.learn(told)

    return select, update


def online(pair: Pair, contexts: NDArray[np.float64], rounds: int, repeats: int = 15, warm: bool = True) -> float:
    """Return the microseconds of a decision and its reward, in the fastest of several repeats.

    If not ``warm``, the first repeat counts too, with the fits of a new agent.
    """
    select, update = pair
    rng, times = np.random.default_rng(1), []
    theta = rng.normal(size=contexts.shape[2])
    for repeat in range(repeats + (1 if warm else 0)):
        noise = rng.standard_t(3, rounds).tolist()
        start = time.process_time()
        for t in range(rounds):
            rows = contexts[t % len(contexts)]
            row = select(rows)
            update(rows, row, float(rows[row] @ theta) + noise[t])
        times += [time.process_time() - start] if repeat or not warm else []
    return 1e6 * min(times) / rounds


class Categories(NamedTuple):
    """Rows of five categories, one-hot: contexts for the simulator."""

    n_rows: int
    n_features: int

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return rows of zeros with a 1 for each category."""
        levels = self.n_features // 5
        rows = np.zeros((size, self.n_rows, self.n_features))
        places = rng.integers(0, levels, (size, self.n_rows, 5)) + levels * np.arange(5)
        np.put_along_axis(rows, places, 1.0, axis=2)
        return rows


def many_features() -> None:
    """Measure a round with many features beside LinUCB, dense and one-hot, in the simulator and online."""
    rows = []
    for d in (50, 100, 200):
        for name, contexts in (("dense", hb.Sphere(ROWS, d)), ("one-hot", Categories(ROWS, d))):
            policies = (AUTO, hb.make("lin-ucb"))
            inside = [simulated(policy, contexts, 5000, 2) for policy in policies]
            sample = contexts.sample(np.random.default_rng(0), 1000)
            outside = [online(ours(policy, d), sample, 5000, 1, warm=False) for policy in policies]
            spent = [f"{auto:.1f} us, {ucb:.1f} us, {auto / ucb:.2f}" for auto, ucb in (inside, outside)]
            rows.append([f"d = {d}, {name}", *spent])
    head = ["", "simulated: `linear-auto`, `lin-ucb`, ratio", "online: the same"]
    table(f"Many features, K = {ROWS}, 5000 rounds, fits included", head, rows)


def table(title: str, head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Measure everything."""
    fresh = hb.Sphere(ROWS, FEATURES)
    costs = {
        name: [simulated(policy, contexts, 20_000, 20) for contexts in (hb.Frozen(fresh), fresh)]
        for name, policy in (("`linear-auto`", AUTO), ("`oful`", OFUL))
    }
    rows = [[name, *(f"{cost:.2f} us" for cost in both)] for name, both in costs.items()]
    table(f"A round in the simulator, d = {FEATURES}, K = {ROWS}", ["", "rows that stay", "fresh rows"], rows)

    sample = fresh.sample(np.random.default_rng(0), 500)
    pairs = {
        "`linear-auto`": ours(AUTO),
        "`oful`": ours(OFUL),
        "mabwiser LinUCB": mabwiser("LinUCB"),
        "mabwiser LinTS": mabwiser("LinTS"),
        "vowpalwabbit": vowpal(),
    }
    found = {name: online(pair, sample, 500 if "`" in name else 30) for name, pair in pairs.items()}
    auto, simulator = found["`linear-auto`"], costs["`linear-auto`"][1]
    rows = [
        [name, f"{cost:.1f} us", f"{cost / auto:.1f}", "" if "`" in name else f"{cost / simulator:.0f}"]
        for name, cost in found.items()
    ]
    head = ["fresh rows", "select and update", "ratio to our agent", "ratio to our simulator"]
    table(f"Online decision, d = {FEATURES}, K = {ROWS}", head, rows)

    sizes = (5, 10, 20, 50, 100, 200)
    growth = []
    for name, kind in (("rows that stay", hb.Frozen), ("fresh rows", lambda contexts: contexts)):
        spent = [simulated(AUTO, kind(hb.Sphere(ROWS, d)), 5000, 3) for d in sizes]
        growth.append([name, *(f"{cost:.1f} us" for cost in spent)])
    table(f"Growth with d, K = {ROWS}, 5000 rounds", ["", *(f"d = {d}" for d in sizes)], growth)

    many_features()

    numbers, growth = (20, 100, 1000, 10_000), []
    for name, kind in (("rows that stay", hb.Frozen), ("fresh rows", lambda contexts: contexts)):
        spent = [simulated(AUTO, kind(hb.Sphere(k, FEATURES)), 1000, 3) for k in numbers]
        growth.append([name, *(f"{cost:.1f} us" for cost in spent)])
    table(f"Growth with K, d = {FEATURES}, 1000 rounds", ["", *(f"K = {k:,}" for k in numbers)], growth)


if __name__ == "__main__":
    main()
