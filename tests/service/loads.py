"""Clients of several experiments that ask, repeat, change arms, and write down what was acknowledged."""

import random
import threading
import time
from typing import Any, NamedTuple

from services import Process, call

CLIENTS = 8
ARMS = ["zeta", "Alpha", "mid"]  # in no order that sorting gives
NEW_ARMS = ["omega", "Beta", "10", "9"]
WINDOW = 2.0  # seconds
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "plain": {"policy": "ucb"},
    "sticky": {"policy": "ucb", "sticky": True, "floor": {"mid": 0.05}},
    "drawn": {"policy": "tsallis-inf"},
    "thompson": {"policy": "thompson-normal-gamma", "sticky": True},
    "shared": {"policy": "lin-ucb", "context": {"shared": True, "n_features": 2}},
    "own": {"policy": "lin-ts", "context": {}},
    "default": {"policy": "ucb", "reward": {"window": WINDOW, "default": 0.0}},
    "provisional": {
        "policy": "thompson-beta",
        "reward": {"window": WINDOW, "default": 0.5},
        "guardrails": ["quality >= -1"],
    },
    "sum": {"policy": "thompson-gaussian", "reward": {"window": WINDOW, "combine": "sum"}},
}


class Act(NamedTuple):
    """Something that a client asked for; ``kind`` and ``key`` are those of the event that it leads to."""

    experiment: str
    kind: str
    key: str


class Said(NamedTuple):
    """What the answer said, or what was asked for: whatever the event must have."""

    arm: str | None = None
    value: float | None = None
    seq: int | None = None
    p: float | None = None


class Load:
    """Clients, each in its thread.

    Parameters
    ----------
    servers
        The servers, which may be replaced meanwhile.
    seed
        Of what is asked.
    """

    def __init__(self, servers: list[Process], seed: int) -> None:
        self.servers, self.seed = servers, seed
        self.acknowledged: dict[Act, Said] = {}
        self.changed: list[str] = []  # answers that differ from the first one
        self.failures: list[str] = []
        self.repeats = 0
        self._arms = {name: list(ARMS) for name in EXPERIMENTS}
        self._stop = threading.Event()
        rng = random.Random(seed)
        for name, more in EXPERIMENTS.items():
            self._send(rng, "PUT", name, "", {"arms": [{"name": arm} for arm in ARMS], **more})
        played = [self._client] * CLIENTS + [self._changer]
        self._threads = [threading.Thread(target=self._guarded, args=each) for each in enumerate(played)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _guarded(self, number: int, play: Any) -> None:
        try:
            play(number, random.Random(f"{self.seed}/{number}"))
        except Exception as error:
            self.failures.append(repr(error))

    def _send(self, rng: random.Random, method: str, experiment: str, path: str, body: Any = None) -> Any:
        """Send until a server gives a final answer, and return it; None if the storm ends first."""
        while True:
            server = rng.choice(self.servers)
            try:
                answer = call(server.address, method, f"/v1/experiments/{experiment}{path}", body, timeout=60)
                if answer.status in (200, 201, 410) or (method, answer.status) == ("DELETE", 409):
                    return answer
                assert answer.status == 503, (method, experiment, path, body, answer)
            except (OSError, ValueError):
                pass
            except Exception as error:  # a reply cut short
                if type(error).__module__ != "http.client":
                    raise
            if self._stop.wait(0.02):
                return None

    def _acknowledge(self, act: Act, said: Said) -> None:
        if self.acknowledged.setdefault(act, said) != said:
            self.changed.append(f"{act}: {self.acknowledged[act]}, then {said}")

    def _client(self, number: int, rng: random.Random) -> None:
        count, waiting = 0, list[tuple[float, str, str, str]]()
        while not self._stop.is_set():
            count += 1
            name, key = rng.choice(list(EXPERIMENTS)), f"c{number}-{count}"
            if rng.random() < 0.05:
                self._observe(rng, name, key)
                continue
            for decided, arm in self._decide(rng, name, key):
                if rng.random() < 0.1:  # rewarded late, if at all
                    waiting.append((time.monotonic() + 1.5 * WINDOW, name, decided, arm))
                else:
                    self._settle(rng, name, decided, arm)
            while waiting and waiting[0][0] < time.monotonic():
                self._settle(rng, *waiting.pop(0)[1:])

    def _decide(self, rng: random.Random, name: str, key: str) -> list[tuple[str, str]]:
        """Ask for a decision, or for several at once, sometimes twice; return their ids and arms."""
        keys = [f"{key}-{i}" for i in range(rng.randint(2, 4))] if rng.random() < 0.2 else [key]
        asked = [{"id": each, **self._details(rng, name)} for each in keys]
        found: dict[str, str] = {}
        for _ in range(1 + (rng.random() < 0.3)):
            if len(asked) == 1:
                answers = [self._send(rng, "POST", name, "/decisions", asked[0])]
                bodies = [answer.body for answer in answers if answer is not None]
            else:
                batch = self._send(rng, "POST", name, "/batch", {"items": [{"decision": each} for each in asked]})
                items = [] if batch is None else batch.body["items"]
                assert all(item["status"] in (200, 201, 503) for item in items), items
                bodies = [item["body"] for item in items if item["status"] != 503]
            for body in bodies:
                self.repeats += body["id"] in found
                found[body["id"]] = body["arm"]
                self._acknowledge(Act(name, "decision", body["id"]), Said(body["arm"], None, body["seq"], body["p"]))
        return list(found.items())

    def _details(self, rng: random.Random, name: str) -> dict[str, Any]:
        """Return what an experiment needs to know for a decision."""
        rule, details = EXPERIMENTS[name].get("context"), dict[str, Any]()
        if rng.random() < 0.7:
            details["unit"] = f"u{rng.randrange(50)}"
        if rng.random() < 0.1:
            details["among"] = ["zeta", "mid", "Alpha"][: rng.randint(2, 3)]
        if rule is not None:
            own = {arm: [1.0, rng.random()] for arm in list(self._arms[name])}
            details["context"] = [1.0, rng.random()] if rule.get("shared") else own
        return details

    def _settle(self, rng: random.Random, name: str, key: str, arm: str) -> None:
        """Report a decision's reward, or several, and perhaps take it back; or cancel it; sometimes twice."""
        if rng.random() < 0.05:
            self._repeat(rng, "DELETE", name, f"/decisions/{key}", None, Act(name, "cancel", key), Said(arm))
        elif name != "sum":
            self._reward(rng, name, key, f"/decisions/{key}/reward", arm)
            if name == "provisional" and rng.random() < 0.5:  # at any time
                value, act = rng.gauss(-3.0 * (arm == "Alpha")), Act(name, "named", f"{key}/quality")
                asked = {"value": value, "name": "quality"}
                self._repeat(rng, "PUT", name, f"/decisions/{key}/reward", asked, act, Said(arm, value))
            if (
                name in ("default", "provisional")
                and Act(name, "reward", key) in self.acknowledged
                and rng.random() < 0.2
            ):
                path = f"/decisions/{key}/reward"
                self._repeat(rng, "DELETE", name, path, None, Act(name, "retract", key), Said(arm))
        else:
            for i in range(rng.randint(0, 3)):
                self._reward(rng, name, f"{key}/r{i}", f"/decisions/{key}/rewards/r{i}", arm)

    def _reward(self, rng: random.Random, name: str, key: str, path: str, arm: str) -> None:
        value = rng.gauss(1.0 if arm == "Alpha" else 0.0, 1.0)
        self._repeat(rng, "PUT", name, path, {"value": value}, Act(name, "reward", key), Said(arm, value))

    def _observe(self, rng: random.Random, name: str, key: str) -> None:
        arm, value = rng.choice(ARMS), rng.gauss()
        vector = {"context": [1.0, rng.random()]} if "context" in EXPERIMENTS[name] else {}
        body = {"id": key, "arm": arm, "value": value, **vector}
        self._repeat(rng, "POST", name, "/observations", body, Act(name, "observe", key), Said(arm, value))

    def _repeat(
        self, rng: random.Random, method: str, name: str, path: str, body: Any, act: Act, said: Said
    ) -> None:  # fmt: skip
        """Send a request once or twice, and write down what became of it."""
        for repeat in range(1 + (rng.random() < 0.3)):
            answer = self._send(rng, method, name, path, body)
            if answer is None:
                return
            self.repeats += repeat
            if answer.status in (200, 201):
                self._acknowledge(act, said._replace(seq=answer.body["seq"]))
            elif act.kind == "reward":  # a late one is logged
                self._acknowledge(act._replace(kind="late"), said)

    def _changer(self, number: int, rng: random.Random) -> None:
        """Add arms, pause and resume one, and pause and resume experiments."""
        while not self._stop.wait(0.2):
            name, change = rng.choice(list(EXPERIMENTS)), rng.randrange(3)
            new = [arm for arm in NEW_ARMS if arm not in self._arms[name]]
            if change == 0 and new and name != "shared":
                if self._send(rng, "PUT", name, f"/arms/{new[0]}", {}) is not None:
                    self._arms[name].append(new[0])
                    self._acknowledge(Act(name, "added", new[0]), Said())
            elif change == 1:
                self._send(rng, "PATCH", name, "/arms/mid", {"state": rng.choice(["running", "paused"])})
            else:
                self._send(rng, "PATCH", name, "", {"state": rng.choice(["running", "running", "paused"])})
