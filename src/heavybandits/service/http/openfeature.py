"""OpenFeature's remote evaluation protocol (OFREP): an experiment is a flag, and its decision the flag's value.

So that the providers of OpenFeature, which exist for many languages, are clients of the service.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from ..experiments.decisions import Decide, EvaluateFlag
from ..forms import DecisionAnswer, Problem
from ..log.turn import Command, Outcome
from ..spec import Key, Unit
from .reading import every_experiment
from .table import operation
from .web import Refused, body, check_names, refuse, respond, said

if TYPE_CHECKING:
    from .app import Service

HOUR = 3_600_000_000  # microseconds
Reason = Literal["SPLIT", "TARGETING_MATCH", "STATIC", "DISABLED", "UNKNOWN"]
REASONS: dict[str, Reason] = {
    "policy": "SPLIT", "floor": "SPLIT", "sticky": "TARGETING_MATCH", "only": "STATIC", "finished": "STATIC",
    "paused": "DISABLED",
}  # fmt: skip
CODES = {404: "FLAG_NOT_FOUND", 400: "PARSE_ERROR", 422: "INVALID_CONTEXT"}  # by the status of our own problems


class FlagContext(Struct, frozen=True):
    """Whom a flag is evaluated for; other fields are attributes of experiments that take some."""

    targeting_key: Unit | None = field(default=None, name="targetingKey")


class FlagRequest(Struct, frozen=True):
    """A request to evaluate flags."""

    context: FlagContext = FlagContext()


class FlagFields(Struct, frozen=True):
    """The same request with all fields of its context."""

    context: dict[str, Any] = {}


class FlagAsker(NamedTuple):
    """Whom a flag is evaluated for."""

    unit: str
    fields: dict[str, Any]


class FlagValue(Struct):
    """The value of a flag: the arm's payload, or its name if the payload is empty or a list; or a point."""

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


_fields = msgspec.json.Decoder(FlagFields)


PATH = "/ofrep/v1/evaluate/flags"
PROBLEMS = {400: FlagProblem, 404: FlagProblem}


@operation("POST", f"{PATH}/{{flag}}", "decide", FlagRequest, {200: FlagValue, **PROBLEMS})
async def evaluate_flag(service: Service, request: Request, who: str | None) -> Response:
    """Ask for a decision of the experiment with this name, as a flag of OpenFeature."""
    key = request.path_params["flag"]
    try:
        check_names({"experiment": key})
        outcome = await _evaluated(service, key, await _asker(request), _given_id(request))
    except Refused as refused:
        outcome = Outcome(refused.problem.status, refused.problem)
    return _told(key, outcome)


@operation("POST", PATH, "decide", FlagRequest, {200: FlagValues, **PROBLEMS})
async def evaluate_flags(service: Service, request: Request, who: str | None) -> Response:
    """Ask for a decision of every sticky or finished experiment; others would count decisions that nobody sees."""
    try:
        asker = await _asker(request)
        listed = await every_experiment(service)
        if listed.status != 200:
            return _told("", listed)
    except Refused as refused:
        return _told("", Outcome(refused.problem.status, refused.problem))
    names = [view.name for view in listed.body.experiments if view.sticky or view.state == "finished"]
    found = await asyncio.gather(*(_evaluated(service, name, asker) for name in names))
    return respond(Outcome(200, FlagValues([each.body for each in found if each.status == 200])))


async def _evaluated(service: Service, name: str, asker: FlagAsker, given: str | None = None) -> Outcome:
    """Return the flag's value; within an hour, a unit with the same attributes gets the same decision."""
    command: Command = EvaluateFlag(name, service.clock() // HOUR, asker.unit, asker.fields)
    if given is not None:
        command = Decide(name, given, False, asker.unit, fields=asker.fields)
    outcome = await service.ask(command)
    if not isinstance(outcome.body, DecisionAnswer):
        return outcome
    made = outcome.body
    value = made.payload if isinstance(made.payload, str | float | int | dict) else made.point or made.arm
    metadata = {"decision": made.id, "experiment": name} | ({} if made.p is None else {"propensity": made.p})
    return Outcome(200, FlagValue(name, value, made.arm, REASONS.get(made.reason, "UNKNOWN"), metadata))


async def _asker(request: Request) -> FlagAsker:
    fields = (await body(request, _fields)).context
    try:
        unit = msgspec.convert({"context": fields}, FlagRequest).context.targeting_key
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid", said(error, FlagRequest)) from None
    if unit is None:
        raise Refused(400, "TARGETING_KEY_MISSING", "the context must have a targetingKey")
    return FlagAsker(unit, {name: value for name, value in fields.items() if name != "targetingKey"})


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
