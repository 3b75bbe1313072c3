"""What agents of all kinds share: they can be copied, saved and loaded."""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from reprlib import repr as brief
from typing import Any, ClassVar, Self, TypeVar

from . import agent_file
from .agent_file import Contents
from .given import policy_of
from .replace import replacing

Answer = TypeVar("Answer")


class Kept(ABC):
    """An agent with a lock, and with a NamedTuple of everything from which it can be made again."""

    _kind: ClassVar[str]  # of its policies
    _lock: threading.Lock
    _loaded = False  # from a file, or from bytes

    @abstractmethod
    def _saved(self) -> Any:
        """Return everything that makes up the agent; needs the lock."""

    @abstractmethod
    def __setstate__(self, agent: Any) -> None:
        """Become the agent that was saved."""

    @staticmethod
    @abstractmethod
    def _built(contents: Contents) -> Any:
        """Check what a file holds, and return it."""

    def __getstate__(self) -> Any:
        """Return a copy of everything that makes up the agent."""
        with self._lock:
            return copy.deepcopy(self._saved())

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
        with replacing(Path(path)) as file:
            file.write(contents)

    @classmethod
    def load(cls, path: str | Path, policy: Any = None) -> Self:
        """Read an agent that decides exactly as the saved one would have; see :meth:`save`.

        Reading a file never runs code that it names, so give a policy of your own again as ``policy``.
        """
        return cls._restored(agent_file.read(Path(path), cls._kind, cls._built, cls._given(policy)))

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
            return agent_file.encoded(self._saved())

    @classmethod
    def loads(cls, contents: bytes, policy: Any = None) -> Self:
        """Return the agent from the bytes that :meth:`dumps` returned; ``policy`` is as in :meth:`load`."""
        if not isinstance(contents, bytes):
            raise TypeError(f"{cls.__name__}: contents must be bytes, got {brief(contents)}")
        return cls._restored(agent_file.decoded("contents", contents, cls._kind, cls._built, cls._given(policy)))

    @classmethod
    def _given(cls, policy: Any) -> Any:
        return None if policy is None else policy_of(cls.__name__, cls._kind, policy)

    @classmethod
    def _restored(cls, saved: Any) -> Self:
        agent = cls.__new__(cls)
        agent._loaded = True
        agent.__setstate__(saved)
        return agent

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
