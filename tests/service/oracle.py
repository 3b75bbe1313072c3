"""What the tables of the service's database say, by SQL alone, and whether it agrees with what clients were told.

None of the service's code is used, so a mistake in it cannot hide itself.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from typing import Any, NamedTuple

from loads import Act, Said


class Row(NamedTuple):
    """An event."""

    seq: int
    kind: str
    key: str | None
    arm: str | None
    value: float | None
    p: float | None
    reason: str | None
    t: int
    since: int | None
    body: str | None


Source = str | sqlite3.Connection  # the address of a database, or a connection to it


def select(url: Source, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    if isinstance(url, sqlite3.Connection):
        return url.execute(query).fetchall()
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return file.execute(query).fetchall()
    import psycopg

    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def heads(url: Source) -> dict[str, tuple[int, int]]:
    """Return the number and the next sequence number of each experiment by name."""
    return {name: (exp, next_seq) for name, exp, next_seq in select(url, "SELECT name, id, next_seq FROM experiment")}


class Verdict:
    """What is lost, doubled or changed."""

    def __init__(self, url: Source, acknowledged: dict[Act, Said], pruned: dict[str, list[Row]] | None = None) -> None:
        self.lost, self.doubled, self.changed = list[str](), list[str](), list[str]()
        self.totals: dict[str, dict[str, Counter[str]]] = {}  # by experiment, arm and what is counted
        found: dict[Act, list[Row]] = {}
        for name, (exp, next_seq) in heads(url).items():
            known = {row.seq: row for row in (pruned or {}).get(name, [])}
            rows = sorted((known | {row.seq: row for row in rows_of(url, exp)}).values())
            if [row.seq for row in rows] != list(range(1, next_seq)):
                self.lost.append(f"{name}: events are missing")
            for row in rows:
                found.setdefault(_act(name, row), []).append(row)
            walk = Walk(name, rows)
            self.changed += walk.problems
            self.totals[name] = walk.totals
            kept = dict(select(url, f"SELECT key, total FROM pending WHERE exp = {exp}"))
            if kept != walk.pending:
                self.changed.append(f"{name}: open decisions are {kept}, by the log {walk.pending}")
            units = dict(select(url, f"SELECT hash, arm FROM unit WHERE exp = {exp}"))
            if units != walk.units:
                self.changed.append(f"{name}: units have other arms than in the log")
        self.doubled += [str(act) for act, rows in found.items() if len(rows) > 1 and act.kind != "config"]
        for act, said in acknowledged.items():
            if act not in found:
                self.lost.append(str(act))
            elif any(told not in (None, getattr(found[act][0], field)) for field, told in said._asdict().items()):
                self.changed.append(f"{act}: told {said}, stored {found[act][0]}")

    def compare(self, name: str, arms: Iterable[dict[str, Any]]) -> None:
        """Compare the totals of arms in a report with the log."""
        for arm in arms:
            counted = self.totals[name].get(arm["name"], Counter())
            told = {what: arm[what] for what in ("decisions", "rewards", "late", "given_up")}
            if told != {what: counted[what] for what in told}:
                self.changed.append(f"{name}/{arm['name']}: the report says {told}, the log {dict(counted)}")


def rows_of(url: Source, exp: int) -> list[Row]:
    """Return the events of an experiment that are stored, in order."""
    return [
        Row(*row) for row in select(url, f"SELECT {', '.join(Row._fields)} FROM event WHERE exp = {exp} ORDER BY seq")
    ]


def _act(name: str, row: Row) -> Act:
    if row.kind == "config":
        change = json.loads(row.body or "{}")
        for verb, kind in {"add": "added", "retire": "retired"}.items():
            if verb in change:
                return Act(name, kind, change[verb])
        return Act(name, "config", "")
    return Act(name, row.kind, str(row.key))


class Walk:
    """A walk over an experiment's events that notes what cannot follow from what came before.

    Parameters
    ----------
    name
        The experiment's name.
    rows
        Its events, in order.
    """

    def __init__(self, name: str, rows: list[Row]) -> None:
        self.name, self.problems, self.totals = name, list[str](), dict[str, Counter[str]]()
        self.pending: dict[str, float | None] = {}  # sums of the rewards of open decisions
        self.units: dict[str, str] = {}
        self._arms: dict[str, str] = {}  # their states
        self._state, self._spec = "running", dict[str, Any]()
        self._control = ""
        self._winner: str | None = None  # that all decisions are for
        self._decided, self._rewards, self._settled = dict[str, Row](), dict[str, float](), set[str]()
        self._cancelled: set[str] = set()
        for row in rows:
            if row.kind == "config":
                self._change(json.loads(row.body or "{}"))
            elif row.kind == "decision":
                self._decide(row)
            elif row.kind == "observe":
                self._count(row, "rewards")
            else:
                self._follow(row)
        for key in self.pending:
            self._count(self._decided[key], "open")

    def _expect(self, row: Row, holds: bool) -> None:
        if not holds:
            self.problems.append(f"{self.name}: {row}")

    def _count(self, row: Row, what: str) -> None:
        self.totals.setdefault(str(row.arm), Counter())[what] += 1

    @property
    def _at_close(self) -> bool:
        rule = self._spec.get("reward", {})
        return "default" in rule or rule.get("combine") == "sum"

    def _change(self, change: dict[str, Any]) -> None:
        if "create" in change:
            self._spec = change["create"]
            self._arms = {arm["name"]: "running" for arm in self._spec["arms"]}
            self._control = self._spec.get("control", self._spec["arms"][0]["name"])
        self._control = change.get("control", self._control)
        if "state" in change or "finish" in change:
            self._state, self._winner = change.get("state", "finished"), change.get("finish")
        for verb, state in {"add": "running", "pause": "paused", "resume": "running", "retire": "retired"}.items():
            if verb in change:
                self._arms[change[verb]] = state

    def _decide(self, row: Row) -> None:
        self._count(row, "decisions")
        asked = json.loads(row.body or "{}")
        among = set(asked.get("among", self._arms))
        if isinstance(context := asked.get("context"), dict) and "attributes" not in context:
            among &= context.keys()
        open_arms = {arm for arm, state in self._arms.items() if state == "running" and arm in among}
        unit = asked.get("unit") if self._spec.get("sticky") else None
        kept = None if unit is None else self.units.get(unit)
        point = (row.body or "").partition('"point":')[2].removesuffix("}")  # as it is stored
        keeps = point or str(row.arm)
        if self._winner in open_arms:
            expected = {"finished"}
            self._expect(row, row.arm == self._winner)
        elif self._state != "running":
            expected = {"paused"}
            self._expect(row, row.arm == self._control or self._control not in open_arms)
        elif kept is not None and (kept in open_arms or point):
            expected = {"sticky"}
            self._expect(row, keeps == kept)
        else:
            expected = {"only"} if len(open_arms) == 1 and not point else {"policy", "floor"}
            if unit is not None:
                self.units[unit] = keeps
        self._expect(row, row.reason in expected and row.arm in open_arms and bool(point) == ("points" in self._spec))
        self._expect(row, row.p is not None and 0.0 < row.p <= 1.0)
        self._decided[str(row.key)] = row
        if "window" in self._spec.get("reward", {}):
            self.pending[str(row.key)] = None

    def _follow(self, row: Row) -> None:
        """Check a reward, what takes it back, a cancellation or the end of a window against its decision."""
        key = str(row.key).partition("/")[0]
        decision = self._decided.get(key)
        self._expect(row, decision is not None and (row.arm, row.since) == (decision.arm, decision.t))
        if row.kind == "named":
            self._expect(row, key not in self._cancelled)
            return
        if row.kind == "late":
            self._expect(row, key in self._settled)
            self._count(row, "late")
            return
        self._expect(row, key not in self._settled)
        rule = self._spec.get("reward", {})
        window = rule.get("window")
        if window is not None and decision is not None:
            self._expect(row, (row.kind == "close") == (row.t >= decision.t + round(window * 1_000_000)))
        before = self._rewards.get(key, rule.get("default"))
        if row.kind == "reward" and self._at_close:
            self._rewards[key] = self._rewards.get(key, 0.0) + (row.value or 0.0)
            self._correct(row, before, self._rewards[key])
            if self._spec["reward"].get("combine") == "sum":
                self.pending[key] = self._rewards[key]
            return
        if row.kind == "retract":
            self._expect(row, self._rewards.pop(key, None) is not None)
            self._correct(row, before, rule.get("default"))
            return
        if row.kind == "close":
            self._expect(row, row.value == self._rewards.get(key, self._spec["reward"].get("default")))
        self._settled.add(key)
        if row.kind == "cancel":
            self._cancelled.add(key)
        self.pending.pop(key, None)
        self._count(row, "given_up" if row.value is None else "rewards")

    def _correct(self, row: Row, before: float | None, after: float | None) -> None:
        """Check what an event says that it corrects, if the default was learned at first."""
        if self._spec["reward"].get("provisional"):
            said = json.loads(row.body or "{}")
            self._expect(row, (float(said["learned"]), float(said["reward"])) == (before, after))
