"""What agents of all kinds share: a policy at work, its state, and how agents are copied, saved, loaded and shown.

No lock of an agent is held while the process forks.  A child has only the thread that forked.  A lock that another
thread held would never be released in it, and the agent behind that lock would have made half a call.  So a fork waits
for the calls that are under way, and calls wait for it.
"""

from __future__ import annotations

import copy
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from reprlib import repr as brief
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._format import html_table, text_table
from ..algorithms.parts.choice.propensity import ASKED, find_propensities
from ..algorithms.parts.state.tree import SMOOTHING, pools, reseed, streams, with_room
from ..algorithms.registry import names_of
from ..jit.background_compile import Call, code_at_hand, warn_that_nothing_compiles
from ..jit.compiled import without_text
from ..jit.located import Located
from ..protocols import FloatArray, is_randomised
from . import file
from .arguments import policy_of, set_key
from .estimates import FrozenAgent
from .floor import Floor, mixed
from .pending import Assigned
from .replace import replacing

Answer = TypeVar("Answer")

_agents: weakref.WeakSet[BaseAgent] = weakref.WeakSet()
_listing = threading.Lock()  # held while the list of agents is used
_held: list[threading.Lock] = []  # by a fork


class BaseAgent(ABC):
    """A policy, its state, its random numbers, its lock, and the number of rewards it has learned from."""

    _kind: ClassVar[str]  # of its policies
    _loaded = False  # from a file, or from bytes
    _floor: Floor

    def _start(self, policy: Any, horizon: int | None, seed: int | None, state: Any) -> None:
        """Begin with this fresh state."""
        reseed(streams(state), np.random.SeedSequence(seed, spawn_key=SMOOTHING))
        self._go_on(policy, horizon, 0, np.random.default_rng(seed) if is_randomised(policy) else None, state)

    def _go_on(self, policy: Any, horizon: int | None, seen: int, rng: np.random.Generator | None, state: Any) -> None:
        """Go on from this state."""
        self._lock = threading.Lock()
        with _listing:
            _agents.add(self)
        self.policy, self.horizon, self._seen, self._rng = policy, horizon, seen, rng
        self._bare = without_text(policy)
        self._adopt(state)

    def _adopt(self, state: Any) -> None:
        """Use this state from now on, with the best code there is for it."""
        found = code_at_hand(self._forms(state), self._calls)
        self._hold(found.state)
        self._better = found.better
        self._decide, self._learn_from = map(self._guarded, found.code)

    def _hold(self, state: Any) -> None:
        """Use this state, whose arrays have the types of the current one, with the current code."""
        self._state, self._pools, self._located = state, list(pools(state)), self._locate(state)
        _, self._pending = self._located
        # Another policy may overrule one of ours inside it, so it must tell for itself.
        tells = _is_ours(self.policy) or (hasattr(state, "propensity") and not _is_ours(state))
        self._drawn = find_propensities(state) if tells else None

    @staticmethod
    @abstractmethod
    def _pending_in(state: Any) -> Any:
        """Return the parts of a state that concern pending decisions."""

    def _locate(self, state: Any) -> Located:
        """Return a state as code takes it: located, with these parts of it."""
        return Located((state, self._pending_in(state)))

    def _decide_asking(self, *arguments: Any) -> tuple[int, FloatArray | None]:
        """Return the policy's choice, and the probabilities by which it was drawn; None if it was not drawn."""
        drawn = self._drawn
        if drawn is None:
            return self._decide(*arguments), None
        before, drawn[0] = drawn[0], ASKED
        try:
            choice: int = self._decide(*arguments)
            return choice, drawn if drawn[0] >= 0.0 else None
        finally:
            if drawn[0] < 0.0:
                drawn[0] = before

    def _decided(
        self, slots: Sequence[int], given: int, key: bytes | None, asks: bool, name: Callable[[int], Any], *call: Any
    ) -> tuple[int, Assigned, bool]:
        """Make a decision for the slot ``given``, or if that is -1 for the choice of the floor or of the policy.

        Return the slot, what a caller of the agent is told, and whether the policy drew by known probabilities; unless
        ``asks``, the propensity may be wrong.  ``name`` refuses what the policy should not have chosen.
        """
        if key is not None and self._rng is not None:
            set_key(self._rng, key)
        shares = self._floor.shares(slots)
        taken = self._floor.taken(shares, key)
        if given < 0 and taken is not None:
            given = taken
        chosen, drawn = self._decide_asking(*call, given) if asks else (self._decide(*call, given), None)
        chosen_name, slot = name(chosen), chosen if given < 0 else given
        propensity = mixed(shares, slot, self._propensity(drawn, slot, chosen))
        arm = chosen_name if slot == chosen else name(slot)
        return slot, Assigned(arm=arm, chosen=chosen_name, propensity=propensity), drawn is not None

    def _propensity(self, drawn: FloatArray | None, slot: int, chosen: int) -> float | None:
        """Return the probability of this slot in a choice; None if the policy draws but does not tell."""
        if drawn is not None:
            return float(drawn[slot])
        return float(slot == chosen) if self._rng is None or self._drawn is not None else None

    def _forms(self, state: Any) -> Iterable[Any]:
        """Return forms of the state with which the policy decides the same, the best one first."""
        return (state,)

    @abstractmethod
    def _calls(self, state: Any) -> tuple[Call, Call]:
        """Return the functions that decide and learn, with arguments of the types that they are called with."""

    def _change_over(self) -> None:
        """Use the better code if it is compiled by now; begin to compile it if nobody does."""
        if self._better is not None and self._better.is_over():
            error, self._better = self._better.error, None
            if error is not None:
                warn_that_nothing_compiles(error)
            else:
                self._adopt(self._state)

    @property
    def is_compiling(self) -> bool:
        """Whether faster code is still to come."""
        better = self._better
        return better is not None and not better.has_ended()

    def change_over(self) -> None:
        """Use compiled code if there is some by now; otherwise let a thread compile it, and do not wait.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.compile()
        >>> agent.change_over()
        >>> agent.is_compiling
        False
        """
        with self._lock:
            self._change_over()

    def compile(self) -> None:
        """Wait until the agent uses compiled code.

        A new agent decides at once, with plain Python, while its policy is compiled in the background.  The decisions
        are the same, but take about ten times as long.  Call this before a long replay, or to measure times.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.compile()
        >>> agent.select()
        0
        """
        with self._lock:
            better = self._better
        if better is not None:
            better.at_once()
            with self._lock:
                self._adopt(self._state)

    def _make_room(self) -> None:
        """Give the state room for another reward, if it has none left."""
        if any(pool.grown() is not pool for pool in self._pools):
            self._adopt(with_room(self._state))

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return everything that makes up the agent, in the order of its file; needs the lock."""

    @staticmethod
    @abstractmethod
    def _checked(contents: file.Contents) -> dict[str, Any]:
        """Check what a file holds, and return the parts of the agent."""

    @abstractmethod
    def __setstate__(self, parts: dict[str, Any]) -> None:
        """Become the agent with these parts."""

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy of everything that makes up the agent."""
        with self._lock:
            return copy.deepcopy(self._parts())

    def save(self, path: str | Path) -> None:
        """Write the agent to a file; a crash while writing leaves the old file as it was.

        The file's mode is kept.  Pipes, devices and folders are refused.

        Examples
        --------
        >>> import tempfile
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.save(f"{folder}/agent")
        ...     hb.Agent.load(f"{folder}/agent")
        Agent(UCB(c=1.0), 2 arms, 0 rewards)
        """
        contents = self.dumps()
        with replacing(Path(path)) as new:
            new.write(contents)

    @classmethod
    def load(cls, path: str | Path, policy: Any = None) -> Self:
        """Read an agent that decides exactly as the saved one would have; see :meth:`save`.

        Reading a file never runs code that it names, so give a policy of your own again as ``policy``.
        """
        given = cls._given(policy)
        return cls._restored(path, file.read(Path(path)), given)

    def dumps(self) -> bytes:
        """Return the agent as bytes: what :meth:`save` writes to a file.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update(1, 5.0)
        >>> hb.Agent.loads(agent.dumps()).pulls
        {0: 0, 1: 1}
        """
        with self._lock:
            return file.encoded(self._parts())

    @classmethod
    def loads(cls, contents: bytes, policy: Any = None) -> Self:
        """Return the agent from the bytes that :meth:`dumps` returned; ``policy`` is as in :meth:`load`."""
        if not isinstance(contents, bytes):
            raise TypeError(f"{cls.__name__}: contents must be bytes, got {brief(contents)}")
        return cls._restored("contents", contents, cls._given(policy))

    @classmethod
    def _given(cls, policy: Any) -> Any:
        return None if policy is None else policy_of(cls.__name__, cls._kind, policy)

    @classmethod
    def _restored(cls, source: str | Path, contents: bytes, policy: Any) -> Self:
        def checked(found: file.Contents) -> dict[str, Any]:
            return cls._class_for(found.header)._checked(found)

        parts = file.decoded(source, contents, cls._kind, checked, policy)
        agent = object.__new__(cls._class_for(parts))
        agent._loaded = True
        agent.__setstate__(parts)
        return agent

    @classmethod
    def _class_for(cls, header: dict[str, Any]) -> type[Self]:
        """Return the class of an agent with this header in its file."""
        return cls

    def _guarded(self, code: Callable[..., Answer]) -> Callable[..., Answer]:
        """Return compiled code that refuses to go on from numbers that a policy never reaches.

        Loading checks all numbers that decide which memory is used.  Others that were forged may still make the policy
        divide by zero.
        """
        if not self._loaded:
            return code
        owner = type(self).__name__

        def guarded(*arguments: Any) -> Answer:
            try:
                return code(*arguments)
            except ZeroDivisionError as error:
                raise ValueError(f"{owner}: cannot go on: the numbers that were loaded make the policy divide by zero, "
                                 "so `save` did not write them") from error  # fmt: skip

        return guarded

    @property
    def seen(self) -> int:
        """Number of rewards seen."""
        return self._seen

    def frozen(self) -> FrozenAgent:
        """Return what the agent knows now, for another thread to look at while the agent goes on.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update(1, 5.0)
        >>> before = agent.frozen()
        >>> agent.update(1, 7.0)
        >>> before.values([0, 1]), agent.frozen().values([0, 1])
        ([nan, 5.0], [nan, 6.0])
        """
        with self._lock:
            return FrozenAgent(self.policy, copy.deepcopy(self._state), self._seen)

    def _known(self, state: Any = None) -> FrozenAgent:
        """Return what is known, to be asked at once; needs the lock.

        Pass a copy of the state if the policy may change it when it is asked.
        """
        return FrozenAgent(self.policy, self._state if state is None else state, self._seen)

    @abstractmethod
    def _table(self) -> tuple[str, list[list[str]]]:
        """Return a title, and a table with its head."""

    def __str__(self) -> str:
        """Return what is known, as a table."""
        title, (head, *rows) = self._table()
        return f"{names_of(self.policy)}, {title}\n{text_table(head, rows)}"

    def _repr_html_(self) -> str:
        """Show what is known in a notebook."""
        title, (head, *rows) = self._table()
        return html_table(f"{names_of(self.policy)}, {title}", head, rows)


def _is_ours(part: Any) -> bool:
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def _hold() -> None:
    _listing.acquire()
    for agent in list(_agents):
        agent._lock.acquire()
        _held.append(agent._lock)


def _release() -> None:
    while _held:
        _held.pop().release()
    _listing.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
