"""OpenFeature's remote evaluation protocol (OFREP): an experiment is a flag, and its decision the flag's value.

So that the providers of OpenFeature, which exist for many languages, are clients of the service.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from ..experiments.decisions import Decide
from ..log.requests import ReadReplica
from ..log.turn import Outcome
from ..spec import DecisionAnswer, Key, Problem, Unit
from .reading import every_experiment
from .table import operation
from .web import Refused, body, check_names, refuse, respond, said

if TYPE_CHECKING:
    from .app import Service

HOUR = 3_600_000_000  # microseconds
MOST_SALTS = 10_000
Reason = Literal["SPLIT", "TARGETING_MATCH", "STATIC", "DISABLED", "UNKNOWN"]
REASONS: dict[str, Reason] = {
    "policy": "SPLIT", "floor": "SPLIT", "sticky": "TARGETING_MATCH", "only": "STATIC", "finished": "STATIC",
    "paused": "DISABLED",
}  # fmt: skip
CODES = {404: "FLAG_NOT_FOUND", 400: "PARSE_ERROR", 422: "INVALID_CONTEXT"}  # by the status of our own problems


class FlagContext(Struct, frozen=True):
    """Whom a flag is evaluated for; other fields are ignored."""

    targeting_key: Unit | None = field(default=None, name="targetingKey")


class FlagRequest(Struct, frozen=True):
    """A request to evaluate flags."""

    context: FlagContext = FlagContext()


class FlagValue(Struct):
    """The value of a flag: the arm's payload, or its name if the payload is empty or a list."""

    key: str
    value: Any
    variant: str
    reason: Reason
    metadata: dict[str, Any]


class FlagValues(Struct):
    """The values of several flags."""

    flags: list[FlagValue]


class FlagProblem(Struct):
    """An error as OpenFeature wants it."""

    key: str
    errorCode: str
    errorDetails: str


_form = msgspec.json.Decoder(FlagRequest)
_salts: WeakKeyDictionary[Service, dict[str, str]] = WeakKeyDictionary()  # by experiment


PATH = "/ofrep/v1/evaluate/flags"
PROBLEMS = {400: FlagProblem, 404: FlagProblem}


@operation("POST", f"{PATH}/{{flag}}", "decide", FlagRequest, {200: FlagValue, **PROBLEMS})
async def evaluate_flag(service: Service, request: Request, who: str | None) -> Response:
    """Ask for a decision of the experiment with this name, as a flag of OpenFeature."""
    key = request.path_params["flag"]
    try:
        check_names({"experiment": key})
        outcome = await _evaluated(service, key, await _unit(request), _given_id(request))
    except Refused as refused:
        outcome = Outcome(refused.problem.status, refused.problem)
    return _told(key, outcome)


@operation("POST", PATH, "decide", FlagRequest, {200: FlagValues, **PROBLEMS})
async def evaluate_flags(service: Service, request: Request, who: str | None) -> Response:
    """Ask for a decision of every sticky experiment; others would count decisions that nobody may ever see."""
    try:
        unit = await _unit(request)
        listed = await every_experiment(service)
        if listed.status != 200:
            return _told("", listed)
    except Refused as refused:
        return _told("", Outcome(refused.problem.status, refused.problem))
    names = [view.name for view in listed.body.experiments if view.sticky]
    found = await asyncio.gather(*(_evaluated(service, name, unit) for name in names))
    return respond(Outcome(200, FlagValues([each.body for each in found if each.status == 200])))


async def _evaluated(service: Service, name: str, unit: str, given: str | None = None) -> Outcome:
    """Return the flag's value; within an hour, a unit gets the same decision."""
    key = given or await _hourly_id(service, name, unit)
    outcome = await service.ask(Decide(name, key, False, unit))
    if not isinstance(outcome.body, DecisionAnswer):
        return outcome
    made = outcome.body
    value = made.payload if isinstance(made.payload, str | float | int | dict) else made.arm
    metadata = {"decision": made.id, "experiment": name} | ({} if made.p is None else {"propensity": made.p})
    return Outcome(200, FlagValue(name, value, made.arm, REASONS.get(made.reason, "UNKNOWN"), metadata))


async def _hourly_id(service: Service, name: str, unit: str) -> str:
    """Return an id that does not tell the unit, as what is stored of units does not, either."""
    salts = _salts.setdefault(service, {})
    salt = salts.get(name)
    if salt is None:
        found = await service.ask(ReadReplica(name, lambda replica: replica.salt or ""))
        if len(salts) >= MOST_SALTS:
            salts.clear()
        salt = salts[name] = found.body if found.status == 200 else ""
    hour = service.clock() // HOUR
    digest = hmac.digest(salt.encode(), f"flag/{name}/{hour}/{unit}".encode(), "sha256").hex()[:32]
    return f"{hour:06x}{digest}"  # later ids sort later, which keeps the part of the database's index in use small


async def _unit(request: Request) -> str:
    unit = (await body(request, _form)).context.targeting_key
    if unit is None:
        raise Refused(400, "TARGETING_KEY_MISSING", "the context must have a targetingKey")
    return unit


def _given_id(request: Request) -> str | None:
    given = request.headers.get("idempotency-key")
    if given is not None:
        try:
            msgspec.convert(given, Key)
        except msgspec.ValidationError as error:
            raise Refused(422, "invalid", f"Idempotency-Key: {said(error, Key)}") from None
    return given


def _told(key: str, outcome: Outcome) -> Response:
    """Return the response; what the client did wrong has status 400 or 404, as OpenFeature wants it."""
    if not isinstance(outcome.body, Problem):
        return respond(outcome)
    problem = outcome.body
    code = problem.title if problem.title == "TARGETING_KEY_MISSING" else CODES.get(problem.status, "GENERAL")
    answer = FlagProblem(key, code, f"{problem.title}: {problem.detail}")
    response = respond(Outcome(400 if 404 != problem.status < 500 else problem.status, answer))
    if problem.status == 503:
        response.headers["Retry-After"] = refuse(problem).headers["Retry-After"]
    return response
