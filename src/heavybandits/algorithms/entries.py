"""The facts by which policies are compared."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """A row of the table of policies; each policy's file defines it as ``FACTS``.

    Examples
    --------
    >>> Facts(needs="scale", memory="O(1)", cost="O(log K)", regret="none", reference="Auer et al. 2002").needs
    'scale'
    """

    needs: str  # what it must be told, such as horizon, scale or moment bound; or "nothing"
    memory: str  # per arm
    cost: str  # per pull
    regret: str  # what is proved, and under which assumption
    reference: str
