"""The statements, once for both databases; what differs between them is in ``sqlite`` and ``postgres``."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from ..events import Event
from ..replicas.links import seal
from . import migrations
from .connection import DatabaseConnection
from .rows import Head, OpenDecision, Progress, Token, UnitArm

EVENT = ", ".join(Event._fields)
# Changes alone have no key, so the index of keys finds them.  The + keeps databases from going through all of an
# experiment in the order of sequence numbers.
CHANGES = f"SELECT {EVENT} FROM event WHERE exp = ? AND key IS NULL AND +seq > ? ORDER BY +seq LIMIT ?"
TRIAL_BYTES = 65_536  # to store on trial
PENDING = ", ".join(OpenDecision._fields)
HEADS = f"SELECT {', '.join(Head._fields)} FROM experiment WHERE deleted IS NULL"
HAS_NO_NAME = "name = '/' || id"  # a second mark of what is deleted: a flipped bit must not delete anything
OF_EXPERIMENT = {"event": "seq", "pending": "key", "unit": "hash", "snapshot": "seq"}  # tables, what tells rows apart


class Session(DatabaseConnection):
    """A connection with the statements of the service.  All changes are made in a :meth:`transaction`."""

    def migrate(self) -> list[int]:
        """Bring the schema up to date, and return the numbers of the steps taken."""
        return migrations.migrate(self)

    def schema_version(self) -> int:
        """Return the number of the last migration that was run, 0 for an empty database."""
        return migrations.version(self)

    def damage(self) -> list[str]:
        """Return what is wrong with the database itself, apart from what its rows say."""
        seen = {row[0] for row in self.run("SELECT version FROM schema_version")}
        wrong = [] if seen == set(migrations.steps(self.DIALECT)) else ["the list of migrations is not whole"]
        torn = self.run(f"SELECT id FROM experiment WHERE (deleted IS NULL) = ({HAS_NO_NAME})")
        return wrong + [f"experiment {row[0]} is neither deleted nor in use" for row in torn]

    # Experiments

    def heads(self) -> list[Head]:
        """Return all experiments."""
        return [Head(*row) for row in self.run(f"{HEADS} ORDER BY id")]

    def progress(self) -> dict[str, Progress]:
        """Return how far each experiment is, by name."""
        sql = "SELECT name, id, next_seq FROM experiment WHERE deleted IS NULL"
        return {row[0]: Progress(*row[1:]) for row in self.run(sql)}

    def head(self, name: str) -> Head | None:
        """Return the experiment with this name."""
        return self._head("name = ?", name)

    def ids(self) -> list[int]:
        """Return the numbers of all experiments."""
        return [row[0] for row in self.run("SELECT id FROM experiment WHERE deleted IS NULL ORDER BY id")]

    def head_of(self, exp: int) -> Head | None:
        """Return the experiment with this number."""
        return self._head("id = ?", exp)

    def _head(self, condition: str, value: str | int) -> Head | None:
        rows = self.run(f"{HEADS} AND {condition}", (value,))
        return Head(*rows[0]) if rows else None

    def add_experiment(self, name: str, spec: str) -> Head:
        """Add an experiment without events, with an id that none has had and a salt of its own."""
        # Early versions only add the latter.
        used = "SELECT id FROM last_experiment UNION ALL SELECT id FROM experiment"
        ((largest,),) = self.run(f"SELECT max(id) FROM ({used}) AS used")
        exp, salt = largest + 1, secrets.token_hex(32)
        head = Head(exp, name, spec, 1, 1, None, 0, salt, seal(exp, salt))
        self.run("UPDATE last_experiment SET id = ?", (head.id,))
        self.insert("experiment", Head._fields, [head])
        return head

    def mark_deleted(self, exp: int, now: int) -> None:
        """Let nobody see an experiment any more, and free its name."""
        self.run("UPDATE experiment SET deleted = ?, name = ? WHERE id = ?", (now, f"/{exp}", exp))

    def deleted(self) -> list[int]:
        """Return the ids of experiments that are deleted but not yet removed."""
        sql = f"SELECT id FROM experiment WHERE deleted IS NOT NULL AND {HAS_NO_NAME} ORDER BY id"
        return [row[0] for row in self.run(sql)]

    def remove_rows(self, table: str, exp: int, limit: int) -> int:
        """Remove some rows of an experiment from a table, and return how many."""
        column = OF_EXPERIMENT[table]
        some = f"SELECT {column} FROM {table} WHERE exp = ? LIMIT ?"
        sql = f"DELETE FROM {table} WHERE exp = ? AND {column} IN ({some}) RETURNING exp"
        return len(self.run(sql, (exp, exp, limit)))

    def remove_experiment(self, exp: int) -> None:
        """Remove the row of an experiment that has no others."""
        self.run("DELETE FROM experiment WHERE id = ?", (exp,))

    def set_last(self, exp: int, seq: int, link: bytes) -> None:
        """Store the number and the link of an experiment's last event."""
        sql = "UPDATE experiment SET next_seq = ?, link_seq = ?, link = ? WHERE id = ?"
        self.run(sql, (seq + 1, seq, link.hex(), exp))

    # Events

    def events(self, exp: int, after: int, limit: int = 10_000) -> list[Event]:
        """Return events after a sequence number, in order."""
        sql = f"SELECT {EVENT} FROM event WHERE exp = ? AND seq > ? ORDER BY seq LIMIT ?"
        return list(map(Event._make, self.run(sql, (exp, after, limit))))

    def changes(self, exp: int, after: int, limit: int) -> list[Event]:
        """Return the changes of an experiment in order, those after a sequence number."""
        return list(map(Event._make, self.run(CHANGES, (exp, after, limit))))

    def find(self, exp: int, keys: Iterable[str]) -> list[Event]:
        """Return the events of these keys."""
        return list(map(Event._make, self.look_up(EVENT, "event", exp, "key", keys)))

    def append(self, events: Sequence[Event]) -> None:
        """Add events."""
        self.insert("event", Event._fields, events)

    def first_since(self, exp: int, t: int, start: int, stop: int) -> int | None:
        """Return the sequence number, from ``start`` to below ``stop``, of the first event at or after a time."""
        sql = "SELECT min(seq) FROM event WHERE exp = ? AND seq >= ? AND seq < ? AND t >= ?"
        ((found,),) = self.run(sql, (exp, start, stop, t))
        return None if found is None else int(found)

    def set_first_seq(self, exp: int, first_seq: int, link: bytes) -> None:
        """Note where an experiment's events begin, and what the first of them is linked to.

        Snapshots that need earlier events are removed.
        """
        self.run("DELETE FROM snapshot WHERE exp = ? AND seq < ?", (exp, first_seq - 1))
        self.run("UPDATE experiment SET first_seq = ? WHERE id = ?", (first_seq, exp))
        sql = "UPDATE experiment SET link_seq = ?, link = ? WHERE id = ? AND link_seq < ?"
        self.run(sql, (first_seq - 1, link.hex(), exp, first_seq - 1))

    def remove_events(self, exp: int, start: int, stop: int) -> int:
        """Remove events from ``start`` to below ``stop``, except changes and open decisions; return how many."""
        ended = "EXISTS (SELECT 1 FROM event AS e WHERE e.exp = event.exp AND e.key = event.key " \
                "AND e.kind IN ('reward', 'close', 'cancel'))"  # fmt: skip
        going = f"exp = ? AND seq >= ? AND seq < ? AND kind <> 'config' AND (kind <> 'decision' OR {ended})"
        return len(self.run(f"DELETE FROM event WHERE {going} RETURNING seq", (exp, start, stop)))

    def seal_events(self, exp: int, start: int, stop: int) -> None:
        """Seal events from ``start`` to below ``stop``, which stay although those around them are removed."""
        sql = f"SELECT {EVENT} FROM event WHERE exp = ? AND seq >= ? AND seq < ? AND seal IS NULL"
        for event in map(Event._make, self.run(sql, (exp, start, stop))):
            self.run("UPDATE event SET seal = ? WHERE exp = ? AND seq = ?", (seal(*event), exp, event.seq))

    def sealed_events(self, exp: int, stop: int) -> list[tuple[Event, str | None]]:
        """Return all events below ``stop``, and those after it that have a seal, with their seals."""
        sql = f"SELECT {EVENT}, seal FROM event WHERE exp = ? AND (seq < ? OR seal IS NOT NULL) ORDER BY seq"
        return [(Event(*row[:-1]), row[-1]) for row in self.run(sql, (exp, stop))]

    # Windows and units

    def due(self, now: int, other_than: Iterable[int], limit: int) -> list[OpenDecision]:
        """Return decisions whose window is over, except those of some experiments."""
        is_deleted = "EXISTS (SELECT 1 FROM experiment WHERE id = exp AND deleted IS NOT NULL)"
        going = f"deadline <= ? AND exp {self.NOT_LISTED} AND NOT {is_deleted}"
        sql = f"SELECT {PENDING} FROM pending WHERE {going} ORDER BY deadline, key LIMIT ?"
        return [OpenDecision(*row) for row in self.run(sql, (now, self.listed(other_than), limit))]

    def pending(self, exp: int, keys: Iterable[str]) -> list[OpenDecision]:
        """Return the decisions among these whose window is open."""
        return [OpenDecision(*row) for row in self.look_up(PENDING, "pending", exp, "key", keys)]

    def all_pending(self, exp: int) -> list[OpenDecision]:
        """Return all decisions of an experiment whose window is open."""
        return [OpenDecision(*row) for row in self.run(f"SELECT {PENDING} FROM pending WHERE exp = ?", (exp,))]

    def first_pending(self, exp: int) -> int | None:
        """Return the sequence number of the first decision whose window is open."""
        sql = "SELECT min(event.seq) FROM event JOIN pending ON pending.exp = event.exp AND pending.key = event.key " \
              "WHERE pending.exp = ? AND event.kind = 'decision'"  # fmt: skip
        ((found,),) = self.run(sql, (exp,))
        return None if found is None else int(found)

    def put_pending(self, rows: Sequence[OpenDecision]) -> None:
        """Add open decisions, or update their totals."""
        self.insert(
            "pending", OpenDecision._fields, rows, "ON CONFLICT (exp, key) DO UPDATE SET total = excluded.total"
        )

    def drop_pending(self, exp: int, keys: Iterable[str]) -> None:
        """Remove decisions that are no longer open."""
        self.remove("pending", exp, "key", keys)

    def units(self, exp: int, hashes: Iterable[str]) -> dict[str, UnitArm]:
        """Return the arms of these units."""
        return {row[0]: UnitArm(*row) for row in self.look_up("hash, arm, p", "unit", exp, "hash", hashes)}

    def sealed_units(self, exp: int) -> list[tuple[UnitArm, str | None]]:
        """Return the arms of all units of an experiment, with their seals."""
        rows = self.run("SELECT hash, arm, p, seal FROM unit WHERE exp = ?", (exp,))
        return [(UnitArm(*row[:-1]), row[-1]) for row in rows]

    def put_units(self, exp: int, units: Iterable[UnitArm]) -> None:
        """Store the arms of units."""
        rows = [(exp, *unit, seal(exp, *unit)) for unit in units]
        conflict = "ON CONFLICT (exp, hash) DO UPDATE SET arm = excluded.arm, p = excluded.p, seal = excluded.seal"
        self.insert("unit", ("exp", *UnitArm._fields, "seal"), rows, conflict)

    # Snapshots and tokens

    def snapshots(self, exp: int) -> list[tuple[int, str]]:
        """Return sequence numbers and library versions of an experiment's snapshots, the latest first."""
        sql = "SELECT seq, library_version FROM snapshot WHERE exp = ? ORDER BY seq DESC"
        return [(row[0], row[1]) for row in self.run(sql, (exp,))]

    def snapshot(self, exp: int, seq: int, version: str) -> bytes | None:
        """Return one snapshot, None if there is none, perhaps no more."""
        sql = "SELECT bytes FROM snapshot WHERE exp = ? AND seq = ? AND library_version = ?"
        rows = self.run(sql, (exp, seq, version))
        return bytes(rows[0][0]) if rows else None

    def put_snapshot(self, exp: int, seq: int, version: str, contents: bytes) -> None:
        """Keep a snapshot; one that there is already is replaced, because it may be damaged."""
        fields = ("exp", "seq", "library_version", "bytes")
        conflict = "ON CONFLICT (exp, seq, library_version) DO UPDATE SET bytes = excluded.bytes"
        self.insert("snapshot", fields, [(exp, seq, version, contents)], conflict)

    def remove_snapshots(self, exp: int, version: str, keep: int) -> None:
        """Remove a version's snapshots, except the latest and the one that stands for events that were pruned."""
        latest = "SELECT seq FROM snapshot WHERE exp = ? AND library_version = ? ORDER BY seq DESC LIMIT ?"
        sql = f"DELETE FROM snapshot WHERE exp = ? AND library_version = ? AND seq NOT IN ({latest}) " \
              "AND seq >= (SELECT first_seq FROM experiment WHERE id = ?)"  # fmt: skip
        self.run(sql, (exp, version, exp, version, keep, exp))

    def tokens(self) -> list[Token]:
        """Return all tokens, including revoked ones."""
        return [Token(*row) for row in self.run(f"SELECT {', '.join(Token._fields)} FROM token ORDER BY created, id")]

    def sealed_tokens(self) -> list[tuple[Token, str | None]]:
        """Return all tokens with their seals."""
        rows = self.run(f"SELECT {', '.join(Token._fields)}, seal FROM token")
        return [(Token(*row[:-1]), row[-1]) for row in rows]

    def put_token(self, token: Token) -> None:
        """Add a token."""
        self.insert("token", (*Token._fields, "seal"), [(*token, seal(*token))])

    def revoke_token(self, token: str, now: int) -> None:
        """Mark a token as revoked."""
        for row in self.tokens():
            if row.id == token and row.revoked is None:
                sql = "UPDATE token SET revoked = ?, seal = ? WHERE id = ? AND revoked IS NULL"
                self.run(sql, (now, seal(*row._replace(revoked=now)), token))

    def try_to_store(self) -> None:
        """Store as much as a few requests do, and remove it in the same transaction; raise if that fails."""
        trial = Token(secrets.token_hex(16), secrets.token_hex(16), "", secrets.token_hex(TRIAL_BYTES // 2), 0, None)
        with self.transaction():
            self.put_token(trial)
            self.run("DELETE FROM token WHERE id = ?", (trial.id,))
