"""The client, exports, and the commands around the service."""

import io
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from services import SECOND, FakeClock, Running, call, running

import heavybandits as hb
from heavybandits.service import commands
from heavybandits.service.maintenance import export, retention
from heavybandits.service.maintenance.retention import prune
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.storage import Storage, StorageError, open_storage

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Storage:
    return open_storage(f"sqlite:///{tmp_path}/log.db")


@pytest.fixture
def server(store: Storage) -> Iterator[Running]:
    with running(store) as server:
        yield server


@pytest.fixture
def client(server: Running) -> Iterator[hb.Client]:
    client = hb.Client(f"http://{server.address}", patience=5)
    yield client
    client.close()


def test_the_client_makes_decides_rewards_and_reports(client: hb.Client) -> None:
    made = client.create("my shop", {"blue": {"css": "b"}, "green": None}, policy="ucb")
    assert made["name"] == "my shop"
    decision = client.decide("my shop", unit="visitor 7")
    assert decision.arm in ("blue", "green")
    assert client.reward("my shop", decision, 12.5)["learned"]
    assert client.reward("my shop", decision.id, 12.5)["seq"] == decision.seq + 1
    client.cancel("my shop", client.decide("my shop", among=["green"]))
    client.observe("my shop", "blue", math.inf)
    report = client.report("my shop")
    assert (report["decisions"], report["rewards"], report["pending"]) == (2, 2, 0)
    with pytest.raises(hb.ServiceError, match="409: different value") as refused:
        client.reward("my shop", decision, 1)
    assert refused.value.status == 409
    with pytest.raises(ValueError, match="value must not be NaN"):
        client.reward("my shop", decision, math.nan)


def test_the_client_repeats_what_failed_on_the_way(server: Running, client: hb.Client, monkeypatch: Any) -> None:
    client.create("x", ["a", "b"], policy="ucb")
    lost = hb.ServiceError(0, "the connection was cut", temporary=True)
    once, failures = client._once, [lost, None, lost]

    def flaky(*arguments: Any) -> Any:
        answer = once(*arguments)
        if failures and (failure := failures.pop()) is not None:
            raise failure  # the answer is lost on its way back
        return answer

    monkeypatch.setattr(client, "_once", flaky)
    decision = client.decide("x")
    client.reward("x", decision, 1.0)
    assert not failures
    report = client.report("x")
    assert (report["decisions"], report["rewards"]) == (1, 1)


def test_the_client_gives_up_in_time_and_checks_its_address() -> None:
    with pytest.raises(hb.ServiceError, match="no answer from"):
        hb.Client("http://127.0.0.1:1", patience=0.2).decide("x")
    with pytest.raises(ValueError, match="url must be like"):
        hb.Client("127.0.0.1:80")
    unsent = hb.Client("http://127.0.0.1:1", "hb_secret")
    assert repr(unsent) == "Client('http://127.0.0.1:1')"
    with pytest.raises(TypeError, match="Client: context must contain only numbers, got 'x'"):
        unsent.decide("x", context=[1, True, "x"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="Client: value must be a number, got 'a'"):
        unsent.reward("x", "one", "a")  # type: ignore[arg-type]


def filled(server: Running) -> None:
    server("PUT", "/x", {"arms": [{"name": "=a"}, {"name": "b"}], "policy": "ucb", "floor": {"b": 0.25}})
    server("POST", "/x/decisions", {"id": "one", "unit": "u"})
    server("PUT", "/x/decisions/one/reward", {"value": "Infinity"})
    server("PATCH", "/x/arms/b", {"state": "paused"})
    server("POST", "/x/decisions", {"id": "two"})


def test_exports_hold_propensities_and_open_arms(server: Running) -> None:
    filled(server)
    base = "/v1/experiments/x/export"
    lines = [json.loads(line) for line in call(server.address, "GET", base).body.splitlines()]
    assert [line["kind"] for line in lines] == ["config", "decision", "reward", "config", "decision"]
    assert lines[1]["open"] == ["=a", "b"]
    assert lines[4]["open"] == ["=a"]
    assert (lines[4]["p"], lines[4]["reason"]) == (1.0, "only")
    assert lines[2]["value"] == "Infinity"
    assert lines[2]["decided"] == lines[1]["time"]
    later = call(server.address, "GET", f"{base}?after=4").body.splitlines()
    assert [json.loads(line) for line in later] == lines[4:]
    table = pd.read_csv(io.BytesIO(call(server.address, "GET", f"{base}?format=csv").body))
    assert table["seq"].tolist() == [1, 2, 3, 4, 5]
    assert table["arm"].tolist()[1] in ("'=a", "b")  # no spreadsheet takes it for a formula
    frame = pd.read_parquet(io.BytesIO(call(server.address, "GET", f"{base}?format=parquet").body))
    assert frame["value"].tolist()[2] == math.inf
    assert list(frame["open"][1]) == ["=a", "b"]
    assert frame["time"].tolist() == [line["time"] for line in lines]
    assert server("GET", "/x/export?format=xml").status == 422
    assert server("GET", "/x/export?after=-1").status == 422
    assert server("GET", "/y/export").status == 404
    audit = server("GET", "/x/audit").body["changes"]
    assert [each["seq"] for each in audit] == [1, 4]
    assert audit[1]["change"] == {"pause": "b"}


def test_parquet_is_refused_where_it_cannot_be_written(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(server)
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    refused = server("GET", "/x/export?format=parquet")
    assert (refused.status, refused.body["title"]) == (422, "invalid")
    assert "pip install 'heavybandits[parquet]'" in refused.body["detail"]
    assert server("GET", "/x/export?format=csv").status == 200


def test_parquet_is_written_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "EVENTS_PER_PART", 10)
    taken: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for seq in range(35):
            taken.append(seq)
            yield dict.fromkeys(export.EXPORTED) | {"seq": seq, "value": seq / 2}

    parts = export.written("parquet", rows())
    first = next(parts)
    assert len(taken) == 10  # no more than a group has been read
    assert pd.read_parquet(io.BytesIO(first + b"".join(parts)))["value"].tolist() == [seq / 2 for seq in range(35)]


def run(*arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "heavybandits", *arguments]
    if limit is not None:  # bytes in a file
        command = ["prlimit", f"--fsize={limit}", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_commands_make_tokens_export_and_verify(store: Storage, tmp_path: Path) -> None:
    with running(store) as server:
        filled(server)
    made = run("token", "create", "--role", "admin", "--name", "mine", "--db", store.url)
    token = made.stdout.splitlines()[-1]
    assert token.startswith("hb_")
    key = token.split("_")[1]
    assert run("token", "list", "--db", store.url).stdout.split() == [key, "admin", "valid", "mine"]
    with running(store) as server:
        assert server("GET", "", token=token).status == 200
    assert run("token", "revoke", key, "--db", store.url).returncode == 0
    assert "revoked" in run("token", "list", "--db", store.url).stdout
    assert "1 snapshot equal" in run("verify", "--db", store.url).stdout
    exported = run("export", "x", "--db", store.url, "--format", "csv", "--out", str(tmp_path / "x.csv"))
    assert exported.returncode == 0
    assert (tmp_path / "x.csv").read_text().count("\n") == 6
    for bad in (
        ("export", "nobody", "--db", store.url), ("token", "create", "--role", "king", "--db", store.url),
        ("token", "revoke", "nobody", "--db", store.url), ("verify", "--db", "mysql://x"),
        ("export", "x", "--db", store.url, "--format", "xml"),
    ):  # fmt: skip
        refused = run(*bad)
        assert refused.returncode == 2, bad
        assert refused.stderr.startswith("heavybandits: ")
        assert refused.stderr.count("\n") == 1


def test_commands_refuse_a_database_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "typo.db"
    db = f"sqlite:///{path}"
    for command in ("verify",), ("export", "x"), ("prune", "--days", "1"), ("token", "list"), ("token", "revoke", "x"):
        refused = run(*command, "--db", db)
        assert refused.returncode == 2, command
        assert (
            refused.stderr == f"heavybandits: there is no database {db}; serve creates one, or name another with --db\n"
        )
        assert not path.exists(), command
    assert run("token", "create", "--role", "read", "--db", db).returncode == 0


def test_an_export_that_fails_leaves_the_old_file(store: Storage, tmp_path: Path) -> None:
    with running(store) as server:
        server("PUT", "/x", {"arms": [{"name": "a"}, {"name": "b"}], "policy": "ucb"})
        server("POST", "/x/batch", {"items": [{"decision": {}} for _ in range(300)]})
    out = tmp_path / "exports" / "x.ndjson"
    out.parent.mkdir()
    out.write_text("of yesterday")
    command = "export", "x", "--db", store.url, "--out"
    full = run(*command, str(out), limit=50_000)  # the disk is full after some of the lines
    assert (full.returncode, full.stderr) == (2, f"heavybandits: File too large: {out}\n")
    assert out.read_text() == "of yesterday"
    assert list(out.parent.iterdir()) == [out]
    assert run(*command, str(out)).returncode == 0
    assert out.read_text().count("\n") == 301
    assert run(*command, "/dev/stdout").stdout == out.read_text()  # which is no file to be replaced


def test_an_export_whose_database_fails_leaves_the_old_file(
    server: Running, store: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(server)
    whole = export.rows

    def cut(*arguments: Any) -> Iterator[dict[str, Any]]:
        yield next(whole(*arguments))
        raise StorageError("the connection is cut")

    out = tmp_path / "exports" / "x.csv"
    out.parent.mkdir()
    monkeypatch.setattr(export, "rows", cut)
    with pytest.raises(StorageError, match=r"^the connection is cut$"):
        commands.export("x", store.url, out, "csv", 0)
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize("command", [("serve",), ("verify",), ("token", "create", "--role", "read")])
def test_commands_say_in_one_line_that_a_database_cannot_be_reached(command: tuple[str, ...]) -> None:
    refused = run(*command, "--db", "postgresql://someone:secret@127.0.0.1:1/x")
    assert refused.returncode == 2
    assert refused.stderr.startswith("heavybandits: cannot connect: ")
    assert refused.stderr.count("\n") == 1
    assert "secret" not in refused.stderr


def interrupted(work: Callable[..., int], after: int) -> Callable[..., int]:
    """Return work that is interrupted after some calls."""
    calls = iter(range(after))

    def some(*arguments: Any) -> int:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return work(*arguments)

    return some


def test_pruned_events_have_taught_what_they_had_to(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "EVENTS_PER_STATEMENT", 7)
    clock = FakeClock()
    with running(storage, clock) as server:
        server("PUT", "/x", {"arms": [{"name": "a"}, {"name": "b"}], "policy": "ucb"})
        for i in range(20):
            server("POST", "/x/decisions", {"id": f"old{i}"})
            if i != 7:
                server("PUT", f"/x/decisions/old{i}/reward", {"value": i})
        clock.now += 10 * SECOND
        server("POST", "/x/decisions", {"id": "new"})
        before = server("GET", "/x/report").body
    session = storage.connect()
    with monkeypatch.context() as patch:
        patch.setattr(type(session), "remove_events", interrupted(type(session).remove_events, after=2))
        with pytest.raises(KeyboardInterrupt):
            prune(session, clock.now - SECOND, clock)
    assert len(session.events(1, 0)) == 41 - 13  # the first fourteen are gone, but for the one that made the experiment
    for gone in (25, 0):
        assert [finding.text for finding in prune(session, clock.now - SECOND, clock)] == [f"x: {gone} events removed"]
    assert all(finding.ok for finding in verify(session))
    session.close()
    with running(storage, clock) as server:
        after = server("GET", "/x/report").body
        assert after == before
        assert server("PUT", "/x/decisions/old7/reward", {"value": 7}).status == 201
        assert server("PUT", "/x/decisions/old8/reward", {"value": 8}).status == 404
        assert server("POST", "/x/decisions", {"id": "new"}).status == 200


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise ModuleNotFoundError(\"No module named 'msgspec'\", name='msgspec')")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = ['heavybandits', 'serve']; "
    done = subprocess.run(
        [sys.executable, "-c", script + "from heavybandits.cli import main; main()"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "heavybandits: the service needs msgspec: pip install 'heavybandits[serve]'\n"


def test_importing_the_client_needs_no_extra() -> None:
    script = "import sys, heavybandits as hb; hb.Client; print('msgspec' in sys.modules, 'starlette' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
