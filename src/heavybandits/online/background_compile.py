"""Background compile: an agent with more arms than before goes on with the code it has while other code is compiled.

Policies that play a tournament have code for few arms, which scans them, and code for many.  Both make the same
decisions, at other speeds.  So an agent never waits for one while it has the other.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ..algorithms.parts.choice.late import MANY
from ..algorithms.parts.choice.pending import find_pending
from ..algorithms.parts.choice.tournament import with_trees
from ..jit.compiled import compiled, compiled_already, key_of
from ..jit.stopping import Stopped, stop, stoppable
from .pending import decide, learn

_begun: dict[Any, threading.Event] = {}  # by what the code is compiled for
_threads: list[threading.Thread] = []


class Code(NamedTuple):
    """:func:`.decide` and :func:`.learn`, compiled for a policy without text parameters and its state."""

    decide: Callable[..., int]
    learn: Callable[..., None]


def compiled_for(policy: Any, state: Any, rng: Any) -> Code:
    """Return the compiled code for this policy, state and generator."""
    return Code(*(compiled(*call) for call in _calls(policy, state, rng)))


def compiled_already_for(policy: Any, state: Any, rng: Any) -> Code | None:
    """Return the compiled code if that takes no compiling, else None."""
    found = [compiled_already(*call) for call in _calls(policy, state, rng)]
    return None if None in found else Code(*found)  # type: ignore[arg-type]


def _calls(policy: Any, state: Any, rng: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    pending = find_pending(state)
    return (decide, policy, state, pending, 0, rng, 0, 0), (learn, policy, state, pending, 0, 0.0, True)


class AtHand(NamedTuple):
    """A state in a form for which there is code."""

    state: Any
    code: Code
    better: threading.Event | None  # set once there is faster code; None if this is the fastest


def code_at_hand(policy: Any, state: Any, rng: Any) -> AtHand:
    """Return the state in the form that suits its number of arms best, or in one for which code is already compiled.

    In the second case, the better code is compiled in the background.  If none is compiled yet, this compiles the best.

    Examples
    --------
    >>> import heavybandits as hb
    >>> found = code_at_hand(hb.UCB(), hb.UCB().init(n_arms=3, horizon=None), None)
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
        with contextlib.suppress(Exception, Stopped), stoppable():
            compiled_for(policy, state, rng)
            done.set()

    if begun is done:
        thread = threading.Thread(target=work, name="heavybandits-compile", daemon=True)
        _threads.append(thread)
        thread.start()
    return begun


@atexit.register
def give_up() -> None:
    """Stop all threads that compile: a process that ends while another thread is in the compiler may crash."""
    stop()
    for thread in _threads:
        thread.join()
