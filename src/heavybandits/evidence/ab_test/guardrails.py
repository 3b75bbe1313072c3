"""Guardrails: metrics in which an arm must not be worse than the control by more than a margin, at all times.

``latency <= +20`` says that an arm's mean latency may exceed the control's by at most 20; ``orders >= -2%`` that its
orders may be 2% fewer; ``p95(latency) <= +50`` is about the 95% quantile.  Either side can be shown: that an arm keeps
to the margin, or that it breaks it.  For each guardrail and arm only one of the two can be wrong, so both have the
whole level of that pair, and all statements about guardrails together are ever wrong with a probability of at most
delta.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..measures import ClippedMean, Measure, measures
from ..tally import Tally, counts_in_full, has_one_sign, is_sized_up
from ..words import counting_between, odds

State = Literal["kept", "broken", "open"]
COLUMN = r"[^()\r\n]+"  # no parentheses: a quantile that is misspelt must not pass for the name of a column
WRITTEN = re.compile(rf"(?:p(?P<level>\d+(?:\.\d+)?)\((?P<of>{COLUMN})\)|(?P<column>{COLUMN}?)) *(?P<side><=|>=) *"
                     r"(?P<sign>[+-]) *(?P<margin>\d+(?:\.\d*)?|\.\d+) *(?P<percent>%?)", re.ASCII)  # fmt: skip


class Guardrail(NamedTuple):
    """What must hold of an arm; :func:`read_guardrail` reads it."""

    text: str
    column: str
    tau: float | None  # the level of a quantile, or None for the mean
    is_cost: bool  # lower is better
    margin: float
    is_relative: bool


class GuardrailState(NamedTuple):
    """What is known about one arm and one guardrail."""

    guardrail: str
    arm: str
    state: State
    evidence: float  # for the state, or for the one that is nearer if it is open
    sentence: str


def read_guardrail(owner: str, text: object) -> Guardrail:
    """Read a guardrail.

    Examples
    --------
    >>> read_guardrail("compare", "orders >= -2%")._asdict()
    {'text': 'orders >= -2%', 'column': 'orders', 'tau': None, 'is_cost': False, 'margin': 0.02, 'is_relative': True}
    >>> read_guardrail("compare", "p95(latency) <= +50").tau
    0.95
    >>> read_guardrail("compare", "latency < 50")
    Traceback (most recent call last):
        ...
    ValueError: compare: a guardrail must read like 'latency <= +20', 'orders >= -2%' or 'p95(latency) <= +50', \
got 'latency < 50'

    The name of a column must have no parentheses.
    """
    found = WRITTEN.fullmatch(text.strip(" ")) if isinstance(text, str) else None
    wrong = found is None or (found["side"] == "<=") != (found["sign"] == "+")
    level = None if found is None or found["level"] is None else float(found["level"]) / 100.0
    if wrong or found is None or not 0.0 < (0.5 if level is None else level) < 1.0:
        like = "'latency <= +20', 'orders >= -2%' or 'p95(latency) <= +50'"
        raise ValueError(f"{owner}: a guardrail must read like {like}, got {text!r}")
    margin, is_relative, is_cost = float(found["margin"]), bool(found["percent"]), found["side"] == "<="
    if is_relative and level is not None:
        raise ValueError(f"{owner}: the margin of a quantile must be an amount, not a share, got {text!r}")
    if is_relative and not is_cost and margin >= 100.0:
        raise ValueError(f"{owner}: the margin of a guardrail must be below 100%, got {text!r}")
    column = (found["of"] or found["column"]).strip()
    return Guardrail(
        str(text).strip(), column, level, is_cost, margin / 100.0 if is_relative else margin, is_relative
    )  # fmt: skip


def states_of(
    rail: Guardrail, tally: Tally, arms: Sequence[str], control: str, delta: float
) -> list[GuardrailState]:  # fmt: skip
    """Return how each arm but the control stands, by the values of the guardrail's metric.

    All of it together is ever wrong with a probability of at most ``delta``.

    Examples
    --------
    >>> import numpy as np
    >>> from heavybandits.evidence.tally import add, new_tally
    >>> rail, rng = read_guardrail("compare", "latency <= +20"), np.random.default_rng(0)
    >>> tally, arms = new_tally(2, rail.tau), rng.integers(2, size=3000)
    >>> add(tally, arms, rng.exponential(100.0 + 60.0 * arms))
    >>> [found.sentence for found in states_of(rail, tally, ("blue", "green"), "blue", delta=0.05)]
    ['green breaks the guardrail latency <= +20 against blue, counting at most 2700.']
    """
    number, level = arms.index(control), delta / max(len(arms) - 1, 1)
    return [stand(rail, tally, arms, other, number, level) for other in range(len(arms)) if other != number]


def stand(
    rail: Guardrail, tally: Tally, arms: Sequence[str], arm: int, control: int, level: float
) -> GuardrailState:  # fmt: skip
    """Look at one arm: first for a broken margin, at the widest clip that shows it, then for a kept one.

    Whatever is said about this arm at any time is wrong with a probability of at most ``level``.
    """
    name, ladder = arms[arm], measures(tally) if is_sized_up(tally) else []
    best, nearer = 0.0, ""
    states: tuple[State, ...] = ("broken", "kept")
    for state in states:
        for one in reversed(ladder):
            log = _log_evidence(one, rail, arm, control, state)
            if log >= math.log(1.0 / (level * one.share)):
                does = "breaks" if state == "broken" else "keeps"
                said = f"{name} {does} the guardrail {rail.text} against {arms[control]}{_counting(tally, one)}."
                return GuardrailState(rail.text, name, state, math.exp(min(log, 700.0)), said)
            if log > best:
                best, nearer = log, f" (evidence {odds(log)} that it does{' not' if state == 'broken' else ''})"
    said = f"It is open whether {name} keeps the guardrail {rail.text}{nearer}."
    if rail.is_relative and ladder and ladder[0].limits[0] < 0.0:
        said = f"{said} Where {rail.column} may be negative, the margin must be an amount, not a share."
    return GuardrailState(rail.text, name, "open", math.exp(best), said)


def _counting(tally: Tally, one: Measure) -> str:
    if not isinstance(one, ClippedMean) or counts_in_full(tally):
        return ""
    return f", {counting_between(*one.limits, has_one_sign(tally, one.limits))}"


def _log_evidence(one: Measure, rail: Guardrail, arm: int, control: int, state: State) -> float:
    """Return the logarithm of the evidence that an arm keeps, or breaks, a guardrail."""
    higher, lower = (arm, control) if rail.is_cost == (state == "broken") else (control, arm)
    if not rail.is_relative:
        return one.log_evidence(higher, lower, eps=rail.margin if state == "kept" else -rail.margin)
    ratio = 1.0 + rail.margin if rail.is_cost else 1.0 / (1.0 - rail.margin)
    assert isinstance(one, ClippedMean)
    return one.log_ratio_evidence(higher, lower, ratio if state == "broken" else 1.0 / ratio)
