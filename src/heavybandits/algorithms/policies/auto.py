"""What to use when nothing is known: a learned loss and fixed settings; see :mod:`.level_set_ucb`."""

from __future__ import annotations

from .level_set_ucb import FACTS as FACTS
from .level_set_ucb import LevelSetUCB

NAME = "auto"
EXAMPLE: dict[str, object] = {}


def auto() -> LevelSetUCB:
    """What to use when nothing is known: level-set UCB with a learned loss and fixed settings.

    Not for rewards of which most are the same number, such as zero; see :class:`.LevelSetUCB` for what it assumes.

    Examples
    --------
    >>> auto()
    LevelSetUCB(noise=None, scale=0.0, c=4.0)
    """
    return LevelSetUCB(noise=None, scale=0.0, c=4.0)
