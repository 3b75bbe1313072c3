"""Pages that are prepared once for everyone who looks, so that many open pages cost little more than one."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool

from ..._format import plural
from ..log.requests import ReadReplica
from ..replicas.replica import Replica
from ..replicas.report import Taken, taken
from .known import Known, known
from .panels import describe_delays, describe_rewards, leaderboard, leading, outliers, series

FRESH_SECONDS = 2.0  # seconds for which a page is shown before anyone looks whether something has happened
PAGE_KEPT_SECONDS = 60.0  # seconds for which a page that nobody visits is kept


class Prepared(NamedTuple):
    """What is shown of an experiment after an event of its log; ``live`` is the part that browsers fetch repeatedly."""

    after: tuple[int, int]  # the number of the experiment and of the event
    known: Known
    live: str
    at: float  # time.monotonic() when this was up to date


class Preparations:
    """The latest preparation of each experiment's page, at most one at a time.

    Parameters
    ----------
    ask
        Lets the log read something, and returns it.
    """

    def __init__(self, ask: Callable[[Any], Awaitable[Any]]) -> None:
        self._ask = ask
        self._latest: dict[str, asyncio.Task[Prepared]] = {}

    async def of(self, name: str) -> Prepared:
        """Return what is shown of an experiment: at most a few seconds old, and shared by all who ask meanwhile."""
        task = self._latest.get(name)
        if task is None or (task.done() and time.monotonic() - task.result().at >= FRESH_SECONDS):
            self._drop_old()
            task = asyncio.create_task(self._prepare(name, None if task is None else task.result()))
            self._latest[name] = task
        return await asyncio.shield(task)  # others wait for it too

    def forget(self, name: str) -> None:
        """Prepare the page again for the next visitor, who has just changed something and wants to see it."""
        self._latest.pop(name, None)

    def _drop_old(self) -> None:
        past = time.monotonic() - PAGE_KEPT_SECONDS
        self._latest = {name: task for name, task in self._latest.items() if not task.done() or task.result().at > past}

    async def _prepare(self, name: str, before: Prepared | None) -> Prepared:
        """Return the page as it was before if nothing has happened since."""
        try:
            found: Taken | None = await self._ask(ReadReplica(name, functools.partial(_news, before)))
            if found is not None:
                return await run_in_threadpool(prepare_page, found)
            assert before is not None  # or there would be news
            return before._replace(at=time.monotonic())
        except BaseException:
            self._latest.pop(name, None)  # the next visitor tries again
            raise


def _news(before: Prepared | None, replica: Replica) -> Taken | None:
    return None if before is not None and before.after == (replica.exp, replica.seq) else taken(replica)


def prepare_page(of: Taken) -> Prepared:
    """Work out what is shown of an experiment."""
    found = known(of)
    names = leading(found)
    live = rendered(
        "live.html.j2", experiment=of.view, report=found.report, rows=leaderboard(found, names),
        sentences=found.standing.sentences, series=series(found),
        delays=describe_delays(found), noise=describe_rewards(found, names), outliers=outliers(found),
    )  # fmt: skip
    return Prepared((of.exp, of.view.seq), found, live, time.monotonic())


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
    environment.filters |= {"path": lambda text: quote(text, safe=""), "plural": plural}
    return environment
