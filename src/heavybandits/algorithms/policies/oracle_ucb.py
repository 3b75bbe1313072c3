"""Level-set UCB that knows the noise, and so shows how much learning it could gain; see :mod:`.level_set_ucb`."""

from __future__ import annotations

import json
from typing import Any

from ...world.noises import make_noise
from ..level_sets.loss_tables import footing
from .level_set_ucb import FACTS as TEMPLATE
from .level_set_ucb import LevelSetUCB

NAME = "oracle-ucb"
EXAMPLE = {"noise": {"kind": "frechet", "alpha": 1.25}}
FACTS = TEMPLATE._replace(needs="law and scale of the noise")


def oracle_ucb(noise: Any, c: float = 4.0) -> LevelSetUCB:
    """Make level-set UCB that knows the law and the scale of the noise.

    Examples
    --------
    >>> import heavybandits as hb
    >>> round(oracle_ucb(hb.Cauchy(scale=2.0)).scale, 3)
    2.0
    """
    told = LevelSetUCB(noise, 0.0, c)
    return told._replace(scale=footing(make_noise(**json.loads(told.noise)))[1])
