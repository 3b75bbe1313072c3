"""What the decisions of a policy that decides by contexts show: whether it earns more than its control would.

Counted are decisions that were drawn while the control might have been chosen with a known probability: neither those
of units that keep their arm nor those of a paused experiment.  Whether a decision counts is settled when its reward
comes, and stored with the reward, so that a replay need not know when the control could be chosen.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import msgspec

from ..._format import plural
from ...evaluation.policy_gain import GainRecord
from ...evidence.words import Terms, counting_between, shown, sizing_up
from ...protocols import is_randomised
from ..events import Event
from ..spec import Experiment
from .learners.policy import experiment_policy

DRAWN = "drawn"  # the reason of a reward that counts


class Lead(NamedTuple):
    """By how much a policy earns more per decision than always choosing its control would, or costs more.

    Attributes
    ----------
    control, floor
        The control, and what its probability was never below; 0 if it was only positive.
    decisions
        How many decisions count.
    low, high
        Between what the difference lies.
    lift
        The part of what the control pays that it is at least, if it is shown not to be 0 and rewards have one sign.
    cap
        From which amount to which rewards count.
    has_one_sign
        Whether no reward lies on the other side of an end of the cap that is 0.
    """

    control: str
    floor: float
    decisions: int
    low: float
    high: float
    lift: float | None
    cap: tuple[float, float]
    has_one_sign: bool = True


class HeldBets(msgspec.Struct):
    """The whole state; see :class:`AgainstControl`."""

    control: str
    since: int | None
    record: bytes


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(HeldBets).decode


class AgainstControl:
    """Bets on what a policy earns beyond always choosing its control.

    Parameters
    ----------
    spec
        The experiment.
    control
        Its control.
    since
        Decisions after this event count; none while this is None, because the control cannot be chosen.
    record
        The bets so far.
    """

    def __init__(self, spec: Experiment, control: str, since: int | None, record: GainRecord | None = None) -> None:
        self.control, self.since, self._spec = control, since, spec
        floor = spec.floor.get(control, 0.0)
        self.has_chance = floor > 0.0 or is_randomised(experiment_policy(spec))
        self.record = GainRecord(floor) if record is None else record

    def now(self, control: str, is_open: bool, seq: int) -> AgainstControl:
        """Return what goes on after a change, event ``seq``: a new control is compared from the beginning."""
        if control != self.control:
            return AgainstControl(self._spec, control, seq if is_open else None)
        if not is_open:
            self.since = None
        elif self.since is None:
            self.since = seq
        return self

    def counts(self, decision: Event, offered: bool) -> bool:
        """Return whether a decision counts that might have been for the control, if that was offered."""
        was_open = self.since is not None and decision.seq > self.since
        if not (was_open and offered and self.has_chance and decision.p and decision.reason in ("policy", "floor")):
            return False
        return self.record.floor > 0.0 or decision.p < 1.0  # a policy that draws may be certain now and then

    def learn(self, event: Event) -> None:
        """Take in the reward of a decision that counts."""
        assert event.p is not None
        value = float(event.value or 0.0)
        self.record.learn(event.arm == self.control, event.p, value if self._spec.sign > 0 else 0.0 - value)

    def lead(self) -> Lead | None:
        """Return by how much the policy earns more than its control, as far as that is known."""
        if (found := self.record.found(self._spec.stop.delta)) is None:
            return None
        (low, high), cap = (sorted(self._spec.sign * end + 0.0 for end in ends) for ends in (found[:2], found.cap))
        lift = math.copysign(found.lift, low) if found.lift else None
        return Lead(
            self.control, self.record.floor, self.record.n, low, high, lift, (cap[0], cap[1]), found.has_one_sign
        )  # fmt: skip

    def sentence(self, lead: Lead | None) -> str:
        """Say what is known."""
        spec, control = self._spec, self.control
        if lead is not None:
            return _known(lead, spec)
        if self.record.first.n[0]:
            return sizing_up(self.record.first, Terms((), "mean", spec.minimise, spec.stop.delta, None, -1))[0]
        if self.record.floor:
            return f"Nothing can be told yet: no rewarded decision might have been for the control, {control}."
        return (f"Nothing can be told about the policy: no decision had a known chance to be for the control, "
                f"{control}; a floor for {control} makes it possible.")  # fmt: skip

    def copied(self) -> AgainstControl:
        """Return a copy that later rewards do not change."""
        found = copy.copy(self)
        found.record = self.record.copied()
        return found

    def dumps(self) -> bytes:
        """Return all of it as bytes: the same for equal ones."""
        return _encode(HeldBets(self.control, self.since, self.record.dumps()))

    @classmethod
    def loads(cls, spec: Experiment, contents: bytes) -> AgainstControl:
        """Return what was turned into these bytes."""
        held = _decode(contents)
        return cls(spec, held.control, held.since, GainRecord.loads(held.record))


def _known(lead: Lead, spec: Experiment) -> str:
    """Say by how much a policy earns more, or less, than its control; or that it is open."""
    does, control = "costs" if spec.minimise else "earns", lead.control
    chance = f"had a chance of at least {100 * lead.floor:g}%" if lead.floor else "might have been drawn"
    by = f"by {plural(lead.decisions, 'decision')} in which {control} {chance}"
    wrong = f"however often you look, wrong in at most {100 * spec.stop.delta:g}% of experiments"
    why = f"{counting_between(*lead.cap, lead.has_one_sign)} per decision ({by}; {wrong})"
    if lead.low <= 0.0 <= lead.high:
        better = "less" if spec.minimise else "more"
        between = f"the difference is between {shown(lead.low)} and {shown(lead.high)}"
        return f"Whether the policy {does} {better} than always {control} would is open: {between}, {why}."
    least = shown(min(abs(lead.low), abs(lead.high)))
    least = least if lead.lift is None else f"{_rounded_down(100 * abs(lead.lift))}%"
    more = "more" if lead.low > 0.0 else "less"
    return f"The policy {does} at least {least} {more} than always {control} would, {why}."


def _rounded_down(percent: float) -> str:
    """Format a percentage with two digits, never above what it is.

    Examples
    --------
    >>> _rounded_down(3.49), _rounded_down(0.0519), _rounded_down(123.9)
    ('3.4', '0.051', '123')
    """
    digits = max(0, 1 - math.floor(math.log10(percent)))
    return f"{math.floor(percent * 10**digits) / 10**digits:g}"
