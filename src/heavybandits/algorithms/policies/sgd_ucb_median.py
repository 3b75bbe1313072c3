"""SGD-UCB-Median: Clipped-SGD-UCB with a step for each median of three rewards; see :mod:`.clipped_sgd_ucb`."""

from __future__ import annotations

import functools

from .clipped_sgd_ucb import FACTS as FACTS
from .clipped_sgd_ucb import ClippedSGDUCB

NAME = "sgd-ucb-median"
EXAMPLE = {"schedule": "theory"}

sgd_ucb_median = functools.partial(ClippedSGDUCB, 1, 1)  # m, n
