"""The client with services of other versions, or behind proxies: it takes what it knows, and says what is missing."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from callers import KINDS

import heavybandits as hb

KNOWN: dict[str, Any] = {
    "id": "one",
    "arm": "a",
    "payload": {"css": "b"},
    "p": 0.5,
    "reason": "policy",
    "seq": 7,
    "deadline": None,
}
NEWER = {"explanation": {"because": [{"of": ["this"]}]}, "model": None, "_fields": 1, "self": 2}


class Stub(HTTPServer):
    """A server that gives one answer to everything."""

    status = 200
    answer: Any = b""


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.answer
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_PUT = do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(params=KINDS)
def client(request: pytest.FixtureRequest, stub: Stub) -> Iterator[Any]:
    client = KINDS[request.param](f"http://127.0.0.1:{stub.server_port}", patience=0)
    yield client
    client.close()


def test_fields_of_a_newer_service_are_ignored(stub: Stub, client: Any) -> None:
    stub.answer = {**NEWER, **KNOWN, "payload": {**NEWER, "css": "b"}}
    decision = client.decide("x")
    assert decision._asdict() == {**KNOWN, "payload": {**NEWER, "css": "b"}, "point": None}
    stub.answer = {"seq": 8, **NEWER}
    assert client.reward("x", decision, 1.0)["seq"] == 8
    assert client.cancel("x", decision)["seq"] == 8
    assert client.observe("x", "a", 1.0)["seq"] == 8
    assert client.create("x", ["a"])["seq"] == 8
    assert client.report("x")["seq"] == 8


def test_newer_problems_are_told_too(stub: Stub, client: Any) -> None:
    stub.status, stub.answer = 409, {**NEWER, "title": "different value", "detail": "got 1, then 2"}
    with pytest.raises(hb.ServiceError, match=r"^409: different value: got 1, then 2$") as refused:
        client.decide("x")
    assert refused.value.status == 409
    stub.status, stub.answer = 405, {"title": "method not allowed", "status": 405}
    with pytest.raises(hb.ServiceError, match=r"^405: method not allowed$"):
        client.delete("x")


@pytest.mark.parametrize("missing", KNOWN)
def test_an_answer_that_lacks_a_field_is_refused_by_its_name(missing: str, stub: Stub, client: Any) -> None:
    stub.answer = {name: value for name, value in KNOWN.items() if name != missing}
    with pytest.raises(
        hb.ServiceError, match=f"the answer of http://127.0.0.1:.* must have {missing}, got "
    ) as refused:
        client.decide("x")
    assert refused.value.status == 0


@pytest.mark.parametrize("answer", [b"<html>Please log in</html>", b"", b"[1, 2]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_answer_of_the_service_is_refused(answer: bytes, stub: Stub, client: Any) -> None:
    stub.answer = answer
    with pytest.raises(hb.ServiceError, match="must be a JSON object, got b'") as refused:
        client.report("x")
    assert len(str(refused.value)) < 200
    stub.status = 404
    with pytest.raises(hb.ServiceError, match=r"^404: Not Found: ") as refused:
        client.report("x")
    assert refused.value.status == 404
