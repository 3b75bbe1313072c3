"""SGD-UCB: Clipped-SGD-UCB with a step for each reward; see :mod:`.clipped_sgd_ucb`."""

from __future__ import annotations

import functools

from .clipped_sgd_ucb import FACTS as FACTS
from .clipped_sgd_ucb import ClippedSGDUCB

NAME = "sgd-ucb"
EXAMPLE: dict[str, object] = {}

sgd_ucb = functools.partial(ClippedSGDUCB, 0, 1)  # m, n
