"""The file an agent is saved in: a line that says what it is, a line of JSON, then the state's arrays byte for byte.

The first line holds the format, its version and the SHA-256 of everything else, so damage is always noticed.  But a
checksum is not a signature: load only files that you trust.  A file contains no pickle, and nothing in it is ever run.
Agents of all kinds are saved in this way; each decides what to store besides its policy, its generator and its state.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .._validate import LARGEST_COUNT, count, whole
from ..algorithms.parts.state.tree import arrays, check_state, rebuilt
from ..algorithms.registry import all_policies, estimators, make, to_spec
from ..protocols import is_randomised, kind_of
from . import agent_file_v1

FORMAT, VERSION = "heavybandits-agent", 2

Made = TypeVar("Made")


class Storable(Protocol):
    """Everything that makes up an agent."""

    @property
    def policy(self) -> Any:
        """The policy."""
        ...

    @property
    def rng(self) -> np.random.Generator | None:
        """The generator, if the policy draws random numbers."""
        ...

    @property
    def state(self) -> Any:
        """The policy's state."""
        ...

    def header(self) -> dict[str, Any]:
        """Return the rest in JSON types."""
        ...


class Contents(NamedTuple):
    """What a file holds, after its checksum and its policy were checked."""

    header: dict[str, Any]
    policy: Any
    rng: np.random.Generator | None
    values: dict[str, npt.NDArray[Any]]  # arrays by their path in the state
    version: str

    @property
    def horizon(self) -> int | None:
        """The planned number of rounds."""
        horizon = self.header["horizon"]
        return None if horizon is None else count("agent", "horizon", horizon)

    def state(self, template: Any, n_arms: int) -> Any:
        """Return the state, which must have the arrays of ``template``, a fresh state."""
        today, values = dict(arrays(template)), self.values
        if self.version == "1":
            values = agent_file_v1.converted(values, today)
        if list(values) != list(today):
            raise ValueError(f"its state is from another version of {self.header['policy']['kind']}")
        state = rebuilt(template, values)
        check_state(state, template, n_arms)
        return state


def counted(*numbers: Any) -> None:
    """Refuse numbers that cannot be counts of rewards or decisions."""
    for n in numbers:
        if whole("agent", "pulls", n) > LARGEST_COUNT:
            raise ValueError(f"pulls must be at most {LARGEST_COUNT}, got {n}")


def encoded(agent: Storable) -> bytes:
    """Return the agent as a file holds it."""
    layout = [(path, array.dtype.str, array.shape) for path, array in arrays(agent.state)]
    rng = None if agent.rng is None else agent.rng.bit_generator.state
    header = {**agent.header(), "policy": _described(agent.policy), "rng": rng, "state": layout}
    parts = [json.dumps(header).encode() + b"\n", *(array.tobytes() for _, array in arrays(agent.state))]
    digest = hashlib.sha256(f"{FORMAT} {VERSION}\n".encode())
    for part in parts:
        digest.update(part)
    return b"".join([f"{FORMAT} {VERSION} {digest.hexdigest()}\n".encode(), *parts])


def decoded(
    source: str | Path, contents: bytes, kind: str, built: Callable[[Contents], Made], policy: Any = None
) -> Made:
    """Return the agent of this kind that a file holds; give ``policy`` if the saved one is a user's own."""
    first, _, body = contents.partition(b"\n")
    words = first.split(b" ")
    if len(words) != 3 or words[0] != FORMAT.encode():
        raise ValueError(f"{source}: this is not a saved agent")
    version = words[1].decode(errors="replace")
    if version not in ("1", str(VERSION)):
        raise ValueError(f"{source}: the agent is saved in format {version!r}, but this version of heavybandits "
                         f"reads only formats 1 to {VERSION}")  # fmt: skip
    head = b"" if version == "1" else b" ".join(words[:2]) + b"\n"
    if words[2] != hashlib.sha256(head + body).hexdigest().encode():
        raise ValueError(f"{source}: the file is damaged: its contents do not match its checksum")
    text, _, data = body.partition(b"\n")
    try:
        header = json.loads(text)
        policy = _policy(header["policy"], policy)
        if kind_of(policy) != kind:
            raise ValueError(f"its policy is of kind {kind_of(policy)!r}, this agent is for {kind!r}")
        return built(Contents(header, policy, _rng(header, policy), _values(header, data), version))
    except Exception as error:  # the file is whole, so it is of another version, or not written by `encoded`
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise ValueError(f"{source}: cannot use the agent saved here: {reason}") from error


def read(path: Path, kind: str, built: Callable[[Contents], Made], policy: Any = None) -> Made:
    """Read and check a file."""
    with path.open("rb") as file:
        start = file.read(len(FORMAT))  # so that a huge file of another kind is not read in full
        return decoded(path, start + (file.read() if start == FORMAT.encode() else b""), kind, built, policy)


def _rng(header: dict[str, Any], policy: Any) -> np.random.Generator | None:
    if not is_randomised(policy):
        return None
    rng = np.random.default_rng(0)
    rng.bit_generator.state = header["rng"]
    return rng


def _values(header: dict[str, Any], data: bytes) -> dict[str, npt.NDArray[Any]]:
    values: dict[str, npt.NDArray[Any]] = {}
    offset = 0
    for path, dtype, shape in header["state"]:
        values[path] = np.frombuffer(data, dtype, math.prod(shape), offset).reshape(shape).copy()
        offset += values[path].nbytes
    if offset != len(data):
        raise ValueError(f"the state must have {offset} bytes, got {len(data)}")
    return values


def _policy(spec: dict[str, Any], policy: Any) -> Any:
    """Return the saved policy: made by name if all of it is ours, else the one given."""
    if policy is None:
        for kind in _kinds(spec):
            if kind not in all_policies() and kind not in estimators():
                name = kind.removeprefix(":")
                raise ValueError(f"{name} is not part of this package; pass the policy: Agent.load(path, policy=...)")
        return make(**spec)
    if _described(policy) != spec:
        raise ValueError(f"policy must be the saved one, {spec}, got {_described(policy)}")
    return policy


def _described(policy: Any) -> Any:
    """Return the policy in JSON types; a user's own class has its bare name, because files move between machines."""

    def plain(value: Any) -> Any:
        if not isinstance(value, np.generic | np.ndarray):
            raise TypeError(f"Agent: to be saved, a policy's parameters must be text, numbers or lists, got {value!r}")
        return value.tolist()

    def bare(spec: dict[str, Any]) -> dict[str, Any]:
        _, colon, name = str(spec.get("kind", "")).rpartition(":")
        return {**spec, "kind": colon + name} if colon else spec

    return json.loads(json.dumps(to_spec(policy), default=plain), object_hook=bare)


def _kinds(spec: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all classes in a policy's description."""
    yield spec["kind"]
    for value in spec.values():
        if isinstance(value, dict):
            yield from _kinds(value)
