"""The file an agent is saved in: a line that says what it is, a line of JSON, then the state's arrays byte for byte.

The first line holds the format, its version and the SHA-256 of everything else, so a damaged file is always noticed;
but a checksum is no signature: load only files that you trust.  There is no pickle in a file, and nothing in it is ever
run.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validate import LARGEST_COUNT, count, whole
from ..algorithms.kit.state import arrays, check_state, fresh_state, rebuilt
from ..algorithms.registry import all_policies, estimators, make, to_spec
from ..engine.compile.randomness import uses_rng
from . import agent_file_v1

FORMAT, VERSION = "heavybandits-agent", 2


class Saved(NamedTuple):
    """All that an agent is."""

    policy: Any
    horizon: int | None
    labels: list[Any]
    unused: int  # the first number that never named an arm
    pulls: list[int]  # rewards seen, per arm
    seen: int  # rewards seen, those of removed arms included
    rng: np.random.Generator | None
    state: Any
    pending: list[int]  # decisions whose rewards have not come, per arm
    chances: list[tuple[int, list[float]]]  # and probabilities of the latest by arm, if arms are drawn by chance


def encoded(agent: Saved) -> bytes:
    """Return the agent as a file holds it."""
    for label in agent.labels:
        if not isinstance(label, str | int | float):
            raise TypeError(f"Agent: to be saved, arms must be named by text or numbers, got {label!r}")
    layout = [(path, array.dtype.str, array.shape) for path, array in arrays(agent.state)]
    rng = None if agent.rng is None else agent.rng.bit_generator.state
    header = {**agent._asdict(), "policy": _described(agent.policy), "rng": rng, "state": layout}
    parts = [json.dumps(header).encode() + b"\n", *(array.tobytes() for _, array in arrays(agent.state))]
    digest = hashlib.sha256(f"{FORMAT} {VERSION}\n".encode())
    for part in parts:
        digest.update(part)
    return b"".join([f"{FORMAT} {VERSION} {digest.hexdigest()}\n".encode(), *parts])


def decoded(source: str | Path, contents: bytes, policy: Any = None) -> Saved:
    """Return the agent that a file holds; ``policy`` is needed if the saved one is a user's own."""
    first, _, body = contents.partition(b"\n")
    words = first.split(b" ")
    if len(words) != 3 or words[0] != FORMAT.encode():
        raise ValueError(f"{source}: this is not a saved agent")
    version = words[1].decode(errors="replace")
    if version not in ("1", str(VERSION)):
        raise ValueError(f"{source}: the agent is saved in format {version!r}, but this version of heavybandits "
                         f"knows only formats 1 to {VERSION}")  # fmt: skip
    head = b"" if version == "1" else b" ".join(words[:2]) + b"\n"
    if words[2] != hashlib.sha256(head + body).hexdigest().encode():
        raise ValueError(f"{source}: the file is damaged, its contents do not match its checksum")
    text, _, data = body.partition(b"\n")
    try:
        header = json.loads(text)
        policy = _policy(header["policy"], policy)
        return _decoded(header, data, policy, version)
    except Exception as error:  # the file is whole, so it is of another version, or not written by `encoded`
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise ValueError(f"{source}: cannot use the agent saved here: {reason}") from error


def read(path: Path, policy: Any = None) -> Saved:
    """Read and check a file."""
    with path.open("rb") as file:
        start = file.read(len(FORMAT))  # so that a huge file of another kind is not read as a whole
        return decoded(path, start + (file.read() if start == FORMAT.encode() else b""), policy)


def _decoded(header: dict[str, Any], data: bytes, policy: Any, version: str) -> Saved:
    labels, horizon = header["labels"], header["horizon"]
    whole("agent", "unused", header["unused"])
    if horizon is not None:
        count("agent", "horizon", horizon)
    if version == "1":
        header = {**header, "pending": [0] * len(labels), "chances": []}
    for n in (header["seen"], *header["pulls"], *header["pending"]):
        if whole("agent", "pulls", n) > LARGEST_COUNT:
            raise ValueError(f"pulls must be at most {LARGEST_COUNT}, got {n}")
    if not len(set(labels)) == len(header["pulls"]) == len(header["pending"]):
        raise ValueError("there must be as many labels as pulls and as pending decisions")
    chances = [(whole("agent", "arm", arm), list(map(float, queue))) for arm, queue in header["chances"]]
    if not all(arm < len(labels) and all(0.0 <= p <= 1.0 for p in queue) for arm, queue in chances):
        raise ValueError("probabilities of pending decisions must be of arms and from 0 to 1")
    rng = np.random.default_rng(0) if uses_rng(policy) else None
    if rng is not None:
        rng.bit_generator.state = header["rng"]
    values: dict[str, npt.NDArray[Any]] = {}
    offset = 0
    for path, dtype, shape in header["state"]:
        values[path] = np.frombuffer(data, dtype, math.prod(shape), offset).reshape(shape).copy()
        offset += values[path].nbytes
    if offset != len(data):
        raise ValueError(f"the state has {offset} bytes, got {len(data)}")
    template = fresh_state(policy, len(labels), horizon)
    today = dict(arrays(template))
    if version == "1":
        values = agent_file_v1.converted(values, today)
    if list(values) != list(today):
        raise ValueError(f"its state is one of another version of {header['policy']['kind']}")
    state = rebuilt(template, values)
    check_state(state, template, len(labels))
    return Saved(**{**header, "policy": policy, "rng": rng, "state": state, "chances": chances})


def _policy(spec: dict[str, Any], policy: Any) -> Any:
    """The policy that was saved: made by name if all of it is ours, else the one given."""
    if policy is None:
        for kind in _kinds(spec):
            if kind not in all_policies() and kind not in estimators():
                name = kind.removeprefix(":")
                raise ValueError(f"{name} is not part of this package; give the policy, Agent.load(path, policy=...)")
        return make(**spec)
    if _described(policy) != spec:
        raise ValueError(f"policy must be the saved one, {spec}, got {_described(policy)}")
    return policy


def _described(policy: Any) -> Any:
    """The policy as JSON keeps it; a user's own class by its bare name, for files are moved and machines differ."""

    def plain(value: Any) -> Any:
        if not isinstance(value, np.generic | np.ndarray):
            raise TypeError(f"Agent: to be saved, a policy's parameters must be text, numbers or lists, got {value!r}")
        return value.tolist()

    def bare(spec: dict[str, Any]) -> dict[str, Any]:
        _, colon, name = str(spec.get("kind", "")).rpartition(":")
        return {**spec, "kind": colon + name} if colon else spec

    return json.loads(json.dumps(to_spec(policy), default=plain), object_hook=bare)


def _kinds(spec: dict[str, Any]) -> Iterator[str]:
    """Names of all classes in a policy's description."""
    yield spec["kind"]
    for value in spec.values():
        if isinstance(value, dict):
            yield from _kinds(value)
