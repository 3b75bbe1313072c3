"""``hb.compare``: what it says, and that it says the same of the same rewards."""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import heavybandits as hb

FEW = 30  # examples, each of which compares twice


def samples(seed: int, *factors: float, n: int = 400, law: str = "exponential") -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    draw: Callable[[], Any] = {
        "exponential": lambda: rng.exponential(1.0, n),
        "pareto": lambda: rng.pareto(1.5, n),
        "coins": lambda: 1.0 * (rng.random(n) < 0.3),
        "orders": lambda: (rng.random(n) < 0.3) * rng.lognormal(0.0, 1.0, n),
        "signed": lambda: rng.standard_t(2.0, n) + 0.3,
    }[law]
    return {name: factor * draw() for name, factor in zip("abcdefgh", factors, strict=False)}


laws = st.sampled_from(["exponential", "pareto", "coins", "orders", "signed"])
goals = st.sampled_from(["mean", "location", 0.75])


def same(one: hb.Evidence, other: hb.Evidence, sign: int = 1) -> None:
    assert (one.winner, one.leader) == (other.winner, other.leader)
    mine, theirs = one.table.set_index("arm").sort_index(), other.table.set_index("arm").sort_index()
    for name in ("n", "lift", "evidence", "p"):
        assert mine[name].to_numpy() == pytest.approx(theirs[name].to_numpy(), rel=1e-6, nan_ok=True)
    for name, mirrored in (("estimate", "estimate"), ("low", "high"), ("high", "low")):
        assert mine[name].to_numpy() == pytest.approx(
            sign * theirs[name if sign > 0 else mirrored].to_numpy(), rel=1e-6, abs=1e-12
        )


@settings(max_examples=FEW)
@given(laws, st.integers(0, 99), goals)
def test_the_order_of_arms_does_not_matter(law: str, seed: int, goal: str | float) -> None:
    rewards = samples(seed, 1.0, 1.2, 1.5, law=law)
    same(hb.compare(rewards, goal=goal), hb.compare(dict(reversed(rewards.items())), goal=goal))


@settings(max_examples=FEW)
@given(laws, st.integers(0, 99), goals)
def test_costs_are_negated_rewards(law: str, seed: int, goal: str | float) -> None:
    rewards = samples(seed, 1.0, 1.2, 1.5, law=law)
    costs = {name: -values for name, values in rewards.items()}
    level = goal if isinstance(goal, str) else 1.0 - goal
    one, other = hb.compare(rewards, goal=goal, control="a"), hb.compare(costs, goal=level, control="a", minimise=True)
    same(one, other, -1)


@settings(max_examples=FEW)
@given(st.sampled_from(["exponential", "pareto", "signed"]), st.integers(0, 99), goals, st.integers(-12, 12))
def test_units_do_not_matter(law: str, seed: int, goal: str | float, power: int) -> None:
    unit, rewards = 10.0**power, samples(seed, 1.0, 1.3, law=law)
    scaled = {name: unit * values for name, values in rewards.items()}
    one, other = hb.compare(rewards, goal=goal), hb.compare(scaled, goal=goal)
    assert (one.winner, one.leader) == (other.winner, other.leader)
    if goal == "mean":
        assert one.table["evidence"].to_numpy() == pytest.approx(other.table["evidence"].to_numpy(), rel=1e-5)
        assert unit * one.table["low"].to_numpy() == pytest.approx(other.table["low"].to_numpy(), rel=1e-5)


@settings(max_examples=FEW)
@given(laws, st.integers(0, 99))
def test_after_the_first_rewards_order_does_not_matter(law: str, seed: int) -> None:
    rewards = samples(seed, 1.0, 1.4, law=law)
    rng = np.random.default_rng(seed)
    shuffled = {name: np.concatenate([x[:150], rng.permutation(x[150:])]) for name, x in rewards.items()}
    same(hb.compare(rewards), hb.compare(shuffled))


def test_a_table_a_file_and_arms_by_name_agree(tmp_path: Path) -> None:
    rewards = samples(1, 1.0, 1.5)
    rows = pd.DataFrame(rewards).melt(var_name="arm", value_name="reward", ignore_index=False)
    table = rows.sort_index(kind="stable").reset_index(names="time")
    table.to_csv(tmp_path / "log.csv", index=False, float_format="%.17g")
    found = [hb.compare(rewards), hb.compare(table), hb.compare(tmp_path / "log.csv"), hb.compare(table[::-1])]
    found.append(hb.compare(table.rename(columns={"arm": "x", "reward": "y"}), arm_column="x", reward_column="y"))
    for other in found[1:]:
        assert_frame_equal(found[0].table, other.table)


def test_tables_of_other_libraries_are_read() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"arm": ["a", "b"] * 50, "reward": [0.0, 1.0] * 50})
    assert hb.compare(table, cap=1.0).winner == "b"


def test_the_table_says_how_sure_each_arm_is() -> None:
    found = hb.compare(samples(2, 1.0, 1.1, 2.0, n=1000), control="a")
    assert list(found.table.columns) == [
        "arm", "n", "estimate", "low", "high", "lift", "lift_low", "lift_high", "evidence", "p",
        "difference", "difference_low", "difference_high", "uncapped",
    ]  # fmt: skip
    rows = found.table.set_index("arm")
    assert found.table["arm"].tolist()[0] == found.winner == "c"
    assert (rows["low"] < rows["estimate"]).all()
    assert (rows["estimate"] < rows["high"]).all()
    assert rows["n"].tolist() == [1000] * 3
    assert rows.loc["a", ["lift", "lift_low", "lift_high"]].tolist() == [0.0, 0.0, 0.0]
    assert 0.5 < rows.loc["c", "lift_low"] < rows.loc["c", "lift"] < rows.loc["c", "lift_high"]
    assert rows["p"].to_numpy() == pytest.approx(np.minimum(1.0, 1.0 / rows["evidence"].to_numpy()))
    assert rows.loc["c", "evidence"] == min(rows.loc[["a", "b"], "evidence"])


@pytest.mark.parametrize(
    "rewards",
    [
        {"a": [0.0] * 99, "b": [0.0] * 99}, {"a": [7.0] * 99, "b": [7.0] * 99}, {"a": [7.0] * 99, "b": [9.0] * 99},
        {"a": [1e308, -1e308] * 50, "b": [1e307] * 50}, {"a": [math.inf] * 50, "b": [-math.inf] * 50},
        {"a": [5e-324] * 50, "b": [1e-323] * 50}, {"a": [1e16] * 50, "b": [1e16 + 2.0] * 50}, {"a": [], "b": [1.0]},
        {"a": [1.0, 2.0] * 50, "b": []}, {"a": [1.0, 2.0] * 50}, {"a": [1.0] * 50 + [1e308], "b": [1.0] * 51},
        {"a": [math.inf, 1.0] * 50, "b": [1.0, 2.0] * 50}, {"a": [0.0] * 99 + [1.0], "b": [-1e-300] * 9},
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", [{}, {"goal": "location"}, {"goal": 0.9}, {"cap": 10.0}, {"minimise": True}])
def test_odd_rewards_give_numbers_and_no_errors(rewards: dict[str, list[float]], how: dict[str, Any]) -> None:
    found = hb.compare(rewards, control="a", eps=0.1, **how)
    assert str(found)
    assert "nan" not in str(found).lower()
    assert not found.table[["n", "evidence", "p"]].isna().to_numpy().any()
    assert found.table["p"].between(0.0, 1.0).all()
    if any(rewards.values()) and rewards.get("a") == rewards.get("b"):
        assert found.winner is None


def said(*arguments: Any, **options: Any) -> str:
    return " ".join(hb.compare(*arguments, **options).sentences)


def stretched(values: list[float], times: int) -> list[float]:
    return [value for value in values for _ in range(times)]


def test_sentence_while_rewards_are_sized_up() -> None:
    rewards = {"blue": [0.0, 3.0] * 8, "green": [0.0, 5.0] * 9}
    assert said(rewards) == (
        "Too early: 17 of the first 24 rewards that are not zero are in; they decide up to which amount rewards are "
        "counted."
    )
    assert said(rewards, minimise=True).startswith("Too early: 17 of the first 24 costs that are not zero are in")
    few = {"blue": [1.0] * 10, "green": [0.0] * 7}
    assert said(few, goal="location") == (
        "Too early: 17 of the first 24 rewards are in; they decide how finely rewards are counted."
    )


def test_sentence_when_chance_explains_the_lead() -> None:
    assert said({"blue": [1.0, 2.0] * 30, "green": [1.0, 2.05] * 30}, cap=150.0) == (
        "Too early to tell. green leads blue, 1.52 against 1.5, but such a lead may well be chance."
    )
    rewards = samples(9, 0.2, 1.0, 1.01, n=1500)
    assert " against 0.777, counting at most 1.5 per decision, but such a lead may well be chance." in said(rewards)


def test_sentence_about_a_lead_and_how_long_it_takes() -> None:
    text = said(samples(4, 1.0, 1.25))
    assert "b leads a, " in text
    assert " per decision. Evidence " in text
    assert "; a verdict needs 50 : 1. If things go on like this, it takes about " in text
    assert " more decisions (" in text


def test_sentence_about_a_winner() -> None:
    rewards = samples(5, 1.0, 1.6, n=2000)
    text = said(rewards, control="a")
    assert text.startswith(
        "b is the winner: counting at most 45 per decision, it earns more than the other arm, and at"
    )
    assert "% more than a. However often you look and however arms are chosen, such a verdict is wrong in at" in text
    assert text.endswith("at most 5% of experiments. If larger amounts count, there is no verdict yet.")
    costs = said(rewards, control="b", minimise=True, delta=0.01)
    assert costs.startswith("a is the winner: counting at most 45 per decision, it costs less than the other arm, and")
    assert "% less than b. " in costs
    assert "in at most 1% of experiments" in costs


def test_sentence_about_coins_names_no_cap() -> None:
    text = said({"blue": stretched([1.0, 0.0, 0.0], 200), "green": stretched([1.0, 1.0, 0.0], 200)}, cap=1.0)
    assert text.startswith("green is the winner: it earns more than the other arm. However")
    assert text.endswith("experiments.")
    assert "counting" not in said({"blue": [0.0, 0.0, 1.0] * 200, "green": [0.0, 1.0, 1.0] * 200})


def test_coins_are_said_to_be_taken_for_granted_unless_the_cap_is_stated() -> None:
    coins = {"blue": [0.0, 0.0, 1.0] * 200, "green": [0.0, 1.0, 1.0] * 200}
    taken = "Every reward so far was 0 or 1; all of this takes for granted that no other comes."
    assert taken in str(hb.compare(coins))
    assert taken not in str(hb.compare(coins, cap=1.0))
    later = hb.compare(coins | {"green": [*coins["green"], 5.0]})
    assert "counting at most " in later.sentences[0]
    assert taken not in str(later)


def test_an_export_whose_units_keep_their_arm_says_what_that_takes() -> None:
    paid = pd.DataFrame({"kind": "observe", "id": "o", "arm": ["a", "b"] * 50, "value": [0.0, 1.0] * 50, "p": None})
    for sticky in (False, True):
        created = {"kind": "config", "config": {"create": {"arms": [], "sticky": sticky}}}
        last = hb.compare(pd.concat([pd.DataFrame([created]), paid])).sentences[-1]
        assert last.startswith("Units keep their arm, so this holds only if") == sticky


def test_rewards_that_varied_at_first_are_no_coins() -> None:
    varied = {"a": [1.0, 2.0, 3.0, 4.0] * 3 + [0.0] * 50, "b": [1.0, 2.0, 3.0, 4.0] * 3 + [0.0] * 40 + [5.0] * 10}
    assert "counting at most 5 per decision" in said(varied)


@pytest.mark.parametrize("how", [{}, {"cap": 100.0}])
def test_sentence_about_refunds_says_that_they_count_as_zero(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    sales = {name: (rng.random(4000) < 0.3) * rng.lognormal(3.0, 0.8, 4000) for name in ("blue", "green")}
    refunded = np.where((np.arange(4000) > 100) & (rng.random(4000) < 0.1), -60.0, 1.5 * sales["green"])
    found = hb.compare(sales | {"green": refunded}, **how)
    assert "counting from 0 to " in found.sentences[0]
    assert found.sentences[-1].startswith("Without limits, blue has ")
    assert found.sentences[-1].endswith("Counting everything, blue may be better.")
    assert "of the total lies beyond" not in str(found)
    costs = hb.compare({name: -values for name, values in (sales | {"green": refunded}).items()}, minimise=True)
    assert "counting from -" in costs.sentences[0]


def test_sentence_about_a_lift_never_rounds_it_up() -> None:
    for seed in range(20):
        means = (1.0, 1.5) if seed % 2 else (1.0, 1.1, 1.0, 1.9)
        found = hb.compare(samples(seed, *means, n=2000), control="a")
        least = found.table.loc[0, "lift_low"]
        text = found.sentences[0].partition("at least ")[2]
        assert (text == "") == (least < 0.01)
        assert not text or 0 <= 100.0 * least - float(text.partition("%")[0]) < 1.0
        assert not text or f" (+{text.partition('%')[0]}% " in str(found)  # the table says the same


@pytest.mark.slow
def test_equal_arms_within_a_segment_have_a_winner_as_rarely_as_promised() -> None:
    """Rewards are heavy, arms differ elsewhere, and they are chosen by the mean of everything so far."""
    wrong, right = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        columns: dict[str, list[Any]] = {"arm": [], "reward": [], "country": []}
        sums, counts, is_wrong = np.zeros(2), np.zeros(2), False
        for t in range(600):
            chosen = int(np.argmax(sums / np.maximum(counts, 1.0))) if t > 20 and rng.random() < 0.9 else t % 2
            country = ("CA", "US")[int(rng.random() < 0.5)]
            reward = float(rng.pareto(1.5)) + (1.0 if country == "US" and chosen else 0.0)
            sums[chosen] += reward
            counts[chosen] += 1.0
            for name, value in zip(columns, ("ab"[chosen], reward, country), strict=True):
                columns[name].append(value)
            if t % 30 == 29:
                log = pd.DataFrame(columns)
                is_wrong = is_wrong or hb.compare(log[log["country"] == "CA"]).winner is not None
        wrong += is_wrong
        right += hb.compare(log[log["country"] == "US"]).winner == "b"
    assert wrong <= 3
    assert right > 5


def test_sentence_about_limits_of_both_signs() -> None:
    assert "counting from -8 to 10 per decision" in said(samples(6, 1.0, 1.0, law="signed"), cap=(-8.0, 10.0))
    assert "counting at least -2 per decision" in said(
        {"a": [-1.0, -3.0] * 50, "b": [-1.0, -2.9] * 50}, cap=(-2.0, 0.0)
    )


def test_sentence_about_medians() -> None:
    rewards = {name: values + (name == "b") for name, values in samples(7, 1.0, 1.0, 1.0, law="signed").items()}
    assert said(rewards, goal="location").startswith("b is the winner: its median is above that of every other arm.")
    assert said(rewards, goal=0.9).startswith("b ")
    negated = {name: -values for name, values in rewards.items()}
    assert said(negated, goal="location", minimise=True).startswith("b is the winner: its median is below that of")
    assert "(the 90% quantiles)" in said(samples(8, 1.0, 1.0, law="signed"), goal=0.9)


def test_rounding_errors_are_no_share_beyond_the_cap() -> None:
    rng = np.random.default_rng(5)
    found = hb.compare({"a": rng.exponential(1.0, 3000), "b": np.where(np.arange(3000) % 1000 == 999, 1200.0, 0.8)})
    assert found.sentences[-1] == "59% of what b earned lies above 13.5, of a 0%. Counting everything, b may be better."
    for _ in range(4):
        values = rng.exponential(1.0, 3000)
        assert "\n0% of the total lies beyond " in str(hb.compare({"a": values, "b": 2.0 * values}))


def test_sentence_when_it_hardly_matters() -> None:
    rewards = {"a": [0.0, 1.0] * 2000, "b": [0.0, 1.0] * 2000}
    assert said(rewards, cap=1.0, eps=0.05) == (
        "It hardly matters: no arm is better than a by more than 0.05 (wrong in at most 5% of experiments)."
    )
    assert "no arm is better than a, by its median, by more than 2 (" in said(rewards, goal="location", eps=2.0)


def test_sentence_about_arms_that_are_out() -> None:
    text = said(samples(9, 0.2, 0.2, 1.0, 1.01, n=1500))
    assert "a and b are out: c is shown to be better." in text
    assert "a is out: b is shown to be better." in said(samples(9, 0.2, 1.0, 1.01, n=1500))


def test_sentence_about_a_starved_arm() -> None:
    rng = np.random.default_rng(10)
    text = said({"a": rng.exponential(1.0, 30), "b": rng.exponential(1.1, 5000)}, cap=20.0)
    assert "No verdict is in sight. a gets 0.6% of decisions: this experiment earns rather than learns. " in text
    assert text.endswith("A higher floor would tell sooner.")


def test_many_arms_with_equal_shares_are_not_starved() -> None:
    rng = np.random.default_rng(10)
    assert "earns rather than learns" not in said({f"arm {i}": rng.exponential(1.0, 60) for i in range(30)})


def test_sentence_that_warns_of_tails() -> None:
    rng = np.random.default_rng(11)
    jackpot = np.where(np.arange(4000) % 100 == 99, 100.0, 0.5)
    rewards = {"blue": jackpot, "green": rng.exponential(1.0, 4000)}
    found = hb.compare(rewards, cap=3.0)
    assert found.leader == "green"
    assert found.warns
    assert (
        found.sentences[-1]
        == ("66% of what blue earned lies above 3, of green 5%. Counting everything, blue may be better.")
        or "of what blue earned lies above 3, of green" in found.sentences[-1]
    )
    assert not hb.compare({"blue": jackpot, "green": jackpot}, cap=3.0).warns
    both = hb.compare({"blue": jackpot - 1.0, "green": rewards["green"] - 1.0}, cap=(-2.0, 2.0))
    assert both.sentences[-1].startswith("Without limits, blue has 0.49")


def test_sentences_for_nothing_to_compare() -> None:
    alone = hb.compare({"a": [1.0, 2.0] * 50})
    assert alone.sentences == ("There is one arm only, so there is nothing to compare.",)
    assert alone.table[["evidence", "p"]].to_numpy().tolist() == [[1.0, 1.0]]
    assert said({"a": [], "b": []}, cap=1.0) == "Too early: no reward counts yet."
    assert said({"a": [], "b": [1.0, 0.5]}, cap=1.0) == "Too early to tell: a has no reward that counts."


def test_it_prints_a_table_and_shows_itself_in_a_notebook() -> None:
    found = hb.compare(samples(12, 1.0, 1.5) | {"<b>": np.ones(400)}, control="a")
    assert "arm" in str(found)
    assert "The first 24 rewards decided how far rewards count" in str(found)
    assert "<td" in found._repr_html_()
    assert "<b></td>" not in found._repr_html_()
    assert "&lt;b&gt;" in found._repr_html_()
    assert repr(found).startswith("Evidence(winner=")


def test_long_tables_are_cut_in_print_only() -> None:
    found = hb.compare({f"arm {i}": [float(i), i + 2.0] * 20 for i in range(30)})
    assert len(found.table) == 30
    assert "The table shows 20 of 30 arms." in str(found)


def test_it_draws_intervals(tmp_path: Path) -> None:
    found = hb.compare(samples(13, 1.0, 1.5, n=2000))
    figure = found.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["b", "a"]
    assert "counting at most" in figure.axes[0].get_xlabel()
    assert figure._repr_png_()[:4] == b"\x89PNG"
    assert hb.compare({"a": [0.0], "b": [1.0]}).plot().axes


def test_rewards_that_decided_are_counted_as_left_out() -> None:
    found = hb.compare({"a": [0.0, 1.0, 2.0] * 50, "b": [1.0, 2.0, 3.0] * 50})
    assert found.left_out == 29  # the 24th that is not zero is the fifteenth of a
    assert hb.compare({"a": [0.5] * 9, "b": [0.6] * 9}, cap=1.0).left_out == 0
    assert found.cap is not None


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"goal": "median"}, "compare: goal must be 'mean', 'location' or a number between 0 and 1, got 'median'"),
        ({"goal": 1.0}, r"compare: goal must be a number in \(0, 1\), got 1.0"),
        ({"cap": -1.0}, "compare: cap must be a positive finite number, got -1.0"),
        ({"cap": (2.0, 1.0)}, r"compare: cap must be two numbers, the first below the second, got \(2.0, 1.0\)"),
        ({"cap": (1.0, 2.0, 3.0)}, "compare: cap must be a number, or two numbers"),
        ({"cap": 1.0, "goal": "location"}, "compare: cap must be None unless the goal is 'mean', got 1.0"),
        ({"control": "c"}, "compare: unknown control 'c'; known: a, b"),
        ({"delta": 0.0}, r"compare: delta must be a number in \(0, 1\), got 0.0"),
        ({"eps": 0.0}, "compare: eps must be a positive finite number, got 0.0"),
    ],
)
def test_bad_arguments_are_named(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hb.compare({"a": [1.0], "b": [2.0]}, **how)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ({}, "compare: rewards must have at least one arm"),
        ({"a": [1.0, math.nan]}, "compare: rewards of 'a' must be numbers, got NaN at position 1"),
        ({"a": [1.0], "b": "x"}, "compare: rewards of 'b' must be a list of numbers, got 'x'"),
        ({1: [1.0], "1": [1.0]}, "compare: rewards must have at least one arm, and each arm once"),
        (io.StringIO("arm,reward\na,1\nb,x\n"), "text: line 3 has no usable reward, got 'x'"),
        (3, "compare: source must be a file, its path, or a table, got 3"),
    ],
)
def test_bad_rewards_are_named(rewards: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        hb.compare(rewards)


def test_equal_estimates_are_no_lead() -> None:
    assert hb.compare({"a": np.ones(60), "b": np.ones(60)}).sentences[0] == (
        "Too early to tell: a and b tie, both with 1."
    )
