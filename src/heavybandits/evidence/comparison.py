"""Compare arms by logged rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validate import in_range, positive, unknown
from ..logs.frames import Source
from ..logs.rewards import Rewards, read_rewards
from ..protocols import FloatArray, IntArray
from .ab_test.adjusted import Adjusted
from .ab_test.analysis import Extras, LogEvidence, look_once
from .ab_test.guardrails import read_guardrail, states_of
from .ab_test.sample_ratio import check_shares
from .scale import stated_limits
from .tally import add, new_tally
from .words import Terms


def compare(
    rewards: Mapping[Any, ArrayLike] | Source,
    *,
    goal: str | float = "mean",
    cap: float | tuple[float, float] | None = None,
    control: str | None = None,
    delta: float = 0.05,
    eps: float | None = None,
    minimise: bool = False,
    before: str | None = None,
    shares: Mapping[str, float] | str | None = None,
    guardrails: Sequence[str] = (),
    metrics: Sequence[str] = (),
    costs: Sequence[str] = (),
    once: bool = False,
    arm_column: str = "arm",
    reward_column: str = "reward",
) -> LogEvidence:
    """Say which arm is best, as far as rewards show it: however often you look, and however arms were chosen.

    Means of heavy-tailed rewards cannot be known without limits on what a reward may be.  So rewards are counted up to
    a cap, and statements name it.  State the cap if you know it: a credit limit, a timeout, 1 for coins.  Otherwise the
    first rewards decide it and are left out, and larger caps, up to 81 times as large, are tried too.

    Parameters
    ----------
    rewards
        The rewards of each arm, or a table with a column for the arm and one for the reward: a data frame, or the path
        of a CSV or Parquet file.
    goal
        ``"mean"``; ``"location"`` for the median; or a number between 0 and 1, for the quantile at that level.
    cap
        The amount up to which rewards count, from 0 on; or two numbers, between which rewards count.  For means only.
    control
        The arm over which lifts are measured.
    delta
        How often a verdict may be wrong: in this share of experiments.
    eps
        A difference that does not matter: say so if no arm is better than the leader by more.
    minimise
        Whether rewards are costs, so that lower is better.
    before
        A column from before the experiment, such as what a unit spent earlier.  What it explains is taken off rewards,
        so that differences need fewer of them.  It must not have decided which arm a unit got.  For means only.
    shares
        The planned shares of arms, as weights by name, or ``"equal"``: whether the numbers of rows fit them is tested.
    guardrails
        What must hold of each arm against the control, such as ``"latency <= +20"``, ``"orders >= -2%"`` or
        ``"p95(latency) <= +50"``: the column, and by how much an arm may be worse.
    metrics, costs
        Other columns by which to compare arms; of costs, lower is better.
    once
        Whether to add intervals of differences to the control that hold only if you look once, at the planned end.
    arm_column, reward_column
        The columns of a table.

    Returns
    -------
    LogEvidence
        What is known; ``print`` it.

    Notes
    -----
    Statements about the reward are ever wrong with a probability of at most delta; so are those about all guardrails
    together, and those about all other metrics together.

    The first rewards are those of the earliest rows, by a column ``time`` if a table has one.  Rewards by arm have no
    order between arms: then the first reward of each arm comes first, in the order of the arms' names, then the second
    of each, and so on.  Within an arm rewards must be in order of time, or at least in an order that does not depend on
    their values.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = compare({"blue": rng.pareto(1.5, 2000), "green": 1.5 * rng.pareto(1.5, 2000)})
    >>> print(found.sentences[0])
    green is the winner: counting at most 63 per decision, it earns more than the other arm.
    """
    _level(goal)
    limits = _limits(cap, goal)
    delta = in_range("compare", "delta", delta, 0, 1, "()")
    eps = None if eps is None else positive("compare", "eps", eps)
    rails = [read_guardrail("compare", text) for text in _names("guardrails", guardrails)]
    others = dict.fromkeys(_names("metrics", metrics), False) | dict.fromkeys(_names("costs", costs), True)
    if before is not None and goal != "mean":
        raise ValueError(f"compare: before must be None unless the goal is 'mean', got {before!r}")
    if control is None and (rails or once):
        raise ValueError(f"compare: {'guardrails' if rails else 'once'} must come with a control, got control=None")
    used = dict.fromkeys([*([] if before is None else [before]), *(rail.column for rail in rails), *others])
    log = _read(rewards, minimise, arm_column, reward_column, [name for name in used if name != reward_column])
    if control is not None and str(control) not in log.labels:
        raise ValueError(f"compare: {unknown('control', control, sorted(log.labels))}")
    columns = {name: log.features[:, at] for at, name in enumerate(log.feature_names)}
    columns[reward_column] = 0.0 - log.rewards if minimise else log.rewards
    names, ranks = _by_name(log)
    extras = Extras(before=before)
    if shares is not None:
        counts = dict(zip(names, np.bincount(ranks, minlength=len(names)).tolist(), strict=True))
        extras.sample_ratio = check_shares("compare", shares, counts)
    states = []
    for rail in rails:
        tally = new_tally(len(names), rail.tau)
        add(tally, ranks, columns[rail.column])
        states += states_of(rail, tally, names, str(control), delta / len(rails))
    extras.guardrails = states
    extras.metrics = {
        name: weigh_log(_of_column(log, columns[name], is_cost), "mean", control=control, delta=delta / len(others))
        for name, is_cost in others.items()
    }
    column = None if before is None else columns[before]
    return weigh_log(log, goal, limits=limits, control=control, delta=delta, eps=eps, extras=extras, column=column,
                     once=once)  # fmt: skip


def _names(argument: str, given: object) -> list[str]:
    """Return a list of text."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"compare: {argument} must be a list of text, got {given!r}")
    return [name.strip() for name in given]


def _read(rewards: Any, minimise: bool, arm_column: str, reward_column: str, columns: list[str]) -> Rewards:
    """Read the log, with further columns if it is a table."""
    if not isinstance(rewards, Mapping):
        return read_rewards(
            rewards, arm_column=arm_column, reward_column=reward_column, minimise=minimise, feature_columns=columns,
            owner="compare",
        )  # fmt: skip
    if columns:
        raise ValueError(f"compare: rewards by arm have no column {columns[0]!r}; give a table or a file")
    return _by_arm(rewards, minimise)


def _by_name(log: Rewards) -> tuple[list[str], IntArray]:
    """Return the arms in the order of their names, and the number of each row's arm in it."""
    names = sorted(log.labels)
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers[label] for label in log.labels])[log.arms]


def _of_column(log: Rewards, values: FloatArray, is_cost: bool) -> Rewards:
    """Return a log with another column as its rewards."""
    return Rewards(
        log.source, labels=log.labels, arms=log.arms, rewards=0.0 - values if is_cost else values + 0.0,
        timed=log.timed, minimised=is_cost,
    )  # fmt: skip


def weigh_log(
    log: Rewards, goal: str | float, *, limits: tuple[float, float] | None = None, control: str | None = None,
    delta: float = 0.05, eps: float | None = None, extras: Extras | None = None, column: FloatArray | None = None,
    once: bool = False,
) -> LogEvidence:  # fmt: skip
    r"""Say what logged rewards show; arguments are those of :func:`compare`, and were checked.

    Examples
    --------
    >>> import io
    >>> weigh_log(read_rewards(io.StringIO("arm,reward\na,1\nb,0\n")), "mean", limits=(0.0, 1.0)).leader
    'a'
    """
    tau = _level(goal)
    if log.minimised:  # costs are negated
        tau = None if tau is None else 1.0 - tau
        limits = None if limits is None else (0.0 - limits[1], 0.0 - limits[0])
    names, arms = _by_name(log)
    extras = extras or Extras()
    extras.sticky, extras.dropped = log.sticky, log.dropped
    if column is None:
        tally = new_tally(len(names), tau, limits)
        add(tally, arms, log.rewards)
    else:
        extras.adjusted = Adjusted(len(names), limits)
        extras.adjusted.add(arms, log.rewards, column)
        tally = extras.adjusted.tally
    number = -1 if control is None else names.index(str(control))
    terms = Terms(tuple(names), goal, log.minimised, delta, eps, number)
    if once:
        extras.once = look_once(tally, terms, arms, log.rewards, extras.adjusted, column)
    return LogEvidence(tally, terms, extras)


def _level(goal: object) -> float | None:
    """Return the level of the quantile that is the goal, or None for the mean."""
    if goal == "mean":
        return None
    if goal == "location":
        return 0.5
    if isinstance(goal, str):
        raise ValueError(f"compare: goal must be 'mean', 'location' or a number between 0 and 1, got {goal!r}")
    return in_range("compare", "goal", goal, 0, 1, "()")


def _limits(cap: object, goal: object) -> tuple[float, float] | None:
    """Return between what rewards count, if it is stated."""
    if cap is None:
        return None
    if goal != "mean":
        raise ValueError(f"compare: cap must be None unless the goal is 'mean', got {cap!r}")
    return stated_limits("compare", cap)


def _by_arm(rewards: Mapping[Any, ArrayLike], minimise: bool) -> Rewards:
    """Return rewards by arm as a log: the first of each arm, then the second of each, and so on."""
    by_name = {str(name): values for name, values in rewards.items()}
    if not by_name or len(by_name) < len(rewards):
        raise ValueError(f"compare: rewards must have at least one arm, and each arm once, got {list(rewards)!r}")
    names = sorted(by_name)
    columns = [_column(name, by_name[name]) for name in names]
    arms = np.repeat(np.arange(len(names)), [len(column) for column in columns])
    order = np.lexsort((arms, np.concatenate([np.arange(len(column)) for column in columns])))
    values = np.concatenate(columns)[order]
    values = 0.0 - values if minimise else values + 0.0  # a zero has no sign
    return Rewards("rewards", labels=tuple(names), arms=arms[order], rewards=values, timed=False, minimised=minimise)


def _column(name: str, values: ArrayLike) -> FloatArray:
    """Return the rewards of an arm as numbers."""
    try:
        column = np.asarray(values, float)
    except (TypeError, ValueError):
        column = np.empty((0, 0))
    if column.ndim != 1:
        raise TypeError(f"compare: rewards of {name!r} must be a list of numbers, got {values!r:.80}")
    if np.isnan(column).any():
        place = int(np.flatnonzero(np.isnan(column))[0])
        raise ValueError(f"compare: rewards of {name!r} must be numbers, got NaN at position {place}")
    return column
