"""Adapters that put river, mabwiser and pymab in one shape, so that their speed can be measured.

`PAIRS[name](arms)` makes the `(select, update)` of an online bandit; `LOOPS[name](arms, pulls)` is the peer's
fastest full run and returns how many pulls it made.
The kind "ucb" is a peer's UCB1; "greedy" is its epsilon-greedy, often the fastest of its learning policies.
"""

from __future__ import annotations

import importlib
import json
import random
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal

import numpy as np

Kind = Literal["ucb", "greedy"]
Noise = Literal["gaussian", "cauchy"]
How = Literal["quickest", "rust", "public", "pair"]
Pair = tuple[Callable[[], int], Callable[[int, float], object]]


def _need(module: str) -> Any:
    """Import a peer's module, or say how to install the peer."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        peer = module.partition(".")[0]
        if error.name != peer:
            raise
        raise ImportError(f"{peer} is not installed; try: pip install river mabwiser pymab") from error


def drive(pair: Pair, arms: int, pulls: int, noise: Noise = "gaussian", seed: int = 0) -> int:
    """Pull `pulls` times from Python, with the noise of the rewards drawn beforehand."""
    select, update = pair
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=arms).tolist()
    draws = rng.normal(size=pulls) if noise == "gaussian" else rng.standard_cauchy(size=pulls)
    for draw in draws.tolist():
        arm = select()
        update(arm, centres[arm] + draw)
    return pulls


def seconds_per_pull(pair: Pair, arms: int, pulls: int, repeats: int = 5) -> float:
    """Return the median seconds of one select and update on Cauchy rewards, after `arms` untimed pulls."""
    drive(pair, arms, arms, "cauchy")
    marks = [time.perf_counter()]
    for seed in range(repeats):
        drive(pair, arms, pulls, "cauchy", seed)
        marks.append(time.perf_counter())
    return statistics.median(after - before for before, after in pairwise(marks)) / pulls


def river_pair(arms: int, kind: Kind = "ucb", seed: int = 0) -> Pair:
    """Return river's pair: a policy picks from a list of arms, going through all of them in Python."""
    bandit = _need("river.bandit")
    policy = bandit.UCB(delta=1, seed=seed) if kind == "ucb" else bandit.EpsilonGreedy(0.1, seed=seed)
    ids, pull = list(range(arms)), policy.pull
    return lambda: pull(ids), policy.update


def river_loop(arms: int, pulls: int, kind: Kind = "ucb", noise: Noise = "gaussian", seed: int = 0) -> int:
    """Play river's online pair, because `bandit.evaluate` makes the same calls and builds a dict for each pull."""
    return drive(river_pair(arms, kind, seed), arms, pulls, noise, seed)


def mabwiser_pair(arms: int, kind: Kind = "ucb", seed: int = 0) -> Pair:
    """Return mabwiser's pair: `predict`, then `partial_fit`; the first reward of every arm goes into one `fit`."""
    mab = _need("mabwiser.mab")
    policy = mab.LearningPolicy.UCB1(1) if kind == "ucb" else mab.LearningPolicy.EpsilonGreedy(0.1)
    model = mab.MAB(list(range(arms)), policy, seed=seed)
    first: list[float] = []

    def select() -> int:
        return model.predict() if len(first) == arms else len(first)

    def update(arm: int, reward: float) -> None:
        if len(first) == arms:
            model.partial_fit([arm], [reward])
        else:
            first.append(reward)
            if len(first) == arms:
                model.fit(model.arms, first)

    return select, update


def mabwiser_loop(arms: int, pulls: int, kind: Kind = "ucb", noise: Noise = "gaussian", seed: int = 0) -> int:
    """Play mabwiser's online pair, because its `Simulator` replays a log, row by row and more slowly."""
    return drive(mabwiser_pair(arms, kind, seed), arms, pulls, noise, seed)


def _pymab_policy(arms: int, kind: Kind) -> Any:
    policies = _need("pymab.policies")
    return policies.UCBPolicy(n_arms=arms) if kind == "ucb" else policies.EpsilonGreedyPolicy(n_arms=arms)


def pymab_pair(arms: int, kind: Kind = "ucb", seed: int = 0, native: bool = True) -> Pair:
    """Return pymab's pair: a policy in Rust, through its inner handle (`native`, faster) or its public methods."""
    policy = _pymab_policy(arms, kind)
    if not native:
        rng = np.random.default_rng(seed)
        return lambda: policy.select_action(rng=rng), lambda a, x: policy.update(action=a, reward=x)
    choose, bits = policy._native_handle.select_action, random.Random(seed).getrandbits
    return lambda: choose(bits(64)), policy._native_handle.update


def pymab_loop(
    arms: int,
    pulls: int,
    kind: Kind = "ucb",
    noise: Noise = "gaussian",
    seed: int = 0,
    how: How = "quickest",
    copies: int = 16,
    threads: int = 1,
) -> int:
    """Play pymab's experiment, a loop in Rust, or its online pair if that is faster, for at least `pulls` pulls.

    Each of `copies` policies draws its own rewards. "rust" is the inner runner, which frees the GIL, hence
    `threads`; "public" is `Experiment`, which then checks each recorded number in Python, at a greater cost.
    Both draw and record all arms at each step, so "pair" wins with many arms, and Cauchy rewards need it.
    """
    if how == "pair" or noise != "gaussian" or (how == "quickest" and arms > 50 * threads):
        return drive(pymab_pair(arms, kind, seed), arms, pulls, noise, seed)
    pymab, inner = _need("pymab"), _need("pymab._native")
    copies = max(1, min(copies, pulls // (4 * arms * threads)))
    horizon = min(-(-pulls // (copies * threads)), max(4 * arms, 400_000 // arms))  # bounds its memory
    means = np.random.default_rng(seed).normal(size=arms)
    policies = {f"copy{i}": _pymab_policy(arms, kind) for i in range(copies)}
    handles = [(name, policy._native_handle) for name, policy in policies.items()]
    setup = json.dumps(
        {
            "kind": "classic",
            "means": means.tolist(),
            "dynamics": {"kind": "stationary"},
            "reward": {"kind": "gaussian", "std": 1.0},
        }
    )

    def run(seed: int) -> int:
        if how != "public":
            world = inner.create_environment(setup)
            inner.run_experiment(world, handles, horizon, 1, seed, "independent", False)
        else:
            config = pymab.ExperimentConfig(horizon, 1, seed, "independent", backend="rust")
            world = pymab.BanditEnvironment(means=means)
            pymab.Experiment(environment=world, policies=policies, config=config).run()
        return copies * horizon

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(run, range(seed, seed + -(-pulls // (copies * horizon)))))


PAIRS: dict[str, Callable[..., Pair]] = {"river": river_pair, "mabwiser": mabwiser_pair, "pymab": pymab_pair}
LOOPS: dict[str, Callable[..., int]] = {"river": river_loop, "mabwiser": mabwiser_loop, "pymab": pymab_loop}
