"""What the state of a linear policy is told of rows whose rewards have not come, if a part of it heeds them.

That part is what :func:`.find_asking` finds, None if there is none.
"""

from __future__ import annotations

from typing import Any

from ...protocols import FloatArray, compilable


@compilable
def ask(asking: Any, x: FloatArray) -> None:
    """Tell the state of a pending row, if it heeds them."""
    if asking is None:
        return
    asking.ask(x)


@compilable
def settle(asking: Any, x: FloatArray) -> None:
    """Tell the state that a row is pending no more, if it heeds them."""
    if asking is None:
        return
    asking.settle(x)
