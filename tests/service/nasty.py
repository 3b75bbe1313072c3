"""Requests that no honest client makes: random ones to every address, with everything about them damaged at random."""

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, quote_from_bytes, urlencode

from heavybandits.service.http.table import OPERATIONS, Operation

EXPERIMENTS = [f"fuzzed {i}" for i in range(8)]
ARMS = ["zeta", "Alpha", "mid"]
KEYS = [f"k{i}" for i in range(120)]
POLICIES: list[Any] = [
    None, "ucb", "ucb", "thompson-gaussian", "tsallis-inf", {"kind": "ucb", "c": 2.0}, {"kind": "ucb"},
    {"kind": "sliding-window-ucb", "window": 100}, {"kind": "robust-ucb", "estimator": {"kind": "empirical-mean"}},
]  # fmt: skip
LINEAR: list[Any] = ["lin-ucb", "lin-ts", {"kind": "lin-ucb"}]
# Texts that are names, or nearly.
TEXTS = [
    "", ".", "..", "...", "a/b", "a\\b", "a\0b", "a\nb", "line\n", "\x1b[31m", "\x7f", "\x85", "é", "Ω≈ç√", "名前",
    "🎲", "\u202etxt", "\ud800", "x" * 64, "x" * 65, "y" * 128, "y" * 129, "z" * 5_000, " ", "%", "%00", "a b", "a+b",
    "'; DROP TABLE event --", "<script>alert(1)</script>", "{{7*7}}", "None", "null", "-1", "nan", "k0/r0", "?", "#",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**400, 0.0, -0.0,
    1e-320, 1e308, -1e308, 0.1, "Infinity", "-Infinity", "NaN", float("nan"), float("inf"), [], {}, [[]], [None],
    {"": None}, {"kind": "ucb"}, {"kind": {"kind": "ucb"}}, [1, "a", None, 2.5], [0.0] * 300, list(range(1_001)),
]  # fmt: skip
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO", "get"]


class Nasty(NamedTuple):
    """What is sent."""

    sent: bytes
    is_sound: bool  # whether it is HTTP and short enough, so that there must be an answer
    is_left: bool = False  # whether the connection is then left without waiting for an answer


def nasty(rng: random.Random, host: str, pages: list[tuple[str, str]]) -> Nasty:
    """Return a random request to the interface or to one of the pages, which are given as methods and paths."""
    kind = rng.random()
    if kind < 0.06:
        return _broken(rng, host)
    if kind < 0.2:
        method, path = rng.choice(pages)
        return _form(rng, host, path) if method == "POST" else _whole(rng, host, method, _path(rng, path), "", b"")
    item = _operation(rng)
    method = item.method if rng.random() < 0.95 else rng.choice(METHODS)
    contents = b"" if item.form is None else _json(rng, _valid(rng, item.form.__name__))
    return _whole(rng, host, method, _path(rng, item.path), "application/json", contents)


def _operation(rng: random.Random) -> Operation:
    """Return an endpoint: experiments are made more often than deleted, so most requests are to one that exists."""
    change = {item.method: item for item in OPERATIONS if item.path == "/v1/experiments/{experiment}"}
    chosen = change["PUT"] if rng.random() < 0.08 else rng.choice(OPERATIONS)
    return chosen if chosen is not change["DELETE"] or rng.random() < 0.1 else _operation(rng)


# Addresses


def _name(rng: random.Random, usual: list[str]) -> str:
    return rng.choice(usual) if rng.random() < 0.85 else rng.choice(TEXTS)


def _path(rng: random.Random, path: str) -> str:
    """Return a path with names in it, which may be encoded in odd ways."""
    usual = {"experiment": EXPERIMENTS, "arm": ARMS, "decision": KEYS, "reward": ["r0", "r1"], "file": ["base.css"]}
    for part, names in usual.items():
        path = path.replace(f"{{{part}}}", _encoded(rng, _name(rng, names)))
    if rng.random() < 0.15:
        query = {"after": rng.choice(["0", "5", "-1", "1e9", "9" * 30, "", "\0", "é"]),
                 "format": rng.choice(["csv", "ndjson", "parquet", "xml", "\0"]), "to": rng.choice(TEXTS)}  # fmt: skip
        path += "?" + urlencode(query, errors="surrogatepass")
    return path


def _encoded(rng: random.Random, name: str) -> str:
    kind = rng.random()
    if kind < 0.9:
        return quote_from_bytes(name.encode(errors="surrogatepass"), safe="")
    if kind < 0.95:
        return quote(name.encode("utf-16", "surrogatepass"), safe="")  # bytes that are not UTF-8
    return rng.choice(["%", "%zz", "%C0%AF", "..%2f..", "%2e%2e", "%00", "a%0d%0ab", "%ff%fe", "%252e"])


# Bodies


def _valid(rng: random.Random, form: str) -> dict[str, Any]:
    """Return a body that would be accepted, were it not for what it names."""
    forms: dict[str, Callable[[random.Random], dict[str, Any]]] = {
        "DecisionRequest": _decision, "RewardRequest": _reward, "Observation": _observation, "Experiment": _experiment,
        "Batch": lambda rng: {"items": [_item(rng) for _ in range(rng.randint(1, 5))]},
        "ExperimentChange": _change,
        "FlagRequest": lambda rng: {"context": {"targetingKey": rng.choice(TEXTS), "plan": rng.choice(VALUES)}},
        "NewArm": lambda rng: {"payload": rng.choice(VALUES)} | _attributes_of_arm(rng),
        "ArmChange": lambda rng: {"state": rng.choice(["running", "paused"])},
    }  # fmt: skip
    return forms[form](rng)


def _change(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.2:
        return {"control": _name(rng, ARMS)}
    state = rng.choice(["running", "running", "running", "paused", "stopped", "finished"])
    return {"state": state} | ({"arm": _name(rng, ARMS)} if state == "finished" else {})


def _decision(rng: random.Random) -> dict[str, Any]:
    asked: dict[str, Any] = {"id": _name(rng, KEYS)}
    if rng.random() < 0.3:
        asked["unit"] = rng.choice(["u1", "u2", *TEXTS])
    if rng.random() < 0.2:
        asked["among"] = rng.sample(ARMS, 2)
    if rng.random() < 0.4:
        vectors = {arm: [1.0, rng.random()] for arm in ARMS}
        asked["context"] = rng.choice([[1.0, 0.5], vectors, {"attributes": _attributes(rng)}])
    return asked


def _attributes(rng: random.Random) -> dict[str, Any]:
    usual = {"plan": rng.choice(["free", "paid", None]), "age": rng.randint(18, 80), "back": rng.random() < 0.5}
    odd = {rng.choice(TEXTS): rng.choice(VALUES)} if rng.random() < 0.1 else {}
    return dict(rng.sample(list(usual.items()), rng.randint(0, 3))) | odd


def _attributes_of_arm(rng: random.Random) -> dict[str, Any]:
    return {"attributes": _attributes(rng)} if rng.random() < 0.3 else {}


def _reward(rng: random.Random) -> dict[str, Any]:
    return {"value": rng.choice([rng.gauss(), rng.paretovariate(1.1), 0, "Infinity", "-Infinity", 1e308])}


def _observation(rng: random.Random) -> dict[str, Any]:
    seen = {"id": _name(rng, KEYS), **_reward(rng)}
    if rng.random() < 0.1:
        return seen | {"point": {"price": rng.choice([5, 12.5, 25, 26]), "delay": rng.random()}}
    context = rng.choice([[1.0, 0.5], {"attributes": _attributes(rng)}])
    return seen | {"arm": _name(rng, ARMS)} | ({"context": context} if rng.random() < 0.4 else {})


def _item(rng: random.Random) -> dict[str, Any]:
    reward = {"decision": _name(rng, KEYS), **_reward(rng)} | ({"id": "r0"} if rng.random() < 0.3 else {})
    return rng.choice([{"decision": _decision(rng)}, {"reward": reward}, {"cancel": _name(rng, KEYS)},
                       {"observation": _observation(rng)}])  # fmt: skip


def _experiment(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.1:
        return {"points": {"price": [5, 25], "delay": [0, 1]}, "sticky": rng.random() < 0.5}
    names = ARMS if rng.random() < 0.8 else [f"{_name(rng, ARMS)}{i}" for i in range(rng.choice([1, 5, 40]))]
    spec: dict[str, Any] = {
        "arms": [{"name": name, "payload": rng.choice([None, "blue", {"price": [1.5]}])} for name in names]
    }
    if rng.random() < 0.4:
        named: list[Any] = [
            {"attributes": True},
            {"attributes": {"plan": ["free"], "age": "number", "back": 9}},
        ]
        vectors: list[Any] = [{}, {"shared": True}, {"shared": True, "n_features": 2}, {"n_features": 2}]
        spec["context"] = rng.choice(named + vectors)
        if "attributes" in spec["context"]:
            spec["arms"] = [arm | _attributes_of_arm(rng) for arm in spec["arms"]]
    spec["policy"] = rng.choice(LINEAR if "context" in spec else POLICIES)
    if rng.random() < 0.5:
        spec["reward"] = rng.choice([{"window": 5}, {"window": 5, "default": 0}, {"window": 1e-6, "combine": "sum"}])
    if rng.random() < 0.3:
        spec |= {"sticky": True, "floor": {names[0]: 0.1}, "control": names[-1], "goal": "location", "seed": 2**53 - 1}
    return spec


def _damaged(rng: random.Random, value: Any) -> Any:
    """Return a body in which something is replaced, left out or added."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.1:
            return {key: inner for key, inner in value.items() if key != name}
        if kind < 0.2:
            return value | {rng.choice(TEXTS): rng.choice(VALUES)}
        return value | {name: _damaged(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [*value[:place], _damaged(rng, value[place]), *value[place + 1 :] * rng.choice([1, 1, 1, 400])]
    return rng.choice(rng.choice([TEXTS, VALUES]))


def _json(rng: random.Random, value: Any) -> bytes:
    """Return a body as bytes, most often damaged."""
    for _ in range(rng.choice([0, 0, 0, 0, 1, 1, 2])):
        value = _damaged(rng, value)
    text, kind = json.dumps(value, ensure_ascii=rng.random() < 0.9), rng.random()
    if kind < 0.8:
        return text.encode(errors="surrogatepass")
    depth = rng.choice([33, 900, 1_100, 100_000])
    return rng.choice([
        text.encode(errors="surrogatepass")[: rng.randrange(len(text))],
        text.encode("utf-16", "surrogatepass"),
        b"\xef\xbb\xbf" + text.encode(errors="surrogatepass"),
        text.encode("latin-1", "replace").replace(b"a", b"\xe9"),
        b'{"payload": ' + b"[" * depth + b"]" * depth + b"}",
        b'{"value": ' + b"9" * rng.choice([30, 400, 5_000]) + b"}",
        b'{"value": 1, "value": 2, "id": "k0", "id": "k1"}',
        b'{"value": 1e999999}', b"[" * depth, b"nul", b"\0" * 10, b" " * 1_000, b"x" * rng.choice([1 << 20, 1_100_000]),
    ])  # fmt: skip


def _form(rng: random.Random, host: str, path: str) -> Nasty:
    """Return what a page sends, damaged."""
    fields = {
        "name": _name(rng, EXPERIMENTS), "to": rng.choice(TEXTS), "goal": rng.choice(["mean", "location", ""]),
        "arms": "\n".join(_name(rng, ARMS) for _ in range(rng.choice([0, 3, 3]))),
        "context": rng.choice(["none", "none", "arms", "shared", "attributes", "x"]),
        "points": rng.choice(["", "", "", "price 5 25", "price 5", "a 1 nan", "b -inf inf", "c 1 2\nc 1 2", "\0 1 2"]),
        "window": rng.choice(["", "1", "nan", "inf", "1e400", "-1", "\0"]), "token": rng.choice(TEXTS),
        "default": rng.choice(["", "0", "nan", "-inf"]), "state": rng.choice(["running", "paused", "stopped", "x"]),
    }  # fmt: skip
    contents = urlencode(fields, errors="surrogatepass").encode()
    if rng.random() < 0.2:
        contents = rng.choice([b"\xff\xfe", b"&" * 1_000, b"a=1&" * 1_000, contents[: len(contents) // 2], b"%ff=%00"])
    kind = "application/x-www-form-urlencoded"
    return _whole(rng, host, "POST", _path(rng, path), kind, contents, ("Origin", f"http://{host}"))


# Whole requests


def _whole(
    rng: random.Random, host: str, method: str, path: str, kind: str, contents: bytes, *more: tuple[str, str]
) -> Nasty:  # fmt: skip
    headers = {"Host": host, **dict(more)}
    if kind and rng.random() < 0.97:
        headers["Content-Type"] = kind
    if rng.random() < 0.05:
        odd = {"Authorization": "Bearer hb_x_y", "Cookie": "hb_token=\xff", "Origin": "http://evil", "Host": "evil:80",
               "Content-Type": rng.choice(["text/plain", "application/json; charset=utf-16", "\xe9", ""]),
               "If-None-Match": "*", "Expect": "100-continue", "X-Odd": "\x80\xff", "Accept": "x" * 4_000}  # fmt: skip
        name = rng.choice(list(odd))
        headers[name] = odd[name]
    if contents and rng.random() < 0.1:
        headers["Transfer-Encoding"] = "chunked"
        middle = rng.randrange(len(contents))
        parts = [part for part in (contents[:middle], contents[middle:]) if part]
        contents = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    elif contents or method in ("POST", "PUT", "PATCH"):
        headers["Content-Length"] = str(len(contents))
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return Nasty(head.encode("latin-1") + b"\r\n" + contents, len(contents) < 1 << 20)


def _broken(rng: random.Random, host: str) -> Nasty:
    """Return bytes that are no request, or only a part of one."""
    sound = f"POST /v1/experiments/{quote(EXPERIMENTS[0])}/decisions HTTP/1.1\r\nHost: {host}\r\n".encode()
    typed = sound + b"Content-Type: application/json\r\n"
    chunked = typed + b"Transfer-Encoding: chunked\r\n\r\n"
    if rng.random() < 0.3:
        whole = typed + b"Content-Length: 20\r\n\r\n" + b'{"id": "half"}      '
        unfinished = [whole[: rng.randrange(1, len(whole))], b"\r\n\r\n\r\n", chunked + b"2\r\n{}\r\n",
                      sound + b"Content-Length: 99999999999999999999\r\n\r\n{}"]  # fmt: skip
        return Nasty(rng.choice(unfinished), is_sound=False, is_left=True)
    return Nasty(rng.choice([
        b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET " + b"/x" * 50_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /ready HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
        sound + b"X: " + b"x" * 100_000 + b"\r\n\r\n", sound + b"X\0Y: 1\r\n\r\n", sound + b" folded: 1\r\n\r\n",
        sound + b"X: 1\r\n" * 20_000 + b"\r\n", sound + b"Content-Length: -1\r\n\r\n",
        sound + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        typed + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        sound + b"Transfer-Encoding: gzip\r\n\r\n",
        chunked + b"zz\r\n{}\r\n0\r\n\r\n", chunked + b"2\r\n{}xx0\r\n\r\n", chunked + b"-2\r\n{}\r\n0\r\n\r\n",
        chunked + b"f" * 30 + b"\r\n{}",
        b"GET /ready HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
    ]), is_sound=False, is_left=rng.random() < 0.2)  # fmt: skip
