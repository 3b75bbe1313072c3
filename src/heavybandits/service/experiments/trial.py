"""Trying out what is to be accepted: an experiment that no server could hold, store or show is refused at the door.

A new experiment goes through everything that will happen to it: it is applied as an event, decides, learns, is stored
as a snapshot, read back and shown.  Before that, the size of its policy's state is found without allocating much.
Nothing is compiled for that: policies of this package decide as plain Python first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from ...algorithms.parts.state.tree import fresh_state
from ...protocols import is_named_tuple
from ..events import Config, DecisionBody, Event
from ..forms import ArmView
from ..replicas.learners.attributes import AttributeLearner
from ..replicas.learners.policy import experiment_policy
from ..replicas.replica import Replica
from ..replicas.report import checked, full_report
from ..spec import MAX_ARMS, MAX_FEATURES, Arm, Context, Experiment, attributes_in

MOST_LEVELS = 32  # levels of lists and mappings
LARGEST_PAYLOADS_BYTES = 1 << 20  # bytes in JSON, of all arms of an experiment together
LARGEST_STATE_BYTES = 80 << 20  # bytes in the arrays of a policy without rewards
SLOWEST_SECONDS = 2.0  # seconds of processor time for a decision, its reward, a snapshot and a report
_encode = msgspec.json.encode


def check_plain(what: str, value: Any) -> None:
    """Refuse JSON that cannot be stored and shown again: too deep, or with whole numbers of more than 64 bits.

    Examples
    --------
    >>> check_plain("payload", {"colour": "blue", "price": [2**64]})
    Traceback (most recent call last):
        ...
    ValueError: payload must have whole numbers from -2**63 to 2**64 - 1, got 18446744073709551616
    """
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        for part in level:
            if isinstance(part, int) and not -(2**63) <= part < 2**64:
                shown = str(part) if abs(part) < 10**40 else "one of more than 40 digits"
                raise ValueError(f"{what} must have whole numbers from -2**63 to 2**64 - 1, got {shown}")
        level = [inner for part in level for inner in _inside(part)]
        if not level:
            return
    raise ValueError(f"{what} must have at most {MOST_LEVELS} levels of lists and mappings, got more")


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def kept_of(arm: Arm | ArmView) -> list[Any]:
    """Return what an arm came with: its payload and, if it has any, its attributes.

    Examples
    --------
    >>> kept_of(Arm("a", "blue", {"price": 3})), kept_of(Arm("b"))
    (['blue', {'price': 3}], [None])
    """
    return [arm.payload, *([arm.attributes] if arm.attributes else [])]


def check_payloads(payloads: list[Any]) -> None:
    """Refuse what arms of an experiment came with if it is too large together, because each report has all of it.

    Examples
    --------
    >>> check_payloads([{"colour": "blue"}, "x" * 2_000_000])
    Traceback (most recent call last):
        ...
    ValueError: payloads and attributes of arms must have at most 1048576 bytes together, got 2000019
    """
    size = sum(len(_encode(payload)) for payload in payloads)
    if size > LARGEST_PAYLOADS_BYTES:
        raise ValueError(
            f"payloads and attributes of arms must have at most {LARGEST_PAYLOADS_BYTES} bytes together, got {size}"
        )


def check_size(policy: Any, n: int) -> None:
    """Refuse a policy whose state for ``n`` arms or features is too large.

    Its whole-number parameters and ``n`` are first made small and then doubled, so a state that is too large is noticed
    while it is only a few times larger than allowed, whatever the parameters mean.

    Examples
    --------
    >>> from heavybandits.algorithms.registry import make
    >>> check_size(make("sliding-window-ucb", window=1_000), n=10)
    >>> check_size(make("sliding-window-ucb", window=10**9), n=10)
    Traceback (most recent call last):
        ...
    ValueError: policy must have a state of at most 80 MiB with 10 arms or features; its parameters ask for more
    """
    largest, cap = max([n, *_whole_numbers(policy)]), 1
    while cap < 2 * largest:
        try:
            state = fresh_state(_capped(policy, cap), min(n, cap), None)
        except (ValueError, TypeError, ArithmeticError):  # of no use at this size
            state = ()
        if n_bytes(state) > LARGEST_STATE_BYTES:
            raise ValueError(f"policy must have a state of at most {LARGEST_STATE_BYTES >> 20} MiB with {n} arms or "
                             "features; its parameters ask for more")  # fmt: skip
        cap *= 2


def _whole_numbers(policy: Any) -> Iterator[int]:
    for value in policy:
        if is_named_tuple(value):
            yield from _whole_numbers(value)
        elif isinstance(value, int):
            yield value


def _capped(policy: Any, cap: int) -> Any:
    """Return the policy with no whole number above ``cap``; its parameters are not checked again."""
    return policy._make(
        _capped(value, cap) if is_named_tuple(value) else min(value, cap) if isinstance(value, int) else value
        for value in policy
    )


def n_bytes(state: Any) -> int:
    """Return the size of all arrays in a state.

    Examples
    --------
    >>> n_bytes((np.zeros(2), (np.zeros(3), None)))
    40
    """
    if isinstance(state, np.ndarray):
        return state.nbytes
    return sum(map(n_bytes, state)) if isinstance(state, tuple) else 0


def try_out(spec: Experiment) -> None:
    """Refuse an experiment that cannot be held, decide, learn, be stored, be read back and be shown."""
    check_plain("policy", spec.policy)
    for arm in spec.arms:
        check_plain(f"payload of arm {arm.name!r}", arm.payload)
    check_payloads([part for arm in spec.arms for part in kept_of(arm)])
    check_size(experiment_policy(spec), _largest_n(spec))
    try:
        _lived_through(spec)
    except (ValueError, TypeError):
        raise
    except Exception as error:
        raise ValueError(f"the experiment cannot be used: {type(error).__name__}: {error}") from error


def _largest_n(spec: Experiment) -> int:
    """Return the largest number of arms or features that the policy of this experiment may come to have."""
    rule = spec.context
    if spec.points is not None:
        return len(spec.points)
    if rule is None:
        return MAX_ARMS
    return MAX_FEATURES if rule.n_features is None else rule.n_features * (len(spec.arms) if rule.shared else 1)


def _lived_through(spec: Experiment) -> None:
    """Play an experiment with a few decisions from its first event to its report."""
    arm, rule = spec.arms[0].name, spec.context
    vector = None if rule is None else [1.0] * (rule.n_features or 1)
    context: Context | None = vector if rule is None or rule.shared or vector is None else {arm: vector}
    replica = Replica(0, "trial")
    replica.apply(_event(1, "config", _encode(Config(create=spec))))
    for each in spec.arms:
        replica.check_arm(each.attributes)
    point = None if spec.points is None else [0.5] * len(spec.points)
    features = None if vector is None and point is None else _encode(vector or point)
    if isinstance(replica.learner, AttributeLearner):
        context = replica.learner.timed({"attributes": {}}, 0)
        features = _encode(attributes_in(context))
    elif rule is not None and rule.time_zone is not None:
        raise ValueError("time_zone must be left out, because decisions do not come with attributes")
    replica.learner.check(context)
    for seq, among in ((2, None), (4, [arm]), (6, None)):  # some policies cannot choose among some arms
        started = time.thread_time()
        replica.apply(_event(seq, "decision", _encode(DecisionBody(None, among, context, point)), arm))
        replica.apply(_event(seq + 1, "close", features, arm, 1.0))
        replica = Replica.restored(0, replica.name, replica.snapshot())
        _encode(full_report(*checked(replica)))  # holds the view, too
        took = time.thread_time() - started  # the last time, all is imported
    if took > SLOWEST_SECONDS:
        raise ValueError(f"policy must decide, learn and report within {SLOWEST_SECONDS:g} s of processor time, "
                         f"took {took:.1f} s; its parameters ask for more")  # fmt: skip


def _event(seq: int, kind: str, body: bytes | None, arm: str | None = None, value: float | None = None) -> Event:
    text = None if body is None else body.decode()
    return Event(0, seq, kind, str(seq) if arm else None, arm, value, 1.0, "policy", seq, seq, text)
