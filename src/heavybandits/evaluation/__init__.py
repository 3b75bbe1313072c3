"""What another way to decide would have earned, by a log that has the probability of each decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from .._format import plural
from .._validate import fraction, in_range, unknown, whole
from ..algorithms.registry import is_registered, make
from ..evidence.scale import LOW, WIDE, stated_limits
from ..evidence.tally import is_sized_up, learn, new_tally
from ..logs.frames import Source
from ..protocols import FloatArray, kind_of
from .candidates import Candidates
from .decisions import LoggedDecisions, read_decisions
from .estimators import METHODS
from .replay import replayed_value
from .targets import Target, always, chosen_by, require_coverage
from .value import Counting, Value, Weighted, gap, weighted_value

__all__ = ["Candidates", "Value", "evaluate"]
LARGEST = 1e145  # reward / p: sums of their squares are then finite
DOUBTFUL = 4.0  # standard errors by which the mean weight may differ from 1


class Options(TypedDict, total=False):
    """How to evaluate, whatever the target is; see :func:`evaluate`."""

    method: str
    cap: float | tuple[float, float] | None
    floor: float | None
    delta: float
    minimise: bool
    arm_column: str
    reward_column: str
    p_column: str
    seed: int


@overload
def evaluate(log: Source, *, arm: str, **options: Unpack[Options]) -> Value: ...
@overload
def evaluate(log: Source, *, arm: Sequence[str], **options: Unpack[Options]) -> Value | Candidates: ...
@overload
def evaluate(log: Source, *, by: Callable[[dict[str, Any]], Any], **options: Unpack[Options]) -> Value: ...
@overload
def evaluate(log: Source, *, policy: Any, **options: Unpack[Options]) -> Value: ...


def evaluate(
    log: Source,
    *,
    arm: str | Sequence[str] = (),
    by: Callable[[dict[str, Any]], Any] | None = None,
    policy: Any = None,
    method: str = "snips",
    cap: float | tuple[float, float] | None = None,
    floor: float | None = None,
    delta: float = 0.05,
    minimise: bool = False,
    arm_column: str = "arm",
    reward_column: str = "reward",
    p_column: str = "p",
    seed: int = 0,
) -> Value | Candidates:
    """Say what another way to decide would have earned, by logged decisions and their probabilities.

    Parameters
    ----------
    log
        Decisions with columns for the arm, the reward and ``p``, the probability with which the arm was chosen, and
        optionally ``time``: a data frame (pandas, Polars, Arrow, DuckDB), or CSV, NDJSON and Parquet files; an export
        of the service; or Open Bandit's format.  Other columns are what was known before the decision.
    arm
        Always choose this arm; of several arms, say which is best.
    by
        Choose by a function of what was known before a decision, a dictionary, that returns an arm or the
        probabilities of arms.
    policy
        Let a policy learn along the log, by its name or as an object: what its first decisions earn on average.
    method
        How the estimate is made: ``"snips"``, ``"ips"``, ``"clipped"``, ``"shrunk"``, ``"dr"`` (doubly robust, with
        the means of earlier rewards), ``"log-smoothing"`` or ``"median-of-means"``.  The interval is the same for all.
    cap
        The amount up to which rewards count, from 0 on; or two numbers between which they count.  An upper bound needs
        it, unless every reward is 0 or the same number.
    floor
        The least probability with which any arm was chosen, as it was set.  If probabilities change during the log,
        intervals are narrower with it.
    delta
        How often the interval may be wrong: in this share of logs.
    minimise
        Whether rewards are costs, so that lower is better; an export of the service says so itself.
    arm_column, reward_column, p_column
        The columns of a table.
    seed
        For policies that draw, and for the rows that a replay passes over.

    Returns
    -------
    Value or Candidates
        ``print`` it.  Of several targets, which is best.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> green = rng.random(5000) < 0.2
    >>> log = {"arm": np.where(green, "green", "blue"), "p": np.where(green, 0.2, 0.8),
    ...        "reward": rng.random(5000) < np.where(green, 0.2, 0.1)}
    >>> value = evaluate(log, arm="green")
    >>> print(value.sentences[1])
    It earns between 0.160 and 0.244, however often you look (wrong in at most 5% of logs).
    """
    columns = {word: name.strip() for word, name in
               (("arm", arm_column), ("reward", reward_column), ("p", p_column)) if name != word}  # fmt: skip
    if method not in METHODS and method != "dr":
        raise ValueError(f"evaluate: {unknown('method', method, [*METHODS, 'dr'])}")
    delta = in_range("evaluate", "delta", delta, 0, 1, "()")
    seed = whole("evaluate", "seed", seed)
    stated = None if floor is None else fraction("evaluate", "floor", floor)
    arms = [arm] if isinstance(arm, str) or not isinstance(arm, Sequence) else list(arm)
    if (policy is not None) + (by is not None) + bool(arms) != 1:
        raise ValueError("evaluate: give one of arm, by and policy")
    if len(set(map(str, arms))) < len(arms):
        raise ValueError(f"evaluate: arm must have each arm once, got {arms!r}")
    found = read_decisions(log, columns, contexts=not arms)
    found = found._replace(are_costs=found.are_costs or minimise)
    limits = _limits_of(found.rewards, cap)
    counted = limits.counted(found.rewards) if limits.stated else found.rewards
    with np.errstate(over="ignore"):
        most = float((np.abs(counted) / found.p).max())
    if most > LARGEST:
        raise ValueError(f"{found.source}: no reward, divided by its p, must exceed {LARGEST:g} in size, got {most:g}; "
                         "use a larger unit, or a cap")  # fmt: skip
    floor = _floor(found, stated)
    if policy is not None:
        return _learning(found, policy, limits, floor, delta, seed)
    targets = [always(found, one) for one in arms]
    if by is not None:
        if not callable(by):
            raise TypeError(f"evaluate: by must be a function, got {by!r}")
        targets = [chosen_by(found, by, _name(by))]
    for target in targets:
        require_coverage(found, target)
    set_before = stated is None and floor is not None and by is None  # then weights of an arm are 0 or one number
    weighted = [_weigh(found, target, floor, set_before) for target in targets]
    ones = np.ones(len(found.p))
    logged = Weighted("as logged", ones, found.rewards, found.arms, targets[0].plan, 1.0)
    sized = None if math.isfinite(limits.high - limits.low) else _sized_up(found.rewards)
    values = [
        weighted_value(one, logged, limits, sized, method=method, delta=delta, covered=target.covered,
                 notes=_notes(found, one, limits), are_costs=found.are_costs)
        for one, target in zip(weighted, targets, strict=True)
    ]  # fmt: skip
    return values[0] if len(values) == 1 else _chosen(weighted, values, limits, sized, delta)


def _learning(
    log: LoggedDecisions, policy: Any, limits: Counting, floor: float | None, delta: float, seed: int
) -> Value:  # fmt: skip
    """Evaluate a policy that learns."""
    name = policy if isinstance(policy, str) else type(policy).__name__
    if isinstance(policy, str):
        if not is_registered(policy) and ":" not in policy:
            make(policy)  # says which names there are
        policy = make(policy)
    if floor is None:
        raise ValueError("evaluate: the probabilities of this log change, so a policy that learns needs floor, the "
                         "least of them as it was set")  # fmt: skip
    return replayed_value(log, policy, name, kind_of(policy), limits, floor=floor, delta=delta, seed=seed)


def _name(function: Callable[..., Any]) -> str:
    """Return what to call a function."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "the function"


def _floor(log: LoggedDecisions, stated: float | None) -> float | None:
    """Return what no probability can be below: as it was stated, or as it is if each arm has one probability."""
    if stated is not None:
        if (least := float(log.p.min())) < stated * (1.0 - 1e-9):
            raise ValueError(f"{log.source}: p must be at least the floor {stated:g}, got {least:g}")
        return stated
    return float(log.p.min()) if log.fixed else None


def _limits_of(rewards: FloatArray, cap: Any) -> Counting:
    """Return between what rewards count."""
    if cap is None:
        least, most = float(rewards.min()), float(rewards.max())
        coins = least >= 0.0 and most > 0.0 and bool(((rewards == 0.0) | (rewards == most)).all())
        return Counting(0.0 if least >= 0.0 else -math.inf, most if coins else math.inf, False)
    return Counting(*stated_limits("evaluate", cap), True)


def _sized_up(rewards: FloatArray) -> tuple[Counting, int] | None:
    """Let the first rewards decide between what rewards count, as when arms are compared, and say how many did."""
    tally = new_tally(1)
    for n, reward in enumerate(rewards.tolist(), 1):
        learn(tally, 0, reward)
        if is_sized_up(tally):
            low, wide = float(tally.scale[LOW]), float(tally.scale[WIDE])
            return Counting(low, low + wide, True), n
    return None


def _weigh(log: LoggedDecisions, target: Target, floor: float | None, set_before: bool) -> Weighted:
    weights = target.chances / log.p
    most = float(weights.max()) if set_before else math.inf if floor is None else 1.0 / floor
    return Weighted(target.name, weights, log.rewards, log.arms, target.plan, most)


def _notes(log: LoggedDecisions, one: Weighted, limits: Counting) -> tuple[str, ...]:
    """Say what is taken for granted, and what is odd about the log."""
    notes, mean = [], float(one.weights.mean())
    if math.isfinite(limits.high) and not limits.stated:
        notes.append(f"The interval takes rewards to be 0 or {limits.high:g}, as all of this log are; state cap if "
                     "they can be more.")  # fmt: skip
    with np.errstate(over="ignore"):  # of few weights, all may be alike: two more, 0 and 2, keep their error above 0
        error = float(np.append(one.weights, (0.0, 2.0)).std()) / math.sqrt(len(one.weights) + 2)
    if abs(mean - 1.0) > DOUBTFUL * error:
        notes.append(f"Its weights are {mean:.3g} on average, where 1 is expected: p may be wrong, or the log could "
                     "not make some of its decisions.")  # fmt: skip
    if log.dropped:
        notes.append(f"{log.dropped:,} rows without an arm or a reward are left out.")
    if log.undrawn:
        notes.append(f"Left out, because nothing was drawn: {plural(log.undrawn, 'decision')} of a paused or finished "
                     "experiment, or of units that keep their arm.")  # fmt: skip
    if one.most == math.inf:
        notes.append("Probabilities change during the log; the interval is narrower if you state their floor.")
    return tuple(notes)


def _chosen(
    weighted: list[Weighted], values: list[Value], limits: Counting, sized: tuple[Counting, int] | None, delta: float
) -> Candidates:  # fmt: skip
    """Compare the target with the best estimate to every other one, each at delta/K."""
    between, skipped = (limits, 0) if sized is None else sized
    if not math.isfinite(between.high - between.low):
        raise ValueError("evaluate: the log is too short to decide how far rewards count; state cap")
    sign = 1.0 if values[0].are_costs else -1.0
    order = sorted(range(len(values)), key=lambda i: np.nan_to_num(sign * values[i].estimate, nan=math.inf))
    best = weighted[order[0]]
    leads = {weighted[i].name: gap(best, weighted[i], between, 2.0 * delta / len(values), skipped) for i in order[1:]}
    return Candidates(tuple(values[i] for i in order), leads, delta)
