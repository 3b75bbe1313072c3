"""What learns in an experiment with named attributes: an agent that makes features of them.

Which attribute and which level has which column is decided in the order of the log, so all replicas agree about it.
The log does not keep the order of attributes within a decision, so they are taken in the order of their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from ....online.attributes.agent import AttributeAgent
from ....online.estimates import ArmEstimate
from ....online.pending import Assigned
from ...events import SECOND, Event
from ...spec import Arm, Attributes, Context, Experiment, attributes_in
from .linear import LearnerState, LinearLearner
from .policy import experiment_policy

_named = msgspec.json.Decoder(Attributes)


TIME = "time"  # the attribute that says when a decision was made


def time_zone(name: str) -> ZoneInfo:
    """Return a time zone; refuse one that does not exist.

    Examples
    --------
    >>> time_zone("UTC")
    zoneinfo.ZoneInfo(key='UTC')
    """
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ValueError(f'time_zone must be a known one, such as "Europe/Berlin", got {name!r}') from None


def _ordered(attributes: Attributes) -> Attributes:
    return dict(sorted(attributes.items()))


class AttributeLearner(LinearLearner):
    """An agent that takes attributes.

    Parameters
    ----------
    spec
        The experiment when it was made.
    held
        What it has learned since.
    """

    agent: AttributeAgent

    def __init__(self, spec: Experiment, held: LearnerState) -> None:
        assert spec.context is not None
        self._length, self._arms = None, dict(held.arms)
        rule = spec.context
        self._schema = rule.attributes if isinstance(rule.attributes, dict) else {}
        self._zone = rule.time_zone
        if self._schema and self._zone is not None:
            self._schema = {TIME: "datetime", **self._schema}
        if held.agent is None:
            policy, arms = experiment_policy(spec), {arm.name: _ordered(arm.attributes) for arm in spec.arms}
            self.agent = AttributeAgent(policy, arms=arms, schema=self._schema, seed=spec.seed)
        else:
            self.agent = AttributeAgent.loads(held.agent)

    @property
    def takes_arms(self) -> bool:
        """Whether another arm can be added: if there is room for its model."""
        return self.agent.has_room

    def timed(self, context: Context | None, t: int) -> Context | None:
        """Return a context with the time of its decision, unless it has one or there is no time zone.

        It becomes part of the event, so a replay needs neither clock nor time zone.
        """
        named = attributes_in(context)
        if self._zone is None or named is None or not isinstance(context, dict) or TIME in named:
            return context
        moment = datetime.fromtimestamp(t // SECOND, time_zone(self._zone))
        return {**context, "attributes": {**named, TIME: moment.strftime("%Y-%m-%dT%H:%M")}}

    def check(self, context: Context | None) -> None:
        """Refuse a context without attributes, and attributes that do not fit."""
        named = attributes_in(context)
        if named is None or not isinstance(context, dict) or len(context) > 1:
            raise ValueError('context must be {"attributes": {...}}, because the experiment was made with attributes')
        try:
            self.agent.check(named)
        except TypeError as error:
            raise ValueError(str(error)) from None

    def check_arm(self, attributes: Attributes) -> None:
        """Refuse attributes of an arm that do not fit."""
        try:
            self.agent.check_arm(attributes)
        except TypeError as error:
            raise ValueError(str(error)) from None

    def usable(self, fields: dict[str, Any]) -> Attributes:
        """Return those of some fields that may be attributes: neither lists nor mappings, and in the schema, if any."""
        plain = {name: value for name, value in fields.items() if not isinstance(value, list | dict)}
        known = {name: value for name, value in plain.items() if not self._schema or name in self._schema}
        try:
            return msgspec.convert(known, Attributes)
        except msgspec.ValidationError as error:
            raise ValueError(f"attributes: {error}") from None

    def assign(self, given: str | None, among: list[str], key: bytes, context: Context | None) -> Assigned:
        """Let the agent make a decision among these arms."""
        assigned = self.agent.assign(_ordered(attributes_in(context) or {}), given, key, arms=among)
        self._arms[assigned.arm].pending += 1
        return assigned

    def _teach(self, event: Event, selected: bool) -> None:
        context = _ordered(_named.decode(event.body or "{}"))
        self.agent.update(str(event.arm), event.value or 0.0, context=context, selected=selected)

    def _cancel(self, event: Event) -> None:
        self.agent.cancel(str(event.arm), context=_named.decode(event.body or "{}"))

    def add_arm(self, arm: Arm) -> None:
        """Add an arm to the agent."""
        super().add_arm(arm)
        self.agent.add_arm(arm.name, _ordered(arm.attributes))

    def rows_later(self, indices: bool) -> Callable[[], list[ArmEstimate]]:
        """Copy what is known about each arm for an average of all visitors; there are never indices."""
        counts = {arm: (sums.pulls, sums.pending) for arm, sums in self._arms.items() if not sums.retired}
        table = dict(zip(self.agent.arms, self.agent.average_rows(), strict=True))
        frozen = self.agent.frozen()

        def rows() -> list[ArmEstimate]:
            values = frozen.values([table[arm] for arm in counts])
            return [
                ArmEstimate(arm, *counted, value, math.nan)
                for (arm, counted), value in zip(counts.items(), values, strict=True)
            ]

        return rows
