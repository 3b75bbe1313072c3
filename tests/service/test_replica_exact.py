"""Every policy in every kind of experiment: whatever is asked of two servers, and however often one of them forgets an
experiment and reads it again, both hold the same bits as a replay of the log, and make the same decisions.
"""

import math
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from services import SECOND, FakeClock, asked, follow, threadless

from heavybandits import __version__
from heavybandits.algorithms.registry import examples, policies
from heavybandits.service.experiments.changes import Configure, check_experiment
from heavybandits.service.experiments.creation import create
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Cancel, Observe, Retract, Reward
from heavybandits.service.log.log import Log
from heavybandits.service.log.turn import ExperimentTurn
from heavybandits.service.maintenance.verification import verify
from heavybandits.service.replicas.read import read_replica
from heavybandits.service.replicas.replica import Config, Replica
from heavybandits.service.spec import DecisionAnswer, Experiment, State
from heavybandits.service.storage import Session, open_storage

pytestmark = pytest.mark.slow

BATCHES = 40  # to each experiment
ARMS, NEW_ARMS = ["zeta", "Alpha", "mid"], ["Omega", "beta", "zebra", "10", "9"]  # in no order that sorting gives
WINDOW = 30  # seconds
STATES: list[State] = ["running", "running", "paused", "stopped"]
RULES: dict[str, dict[str, Any]] = {
    "at once": {"sticky": True, "floor": {"mid": 0.1, "Alpha": 0.05}, "control": "mid"},
    "in time": {"sticky": True, "reward": {"window": WINDOW}},
    "or default": {"floor": {"zeta": 0.2}, "reward": {"window": WINDOW, "default": -0.5}},
    "added up": {"reward": {"window": WINDOW, "combine": "sum", "default": 0.0}},
}
CONTEXTS: list[dict[str, Any]] = [{"shared": True, "n_features": 2}, {}, {"shared": True}, {"n_features": 2}]
ADAPTED: dict[str, dict[str, Any]] = {"huber-bandit": {"n_arms": len(ARMS)}}  # examples are for other numbers of arms


class Play:
    """Random requests to one experiment.

    Parameters
    ----------
    name
        The experiment's name: the rule of its rewards.
    spec
        The experiment.
    rng
        Draws the requests.
    """

    def __init__(self, name: str, spec: Experiment, rng: random.Random) -> None:
        self.name, self.spec, self.rng = name, spec, rng
        self.arms, self.asked, self.last = [arm.name for arm in spec.arms], list[str](), 0

    def requests(self) -> list[Any]:
        """Return a batch; now and then a request is repeated in it."""
        chosen = [self._request() for _ in range(self.rng.choice([1, 1, 2, 5]))]
        return [each for each in chosen for _ in range(1 + (self.rng.random() < 0.1))]

    def _request(self) -> Any:
        rng, name, arm = self.rng, self.name, self.rng.choice(self.arms)
        self.last += 1
        kind = rng.choices(["decide", "reward", "retract", "cancel", "observe", "change"], [50, 30, 5, 6, 7, 5])[0]
        if kind == "decide" or not self.asked:
            key = rng.choice(self.asked) if self.asked and rng.random() < 0.1 else f"d{self.last}"
            unit = f"u{rng.randrange(6)}" if rng.random() < 0.5 else None
            among = rng.sample(self.arms, rng.randint(1, len(self.arms))) if rng.random() < 0.2 else None
            self.asked.append(key)
            return Decide(name, key, False, unit, among, self._context())
        if kind == "reward":
            reward = f"r{rng.randrange(3)}" if self.spec.reward.combine == "sum" else None
            return Reward(name, rng.choice(self.asked[-30:]), self._value(), reward)
        if kind == "retract":
            return Retract(name, rng.choice(self.asked[-30:]))
        if kind == "cancel":
            return Cancel(name, rng.choice(self.asked[-30:]))
        if kind == "observe":
            vector = None if self.spec.context is None else self._vector()
            return Observe(name, f"o{self.last}", False, arm, self._value(), vector)
        new = rng.choice(NEW_ARMS)
        if new not in self.arms and not (self.spec.context and self.spec.context.shared):
            self.arms.append(new)
            return Configure(name, Config(add=new, payload=self.last))
        state = rng.choice(STATES)
        changes = [Config(pause=arm), Config(resume=arm), Config(state=state), Config(retire=arm)]
        return Configure(name, rng.choices(changes, [4, 6, 4, 1])[0])

    def _context(self) -> Any:
        if self.spec.context is None:
            return None
        if self.spec.context.shared:
            return self._vector()
        return {arm: self._vector() for arm in self.rng.sample(self.arms, self.rng.randint(1, len(self.arms)))}

    def _vector(self) -> list[float]:
        rng = self.rng
        return [rng.choice([0.0, -1e6, 1e-9]) if rng.random() < 0.1 else rng.gauss() for _ in range(2)]

    def _value(self) -> float:
        rng = self.rng
        if rng.random() < 0.06:
            return rng.choice([math.inf, -math.inf, 1e308, -1e150, 1e-320])
        return rng.choice([0.0, 1.0, -2.5]) if rng.random() < 0.2 else rng.paretovariate(1.2) - 3.0


def spec_of(kind: str, policy: str, number: int, rule: dict[str, Any]) -> Experiment:
    context = {"context": CONTEXTS[number]} if kind == "linear" else {}
    description = {"kind": policy} | examples()[policy] | ADAPTED.get(policy, {})
    arms = [{"name": arm} for arm in ARMS]
    return msgspec.convert({"arms": arms, "policy": description, "seed": number, **context, **rule}, Experiment)


def accepted(kind: str, policy: str) -> dict[str, Experiment]:
    """Return the experiments with a policy that the service accepts, by name.

    There are none with a policy that needs a horizon, or a part that is not registered.
    """
    found, why = dict[str, Experiment](), ""
    for number, (name, rule) in enumerate(RULES.items()):
        spec = spec_of(kind, policy, number, rule)
        try:
            check_experiment(spec)
        except (ValueError, TypeError) as error:
            why = str(error)
        else:
            found[name] = spec
    assert found or "horizon" in why or "registered policies" in why, why
    return found


def forget(log: Log, session: Session, name: str, rng: random.Random) -> None:
    """Let a server lose an experiment, most often after storing a snapshot."""
    for lane in log.lanes.values():
        if (replica := lane.replicas.pop(name, None)) is not None:
            contents = replica.snapshot()
            assert Replica.restored(replica.exp, name, contents).snapshot() == contents
            if rng.random() < 0.8:
                with session.transaction():
                    session.put_snapshot(replica.exp, replica.seq, __version__, contents)


def held(log: Log, name: str) -> Replica:
    (found,) = [lane.replicas[name] for lane in log.lanes.values() if name in lane.replicas]
    return found


def after(replica: Replica, session: Session, now: int, requests: list[Any]) -> Any:
    """Return how an experiment answers requests that are not stored, and what it holds afterwards."""
    turn = ExperimentTurn(replica, now)
    turn.prepare(session, requests)
    answers = [request.run(turn) for request in requests]
    return answers, replica.view(), repr(replica.learner.rows()), replica.snapshot()


@pytest.mark.parametrize(("kind", "policy"), [(kind, name) for kind in ("arms", "linear") for name in policies(kind)])
def test_servers_restarts_and_replays_hold_the_same_bits(kind: str, policy: str, tmp_path: Path) -> None:
    play(kind, policy, 0, tmp_path)


def play(kind: str, policy: str, seed: int, folder: Path) -> None:
    rng, clock, storage = random.Random(f"{policy}{seed}"), FakeClock(), open_storage(f"sqlite:///{folder}/log.db")
    plays = [Play(name, spec, rng) for name, spec in accepted(kind, policy).items()]
    session = storage.connect()
    session.migrate()
    for each in plays:
        assert create(session, each.name, each.spec, None, clock.now).status == 201
    with threadless(storage, clock) as first, threadless(storage, clock) as second:
        for _ in range(BATCHES * len(plays)):
            jumps = [rng.expovariate(0.5), 0.0, -rng.uniform(0.0, 100.0), WINDOW, 1e8]
            clock.now += int(rng.choices(jumps, [80, 10, 5, 5, 0.2])[0] * SECOND)
            each, log = rng.choice(plays), rng.choice([first, second])
            if rng.random() < 0.1:
                forget(log, session, each.name, rng)
            if rng.random() < 0.1:
                follow(log, session)
            requests = each.requests()
            outcomes = asked(log, *requests)
            for request, outcome in zip(requests, outcomes if len(requests) > 1 else [outcomes], strict=True):
                assert outcome.status in (200, 201, 404, 409, 410, 422), (request, outcome)
                if isinstance(outcome.body, DecisionAnswer) and outcome.body.p is not None:
                    assert 0.0 < outcome.body.p <= 1.0, (request, outcome)
        for log in (first, second):
            follow(log, session)
        assert [finding.text for finding in verify(session) if not finding.ok] == []
        for each in plays:
            compare(each, [held(log, each.name) for log in (first, second)], session, clock.now)
    session.close()


def compare(each: Play, live: list[Replica], session: Session, now: int) -> None:
    """Compare the replicas of two servers with one that is read again, and with a replay of the whole log."""
    head = session.head(each.name)
    assert head is not None
    again = read_replica(session, head)
    with session.transaction():
        session.run("DELETE FROM snapshot")
    replicas = [*live, again, read_replica(session, head)]
    assert [replica.snapshot() for replica in replicas] == [replicas[-1].snapshot()] * len(replicas)
    assert [replica.checksum() for replica in replicas] == [replicas[-1].checksum()] * len(replicas)
    requests = [request for _ in range(10) for request in each.requests()]
    found = [after(replica, session, now, requests) for replica in replicas]
    assert found == [found[-1]] * len(found)
