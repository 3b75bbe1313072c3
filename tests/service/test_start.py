"""The service decides at once: replicas begin as plain Python, and nothing but long replays waits for the compiler."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from compilers import Compiler
from histories import BEGIN, event, play, played
from services import ARMS, Process, asked, call, eventually, threadless

from heavybandits.algorithms.policies.ucb import UCB
from heavybandits.algorithms.registry import examples, policies
from heavybandits.jit import compiled
from heavybandits.service.events import Config, DecisionBody, Event
from heavybandits.service.experiments.changes import check_experiment
from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.log.log import Log
from heavybandits.service.replicas import read
from heavybandits.service.replicas.read import read_replica
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.spec import Arm, Experiment
from heavybandits.service.storage import StorageError, open_storage


def spec_of(policy: str) -> Experiment:
    context = {"n_features": 2} if policy in policies("linear") else None
    given = {"arms": [*ARMS, {"name": "c"}], "policy": {"kind": policy} | examples()[policy], "context": context}
    return msgspec.convert(given, Experiment)


def lived(spec: Experiment, compiler: Compiler, moment: int | None) -> tuple[list[str], list[Event], bytes]:
    """Return the arms chosen, the events, and what became of an experiment; code is ready at this moment."""
    compiler.__init__()  # type: ignore[misc]
    rng, replica, chosen, events = np.random.default_rng(1), Replica(1, "x"), list[str](), list[Event]()

    def note(kind: str, arm: str | None, value: float | None = None, body: Any = None) -> None:
        text = None if body is None else msgspec.json.encode(body).decode()
        events.append(event(replica, kind, arm, value, BEGIN, text))
        replica.note(events[-1])

    note("config", None, body=Config(create=spec))
    for i in range(14):
        if i == moment:
            compiler.finish()
        if i == 5:
            replica = Replica.restored(1, "x", replica.snapshot())
        elif i == 8 and spec.context is None:
            note("config", None, body=Config(add="d"))
        context = None if spec.context is None else {arm: rng.random(2).tolist() for arm in "abc"}
        arm = str(replica.assign(f"k{(replica.seq + 1) // 2}", None, None, context).arm)
        chosen.append(arm)
        note("decision", arm, body=DecisionBody(context=context))
        note("reward", arm, float(rng.standard_t(2.0)), None if context is None else context[arm])
    return chosen, events, replica.snapshot()


def replayed(events: list[Event], compiler: Compiler, moment: int | None) -> bytes:
    compiler.__init__()  # type: ignore[misc]
    replica = Replica(1, "x")
    for number, one in enumerate(events):
        if number == moment:
            compiler.finish()
        replica.apply(one)
    assert replica.learner.is_compiling() == (moment is None)
    return replica.snapshot()


SLOWER = ["auto", "auto-mean", "thompson-gaussian", "tsallis-inf", "rucb-catoni", "lin-ucb", "lin-ts", "linear-auto"]


@pytest.mark.parametrize("policy", ["ucb", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOWER)])
def test_decisions_and_replays_do_not_depend_on_when_code_is_ready(policy: str, compiler: Compiler) -> None:
    spec = spec_of(policy)
    never = _, events, snapshot = lived(spec, compiler, None)
    for moment in range(14):
        assert lived(spec, compiler, moment) == never, moment
    assert replayed(events, compiler, None) == snapshot
    for moment in range(len(events)):
        assert replayed(events, compiler, moment) == snapshot, moment


def test_a_trial_compiles_nothing(monkeypatch: pytest.MonkeyPatch, compiler: Compiler) -> None:
    monkeypatch.setattr(compiled, "_machine_code", lambda *arguments: pytest.fail("it compiles"))
    for policy in ("ucb", "lin-ucb"):
        check_experiment(spec_of(policy))
    check_experiment(msgspec.convert({"arms": ARMS, "stop": {"then": "winner"}}, Experiment))


def test_experiments_with_the_same_policy_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    compile_one = compiled._machine_code

    def counted(function: Any, classes: Any, *more: Any) -> Any:
        if UCB in classes:  # a thread may still compile what an earlier test has begun
            made.append(function)
        return compile_one(function, classes, *more)

    monkeypatch.setattr(compiled, "_ready", {})
    monkeypatch.setattr(compiled, "_machine_code", counted)
    replicas = [played(Experiment(arms=[Arm("a"), Arm("b")], policy="ucb"), [("a", 1.0)]) for _ in range(3)]
    for replica in replicas:
        eventually(lambda replica=replica: not replica.learner.is_compiling())  # type: ignore[misc]
        play(replica, "b", 2.0)
    assert len(made) == 2  # to decide, and to learn


# Replays


def stored(folder: Path, n_decisions: int) -> Any:
    """Return a session with an experiment that has events."""
    session = open_storage(f"sqlite:///{folder}/log.db").connect()
    session.migrate()
    create(session, "x", spec := Experiment(arms=[Arm("a"), Arm("b")], policy="ucb"), None, 0)
    replica = read_replica(session, session.head("x"))  # type: ignore[arg-type]
    rows = []
    for i in range(n_decisions):
        for kind, value in (("decision", None), ("reward", float(i % 7))):
            rows.append(event(replica, kind, "ab"[i % 2], value)._replace(key=str(i)))
            replica.apply(rows[-1])
    with session.transaction([replica.exp]):
        session.append(rows)
        session.set_last(replica.exp, replica.seq, replica.link)
    assert replica.spec == spec
    return session


@pytest.mark.parametrize(("worth", "waits"), [(100, True), (10_000, False)])
def test_only_long_replays_wait_for_code(
    worth: int, waits: bool, tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "EVENTS_WORTH_COMPILING", worth)
    monkeypatch.setattr(read, "PLAIN_EVENT_SECONDS", 3600.0)
    monkeypatch.setattr(read, "EVENTS_PER_READ", 10)
    session, seen = stored(tmp_path, 100), list[int]()
    compiler.__init__()  # type: ignore[misc]

    def notice(name: str, seq: int, last: int) -> None:
        assert (name, last) == ("x", 201)
        seen.append(seq)
        if seen.count(seq) == 3:  # it waits
            compiler.finish()

    replica = read_replica(session, session.head("x"), notice=notice)
    assert replica.seq == 201
    assert sorted(set(seen)) == list(range(0, 201, 10))
    assert (compiler.done, seen.count(10) >= 3) == (waits, waits)
    assert replica.learner.is_compiling() != waits
    session.close()


def test_a_replay_waits_no_longer_than_plain_python_would_take(
    tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "EVENTS_WORTH_COMPILING", 100)
    monkeypatch.setattr(read, "EVENTS_PER_READ", 10)
    session = stored(tmp_path, 100)
    compiler.__init__()  # type: ignore[misc]
    replica = read_replica(session, session.head("x"))
    assert (replica.seq, replica.learner.is_compiling()) == (201, True)
    session.close()


def test_a_replay_ends_when_the_server_stops(
    tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "EVENTS_WORTH_COMPILING", 100)
    monkeypatch.setattr(read, "PLAIN_EVENT_SECONDS", 3600.0)
    monkeypatch.setattr(read, "EVENTS_PER_READ", 10)
    stored(tmp_path, 100).close()
    compiler.__init__()  # type: ignore[misc]
    log = Log(open_storage(f"sqlite:///{tmp_path}/log.db"))
    log.start()
    eventually(lambda: log.replays.get("x") == (10, 201))
    assert not log.ready.is_set()
    stopper = threading.Thread(target=log.stop)
    stopper.start()
    stopper.join(60)
    assert not stopper.is_alive()
    with pytest.raises(StorageError, match="the server stops"):
        log.note_replay("x", 1, 2)


def test_it_says_what_is_compiled(tmp_path: Path, compiler: Compiler) -> None:
    with threadless(open_storage(f"sqlite:///{tmp_path}/log.db")) as log:
        session = log.storage.connect()
        session.migrate()
        create(session, "x", Experiment(arms=[Arm("a"), Arm("b")], policy="ucb"), None, 0)
        session.close()
        assert log.compiling() == []
        assert asked(log, Decide("x", "one", False, None, None, None)).status == 201
        assert log.compiling() == ["x"]
        compiler.finish()
        assert log.compiling() == []


# Processes


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Return a function that starts a server with these variables in its environment."""
    started: list[Process] = []

    def start(**environment: Any) -> Process:
        started.append(Process(f"sqlite:///{tmp_path}/log.db", tmp_path, **environment))
        started[-1].wait_until_ready()
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.kill()


def errors(folder: Path) -> str:
    return "".join(file.read_text() for file in folder.glob("errors-*"))


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5, 3.0])
def test_a_server_may_stop_while_it_compiles(seconds: float, tmp_path: Path, serve: Any) -> None:
    server = serve(NUMBA_CACHE_DIR=str(tmp_path))  # nothing is compiled there
    for goal in ("mean", "location"):
        assert call(server.address, "PUT", f"/v1/experiments/{goal}", {"arms": ARMS, "goal": goal}).status == 201
        assert call(server.address, "POST", f"/v1/experiments/{goal}/decisions", {}).status == 201
    ready = call(server.address, "GET", "/ready")
    assert (ready.status, ready.body["compiling"]) == (200, ["location", "mean"])
    time.sleep(seconds)
    assert server.end() == 0
    assert "Traceback" not in errors(tmp_path)


@pytest.mark.slow
def test_a_server_without_numba_goes_on_with_one_warning(tmp_path: Path, serve: Any) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "numba.py").write_text("raise ImportError('numba is broken here')")
    path = os.pathsep.join([str(tmp_path / "broken"), os.environ.get("PYTHONPATH", "")])
    server = serve(PYTHONPATH=path)
    for name in ("x", "y"):
        spec = {"arms": ARMS, "stop": {"then": "winner"}}
        assert call(server.address, "PUT", f"/v1/experiments/{name}", spec).status == 201
        for i in range(60):
            assert call(server.address, "POST", f"/v1/experiments/{name}/decisions", {"id": str(i)}).status == 201
            reward = {"value": float(i * i % 7)}
            assert call(server.address, "PUT", f"/v1/experiments/{name}/decisions/{i}/reward", reward).status == 201
        assert call(server.address, "GET", f"/v1/experiments/{name}/report").body["evidence"]["leader"] is not None
    eventually(lambda: call(server.address, "GET", "/ready").body["compiling"] == [])
    assert server.end() == 0
    assert len(re.findall("numba is broken here", errors(tmp_path))) == 1


@pytest.mark.slow
def test_a_server_without_a_cache_compiles_all_the_same(tmp_path: Path, serve: Any) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")  # no folder can be made below it
    server = serve(NUMBA_CACHE_DIR=str(blocked), XDG_CACHE_HOME=str(blocked))
    assert call(server.address, "PUT", "/v1/experiments/x", {"arms": ARMS, "policy": "ucb"}).status == 201
    assert call(server.address, "POST", "/v1/experiments/x/decisions", {}).status == 201
    eventually(lambda: call(server.address, "GET", "/ready").body["compiling"] == [])
    assert server.end() == 0
    assert "Traceback" not in errors(tmp_path)
