"""The file an agent is saved in: one line of text that says what it is, then a NumPy archive.  No pickle.

The line holds the format, its version and the SHA-256 of all that follows, so a damaged file is always noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .registry import estimators, make, policies, to_spec
from .state import arrays, rebuilt

FORMAT, VERSION = "heavybandits-agent", 1


class Saved(NamedTuple):
    """What a file holds."""

    policy: Any
    labels: list[Any]
    horizon: int | None
    pulls: list[int]
    rng: np.random.Generator | None
    state: Any


def write(
    path: Path, policy: Any, labels: list[Any], horizon: int | None, pulls: list[int],
    rng: np.random.Generator | None, state: Any,
) -> None:  # fmt: skip
    """Write to a temporary file beside ``path`` and move it there."""
    if not all(isinstance(label, str | int) for label in labels):
        raise TypeError("Agent: to be saved, arms must be named by text or whole numbers")
    header = {
        "policy": to_spec(policy),
        "labels": labels,
        "horizon": horizon,
        "pulls": pulls,
        "rng": None if rng is None else rng.bit_generator.state,
    }
    archive = io.BytesIO()
    np.savez(archive, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **dict(arrays(state)))
    body = archive.getvalue()
    line = f"{FORMAT} {VERSION} {hashlib.sha256(body).hexdigest()}\n".encode()
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(line + body)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read(path: Path, policy: Any = None) -> Saved:
    """Read and check a file."""
    line, _, body = path.read_bytes().partition(b"\n")
    words = line.decode("ascii", "replace").split()
    if len(words) != 3 or words[0] != FORMAT:
        raise ValueError(f"{path}: this is not a saved agent")
    if words[1] != str(VERSION):
        raise ValueError(f"{path}: format version {words[1]} is not known here, only version {VERSION}")
    if hashlib.sha256(body).hexdigest() != words[2]:
        raise ValueError(f"{path}: the file is damaged, its contents do not match its checksum")
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        values = dict(archive)
    header = json.loads(values.pop("header").tobytes())
    policy = _policy(path, header["policy"], policy)
    template = policy.init(len(header["labels"]), header["horizon"])
    expected = {place: (array.dtype, array.ndim) for place, array in arrays(template)}
    if expected != {place: (array.dtype, array.ndim) for place, array in values.items()}:
        raise ValueError(f"{path}: the state in it is not one of this version of {header['policy']['kind']}")
    rng = None
    if header["rng"] is not None:
        rng = np.random.default_rng()
        rng.bit_generator.state = header["rng"]
    state = rebuilt(template, values)
    return Saved(policy, header["labels"], header["horizon"], header["pulls"], rng, state)


def _policy(path: Path, spec: dict[str, Any], policy: Any) -> Any:
    """The policy that was saved: made by name if it is one of ours, else the one given."""
    if policy is None and all(kind in policies() or kind in estimators() for kind in _kinds(spec)):
        return make(**spec)
    if policy is None:
        raise ValueError(f"{path}: {spec['kind']} is not a registered policy, pass it as Agent.load(path, policy=...)")
    if json.loads(json.dumps(to_spec(policy))) != spec:
        raise ValueError(f"{path}: the saved policy is {spec}, not {to_spec(policy)}")
    return policy


def _kinds(spec: dict[str, Any]) -> Iterator[str]:
    yield spec["kind"]
    for value in spec.values():
        if isinstance(value, dict):
            yield from _kinds(value)
