"""The pages that browsers open: they show aggregates, and make the same changes as the interface.

A browser keeps the token in a cookie that scripts cannot read.  A request that changes something must come from the
page itself: browsers say so in the header ``Origin``, which other sites cannot forge.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ..._validate import visible
from ..events import Config
from ..experiments.changes import Configure
from ..forms import ExperimentChange, Problem
from ..http.openapi import openapi_description
from ..http.operations import check_and_create, config_for
from ..http.reading import changes_of
from ..http.web import Refused, body_of, check_names, contents, said
from ..log.requests import ReadReplica
from ..replicas.report import taken
from ..spec import Arm, Experiment, Name, RewardRule
from .listing import Listing
from .panels import leaderboard
from .prepared import Preparations, Prepared, environment, prepare_page, rendered
from .rivals import Rivals
from .wording import change_in_words, rules

if TYPE_CHECKING:
    from ..http.app import Service

COOKIE = "hb_token"
STATIC = Path(__file__).parent / "static"
SHARED_STYLE = Path(__file__).parents[2] / "report" / "templates" / "page.css"  # what pages and reports share
STATIC_FILES = {
    "base.css": (SHARED_STYLE, "text/css"),
    "dashboard.css": (STATIC / "dashboard.css", "text/css"),
    "dashboard.js": (STATIC / "dashboard.js", "text/javascript"),
    "htmx.min.js": (STATIC / "htmx.min.js", "text/javascript"),
}
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ARM_CHANGES = ("pause", "resume", "finish")
Form = dict[str, str]
Handler = Callable[[Request], Awaitable[Response]]


class Pages:
    """The page of a service.

    Parameters
    ----------
    service
        The service whose experiments are shown.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._prepared, self._rivals = Preparations(self._body, taken, prepare_page), Rivals()
        self._listing = Listing(self._body)

    def routes(self) -> Iterator[Route]:
        """Yield the routes."""
        yield Route("/", self._guarded("read", self._list), methods=["GET"])
        yield Route("/login", self._guarded(None, self._show_login), methods=["GET"])
        yield Route("/login", self._guarded(None, self._login), methods=["POST"])
        yield Route("/logout", self._guarded(None, self._logout), methods=["POST"])
        yield Route("/docs", self._guarded(None, self._show_interface), methods=["GET"])
        yield Route("/static/{file}", self._guarded(None, self._static), methods=["GET"])
        yield Route("/experiments", self._guarded("admin", self._create), methods=["POST"])
        yield Route("/experiments/{experiment}", self._guarded("read", self._show), methods=["GET"])
        yield Route("/experiments/{experiment}/live", self._guarded("read", self._live), methods=["GET"])
        yield Route("/experiments/{experiment}/arms", self._guarded("read", self._show_arms), methods=["GET"])
        yield Route("/experiments/{experiment}/rivals", self._guarded("read", self._replay), methods=["GET"])
        yield Route("/experiments/{experiment}/state", self._guarded("admin", self._change), methods=["POST"])
        yield Route("/experiments/{experiment}/arms", self._guarded("admin", self._change_arm), methods=["POST"])

    @staticmethod
    def prepare() -> None:
        """Import what a page is made with."""
        from scipy import special as special

        environment()

    def close(self) -> None:
        """End the process that replays."""
        self._rivals.close()

    def _guarded(self, role: str | None, handler: Handler) -> Handler:
        """Return the handler for those who may use it; others see an error, or are asked for a token."""

        async def guarded(request: Request) -> Response:
            try:
                if request.method == "POST":
                    _require_own_page(request)
                request.state.who = self.service.admit(request, _authorization(request), role)
                check_names(request.path_params)
                response = await handler(request)
            except Refused as refused:
                if refused.problem.status == 401:
                    response = RedirectResponse(f"/login?to={quote(request.url.path)}", 303)
                else:
                    response = self._page("problem.html.j2", refused.problem.status, problem=refused.problem)
            response.headers["Content-Security-Policy"] = CONTENT_POLICY
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "same-origin"
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return guarded

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        has_tokens = self.service.tokens.any_made
        return HTMLResponse(rendered(template, has_tokens=has_tokens, **values), status)

    async def _body(self, command: Any) -> Any:
        """Return the body of a command's answer; a problem is raised."""
        return body_of(await self.service.ask(command))

    async def _seen(self, request: Request) -> Prepared:
        return await self._prepared.of(request.path_params["experiment"])

    async def _list(self, request: Request) -> Response:
        wanted, page = request.query_params.get("q", "").strip(), request.query_params.get("page", "1")
        return await self._listed(wanted, int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 1)

    async def _listed(
        self, wanted: str = "", page: int = 1, form: Form | None = None, problem: Problem | None = None
    ) -> Response:  # fmt: skip
        """Return a page of the list of experiments, and the form for a new one with what was wrong with it."""
        listed = await self._listing.page(wanted, page)
        return self._page(
            "list.html.j2", 200 if problem is None else problem.status, **listed._asdict(), wanted=wanted,
            now=self.service.clock(), unreadable=self.service.log.problems, form=form or {}, problem=problem,
        )  # fmt: skip

    async def _show(self, request: Request) -> Response:
        seen, name = await self._seen(request), request.path_params["experiment"]
        audit = await self._body(changes_of(name, 0))
        changes = [change_in_words(change) for change in reversed(audit.changes)]
        experiment = seen.known.report.experiment
        said = rules(seen.known.spec, experiment.control)
        last = request.query_params.get("last", "")
        return self._page(
            "experiment.html.j2", experiment=experiment, live=seen.windows.get(last, seen.live), changes=changes,
            rules=said, window=last if last in seen.windows else "",
        )  # fmt: skip

    async def _live(self, request: Request) -> Response:
        seen = await self._seen(request)
        return HTMLResponse(seen.windows.get(request.query_params.get("last", ""), seen.live))

    async def _show_arms(self, request: Request) -> Response:
        return await run_in_threadpool(self._all_arms, await self._seen(request))

    def _all_arms(self, seen: Prepared) -> Response:
        rows = leaderboard(seen.known, seen.known.totals.arms)
        return self._page("arms.html.j2", experiment=seen.known.report.experiment, rows=rows)

    async def _replay(self, request: Request) -> Response:
        replayed = await self._rivals.replay(request.path_params["experiment"], (await self._seen(request)).known)
        return self._page("rivals.html.j2", replayed=replayed)

    async def _create(self, request: Request) -> Response:
        form = await _form(request)
        try:
            name, spec = _experiment(form)
            body_of(await check_and_create(self.service, name, spec, request.state.who))
        except Refused as refused:
            return await self._listed(form=form, problem=refused.problem)
        return RedirectResponse(f"/experiments/{quote(name, safe='')}", 303)

    async def _change(self, request: Request) -> Response:
        form = await _form(request)
        try:
            wanted = msgspec.convert({name: form[name] for name in ("state", "arm") if name in form}, ExperimentChange)
        except msgspec.ValidationError as error:
            raise Refused(422, "invalid", said(error, ExperimentChange)) from None
        return await self._changed(request, config_for(wanted, request.state.who))

    async def _change_arm(self, request: Request) -> Response:
        asked = {change: place for change, place in (await _form(request)).items() if change in ARM_CHANGES}
        if len(asked) != 1:
            raise Refused(422, "invalid", f"the form must say one of {', '.join(ARM_CHANGES)}, got {len(asked)}")
        ((change, place),) = asked.items()  # a place is shorter than a name, and an arm keeps it
        arms = await self._body(ReadReplica(request.path_params["experiment"], lambda replica: list(replica.arms)))
        if not (place.isdecimal() and int(place) < len(arms)):
            raise Refused(404, "unknown arm", f"the place of an arm must be from 0 to {len(arms) - 1}, got {place!r}")
        config = msgspec.convert({change: arms[int(place)], "by": request.state.who}, Config)
        return await self._changed(request, config, "#arms")  # which browsers unfold

    async def _changed(self, request: Request, config: Config, place: str = "") -> Response:
        name = request.path_params["experiment"]
        await self._body(Configure(name, config))
        self._prepared.forget(name)
        self._listing.forget(name)
        return RedirectResponse(f"/experiments/{quote(name, safe='')}{place}", 303)

    async def _show_login(self, request: Request) -> Response:
        return self._page("login.html.j2", to=_own_path(request.query_params.get("to", "/")), wrong=False)

    async def _show_interface(self, request: Request) -> Response:
        return self._page("api.html.j2", **openapi_description())

    async def _login(self, request: Request) -> Response:
        form = await _form(request)
        to, token = _own_path(form.get("to", "/")), form.get("token", "").strip()
        if self.service.tokens.role_of(f"Bearer {token}") is None:
            return self._page("login.html.j2", 401, to=to, wrong=True)
        response = RedirectResponse(to, 303)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return response

    async def _logout(self, request: Request) -> Response:
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    async def _static(self, request: Request) -> Response:
        file = request.path_params["file"]
        if file not in STATIC_FILES:
            raise Refused(404, "no such address", f"there is no file {visible(file)!r}")
        contents, tag = _read(file)
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(contents, media_type=STATIC_FILES[file][1], headers=headers)


def _authorization(request: Request) -> str | None:
    token = request.cookies.get(COOKIE)
    return request.headers.get("authorization") if token is None else f"Bearer {token}"


def _require_own_page(request: Request) -> None:
    origin = request.headers.get("origin")
    if origin is None or urlsplit(origin).netloc != request.headers.get("host"):
        raise Refused(403, "another site", f"changes must come from this page, got one from {origin!r}")


def _own_path(text: str) -> str:
    """Return a path of this server, so that a link to the login page cannot send people elsewhere."""
    return text if text.startswith("/") and not text.startswith(("//", "/\\")) else "/"


async def _form(request: Request) -> Form:
    try:
        fields = parse_qs((await contents(request)).decode(), keep_blank_values=True, max_num_fields=20)
    except (UnicodeDecodeError, ValueError):
        raise Refused(400, "malformed form", "a form must be encoded as application/x-www-form-urlencoded") from None
    return {name: values[-1] for name, values in fields.items()}


def _experiment(form: Form) -> tuple[str, Experiment]:
    """Return the experiment that a form describes."""
    arms = [Arm(line) for line in _lines(form, "arms")]
    window, floor = _number(form, "window"), _number(form, "floor") or 0.0
    plain = {
        "floor": {arm.name: floor / 100.0 / len(arms) for arm in arms} if floor else {},
        "goal": _goal(form), "points": _points(form),
        "minimise": bool(form.get("minimise")), "drift": bool(form.get("drift")), "context": _context(form),
        "sticky": bool(form.get("sticky")), "named_rewards": _lines(form, "named"),
        "guardrails": _lines(form, "guardrails"), "hypothesis": "\n".join(_lines(form, "hypothesis")),
        "stop": {"then": form.get("stop", "ask")},
        "reward": msgspec.to_builtins(RewardRule(None if window is None else 60 * window, _number(form, "default"))),
    } | ({"arms": msgspec.to_builtins(arms)} if arms else {})  # fmt: skip
    try:
        name = msgspec.convert(form.get("name", "").strip(), Name)
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid", f"name: {said(error, Name)}") from None
    try:
        return name, msgspec.convert(plain, Experiment)
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid", said(error, Experiment)) from None


def _goal(form: Form) -> str | dict[str, float]:
    """Return what to compare, from a form."""
    if (goal := form.get("goal", "mean")) != "quantile":
        return goal
    percent = _number(form, "quantile") or 0.0
    if not 0.0 < percent < 100.0:
        raise Refused(422, "invalid", f"quantile must be between 0 and 100 percent, got {percent:g}")
    return {"quantile": percent / 100.0}


def _context(form: Form) -> dict[str, bool] | None:
    """Return what decisions come with, from a form."""
    rules: dict[str, dict[str, bool] | None] = {
        "none": None, "arms": {}, "shared": {"shared": True}, "attributes": {"attributes": True}
    }  # fmt: skip
    if (what := form.get("context", "none")) not in rules:
        raise Refused(422, "invalid", f"context must be one of {', '.join(rules)}, got {visible(what)!r}")
    return rules[what]


def _points(form: Form) -> dict[str, list[float]] | None:
    """Return the ranges of points, from a form."""
    ranges: dict[str, list[float]] = {}
    for line in _lines(form, "points"):
        try:
            name, low, high = line.rsplit(maxsplit=2)
            bounds = [float(low), float(high)]
        except ValueError:
            wanted = "a name and two numbers in each line, such as 'price 5 25'"
            raise Refused(422, "invalid", f"points must have {wanted}, got {visible(line)!r}") from None
        if name in ranges:
            raise Refused(422, "invalid", f"points must have different names, got {visible(name)!r} twice")
        ranges[name] = bounds
    return ranges or None


def _lines(form: Form, field: str) -> list[str]:
    return [line.strip() for line in form.get(field, "").splitlines() if line.strip()]


def _number(form: Form, field: str) -> float | None:
    text = form.get(field, "").strip()
    try:
        value = float(text) if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise Refused(422, "invalid", f"{field} must be a finite number, got {visible(text)!r}")
    return value


@functools.cache
def _read(file: str) -> tuple[bytes, str]:
    contents = STATIC_FILES[file][0].read_bytes()
    return contents, f'"{hashlib.sha256(contents).hexdigest()[:16]}"'
