"""What a page is made from: a copy of the replica of an experiment, never the log."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocols import FloatArray
from ..report import Taken, median, over_time, summary
from ..spec import Experiment
from ..totals import Totals


class Known(NamedTuple):
    """An experiment's description, what a report says about it, its totals, and estimates by span of time."""

    spec: Experiment
    report: dict[str, Any]
    totals: Totals
    estimates: list[dict[str, float]]

    @property
    def goal(self) -> str:
        """What is maximised."""
        return str(self.report["experiment"].goal)

    @property
    def has_context(self) -> bool:
        """Whether the policy decides by features, so that no arm is the best of all."""
        return self.report["experiment"].context is not None

    def median(self, name: str) -> tuple[Any, Any]:
        """Return the median of an arm's rewards with an interval; None if there are none."""
        return median(self.totals.arms[name])

    def sample(self, name: str) -> FloatArray:
        """Return a sample of an arm's rewards in the order of time."""
        return self.totals.arms[name].in_order()


def known(of: Taken) -> Known:
    """Return what a page shows of an experiment."""
    rows = of.rows()
    return Known(of.spec, summary(of, rows), of.totals, over_time(of.totals, rows))
