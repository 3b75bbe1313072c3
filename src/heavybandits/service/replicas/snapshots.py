"""A replica as bytes, and how those that version 0.2.0 wrote are read.

A snapshot begins with a digest of what follows, so a damaged one is noticed.  Arms are in lists, in the order in which
they were created: policies know them by their positions.  Version 0.2.0 stored them as mappings that it sorted by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from ...evidence.ledger import Ledger
from ..forms import ArmView
from ..spec import Experiment, State
from .learners.linear import reordered
from .totals import Totals

DIGEST_BYTES = 16  # bytes of a digest


class ReplicaState(msgspec.Struct):
    """Everything that makes up a replica."""

    seq: int
    link: bytes
    spec: Experiment
    state: State
    arms: list[ArmView]
    learner: bytes
    totals: Totals
    evidence: bytes  # empty if decisions depend on contexts
    finished_with: str | None = None
    later_control: str | None = None
    against_control: bytes = b""  # empty unless decisions depend on contexts
    named_rewards: list[bytes] = []
    paused_because: dict[str, str] = {}


class SortedReplicaState(msgspec.Struct):
    """What a snapshot of version 0.2.0 holds."""

    seq: int
    spec: Experiment
    state: State
    arms: dict[str, ArmView]
    agent: bytes
    totals: Totals


class Unusable(ValueError):
    """A snapshot that is damaged, or that may have lost the order of arms."""


encode = msgspec.msgpack.Encoder().encode
_decode, _decode_sorted = (
    msgspec.msgpack.Decoder(ReplicaState).decode,
    msgspec.msgpack.Decoder(SortedReplicaState).decode,
)


def sealed(held: ReplicaState) -> bytes:
    """Return a snapshot."""
    contents = encode(held)
    return _digest(contents) + contents


def opened(contents: bytes) -> ReplicaState:
    """Return what a snapshot holds.

    Examples
    --------
    >>> opened(b"0123456789abcdef...")
    Traceback (most recent call last):
        ...
    heavybandits.service.replicas.snapshots.Unusable: the snapshot is damaged, or of an earlier version
    """
    if _digest(contents[DIGEST_BYTES:]) != contents[:DIGEST_BYTES]:
        raise Unusable("the snapshot is damaged, or of an earlier version")
    return _decode(contents[DIGEST_BYTES:])


def opened_sorted(contents: bytes, order: Sequence[str], link: bytes) -> ReplicaState:
    """Return what a snapshot of version 0.2.0 holds, with the arms in the order in which they were created.

    With a shared context, each arm's model lies where the order of arms says.  A server of version 0.2.0 that had read
    a snapshot took the order of names instead, and nothing tells whether the one that wrote this had.
    """
    held = _decode_sorted(contents)
    if set(order) != held.arms.keys():
        raise Unusable("the snapshot does not have the arms that the log has")
    if held.spec.context is not None and held.spec.context.shared and list(order) != sorted(order):
        raise Unusable("version 0.2.0 may have given each arm the model of another one")
    held.totals.arms = {arm: held.totals.arms[arm] for arm in order}
    arms = [held.arms[arm] for arm in order]
    learner = held.agent if held.spec.context is None else reordered(held.agent, order)
    evidence = Ledger(order, held.spec.compared_by, held.spec.minimise).dumps()  # which that version did not keep
    return ReplicaState(held.seq, link, held.spec, held.state, arms, learner, held.totals, evidence)


def _digest(contents: bytes) -> bytes:
    return hashlib.blake2b(contents, digest_size=DIGEST_BYTES).digest()
