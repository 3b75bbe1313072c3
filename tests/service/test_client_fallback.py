"""Clients whose service is slow, silent, broken or gone: they answer in time, say so, and leave nothing behind."""

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from callers import GUARD, KINDS, in_time, requests, silent, wire
from services import eventually

import heavybandits as hb
from heavybandits.service.client import trouble
from heavybandits.service.client.trouble import BREAK_AFTER, BREAK_SECONDS, Breaker

GONE = "http://127.0.0.1:1"
ANSWER = {"id": "one", "arm": "green", "payload": None, "p": 1.0, "reason": "policy", "seq": 2, "deadline": None}


def http(status: str, body: Any) -> bytes:
    content = json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def new(*arguments: Any, **named: Any) -> Any:
        made.append(KINDS[request.param](*arguments, **named))
        return made[-1]

    yield new
    for client in made:
        client.close()


def trickling(connection: socket.socket) -> None:
    """Send an answer that never ends, byte by byte."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b"[")
        time.sleep(0.01)


def trickling_head(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Endless: ")
    while True:
        connection.sendall(b"x")
        time.sleep(0.01)


def cutting(connection: socket.socket) -> None:
    """Close the connection after half an answer."""
    connection.recv(65536)
    connection.sendall(http("200 OK", ANSWER)[:-9])


@pytest.mark.parametrize("serve", [silent, trickling, trickling_head, cutting])
def test_it_falls_back_in_time_whatever_the_service_does(serve: Any, make: Any) -> None:
    with wire(serve) as url:
        client = make(url, timeout=1.0, patience=3600.0)
        decision = in_time(lambda: client.decide("x", fallback="blue", timeout=0.1))
        assert decision[1:] == ("blue", None, None, "fallback", 0, None, None)
        assert in_time(lambda: _refused(client)) == 0


def _refused(client: Any) -> int:
    with pytest.raises(hb.ServiceError, match=r"no answer from http://127.0.0.1:\d+: ") as refused:
        client.decide("x", timeout=0.1)
    assert refused.value.temporary
    return refused.value.status


def test_it_falls_back_where_nothing_listens(make: Any) -> None:
    client = make(GONE, timeout=3600.0, patience=3600.0)
    assert in_time(lambda: client.decide("x", fallback="blue", timeout=0.1)).reason == "fallback"
    assert in_time(lambda: client.decide("x", fallback="blue")).reason == "fallback"
    assert in_time(lambda: _refused(client)) == 0


def test_it_falls_back_while_names_are_not_resolved(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, end = threading.Event(), threading.Event()

    def resolve(*arguments: Any, **named: Any) -> Any:
        asked.set()
        end.wait(GUARD)
        raise OSError("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    client = make("http://bandits.example", patience=0.0)
    assert in_time(lambda: client.decide("x", fallback="blue", timeout=0.1)).reason == "fallback"
    assert asked.is_set()
    end.set()


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "500 Internal Server Error", "422 X"])
def test_it_falls_back_if_the_service_refuses(status: str, make: Any, caplog: pytest.LogCaptureFixture) -> None:
    with wire(lambda connection: answering(connection, http(status, {"title": "no", "detail": "because"}))) as url:
        client = make(url)
        for _ in range(2 * BREAK_AFTER):
            assert client.decide("x", fallback="blue", timeout=GUARD).reason == "fallback"
        with pytest.raises(hb.ServiceError, match=f"^{status[:3]}: no: because$"):
            client.decide("x")  # the breaker is closed: the service answers
    assert [record.getMessage() for record in caplog.records if record.name == "heavybandits.client"] == [
        f"/v1/experiments/x/decisions falls back: {status[:3]}: no: because"
    ]


def answering(connection: socket.socket, answer: bytes) -> None:
    for _ in requests(connection):
        connection.sendall(answer)


def test_rewards_of_fallbacks_are_dropped_with_one_warning(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    client = make(GONE, patience=0.0)
    decision = client.decide("x", fallback="blue", timeout=0.1)
    caplog.clear()
    for which in (decision, decision.id, decision):  # its id may have travelled through a web page
        assert client.reward("x", which, 1.0) == {"id": decision.id, "seq": 0, "learned": False}
    assert (
        client.cancel("x", decision) == client.retract("x", decision) == {"id": decision.id, "seq": 0, "learned": False}
    )
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert messages == [
        f"the reward of {decision.id} is dropped, and so are further ones: the service did not decide this"
    ]
    with pytest.raises(ValueError, match="value must not be NaN"):
        client.reward("x", decision, float("nan"))
    with pytest.raises(ValueError, match="Client: id must not begin with 'fallback:', got 'fallback:a'"):
        client.decide("x", id="fallback:a")
    with pytest.raises(ValueError, match="Client: timeout must be a positive finite number, got 0"):
        client.decide("x", timeout=0)


class Slow:
    """A service that answers decisions only when it is let go, and everything else at once."""

    def __init__(self) -> None:
        self.go, self.seen = threading.Event(), list[str]()

    def __call__(self, connection: socket.socket) -> None:
        for request in requests(connection):
            self.seen.append(request)
            if request.startswith("POST"):
                self.go.wait(GUARD)
            connection.sendall(http("200 OK", ANSWER))


def test_a_late_decision_is_cancelled(make: Any) -> None:
    slow = Slow()
    with wire(slow) as url:
        client = make(url)
        decision = client.decide("x", fallback="blue", timeout=0.1)
        assert decision.reason == "fallback"
        assert slow.seen == ["POST /v1/experiments/x/decisions"]  # not yet: the service may be about to store it
        slow.go.set()
        key = decision.id.removeprefix("fallback:")
        eventually(lambda: slow.seen[1:] == [f"DELETE /v1/experiments/x/decisions/{key}"])


def test_a_decision_that_nobody_awaits_any_more_is_cancelled() -> None:
    slow = Slow()

    async def leave(url: str) -> None:
        client = hb.AsyncClient(url)
        asking = asyncio.create_task(client.decide("x", fallback="blue", timeout=GUARD))
        while not slow.seen:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        slow.go.set()
        while len(slow.seen) < 2:
            await asyncio.sleep(0.01)
        await client.close()

    with wire(slow) as url:
        asyncio.run(asyncio.wait_for(leave(url), GUARD))
    assert slow.seen[1].startswith("DELETE /v1/experiments/x/decisions/")


def test_a_late_decision_with_an_id_of_ones_own_stays(make: Any) -> None:
    slow = Slow()
    with wire(slow) as url:
        client = make(url)
        assert client.decide("x", id="mine", fallback="blue", timeout=0.1).id == "fallback:mine"
        slow.go.set()
        assert client.decide("x", id="mine", fallback="blue", timeout=GUARD).arm == "green"
        assert set(slow.seen) == {"POST /v1/experiments/x/decisions"}


class Moody:
    """A service that refuses for now, or answers."""

    def __init__(self) -> None:
        self.works, self.asked = False, 0

    def __call__(self, connection: socket.socket) -> None:
        for request in requests(connection):
            self.asked += request.startswith("POST")
            refusal = http("503 Service Unavailable", {"title": "busy", "detail": "try again"})
            connection.sendall(http("200 OK", ANSWER) if self.works else refusal)


def test_the_breaker_spares_a_service_that_fails(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "BREAK_SECONDS", 3600.0)
    service = Moody()
    with wire(service) as url:
        client = make(url, patience=0.0)

        def reason(experiment: str) -> str:
            return str(client.decide(experiment, fallback="blue", timeout=0.04).reason)  # too short for a retry

        assert {reason("x") for _ in range(BREAK_AFTER)} == {"fallback"}
        asked = service.asked
        assert asked >= 1  # on a busy machine, some may not have arrived
        service.works = True
        assert {reason("x") for _ in range(20)} == {"fallback"}
        assert service.asked <= BREAK_AFTER
        assert client.decide("y", fallback="blue", timeout=GUARD).reason == "policy"  # another experiment
        assert client.decide("x").reason == "policy"  # without a fallback, it asks
        assert client.decide("x", fallback="blue", timeout=GUARD).reason == "policy"  # and that has closed the breaker


def test_a_client_remembers_experiments_but_no_decisions(make: Any) -> None:
    with wire(lambda connection: answering(connection, http("200 OK", ANSWER))) as url:
        client = make(url)
        for number in range(20):
            client.decide("x", fallback="blue", timeout=GUARD)
            client.reward("x", f"d{number}", 1.0)
            client.cancel("x", f"d{number}")
    settings = client if isinstance(client, hb.Client) else client.client
    assert set(settings._breakers) == {"/v1/experiments/x/decisions"}


def test_the_breaker_closes_by_itself(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "BREAK_SECONDS", 0.0)
    service = Moody()
    with wire(service) as url:
        client = make(url, patience=0.0)
        for _ in range(BREAK_AFTER + 1):
            assert client.decide("x", fallback="blue", timeout=0.04).reason == "fallback"
        service.works = True
        assert client.decide("x", fallback="blue", timeout=GUARD).reason == "policy"


def test_the_breaker() -> None:
    breaker = Breaker()
    for _ in range(BREAK_AFTER):
        assert not breaker.is_open(0.0)
        breaker.note(False, 0.0)
    assert breaker.is_open(BREAK_SECONDS - 0.1)
    assert [breaker.is_open(BREAK_SECONDS) for _ in range(3)] == [False, True, True]  # one is let through
    assert breaker.is_open(2 * BREAK_SECONDS - 0.1)
    assert not breaker.is_open(2 * BREAK_SECONDS)  # even if nobody said how it went
    breaker.note(False, 2 * BREAK_SECONDS)
    assert breaker.is_open(3 * BREAK_SECONDS - 0.1)
    breaker.note(True, 3 * BREAK_SECONDS)
    assert [breaker.is_open(3 * BREAK_SECONDS) for _ in range(3)] == [False, False, False]
