"""What a page is made from: the replica of an experiment alone, never the log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...protocols import FloatArray
from ..learners import policy_of
from ..replica import Replica
from ..report import report


class Known(NamedTuple):
    """An experiment's report, its policy, and a sample of the rewards of each arm in the order of time."""

    report: dict[str, Any]
    policy: Any
    samples: dict[str, FloatArray]

    @property
    def goal(self) -> str:
        """What is maximised."""
        return str(self.report["experiment"].goal)

    @property
    def has_context(self) -> bool:
        """Whether the policy decides by features, so that no arm is the best of all."""
        return self.report["experiment"].context is not None


def known(replica: Replica) -> Known:
    """Return what a page shows of an experiment."""
    samples = {name: np.array(arm.in_order()) for name, arm in replica.totals.arms.items()}
    return Known(report(replica), policy_of(replica.spec), samples)
