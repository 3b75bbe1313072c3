"""Pending rows of linear policies, recorded in the part of a state that takes them into account.

:func:`.find_asking` finds that part; it is None if there is none.
"""

from __future__ import annotations

from typing import Any

from ....protocols import FloatArray, compilable


@compilable
def ask(asking: Any, x: FloatArray) -> None:
    """Record that a row is pending, if the state takes pending rows into account."""
    if asking is None:
        return
    asking.ask(x)


@compilable
def settle(asking: Any, x: FloatArray) -> None:
    """Record that a row is no longer pending, if the state takes pending rows into account."""
    if asking is None:
        return
    asking.settle(x)
