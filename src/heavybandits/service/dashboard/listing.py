"""The list of experiments, a page at a time: only what is shown is worked out, and none waits for a slow row."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ..._format import in_time, plural
from ...evidence.ledger import Ledger
from ...evidence.words import lift_in_words
from ..events import iso
from ..forms import ExperimentView
from ..log.turn import Outcome
from ..replicas.against_control import AgainstControl
from ..replicas.replica import Replica
from ..replicas.standing import RIVALS_WEIGHED, came_so_far, still_compared
from ..storage.rows import Progress
from .headline import in_brief
from .intervals import difference_in_words
from .panels import hue
from .prepared import Preparations
from .traffic import DAY_MICROSECONDS, Traffic, traffic

LISTED_EXPERIMENTS = 25  # on one page
LIST_SECONDS = 1.5  # seconds after which the list is shown without the rows that are not ready


class Listed(NamedTuple):
    """A page of the list.

    Attributes
    ----------
    rows
        What is shown of each experiment; None if it cannot be read, or is not ready this time.
    page, pages
        Which page it is, and how many there are.
    n_found, n_all
        How many experiments have the wanted words in their names, and how many there are.
    """

    rows: dict[str, Glance | None]
    page: int
    pages: int
    n_found: int
    n_all: int


class Listing:
    """What the list shows of experiments, kept for a while.

    Parameters
    ----------
    ask
        Lets the log read something, and returns it.
    """

    def __init__(self, ask: Callable[[Any], Awaitable[Any]]) -> None:
        self._ask, self._glances = ask, Preparations(ask, glimpse, glance)

    async def page(self, wanted: str, page: int) -> Listed:
        """Return a page of the experiments with these words in their names, the newest first."""
        every: dict[str, Progress] = await self._ask(lambda session: Outcome(200, session.progress()))
        matching = [name for name in every if wanted.casefold() in name.casefold()]
        found = sorted(matching, key=lambda name: -every[name].id)
        pages = max(math.ceil(len(found) / LISTED_EXPERIMENTS), 1)
        page = min(max(page, 1), pages)
        shown = found[(page - 1) * LISTED_EXPERIMENTS : page * LISTED_EXPERIMENTS]
        return Listed(await self._rows(shown), page, pages, len(found), len(every))

    def forget(self, name: str) -> None:
        """Look again at an experiment that has just been changed."""
        self._glances.forget(name)

    async def _rows(self, names: list[str]) -> dict[str, Glance | None]:
        tasks = {name: asyncio.create_task(self._glances.of(name)) for name in names}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=LIST_SECONDS)
        late = [task for task in tasks.values() if not task.done()]
        for task in late:
            task.cancel()  # what it waits for goes on, for the next visitor
        await asyncio.gather(*late, return_exceptions=True)
        return {name: None if task.cancelled() or task.exception() else task.result() for name, task in tasks.items()}


class Glimpse(NamedTuple):
    """A copy of the little that a row is made from."""

    view: ExperimentView
    ledger: Ledger | None
    against_control: AgainstControl | None
    delta: float
    eps: float | None
    rewards: int
    came: int  # rewards that are not final when they come
    traffic: Traffic
    ruled_out: list[str]  # arms that a guardrail has paused


class Glance(NamedTuple):
    """A row of the list, but for what depends on the time of day."""

    state: str
    choices: str  # how many arms there are, or that there are points
    leader: str | None
    hue: int  # of the leader
    evidence: str
    is_settled: bool
    lift: str
    traffic: Traffic

    def last_day(self, now: int) -> str:
        """Return the decisions of the last day."""
        return f"{self.traffic.between(now - DAY_MICROSECONDS, now):,.0f}"

    def last_activity(self, now: int) -> str:
        """Return how long ago something happened."""
        if not self.traffic.last_t:
            return "never"
        days = (now - self.traffic.last_t) / DAY_MICROSECONDS
        return "just now" if days * 24 * 60 < 1.5 else f"{in_time(days)} ago"

    def last_time(self) -> str:
        """Return when something happened, for machines."""
        return iso(self.traffic.last_t)


def glimpse(replica: Replica) -> Glimpse:
    """Copy what a row is made from, in the log's thread."""
    ledger, stop = replica.ledger, replica.spec.stop
    rewards = sum(arm.rewards for arm in replica.totals.arms.values())
    copied, against = None if ledger is None else ledger.copied(), replica.against_control
    against = None if against is None else against.copied()
    return Glimpse(
        replica.view(),
        copied,
        against,
        stop.delta,
        stop.eps,
        rewards,
        came_so_far(replica.spec, replica.totals),
        traffic(replica.totals),
        [arm for arm in replica.arms if replica.is_ruled_out(arm)],
    )


def glance(of: Glimpse) -> Glance:
    """Work out a row."""
    view = of.view
    n_arms = sum(arm.state != "retired" for arm in view.arms)
    choices = plural(n_arms, "arm") if view.points is None else "points"
    if of.ledger is None or of.rewards == 0:
        lead = None if of.against_control is None else of.against_control.lead()
        brief = in_brief(view, None, lead, of.rewards, of.came)
        return Glance(view.state, choices, None, 0, brief, False, "", of.traffic)
    arms = still_compared(view, of.ruled_out)
    found = of.ledger.evidence(arms, view.control, of.delta, of.eps, closest=RIVALS_WEIGHED)
    leader, lift = found.winner or found.leader, ""
    if leader is not None and leader != view.control:
        about = found.about(leader)
        if not math.isnan(about.lift):
            lift = lift_in_words(about.lift, about.lift_low, about.lift_high)
        elif not math.isnan(found.estimates.get(view.control, math.nan)):  # of both signs, or medians
            lift = difference_in_words(*found.difference(leader))
    position = 0 if leader is None else [arm.name for arm in view.arms].index(leader)
    settled = found.winner is not None or view.finished_with is not None
    brief = in_brief(view, found, None, of.rewards)
    return Glance(view.state, choices, leader, hue(position), brief, settled, lift, of.traffic)
