"""The log as a table: one row per event, with times, propensities and the arms that were open."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import Any

import msgspec

from ..events import NOTHING_SAID, Event, asked_in, change_in, iso
from ..spec import Experiment, as_json, offered_in
from ..storage import Session, Storage
from ..storage.rows import Head

EXPORTED = ("seq", "kind", "id", "arm", "value", "p", "reason", "open", "unit", "context", "time", "decided", "config")
EVENTS_PER_PART = 5_000  # events read at a time
FORMATS = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


def check_format(form: str) -> None:
    """Refuse a format that is not known, or that needs what is not installed.

    Examples
    --------
    >>> check_format("xml")
    Traceback (most recent call last):
        ...
    ValueError: export: format must be one of ndjson, csv, parquet, got 'xml'
    """
    if form not in FORMATS:
        raise ValueError(f"export: format must be one of {', '.join(FORMATS)}, got {form!r}")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise ValueError("export: format parquet needs pyarrow: pip install 'heavybandits[parquet]'")


def rows(storage: Storage, head: Head, after: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the events of an experiment after a sequence number, as rows."""
    is_open: dict[str, bool] = {}  # by arm, in the order in which arms were created
    has_contexts = msgspec.json.decode(head.spec, type=Experiment).kind != "arms"
    for event in _read(storage, Session.changes, head.id, 0, after):
        if event.seq <= after:
            is_open |= _opened_or_closed(event)
    for event in _read(storage, Session.events, head.id, after, head.next_seq - 1):
        if event.kind == "config":
            is_open |= _opened_or_closed(event)
        yield _row(event, [arm for arm, opened in is_open.items() if opened], has_contexts)


def _read(
    storage: Storage, query: Callable[[Session, int, int, int], list[Event]], exp: int, after: int, last: int
) -> Iterator[Event]:
    """Yield events after a sequence number, until at least another one.

    Each chunk has a connection of its own, so that none is held while the events are used, however long that takes.
    """
    while after < last:
        with closing(storage.connect()) as session:
            chunk = query(session, exp, after, EVENTS_PER_PART)
        if not chunk:
            return
        yield from chunk
        after = chunk[-1].seq


def _opened_or_closed(event: Event) -> dict[str, bool]:
    """Return the arms that a change concerns, and whether they are open after it."""
    change = change_in(event)
    if change.create is not None:
        return {arm.name: True for arm in change.create.arms}
    if opened := change.add or change.resume:
        return {opened: True}
    closed = change.pause or change.retire
    return {} if closed is None else {closed: False}


def _row(event: Event, open_arms: list[str], has_contexts: bool) -> dict[str, Any]:
    is_decision = event.kind == "decision"
    body = asked_in(event) if is_decision else NOTHING_SAID
    offered = offered_in(body.context)
    among = [
        arm for arm in open_arms
        if (offered is None or arm in offered) and (body.among is None or arm in body.among)
    ]  # fmt: skip
    values = (
        event.seq, event.kind, event.key, event.arm, event.value, event.p, event.reason,
        among if is_decision else None, body.unit, _context(event) if has_contexts else None, iso(event.t),
        None if event.since is None else iso(event.since), event.body if event.kind == "config" else None,
    )  # fmt: skip
    return dict(zip(EXPORTED, values, strict=True))


def _context(event: Event) -> str | None:
    """Return the features of an event as JSON: of all arms for a decision, of the chosen arm for what settles it.

    A point counts as such: its coordinates lie between 0 and 1.
    """
    if event.kind == "decision" and event.body is not None:
        body = msgspec.json.decode(event.body, type=dict[str, msgspec.Raw])
        context = body.get("context", body.get("point"))
        return None if context is None else bytes(context).decode()
    return None if event.kind == "config" else event.body


def written(form: str, table: Iterator[dict[str, Any]]) -> Generator[bytes]:
    """Yield rows in a format: ndjson, csv or parquet."""
    if form == "ndjson":
        for row in table:
            value = None if row["value"] is None else as_json(row["value"])
            plain = {name: _raw(row[name]) for name in ("context", "config")}
            yield msgspec.json.encode({**row, "value": value, **plain}) + b"\n"
    elif form == "csv":
        yield (",".join(EXPORTED) + "\n").encode()
        for row in table:
            text = io.StringIO()
            arms = None if row["open"] is None else "|".join(row["open"])
            csv.writer(text, lineterminator="\n").writerow(_safe(value) for value in {**row, "open": arms}.values())
            yield text.getvalue().encode()
    else:
        yield from _parquet(table)


def _raw(text: str | None) -> msgspec.Raw | None:
    return None if text is None else msgspec.Raw(text.encode())


def _safe(value: Any) -> Any:
    """Return text that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _parquet(table: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Yield a file piece by piece: after each group of rows, what the writer has written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"seq": pa.int64(), "value": pa.float64(), "p": pa.float64(), "open": pa.list_(pa.string())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in EXPORTED])
    sink = Drained()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), schema) as writer:
        while group := list(itertools.islice(table, EVENTS_PER_PART)):
            writer.write_table(pa.Table.from_pylist(group, schema))
            yield sink.drain()
    yield sink.drain()


class Drained(io.RawIOBase):
    """A file that hands out what is written to it and keeps nothing."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def drain(self) -> bytes:
        """Return what was written since the last call."""
        taken, self._parts = b"".join(self._parts), []
        return taken
