"""The interface over HTTP, on both databases: what each endpoint answers, and what is refused."""

import gc
import time
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from services import ARMS, SECOND, Answer, FakeClock, Running, new_storage, running

import heavybandits as hb

pytestmark = pytest.mark.slow


CLOCK = FakeClock()


class Fresh:
    """A server that all tests share; each test has an experiment of its own, which it calls /x."""

    def __init__(self, server: Running) -> None:
        self._server, self._name = server, f"/x {uuid.uuid4().hex}"

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        return self._server(method, quote(path.replace("/x", self._name, 1)), body, **more)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(new_storage(request, tmp_path_factory.mktemp("log")), CLOCK) as server:
        yield server


@pytest.fixture
def server(shared: Running) -> Fresh:
    return Fresh(shared)


@pytest.fixture
def clock() -> FakeClock:
    return CLOCK


def make(server: Fresh, **more: Any) -> None:
    made = server("PUT", "/x", {"arms": ARMS, "policy": "ucb", **more})
    assert made.status == 201, made


def test_a_decision_and_its_reward(server: Fresh) -> None:
    make(server, arms=[{"name": "a", "payload": {"colour": "blue"}}, {"name": "b"}])
    first = server("POST", "/x/decisions", {"id": "one"})
    assert first.status == 201
    assert first.body == {
        "id": "one", "arm": "a", "payload": {"colour": "blue"}, "p": 1.0, "reason": "policy", "seq": 2, "deadline": None
    }  # fmt: skip
    again = server("POST", "/x/decisions", {"id": "one"})
    assert (again.status, again.body) == (200, first.body)
    assert server("POST", "/x/decisions", {"id": "one", "unit": "u"}).status == 409
    reward = server("PUT", "/x/decisions/one/reward", {"value": 2.5})
    assert (reward.status, reward.body) == (201, {"id": "one", "seq": 3, "learned": True})
    assert server("PUT", "/x/decisions/one/reward", {"value": 2.5}).status == 200
    other = server("PUT", "/x/decisions/one/reward", {"value": 2})
    assert (other.status, other.headers["content-type"]) == (409, "application/problem+json")
    assert server("PUT", "/x/decisions/two/reward", {"value": 2}).status == 404
    report = server("GET", "/x/report").body
    assert (report["decisions"], report["rewards"], report["pending"]) == (1, 1, 0)
    assert [arm["total"] for arm in report["arms"]] == [2.5, 0.0]


def test_an_experiment_is_made_once(server: Fresh) -> None:
    make(server)
    assert server("PUT", "/x", {"arms": ARMS, "policy": "ucb"}).status == 200
    assert server("PUT", "/x", {"arms": ARMS, "policy": "moss-anytime"}).status == 409
    assert server("POST", "/y/decisions", {}).status == 404
    names = [each["name"] for each in server("GET", "").body["experiments"]]
    assert names.count(server("GET", "/x").body["name"]) == 1


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ({"arms": []}, "arms"),
        ({"arms": [*ARMS, {"name": "b"}]}, "arms must have different names, got 'b' twice"),
        ({"arms": [{"name": "a/b"}]}, "Expected 1 to 64 characters without slashes or control characters - at"),
        ({"arms": ARMS, "control": "c"}, "control"),
        ({"arms": ARMS, "floor": {"a": 0.7, "b": 0.7}}, "add up"),
        ({"arms": ARMS, "floor": {"c": 0.1}}, "floor"),
        ({"arms": ARMS, "reward": {"default": 0}}, "window"),
        ({"arms": ARMS, "reward": {"combine": "sum"}}, "window"),
        ({"arms": ARMS, "policy": "mine.py:Mine"}, "registered"),
        ({"arms": ARMS, "policy": "catoni"}, "estimator"),
        ({"arms": ARMS, "policy": {"kind": "ucb", "c": -1}}, "c must be"),
        ({"arms": ARMS, "nonsense": 1}, "nonsense"),
        (
            {"arms": ARMS, "goal": "median"},
            "'median' - at `$.goal`; must be one of 'location', 'mean'",
        ),
        ({"arms": ARMS, "reward": {"combine": "max"}}, "must be one of 'first', 'sum'"),
    ],
)
def test_experiments_that_cannot_be_are_refused(server: Fresh, spec: Any, word: str) -> None:
    refused = server("PUT", "/x", spec)
    assert refused.status == 422
    assert word in refused.body["detail"]
    assert server("GET", "/x").status == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"value": NaN}', 400), (b'{"value": "NaN"}', 422), (b'{"value": true}', 422), (b'{"value": null}', 422),
        (b"{}", 422), (b"[1]", 422), (b"", 400), (b'{"value": 1, "more": 2}', 422), (b'{"value": "Infinity"}', 201),
        (b'{"value": -1e300}', 201), (b'{"value": 7}', 201),
    ],
)  # fmt: skip
def test_rewards_are_numbers(server: Fresh, body: bytes, status: int) -> None:
    make(server)
    server("POST", "/x/decisions", {"id": "one"})
    assert server("PUT", "/x/decisions/one/reward", body).status == status
    assert server("GET", "/x/report").body["rewards"] == (status == 201)


def test_arms_come_pause_and_go(server: Fresh) -> None:
    make(server)
    assert server("PUT", "/x/arms/c", {"payload": 3}).status == 201
    assert server("PUT", "/x/arms/c", {"payload": 3}).status == 200
    assert server("PUT", "/x/arms/c", {"payload": 4}).status == 409
    assert server("PATCH", "/x/arms/a", {"state": "paused"}).status == 200
    chosen = [server("POST", "/x/decisions", {"id": f"p{i}"}).body["arm"] for i in range(4)]
    assert "a" not in chosen
    assert server("DELETE", "/x/arms/b").status == 200
    only = server("POST", "/x/decisions", {"id": "last"}).body
    assert (only["arm"], only["reason"], only["p"], only["payload"]) == ("c", "only", 1.0, 3)
    late = server("PUT", f"/x/decisions/p{chosen.index('b')}/reward", {"value": 1})
    assert (late.status, late.body["learned"]) == (201, False)
    assert server("PATCH", "/x/arms/b", {"state": "running"}).status == 409
    assert server("PATCH", "/x/arms/c", {"state": "paused"}).status == 200
    assert server("POST", "/x/decisions", {}).status == 409
    assert server("PATCH", "/x/arms/nobody", {"state": "paused"}).status == 404
    assert server("PATCH", "/x/arms/a", {"state": "running"}).status == 200
    assert server("POST", "/x/decisions", {}).body["arm"] == "a"


def test_an_experiment_that_does_not_run_gives_the_control_arm(server: Fresh) -> None:
    make(server, control="b")
    assert server("PATCH", "/x", {"state": "paused"}).body["state"] == "paused"
    answers = [server("POST", "/x/decisions", {}).body for _ in range(3)]
    assert [(each["arm"], each["reason"]) for each in answers] == [("b", "paused")] * 3
    assert server("PATCH", "/x", {"state": "running"}).status == 200
    assert server("POST", "/x/decisions", {}).body["reason"] == "policy"


def test_units_keep_their_arm_while_it_is_open(server: Fresh) -> None:
    make(server, sticky=True)
    first = server("POST", "/x/decisions", {"unit": "me"}).body
    server("POST", "/x/decisions", {"unit": "you"})
    again = server("POST", "/x/decisions", {"unit": "me"}).body
    assert (again["arm"], again["reason"], again["p"]) == (first["arm"], "sticky", first["p"])
    other = next(arm["name"] for arm in ARMS if arm["name"] != first["arm"])
    assert server("POST", "/x/decisions", {"unit": "me", "among": [other]}).body["arm"] == other
    assert server("POST", "/x/decisions", {"unit": "me"}).body["arm"] == other


def test_rewards_are_weighed_by_the_probabilities_that_the_log_has(server: Fresh) -> None:
    make(server, policy="tsallis-inf", sticky=True, seed=5)
    agent, keys = hb.Agent(hb.make("tsallis-inf"), arms=["a", "b"], seed=5), [f"d{i}" for i in range(12)]
    decided = [server("POST", "/x/decisions", {"id": key, "unit": f"u{i % 8}"}).body for i, key in enumerate(keys)]
    for answer in decided:  # the agent gets the probabilities in the answers
        agent.assign(answer["arm"])
        agent.correct_propensity(answer["arm"], answer["p"])
    assert {answer["reason"] for answer in decided} == {"policy", "sticky"}
    for i in range(8, 12):
        assert (decided[i]["arm"], decided[i]["p"]) == (decided[i - 8]["arm"], decided[i - 8]["p"])
    for i in (7, 0, 11, 3, 5):  # rewards come in another order
        server("PUT", f"/x/decisions/d{i}/reward", {"value": i})
        agent.update(decided[i]["arm"], i, propensity=decided[i]["p"])
        after = server("POST", "/x/decisions", {"id": f"after{i}"}).body
        assert after["p"] == pytest.approx(agent.assign(after["arm"]).propensity, rel=1e-12)


def test_a_log_without_probabilities_is_noted(server: Fresh) -> None:
    make(server, policy="ucb")
    assert "no off-policy evaluation" in server("GET", "/x").body["notes"][0]
    arms = {"arms": ARMS, "policy": "tsallis-inf"}
    assert not any("off-policy" in note for note in server("PUT", "/drawn", arms).body["notes"])


@pytest.mark.parametrize(("wait", "rule", "is_noted"), [(1, {}, False), (90, {}, True), (90, {"default": 0}, False)])
def test_zeros_that_may_come_later_than_what_pays_are_noted(
    server: Fresh, wait: int, rule: dict[str, int], is_noted: bool
) -> None:
    make(server, reward={"window": 3600, **rule})
    server("POST", "/x/decisions", {"id": "d"})
    CLOCK.now += wait * SECOND
    server("PUT", "/x/decisions/d/reward", {"value": 0.0})
    assert any("Zeros are reported" in note for note in server("GET", "/x").body["notes"]) == is_noted


def test_a_name_with_a_slash_is_said_to_be_none(server: Fresh) -> None:
    refused = server("PUT", "/a/b", {"arms": ARMS})
    assert refused.status == 404
    assert "names must not contain slashes" in refused.body["detail"]


def test_among_must_name_arms(server: Fresh) -> None:
    make(server)
    assert server("POST", "/x/decisions", {"among": ["b"]}).body["arm"] == "b"
    assert server("POST", "/x/decisions", {"among": ["nobody"]}).status == 422
    assert server("POST", "/x/decisions", {"among": []}).status == 422


def test_a_floor_gives_its_share_and_says_so(server: Fresh) -> None:
    make(server, floor={"a": 0.3})
    items = [{"decision": {"id": f"d{i}"}} for i in range(400)]
    answers = [each["body"] for each in server("POST", "/x/batch", {"items": items}).body["items"]]
    by_floor = [each for each in answers if each["reason"] == "floor"]
    assert 80 < len(by_floor) < 160  # 120 are expected, with a standard deviation of 9
    assert {each["arm"] for each in by_floor} == {"a"}
    assert {round(each["p"], 12) for each in answers} <= {0.3, 0.7, 1.0}
    assert all(round(each["p"], 12) == 0.7 for each in answers if each["arm"] == "b")


def test_the_end_of_a_window_gives_up_what_has_no_reward(server: Fresh, clock: FakeClock) -> None:
    make(server, reward={"window": 10})
    for key in ("one", "two"):
        server("POST", "/x/decisions", {"id": key})
    assert server("PUT", "/x/decisions/one/reward", {"value": 1}).body["learned"]
    clock.now += 10 * SECOND
    assert server("PUT", "/x/decisions/two/reward", {"value": 1}).status == 410
    assert server("PUT", "/x/decisions/two/reward", {"value": 1}).status == 410
    assert server("PUT", "/x/decisions/one/reward", {"value": 1}).status == 200
    report = server("GET", "/x/report").body
    assert (report["pending"], report["rewards"]) == (0, 1)
    assert sum(arm["given_up"] for arm in report["arms"]) == sum(arm["late"] for arm in report["arms"]) == 1


def test_a_reward_can_be_taken_back_until_it_is_learned(server: Fresh, clock: FakeClock) -> None:
    make(server, reward={"window": 60, "default": 0})
    for key in ("wrong", "right"):
        server("POST", "/x/decisions", {"id": key})
        assert server("PUT", f"/x/decisions/{key}/reward", {"value": 1e9}).status == 201
    assert server("DELETE", "/x/decisions/wrong/reward").status == 201
    assert server("DELETE", "/x/decisions/wrong/reward").status == 200
    refused = server("PUT", "/x/decisions/wrong/reward", {"value": 3})
    assert (refused.status, refused.body["title"]) == (409, "taken back")
    server("POST", "/x/decisions", {"id": "none"})
    assert server("DELETE", "/x/decisions/none/reward").status == 404
    assert server("DELETE", "/x/decisions/nobody/reward").status == 404
    clock.now += 61 * SECOND
    assert server("DELETE", "/x/decisions/right/reward").body["title"] == "learned"
    wait_for(lambda: server("GET", "/x/report").body["rewards"] == 3)
    totals = [arm["total"] for arm in server("GET", "/x/report").body["arms"]]
    assert sum(totals) == 1e9


def test_a_reward_that_is_learned_at_once_stays(server: Fresh) -> None:
    make(server)
    server("POST", "/x/decisions", {"id": "one"})
    server("PUT", "/x/decisions/one/reward", {"value": 1})
    assert server("DELETE", "/x/decisions/one/reward").body["title"] == "learned"


def test_one_of_many_rewards_is_taken_back_by_its_opposite(server: Fresh) -> None:
    make(server, reward={"window": 60, "combine": "sum"})
    server("POST", "/x/decisions", {"id": "one"})
    server("PUT", "/x/decisions/one/rewards/first", {"value": 1})
    refused = server("DELETE", "/x/decisions/one/reward")
    assert (refused.status, refused.body["title"]) == (409, "rewards add up")


def test_with_a_default_everything_is_learned_at_the_end_of_the_window(server: Fresh, clock: FakeClock) -> None:
    make(server, reward={"window": 10, "default": -1})
    for key in ("one", "two"):
        server("POST", "/x/decisions", {"id": key})
    assert server("PUT", "/x/decisions/one/reward", {"value": 5}).body["learned"] is False
    assert server("GET", "/x/report").body["rewards"] == 0
    clock.now += 10 * SECOND
    assert server("PUT", "/x/decisions/two/reward", {"value": 5}).status == 410
    wait_for(lambda: server("GET", "/x/report").body["rewards"] == 2)
    assert sorted(arm["total"] for arm in server("GET", "/x/report").body["arms"]) == [-1, 5]


def test_rewards_that_add_up(server: Fresh, clock: FakeClock) -> None:
    make(server, reward={"window": 10, "default": 0, "combine": "sum"})
    server("POST", "/x/decisions", {"id": "one"})
    for _ in range(2):
        for key, value in (("p", 1.5), ("q", 2.5)):
            assert server("PUT", f"/x/decisions/one/rewards/{key}", {"value": value}).status in (200, 201)
    assert server("PUT", "/x/decisions/one/rewards/p", {"value": 9}).status == 409
    assert server("PUT", "/x/decisions/one/reward", {"value": 9}).status == 422
    clock.now += 11 * SECOND
    wait_for(lambda: server("GET", "/x/report").body["rewards"] == 1)
    assert server("GET", "/x/report").body["arms"][0]["total"] == 4.0
    assert server("PUT", "/x/decisions/one/rewards/r", {"value": 1}).status == 410


def test_infinite_rewards_of_both_signs_do_not_add_up(server: Fresh, clock: FakeClock) -> None:
    make(server, reward={"window": 10, "default": 0, "combine": "sum"})
    server("POST", "/x/decisions", {"id": "one"})
    assert server("PUT", "/x/decisions/one/rewards/p", {"value": "Infinity"}).status == 201
    refused = server("PUT", "/x/decisions/one/rewards/q", {"value": "-Infinity"})
    assert (refused.status, refused.body["title"]) == (422, "no sum")
    assert server("PUT", "/x/decisions/one/rewards/r", {"value": 1}).status == 201
    clock.now += 11 * SECOND
    wait_for(lambda: server("GET", "/x/report").body["rewards"] == 1)
    assert server("GET", "/x/report").body["largest"][0]["value"] == "Infinity"


def test_cancelled_decisions_take_no_rewards(server: Fresh) -> None:
    make(server)
    for key in ("one", "two"):
        server("POST", "/x/decisions", {"id": key})
    assert [server("DELETE", "/x/decisions/one").status for _ in range(2)] == [201, 200]
    assert server("PUT", "/x/decisions/one/reward", {"value": 1}).status == 410
    server("PUT", "/x/decisions/two/reward", {"value": 1})
    assert server("DELETE", "/x/decisions/two").status == 409
    assert server("DELETE", "/x/decisions/three").status == 404
    assert server("GET", "/x/report").body["pending"] == 0


def test_observations_count_once_and_settle_nothing(server: Fresh) -> None:
    make(server)
    server("POST", "/x/decisions", {"id": "one"})
    seen = {"arm": "a", "value": 4, "id": "seen"}
    assert [server("POST", "/x/observations", seen).status for _ in range(2)] == [201, 200]
    assert server("POST", "/x/observations", {**seen, "value": 5}).status == 409
    assert server("POST", "/x/observations", {"arm": "nobody", "value": 5}).status == 422
    report = server("GET", "/x/report").body
    assert (report["rewards"], report["pending"]) == (1, 1)


def test_each_item_of_a_batch_has_its_own_status(server: Fresh) -> None:
    make(server)
    items = [
        {"decision": {"id": "one"}}, {"reward": {"decision": "one", "value": 1}}, {"decision": {"id": "one"}},
        {"reward": {"decision": "nobody", "value": 1}}, {"decision": {"id": "two"}}, {"cancel": "two"},
        {"observation": {"arm": "b", "value": 2}},
    ]  # fmt: skip
    answers = server("POST", "/x/batch", {"items": items}).body["items"]
    assert [each["status"] for each in answers] == [201, 201, 200, 404, 201, 201, 201]
    assert server("POST", "/x/batch", {"items": [{}]}).status == 422
    assert server("POST", "/x/batch", {"items": [{"cancel": "c", "decision": {}}]}).status == 422
    assert server("POST", "/x/batch", {"items": items * 200}).status == 422


def test_clocks_that_jump_lose_nothing(server: Fresh, clock: FakeClock) -> None:
    make(server, reward={"window": 100})
    server("POST", "/x/decisions", {"id": "before"})
    clock.now -= 10**6 * SECOND
    server("POST", "/x/decisions", {"id": "back"})
    assert server("PUT", "/x/decisions/before/reward", {"value": 1}).status == 201
    clock.now += 10**7 * SECOND
    wait_for(lambda: server("GET", "/x/report").body["pending"] == 0)
    server("POST", "/x/decisions", {"id": "ahead"})
    clock.now -= 9 * 10**6 * SECOND
    assert server("PUT", "/x/decisions/ahead/reward", {"value": 2}).status == 201
    assert server("PUT", "/x/decisions/back/reward", {"value": 3}).status == 410
    report = server("GET", "/x/report").body
    assert (report["decisions"], report["rewards"], report["pending"]) == (3, 2, 0)


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    """Wait until a server has done something by itself."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_batch_with_an_item_that_asks_for_nothing_is_refused_whole(server: Fresh) -> None:
    make(server)
    assert server("POST", "/x/batch", {"items": [{"decision": {"id": "one"}}, {}]}).status == 422
    gc.collect()  # a coroutine that was never awaited would warn now
    assert server("POST", "/x/decisions", {"id": "one"}).status == 201
