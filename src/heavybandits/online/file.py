"""The file an agent is saved in: a line that says what it is, a line of JSON, then the state's arrays byte for byte.

The first line holds the format, its version and the SHA-256 of everything else, so damage is always noticed.  But a
checksum is not a signature: load only files that you trust.  A file contains no pickle, and nothing in it is ever run.
Agents of all kinds are saved in this way; each decides what to store besides its policy, its generator and its state.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .._validate import LARGEST_COUNT, count, whole
from ..algorithms.parts.state.tree import arrays, check_state, rebuilt
from ..algorithms.registry import is_registered, kinds_in, make, to_spec
from ..protocols import is_randomised, kind_of

FILE_FORMAT, FILE_VERSION = "heavybandits-agent", 2
NAME_TYPES = (str, int, float)  # types of names of arms that a file can hold

Made = TypeVar("Made")


class Contents(NamedTuple):
    """What a file holds, after its checksum and its policy were checked."""

    header: dict[str, Any]
    policy: Any
    rng: np.random.Generator | None
    values: dict[str, npt.NDArray[Any]]  # arrays by their path in the state

    def require(self, *names: str, optional: tuple[str, ...] = ()) -> None:
        """Refuse a header that has not these entries besides those of every agent, or has others."""
        expected = {"policy", "horizon", "seen", "rng", "state", *names}
        if self.header.keys() - set(optional) != expected:
            raise ValueError(f"it must hold {sorted(expected)}, got {sorted(self.header)}")

    @property
    def horizon(self) -> int | None:
        """The planned number of rounds."""
        horizon = self.header["horizon"]
        return None if horizon is None else count("agent", "horizon", horizon)

    def state(self, template: Any, n_arms: int) -> Any:
        """Return the state, which must have the arrays of a fresh one, ``template``, or be completed by it."""
        fresh = dict(arrays(template))
        is_earlier = self.values.keys() < fresh.keys() and hasattr(template, "complete")
        if not is_earlier and list(self.values) != list(fresh):
            raise ValueError(f"its state is from another version of {self.header['policy']['kind']}")
        state = rebuilt(template, {**fresh, **self.values})
        if is_earlier:
            state.complete()
        check_state(state, template, n_arms)
        return state

    def parts(self, **checked: Any) -> dict[str, Any]:
        """Return the parts of an agent: those that were checked, and the rest as it stands in the file."""
        return {**self.header, "policy": self.policy, "rng": self.rng, **checked}


def counted(*numbers: Any) -> None:
    """Refuse numbers that cannot be counts of rewards or decisions."""
    for n in numbers:
        if whole("agent", "pulls", n) > LARGEST_COUNT:
            raise ValueError(f"pulls must be at most {LARGEST_COUNT}, got {n}")


def encoded(parts: dict[str, Any]) -> bytes:
    """Return the agent with these parts as a file holds it: policy, generator and state encoded, the rest in JSON."""
    for label in parts.get("labels", ()):
        if not isinstance(label, NAME_TYPES):
            raise TypeError(f"Agent: to be saved, arms must be named by text or numbers, got {label!r}")
    layout = [(path, array.dtype.str, array.shape) for path, array in arrays(parts["state"])]
    rng = None if parts["rng"] is None else parts["rng"].bit_generator.state
    header = {**parts, "policy": _described(parts["policy"]), "rng": rng, "state": layout}
    body = [json.dumps(header).encode() + b"\n", *(array.tobytes() for _, array in arrays(parts["state"]))]
    digest = hashlib.sha256(f"{FILE_FORMAT} {FILE_VERSION}\n".encode())
    for part in body:
        digest.update(part)
    return b"".join([f"{FILE_FORMAT} {FILE_VERSION} {digest.hexdigest()}\n".encode(), *body])


def decoded(
    source: str | Path, contents: bytes, kind: str, checked: Callable[[Contents], Made], policy: Any = None
) -> Made:
    """Return what ``checked`` makes of a file with an agent of this kind; give ``policy`` if it is a user's own."""
    first, _, body = contents.partition(b"\n")
    words = first.split(b" ")
    if len(words) != 3 or words[0] != FILE_FORMAT.encode():
        raise ValueError(f"{source}: this is not a saved agent")
    if words[1] != str(FILE_VERSION).encode():
        raise ValueError(f"{source}: the agent is saved in format {words[1].decode(errors='replace')!r}, but this "
                         f"version of heavybandits reads only format {FILE_VERSION}")  # fmt: skip
    if words[2] != hashlib.sha256(b" ".join(words[:2]) + b"\n" + body).hexdigest().encode():
        raise ValueError(f"{source}: the file is damaged: its contents do not match its checksum")
    text, _, data = body.partition(b"\n")
    try:
        header = json.loads(text)
        policy = _policy(header["policy"], policy)
        if kind_of(policy) != kind:
            raise ValueError(f"its policy is of kind {kind_of(policy)!r}, this agent is for {kind!r}")
        return checked(Contents(header, policy, _rng(header, policy), _values(header, data)))
    except Exception as error:  # the file is whole, so it is of another version, or not written by `encoded`
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise ValueError(f"{source}: cannot use the agent saved here: {reason}") from error


def read(path: Path) -> bytes:
    """Return the contents of a file; of a huge file of another kind only the start."""
    with path.open("rb") as file:
        start = file.read(len(FILE_FORMAT))
        return start + (file.read() if start == FILE_FORMAT.encode() else b"")


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
        for kind in kinds_in(spec):
            if not is_registered(kind):
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
