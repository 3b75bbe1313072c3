"""The log as a table: one row per event, with times, propensities and the arms that were open."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import msgspec

from .events import Event, iso
from .replica import Config, DecisionBody
from .spec import as_json
from .storage import Session
from .storage.session import Head

COLUMNS = ("seq", "kind", "id", "arm", "value", "p", "reason", "open", "unit", "time", "decided", "config")
CHUNK = 5_000  # events read at a time
FORMATS = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


def rows(session: Session, head: Head, after: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the events of an experiment as rows, those after a sequence number."""
    open_arms: list[str] = []
    for event in _configs(session, head):
        if event.seq <= after:
            open_arms = _opened(open_arms, event)
    last = head.next_seq - 1
    while after < last:
        chunk = session.events(head.id, after, CHUNK)
        if not chunk:
            return
        for event in chunk:
            if event.kind == "config":
                open_arms = _opened(open_arms, event)
            yield _row(event, open_arms)
        after = chunk[-1].seq


def _configs(session: Session, head: Head) -> Iterator[Event]:
    after = 0
    while chunk := session.events_of_kind(head.id, "config", after, CHUNK):
        yield from chunk
        after = chunk[-1].seq


def _opened(open_arms: list[str], event: Event) -> list[str]:
    """Return the arms that are open after a change."""
    change = msgspec.json.decode(event.body or "", type=Config)
    if change.create is not None:
        return [arm.name for arm in change.create.arms]
    if added := change.add or change.resume:
        return [*open_arms, added]
    gone = change.pause or change.retire
    return [arm for arm in open_arms if arm != gone]


def _row(event: Event, open_arms: list[str]) -> dict[str, Any]:
    is_decision = event.kind == "decision"
    body = msgspec.json.decode(event.body, type=DecisionBody) if is_decision and event.body else DecisionBody()
    among = open_arms if body.among is None else [arm for arm in open_arms if arm in body.among]
    values = (
        event.seq, event.kind, event.key, event.arm, event.value, event.p, event.reason,
        among if is_decision else None, body.unit, iso(event.t), None if event.since is None else iso(event.since),
        event.body if event.kind == "config" else None,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def written(form: str, table: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Yield rows in a format: ndjson, csv or parquet."""
    if form == "ndjson":
        for row in table:
            value = None if row["value"] is None else as_json(row["value"])
            config = None if row["config"] is None else msgspec.Raw(row["config"].encode())
            yield msgspec.json.encode({**row, "value": value, "config": config}) + b"\n"
    elif form == "csv":
        yield (",".join(COLUMNS) + "\n").encode()
        for row in table:
            text = io.StringIO()
            arms = None if row["open"] is None else "|".join(row["open"])
            csv.writer(text, lineterminator="\n").writerow(_safe(value) for value in {**row, "open": arms}.values())
            yield text.getvalue().encode()
    else:
        yield _parquet(list(table))


def _safe(value: Any) -> Any:
    """Return text that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _parquet(table: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError("export: Parquet needs the extra: pip install 'heavybandits[parquet]'") from None
    kinds = {"seq": pa.int64(), "value": pa.float64(), "p": pa.float64(), "open": pa.list_(pa.string())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(table, schema), sink)
    return sink.getvalue()
