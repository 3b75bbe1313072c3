"""What a manager reads: the state in a few words, the cards, and the page that begins with them."""

import html
import math
import re

import msgspec
import numpy as np
import pytest
from histories import BEGIN, coins, drawn, event, experiment, play, played

from heavybandits.service.dashboard.guards import guarded
from heavybandits.service.dashboard.headline import (
    HeadlineCard,
    amount,
    busy,
    earned,
    earned_by_context,
    in_brief,
    until_verdict,
)
from heavybandits.service.dashboard.intervals import against_control
from heavybandits.service.dashboard.known import Known, known
from heavybandits.service.dashboard.listing import glance, glimpse
from heavybandits.service.dashboard.prepared import prepare_page
from heavybandits.service.dashboard.traffic import DAY_MICROSECONDS, traffic
from heavybandits.service.events import Config
from heavybandits.service.replicas.against_control import Lead
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.replicas.report import PointReport, PointsReport, checked, full_report, taken
from heavybandits.service.replicas.standing import assessed
from heavybandits.service.spec import Arm, ContextRule, Experiment, StopRule


def change(replica: Replica, config: Config) -> None:
    replica.apply(event(replica, "config", None, None, body=msgspec.json.encode(config).decode()))


def brief(found: Known) -> str:
    return in_brief(found.report.experiment, found.standing.evidence, found.standing.lead, found.report.rewards)


def cards(found: Known) -> tuple[HeadlineCard, HeadlineCard, HeadlineCard]:
    view = found.report.experiment
    return (
        earned(view, found.standing, found.goal != "mean", 0.05),
        until_verdict(view, found.standing.evidence, found.traffic),
        busy(found.traffic, found.report.decisions, found.report.rewards),
    )  # fmt: skip


CLEAR, OPEN, EQUAL = {"blue": 0.2, "green": 0.6}, {"blue": 0.3, "green": 0.42}, {"blue": 0.3, "green": 0.3}


def test_the_state_in_a_few_words() -> None:
    spec = experiment("blue", "green")
    replica = played(spec, [])
    assert brief(known(taken(replica))) == "no rewards yet"
    assert brief(known(taken(played(spec, coins(EQUAL, 60))))) == "too early to tell"
    undecided = known(taken(played(spec, coins(OPEN, 200))))
    assert undecided.standing.evidence is not None
    assert undecided.standing.evidence.forecast is not None
    assert brief(undecided).startswith("undecided, about ")
    assert brief(undecided).endswith(" more decisions")
    replica = played(spec, coins(CLEAR, 200))
    assert brief(known(taken(replica))) == "winner green"
    change(replica, Config(finish="blue"))
    assert brief(known(taken(replica))) == "finished with blue"
    close = played(experiment("blue", "green", stop=StopRule(eps=0.9)), coins(EQUAL, 200))
    assert brief(known(taken(close))) == "no difference that matters"
    by_context = Experiment(arms=spec.arms, policy="lin-ucb", context=ContextRule(shared=True))
    view = played(by_context, []).view()
    assert in_brief(view, None, None, 5) == "decides by context"
    lead = Lead("blue", 0.05, 900, 0.1, 0.4, None, (0.0, 3.0))
    assert in_brief(view, None, lead, 5) == "earns more than blue"
    assert in_brief(view, None, lead._replace(low=-0.1), 5) == "decides by context"


def test_a_list_says_what_the_page_says() -> None:
    for shares in (CLEAR, OPEN, EQUAL):
        replica = played(experiment("blue", "green"), coins(shares, 200))
        row, found = glance(glimpse(replica)), known(taken(replica))
        assert (row.evidence, row.leader) == (brief(found), found.standing.leader)
        assert row.is_settled == (shares is CLEAR)
        _, bars = drawn(found)
        assert row.lift == (bars["green"].text if row.leader == "green" else "")


def test_neither_list_nor_page_names_an_arm_that_a_guardrail_has_paused() -> None:
    replica = played(experiment("blue", "green", guardrails=["errors <= +1%"]), coins(CLEAR, 200))
    change(replica, Config(pause="green", why="green breaks the guardrail errors <= +1% against blue."))
    row, found = glance(glimpse(replica)), known(taken(replica))
    assert (row.evidence, row.leader, row.choices) == (brief(found), found.standing.leader, "2 arms")
    assert row.evidence == "nothing to compare"
    assert found.standing.sentences == (
        "Only blue is left: the others are retired, or paused because they broke a guardrail.",
    )
    assert cards(found)[1][:2] == ("Verdict", "none")
    change(replica, Config(resume="green"))
    assert glance(glimpse(replica)).evidence == brief(known(taken(replica))) == "winner green"


def test_a_control_that_is_retired_is_compared_with_no_more() -> None:
    replica = played(experiment("blue", "green", "red"), coins(CLEAR | {"red": 0.1}, 200))
    change(replica, Config(retire="blue"))
    row, found = glance(glimpse(replica)), known(taken(replica))
    assert (row.leader, row.lift, against_control(found)) == ("green", "", None)


def test_what_was_earned_more_is_told_with_its_bounds() -> None:
    found = known(taken(played(experiment("blue", "green"), coins(CLEAR, 200))))
    gain, card = found.standing.gain, cards(found)[0]
    assert gain is not None
    assert card.title == "Earned, compared with blue alone"
    assert card.value == f"{amount(gain.value)} more"
    assert card.kind == "good"
    assert card.note.startswith(f"{amount(gain.low)} to {amount(gain.high)} more, by {gain.n} rewards of other arms.")
    assert "in at most 5% of experiments" in card.note
    replica = played(experiment("blue", "green"), coins(CLEAR, 200))
    assert full_report(*checked(replica))["evidence"]["gain"] == gain._asdict()


def test_what_is_not_sure_is_called_so() -> None:
    card = cards(known(taken(played(experiment("blue", "green"), coins(OPEN, 100)))))[0]
    assert card.value.startswith("perhaps ")
    assert " less to " in card.note
    assert card.kind == "open"


def test_nothing_is_earned_more_before_another_arm_has_rewards() -> None:
    only = cards(known(taken(played(experiment("blue"), coins({"blue": 0.5}, 100)))))[0]
    assert (only.value, only.note) == ("nothing yet", "No other arm has a reward that counts.")


@pytest.mark.parametrize(("sticky", "wait", "conditions"), [(False, 0, 0), (True, 0, 1), (False, 90, 1), (True, 90, 2)])
def test_what_is_taken_for_granted_is_said_above_and_on_the_card(sticky: bool, wait: int, conditions: int) -> None:
    replica = played(experiment("blue", "green", sticky=sticky, floor={"blue": 0.1}), coins(CLEAR, 200))
    decided = event(replica, "decision", "blue", None)
    replica.apply(decided)
    late = event(replica, "reward", "blue", 0.0, BEGIN + 10**9 * wait)
    replica.apply(late._replace(key=decided.key, since=BEGIN))
    found = known(taken(replica))
    said = [text for text in found.standing.sentences if "this holds only if" in text]
    assert len(said) == len(found.standing.provided) == conditions
    condition = ["experiments.", "on the condition above.", "on the conditions above."][conditions]
    assert cards(found)[0].note.endswith(condition)
    assert any("Zeros are reported" in note for note in replica.notes()) == (wait > 0)


def test_a_starved_rival_is_why_no_verdict_is_in_sight() -> None:
    rows = coins(EQUAL, 30)
    found = known(taken(played(experiment("blue", "green"), [*rows, *coins({"green": 0.3}, 1200)])))
    assert "No verdict is in sight." in found.standing.sentences
    card = cards(found)[1]
    assert card.value == "not in sight"
    assert card.note == "blue gets too few decisions to be judged soon; a higher floor would help."


def test_a_worse_arm_has_earned_less_and_a_cheaper_one_costs_less() -> None:
    worse = played(experiment("blue", "green", control="green"), coins(CLEAR, 200))
    card = cards(known(taken(worse)))[0]
    assert card.value.endswith(" less")
    assert card.note.split(",")[0].endswith(" less")
    assert card.kind == "bad"
    rng = np.random.default_rng(0)
    costs = [
        (name, float(rng.exponential(mean))) for _ in range(300) for name, mean in {"old": 9.0, "new": 4.0}.items()
    ]
    found = known(taken(played(experiment("old", "new", minimise=True), costs)))
    card = cards(found)[0]
    assert card.title == "Cost, compared with old alone"
    assert card.value.endswith(" less")
    assert card.kind == "good"
    assert "counting at most" in card.note
    made, bars = drawn(found)
    assert made.ends == ("costs less", "costs more")
    assert bars["new"].verdict == "better"
    assert bars["new"].text.startswith("-")


def test_it_is_refused_where_it_is_unknown() -> None:
    location = experiment("blue", "green", goal="location")
    rng = np.random.default_rng(0)
    normal = [(name, float(rng.normal())) for _ in range(100) for name in ("blue", "green")]
    assert cards(known(taken(played(location, normal))))[0].note == (
        "Arms are not compared by means, and nothing else adds up."
    )
    assert cards(known(taken(played(experiment("blue", "green"), []))))[0].value == "not known"
    unseen = played(experiment("blue", "green"), coins({"green": 0.5}, 100))
    assert cards(known(taken(unseen)))[0].note == "blue has no reward that counts yet."


def test_where_units_keep_their_arm_it_is_said_what_that_takes() -> None:
    for sticky in (False, True):
        replica = played(experiment("blue", "green", sticky=sticky), coins(CLEAR, 200))
        last = known(taken(replica)).standing.sentences[-1]
        assert (last == "Units keep their arm, so this holds only if each of them reports one reward.") == sticky


def test_with_contexts_it_is_told_per_decision() -> None:
    spec = Experiment(arms=[Arm("blue"), Arm("green")], policy="lin-ucb", context=ContextRule(shared=True))
    view, lead = played(spec, []).view(), Lead("blue", 0.05, 900, 0.1, 0.4, None, (0.0, 3.0))
    assert earned_by_context(view, None).value == "not known"
    card = earned_by_context(view, lead)
    assert card.title == "Earned per decision, compared with blue alone"
    assert (card.value, card.kind) == ("at least 0.100 more", "good")
    assert card.note == "By 900 decisions, counting at most 3, at all times."
    refunded = earned_by_context(view, lead._replace(has_one_sign=False))
    assert refunded.note == "By 900 decisions, counting from 0 to 3, at all times."
    open_ = earned_by_context(view, lead._replace(low=-0.1))
    assert (open_.value, open_.kind) == ("0.100 less to 0.400 more", "open")
    costs = msgspec.structs.replace(view, minimise=True)
    assert earned_by_context(costs, lead).kind == "bad"
    assert earned_by_context(costs, lead._replace(low=-0.4, high=-0.1)).value == "at least 0.100 less"
    assert "per decision, compared with blue alone" in prepare_page(taken(played(spec, []))).live


def test_how_long_a_verdict_takes_in_decisions_and_days() -> None:
    replica = played(experiment("blue", "green"), [])
    for number, (arm, value) in enumerate(coins(OPEN, 200)):
        play(replica, arm, value, BEGIN + number * DAY_MICROSECONDS // 100)  # a hundred a day
    found = known(taken(replica))
    assert found.standing.evidence is not None
    forecast = found.standing.evidence.forecast
    assert forecast is not None
    assert found.traffic.per_day == pytest.approx(100, rel=0.05)
    days, card = forecast.decisions / 100, cards(found)[1]
    assert card.title == "Until a verdict"
    said = int(card.note.partition("about ")[2].split()[0])
    assert said == pytest.approx(days if "days" in card.note else 24 * days, rel=0.1, abs=1)
    assert cards(known(taken(played(experiment("blue", "green"), coins(CLEAR, 200)))))[1].value == "green wins"
    assert cards(known(taken(played(experiment("blue", "green"), coins(EQUAL, 60)))))[1].value == "too early to say"
    close = known(taken(played(experiment("blue", "green", stop=StopRule(eps=0.9)), coins(EQUAL, 200))))
    assert cards(close)[1].value == "no difference"
    change(replica, Config(finish="green"))
    assert cards(known(taken(replica)))[1] == HeadlineCard("Verdict", "finished", "All new decisions are for green.")


def test_no_verdict_in_sight_is_said() -> None:
    found = known(taken(played(experiment("blue", "green"), coins(OPEN, 200)))).standing.evidence
    assert found is not None
    assert found.forecast is not None
    found.forecast = found.forecast._replace(decisions=math.inf, low=math.inf, high=math.inf)
    view = played(experiment("blue", "green"), []).view()
    assert in_brief(view, found, None, 5) == "undecided, no verdict in sight"
    assert until_verdict(view, found, traffic(played(experiment("a"), []).totals)).value == "not in sight"


def test_traffic_is_that_of_the_last_day() -> None:
    replica = played(experiment("blue", "green"), [])
    assert cards(known(taken(replica)))[2].value == "none yet"
    play(replica, "blue", 1.0)
    assert cards(known(taken(replica)))[2].value == "1 decision"
    play(replica, "blue", 1.0, BEGIN + DAY_MICROSECONDS // 48)
    assert cards(known(taken(replica)))[2].value == "2 decisions"  # half an hour tells no pace
    for number in range(1000):  # ten times as busy for the last day
        play(replica, "blue", 1.0, BEGIN + (9 * DAY_MICROSECONDS) * min(number, 500) // 500 + (
            DAY_MICROSECONDS * max(number - 500, 0) // 500
        ))  # fmt: skip
    assert traffic(replica.totals).per_day == pytest.approx(500, rel=0.15)
    assert re.fullmatch(r"about \d\d0 decisions a day", cards(known(taken(replica)))[2].value)
    row = glance(glimpse(replica))
    now = replica.totals.last_t + DAY_MICROSECONDS // 24
    assert int(row.last_day(now)) == pytest.approx(479, rel=0.15)
    assert row.last_activity(now) == "60 minutes ago"
    assert row.last_activity(replica.totals.last_t) == "just now"
    assert glance(glimpse(played(experiment("a"), []))).last_activity(now) == "never"


def test_the_page_begins_with_sentence_number_and_picture() -> None:
    replica = played(experiment("blue", "green"), coins(CLEAR, 200))
    live = prepare_page(taken(replica)).live
    order = ["green is the winner", "Finish: give green to everybody", "Earned, compared with blue alone", "Verdict",
             "Lift over blue", "Over time", "Arms in numbers", "Rewards on their way", "What rewards look like",
             "The largest rewards"]  # fmt: skip
    places = [live.index(words) for words in order]
    assert places == sorted(places)
    change(replica, Config(finish="green"))
    live = prepare_page(taken(replica)).live
    assert "Finish: give green" not in live
    assert "for everybody" in live
    assert "First steps" not in live
    assert "First steps" in prepare_page(taken(played(experiment("a", "b"), []))).live


def test_guardrails_are_shown_and_broken_ones_stand_on_top() -> None:
    spec = experiment("old", "new", named_rewards=["quality"], guardrails=["latency <= +20"])
    replica = played(spec, coins({"old": 0.3, "new": 0.3}, 60))
    assert guarded(taken(played(experiment("a", "b"), [])), ["a", "b"]) is None
    rng = np.random.default_rng(0)
    for number in range(600):
        for arm, latency in {"old": 100.0, "new": 180.0}.items():
            value = float(rng.normal(latency, 10.0))
            key = f"k{number}/latency"
            replica.apply(event(replica, "named", arm, value)._replace(key=key))
    found = guarded(taken(replica), ["new", "old"])
    assert found is not None
    assert len(found.broken) == 1
    assert [reward.name for reward in found.rewards] == ["quality", "latency"]
    assert [arm for arm, _ in found.rewards[1].rows] == ["old", "new"]
    live, said = prepare_page(taken(replica)).live, html.escape(found.broken[0])
    assert f'<p class="warning">{said}</p>' in live
    assert "Other rewards and guardrails: 1 broken" in live
    assert live.index(said) < live.index("Earned, compared with")


def test_a_finished_experiment_waits_for_no_verdict() -> None:
    replica = played(experiment("blue", "green"), coins(OPEN, 200))
    assert any("more decisions" in said for said in known(taken(replica)).standing.sentences)
    change(replica, Config(finish="blue"))
    sentences = known(taken(replica)).standing.sentences
    assert sentences[0] == "Finished: all new decisions are for blue."
    assert not any("more decisions" in said for said in sentences)


def test_a_page_of_a_thousand_arms_is_small() -> None:
    names = [f"article number {number}" for number in range(1000)]
    rng = np.random.default_rng(0)
    replica = played(experiment(*names), [(name, float(rng.exponential())) for name in names for _ in range(2)])
    assert len(prepare_page(taken(replica)).live.encode()) < 100_000


def test_points_say_that_it_is_early_until_there_is_an_estimate() -> None:
    replica = played(Experiment(points={"price": [5.0, 25.0]}), [])
    found = taken(replica)
    nothing = PointReport({"price": 15.0}, 1, 0, math.nan, math.nan, math.nan)
    report = known(found).report
    report.points = PointsReport(nothing, [nothing], 1)
    assert assessed(found, report).sentences == ("Too early to tell.", "1 point has been played.")
