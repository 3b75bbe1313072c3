"""What learns in an experiment with contexts: an agent for rewards that are linear in features.

The features of a decision are in its event, and those of the chosen arm also in the events that settle it, so a replay
of the log needs nothing else.  With a shared context each arm has a model of its own; see :func:`.blocks`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from ....online.estimates import ArmEstimate
from ....online.linear_agent import LinearAgent
from ....online.pending import Assigned
from ....protocols import FloatArray
from ....world.contexts import blocks
from ...events import Event
from ...spec import MAX_FEATURES, Arm, Context, Experiment
from .learner import Learner
from .policy import experiment_policy

_vector = msgspec.json.Decoder(list[float])
_encode = msgspec.msgpack.Encoder().encode


class ArmSums(msgspec.Struct):
    """Counts of an arm."""

    retired: bool = False
    pulls: int = 0
    pending: int = 0
    offered: int = 0  # decisions in which it could have been chosen
    average: list[float] = msgspec.field(default_factory=list)  # of its features in those


class LearnerState(msgspec.Struct):
    """The whole state of a learner; with a shared context, the order of arms says which model is whose."""

    length: int | None  # of a vector, None before the first
    arms: list[tuple[str, ArmSums]]
    agent: bytes | None


class SortedLearnerState(msgspec.Struct):
    """What version 0.2.0 stored: arms in the order of their names."""

    length: int | None
    arms: dict[str, ArmSums]
    agent: bytes | None


# Made here: if two threads are the first to decode a type, msgspec lets one use what the other has only half made.
_decode, _decode_sorted = (
    msgspec.msgpack.Decoder(LearnerState).decode,
    msgspec.msgpack.Decoder(SortedLearnerState).decode,
)


def reordered(contents: bytes, order: Sequence[str]) -> bytes:
    """Return what version 0.2.0 stored of a learner as this version stores it, with the arms in this order."""
    held = _decode_sorted(contents)
    return _encode(LearnerState(held.length, [(arm, held.arms[arm]) for arm in order], held.agent))


class LinearLearner(Learner):
    """A linear agent whose rows are arms.

    Parameters
    ----------
    spec
        The experiment when it was made.
    held
        What it has learned since.
    """

    agent: LinearAgent | None

    def __init__(self, spec: Experiment, held: LearnerState) -> None:
        assert spec.context is not None
        self._spec, self._shared, self._declared = spec, spec.context.shared, spec.context.n_features
        self._length, self._arms = held.length, dict(held.arms)
        self.agent = None if held.agent is None else LinearAgent.loads(held.agent)

    @classmethod
    def made(cls, spec: Experiment) -> Self:
        """Return the learner of a new experiment."""
        assert spec.context is not None
        experiment_policy(spec)
        return cls(spec, LearnerState(spec.context.n_features, [(arm.name, ArmSums()) for arm in spec.arms], None))

    @classmethod
    def loaded(cls, spec: Experiment, contents: bytes) -> Self:
        """Return the learner that these bytes were made from."""
        return cls(spec, _decode(contents))

    @property
    def takes_arms(self) -> bool:
        """Whether another arm can be added: not if each has its own block of a row."""
        return not self._shared

    def check(self, context: Context | None) -> None:
        """Refuse a context of the wrong form, for unknown arms, or with vectors of the wrong length."""
        if context is None:
            raise ValueError("context must be given, because the experiment was made with one")
        has_names = isinstance(context, dict) and any(isinstance(vector, dict) for vector in context.values())
        if self._shared != isinstance(context, list) or has_names:
            form = "one vector, which all arms share" if self._shared else "a mapping of arms to vectors"
            got = "a vector" if isinstance(context, list) else "attributes" if has_names else "a mapping"
            raise ValueError(f"context must be {form}, got {got}")
        vectors = {"context": context} if isinstance(context, list) else context
        for name in vectors if isinstance(context, dict) else ():
            if name not in self._arms:
                raise ValueError(f"context must name arms of the experiment, got {name!r}")
        length = self._length or len(next(iter(vectors.values()), ()))
        why = "like those before" if self._declared is None else "as declared"
        for name, vector in vectors.items():
            what = "context" if self._shared else f"context of arm {name!r}"
            if len(vector) != length:
                raise ValueError(f"{what} must have {length} numbers, {why}, got {len(vector)}")
        if self._n_features(length) > MAX_FEATURES:
            raise ValueError(f"context must have at most {MAX_FEATURES} features, got {self._n_features(length)}")

    def _n_features(self, length: int) -> int:
        return length * len(self._arms) if self._shared else length

    def _known(self, length: int) -> LinearAgent:
        """Return the agent, making it when the first vector comes."""
        if self.agent is None:
            self._length = length
            self.agent = LinearAgent(experiment_policy(self._spec), self._n_features(length), seed=self._spec.seed)
        return self.agent

    def _rows(self, context: Context, arms: list[str]) -> dict[str, FloatArray]:
        """Return the row of each of these arms."""
        if isinstance(context, dict):
            return {arm: np.array(context[arm]) for arm in arms}
        table = dict(zip(self._arms, blocks(context, len(self._arms)), strict=True))
        return {arm: table[arm] for arm in arms}

    def _settled(self, event: Event) -> tuple[LinearAgent, FloatArray]:
        """Return the agent and the row that an event belongs to."""
        vector, arm = _vector.decode(event.body or ""), str(event.arm)
        row = self._rows(vector if self._shared else {arm: vector}, [arm])[arm]
        return self._known(len(vector)), row

    def assign(self, given: str | None, among: list[str], key: bytes, context: Context | None) -> Assigned:
        """Let the agent make a decision among the rows of these arms."""
        assert context is not None
        vectors: Any = context if isinstance(context, dict) else dict.fromkeys(among, context)
        for arm in among:
            self._offer(self._arms[arm], vectors[arm])
        agent = self._known(len(vectors[among[0]]))
        assigned = agent.assign(self._rows(context, among), given, key)
        self._arms[assigned.arm].pending += 1
        return assigned

    @staticmethod
    def _offer(arm: ArmSums, vector: list[float]) -> None:
        arm.offered += 1
        before = arm.average or [0.0] * len(vector)
        arm.average = [old + (new - old) / arm.offered for old, new in zip(before, vector, strict=True)]

    def learn(self, event: Event) -> None:
        """Let the agent learn from the reward of a row."""
        sums, selected = self._arms[str(event.arm)], event.kind != "observe"
        if not sums.retired:
            self._teach(event, selected)
            sums.pulls += 1
            sums.pending -= selected
        elif selected:
            self.give_up(event)

    def _teach(self, event: Event, selected: bool) -> None:
        agent, row = self._settled(event)
        agent.update(row, event.value or 0.0, selected=selected)

    def give_up(self, event: Event) -> None:
        """Let the agent cancel a decision for a row."""
        self._arms[str(event.arm)].pending -= 1
        with contextlib.suppress(ValueError):  # the agent has given it up already, with so many pending
            self._cancel(event)

    def _cancel(self, event: Event) -> None:
        agent, row = self._settled(event)
        agent.cancel(row)

    def add_arm(self, arm: Arm) -> None:
        """Start counting for a new arm."""
        self._arms[arm.name] = ArmSums()

    def remove_arm(self, name: str) -> None:
        """Stop learning the arm's rewards."""
        self._arms[name].retired = True

    def rows_later(self, indices: bool) -> Callable[[], list[ArmEstimate]]:
        """Copy what is known about each arm at its average features, over the decisions in which it was offered.

        There are never indices, which with d features take d times as long as estimates.
        """
        counts = {arm: (sums.pulls, sums.pending) for arm, sums in self._arms.items() if not sums.retired}
        averages = {arm: self._arms[arm].average for arm in counts if self._arms[arm].offered}
        frozen = None if self.agent is None else self.agent.frozen()

        def rows() -> list[ArmEstimate]:
            values = dict[str, float]()
            if frozen is not None:
                at = [self._rows(at if self._shared else {arm: at}, [arm])[arm] for arm, at in averages.items()]
                values = dict(zip(averages, frozen.values(at), strict=True))
            return [ArmEstimate(arm, *counted, values.get(arm, math.nan), math.nan) for arm, counted in counts.items()]

        return rows

    def dumps(self) -> bytes:
        """Return the agent and the counts of arms as bytes."""
        return _encode(
            LearnerState(self._length, list(self._arms.items()), None if self.agent is None else self.agent.dumps())
        )
