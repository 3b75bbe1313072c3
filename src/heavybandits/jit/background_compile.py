"""Background compile: agents and evidence answer at once with the code there is, while a thread compiles better code.

A policy of this package decides the same, to the last bit, as plain Python and as compiled code.  So an agent begins
with plain Python, and changes over once a thread has imported numba and compiled the policy, or loaded what was
compiled before.  Policies that play a tournament have code for few arms, which scans them, and code for many; an agent
that has one of the two does not wait for the other either.

Of anybody else's policy it is not known whether numba can compile it, nor whether it decides the same then.  So its
agent waits for compiled code when it is made, and the constructor raises if numba refuses the policy.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .compiled import classes_of, compiled, compiled_already, is_disabled, without_collecting_garbage
from .stopping import Stopped, go_on, stop, stoppable

SECONDS_BETWEEN_SWITCHES = 0.0005  # of threads, while code is compiled
SECONDS_OF_QUIET = 0.1  # before a thread begins: a process that only decides once ends without having begun to compile

Call = tuple[Any, ...]  # a function, and arguments of the types to compile it for
Code = tuple[Callable[..., Any], ...]  # functions, compiled or not


class CodeAtHand(NamedTuple):
    """A state in a form for which there is code."""

    state: Any
    code: Code
    better: Compilation | None  # leads to faster code; None if this is the fastest


def code_at_hand(forms: Iterable[Any], calls_on: Callable[[Any], tuple[Call, ...]]) -> CodeAtHand:
    """Return the first of the forms of a state, the best one, or another for which code is already compiled.

    If there is none, the best form is used as plain Python, or compiled at once if the policy is not ours.

    Parameters
    ----------
    forms
        Forms of the state with which the policy decides the same.
    calls_on
        Returns how to make a decision and how to learn on a state.
    """
    best, better = None, None
    for form in forms:
        calls = calls_on(form)
        if better is None:
            best, better = form, Compilation(calls)
        found = tuple(code for code in (compiled_already(*call) for call in calls) if code is not None)
        if len(found) == len(calls):
            return CodeAtHand(form, found, None if form is best else better)
    assert better is not None
    code = better.interpreted() if is_disabled() or better.is_ours() else better.at_once()
    return CodeAtHand(best, code, better if better.is_ours() and not is_disabled() else None)


class Compilation:
    """Functions to be compiled, in the background or at once."""

    def __init__(self, calls: tuple[Call, ...]) -> None:
        self._calls = calls
        self.code: Code | None = None
        self.error: Exception | None = None

    def is_ours(self) -> bool:
        """Return whether all classes of the policy and of its state are part of this package."""
        ours = __package__.partition(".")[0]
        return all(cls.__module__.partition(".")[0] == ours for cls in classes_of(self._calls[0][1:]))

    def interpreted(self) -> Code:
        """Return the functions as they are."""
        return tuple(interpreted(function) for function, *_ in self._calls)

    def at_once(self) -> Code:
        """Return the functions compiled; if numba is missing or broken, warn and return them as they are."""
        try:
            return self.run()
        except TypeError:  # numba refuses the policy
            raise
        except Exception as error:
            warn_that_nothing_compiles(error)
            return self.interpreted()

    def run(self) -> Code:
        """Compile, or load what was compiled before."""
        with without_collecting_garbage():
            return tuple(compiled(*call) for call in self._calls)

    def is_over(self) -> bool:
        """Return whether there is code by now, or an error; begin in the background if nobody has."""
        if not self.has_ended():
            _begin(self)
            return False
        return True

    def has_ended(self) -> bool:
        """Return whether there is code by now, or an error."""
        return self.code is not None or self.error is not None


class ChangingCode:
    """Functions that are plain Python until a thread has compiled them.

    Parameters
    ----------
    calls
        The functions, each with arguments of the types that it is compiled for.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Factor(NamedTuple):
    ...     by: float
    >>> def scaled(factor: Factor, nothing: None, x: float) -> float:
    ...     return factor.by * x
    >>> (times,) = ChangingCode((scaled, Factor(2.0), None, 1.0)).now()
    >>> times(Factor(3.0), None, 2.0)
    6.0
    """

    def __init__(self, *calls: Call) -> None:
        self._better = None if is_disabled() else Compilation(calls)
        self._code = Compilation(calls).interpreted()

    def now(self) -> Code:
        """Return the functions, compiled if they are by now; begin to compile them if nobody has."""
        better = self._better
        if better is not None and better.is_over():
            self._better = None
            if better.code is not None:
                self._code = better.code
            elif better.error is not None:
                warn_that_nothing_compiles(better.error)
        return self._code


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that answers as compiled code does: in silence, and in types of Python's own.

    Examples
    --------
    >>> interpreted(np.log)(0.0)
    -inf
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            answer = function(*arguments)
        return answer.item() if isinstance(answer, np.generic) else answer

    return call


@functools.cache  # once in a process
def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=6)


def warn_that_nothing_compiles(error: Exception) -> None:
    """Warn, once for each reason, that code stays as it is."""
    _warn(f"agents go on as plain Python, with the same decisions but more slowly: {type(error).__name__}: {error}")


# The thread.  It holds `_working` while it imports numba or compiles, because a child that was forked meanwhile could
# never do either: locks that the thread held would not be released there.

_changing = threading.Lock()  # held while one of the next three changes
_begun: weakref.WeakSet[Compilation] = weakref.WeakSet()
_waiting: deque[weakref.ref[Compilation]] = deque()
_thread: threading.Thread | None = None
_working = threading.Lock()
_ending = threading.Event()


def _begin(compilation: Compilation) -> None:
    """Let the thread compile this, unless it does already."""
    global _thread
    with _changing:
        if compilation not in _begun and not _ending.is_set():
            _begun.add(compilation)
            _waiting.append(weakref.ref(compilation))  # nobody compiles for an agent that is gone
            if _thread is None:
                _thread = threading.Thread(target=_work, name="heavybandits-compile", daemon=True)
                _thread.start()


def _work() -> None:
    global _thread
    _ending.wait(SECONDS_OF_QUIET)
    while True:
        with _changing:
            if not _waiting or _ending.is_set():
                _thread = None
                return
            compilation = _waiting.popleft()()
        if compilation is not None:
            with _working, _giving_way():
                _run(compilation)


@contextlib.contextmanager
def _giving_way() -> Iterator[None]:
    """Let other threads have the interpreter sooner than after the usual 5 ms: somebody waits for a decision."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, SECONDS_BETWEEN_SWITCHES))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _run(compilation: Compilation) -> None:
    try:
        with stoppable():
            compilation.code = compilation.run()
    except Stopped:  # by a fork, or by the end of the process
        with _changing:
            _waiting.appendleft(weakref.ref(compilation))
    except Exception as error:
        compilation.error = error


@atexit.register
def _end() -> None:
    """Stop the thread: a process that ends while another thread is in the compiler may crash."""
    _ending.set()
    stop()
    thread = _thread
    if thread is not None:
        thread.join()


def _hold() -> None:
    stop()
    _working.acquire()
    _changing.acquire()


def _release() -> None:
    if not _ending.is_set():
        go_on()
    _changing.release()
    _working.release()


def _release_in_child() -> None:
    """Forget what the parent has begun: the child has no thread, and begins again if it needs the code."""
    global _thread
    _thread = None
    _begun.clear()
    _waiting.clear()
    _release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release_in_child)
