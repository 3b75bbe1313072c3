"""Code at hand: an agent with more arms than before goes on with the code it has while other code is compiled.

Policies that play a tournament have code for few arms, which scans them, and code for many.  Both make the same
decisions, at other speeds.  So an agent never waits for one while it has the other.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import threading
from typing import Any, NamedTuple

from ..algorithms.parts.choice.late import MANY
from ..algorithms.parts.choice.tournament import with_trees
from ..jit.compiled import key_of
from .decisions import Code, compiled_already_for, compiled_for

_begun: dict[Any, threading.Event] = {}  # by what the code is compiled for
_threads: list[threading.Thread] = []


class AtHand(NamedTuple):
    """A state in a form for which there is code."""

    state: Any
    code: Code
    better: threading.Event | None  # set once there is faster code; None if this is the fastest


def at_hand(policy: Any, state: Any, rng: Any) -> AtHand:
    """Return the state in the form that suits its number of arms best, or in one for which code is already compiled.

    In the second case, the better code is compiled in the background.  If none is compiled yet, this compiles the best.

    Examples
    --------
    >>> import heavybandits as hb
    >>> found = at_hand(hb.UCB(), hb.UCB().init(n_arms=3, horizon=None), None)
    >>> found.state.tournament.tree is None
    True
    """
    best = with_trees(state)
    for form in (best, with_trees(state, beyond=0), with_trees(state, beyond=MANY)):
        code = compiled_already_for(policy, form, rng)
        if code is not None:
            return AtHand(form, code, None if form is best else compile_ahead(policy, best, rng))
    return AtHand(best, compiled_for(policy, best, rng), None)


def compile_ahead(policy: Any, state: Any, rng: Any) -> threading.Event:
    """Compile the policy for states like this one in the background, once; return an event that is set when it is done.

    If compiling fails, the event is never set.  When the process ends, compiling is given up.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = with_trees(hb.UCB().init(n_arms=3, horizon=None), beyond=0)
    >>> compile_ahead(hb.UCB(), state, None) is compile_ahead(hb.UCB(c=2.0), state, None)
    True
    """
    done = threading.Event()
    begun = _begun.setdefault(key_of(compile_ahead, policy, state, rng), done)

    def work() -> None:
        with contextlib.suppress(Exception, SystemExit):
            compiled_for(policy, state, rng)
            done.set()

    if begun is done:
        thread = threading.Thread(target=work, name="heavybandits-compile-ahead", daemon=True)
        _threads.append(thread)
        thread.start()
    return begun


@atexit.register
def give_up() -> None:
    """Stop all threads that compile: a process that ends while another thread is in the compiler may crash."""
    for thread in _threads:
        if thread.ident is not None and thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
    for thread in _threads:
        thread.join()
