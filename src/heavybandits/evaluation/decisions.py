"""Logged decisions: the arm that was chosen, with which probability, what it paid, and what was known before."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..logs.columns import NAMED, Kind, as_array, pick
from ..logs.export import events, is_export, number_in, rules_of
from ..logs.frames import Frame, Source, frames_of
from ..protocols import BoolArray, FloatArray, IntArray

OPEN_BANDIT = {"arm": "item_id", "reward": "click", "p": "propensity_score", "time": "timestamp"}
COLUMNS_OF_A_LOG = ("arm", "reward", "p")
UNDRAWN = ("sticky", "paused", "finished")  # reasons of decisions that were certain
QUOTE = "'"  # before a name in CSV that a spreadsheet would take for a formula
NO_P = "a policy that does not say with which probability it chose cannot be evaluated against another one"


class LoggedDecisions(NamedTuple):
    """Decisions in order of time.

    Attributes
    ----------
    source
        What they were read from, for messages.
    labels
        Names of the arms, in the order in which they first appear.
    arms, rewards, p
        The number of the arm that was chosen, what it paid, and the probability with which it was chosen.
    known
        What was known before each decision: columns by name.
    dropped
        How many rows were left out because they lacked an arm or a reward.
    undrawn
        How many decisions of an export were left out because nobody drew them.
    are_costs
        Whether an export says that its rewards are costs.
    offered
        The arms that might have been chosen, for each decision of an export, between vertical bars; None if unknown.
    """

    source: str
    labels: tuple[str, ...]
    arms: IntArray
    rewards: FloatArray
    p: FloatArray
    known: Mapping[str, Sequence[Any]]
    dropped: int
    undrawn: int = 0
    are_costs: bool = False
    offered: Sequence[str] | None = None

    def lacks(self, arm: str) -> BoolArray:
        """Return in which decisions an arm is known not to have been offered.

        Examples
        --------
        >>> log = {"arm": ["a", "b"], "reward": [1, 2], "p": [0.5, 0.5]}
        >>> read_decisions(log, {})._replace(offered=["|a|b|", "|b|"]).lacks("a")
        array([False,  True])
        """
        if self.offered is None:
            return np.zeros(len(self.arms), np.bool_)
        lacking = {arms: f"|{arm.removeprefix(QUOTE)}|" not in arms for arms in set(self.offered)}
        return np.array([lacking[arms] for arms in self.offered])

    @property
    def fixed(self) -> bool:
        """Whether every arm was always chosen with one probability, so that these were set before the log began."""
        least = np.full(len(self.labels), math.inf)
        most = np.zeros(len(self.labels))
        np.minimum.at(least, self.arms, self.p)
        np.maximum.at(most, self.arms, self.p)
        return bool((most - least <= 1e-9).all())

    def contexts(self) -> Iterator[dict[str, Any]]:
        """Yield what was known before each decision."""
        names = list(self.known)
        if not names:
            return iter([{}] * len(self.arms))
        return (dict(zip(names, row, strict=True)) for row in zip(*self.known.values(), strict=True))


def read_decisions(source: Source, columns: Mapping[str, str], contexts: bool = False) -> LoggedDecisions:
    """Read decisions from whatever :func:`~heavybandits.logs.frames.frames_of` knows.

    ``columns`` has the names of the columns ``arm``, ``reward``, ``p`` and ``time`` that differ from these words.
    Exports of the service and Open Bandit's format are recognised by their columns.  What else was known before each
    decision is read if ``contexts`` are wanted.

    Examples
    --------
    >>> log = {"item_id": [7, 3], "click": [0, 1], "propensity_score": [0.5, 0.25], "timestamp": [9, 8]}
    >>> found = read_decisions(log, {})
    >>> found.labels, found.arms.tolist(), found.rewards.tolist(), found.p.tolist()
    (('7', '3'), [1, 0], [1.0, 0.0], [0.25, 0.5])
    """
    frames = frames_of(source, "evaluate")
    if not columns and is_export(frames):
        return _from_export(frames)
    names = {word: columns.get(word, word) for word in (*COLUMNS_OF_A_LOG, "time")}
    if not columns and all(set(frame.names) >= set(list(OPEN_BANDIT.values())[:3]) for frame in frames):
        names = OPEN_BANDIT
    for frame in frames:
        _require_columns(frame, [names[word] for word in COLUMNS_OF_A_LOG])
    timed = all(names["time"] in frame.names for frame in frames)
    wanted: dict[str, Kind] = {names["arm"]: "label", names["reward"]: "finite", names["p"]: "present"}
    if timed:
        wanted[names["time"]] = "time"
    found = pick(frames, wanted)
    p = found.values[names["p"]]
    known = _others(frames, set(wanted)) if contexts else {}
    if found.dropped:
        known = {name: [values[i] for i in found.rows] for name, values in known.items()}
    order = np.argsort(found.values[names["time"]], kind="stable") if timed else np.arange(len(p))
    if timed and known:
        known = {name: [values[i] for i in order] for name, values in known.items()}
    return _checked(LoggedDecisions(
        found.source, found.labels[names["arm"]], found.values[names["arm"]][order],
        found.values[names["reward"]][order], p[order], known, found.dropped,
    ))  # fmt: skip


def _require_columns(frame: Frame, needed: Sequence[str]) -> None:
    if missing := [name for name in needed if name not in frame.names]:
        said = f"{frame.source}: columns must be {', '.join(needed)}, got {', '.join(frame.names)}"
        if missing == needed[2:]:
            said += "; without the probability of each decision, p, nothing can be said about another policy"
        raise ValueError(f"{said}; name yours with arm_column, reward_column and p_column")


def _others(frames: Sequence[Frame], taken: set[str]) -> dict[str, list[Any]]:
    """Return the columns that all frames have once besides those that are taken, as plain values."""
    shared = [name for name in frames[0].names if name not in taken
              and all(frame.names.count(name) == 1 for frame in frames)]  # fmt: skip
    found: dict[str, list[Any]] = {name: [] for name in shared}
    for frame in frames:
        columns, _ = frame.take([frame.names.index(name) for name in shared], [])
        for name, column in zip(shared, columns, strict=True):
            found[name] += as_array(column).tolist()
    return found


def _from_export(frames: Sequence[Frame]) -> LoggedDecisions:
    """Read the service's log: each decision with its final reward.

    With a default or a sum that is the value with which its window closed: until then, only decisions that pay early
    have a reward.  Left out are decisions that nobody drew: of a paused or finished experiment, and all but the first
    of a unit that keeps its arm.
    """
    rules, undrawn = rules_of(frames), 0
    decisions: dict[str, tuple[str, float, Any, str | None]] = {}
    paid: dict[str, Any] = {}
    for frame in frames:
        more = [name for name in ("reason", "context", "open") if name in frame.names]
        for kind, key, arm, value, p, *others in events(frame, ["kind", "id", "arm", "value", "p", *more]):
            told = dict(zip(more, others, strict=True))
            if kind == "decision" and told.get("reason") in UNDRAWN:
                undrawn += 1
            elif kind == "decision":
                decisions[key] = (arm, number_in(p), told.get("context"), _between_bars(told.get("open")))
            elif kind == rules.final and key in decisions:
                paid[key] = value
    kept = [key for key in decisions if not math.isnan(number_in(paid.get(key)))]
    rows = [decisions[key] for key in kept]
    labels = tuple(dict.fromkeys(arm for arm, *_ in rows))
    numbers = {label: number for number, label in enumerate(labels)}
    contexts = [_context(context) for _, _, context, _ in rows]
    names = dict.fromkeys(name for context in contexts for name in context)
    p = np.array([p for _, p, *_ in rows])
    offered = [arms for *_, arms in rows if arms is not None]
    source = ", ".join(dict.fromkeys(frame.source for frame in frames))
    if lacking := int(np.count_nonzero(np.isnan(p))):
        raise ValueError(f"{source}: p is missing in {lacking:,} of {len(p):,} decisions; {NO_P}")
    return _checked(LoggedDecisions(
        source, labels, np.array([numbers[arm] for arm, *_ in rows], np.int64),
        np.array([number_in(paid[key]) for key in kept]), p,
        {name: [context.get(name) for context in contexts] for name in names}, len(decisions) - len(rows), undrawn,
        rules.are_costs, offered if len(offered) == len(rows) else None,
    ))  # fmt: skip


def _between_bars(arms: Any) -> str | None:
    """Return the arms that were open, from text in CSV or from a list."""
    if isinstance(arms, str) and arms:
        return f"|{arms.removeprefix(QUOTE)}|"
    return None if arms is None or isinstance(arms, str | float) else f"|{'|'.join(map(str, arms))}|"


def _context(value: Any) -> dict[str, Any]:
    """Return what a decision was told, by name."""
    found = json.loads(value) if isinstance(value, str) and value else value
    return found if isinstance(found, dict) else {} if found is None or found != found else {"context": found}


def _checked(log: LoggedDecisions) -> LoggedDecisions:
    """Refuse a log that says nothing about other policies."""
    source, p = log.source, log.p
    if not len(p):
        raise ValueError(f"{source}: must have at least one decision with a reward, got none")
    if (wrong := np.flatnonzero(~((p > 0.0) & (p <= 1.0)))).size:
        said = ", ".join(f"{value:g}" for value in p[wrong[:NAMED]])
        raise ValueError(f"{source}: p must be above 0 and at most 1, got {said} in {len(wrong):,} of {len(p):,} rows")
    if (p == 1.0).all() and len(log.labels) > 1:
        raise ValueError(f"{source}: p is 1 everywhere, so the log shows nothing about other choices; give the policy "
                         "a floor, and evaluate what it logs from then on")  # fmt: skip
    return log
