"""LB-SDA with limited memory; see :mod:`.lb_sda`."""

from __future__ import annotations

from .lb_sda import FACTS as TEMPLATE
from .lb_sda import LBSDA

NAME = "lb-sda-limited"
EXAMPLE: dict[str, object] = {}
FACTS = TEMPLATE._replace(memory="O(ln^2 T)", cost="O(K ln^2 T)")


def lb_sda_limited(memory: float = 1.0) -> LBSDA:
    """Make LB-SDA with limited memory.

    Examples
    --------
    >>> lb_sda_limited()
    LBSDA(memory=1.0)
    """
    return LBSDA(memory)
