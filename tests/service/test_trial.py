"""What the service accepts: names, numbers, payloads and policies that every part of it can hold, store and show."""

import math
import tracemalloc
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from services import ARMS, Running, call, new_storage, running

from heavybandits.algorithms.registry import examples, make, policies
from heavybandits.protocols import is_named_tuple
from heavybandits.service.experiments.changes import check_experiment
from heavybandits.service.experiments.trial import LARGEST_STATE_BYTES, check_size, n_bytes
from heavybandits.service.spec import Arm, Experiment, as_float

CONTROL = ["%00", "a%00b", "a%0Ab", "a%0A", "%1B[31m", "%C2%85", "%7F"]
UNUSUAL = [*CONTROL, "%ED%A0%80", "%FF", "%F0%9F%98%80", "x" * 65, "x" * 129, "%EF%BF%BF", "%E2%80%AE"]
PATHS = [
    ("GET", "/{}", None), ("GET", "/{}/report", None), ("GET", "/{}/audit", None), ("GET", "/{}/export", None),
    ("PUT", "/{}", {"arms": ARMS, "policy": "ucb"}), ("PATCH", "/{}", {"state": "running"}),
    ("DELETE", "/{}", None), ("POST", "/{}/decisions", {}), ("POST", "/{}/batch", {"items": [{"cancel": "x"}]}),
    ("POST", "/{}/observations", {"arm": "a", "value": 1}),
    ("PUT", "/{}/arms/{}", {}), ("PATCH", "/x/arms/{}", {"state": "paused"}), ("DELETE", "/x/arms/{}", None),
    ("DELETE", "/x/decisions/{}", None), ("PUT", "/x/decisions/{}/reward", {"value": 1}),
    ("PUT", "/x/decisions/d/rewards/{}", {"value": 1}),
]  # fmt: skip
TEXTS = ["\0", "a\0b", "a\nb", "a\n", "\ud800", "\udc00a", "\x1b", "😀", "\uffff", "x" * 129, "x" * 1025, "'", '"; --']


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(new_storage(request, tmp_path_factory.mktemp("log"))) as server:
        yield server


def still_works(server: Running) -> bool:
    """Whether the server is ready and stores: a statement that failed would have made it drop its connection."""
    return server.service.log.available and call(server.address, "GET", "/ready").status == 200


@pytest.mark.slow
@pytest.mark.parametrize("name", UNUSUAL, ids=range(len(UNUSUAL)))
def test_no_name_in_a_path_makes_a_statement_fail(server: Running, name: str) -> None:
    server("PUT", "/x", {"arms": ARMS, "policy": "ucb", "reward": {"window": 60, "combine": "sum"}})
    server("POST", "/x/decisions", {"id": "d"})
    for method, path, body in PATHS:
        answer = server(method, path.replace("{}", name), body)
        assert answer.status < 500, (method, path, answer)
        if name in CONTROL:
            assert answer.status == 404, (method, path, answer)
            assert "without slashes or control characters" in answer.body["detail"]
    for path in (f"/experiments/{name}", f"/experiments/{name}/live", f"/experiments/{name}/rivals"):
        assert call(server.address, "GET", path).status < 500
    assert still_works(server)


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_text_in_a_body_makes_a_statement_fail(server: Running, text: str) -> None:
    name = f"/{uuid.uuid4().hex}"
    server("PUT", name, {"arms": ARMS, "policy": "ucb", "sticky": True})
    server("POST", f"{name}/decisions", {"id": "d"})
    told = {"arms": [{"name": "a", "payload": {text: [text]}}], "policy": "ucb"}
    bodies: list[tuple[str, str, Any]] = [
        ("PUT", f"{name}-payload", told),
        ("PUT", f"{name}-policy", {"arms": ARMS, "policy": text}),
        ("PUT", f"{name}-parameter", {"arms": ARMS, "policy": {"kind": "level-set-ucb", "noise": text}}),
        ("PUT", f"{name}-kind", {"arms": ARMS, "policy": {"kind": "ucb", text: text}}),
        ("PUT", f"{name}-arm", {"arms": [{"name": text}], "policy": "ucb"}),
        ("PUT", f"{name}-control", {"arms": ARMS, "policy": "ucb", "control": text}),
        ("PUT", f"{name}-floor", {"arms": ARMS, "policy": "ucb", "floor": {text: 0.1}}),
        ("PUT", f"{name}/arms/c", {"payload": {text: text}}),
        ("PATCH", name, {"state": text}),
        ("POST", f"{name}/decisions", {"id": text}),
        ("POST", f"{name}/decisions", {"unit": text}),
        ("POST", f"{name}/decisions", {"among": [text]}),
        ("POST", f"{name}/decisions", {"context": {text: [1.0]}}),
        ("PUT", f"{name}/decisions/d/reward", {"value": text}),
        ("POST", f"{name}/observations", {"arm": text, "value": 1}),
        ("POST", f"{name}/observations", {"arm": "a", "value": 1, "id": text}),
        ("POST", f"{name}/batch", {"items": [{"decision": {"id": text, "unit": text}}]}),
        ("POST", f"{name}/batch", {"items": [{"reward": {"decision": text, "id": text, "value": 1}}]}),
        ("POST", f"{name}/batch", {"items": [{"cancel": text}]}),
        ("POST", f"{name}/batch", {"items": [{"observation": {"arm": text, "value": 1}}]}),
    ]
    for method, path, body in bodies:
        answer = server(method, path, body)
        assert answer.status < 500, (method, path, body, answer)
        if path.endswith("/batch") and answer.status == 200:
            assert answer.body["items"][0]["status"] < 500
    for query in (f"after={quote(text, errors='surrogatepass')}", f"format={quote(text, errors='surrogatepass')}"):
        assert server("GET", f"{name}/export?{query}").status < 500
    if "\ud800" not in text and "\udc00" not in text:  # JSON has none of these
        assert server("GET", f"{name}-payload").body["arms"][0]["payload"] == {text: [text]}
        assert server("GET", f"{name}-payload/report").status == 200
    assert still_works(server)


@pytest.mark.slow
@pytest.mark.parametrize("value", [5e-324, -5e-324, 1.7976931348623157e308, 2**64, -(2**70), -0.0, "-Infinity"])
def test_every_reward_is_stored_as_it_is(server: Running, value: Any) -> None:
    name = f"/{uuid.uuid4().hex}"
    server("PUT", name, {"arms": ARMS, "policy": "ucb"})
    server("POST", f"{name}/decisions", {"id": "d"})
    assert server("PUT", f"{name}/decisions/d/reward", {"value": value}).status == 201
    session = server.service.storage.connect()
    exp = session.progress()[name[1:]].id
    (stored,) = [float(str(each.value)) for each in session.find(exp, ["d"]) if each.kind == "reward"]
    session.close()
    held = as_float(value)
    assert (stored, math.copysign(1.0, stored)) == (held, math.copysign(1.0, held))


def nested(depth: int) -> Any:
    value: Any = 1
    for i in range(depth):
        value = [value] if i % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("payload", "word"),
    [
        (2**64, "payload of arm 'a' must have whole numbers from -2**63 to 2**64 - 1, got 18446744073709551616"),
        ({"deep": [{"er": -(2**63) - 1}]}, "got -9223372036854775809"),
        (10**400, "got one of more than 40 digits"),
        (nested(33), "payload of arm 'a' must have at most 32 levels of lists and mappings"),
        (nested(900), "at most 32 levels"),
        ("x" * (1 << 20), "at most 1048576 bytes together"),
    ],
    ids=["large", "negative", "huge", "deep", "deeper", "long"],
)
def test_payloads_that_cannot_be_stored_are_refused(payload: Any, word: str) -> None:
    with pytest.raises(ValueError, match="payload") as refused:
        check_experiment(Experiment(arms=[Arm("a", payload)], policy="ucb"))
    assert word in str(refused.value)


@pytest.mark.parametrize("payload", [2**64 - 1, -(2**63), nested(32), {"a": "\0"}], ids=range(4))
def test_payloads_at_the_limits_are_accepted(payload: Any) -> None:
    spec = Experiment(arms=[Arm("a", payload)], policy="ucb")
    check_experiment(spec)
    assert msgspec.json.decode(msgspec.json.encode(spec), type=Experiment) == spec  # and stored as they are


@pytest.mark.slow
@pytest.mark.parametrize("payload", [2**64, -(2**64), nested(33), nested(900)])
def test_what_is_refused_leaves_everything_readable(server: Running, payload: Any) -> None:
    name = f"/{uuid.uuid4().hex}"
    assert server("PUT", name, {"arms": [{"name": "a", "payload": payload}], "policy": "ucb"}).status == 422
    assert server("PUT", name, {"arms": ARMS, "policy": {"kind": "ucb", "c": payload}}).status == 422
    assert server("PUT", name, {"arms": ARMS, "policy": "ucb"}).status == 201
    assert server("PUT", f"{name}/arms/c", {"payload": payload}).status == 422
    assert server("GET", f"{name}/report").status == 200
    assert server("GET", "").status == 200


@pytest.mark.slow
def test_the_payloads_of_all_arms_count(server: Running) -> None:
    name, large = f"/{uuid.uuid4().hex}", "x" * (1 << 19)
    server("PUT", name, {"arms": ARMS, "policy": "ucb"})
    assert server("PUT", f"{name}/arms/c", {"payload": large}).status == 201
    refused = server("PUT", f"{name}/arms/d", {"payload": large})
    assert (refused.status, "bytes together" in refused.body["detail"]) == (422, True)


def fields(policy: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in policy._asdict().items():
        if is_named_tuple(value):
            yield from fields(value, (*path, name))
        else:
            yield (*path, name), value


def replaced(policy: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return a policy with another parameter, checked as all are."""
    first, *rest = path
    new = replaced(getattr(policy, first), tuple(rest), value) if rest else value
    return type(policy)(**{**policy._asdict(), first: new})


@pytest.mark.parametrize(("kind", "n"), [("arms", 1_000), ("linear", 512)])
def test_no_parameter_of_any_policy_takes_all_the_memory(kind: str, n: int) -> None:
    tried = 0
    for name in policies(kind):
        policy = make(name, **examples()[name])
        check_size(policy, n)  # as it usually is
        for path, value in fields(policy):
            for extreme in (10**6 + 1, 10**9, 10**12 + 1) if type(value) is int else (1e-300, 1e-9, 1 - 1e-12, 1e300):
                try:
                    changed = replaced(policy, path, extreme)
                except (ValueError, TypeError):
                    continue
                tried += 1
                tracemalloc.start()
                try:
                    check_size(changed, n)
                    assert n_bytes(changed.init(n, None)) <= LARGEST_STATE_BYTES, (name, path, extreme)
                except ValueError:  # refused, or it needs a horizon
                    pass
                finally:
                    peak = tracemalloc.get_traced_memory()[1]
                    tracemalloc.stop()
                assert peak < 10 * LARGEST_STATE_BYTES, (name, path, extreme)
    assert tried > 100


@pytest.mark.parametrize(
    "policy",
    [
        {"kind": "sliding-window-ucb", "window": 10**9},
        {"kind": "sliding-window-ucb", "window": 2**53},
        {"kind": "mean-of-medians", "policy": {"kind": "ucb"}, "m": 50_000},  # times as many arms as may be added
        {"kind": "restarting", "policy": {"kind": "sliding-window-ucb", "window": 10**7}},
    ],
)
def test_policies_that_need_too_much_memory_are_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="policy must have a state of at most 80 MiB"):
        check_experiment(Experiment(arms=[Arm("a"), Arm("b")], policy=policy))


def test_a_failure_on_trial_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.service.experiments.trial.full_report", lambda *of: {"mean": {1j}})
    with pytest.raises((ValueError, TypeError)):
        check_experiment(Experiment(arms=[Arm("a")], policy="ucb"))
    monkeypatch.setattr("heavybandits.service.experiments.trial.full_report", lambda *of: 1 / 0)
    with pytest.raises(ValueError, match="the experiment cannot be used: ZeroDivisionError: division by zero"):
        check_experiment(Experiment(arms=[Arm("a")], policy="ucb"))


def test_policies_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_experiment(Experiment(arms=[Arm("a")], policy="ucb"))
    monkeypatch.setattr("heavybandits.service.experiments.trial.SLOWEST_SECONDS", 0.0)
    with pytest.raises(ValueError, match="policy must decide, learn and report within 0 s of processor time, took"):
        check_experiment(Experiment(arms=[Arm("a")], policy="ucb"))
