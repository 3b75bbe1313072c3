"""Pages that are prepared once for everyone who looks, so that many open pages cost little more than one."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool

from ..._format import number, plural
from ..log.requests import ReadReplica
from ..replicas.replica import Replica
from ..replicas.report import Taken
from ..replicas.standing import came_so_far
from .curves import charts, windows
from .guards import guarded
from .headline import busy, earned, earned_by_context, until_verdict
from .intervals import against_control
from .known import Known, goal_in_words, known
from .panels import describe_delays, describe_rewards, leaderboard, leading, outliers, ranking

FRESH_SECONDS = 2.0  # seconds for which a page is shown before anyone looks whether something has happened
PAGE_KEPT_SECONDS = 60.0  # seconds for which a page that nobody visits is kept


Copied = TypeVar("Copied")
Made = TypeVar("Made")


class Preparation(NamedTuple, Generic[Made]):
    """What is shown of an experiment after an event of its log."""

    after: tuple[int, int]  # the number of the experiment and of the event
    what: Made
    at: float  # time.monotonic() when this was up to date


class Prepared(NamedTuple):
    """The page of an experiment; ``live`` is the part that browsers fetch repeatedly, ``windows`` with less of time."""

    known: Known
    live: str
    windows: dict[str, str]


class Preparations(Generic[Copied, Made]):
    """The latest preparation of what is shown of each experiment, at most one at a time.

    Parameters
    ----------
    ask
        Lets the log read something, and returns it.
    copy
        Copies from a replica what is needed, in the log's thread.
    make
        Makes of that what is shown, in another thread.
    """

    def __init__(
        self, ask: Callable[[Any], Awaitable[Any]], copy: Callable[[Replica], Copied], make: Callable[[Copied], Made]
    ) -> None:  # fmt: skip
        self._ask, self._copy, self._make = ask, copy, make
        self._latest: dict[str, asyncio.Task[Preparation[Made]]] = {}

    async def of(self, name: str) -> Made:
        """Return what is shown of an experiment: at most a few seconds old, and shared by all who ask meanwhile."""
        task = self._latest.get(name)
        if task is None or (task.done() and time.monotonic() - task.result().at >= FRESH_SECONDS):
            self._drop_old()
            task = asyncio.create_task(self._prepare(name, None if task is None else task.result()))
            self._latest[name] = task
        return (await asyncio.shield(task)).what  # others wait for it too

    def forget(self, name: str) -> None:
        """Prepare it again for the next visitor, who has just changed something and wants to see it."""
        self._latest.pop(name, None)

    def _drop_old(self) -> None:
        past = time.monotonic() - PAGE_KEPT_SECONDS
        self._latest = {name: task for name, task in self._latest.items() if not task.done() or task.result().at > past}

    async def _prepare(self, name: str, before: Preparation[Made] | None) -> Preparation[Made]:
        """Return what was shown before if nothing has happened since."""
        try:
            news: tuple[tuple[int, int], Copied] | None = await self._ask(
                ReadReplica(name, functools.partial(self._news, before))
            )
            if news is not None:
                after, copied = news
                return Preparation(after, await run_in_threadpool(self._make, copied), time.monotonic())
            assert before is not None  # or there would be news
            return before._replace(at=time.monotonic())
        except BaseException:
            self._latest.pop(name, None)  # the next visitor tries again
            raise

    def _news(self, before: Preparation[Made] | None, replica: Replica) -> tuple[tuple[int, int], Copied] | None:
        after = replica.exp, replica.seq
        return None if before is not None and before.after == after else (after, self._copy(replica))


def prepare_page(of: Taken) -> Prepared:
    """Work out what is shown of an experiment."""
    found = known(of)
    names, evidence = leading(found), found.standing.evidence
    verdicts = [
        earned_by_context(of.view, found.standing.lead) if found.has_context
        else earned(of.view, found.standing, found.goal != "mean", of.spec.stop.delta),
        until_verdict(of.view, evidence, found.traffic),
    ]  # fmt: skip
    report = found.report
    traffic = busy(found.traffic, report.decisions, report.rewards, came_so_far(of.spec, of.totals))
    cards = [traffic] if of.spec.points is not None else [*verdicts, traffic]  # points are compared with no control
    rows = leaderboard(found, names)
    render = functools.partial(
        rendered, "live.html.j2", experiment=of.view, report=report, sentences=found.standing.sentences,
        winner=next((row for row in rows if evidence is not None and row.name == evidence.winner), None),
        cards=cards, picture=against_control(found),
        guarded=guarded(of, ranking(found)),
        rows=rows, delays=describe_delays(found),
        noise=describe_rewards(found, names), outliers=outliers(found),
    )  # fmt: skip
    offered = windows(found)
    live, *shorter = (render(charts=charts(found, window), window=window, windows=offered) for window in ("", *offered))
    return Prepared(found, live, dict(zip(offered, shorter, strict=True)))


def rendered(template: str, **values: Any) -> str:
    """Return a template with these values filled in, as text that is not escaped again."""
    from markupsafe import Markup

    return Markup(environment().get_template(template).render(**values))


@functools.cache
def environment() -> Any:
    """Return what knows the templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "path": lambda text: quote(text, safe=""), "plural": plural, "number": number, "in_words": goal_in_words
    }  # fmt: skip
    return environment
