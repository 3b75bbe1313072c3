"""What the page says in words: rules, changes, policies, notes and tails."""

import math
from typing import Any

import msgspec
import pytest
from histories import experiment, played

from heavybandits.diagnosis.tails import Estimate
from heavybandits.service.dashboard.panels import _in_words
from heavybandits.service.dashboard.wording import change_in_words, rules
from heavybandits.service.events import Config
from heavybandits.service.forms import Change
from heavybandits.service.spec import Arm, ContextRule, Experiment, QuantileGoal, RewardRule, StopRule


@pytest.mark.parametrize(("config", "words"), [
    (Config(create=Experiment(arms=[Arm("a"), Arm("b")])), "Created with a and b."),
    (Config(state="paused"), "Paused: decisions are for the control."),
    (Config(state="running"), "Resumed."),
    (Config(finish="b"), "Finished: all new decisions are for b."),
    (Config(finish="a", why="the budget of 5 decisions was used up without a winner"),
     "Finished: all new decisions are for a. The budget of 5 decisions was used up without a winner."),
    (Config(control="b"), "b became the control."), (Config(add="c"), "c was added."),
    (Config(pause="a"), "a was paused."), (Config(resume="a"), "a was resumed."),
    (Config(retire="a"), "a was retired for good."),
])  # fmt: skip
def test_changes_in_words(config: Config, words: str) -> None:
    config.by = "ops"
    said = change_in_words(Change(1, "2026-01-02T03:04:05.000006Z", msgspec.Raw(msgspec.json.encode(config))))
    assert said.what == words
    assert (said.time, said.by) == ("2026-01-02 03:04:05", "by itself" if config.why else "token ops")


def test_rules_in_words() -> None:
    plain = " ".join(rules(experiment("a", "b"), "a"))
    assert "It looks for the arm with the highest mean." in plain
    assert "A decision waits for its reward as long as it takes." in plain
    assert "It goes on until somebody finishes it." in plain
    spec = experiment(
        "a", "b", minimise=True, sticky=True, floor={"a": 0.1, "b": 0.05}, reward=RewardRule(3600, 0.0, "sum"),
        stop=StopRule(then="winner", eps=0.5, budget=1000),
    )  # fmt: skip
    said = rules(spec, "b")
    assert said[0] == "It looks for the arm with the lowest mean."
    assert said[2].startswith("b is the control")
    assert said[3:] == [
        "Whatever the policy prefers, so many decisions at least: 10% for a, 5% for b.",
        "Whoever comes again gets the same arm again.",
        "A decision waits 60 minutes for its reward; if none comes, it counts as 0. Its rewards until then add up.",
        "It finishes by itself once an arm is shown to be better than every other one (wrong in at most 5% of "
        "experiments), or once no arm is better than the leader by more than 0.500, or after 1,000 decisions.",
    ]
    at_once = rules(experiment("a", "b", reward=RewardRule(60, 0.0, provisional=True)), "a")
    assert "A decision counts as 0 at once, and as its reward if that comes within 1 minute." in at_once
    assert "at least 10% of decisions are for each of a and b" in (
        rules(experiment("a", "b", floor={"a": 0.1, "b": 0.1}), "a")[3].lower()
    )
    shared = experiment("a", "b", context=ContextRule(shared=True))
    assert rules(msgspec.structs.replace(shared, policy="lin-ucb"), "a")[0].endswith("given features that arms share.")
    named = experiment("a", "b", context=ContextRule(attributes=True))
    named.policy = None
    assert rules(named, "a")[0].endswith(", given attributes of the visitor.")


@pytest.mark.parametrize(("fields", "policy"), [
    ({"goal": QuantileGoal(0.9)}, "order-statistic-ucb decides. A policy whose index is an order statistic"),
    ({"context": ContextRule(attributes=True)}, "linear-auto-mean decides. For mean rewards that are linear"),
    ({"policy": "sgd-ucb-median"}, "sgd-ucb-median decides. "), ({"drift": True}, "auto-mean decides. Mean UCB"),
])  # fmt: skip
def test_policies_have_the_names_by_which_they_are_asked_for(fields: dict[str, Any], policy: str) -> None:
    said = rules(Experiment(arms=[Arm("a"), Arm("b")], **fields), "a")[1]
    assert said.startswith(f"The policy {policy}")
    assert "partial" not in said


def test_notes_are_sentences() -> None:
    replica = played(experiment("a", "b", drift=True), [])
    notes = replica.view().notes
    assert notes
    assert all(note[0].isupper() and note.endswith(".") for note in notes)


def test_a_tail_that_is_not_seen_is_called_so() -> None:
    assert _in_words(Estimate(math.inf, math.inf, math.inf)) == "none seen"
    assert _in_words(Estimate(1.5, 1.3, math.inf)) == "1.5 (1.3 to inf)"
