"""Policies that learn: played along the log, which answers only where it made the same decision."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._format import plural
from ..online.agent import Agent
from ..online.linear_agent import LinearAgent
from ..protocols import BoolArray, FloatArray, IntArray
from ..world.contexts import blocks
from .bounds import least_average
from .decisions import LoggedDecisions
from .value import Counting, Value, largest_shares

ACCEPTANCE = 0x7E57  # a stream of its own: a simulated log may have been drawn with the same seed


class Played(NamedTuple):
    """Which decisions of a log a policy made too, in order, and what they paid."""

    rows: IntArray
    rewards: FloatArray


def accepted(log: LoggedDecisions, floor: float, seed: int) -> BoolArray:
    """Return which rows may be used: each with probability floor / p, so that what is left is as if p were equal."""
    rng = np.random.default_rng([seed, ACCEPTANCE])
    return np.asarray(rng.random(len(log.p)) * log.p <= floor * (1.0 + 1e-9))


def play_arms(log: LoggedDecisions, policy: Any, usable: BoolArray, seed: int) -> Played:
    """Play a policy of K arms: each decision waits for the next row that has its arm."""
    agent, sign = Agent(policy, n_arms=len(log.labels), seed=seed), -1.0 if log.are_costs else 1.0
    waiting = [np.flatnonzero(usable & (log.arms == arm)) for arm in range(len(log.labels))]
    rows: list[int] = []
    last = -1
    while True:
        arm = int(agent.select())
        at = int(np.searchsorted(waiting[arm], last, "right"))
        if at == len(waiting[arm]):
            return Played(np.array(rows, np.int64), log.rewards[rows])
        last = int(waiting[arm][at])
        agent.update(arm, sign * float(log.rewards[last]) + 0.0)
        rows.append(last)


def play_linear(log: LoggedDecisions, policy: Any, usable: BoolArray, seed: int) -> Played:
    """Play a policy with contexts: a line for each arm in the numbers that were known before a decision."""
    names = [name for name, values in log.known.items() if all(_is_number(value) for value in values)]
    if not names:
        raise ValueError(f"{log.source}: a policy with contexts needs columns with numbers besides arm, reward and p, "
                         f"got {', '.join(log.known) or 'none'}")  # fmt: skip
    features = np.column_stack([np.ones(len(log.arms)), *(np.asarray(log.known[name], float) for name in names)])
    n_arms, sign = len(log.labels), -1.0 if log.are_costs else 1.0
    agent = LinearAgent(policy, n_features=n_arms * features.shape[1], seed=seed)
    rows: list[int] = []
    for row in np.flatnonzero(usable).tolist():
        offered = blocks(features[row], n_arms=n_arms)
        arm = agent.select(offered)
        if arm == log.arms[row]:
            agent.update(offered[arm], sign * float(log.rewards[row]) + 0.0)
            rows.append(row)
        else:
            agent.cancel(offered[arm])
    return Played(np.array(rows, np.int64), log.rewards[rows])


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def replayed_value(
    log: LoggedDecisions, policy: Any, name: str, kind: str, limits: Counting, *, floor: float, delta: float, seed: int
) -> Value:  # fmt: skip
    """Evaluate a policy that learns: the average of what its first decisions earn, as many as the log answers."""
    usable = accepted(log, floor, seed)
    played = (play_linear if kind == "linear" else play_arms)(log, policy, usable, seed)
    rewards = limits.counted(played.rewards) if limits.stated else played.rewards
    n = len(rewards)
    if not n:
        raise ValueError(f"{log.source}: {name} never makes a decision that the log made, so nothing is known of it")
    low, high = -math.inf, math.inf
    if limits.low > -math.inf:
        low = limits.low + least_average(rewards - limits.low, delta / 2.0)
    if limits.high < math.inf:
        high = limits.high - least_average(limits.high - limits.counted(rewards), delta / 2.0)
    counted = limits.counted(log.rewards) if limits.stated else log.rewards
    earn = "cost" if log.are_costs else "earn"
    note = (f"{name} learns, so this is what its first {plural(n, 'decision')} {earn} on average; "
            f"{plural(len(log.arms) - n, 'row')} of the log, where it decided otherwise or p was too large, are not "
            "used.")  # fmt: skip
    return Value(
        target=name, estimate=float(rewards.mean()), low=low, high=high, method="replay", effective=float(n),
        covered=1.0, largest=largest_shares(np.ones(n), rewards), used=n, decisions=len(log.arms),
        logged=float(counted.mean()), lead=None, cap=(limits.low, limits.high) if limits.stated else None,
        delta=delta, notes=(note,), has_one_sign=limits.has_one_sign(log.rewards),
        are_costs=log.are_costs,
    )  # fmt: skip
