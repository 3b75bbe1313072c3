"""Exports of the service: its log as a table, with a row for each event."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .columns import as_array
from .frames import Frame

EXPORT = {"kind", "id", "arm", "value", "p"}  # columns by which an export is known
TEXTS = ("kind", "id", "arm", "reason")


class Rules(NamedTuple):
    """Whether rewards are final only when their windows end, whether they are costs, and whether units keep arms."""

    wait: bool
    are_costs: bool
    sticky: bool

    @property
    def final(self) -> str:
        """The kind of events that have the final rewards of decisions."""
        return "close" if self.wait else "reward"


class Learned(NamedTuple):
    """The rewards that an experiment has learned, in the order in which it did, and its rules."""

    arms: list[str]
    rewards: list[float]
    rules: Rules


def is_export(frames: Sequence[Frame]) -> bool:
    """Return whether all frames are exports of the service."""
    return all(set(frame.names) >= EXPORT and "reward" not in frame.names for frame in frames)


def learned_rewards(frames: Sequence[Frame]) -> Learned:
    """Read what an experiment has learned: rewards of decisions, when their windows end if there is a default or a sum.

    Examples
    --------
    >>> from .frames import frames_of
    >>> log = {"kind": ["decision", "reward", "observe"], "id": ["d", "d", "o"], "arm": ["a", "a", "b"],
    ...        "value": [None, 2.0, 3.0], "p": [0.5, 0.5, None]}
    >>> learned_rewards(frames_of(log, "compare"))[:2]
    (['a', 'b'], [2.0, 3.0])
    """
    rules = rules_of(frames)
    rows = [
        (str(arm), paid) for frame in frames for kind, arm, value in events(frame, ["kind", "arm", "value"])
        if kind in (rules.final, "observe") and not math.isnan(paid := number_in(value))
    ]  # fmt: skip
    return Learned([arm for arm, _ in rows], [paid for _, paid in rows], rules)


def rules_of(frames: Sequence[Frame]) -> Rules:
    """Return the rules of an experiment: rewards with a default, and sums, are final when their windows end.

    That is told by its creation, or in a part of the log without it by windows that ended with a reward.

    Examples
    --------
    >>> from .frames import frames_of
    >>> log = {"kind": ["reward", "close"], "id": ["d", "d"], "arm": ["a", "a"], "value": [2.0, 3.0], "p": [0.5, 0.5]}
    >>> rules_of(frames_of(log, "compare"))
    Rules(wait=True, are_costs=False, sticky=False)
    """
    created: dict[str, Any] = {}
    ended = False
    for frame in frames:
        wanted = ["kind", "value", *(["config"] if "config" in frame.names else [])]
        for kind, value, *config in events(frame, wanted):
            if kind == "config" and config:
                created = _plain(config[0]).get("create") or created
            ended = ended or (kind == "close" and not math.isnan(number_in(value)))
    rule = created.get("reward", {})
    waits = ended or rule.get("default") is not None or rule.get("combine") == "sum"
    return Rules(waits, bool(created.get("minimise")), bool(created.get("sticky")))


def events(frame: Frame, wanted: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield these columns of all events; kinds, ids and arms are text, even if they look like numbers."""
    positions = {name: frame.names.index(name) for name in wanted}
    columns, _ = frame.take(list(positions.values()), [positions[name] for name in TEXTS if name in positions])
    return zip(*(as_array(column).tolist() for column in columns), strict=True)


def number_in(value: Any) -> float:
    """Return a number of an export, NaN if there is none.

    Examples
    --------
    >>> number_in("Infinity"), number_in(""), number_in(2)
    (inf, nan, 2.0)
    """
    try:
        return float(value) if value is not None and value != "" else math.nan
    except (TypeError, ValueError):
        return math.nan


def _plain(config: Any) -> dict[str, Any]:
    """Return a change, which is JSON or was read from it."""
    found = json.loads(config) if isinstance(config, str) and config else config
    return found if isinstance(found, dict) else {}
