"""How often the service pauses an arm that breaks no guardrail, and how soon one that does.

``python benchmarks/guardrails.py`` prints the tables of docs/service-measured.md; ``--delta 0.5`` lets errors be seen.
The arms of an experiment are sampled, counted, looked at and paused by the functions that a server calls, without HTTP.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import msgspec
import numpy as np
from evidence import Law, coins, exponential, lognormal, orders, pareto, scaled, shifted

from heavybandits.service.events import Config, Event
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.stopping import consequence
from heavybandits.service.spec import Arm, Experiment, StopRule

DECISIONS = 3_000
SAMPLING = {"uniform": 1.0, "auto-mean": 0.0, "auto-mean, floor 20%": 0.2}  # the share of decisions for any arm


class Case(NamedTuple):
    """A guardrail, and the law of what is guarded: for the control, for arms on the margin, and for one beyond it."""

    guardrail: str
    control: Law
    on_margin: Law
    beyond: Law


def latencies(rng: np.random.Generator, n: int) -> Any:
    """Return latencies around 100, of which 3% are outages."""
    return np.where(rng.random(n) < 0.03, 1000.0, 100.0) * rng.lognormal(0.0, 0.5, n)


ORDERS = orders(0.1, lognormal(1.3))
CASES = {
    "coins 10%": Case("x <= +0.05", coins(0.10), coins(0.15), coins(0.25)),
    "exponential": Case("x <= +20%", exponential, scaled(1.2, exponential), scaled(1.6, exponential)),
    "orders 10%, log-normal 1.3": Case("x >= -20%", ORDERS, scaled(0.8, ORDERS), scaled(0.3, ORDERS)),
    "Pareto 1.5": Case("x <= +20%", pareto(1.5), scaled(1.2, pareto(1.5)), scaled(1.6, pareto(1.5))),
    "log-normal 1.5": Case("x <= +0.2", lognormal(1.5), shifted(0.2, lognormal(1.5)), shifted(0.6, lognormal(1.5))),
    "latencies": Case("p95(x) <= +50", latencies, shifted(50.0, latencies), shifted(150.0, latencies)),
}
# Counted up to an amount that is seen, this arm's mean is higher than the control's; without limits they are equal.
LIGHTER = Case("x <= +20%", pareto(1.2), pareto(1.2), exponential)


def paused(
    guardrail: str, laws: list[Law], sampling: str, delta: float, seed: int, learned: list[Law] | None = None
) -> tuple[str, int] | None:  # fmt: skip
    """Return the first arm that is paused, and after how many decisions.

    The policy learns what is guarded, so it chooses arms by their luck there, or rewards with the laws ``learned``.
    """
    spec = Experiment(
        arms=[Arm(str(number)) for number in range(len(laws))], minimise=learned is None and "<=" in guardrail,
        guardrails=[guardrail], stop=StopRule(delta=delta), seed=seed,
    )  # fmt: skip
    replica, rng = Replica(1, "x"), np.random.default_rng(seed)
    replica.apply(_event(replica, "config", body=msgspec.json.encode(Config(create=spec)).decode()))
    guarded = [law(rng, DECISIONS).tolist() for law in laws]
    rewards = guarded if learned is None else [law(rng, DECISIONS).tolist() for law in learned]
    any_arm = rng.integers(len(laws), size=DECISIONS)
    is_any = rng.random(DECISIONS) < SAMPLING[sampling]
    for number in range(DECISIONS):
        key, given = str(number), str(any_arm[number]) if is_any[number] else None
        arm = replica.assign(key, given, None).arm
        replica.note(_event(replica, "decision", key, arm))
        replica.note(_event(replica, "reward", key, arm, rewards[int(arm)][number]))
        event = _event(replica, "named", f"{key}/x", arm, guarded[int(arm)][number])
        replica.note(event)
        change = consequence(replica, event)
        if change is not None and change.pause is not None:
            return change.pause, number + 1
    return None


def _event(
    replica: Replica, kind: str, key: str | None = None, arm: str | None = None, value: float | None = None,
    body: str | None = None,
) -> Event:  # fmt: skip
    seq = replica.seq + 1
    return Event(replica.exp, seq, kind, key, arm, value, None, "policy", seq, None, body)


def print_row(name: str, cells: list[Any]) -> None:
    print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)


def errors(delta: float, runs: int) -> None:
    """Print in how many runs an arm is ever paused that is on its margin, or equal to the control."""
    columns = [(kind, n_arms, sampling) for kind in ("on the margin", "equal") for n_arms in (2, 5)
               for sampling in ("uniform", "auto-mean")]  # fmt: skip
    print_row("law", [f"{kind}, K = {n_arms}, {sampling}" for kind, n_arms, sampling in columns])
    print_row("---", ["---"] * len(columns))
    total = np.zeros(len(columns), int)
    for row, (name, case) in enumerate(CASES.items()):
        wrong = []
        for kind, n_arms, sampling in columns:
            laws = [case.control, *[case.on_margin if kind == "on the margin" else case.control] * (n_arms - 1)]
            found = [paused(case.guardrail, laws, sampling, delta, 1000 * row + run) for run in range(runs)]
            wrong.append(runs - found.count(None))
        total += wrong
        print_row(name, wrong)
    print_row(f"of {runs * len(CASES)}", total.tolist())


def delays(delta: float, runs: int) -> None:
    """Print how often, and after how many decisions, an arm beyond its margin is paused that earns 30% more."""
    columns = [(n_arms, sampling) for n_arms in (2, 5) for sampling in SAMPLING]
    print_row("law", [f"K = {n_arms}, {sampling}" for n_arms, sampling in columns])
    print_row("---", ["---"] * len(columns))
    for row, (name, case) in enumerate({**CASES, "the same mean, a lighter tail": LIGHTER}.items()):
        cells = []
        for n_arms, sampling in columns:
            laws, others = [case.control, case.beyond], n_arms - 2
            found = [
                paused(case.guardrail, [*laws, *[case.control] * others], sampling, delta, 1000 * row + run,
                       [exponential, scaled(1.3, exponential), *[exponential] * others])
                for run in range(runs)
            ]  # fmt: skip
            after = [one[1] if one is not None and one[0] == "1" else np.inf for one in found]
            middle = np.median(after)
            cells.append(f"{np.isfinite(after).mean():.0%}" + (f", {middle:,.0f}" if np.isfinite(middle) else ""))
        print_row(name, cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", choices=["errors", "delays"])
    given = parser.parse_args()
    if given.only != "delays":
        errors(given.delta, given.runs)
        print()
    if given.only != "errors":
        delays(given.delta, given.runs)
