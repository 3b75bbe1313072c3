"""Routing of calls among language models, against the routers of gateways: ``python benchmarks/routing.py``.

Calls arrive at random times, and a router chooses the model of each at once; it learns how long a call took when the
call is over.  Latencies are skewed, some calls stall, and now and then a model has an outage: its calls are slow, or
they hang until the timeout.  The agent was chosen on worlds like those of the kind ``outages``, with other seeds; the
other kinds are held out.  Latencies are ratios to those of the best model of each five minutes, in hindsight.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

import heavybandits as hb
from heavybandits.protocols import FloatArray, IntArray

HOURS, TIMEOUT, PATIENCE, BLOCK = 2.0, 30.0, 10.0, 300.0  # seconds, except for the hours
WORLDS, FIRST_SEED, RATES = 12, 1000, (2.0, 0.5)  # calls per second
BAR, GRADED, LOOK_EVERY = 0.9, 0.1, 50  # share of good answers that a model must have; share of answers that are graded


class World(NamedTuple):
    """When calls arrive, and how long each would take with each model."""

    arrivals: FloatArray
    latencies: FloatArray  # (call, model)


class Outage(NamedTuple):
    """A model is so many times slower for a while, and a share of its calls hangs until the timeout."""

    model: int
    start: float
    end: float
    slower: float
    hanging: float


# ---- kinds of worlds


def calls(rng: np.random.Generator, rate: float) -> FloatArray:
    """Return the times at which calls arrive."""
    return np.cumsum(rng.exponential(1 / rate, int(HOURS * 3600 * rate)))


def skewed(rng: np.random.Generator, n: int, models: int, shape: str) -> FloatArray:
    """Return latencies without outages: each model has a typical one, a spread and a share of calls that stall."""
    typical, spread = rng.uniform(0.6, 4.0, models), rng.uniform(0.3, 0.8, models)
    size = n, models
    noise = rng.lognormal(0.0, spread, size) if shape == "log-normal" else rng.weibull(1 / spread, size)
    stalls = rng.random(size) < rng.uniform(0.0, 0.03, models)
    return typical * noise + stalls * 3 * (1 + rng.pareto(rng.uniform(1.1, 2.5, models), size))


def quickest_of(latencies: FloatArray) -> int:
    """Return the model whose typical call is the quickest."""
    return int(np.argmin(np.median(latencies, axis=0)))


def some_outages(
    rng: np.random.Generator, latencies: FloatArray, apart: float, shortest: float, longest: float
) -> list[Outage]:
    """Return outages at random times, six in ten of them of the model that is quickest."""
    found, now, quickest = [], rng.exponential(apart), quickest_of(latencies)
    while now < HOURS * 3600:
        model = quickest if rng.random() < 0.6 else int(rng.integers(latencies.shape[1]))
        slower, hanging = (1.0, rng.uniform(0.3, 1.0)) if rng.random() < 0.5 else (rng.uniform(3, 10), 0.0)
        end = now + rng.uniform(shortest, longest)
        found.append(Outage(model, now, end, slower, hanging))
        now = end + rng.exponential(apart)
    return found


def outages(rng: np.random.Generator, rate: float, shape: str = "log-normal", models: int = 0,
            apart: float = 1500.0, shortest: float = 120.0, longest: float = 900.0) -> World:  # fmt: skip
    """Three to six models with outages of 2 to 15 minutes."""
    arrivals = calls(rng, rate)
    latencies = skewed(rng, len(arrivals), models or int(rng.integers(3, 7)), shape)
    for outage in some_outages(rng, latencies, apart, shortest, longest):
        during = (outage.start <= arrivals) & (arrivals < outage.end)
        latencies[during, outage.model] *= outage.slower
        latencies[during & (rng.random(len(arrivals)) < outage.hanging), outage.model] = TIMEOUT
    return World(arrivals, np.minimum(latencies, TIMEOUT))


def brownouts(rng: np.random.Generator, rate: float) -> World:
    """Models that get slower and recover over minutes, with Weibull latencies."""
    arrivals = calls(rng, rate)
    latencies = skewed(rng, len(arrivals), int(rng.integers(3, 7)), "weibull")
    for outage in some_outages(rng, latencies, 1200.0, 300.0, 1500.0):
        middle, half = (outage.start + outage.end) / 2, (outage.end - outage.start) / 2
        height = np.clip(1 - np.abs(arrivals - middle) / half, 0, 1)
        latencies[:, outage.model] *= 1 + height * max(outage.slower, 4.0)
    return World(arrivals, np.minimum(latencies, TIMEOUT))


def busy(rng: np.random.Generator, rate: float) -> World:
    """Outages, and a wave of load within the two hours that makes all models slower and quicker again."""
    world = outages(rng, rate)
    wave = 1 + 0.5 * np.sin(2 * np.pi * world.arrivals / (HOURS * 3600) + rng.uniform(0, 2 * np.pi))
    return World(world.arrivals, np.minimum(world.latencies * wave[:, None], TIMEOUT))


KINDS: dict[str, Callable[[np.random.Generator, float], World]] = {
    "outages": outages,
    "weibull": lambda rng, rate: outages(rng, rate, shape="weibull"),
    "short": lambda rng, rate: outages(rng, rate, models=8, apart=600.0, shortest=30.0, longest=180.0),
    "brownouts": brownouts,
    "busy": busy,
    "calm": lambda rng, rate: outages(rng, rate, apart=np.inf),
}


# ---- routers


class Router(Protocol):
    """Chooses a model for each call, and learns what it cost."""

    def select(self) -> int: ...

    def update(self, model: int, cost: float) -> None: ...


class Lowest:
    """What gateways do: the model with the lowest recent average, and sometimes any model."""

    def __init__(self, models: int, seed: int, epsilon: float = 0.0, rate: float = 0.0) -> None:
        self.rng, self.epsilon, self.rate = np.random.default_rng(seed), epsilon, rate
        self.last: list[list[float]] = [[] for _ in range(models)]
        self.average = np.full(models, -1.0)  # models without calls come first

    def select(self) -> int:
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(len(self.average)))
        return int(self.rng.choice(np.flatnonzero(self.average == self.average.min())))

    def update(self, model: int, cost: float) -> None:
        if self.rate:
            step = self.rate if self.average[model] >= 0 else 1.0
            self.average[model] += step * (cost - self.average[model])
        else:
            self.last[model] = [*self.last[model][-9:], cost]
            self.average[model] = sum(self.last[model]) / len(self.last[model])


class Bandit:
    """An agent: the reward is minus the cost."""

    def __init__(self, models: int, seed: int, drift: bool = True) -> None:
        self.agent = hb.Agent(hb.make("auto-mean"), n_arms=models, seed=seed, drift=drift)

    def select(self) -> int:
        return int(self.agent.select())

    def update(self, model: int, cost: float) -> None:
        self.agent.update(model, -cost)


class Guarded(Bandit):
    """An agent that no longer uses a model once grades of its answers show that too few are good."""

    def __init__(self, models: int, seed: int, quality: FloatArray) -> None:
        super().__init__(models, seed)
        self.rng, self.quality, self.allowed = np.random.default_rng(seed), quality, list(range(models))
        self.grades: dict[int, list[float]] = {}

    def select(self) -> int:
        return int(self.agent.select(among=self.allowed))

    def update(self, model: int, cost: float) -> None:
        super().update(model, cost)
        if self.rng.random() < GRADED:
            self.grades.setdefault(model, []).append(float(self.rng.random() < self.quality[model]))
            if sum(map(len, self.grades.values())) % LOOK_EVERY == 0:
                table = hb.compare(self.grades, cap=1.0).table
                bad = {int(arm) for arm in table.loc[table["high"] < BAR, "arm"]}
                self.allowed = [model for model in self.allowed if model not in bad]


ROUTERS: dict[str, tuple[Callable[[int, int], Router], float]] = {  # and when they hear of a call that still runs
    "lowest of 10": (Lowest, np.inf),
    "lowest average": (lambda models, seed: Lowest(models, seed, rate=0.1), np.inf),
    "ε-greedy of 10": (lambda models, seed: Lowest(models, seed, 0.1), np.inf),
    "ε-greedy average": (lambda models, seed: Lowest(models, seed, 0.1, 0.1), np.inf),
    "ε-greedy average, told": (lambda models, seed: Lowest(models, seed, 0.1, 0.1), PATIENCE),
    "`auto-mean`": (lambda models, seed: Bandit(models, seed, drift=False), np.inf),
    "`auto-mean`, drift": (Bandit, np.inf),
    "`auto-mean`, drift, told": (Bandit, PATIENCE),
}
RIVALS, OURS = list(ROUTERS)[:4], list(ROUTERS)[-2:]


def route(world: World, router: Router, patience: float = np.inf, extra: FloatArray | None = None) -> IntArray:
    """Return the model of each call; the router is told of a call when it is over, or after ``patience`` seconds."""
    chosen = np.empty(len(world.arrivals), np.int64)
    running: list[tuple[float, int, float]] = []  # by when the router hears of them
    for call, now in enumerate(world.arrivals.tolist()):
        while running and running[0][0] <= now:
            _, model, seconds = heapq.heappop(running)
            router.update(model, seconds if extra is None else seconds + float(extra[model]))
        chosen[call] = model = router.select()
        seconds = min(float(world.latencies[call, model]), patience)
        heapq.heappush(running, (now + seconds, model, seconds))
    return chosen


def best_of_blocks(world: World) -> IntArray:
    """Return for each call the model that was the best of its five minutes, in hindsight."""
    blocks = (world.arrivals // BLOCK).astype(int)
    best = [int(np.argmin(world.latencies[blocks == block].mean(axis=0))) for block in range(blocks[-1] + 1)]
    return np.array([best[block] for block in blocks])


def measure(latencies: FloatArray) -> FloatArray:
    """Return mean and 95% quantile."""
    return np.array([latencies.mean(), np.quantile(latencies, 0.95)])


def played(kind: str, rate: float) -> dict[str, FloatArray]:
    """Return the mean and the 95% quantile of each router in each world, as ratios to the best in hindsight."""
    found: dict[str, list[FloatArray]] = {name: [] for name in ROUTERS}
    for seed in range(FIRST_SEED, FIRST_SEED + WORLDS):
        world = KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]), rate)
        rows = np.arange(len(world.arrivals))
        least = measure(world.latencies[rows, best_of_blocks(world)])
        for name, (make, patience) in ROUTERS.items():
            chosen = route(world, make(world.latencies.shape[1], seed), patience)
            found[name].append(measure(world.latencies[rows, chosen]) / least)
    return {name: np.array(values) for name, values in found.items()}


def geometric(ratios: FloatArray) -> str:
    """Return the geometric means of two columns as text."""
    mean, p95 = np.exp(np.log(ratios).mean(axis=0))
    return f"{mean:.2f} / {p95:.2f}"


def table_of_latencies() -> None:
    """Print mean / p95 latency of each router by kind and rate, and what ours have of the rivals'."""
    print(f"| kind | rate | {' | '.join(ROUTERS)} |\n|---|---|{'---|' * len(ROUTERS)}")
    everything: dict[str, list[FloatArray]] = {name: [] for name in ROUTERS}
    for kind in KINDS:
        for rate in RATES:
            ratios = played(kind, rate)
            print(f"| {kind} | {rate:g} | {' | '.join(geometric(ratios[name]) for name in ROUTERS)} |", flush=True)
            for name in ROUTERS:
                everything[name].append(ratios[name])
    whole = {name: np.concatenate(values) for name, values in everything.items()}
    print(f"| all | | {' | '.join(geometric(whole[name]) for name in ROUTERS)} |\n")
    print(f"| ratio to | {' | '.join(OURS)} |\n|---|{'---|' * len(OURS)}")
    for rival in RIVALS:
        print(f"| {rival} | {' | '.join(geometric(whole[name] / whole[rival]) for name in OURS)} |")


def table_of_prices_and_quality() -> None:
    """Print what the routers cost if prices count, and how they fare if the quickest model gives bad answers."""
    costs: dict[str, list[float]] = {name: [] for name in [*RIVALS, OURS[0]]}
    shares: dict[str, list[float]] = {name: [] for name in [*RIVALS, OURS[0], "with a guardrail"]}
    for seed in range(FIRST_SEED, FIRST_SEED + WORLDS):
        rng = np.random.default_rng([seed, len(KINDS)])
        world = outages(rng, RATES[0])
        rows, models = np.arange(len(world.arrivals)), world.latencies.shape[1]
        prices = rng.uniform(0.0, 3.0, (models,))
        quickest = quickest_of(world.latencies)
        priced = World(world.arrivals, world.latencies + prices)
        least = priced.latencies[rows, best_of_blocks(priced)].mean()
        quality = np.where(np.arange(models) == quickest, 0.7, 0.95)
        for name in costs:
            chosen = route(world, ROUTERS[name][0](models, seed), extra=prices)
            costs[name].append(priced.latencies[rows, chosen].mean() / least)
        for name in shares:
            router = ROUTERS[name][0](models, seed) if name in ROUTERS else Guarded(models, seed, quality)
            shares[name].append(float((route(world, router) == quickest).mean()))
    print("\n| | seconds and prices | calls to the model with bad answers |\n|---|---|---|")
    for name, share in shares.items():
        cost = f"{np.exp(np.log(costs[name]).mean()):.2f}" if name in costs else ""
        print(f"| {name} | {cost} | {np.mean(share):.1%} |")


if __name__ == "__main__":
    table_of_latencies()
    table_of_prices_and_quality()
