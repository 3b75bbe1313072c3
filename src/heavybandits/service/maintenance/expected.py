"""The rows on open windows and on units that the events of an experiment imply, to compare with those stored."""

from __future__ import annotations

import math

from ..events import SECOND, Event, asked_in, kept_by_unit
from ..spec import Experiment
from ..storage.rows import OpenDecision, UnitArm


class Expected:
    """The open windows and the arms of units that events imply.

    Attributes
    ----------
    open
        Decisions whose window is open, by key.  A total is NaN if the events that it adds up are gone.
    units
        All arms that each unit has had, by its hash, the latest last.
    """

    def __init__(self) -> None:
        self.open: dict[str, OpenDecision] = {}
        self.units: dict[str, list[UnitArm]] = {}

    def take(self, spec: Experiment, event: Event) -> None:
        """Take in an event."""
        if spec.reward.window is not None:
            self._in_window(spec, spec.reward.window, event)
        if spec.sticky and event.body is not None and event.reason in ("policy", "floor", "only"):
            unit = asked_in(event).unit
            if unit is not None:
                self.units.setdefault(unit, []).append(UnitArm(unit, kept_by_unit(event), event.p))

    def take_kept(self, spec: Experiment, event: Event) -> None:
        """Take in an event that stayed when those around it were pruned: its unit may have got another arm since."""
        if spec.reward.window is not None:
            self._in_window(spec, spec.reward.window, event)
            if spec.reward.combine == "sum" and (row := self.open.get(str(event.key))) is not None:
                self.open[row.key] = row._replace(total=math.nan)  # its rewards may have been pruned

    def _in_window(self, spec: Experiment, window: float, event: Event) -> None:
        key, kind, rule = str(event.key), event.kind, spec.reward
        if kind == "decision":
            self.open[key] = OpenDecision(event.exp, key, str(event.arm), event.t + round(window * SECOND), None)
        elif kind in ("close", "cancel") or (kind == "reward" and not rule.at_close):
            self.open.pop(key, None)
        elif kind == "reward" and rule.combine == "sum":
            decision = key.partition("/")[0]
            if (row := self.open.get(decision)) is not None:
                self.open[decision] = row._replace(total=(row.total or 0.0) + (event.value or 0.0))
