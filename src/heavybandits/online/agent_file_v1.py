"""Agents saved in format 1, by version 0.1.0: what their arrays were called, and which of them held several things."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]

RENAMED = (  # the end of a path, and what it is called today
    (r"\.choice\.asked$", ".tournament.late.asked"),
    (r"\.choice\.(\w+)$", r".tournament.\1"),
    (r"\.records\.(start|room|size|plan)$", r".pool.\1"),
    (r"\.records\.pool$", ".pool.records"),
    (r"\.(rewards|sums|heap)\.pool$", r".\1.records"),
    (r"\.batch\.(rewards|filled)$", r".waiting.\1"),
    (r"\.batch\.stream$", ".waiting.stream.number"),
    (r"\.(sizes|evidence)$", r".shared.\1"),
)
SPLIT = (  # the end of a path, and where each of the numbers in it is today
    (".draws.root", ("draws.root.nu", "draws.root.low", "draws.root.rate", "draws.root.slope", "draws.root.q")),
    (".batch.plan", ("turn.arm", "turn.left")),
    (".tournament.turn", tuple(f"tournament.turn.{name}" for name in ("next", "left", "arm", "until"))),
    (".tournament.lead", tuple(f"tournament.lead.{name}" for name in ("start", "end", "rival"))),
    (".turns", ("initial", "in_a_row")),
    (".plan", ("width", "used", "need")),
    (".law", ("law.number", "law.shape", "law.scale")),
    (".schedule", ("damping", "level", "divided")),
    (".schedule", ("schedule.step", "schedule.level", "schedule.decay", "schedule.rate")),
    (".schedule", ("schedule.step", "schedule.level", "schedule.decay", "schedule.horizon", "schedule.exponential")),
    (".pool", ("shared.scale", "shared.seen", "shared.seen", "shared.latest", "shared.clock", "shared.due",
               "shared.law", "shared.top")),
)  # fmt: skip
COLUMNS = {  # the end of a path to a table with a row per arm, and where each of its columns is today
    ".settled": ("total", "squares"),
    ".limit": ("limit", "settled"),
    ".piece": ("piece.mean", "piece.spread", "piece.squares", "piece.outside", "piece.until"),
    ".solved": ("solved", "solved_at"),
}
CACHES = re.compile(
    r"(\.middle\.\w+|\.losses\.(beside|mode)|\.log_term|\.unit|\.(stretch|loud|width|until|taken)|\.spreads\.\w+"
    r"|\.draws\.drawn|state\.family)$"
)  # new since then: those of a fresh state will do
DROPPED = re.compile(r"(\.blocks|\.waiting\.stream\.number)$")  # if a state no longer has them


def converted(values: Arrays, today: Arrays) -> Arrays:
    """Return the arrays of a file by the names, and in the order, of ``today``, the arrays of a fresh state.

    A user's own state has kept its names.  If a state cannot be converted completely, the arrays that could be are
    returned.

    Examples
    --------
    >>> today = {"state.turn.arm": np.zeros(1, np.int64), "state.turn.left": np.zeros(1, np.int64)}
    >>> converted({"state.batch.plan": np.array([2, 5])}, today)
    {'state.turn.arm': array([2]), 'state.turn.left': array([5])}
    """
    if list(values) == list(today):
        return values
    found: Arrays = {}
    for path, array in values.items():
        for pattern, name in RENAMED:
            path = re.sub(pattern, name, path)
        if DROPPED.search(path) and path not in today:
            continue
        end = next(filter(path.endswith, COLUMNS), "")
        if end and array.ndim == 2:
            for name, column in zip(COLUMNS[end], array.T, strict=True):
                found[f"{path.removesuffix(end)}.{name}"] = column.copy()
            continue
        end, names = next((one for one in SPLIT if path.endswith(one[0]) and len(one[1]) == array.size), ("", ()))
        if not names:
            found[path] = array
        for name in dict.fromkeys(names):
            part = f"{path.removesuffix(end)}.{name}"
            numbers = array[np.equal(names, name)]
            found[part] = numbers.astype(today[part].dtype) if part in today else numbers  # all were floats
    found = {**{path: array for path, array in today.items() if CACHES.search(path)}, **found}
    for path in today:
        if path.endswith(".tournament.base"):
            _widen(found, today, path.removesuffix(".base"))
        elif path.endswith((".late.asked", ".late.pending", ".late.lost")):  # format 1 knew only the first of these
            asked = path.replace(".late.asked", ".asked")
            found.setdefault(path, found.pop(asked, today[path]))
        elif path.endswith(".kept") and not CACHES.search(path) and path in found:
            found[path] = _with_more_kept(path.removesuffix(".kept"), found, today[path].shape[1])
    return {path: found[path] for path in today} if set(found) == set(today) else found


def _with_more_kept(sets: str, found: Arrays, width: int) -> npt.NDArray[Any]:
    """Return the sorted first rewards of each arm with room for more; its location stands in for those not kept."""
    pulls, x, kept = (found[f"{sets}.{name}"] for name in ("pulls", "x", "kept"))
    wider = np.zeros((len(kept), width))
    old = kept.shape[1]
    wider[:, :old] = kept
    for row, n, location in zip(wider, pulls, x, strict=True):
        row[old:n] = location
        row[:n].sort()
    return wider


def _widen(found: Arrays, today: Arrays, tournament: str) -> None:
    """Add to a tournament what it needs for late rewards, about which format 1 knew little."""
    owner = tournament.removesuffix(".tournament")
    line = found[f"{tournament}.line"]
    centre = found.get(f"{owner}.x", line[:, 0])  # level sets have an estimate besides their bound
    for path in today:
        if path.startswith(f"{tournament}.turn."):
            found.setdefault(path, today[path])
    found[f"{tournament}.base"] = np.column_stack([line, centre])
