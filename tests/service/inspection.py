"""What clients of a simulated service were told, and whether everything that is stored and held agrees with it."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
from loads import Act, Said
from oracle import Row, Verdict, rows_of

from heavybandits.online.floor import mixed
from heavybandits.service.events import Event, asked_in
from heavybandits.service.experiments.changes import Configure
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Cancel, NamedReward, Observe, Retract, Reward
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.log.turn import Outcome
from heavybandits.service.maintenance.retention import prune
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.read import read_replica
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Session
from heavybandits.service.storage.rows import Head

KINDS: dict[type, str] = {
    Reward: "reward", NamedReward: "named", Cancel: "cancel", Retract: "retract", Observe: "observe",
}  # fmt: skip


class Told:
    """What servers have answered."""

    def __init__(self) -> None:
        self.acknowledged: dict[Act, Said] = {}
        self.checksums: dict[tuple[str, int], str] = {}  # by experiment and sequence number
        self.problems: list[str] = []

    def note(self, request: Any, outcome: Outcome) -> None:
        """Write an answer down."""
        name, body = request.experiment, outcome.body
        if isinstance(request, ReadReplica):
            if outcome.status == 200:
                self._compare(self.checksums, (name, body[0]), body[1])
        elif outcome.status == 410 and isinstance(request, Reward):
            self._compare(self.acknowledged, Act(name, "late", request.key), Said())
        elif outcome.status in (200, 201):
            if isinstance(request, Configure):
                for kind, arm in {"added": request.config.add, "retired": request.config.retire}.items():
                    if arm is not None:
                        self._compare(self.acknowledged, Act(name, kind, arm), Said())
            elif isinstance(request, Decide):
                self._compare(self.acknowledged, Act(name, "decision", body.id), Said(body.arm, None, body.seq, body.p))
            else:
                arm, value = getattr(request, "arm", None), getattr(request, "value", None)
                self._compare(self.acknowledged, Act(name, KINDS[type(request)], body.id), Said(arm, value, body.seq))

    def _compare(self, book: dict[Any, Any], of: Any, said: Any) -> None:
        if book.setdefault(of, said) != said:
            self.problems.append(f"{of}: {book[of]}, then {said}")


class Archive:
    """All events that were ever stored, also those that are pruned later."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self.file, self.events, self.problems = file, dict[str, list[Row]](), list[str]()

    def copy(self, heads: Iterable[Head]) -> None:
        """Take in what is stored now; nothing that was seen before may have changed."""
        for head in heads:
            known = {row.seq: row for row in self.events.get(head.name, [])}
            for row in rows_of(self.file, head.id):
                if known.setdefault(row.seq, row) != row:
                    self.problems.append(f"{head.name}: event {row.seq} was {known[row.seq]}, and is now {row}")
            self.events[head.name] = sorted(known.values())


def problems(session: Session, told: Told, archive: Archive, held: list[dict[str, Replica]]) -> list[str]:
    """Return everything that is wrong, given what each server holds."""
    archive.copy(session.heads())
    prune(session, 0)  # go on with what was interrupted, and remove what is left of deleted experiments
    heads = session.heads()
    names = {head.name for head in heads}
    kept = {act: said for act, said in told.acknowledged.items() if act.experiment in names}  # the others are deleted
    verdict = Verdict(archive.file, kept, archive.events)
    found = [finding.text for finding in verify(session) if not finding.ok]
    for head in heads:
        replayed, wrong = _replay(head, archive.events[head.name], told.checksums)
        found += wrong
        replicas = {"a replica that is read": read_replica(session, head)}
        replicas |= {
            f"the replica of server {number}": one for number, one in enumerate(each[head.name] for each in held)
        }
        for what, replica in replicas.items():
            if replica.snapshot() != replayed.snapshot():
                found.append(f"{head.name}: {what} differs from a replay at event {replica.seq} of {replayed.seq}")
        counted = ({"name": arm} | msgspec.structs.asdict(totals) for arm, totals in replayed.totals.arms.items())
        verdict.compare(head.name, counted)
        for row in replayed.learner.rows():
            counts = verdict.totals[head.name].get(row.arm, Counter())
            if row.pulls != counts["rewards"] + (counts["open"] if replayed.spec.reward.provisional else 0):
                found.append(f"{head.name}: the policy has learned {row.pulls} rewards of arm {row.arm!r}, not as many "
                             "as the log has")  # fmt: skip
    lost = [f"lost: {each}" for each in verdict.lost]
    doubled = [f"doubled: {each}" for each in verdict.doubled]
    return told.problems + archive.problems + lost + doubled + verdict.changed + found


def _replay(head: Head, rows: list[Row], checksums: dict[tuple[str, int], str]) -> tuple[Replica, list[str]]:
    """Replay all events, and let the policy choose again: return the replica, and what is not as it was."""
    replica, wrong = Replica(head.id, head.name), list[str]()
    for row in rows:
        event = Event(head.id, *row)
        try:
            drawn = _taken_in(replica, event)
        except ValueError as error:
            wrong.append(f"{head.name}: {event} cannot be replayed: {error}")
            break
        if drawn is not None and drawn != (event.arm, event.p):
            wrong.append(f"{head.name}: {event} was drawn, but a replay draws {drawn}")
            break
        told = checksums.get((head.name, event.seq))
        if told is not None and told != replica.checksum():
            wrong.append(f"{head.name}: at event {event.seq} a server held other bits than a replay")
    return replica, wrong


def _taken_in(replica: Replica, event: Event) -> tuple[str, float | None] | None:
    """Let a replica take in an event; for a decision that was drawn, return what it draws itself."""
    if event.reason not in ("policy", "floor"):
        replica.apply(event)
        return None
    asked = asked_in(event)
    open_arms = replica.open_among(asked.among, asked.context)
    shares = {arm: share for arm, share in replica.spec.floor.items() if arm in open_arms}
    given = event.arm if event.reason == "floor" else None
    chosen = replica.assign(str(event.key), given, asked.among, asked.context)
    if asked.point not in (None, chosen.chosen):
        raise ValueError(f"a replay draws the point {chosen.chosen}")
    replica.note(event)
    return chosen.arm, mixed(shares, chosen.arm, chosen.propensity)
