"""What a manager reads first: a state in a few words, and cards with one number each."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._format import in_time, number, plural
from ...evidence.report import Evidence
from ...evidence.words import counting_between, listed_names, rounded
from ..events import iso
from ..forms import ExperimentView
from ..replicas.against_control import Lead
from ..replicas.standing import Standing
from .traffic import Traffic

MOST_DIGITS = 1e15  # from which amounts are written with a power of ten


class HeadlineCard(NamedTuple):
    """A number with what it is about and what it rests on; ``kind`` is its class in the style sheet."""

    title: str
    value: str
    note: str
    kind: str = ""


def in_brief(view: ExperimentView, found: Evidence | None, lead: Lead | None, rewards: int, came: int = 0) -> str:
    """Return how an experiment stands, in a few words; the same words on the list and on its own page.

    ``rewards`` are final, ``came`` is the number of those that have come if they are final later.
    """
    if view.finished_with is not None:
        return f"finished with {view.finished_with}"
    if rewards == 0:
        return "no final rewards yet" if came else "no rewards yet"
    if view.points is not None:
        return f"chooses {listed_names(list(view.points))}"
    if found is None:
        if lead is None or lead.low <= 0.0 <= lead.high:
            return "decides by context"
        return f"{'costs' if view.minimise else 'earns'} {'more' if lead.low > 0.0 else 'less'} than {view.control}"
    if len(found.estimates) == 1:
        return "nothing to compare"
    if found.winner is not None:
        return f"winner {found.winner}"
    if found.is_close:
        return "no difference that matters"
    if found.forecast is None:
        return "too early to tell"
    if math.isinf(found.forecast.decisions):
        return "undecided, no verdict in sight"
    return f"undecided, about {rounded(found.forecast.decisions)} more decisions"


def amount(value: float) -> str:
    """Format an amount of money or of whatever rewards are, to three digits.

    Examples
    --------
    >>> [amount(value) for value in (1234567.8, 95.26, 0.0, 0.0123, 1.7e308)]
    ['1,230,000', '95.3', '0', '0.0123', '1.70e+308']
    """
    if not 100.0 <= abs(value) < MOST_DIGITS:
        return number(float(value))
    return f"{round(value, 2 - math.floor(math.log10(abs(value)))):,.0f}"


def earned(view: ExperimentView, standing: Standing, has_medians: bool, delta: float) -> HeadlineCard:
    """Return how much more was earned than the control would have."""
    gain, counted = standing.gain, "" if standing.evidence is None else standing.evidence.counted
    title = f"{'Cost' if view.minimise else 'Earned'}, compared with {view.control} alone"
    if gain is None:
        why = f"{view.control} has no reward that counts yet."
        if has_medians:
            why = "Arms are not compared by means, and nothing else adds up."
        elif view.drift:
            why = "Arms may change, so what one pays now does not tell what it would have paid before."
        return HeadlineCard(title, "not known", why)
    if gain.n == 0:
        return HeadlineCard(title, "nothing yet", "No other arm has a reward that counts.")
    better, worse = ("less", "more") if view.minimise else ("more", "less")

    def signed(value: float) -> str:
        return f"{amount(abs(value))} {better if value >= 0.0 else worse}"

    low, high = gain.low, gain.high
    if (low >= 0.0) == (high >= 0.0):
        near, far = sorted((low, high), key=abs)
        between = f"{amount(abs(near))} to {signed(far)}"
    else:
        between = f"{signed(low)} to {signed(high)}"
    what = f"by {plural(gain.n, 'reward')} of other arms{', ' + counted if counted else ''}"
    on = ("", ", on the condition above", ", on the conditions above")[len(standing.provided)]
    sure = f"{between}, {what}. Wrong at any time in at most {100 * delta:g}% of experiments{on}."
    sure = sure[0].upper() + sure[1:]
    if low <= 0.0 <= high:
        return HeadlineCard(title, f"perhaps {signed(gain.value)}", sure, "open")
    return HeadlineCard(title, signed(gain.value), sure, "good" if low > 0.0 else "bad")


def earned_by_context(view: ExperimentView, lead: Lead | None) -> HeadlineCard:
    """Return what a policy that decides by contexts earns more per decision than its control would."""
    title = f"{'Cost' if view.minimise else 'Earned'} per decision, compared with {view.control} alone"
    if lead is None:
        return HeadlineCard(title, "not known", f"It is told by decisions that might have been for {view.control}.")
    note = f"By {plural(lead.decisions, 'decision')}, {counting_between(*lead.cap, lead.has_one_sign)}, at all times."
    low, high = number(abs(lead.low)), number(abs(lead.high))
    if lead.low <= 0.0 <= lead.high:
        return HeadlineCard(title, f"{low} less to {high} more", note, "open")
    least, what = (low, "more") if lead.low > 0.0 else (high, "less")
    is_good = (lead.low > 0.0) != view.minimise
    return HeadlineCard(title, f"at least {least} {what}", note, "good" if is_good else "bad")


def until_verdict(view: ExperimentView, found: Evidence | None, traffic: Traffic) -> HeadlineCard:
    """Return how long a verdict takes, or what it was."""
    if view.finished_with is not None:
        return HeadlineCard("Verdict", "finished", f"All new decisions are for {view.finished_with}.")
    if found is None:
        return HeadlineCard("Verdict", "none", "No arm is the best for every context.")
    if len(found.estimates) == 1:
        return HeadlineCard("Verdict", "none", "There is only one arm to choose.")
    if found.winner is not None:
        return HeadlineCard("Verdict", f"{found.winner} wins", "It is shown to be better than every other arm.", "good")
    if found.is_close:
        return HeadlineCard("Verdict", "no difference", "No arm is better than the leader by more than matters.")
    if found.starved is not None and (found.forecast is None or math.isinf(found.forecast.decisions)):
        note = f"{found.starved} gets too few decisions to be judged soon; a higher floor would help."
        return HeadlineCard("Until a verdict", "not in sight", note)
    if found.forecast is None:
        return HeadlineCard("Until a verdict", "too early to say", "A forecast needs some evidence first.")
    more, low, high = found.forecast
    if math.isinf(more):
        return HeadlineCard("Until a verdict", "not in sight", "It would take more than 64 times the decisions so far.")
    note = f"{rounded(low)} to {rounded(high)} of them if things go on like this"
    if traffic.per_day > 0.0:
        days = more / traffic.per_day
        note += f"; about {in_time(days)} at the pace of the last day"
    return HeadlineCard("Until a verdict", f"about {rounded(more)} more decisions", f"{note}.")


def busy(traffic: Traffic, decisions: int, rewards: int, came: int = 0) -> HeadlineCard:
    """Return how much is going on; ``rewards`` and ``came`` are those of :func:`in_brief`."""
    if not traffic.last_t:
        return HeadlineCard("Traffic", "none yet", "No decision was asked for.")
    made, latest = plural(decisions, "decision"), iso(traffic.last_t)[:16].replace("T", " ")
    counted = (
        f"{plural(rewards, 'final reward')} so far, {came:,} reported"
        if came
        else f"{plural(rewards, 'reward')} so far"
    )
    note = f"{counted}; the latest {latest} UTC."
    if math.isnan(traffic.per_day):
        return HeadlineCard("Traffic", made, note)
    return HeadlineCard("Traffic", f"about {rounded(traffic.per_day)} decisions a day", f"{made} and {note}")
