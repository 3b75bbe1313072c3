"""What a page is made from: a copy of the replica of an experiment, never the log."""

from __future__ import annotations

from typing import NamedTuple

from ...protocols import FloatArray
from ..replicas.report import ExperimentReport, Taken, median, over_time, summary
from ..replicas.standing import Standing, assessed
from ..replicas.totals import Totals
from ..spec import Experiment, QuantileGoal
from .traffic import Traffic, traffic

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
    traffic
        Decisions by span of time.
    estimates
        Those of the policy, by span of time.
    drawn
        The arms that are drawn, the busiest, by their positions.
    """

    spec: Experiment
    report: ExperimentReport
    totals: Totals
    standing: Standing
    traffic: Traffic
    estimates: list[dict[str, float]]
    drawn: dict[int, str]

    @property
    def goal(self) -> str:
        """What is maximised, in words."""
        return str(self.spec.goal)

    @property
    def has_context(self) -> bool:
        """Whether the policy decides by features, or chooses points, so that no arm is the best of all."""
        return self.spec.kind != "arms"

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
    estimates = over_time(of.totals, rows)
    return Known(of.spec, report, of.totals, assessed(of, report), traffic(of.totals), estimates, drawn)


def goal_in_words(goal: str | QuantileGoal) -> str:
    """Return what arms are compared by.

    Examples
    --------
    >>> goal_in_words("location"), goal_in_words(QuantileGoal(0.9))
    ('median', '90% quantile')
    """
    return "median" if goal == "location" else str(goal)
