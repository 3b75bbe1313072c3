"""The page over HTTP: what it says, what it escapes, and whom it lets change something."""

import html
import http.client
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import msgspec
import numpy as np
import pandas as pd
import pytest
from histories import played
from services import Running, call, running

import heavybandits as hb
from heavybandits.service.dashboard import prepared
from heavybandits.service.dashboard.intervals import against_control
from heavybandits.service.dashboard.known import Known
from heavybandits.service.dashboard.known import known as page_known
from heavybandits.service.dashboard.panels import describe_rewards, leaderboard, outliers
from heavybandits.service.dashboard.rivals import replayed_policies
from heavybandits.service.http.auth import new_token
from heavybandits.service.replicas.report import taken
from heavybandits.service.replicas.standing import LIFTS
from heavybandits.service.spec import Arm, ContextRule, Experiment, Goal
from heavybandits.service.storage import open_storage

EVIL = "<script>alert(1)</script>"
STRICT = "default-src 'none'; script-src 'self'; style-src 'self'"


def known(rewards: dict[str, list[float]], goal: Goal = "mean") -> Known:
    """Return what is known about an experiment whose arms have had these rewards, each for a decision of its own."""
    spec = Experiment(arms=[Arm(name) for name in rewards], goal=goal, policy="epsilon-greedy")
    replica = played(spec, [(name, value) for name, values in rewards.items() for value in values])
    return page_known(taken(replica))


def said(rewards: dict[str, list[float]], goal: Goal = "mean") -> str:
    return " ".join(known(rewards, goal).standing.sentences)


def test_a_winner_needs_evidence_and_the_page_says_what_it_rests_on() -> None:
    coins = {"a": [1.0, 1.0, 1.0, 0.0] * 60, "b": [0.0, 0.0, 0.0, 1.0] * 60}
    found = known(coins)
    assert found.standing.sentences[0] == "a is the winner: it earns more than the other arm."
    assert "such a verdict is wrong in at most 5% of experiments" in said(coins)
    [best, other] = leaderboard(found, ["a", "b"])
    assert (best.leads, other.leads) == (True, False)
    low, high = map(float, best.counted.partition("(")[2].rstrip(")").split(" to "))
    assert 0.6 < low < 0.75 < high < 0.9


def test_only_the_highest_arms_have_lifts() -> None:
    rng, names = np.random.default_rng(0), [f"arm {number}" for number in range(14)]
    spec = Experiment(arms=[Arm(name) for name in names], policy="epsilon-greedy")
    rewards = [
        (name, float(rng.random() < 0.05 * (number + 2))) for _ in range(60) for number, name in enumerate(names)
    ]
    found = page_known(taken(played(spec, rewards)))
    lifted = {row.name for row in leaderboard(found, names) if row.lift != "-"}
    assert lifted == set(sorted(names, key=lambda name: found.standing.values[name])[-LIFTS:])
    picture = against_control(page_known(taken(played(msgspec.structs.replace(spec, control="arm 13"), rewards))))
    assert picture is not None
    assert (picture.is_lift, len(picture.bars), picture.left_out) == (True, LIFTS + 1, 3)  # the control is the best


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_page_diagnosis_and_comparison_say_the_same_of_the_same_rewards(goal: Goal) -> None:
    rng = np.random.default_rng(1)
    rewards = {name: (scale * rng.pareto(1.5, 300)).tolist() for name, scale in {"a": 1.0, "b": 2.0}.items()}
    rows = [(name, value) for name, values in rewards.items() for value in values]
    table = pd.DataFrame(rows, columns=["arm", "reward"])
    page, found = known(rewards, goal).standing, hb.compare(table, goal=goal, control="a")
    assert found.winner == "b"
    assert page.sentences == found.sentences
    assert hb.diagnose(table, goal=goal).evidence.sentences == hb.compare(table, goal=goal).sentences
    assert page.values == found.estimates


def test_equal_arms_have_no_winner() -> None:
    rng = np.random.default_rng(0)
    text = said({name: rng.pareto(1.5, 300).tolist() for name in "ab"})
    assert "winner" not in text
    assert "Too early to tell" in text or "Evidence" in text


def test_few_rewards_say_nothing() -> None:
    assert said({"a": [1.0, 1.1] * 5, "b": [0.5]}).startswith("Too early: 11 of the first 24 rewards")
    assert "Too early" in said({"a": [1.0, 1.1] * 50, "b": [50.0]}, goal="location")
    assert "winner" not in said({"a": ([0.0] * 9 + [1.0]) * 100, "b": [0.0] * 1000, "c": [0.0]})


def test_without_rewards_the_page_says_so() -> None:
    assert said({"a": []}) == "No rewards yet; 0 decisions are pending."


def test_outliers_that_decide_are_named() -> None:
    calm, loud = [1.0] * 30, [0.5] * 29 + [1000.0]
    assert outliers(known({"calm": calm, "loud": loud})).verdict == (
        "Without them calm would have the highest mean instead of loud."
    )
    assert "does not change which arm" in outliers(known({"calm": calm, "low": [0.5] * 30})).verdict
    without = known({"calm": calm, "loud": loud})
    with_context = msgspec.structs.replace(without.spec, context=ContextRule(shared=True))
    assert outliers(without._replace(spec=with_context)).verdict == ""


def test_panels_show_zeros_and_mark_the_control() -> None:
    found = known({"a": [0.0] * 30 + [5.0] * 10, "b": [0.0] * 40})
    assert ("zeros", "88% of rewards") in describe_rewards(found, ["a", "b"])
    assert [(row.name, row.is_control) for row in leaderboard(found, ["a", "b"])] == [("a", True), ("b", False)]


def test_a_change_of_level_is_sought_in_the_arms_that_are_drawn() -> None:
    rewards = {f"arm {number}": [0.0, 1.0] * 20 for number in range(9)}
    assert ("level over time", "no change seen in the arms that are drawn") in describe_rewards(known(rewards), rewards)
    rewards["arm 3"] = [0.0, 1.0] * 20 + [5.0, 6.0] * 20
    assert ("level over time", "changes for arm 3") in describe_rewards(known(rewards), rewards)
    few = {"a": rewards["arm 0"], "b": rewards["arm 1"]}
    assert ("level over time", "no change seen") in describe_rewards(known(few), few)


def test_replays_leave_out_what_is_infinite() -> None:
    import heavybandits as hb

    rng = np.random.default_rng(0)
    samples = [np.append(rng.normal(mean, 1, 60), np.inf) for mean in (0.0, 1.0)]
    assert [row[0] for row in replayed_policies(hb.UCB(), "mean", samples).rows] == [
        "this policy",
        "UCB",
        "the best arm, always",
        "an arm at random",
    ]
    assert replayed_policies(hb.UCB(), "mean", samples[:1]).rows == []


def test_experiments_that_cannot_be_read_are_listed_with_the_reason() -> None:
    why = "its first events were pruned"
    page = prepared.rendered(
        "list.html.j2", has_tokens=False, rows={EVIL: None}, now=0, wanted="", page=1, pages=1, n_found=1, n_all=1,
        unreadable={EVIL: why}, form={}, problem=None,
    )  # fmt: skip
    assert f"<strong>&lt;script&gt;alert(1)&lt;/script&gt;</strong>: {why}" in page
    assert "There are no experiments yet" not in page


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(open_storage(f"sqlite:///{tmp_path_factory.mktemp('page')}/log.db")) as found:
        yield found


def post(address: str, path: str, origin: str | None = "own", cookie: str = "", **form: str) -> tuple[int, str, Any]:
    """Send a form as a browser does."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    if origin is not None:
        headers["Origin"] = f"http://{address}" if origin == "own" else origin
    try:
        connection.request("POST", path, urlencode(form), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


def get(address: str, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    answer = call(address, "GET", path, None, **cast(Any, headers))
    text = answer.body.decode() if isinstance(answer.body, bytes) else str(answer.body)
    return answer.status, text, answer.headers


@pytest.mark.slow
def test_an_experiment_is_made_shown_and_changed(server: Running) -> None:
    status, _, headers = post(server.address, "/experiments", name=EVIL[:-9], arms=f"{EVIL[:-9]}\nb", goal="mean")
    assert status == 303
    address = headers["Location"]
    for path in (address, f"{address}/live", "/"):
        status, page, headers = get(server.address, path)
        assert status == 200
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert headers["content-security-policy"].startswith(STRICT)
    assert post(server.address, f"{address}/arms", pause="1")[0] == 303
    assert post(server.address, f"{address}/arms", pause="1", resume="1")[0] == 422
    assert post(server.address, f"{address}/arms", pause="2")[0] == 404
    assert post(server.address, f"{address}/arms", pause="b")[0] == 404
    assert '<button name="resume" value="1"' in get(server.address, address)[1]
    assert post(server.address, f"{address}/state", state="paused")[0] == 303
    assert "Resume the experiment" in get(server.address, address)[1]
    assert post(server.address, f"{address}/state", state="gone")[0] == 422
    assert post(server.address, f"{address}/arms", finish="1")[0] == 303
    page = get(server.address, address)[1]
    assert "Finished: all new decisions are for b." in page
    assert '<button name="finish" value="0"' in page
    assert '<button name="finish" value="1"' not in page
    assert get(server.address, "/experiments/nobody")[0] == 404


@pytest.mark.slow
def test_the_button_below_a_winner_finishes_with_it(server: Running) -> None:
    name = "<b>"
    server("PUT", "/won", {"arms": [{"name": "a"}, {"name": name}]})
    items = [{"observation": {"arm": arm, "value": float(arm == name)}} for arm in ("a", name) * 200]
    server("POST", "/won/batch", {"items": items})
    page = call(server.address, "GET", "/experiments/won").body.decode()
    [(field, place)] = re.findall(r'<button type="submit" class="main" name="(\w+)" value="(\d+)" id="ship">', page)
    assert "Finish: give &lt;b&gt; to everybody" in page
    assert post(server.address, "/experiments/won/arms", **{field: place})[0] == 303
    assert server("GET", "/won").body["finished_with"] == name
    assert 'id="ship"' not in call(server.address, "GET", "/experiments/won").body.decode()


@pytest.mark.slow
def test_other_sites_change_nothing(server: Running) -> None:
    for origin in ("http://elsewhere.example", "null", None):
        status, page, _ = post(server.address, "/experiments", origin, name="theirs", arms="a")
        assert status == 403
        assert "changes must come from this page" in page
    assert get(server.address, "/experiments/theirs")[0] == 404


@pytest.mark.slow
def test_a_form_that_is_refused_keeps_what_was_written(server: Running) -> None:
    status, page, _ = post(server.address, "/experiments", name="twice", arms="same\nsame", window="soon")
    assert status == 422
    assert "window must be a finite number, got &#39;soon&#39;" in page
    assert ">same\nsame</textarea>" in page
    assert "different names" in post(server.address, "/experiments", name="twice", arms="same\nsame")[1]


@pytest.mark.slow
def test_a_hypothesis_is_kept_and_shown_first(server: Running) -> None:
    text = "Green <b>sells</b> more:\nit is seen."
    given = text.replace("\n", "\r\n")
    assert post(server.address, "/experiments", name="x", arms="a\nb", hypothesis=given)[0] == 303
    assert server("GET", "/x").body["hypothesis"] == text
    page = get(server.address, "/experiments/x")[1]
    assert page.index("Green &lt;b&gt;sells&lt;/b&gt; more:\nit is seen.") < page.index('id="said"')
    same = {"arms": [{"name": "a"}, {"name": "b"}], "floor": {"a": 0.01}}
    assert server("PUT", "/y", same).body["hypothesis"] == ""
    assert server("PUT", "/y", same | {"hypothesis": text}).status == 409  # it cannot change afterwards
    for wrong, words in {"\0": "text without control characters", "x" * 1001: "length <= 1000"}.items():
        refused = server("PUT", "/z", same | {"hypothesis": wrong})
        assert (refused.status, words in refused.body["detail"]) == (422, True)


@pytest.mark.slow
def test_a_form_makes_experiments_with_attributes_and_with_points(server: Running) -> None:
    assert post(server.address, "/experiments", name="named", arms="a\nb", context="attributes", floor="1")[0] == 303
    shown = server("GET", "/named").body
    assert (shown["context"], shown["floor"]) == ({"attributes": True, "schema": {}}, {"a": 0.005, "b": 0.005})
    lines = "price 5 25\n\n free from\t0 1e2 "
    assert post(server.address, "/experiments", name="price", arms="", points=lines, floor="1", stop="ask")[0] == 303
    assert server("GET", "/price").body["points"] == {"price": [5.0, 25.0], "free from": [0.0, 100.0]}
    assert server("POST", "/price/decisions", {"id": "d"}).body["point"].keys() == {"price", "free from"}
    for path in ("/", "/experiments/named", "/experiments/price"):
        assert get(server.address, path)[0] == 200


@pytest.mark.slow
def test_the_page_says_what_is_known_of_attributes_and_how_to_send_contexts(server: Running) -> None:
    arms = [{"name": "a"}, {"name": "b"}]
    schema = {"country": "category", "age": "number", "zip": 50}
    server("PUT", "/declared", {"arms": arms, "context": {"attributes": schema}})
    text = html.unescape(get(server.address, "/experiments/declared")[1])
    assert '{"context": {"attributes": {...}}}' in text
    assert all(words in text for words in ("<dt>age</dt><dd>number</dd>", "<dt>zip</dt><dd>at most 50 levels</dd>"))
    server("PUT", "/met", {"arms": arms, "context": {"attributes": True}})
    for country in ("CA", "<b>"):
        server("POST", "/met/decisions", {"context": {"attributes": {"country": country}}})
    assert "<dt>country</dt><dd>CA, &lt;b&gt;</dd>" in get(server.address, "/experiments/met")[1]
    for context, words in (({}, '{"context": {"ARM": [...], ...}}'), ({"shared": True}, '{"context": [...]}')):
        name = "of-arms" if not context else "shared"
        server("PUT", f"/{name}", {"arms": arms, "context": context})
        assert words in html.unescape(get(server.address, f"/experiments/{name}")[1])


@pytest.mark.slow
def test_a_page_is_shown_however_large_the_estimates(server: Running) -> None:
    server("PUT", "/huge", {"arms": [{"name": "a"}, {"name": "b"}], "policy": "ucb"})
    for arm, value in (("a", 1e308), ("b", -1e308), ("b", 3.0)):
        assert server("POST", "/huge/observations", {"arm": arm, "value": value}).status == 201
        assert get(server.address, "/experiments/huge")[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"points": "price 5"}, "two numbers in each line, such as &#39;price 5 25&#39;, got &#39;price 5&#39;"),
        ({"points": "price 5 much"}, "got &#39;price 5 much&#39;"),
        ({"points": "price 5 25\nprice 1 2"}, "points must have different names, got &#39;price&#39; twice"),
        ({"points": "price 25 5"}, "got 25 to 5 for &#39;price&#39;"),
        ({"points": "price 5 nan"}, "got 5 to nan for &#39;price&#39;"),
        ({"points": "price 5 25", "arms": "a"}, "arms must be left out if the decisions are points"),
        ({"points": "price 5 25", "context": "attributes"}, "context must not be given if the decisions are points"),
        ({"arms": "a", "window": "60", "default": "nan"}, "default must be a finite number, got &#39;nan&#39;"),
        ({"arms": "a", "window": "60", "default": "-inf"}, "default must be a finite number, got &#39;-inf&#39;"),
        ({"arms": "\n"}, "arms must be given, or the ranges of points"),
        ({"arms": "a", "goal": "quantile", "quantile": "100"}, "quantile must be between 0 and 100 percent, got 100"),
        ({"arms": "a", "hypothesis": "\a"}, "Expected text without control characters"),
        ({"arms": "a", "context": "both"}, "must be one of none, arms, shared, attributes, got &#39;both&#39;"),
    ],
)
def test_a_form_says_what_is_wrong_with_it(server: Running, form: dict[str, str], words: str) -> None:
    status, page, _ = post(server.address, "/experiments", name="wrong", **form)
    assert (status, words in page) == (422, True), page
    assert html.escape(form.get("points", "")) + "</textarea>" in page
    assert server("GET", "/wrong").status == 404


@pytest.mark.slow
def test_files_are_few_and_cached(server: Running) -> None:
    page = sum(len(get(server.address, f"/static/{file}")[1].encode()) for file in (
        "base.css", "dashboard.css", "dashboard.js", "htmx.min.js"))  # fmt: skip
    assert page < 100_000
    tag = get(server.address, "/static/dashboard.js")[2]["etag"]
    assert call(server.address, "GET", "/static/dashboard.js", **cast(Any, {"If-None-Match": tag})).status == 304
    for path in ("/static/README.md", "/static/..%2Fpages.py"):
        assert get(server.address, path)[0] == 404


@pytest.mark.slow
def test_with_tokens_the_page_asks_for_one(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/log.db")
    session = storage.connect()
    session.migrate()
    secrets = {}
    for role in ("read", "admin"):
        secrets[role], row = new_token(role, role, 0)
        session.put_token(row)
    session.close()
    with running(storage) as server:
        status, _, headers = get(server.address, "/")
        assert (status, headers["location"]) == (303, "/login?to=/")
        assert post(server.address, "/login", token="hb_no_no")[0] == 401
        status, _, elsewhere = post(server.address, "/login", token=secrets["read"], to="//elsewhere.example")
        assert (status, elsewhere["Location"]) == (303, "/")
        cookie = elsewhere["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        reader, admin = (f"hb_token={secrets[role]}" for role in ("read", "admin"))
        assert get(server.address, "/", Cookie=reader)[0] == 200
        assert post(server.address, "/experiments", cookie=reader, name="x", arms="a\nb")[0] == 403
        assert post(server.address, "/experiments", cookie=admin, name="x", arms="a\nb")[0] == 303
        # The interface itself never accepts the cookie, which browsers send automatically.
        assert call(server.address, "GET", "/v1/experiments", Cookie=admin).status == 401


@pytest.mark.slow
def test_what_pages_need_is_imported_before_anyone_visits(tmp_path: Path) -> None:
    prepared.environment.cache_clear()
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")):
        for _ in range(400):
            if prepared.environment.cache_info().currsize:
                break
            time.sleep(0.05)
    assert prepared.environment.cache_info().currsize == 1
