"""Verification: whatever is wrong with what is stored is found, and said in a line; nothing else is."""

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from services import SECOND, FakeClock, asked, threadless

from heavybandits.service import commands
from heavybandits.service.events import Config
from heavybandits.service.experiments.changes import Configure
from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Cancel, Close, Observe, Reward
from heavybandits.service.http.auth import new_token
from heavybandits.service.log import lane
from heavybandits.service.log.log import Log
from heavybandits.service.maintenance.findings import Finding
from heavybandits.service.maintenance.retention import prune
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.spec import Arm, ContextRule, Experiment, RewardRule
from heavybandits.service.storage import Session, Storage, open_storage

pytestmark = pytest.mark.slow

WINDOW = 60.0  # seconds
SPECS: dict[str, dict[str, Any]] = {
    "sticky": {"policy": "ucb", "sticky": True, "floor": {"a": 0.2}},
    "window": {"policy": "ucb", "reward": RewardRule(WINDOW)},
    "default": {"policy": "ucb", "reward": RewardRule(WINDOW, 0.0), "sticky": True},
    "sum": {"policy": "ucb", "reward": RewardRule(WINDOW, 0.0, "sum")},
    "context": {"policy": "lin-ucb", "context": ContextRule(True, 2)},
    "drawn": {"policy": "tsallis-inf"},
}
PRUNED = ("sticky", "sum")
KIND = {f"pruned {kind}": kind for kind in PRUNED} | {kind: kind for kind in SPECS}


@contextmanager
def serving(storage: Storage, clock: FakeClock) -> Iterator[tuple[Session, Log]]:
    with closing(storage.connect()) as session, threadless(storage) as log:
        log.clock = clock
        yield session, log


def play(log: Log, clock: FakeClock, name: str, start: int, stop: int) -> None:
    """Make decisions, some of which get a reward or are cancelled, and an observation."""
    context = [1.0, 0.5] if KIND[name] == "context" else None
    parts = ("first", "second") if KIND[name].endswith("sum") else (None,)
    for i in range(start, stop):
        clock.now += 1
        assert asked(log, Decide(name, f"d{i}", False, f"visitor {i % 7}", None, context)).status == 201
        if i % 3:
            for part in parts:
                assert asked(log, Reward(name, f"d{i}", i % 5 + 0.25, part)).status == 201
        elif i % 9 == 3:
            assert asked(log, Cancel(name, f"d{i}")).status == 201
    assert asked(log, Observe(name, f"o{start}", False, "b", -0.0, context)).status == 201


def play_and_close(session: Session, log: Log, clock: FakeClock, name: str) -> None:
    """Make an experiment, pause one of its arms, end its windows, and report a reward that comes too late."""
    arms = [Arm("a"), Arm("b", {"colour": "blue"}), Arm("c")]
    assert create(session, name, Experiment(arms=arms, **SPECS[KIND[name]]), "me", clock()).status == 201
    play(log, clock, name, 0, 14)
    assert asked(log, Configure(name, Config(pause="a", by="me"))).status == 200
    play(log, clock, name, 14, 20)
    clock.now += 3 * 60 * SECOND
    asked(log, Close(name, tuple(f"d{i}" for i in range(20))))
    asked(log, Reward(name, "d0", 1.0, "late" if KIND[name] == "sum" else None))


def fill(storage: Storage) -> FakeClock:
    """Make experiments of all kinds, some of them pruned, with snapshots and open windows, and tokens."""
    clock = FakeClock()
    with serving(storage, clock) as (session, log), pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane, "EVENTS_PER_SNAPSHOT", 50)
        session.migrate()
        for name in KIND:
            if name == "sticky":
                assert texts(prune(session, clock(), clock)) == {}
            play_and_close(session, log, clock, name)
        for name in KIND:
            play(log, clock, name, 20, 26)
        tokens = [new_token("read", f"token {i}", i)[1] for i in range(4)]
        with session.transaction():
            for token in tokens:
                session.put_token(token)
            session.revoke_token(tokens[0].id, 5)
    return clock


@pytest.fixture
def clock(storage: Storage) -> FakeClock:
    """Fill the database, and return the clock that stands where this ended."""
    return fill(storage)


def texts(findings: list[Finding]) -> dict[str, str]:
    """Return what is wrong, by the experiment or whatever else it is wrong with."""
    return {finding.experiment or finding.text.split(":")[0]: finding.text for finding in findings if not finding.ok}


def test_what_the_service_writes_is_found_to_be_right(storage: Storage, clock: FakeClock) -> None:
    with serving(storage, clock) as (session, log):
        assert session.run("SELECT count(*) FROM event WHERE seal IS NOT NULL")[0][0] > 6
        for start in (30, 40):
            findings = verify(session)
            assert texts(findings) == {}
            assert [finding.experiment for finding in findings] == [None, *KIND]
            assert findings[0].text == "tokens: 4 tokens"
            assert not any("0 snapshots equal" in finding.text for finding in findings)
            assert not any("without a digest" in finding.text for finding in findings)
            for name in KIND:
                play(log, clock, name, start, start + 4)
            clock.now += 3 * 60 * SECOND


DAMAGES: list[dict[str, tuple[str, str]]] = [
    {
        "sticky": ("UPDATE event SET value = 1 WHERE exp = ? AND key = 'o20'", "digests"),
        "window": ("UPDATE pending SET deadline = deadline + 1 WHERE exp = ?", "is not stored as the log has it"),
        "default": ("DELETE FROM pending WHERE exp = ?", "its window is open in the log"),
        "sum": ("UPDATE pending SET total = 7.5 WHERE exp = ? AND total IS NOT NULL", "is not stored as"),
        "context": ("UPDATE event SET t = t + 1 WHERE exp = ? AND seq = 2", "differs from a replay"),
        "drawn": ("UPDATE experiment SET link_seq = next_seq WHERE id = ?", "cannot be the last one that is linked"),
        "pruned sticky": ("UPDATE unit SET arm = 'c' WHERE exp = ?", "the arm of unit"),
        "pruned sum": ("UPDATE experiment SET first_seq = first_seq + 1 WHERE id = ?", "no snapshot stands for"),
            },
    {
        "sticky": ("UPDATE unit SET p = 0.125, seal = NULL WHERE exp = ?", "is not the one that the log has"),
        "window": ("INSERT INTO pending (exp, key, arm, deadline) VALUES (?, 'd1', 'a', 5)", "its window is not open"),
        "default": ("DELETE FROM unit WHERE exp = ?", "is in the log, but its arm is not stored"),
        "sum": ("UPDATE experiment SET spec = replace(spec, '60', '61') WHERE id = ?", "its description is not"),
        "context": ("UPDATE snapshot SET seq = 10000 WHERE exp = ?", "of a time after the last event"),
        "drawn": ("UPDATE experiment SET next_seq = next_seq - 1, link_seq = 1 WHERE id = ?", "there are events after"),
        "pruned sticky": ("UPDATE unit SET seal = '00' WHERE exp = ?", "is not as it was written"),
        "pruned sum": ("UPDATE experiment SET link = NULL WHERE id = ?", "cannot be the last one that is linked"),
    },
    {
        "sticky": ("INSERT INTO unit (exp, hash, arm) VALUES (?, '00', 'a')", "unit 00 is not in the log"),
        "window": ("UPDATE experiment SET first_seq = 0 WHERE id = ?", "its events cannot be those"),
        "default": ("UPDATE experiment SET next_seq = next_seq + 1 WHERE id = ?", "events are missing"),
        "sum": ("UPDATE snapshot SET library_version = '9.9.9', bytes = substr(bytes, 2) WHERE exp = ?", "is damaged"),
        "context": ("UPDATE event SET body = 'x' WHERE exp = ? AND seq = 2", "event 2 cannot be read"),
        "drawn": ("DELETE FROM event WHERE exp = ? AND seq = 1", "events are missing"),
        "pruned sticky": ("INSERT INTO event (exp, seq, kind, key, t) VALUES (?, 5, 'late', 'x', 0)", "prune again"),
        "pruned sum": ("DELETE FROM event WHERE exp = ? AND seq = 1", "its description is not"),
    },
    {
        "sticky": ("UPDATE event SET seal = '00' WHERE exp = ? AND kind = 'reward'", "is sealed as if"),
        "default": ("UPDATE experiment SET salt = 'a' || substr(salt, 2) || 'b' WHERE id = ?", "the salt of its units"),
        "drawn": ("UPDATE event SET p = 0.5 WHERE exp = ? AND kind = 'reward'", "differs from a replay"),
        "pruned sticky": ("UPDATE event SET t = t + 1 WHERE exp = ? AND seq = 1", "event 1 is not as it was written"),
        "pruned sum": ("UPDATE snapshot SET seq = seq - 1 WHERE exp = ?", "no snapshot stands for"),
    },
]  # fmt: skip


@pytest.mark.parametrize("damages", DAMAGES)
def test_whatever_was_changed_is_found(storage: Storage, clock: FakeClock, damages: dict[str, tuple[str, str]]) -> None:
    with closing(storage.connect()) as session:
        for name, (statement, _) in damages.items():
            head = session.head(name)
            assert head is not None
            with session.transaction():
                session.run(statement, (head.id,))
        with session.transaction():
            session.run("UPDATE token SET revoked = NULL WHERE revoked = 5")
        found = texts(verify(session))
    assert found.pop("tokens").endswith("is not as it was written")
    assert found.keys() == damages.keys()
    for name, (_, expected) in damages.items():
        assert found[name].startswith(f"{name}: ")
        assert expected in found[name]


def test_no_flipped_bit_deletes_an_experiment(storage: Storage, clock: FakeClock) -> None:
    with closing(storage.connect()) as session:
        events = session.run("SELECT count(*) FROM event WHERE exp = 3")
        with session.transaction():
            session.run("UPDATE experiment SET deleted = 0 WHERE id = 3")
        assert texts(verify(session)) == {"database": "database: experiment 3 is neither deleted nor in use"}
        prune(session, 0, clock)
        assert session.run("SELECT count(*) FROM event WHERE exp = 3") == events


def test_what_servers_of_0_2_0_write_is_counted(storage: Storage, clock: FakeClock) -> None:
    with serving(storage, clock) as (session, log):
        of_sticky = "FROM unit JOIN experiment ON id = exp WHERE name = 'sticky'"
        units = session.run(f"SELECT unit.seal, hash {of_sticky}")
        before = session.head("sticky")
        assert before is not None
        play(log, clock, "sticky", 30, 33)
        asked(log, Configure("sticky", Config(pause="b")))
        play(log, clock, "sticky", 33, 40)  # every unit gets another arm
        with session.transaction():
            session.run(
                "UPDATE experiment SET link = ?, link_seq = ? WHERE name = 'sticky'", (before.link, before.link_seq)
            )
            for unit in units:
                session.run("UPDATE unit SET seal = ? WHERE hash = ?", unit)
            session.run("UPDATE token SET seal = NULL WHERE revoked = 5")
            session.run("UPDATE unit SET seal = NULL WHERE exp = 1")
            session.run("UPDATE event SET seal = NULL WHERE exp = 1")
        findings = {finding.experiment: finding for finding in verify(session)}
        assert texts(list(findings.values())) == {}
        note = "; written by version 0.2.0, without a digest: "
        assert findings[None].text == f"tokens: 4 tokens{note}1 token"
        after = session.head("sticky")
        assert after is not None
        assert findings["sticky"].text.endswith(f"{note}{after.next_seq - before.next_seq} events")
        assert note in findings["pruned sticky"].text
        clock.now += SECOND
        assert texts(prune(session, clock(), clock)) == {}
        findings = {finding.experiment: finding for finding in verify(session)}
        assert texts(list(findings.values())) == {}
        assert note not in findings["sticky"].text  # what was pruned is linked, and its units are sealed
        linked = session.head("sticky")
        assert linked is not None
        assert linked.link_seq == after.next_seq - 1


def test_a_database_in_use_is_seen_as_of_one_moment(
    storage: Storage, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(storage, clock) as (session, log):
        read, written = Session.all_pending, list[int]()

        def while_others_write(self: Session, exp: int) -> Any:
            written.append(asked(log, Decide("window", f"meanwhile {len(written)}", False)).status)
            return read(self, exp)

        monkeypatch.setattr(Session, "all_pending", while_others_write)
        assert texts(verify(session)) == {}
        assert written == [201] * len(KIND)


def test_pruning_leaves_a_damaged_experiment_as_it_is(storage: Storage, clock: FakeClock) -> None:
    clock.now += 10 * 60 * SECOND
    with serving(storage, clock) as (session, log):
        for name in KIND:
            if KIND[name] in ("window", "default", "sum"):
                asked(log, Close(name, tuple(f"d{i}" for i in range(26))))
        damages = {
            "sticky": "UPDATE event SET value = 99 WHERE exp = ? AND seq = 9",  # before a snapshot
            "window": "UPDATE experiment SET next_seq = 1000000000000000000 WHERE id = ?",
            "default": "UPDATE event SET arm = 'unknown' WHERE exp = ? AND seq = 20",
            "context": "UPDATE experiment SET spec = '{' WHERE id = ?",
            "pruned sticky": "UPDATE snapshot SET bytes = substr(bytes, 2) WHERE exp = ?",
        }
        for name, statement in damages.items():
            head = session.head(name)
            assert head is not None
            with session.transaction():
                session.run(statement, (head.id,))
        kept = session.run("SELECT exp, count(*) FROM event GROUP BY exp ORDER BY exp")
        findings = prune(session, clock(), clock)
        assert texts(findings).keys() == damages.keys()
        left = session.run("SELECT exp, count(*) FROM event GROUP BY exp ORDER BY exp")
        for name, before, after in zip(KIND, kept, left, strict=True):
            assert (before == after) == (name in damages), name
        assert texts(verify(session)).keys() == damages.keys()


def test_a_snapshot_that_stands_for_pruned_events_is_never_a_damaged_one(storage: Storage, clock: FakeClock) -> None:
    with serving(storage, clock) as (session, _):
        head = session.head("sticky")
        assert head is not None
        ((seq, version),) = session.snapshots(head.id)
        ((t,),) = session.run("SELECT t FROM event WHERE exp = ? AND seq = ?", (head.id, seq))
        with session.transaction():
            session.run("UPDATE event SET t = ? WHERE exp = ? AND seq > ?", (t + 1, head.id, seq))
            session.run("UPDATE experiment SET link = NULL, link_seq = 0 WHERE id = ?", (head.id,))
            session.put_snapshot(head.id, seq, version, b"damaged")
        assert "sticky" in texts(verify(session))
        prune(session, t + 1, clock)
        after = session.head("sticky")
        assert after is not None
        assert after.first_seq == seq + 1
        assert "sticky" not in texts(verify(session))


def test_rewards_of_open_windows_are_not_pruned(storage: Storage, clock: FakeClock) -> None:
    """Servers that were down have not ended windows that are long over."""
    clock.now += 10 * 60 * SECOND
    with serving(storage, clock) as (session, log):
        assert texts(prune(session, clock(), clock)) == {}
        assert texts(verify(session)) == {}
        for name in ("default", "sum", "window"):
            asked(log, Close(name, tuple(f"d{i}" for i in range(20, 26))))
        closed = "SELECT value FROM event JOIN experiment ON id = exp WHERE name = ? AND kind = 'close' " \
                 "ORDER BY seq DESC LIMIT 5"  # fmt: skip
        values = {name: sorted(row[0] for row in session.run(closed, (name,))) for name in ("default", "sum")}
        assert values == {"default": [0.0, 0.25, 0.25, 2.25, 3.25], "sum": [0.0, 0.5, 0.5, 4.5, 6.5]}
        assert texts(verify(session)) == {}


# Single flipped bits

FLIPS = 300


def rows_of(path: Path) -> Any:
    """Return all rows of all tables, or what kept them from being read."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            tables = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
            names = [name for name, sql in tables if sql and sql.startswith("CREATE TABLE")]
            rows = {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}
            return tables, rows
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return error


def verified(path: Path) -> str | None:
    """Return what the command complains about, as a line that the tool prints before it ends with status 2."""
    try:
        commands.verify(f"sqlite:///{path}")
    except (ValueError, OSError) as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with experiments of all kinds, all of it in the file itself."""
    path = tmp_path_factory.mktemp("sound") / "log.db"
    fill(open_storage(f"sqlite:///{path}"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")  # leaves little room in which nothing is stored
    assert [file.name for file in path.parent.iterdir()] == ["log.db"]
    return path


def test_no_flipped_bit_goes_unnoticed(sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents, expected, rng = sound.read_bytes(), rows_of(sound), random.Random(20)
    counts = {"found": 0, "harmless": 0, "harmless and found": 0}
    path = tmp_path / "log.db"
    for i in range(FLIPS):
        bit = rng.randrange(8 * len(contents) * i // FLIPS, 8 * len(contents) * (i + 1) // FLIPS)
        flipped = bytearray(contents)
        flipped[bit // 8] ^= 1 << bit % 8
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(flipped)
        is_harmless = rows_of(path) == expected
        path.write_bytes(flipped)
        complaint = verified(path)
        assert is_harmless or complaint, f"bit {bit % 8} of byte {bit // 8}"
        counts["harmless and found" if complaint and is_harmless else "found" if complaint else "harmless"] += 1
    capsys.readouterr()
    assert counts["found"] > FLIPS / 3
    assert counts["harmless"] > 0  # so that not everything is complained about


DAMAGED_FILES = {
    "text that is not UTF-8": ("UPDATE event SET arm = CAST(x'ff' AS TEXT) WHERE exp = 3 AND seq = 9", "sticky"),
    "a name with a line break": ("UPDATE experiment SET name = 'x\ny' WHERE id = 3", "x y"),
    "a name that is not UTF-8": ("UPDATE experiment SET name = CAST(x'ff' AS TEXT) WHERE id = 3", "experiment 3"),
    "wrong types": ("UPDATE experiment SET next_seq = 'many' WHERE id = 3", "sticky"),
    "a snapshot as text": ("UPDATE snapshot SET bytes = 'text' WHERE exp = 1", "pruned sticky"),
}


@pytest.mark.parametrize("damage", DAMAGED_FILES)
def test_commands_say_in_lines_what_is_wrong(
    sound: Path, tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url, (statement, name) = f"sqlite:///{tmp_path}/log.db", DAMAGED_FILES[damage]
    shutil.copy(sound, tmp_path / "log.db")
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(ValueError, match=r"^verify: something is wrong with ") as complaint:
        commands.verify(url)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(KIND)
    assert sum(line.startswith(f"{name}: ") for line in lines) == 1
    assert str(complaint.value).split(" with ")[1].replace("\n", " ").startswith(f"{name}; ")
    with pytest.raises(ValueError, match=r"^prune: nothing was removed from "):
        commands.prune(0.0, url)
    assert [file.name for file in tmp_path.iterdir()] == ["log.db"]


def test_the_tool_ends_with_one_line_for_a_file_that_cannot_be_read(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    for contents in (b"not a database" * 1000, sound.read_bytes()[:40_000]):
        for command in (("verify",), ("prune", "--days", "0")):
            path.write_bytes(contents)
            command_line = [sys.executable, "-m", "heavybandits", *command, "--db", f"sqlite:///{path}"]
            done = subprocess.run(command_line, capture_output=True, text=True, timeout=300, check=False)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert done.stderr.startswith("heavybandits: ")
