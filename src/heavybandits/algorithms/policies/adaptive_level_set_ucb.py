"""Level-set UCB with a learned loss; see :mod:`.level_set_ucb`."""

from __future__ import annotations

from .level_set_ucb import FACTS as FACTS
from .level_set_ucb import LevelSetUCB

NAME = "adaptive-level-set-ucb"
EXAMPLE = {"c": 2.0}


def adaptive_level_set_ucb(c: float = 4.0) -> LevelSetUCB:
    """Make level-set UCB with a learned loss.

    Examples
    --------
    >>> adaptive_level_set_ucb()
    LevelSetUCB(noise=None, scale=0.0, c=4.0)
    """
    return LevelSetUCB(noise=None, scale=0.0, c=c)
