"""Compiling ahead, so that a growing agent does not stall when it needs other code."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from ..algorithms.kit.matches import SCAN
from ..algorithms.kit.pending import find_pending
from ..algorithms.kit.state import fresh_state
from .decisions import compiled_for

_begun: set[tuple[Any, bool]] = set()  # kinds of policies, and whether their horizon is unknown


def compile_ahead(policy: Any, bare: Any, horizon: int | None, rng: Any) -> threading.Thread | None:
    """Compile the policy for more than ``SCAN`` arms in the background, once; return the thread if there is one.

    Errors there are left to whoever needs the code.  The thread does not keep the process from ending.

    Examples
    --------
    >>> import heavybandits as hb
    >>> thread = compile_ahead(hb.UCB(), hb.UCB(), None, None)
    >>> compile_ahead(hb.UCB(), hb.UCB(), None, None)
    """
    kind = type(policy), horizon is None
    if kind in _begun:
        return None
    _begun.add(kind)

    def work() -> None:
        with contextlib.suppress(Exception):
            state = fresh_state(policy, SCAN + 1, horizon)
            compiled_for(bare, state, find_pending(state), rng)

    thread = threading.Thread(target=work, name="heavybandits-compile-ahead", daemon=True)
    thread.start()
    return thread
