"""The endpoints that change something: who may use each, and the command that it runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ..events import Config
from ..experiments.changes import Configure, check_experiment
from ..experiments.creation import create
from ..experiments.decisions import Decide, new_id
from ..experiments.deletion import delete, remove_remains
from ..experiments.rewards import Cancel, NamedReward, Observe, Retract, Reward
from ..experiments.trial import check_plain
from ..forms import (
    Accepted,
    ArmChange,
    ArmView,
    Batch,
    BatchAnswer,
    BatchItem,
    BatchReward,
    DecisionAnswer,
    DecisionRequest,
    Deleted,
    ExperimentChange,
    ExperimentView,
    ItemAnswer,
    NewArm,
    Observation,
    RewardRequest,
)
from ..log.requests import Follow, ReadReplica
from ..log.turn import Outcome
from ..replicas.replica import Replica
from ..spec import POINT, Experiment, as_float
from .table import operation
from .web import Refused, body, respond

if TYPE_CHECKING:
    from .app import Service

ACCEPTED = {200: Accepted, 201: Accepted}
_decision = msgspec.json.Decoder(DecisionRequest)
_reward = msgspec.json.Decoder(RewardRequest)
_observation = msgspec.json.Decoder(Observation)
_batch = msgspec.json.Decoder(Batch)
_experiment = msgspec.json.Decoder(Experiment)
_change = msgspec.json.Decoder(ExperimentChange)
_new_arm = msgspec.json.Decoder(NewArm)
_arm_state = msgspec.json.Decoder(ArmChange)


def _decide(service: Service, experiment: str, asked: DecisionRequest) -> Decide:
    key = new_id(service.clock()) if asked.id is None else asked.id
    return Decide(experiment, key, asked.id is None, asked.unit, asked.among, asked.context)


def _reward_of(
    experiment: str, decision: str, given: RewardRequest | BatchReward, id: str | None = None
) -> Reward | NamedReward:  # fmt: skip
    value = as_float(given.value)
    if given.name is None:
        return Reward(experiment, decision, value, id)
    if id is not None:
        raise Refused(422, "invalid", "a reward must not have both a name and an id: named rewards do not add up")
    return NamedReward(experiment, decision, given.name, value)


def _observe(service: Service, experiment: str, seen: Observation) -> Observe:
    key = new_id(service.clock()) if seen.id is None else seen.id
    if (seen.arm is None) == (seen.point is None):
        raise Refused(422, "invalid", "an observation must have either an arm or a point")
    arm = seen.arm or POINT
    return Observe(experiment, key, seen.id is None, arm, as_float(seen.value), seen.context, seen.point)


@operation(
    "POST",
    "/v1/experiments/{experiment}/decisions",
    "decide",
    DecisionRequest,
    {200: DecisionAnswer, 201: DecisionAnswer},
)
async def decide(service: Service, request: Request, who: str | None) -> Response:
    """Ask for a decision."""
    asked = await body(request, _decision)
    return respond(await service.ask(_decide(service, request.path_params["experiment"], asked)))


@operation("PUT", "/v1/experiments/{experiment}/decisions/{decision}/reward", "decide", RewardRequest, ACCEPTED)
async def reward(service: Service, request: Request, who: str | None) -> Response:
    """Report the reward of a decision, or one of its named rewards."""
    given, names = await body(request, _reward), request.path_params
    return respond(await service.ask(_reward_of(names["experiment"], names["decision"], given)))


@operation(
    "PUT", "/v1/experiments/{experiment}/decisions/{decision}/rewards/{reward}", "decide", RewardRequest, ACCEPTED
)
async def add_reward(service: Service, request: Request, who: str | None) -> Response:
    """Report one of several rewards of a decision; they add up."""
    given, names = await body(request, _reward), request.path_params
    return respond(await service.ask(_reward_of(names["experiment"], names["decision"], given, names["reward"])))


@operation("DELETE", "/v1/experiments/{experiment}/decisions/{decision}/reward", "decide", None, ACCEPTED)
async def retract(service: Service, request: Request, who: str | None) -> Response:
    """Take back a reward that was reported by mistake, while its window is open and it is not learned."""
    names = request.path_params
    return respond(await service.ask(Retract(names["experiment"], names["decision"])))


@operation("DELETE", "/v1/experiments/{experiment}/decisions/{decision}", "decide", None, ACCEPTED)
async def cancel(service: Service, request: Request, who: str | None) -> Response:
    """Cancel a decision that was never shown."""
    return respond(await service.ask(Cancel(request.path_params["experiment"], request.path_params["decision"])))


@operation("POST", "/v1/experiments/{experiment}/observations", "decide", Observation, ACCEPTED)
async def observe(service: Service, request: Request, who: str | None) -> Response:
    """Report a reward that no decision led to."""
    seen = await body(request, _observation)
    return respond(await service.ask(_observe(service, request.path_params["experiment"], seen)))


@operation("POST", "/v1/experiments/{experiment}/batch", "decide", Batch, {200: BatchAnswer})
async def batch(service: Service, request: Request, who: str | None) -> Response:
    """Send many of these requests at once; each gets its own status."""
    items = (await body(request, _batch)).items
    service.charge(who, cost=max(len(items), 1), paid=1)
    name = request.path_params["experiment"]
    commands = [_item(service, name, item) for item in items]  # all are checked before any is sent
    outcomes = await asyncio.gather(*map(service.ask, commands))
    return respond(Outcome(200, BatchAnswer([ItemAnswer(outcome.status, outcome.body) for outcome in outcomes])))


def _item(service: Service, experiment: str, item: BatchItem) -> Any:
    given = [
        value for value in (item.decision, item.reward, item.cancel, item.observation) if value is not msgspec.UNSET
    ]
    if len(given) != 1:
        raise Refused(422, "invalid", "each item must have exactly one of decision, reward, cancel and observation")
    if item.decision is not msgspec.UNSET:
        return _decide(service, experiment, item.decision)
    if item.reward is not msgspec.UNSET:
        return _reward_of(experiment, item.reward.decision, item.reward, item.reward.id)
    if item.cancel is not msgspec.UNSET:
        return Cancel(experiment, item.cancel)
    assert item.observation is not msgspec.UNSET  # what is left
    return _observe(service, experiment, item.observation)


@operation("PUT", "/v1/experiments/{experiment}", "admin", Experiment, {200: ExperimentView, 201: ExperimentView})
async def make_experiment(service: Service, request: Request, who: str | None) -> Response:
    """Create an experiment."""
    spec = await body(request, _experiment)
    return respond(await check_and_create(service, request.path_params["experiment"], spec, who))


async def check_and_create(service: Service, name: str, spec: Experiment, who: str | None) -> Outcome:
    """Check an experiment, and create it."""
    try:
        await run_in_threadpool(check_experiment, spec)  # may take a while, so not in the log's thread
    except (ValueError, TypeError) as error:
        raise Refused(422, "invalid", str(error)) from None
    now = service.clock()
    made = await service.ask(lambda session: create(session, name, spec, who, now))
    if made.status not in (200, 201):
        return made
    shown = await service.ask(ReadReplica(name, Replica.view))
    return shown._replace(status=made.status) if shown.status == 200 else shown


@operation("PATCH", "/v1/experiments/{experiment}", "admin", ExperimentChange, {200: ExperimentView})
async def change_experiment(service: Service, request: Request, who: str | None) -> Response:
    """Run, pause, stop or finish an experiment, or change its control.

    While it is paused or stopped, decisions are for the control arm; once it is finished, for the arm that came with
    the change.
    """
    config = config_for(await body(request, _change), who)
    return respond(await service.ask(Configure(request.path_params["experiment"], config)))


def config_for(wanted: ExperimentChange, who: str | None) -> Config:
    """Return the change to an experiment that was asked for."""
    if (wanted.state is None) == (wanted.control is None):
        raise Refused(422, "invalid", "a change must have either a state or a control")
    if (wanted.state == "finished") != (wanted.arm is not None):
        raise Refused(422, "invalid", "arm must be given if the state is finished, and only then")
    return Config(state=None if wanted.arm else wanted.state, finish=wanted.arm, control=wanted.control, by=who)


@operation("DELETE", "/v1/experiments/{experiment}", "admin", None, {200: Deleted})
async def delete_experiment(service: Service, request: Request, who: str | None) -> Response:
    """Delete an experiment with everything that is stored about it; its name may then be used again."""
    name, now = request.path_params["experiment"], service.clock()
    outcome = await service.ask(lambda session: delete(session, name, who, now))
    response = respond(outcome)
    if outcome.status == 200:
        await service.ask(Follow(name, None))  # or this server would show it until it next looks
        response.background = BackgroundTask(remove_remains, service.storage, lambda: service.draining)
    return response


@operation("PUT", "/v1/experiments/{experiment}/arms/{arm}", "admin", NewArm, {200: ArmView, 201: ArmView})
async def add_arm(service: Service, request: Request, who: str | None) -> Response:
    """Add an arm."""
    new = await body(request, _new_arm)
    try:
        check_plain("payload", new.payload)
    except ValueError as error:
        raise Refused(422, "invalid", str(error)) from None
    config = Config(add=request.path_params["arm"], payload=new.payload, attributes=new.attributes, by=who)
    return respond(await service.ask(Configure(request.path_params["experiment"], config)))


@operation("PATCH", "/v1/experiments/{experiment}/arms/{arm}", "admin", ArmChange, {200: ArmView})
async def change_arm(service: Service, request: Request, who: str | None) -> Response:
    """Pause or resume an arm; rewards of a paused arm still count."""
    state, arm = (await body(request, _arm_state)).state, request.path_params["arm"]
    config = Config(pause=arm, by=who) if state == "paused" else Config(resume=arm, by=who)
    return respond(await service.ask(Configure(request.path_params["experiment"], config)))


@operation("DELETE", "/v1/experiments/{experiment}/arms/{arm}", "admin", None, {200: ArmView})
async def retire_arm(service: Service, request: Request, who: str | None) -> Response:
    """Retire an arm for good: its late rewards are logged, but not learned."""
    config = Config(retire=request.path_params["arm"], by=who)
    return respond(await service.ask(Configure(request.path_params["experiment"], config)))
