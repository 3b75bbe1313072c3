"""SGD-UCB-SMoM: Clipped-SGD-UCB with a step for each median of three means of two; see :mod:`.clipped_sgd_ucb`."""

from __future__ import annotations

import functools

from .clipped_sgd_ucb import FACTS as FACTS
from .clipped_sgd_ucb import ClippedSGDUCB

NAME = "sgd-ucb-smom"
EXAMPLE = {"theta": 0.5}

sgd_ucb_smom = functools.partial(ClippedSGDUCB, 1, 2)  # m, n
