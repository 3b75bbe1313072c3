"""What a page is made from: a copy of the replica of an experiment, never the log."""

from __future__ import annotations

from typing import NamedTuple

from ...protocols import FloatArray
from ..replicas.report import ExperimentReport, Taken, median, over_time, summary
from ..replicas.standing import Standing, assessed
from ..replicas.totals import Totals
from ..spec import Experiment

DRAWN_ARMS = 8  # arms that are drawn, the busiest


class Known(NamedTuple):
    """What a page is made from.

    Attributes
    ----------
    spec
        The experiment's description.
    report
        What a report says about it.
    totals
        Its totals.
    standing
        Who leads, and what is known.
    estimates
        Those of the policy, by span of time.
    drawn
        The arms that are drawn, the busiest, by their positions.
    """

    spec: Experiment
    report: ExperimentReport
    totals: Totals
    standing: Standing
    estimates: list[dict[str, float]]
    drawn: dict[int, str]

    @property
    def goal(self) -> str:
        """What is maximised."""
        return self.spec.goal

    @property
    def has_context(self) -> bool:
        """Whether the policy decides by features, so that no arm is the best of all."""
        return self.spec.context is not None

    def median(self, name: str) -> tuple[float, tuple[float, float]]:
        """Return the median of an arm's rewards with an interval; NaN if there are none."""
        return median(self.totals.arms[name])

    def sample(self, name: str) -> FloatArray:
        """Return a sample of an arm's rewards in the order of time."""
        return self.totals.arms[name].in_order()


def known(of: Taken) -> Known:
    """Return what a page shows of an experiment."""
    rows = of.rows()
    report = summary(of, rows)
    busiest = sorted(range(len(report.arms)), key=lambda position: -report.arms[position].decisions)[:DRAWN_ARMS]
    drawn = {position: report.arms[position].name for position in sorted(busiest)}
    return Known(of.spec, report, of.totals, assessed(of, report), over_time(of.totals, rows), drawn)
