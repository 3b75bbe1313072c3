"""Random requests to experiments of every kind, with any policy."""

import math
import random
from typing import Any

import msgspec

from heavybandits.algorithms.registry import examples
from heavybandits.service.events import Config
from heavybandits.service.experiments.changes import Configure, check_experiment
from heavybandits.service.experiments.decisions import Decide
from heavybandits.service.experiments.rewards import Cancel, NamedReward, Observe, Retract, Reward
from heavybandits.service.replicas.named_rewards import guardrails_of
from heavybandits.service.spec import Experiment, State

ARMS, NEW_ARMS = ["zeta", "Alpha", "mid"], ["Omega", "beta", "zebra", "10", "9"]  # in no order that sorting gives
WINDOW = 30  # seconds
STATES: list[State] = ["running", "running", "paused", "stopped"]
RULES: dict[str, dict[str, Any]] = {
    "at once": {"sticky": True, "floor": {"mid": 0.1, "Alpha": 0.05}, "control": "mid"},
    "in time": {"sticky": True, "reward": {"window": WINDOW}},
    "or default": {"floor": {"zeta": 0.2}, "reward": {"window": WINDOW, "default": -0.5}},
    "added up": {"reward": {"window": WINDOW, "combine": "sum", "default": 0.0}},
    "costs": {"minimise": True, "floor": {"zeta": 0.1}, "reward": {"window": WINDOW}},
    "provisional": {"minimise": True, "reward": {"window": WINDOW, "default": 0.5, "provisional": True}},
    "sum so far": {"reward": {"window": WINDOW, "combine": "sum", "default": 0.0, "provisional": True}},
    "guarded": {"named_rewards": ["speed"], "guardrails": ["speed <= +1", "errors <= +0.5"], "control": "mid"},
    "drift": {"drift": True, "floor": {"mid": 0.1}, "named_rewards": ["speed"]},
    "quantile": {"goal": {"quantile": 0.9}, "minimise": True, "reward": {"window": WINDOW}},
    "budget": {"sticky": True, "stop": {"budget": 25, "then": "winner"}},
}
KINDS = ("arms", "linear", "lipschitz")
RANGES: list[dict[str, Any]] = [{"x": [-1, 1]}, {"x": [5, 25], "y": [0, 1e-3]}, {"x": [0, 1]}, {"x": [1e9, 2e9]}]
SCHEMA = {"age": "number", "plan": ["free", "paid"], "back": "boolean"}
CONTEXTS: list[dict[str, Any]] = [
    {"shared": True, "n_features": 2}, {}, {"attributes": True},
    {"shared": True}, {"n_features": 2}, {"attributes": SCHEMA},
]  # fmt: skip
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
        kind = rng.choices(["decide", "reward", "retract", "cancel", "observe", "change"], [50, 30, 5, 6, 7, 8])[0]
        if kind == "decide" or not self.asked:
            key = rng.choice(self.asked) if self.asked and rng.random() < 0.1 else f"d{self.last}"
            unit = f"u{rng.randrange(6)}" if rng.random() < 0.5 else None
            some = rng.random() < 0.2 and self.spec.points is None
            among = rng.sample(self.arms, rng.randint(1, len(self.arms))) if some else None
            self.asked.append(key)
            return Decide(name, key, False, unit, among, self._context())
        if kind == "reward" and rng.random() < 0.4 and (names := [*self.spec.named_rewards, *self._guarded()]):
            return NamedReward(name, rng.choice(self.asked[-30:]), rng.choice(names), self._value())
        if kind == "reward":
            reward = f"r{rng.randrange(3)}" if self.spec.reward.combine == "sum" else None
            return Reward(name, rng.choice(self.asked[-30:]), self._value(), reward)
        if kind == "retract":
            return Retract(name, rng.choice(self.asked[-30:]))
        if kind == "cancel":
            return Cancel(name, rng.choice(self.asked[-30:]))
        if kind == "observe":
            seen = None if self.spec.context is None else self._one_context()
            return Observe(name, f"o{self.last}", False, arm, self._value(), seen, self._point())
        new = rng.choice(NEW_ARMS)
        if self.spec.points is None and new not in self.arms and not (self.spec.context and self.spec.context.shared):
            self.arms.append(new)
            named: dict[str, Any] = (
                {"age": 1.0} if self.spec.context and self.spec.context.attributes and rng.random() < 0.3 else {}
            )
            return Configure(name, Config(add=new, payload=self.last, attributes=named))
        state = rng.choice(STATES)
        changes = [Config(pause=arm), Config(resume=arm), Config(state=state), Config(retire=arm),
                   Config(finish=arm), Config(control=arm)]  # fmt: skip
        return Configure(name, rng.choices(changes, [4, 6, 4, 1, 1, 2])[0])

    def _guarded(self) -> list[str]:
        return [rail.column for rail in guardrails_of(self.spec)]

    def _context(self) -> Any:
        if self.spec.context is None:
            return None
        if not self.spec.context.is_of_arms:
            return self._one_context()
        return {arm: self._vector() for arm in self.rng.sample(self.arms, self.rng.randint(1, len(self.arms)))}

    def _point(self) -> dict[str, float] | None:
        if self.spec.points is None:
            return None
        return {name: self.rng.choice([low, high, self.rng.uniform(low, high)])
                for name, (low, high) in self.spec.points.items()}  # fmt: skip

    def _one_context(self) -> Any:
        assert self.spec.context is not None
        return {"attributes": self._attributes()} if self.spec.context.attributes else self._vector()

    def _attributes(self) -> dict[str, Any]:
        rng = self.rng
        named = {"plan": rng.choice(["free", "paid"]), "back": rng.random() < 0.5, "age": rng.gauss(40.0, 10.0)}
        return {name: named[name] for name in rng.sample(sorted(named), rng.randint(1, 3))}

    def _vector(self) -> list[float]:
        rng = self.rng
        return [rng.choice([0.0, -1e6, 1e-9]) if rng.random() < 0.1 else rng.gauss() for _ in range(2)]

    def _value(self) -> float:
        rng = self.rng
        if rng.random() < 0.06:
            return rng.choice([math.inf, -math.inf, 1e308, -1e150, 1e-320])
        return rng.choice([0.0, 1.0, -2.5]) if rng.random() < 0.2 else rng.paretovariate(1.2) - 3.0


def spec_of(kind: str, policy: str, number: int, rule: dict[str, Any]) -> Experiment:
    description = {"kind": policy} | examples()[policy] | ADAPTED.get(policy, {})
    if kind == "lipschitz":
        rule = {field: value for field, value in rule.items() if field not in ("floor", "control", "stop")}
        points = RANGES[number % len(RANGES)]
        return msgspec.convert({"points": points, "policy": description, "seed": number, **rule}, Experiment)
    context = {"context": CONTEXTS[number % len(CONTEXTS)]} if kind == "linear" else {}
    arms = [{"name": arm} for arm in ARMS]
    return msgspec.convert({"arms": arms, "policy": description, "seed": number, **context, **rule}, Experiment)


def accepted(kind: str, policy: str) -> dict[str, Experiment]:
    """Return the experiments with a policy that the service accepts, by name.

    There are none with a policy that needs a horizon, or a part that is not registered.
    """
    found, why = dict[str, Experiment](), list[str]()
    for number, (name, rule) in enumerate(RULES.items()):
        spec = spec_of(kind, policy, number, rule)
        try:
            check_experiment(spec)
        except (ValueError, TypeError) as error:
            why.append(str(error))
        else:
            found[name] = spec
    assert found or any("horizon" in each or "registered policies" in each for each in why), why
    return found
