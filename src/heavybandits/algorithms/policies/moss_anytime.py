"""MOSS without a horizon; see :mod:`.moss`."""

from __future__ import annotations

from .moss import FACTS as TEMPLATE
from .moss import MOSS

NAME = "moss-anytime"
EXAMPLE: dict[str, object] = {}
FACTS = TEMPLATE._replace(
    needs="scale",
    regret="O(sqrt(T K)), for rewards in [0, 1] and c > 1/sqrt(2)",
    reference="Degenne, Perchet 2016",
)


def moss_anytime(c: float = 1.0) -> MOSS:
    """Make MOSS without a horizon.

    Examples
    --------
    >>> moss_anytime()
    MOSS(c=1.0, anytime=True)
    """
    return MOSS(c, True)
