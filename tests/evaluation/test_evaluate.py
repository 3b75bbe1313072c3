"""What targets would have earned: values, refusals, sources, replays and the choice among several."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import heavybandits as hb
from heavybandits import cli
from heavybandits.evaluation import Candidates, Value
from heavybandits.evaluation.decisions import read_decisions
from heavybandits.evaluation.replay import accepted

RATES = {"blue": 0.1, "green": 0.2, "red": 0.15}


def coins(n: int = 6000, seed: int = 0, p: tuple[float, ...] = (0.5, 0.2, 0.3)) -> dict[str, Any]:
    """Return a log of three arms that pay 0 or 1."""
    rng = np.random.default_rng(seed)
    names, chances = np.array(list(RATES)), np.array(p)
    arms = rng.choice(3, n, p=chances)
    paid = rng.random(n) < np.array(list(RATES.values()))[arms]
    return {"arm": names[arms], "reward": paid.astype(float), "p": chances[arms], "age": rng.integers(18, 80, n)}


def one(log: Any, **target: Any) -> Value:
    found = hb.evaluate(log, **target)
    assert isinstance(found, Value)
    return found


def test_an_arm_is_worth_what_it_pays() -> None:
    log = coins()
    value = one(log, arm="green")
    mine = log["arm"] == "green"
    assert value.estimate == pytest.approx(log["reward"][mine].mean())
    assert value.low < 0.2 < value.high
    assert value.high - value.low < 0.09
    assert value.effective == pytest.approx(mine.sum())
    assert (value.used, value.decisions, value.covered, value.cap) == (mine.sum(), 6000, 1.0, None)
    assert value.logged == pytest.approx(log["reward"].mean())
    assert value.lead is not None
    assert value.lead.low > 0.0
    assert "green earns more than the log: by" in str(value)
    assert value.table["what"].tolist() == ["green", "as logged", "difference"]
    assert "<table>" in value._repr_html_()


def test_coins_are_taken_for_coins_aloud() -> None:
    said = "The interval takes rewards to be 0 or 1, as all of this log are; state cap if they can be more."
    assert said in str(one(coins(), arm="green"))
    assert "takes rewards to be" not in str(one(coins(), arm="green", cap=1))


def test_a_function_chooses_by_what_is_known() -> None:
    log = coins()
    value = one(log, by=lambda known: "green" if known["age"] < 50 else {"blue": 0.25, "red": 0.75})
    share = np.mean(log["age"] < 50)
    truth = share * 0.2 + (1 - share) * (0.25 * 0.1 + 0.75 * 0.15)
    assert value.low < truth < value.high
    assert value.estimate == pytest.approx(truth, abs=0.02)
    young = (log["age"] < 50).astype(float)
    chances = np.select([log["arm"] == "green", log["arm"] == "blue"], [young, 0.25 * (1 - young)], 0.75 * (1 - young))
    assert one(log, by=lambda known: "green" if known["age"] < 50 else {"blue": 0.25, "red": 0.75},
               method="ips").estimate == pytest.approx(np.mean(chances / log["p"] * log["reward"]))  # fmt: skip


@pytest.mark.parametrize("method", ["snips", "ips", "clipped", "shrunk", "dr", "log-smoothing", "median-of-means"])
def test_methods_agree_on_light_tails(method: str) -> None:
    value = one(coins(), arm="green", method=method)
    assert value.estimate == pytest.approx(0.2, abs=0.05)
    assert (value.low, value.high) == (one(coins(), arm="green").low, one(coins(), arm="green").high)


def test_heavy_rewards_have_an_upper_bound_only_up_to_a_cap() -> None:
    rng = np.random.default_rng(3)
    log = coins() | {"reward": rng.pareto(1.5, 6000)}
    value = one(log, arm="red")
    assert 1.0 < value.low < 2.0
    assert value.high == math.inf
    assert "There is no upper bound without a limit on rewards" in str(value)
    capped = one(log, arm="red", cap=10.0)
    truth = 2.0 * (1.0 - 11.0**-0.5)  # of min(X, 10)
    assert capped.low < truth < capped.high < 1.3 * truth
    assert capped.cap == (0.0, 10.0)
    assert str(capped).startswith("Counting at most 10 per decision, red earns")


def test_rewards_of_both_signs_need_the_least_reward() -> None:
    rng = np.random.default_rng(3)
    log = coins() | {"reward": rng.uniform(-1.0, 1.0, 6000)}
    assert one(log, arm="red").low == -math.inf
    assert "needs the least that a reward can be" in str(one(log, arm="red"))
    stated = one(log, arm="red", cap=(-1.0, 1.0))
    assert -0.2 < stated.low < 0.0 < stated.high < 0.2


def test_sentences_say_that_negative_rewards_count_as_zero() -> None:
    rng = np.random.default_rng(3)
    log = coins() | {"reward": rng.uniform(-1.0, 1.0, 6000)}
    assert str(one(log, arm="red", cap=1.0)).startswith("Counting rewards from 0 to 1, red earns")
    assert one(log, policy="auto-mean", floor=0.1, cap=1.0).sentences[0].startswith("Counting rewards from 0 to 1, ")
    late = log | {"reward": np.where(np.arange(6000) < 100, np.abs(log["reward"]), log["reward"])}
    assert "Counting rewards from 0 to 1, " in str(one(late, arm="red"))  # the first rewards decided
    found = hb.evaluate(log, arm=["blue", "red"], cap=1.0)
    assert all("ounting rewards from 0 to 1, " in line for line in found.sentences if "ounting" in line)


def test_numbers_that_are_too_large_to_add_up_are_refused() -> None:
    log = coins()
    huge = log | {"reward": np.where(np.arange(6000) == 7, 1e308, 1.0)}
    with pytest.raises(ValueError, match=r"no reward, divided by its p, must exceed 1e\+145 in size, got"):
        one(huge, arm="red")
    assert math.isfinite(one(huge, arm="red", cap=2.0).high)
    rare = log | {"p": np.where(np.arange(6000) == 7, 1e-300, log["p"])}
    assert math.isfinite(one(rare | {"reward": 0.0 * log["reward"]}, arm="red").estimate)


def test_shifted_rewards_shift_everything() -> None:
    log = coins()
    base = one(log, arm="red", cap=(0.0, 1.0))
    moved = one(log | {"reward": log["reward"] + 5.0}, arm="red", cap=(5.0, 6.0))
    for name in ("estimate", "low", "high"):
        assert getattr(moved, name) == pytest.approx(5.0 + getattr(base, name))


def test_the_best_of_several_arms() -> None:
    found = hb.evaluate(coins(20_000), arm=["blue", "green", "red"])
    assert isinstance(found, Candidates)
    assert found.winner == "green"
    assert [value.target for value in found.values] == ["green", "red", "blue"]
    assert found.leads["red"].low < 0.05 < found.leads["red"].high
    assert found.leads["blue"].low < 0.1 < found.leads["blue"].high
    assert str(found).startswith("green is the winner: ")
    few = hb.evaluate(coins(100), arm=["blue", "green", "red"])
    assert isinstance(few, Candidates)
    assert few.winner is None
    assert "is open" in few._repr_html_()


def test_wrong_winners_are_rare() -> None:
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(60):
        log = coins(1000) | {"reward": rng.exponential(size=1000)}
        found = hb.evaluate(log, arm=["blue", "green", "red"], cap=3.0, delta=0.2)
        assert isinstance(found, Candidates)
        wrong += found.winner is not None
    assert wrong <= 12


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"arm": "purple"}, "unknown arm 'purple'; known: "),
    ({}, {}, "give one of arm, by and policy"),
    ({}, {"arm": "red", "by": str}, "give one of arm, by and policy"),
    ({"p": np.ones(6000)}, {"arm": "red"}, "p is 1 everywhere, so the log shows nothing about other choices"),
    (
        {"p": np.full(6000, 1.5)},
        {"arm": "red"},
        "p must be above 0 and at most 1, got 1.5, 1.5, 1.5, 1.5, 1.5 in 6,000",
    ),
    ({"p": np.zeros(6000)}, {"arm": "red"}, "p must be above 0 and at most 1, got 0, 0"),
    ({"p": np.full(6000, math.nan)}, {"arm": "red"}, "row 0 has no usable p, got nan"),
    ({"reward": np.full(6000, math.nan)}, {"arm": "red"}, "must have at least one decision with a reward, got none"),
    ({"reward": np.full(6000, math.inf)}, {"arm": "red"}, "row 0 has no usable reward, got inf"),
    ({}, {"by": lambda known: "purple"}, "makes 1 of its decisions for an arm that the log never chooses"),
    ({}, {"by": lambda known: {"red": 0.7}}, "probabilities of arms that add up to 1, got {'red': 0.7}"),
    ({}, {"arm": "red", "method": "dm"}, "unknown method 'dm'"),
    ({}, {"arm": "red", "floor": 0.3}, "p must be at least the floor 0.3, got 0.2"),
    ({}, {"arm": ["red", "red"]}, "evaluate: arm must have each arm once, got "),
    ({}, {"arm": "red", "cap": (2.0, 1.0)}, "cap must be two numbers, the first below the second"),
    ({}, {"arm": "red", "p_column": "q"}, "columns must be arm, reward, q, got arm, reward, p, age; without the prob"),
    ({}, {"policy": "uuucb"}, "unknown policy 'uuucb'"),
]


@pytest.mark.parametrize(("change", "target", "message"), REFUSED)
def test_refusals_are_one_sentence(change: dict[str, Any], target: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        hb.evaluate(coins() | change, **target)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_the_log_was_certain_it_says_nothing_about_other_arms() -> None:
    log = coins()
    log["p"][:1500], log["arm"][:1500] = 1.0, "blue"
    with pytest.raises(ValueError, match=r"red makes 0\.25 of its decisions for an arm that the log never chooses"):
        hb.evaluate(log, arm="red")
    assert one(log, arm="blue").covered == 1.0


def test_wrong_propensities_are_noticed() -> None:
    log = coins()
    assert "where 1 is expected" in str(one(log | {"p": log["p"] / 2}, arm="red"))
    assert "where 1 is expected" not in str(one(log, arm="red"))


def test_bounds_that_contradict_each_other_refute_p() -> None:
    log = {"arm": ["a"] * 1600 + ["b"] * 400, "reward": np.linspace(0.4, 0.6, 2000), "p": [0.5] * 2000}
    value = one(log, arm="a", cap=1)
    assert value.low > value.high
    assert "Counting at most 1 per decision, the bounds contradict each other (at least " in str(value)
    assert "the bounds of the difference between a and the log contradict each other (at least " in str(value)
    both = hb.evaluate(log, arm=["a", "b"], cap=1)
    assert isinstance(both, Candidates)
    assert both.winner is None


@pytest.mark.parametrize(("rows", "doubted"), [(1, False), (20, False), (2000, True)])
def test_few_weights_that_are_alike_prove_nothing(rows: int, doubted: bool) -> None:
    """An arm with p = 0.95 is often the only one in a short log, but not in a long one."""
    said = str(one({"arm": ["red"] * rows, "p": [0.95] * rows, "reward": [1.0] * rows}, arm="red"))
    assert ("where 1 is expected" in said) == doubted
    assert ("the largest term makes up" in said) == (rows == 1)


def test_changing_probabilities_need_a_floor_for_narrow_intervals() -> None:
    rng = np.random.default_rng(0)
    p = np.where(rng.random(8000) < 0.5, 0.1, 0.6)
    first = rng.random(8000) < p
    log = {"arm": np.where(first, "a", "b"), "p": np.where(first, p, 1 - p), "reward": rng.uniform(0.8, 1.0, 8000)}
    loose, tight = one(log, arm="a", cap=1.0), one(log, arm="a", cap=1.0, floor=0.1)
    assert loose.low < tight.low < 0.9 < tight.high < loose.high
    assert "narrower if you state their floor" in str(loose)


@pytest.mark.parametrize("policy", ["auto-mean", hb.UCB()])
def test_policies_that_learn_are_replayed(policy: Any) -> None:
    log = coins(9000)
    value = one(log, policy=policy)
    assert 300 < value.used < 0.7 * 9000
    assert value.low < 0.21
    assert value.estimate > 0.12
    assert "first" in str(value)
    assert (value.method, value.decisions) == ("replay", 9000)


def test_a_replay_passes_over_rows_until_all_arms_are_as_likely() -> None:
    log = coins(6000)
    found = read_decisions(log, {})
    usable = accepted(found, 0.2, seed=0)
    kept = np.array([np.count_nonzero(usable & (found.arms == arm)) for arm in range(3)])
    assert usable[log["p"] == 0.2].all()
    assert np.abs(kept - 1200).max() < 4 * math.sqrt(1200)


def test_policies_with_contexts_are_replayed() -> None:
    rng = np.random.default_rng(0)
    x, arm = rng.choice([-1.0, 1.0], 3000), rng.integers(2, size=3000)
    log = {"arm": arm, "reward": 1.0 + x * (2 * arm - 1) + 0.1 * rng.normal(size=3000), "p": np.full(3000, 0.5), "x": x}
    value = one(log, policy="lin-ucb")
    assert 1200 < value.used < 1800
    assert value.estimate > 1.8
    with pytest.raises(ValueError, match="needs columns with numbers besides arm, reward and p, got none"):
        hb.evaluate({name: log[name] for name in ("arm", "reward", "p")}, policy="lin-ucb")


def exported() -> list[dict[str, Any]]:
    """Return events as the service exports them: two windows end with a reward, one with the default."""
    rows: list[dict[str, Any]] = [{"kind": "config", "id": None, "arm": None, "value": None, "p": None}]
    for i, arm in enumerate(["a", "b", "a", "b", "a"]):
        rows.append({"kind": "decision", "id": f"d{i}", "arm": arm, "value": None, "p": 0.5, "context": '{"age": 30}'})
    rows += [{"kind": "reward", "id": f"d{i}", "arm": arm, "value": value, "p": 0.5}
             for i, arm, value in ((1, "b", 1.0), (0, "a", 9.0), (3, "b", 1.0))]  # fmt: skip
    rows += [{"kind": "close", "id": f"d{i}", "arm": arm, "value": value, "p": 0.5}
             for i, arm, value in ((0, "a", 9.0), (1, "b", 1.0), (2, "a", 0.0))]  # fmt: skip
    return rows


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_exports_of_the_service_are_read(form: str, tmp_path: Path) -> None:
    frame, path = pd.DataFrame(exported()), tmp_path / f"log.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in exported()))
    log = read_decisions(path, {}, contexts=True)
    assert (log.labels, log.arms.tolist(), log.rewards.tolist()) == (("a", "b"), [0, 1, 0], [9.0, 1.0, 0.0])
    assert (log.p.tolist(), log.dropped, list(log.known["age"])) == ([0.5] * 3, 2, [30] * 3)
    assert one(path, arm="a").estimate == 4.5


def test_of_costs_the_lowest_wins() -> None:
    log = coins(20_000)
    found = hb.evaluate(log, arm=["blue", "green", "red"], minimise=True)
    assert isinstance(found, Candidates)
    assert (found.winner, found.values[0].target) == ("blue", "blue")
    assert "it costs less than every other candidate" in found.sentences[0]
    assert found.sentences[1].startswith("Counting at most 1 per decision, blue costs less than ")
    least = one(log, arm="blue", minimise=True)
    assert (least.low, least.high) == (one(log, arm="blue").low, one(log, arm="blue").high)
    assert "the log itself cost " in least.sentences[0]
    assert " earn" not in str(least)


def test_a_policy_that_learns_from_costs_avoids_them() -> None:
    log = coins(20_000) | {"p": np.full(20_000, 1 / 3)}
    cheap, dear = (one(log, policy="auto-mean", minimise=minimise) for minimise in (True, False))
    assert cheap.estimate < 0.15 < dear.estimate
    assert "decisions cost on average" in str(cheap)
    rng = np.random.default_rng(0)
    arm, x = rng.integers(0, 2, 3000), rng.choice([-1.0, 1.0], 3000)
    paid = {"arm": arm, "reward": 1.0 + x * (2 * arm - 1), "p": np.full(3000, 0.5), "x": x}
    assert one(paid, policy="lin-ucb", minimise=True).estimate < 0.2


def test_an_export_says_itself_that_its_rewards_are_costs() -> None:
    created = {"create": {"arms": [], "minimise": True, "reward": {"default": 0}}}
    rows = [row | {"config": created if row["kind"] == "config" else None} for row in exported()]
    found = hb.evaluate(pd.DataFrame(rows), arm=["a", "b"], cap=9.0)
    assert isinstance(found, Candidates)
    assert [value.target for value in found.values] == ["b", "a"]
    assert all(value.are_costs for value in found.values)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_an_arm_that_was_not_offered_is_not_covered(form: str, tmp_path: Path) -> None:
    offers: Any = {"d0": ["a", "b"], "d1": ["=c", "b"], "d2": ["a", "b"]}
    if form == "csv":
        offers = {key: "|".join(arms) for key, arms in offers.items()} | {"d1": "'=c|b"}
    rows = [row | {"open": offers.get(row["id"]) if row["kind"] == "decision" else None} for row in exported()]
    path = tmp_path / f"log.{form}"
    if form == "csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    elif form == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows))
    assert one(path, arm="b").covered == 1.0
    with pytest.raises(ValueError, match=r"a makes 0\.33 of its decisions for an arm that the log never chooses there"):
        hb.evaluate(path, arm="a")
    with pytest.raises(ValueError, match=r"choose makes 0\.33 of its decisions"):
        hb.evaluate(path, by=choose)


def choose(_: dict[str, Any]) -> str:
    return "a"


def test_exports_without_propensities_are_refused() -> None:
    frame = pd.DataFrame(exported()).assign(p=None)
    with pytest.raises(ValueError, match="p is missing in 3 of 3 decisions; a policy that does not say"):
        hb.evaluate(frame, arm="a")


def test_open_bandits_format_is_read() -> None:
    log = coins()
    table = pd.DataFrame({"item_id": log["arm"], "click": log["reward"], "propensity_score": log["p"], "position": 1,
                          "timestamp": "2019-11-24 00:00:01+00:00"})  # fmt: skip
    assert one(table, arm="red").estimate == one(log, arm="red").estimate


def run(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["heavybandits", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame(coins()).to_csv(path, index=False)
    (tmp_path / "rules.py").write_text("def young(known):\n    return 'green' if known['age'] < 50 else 'red'\n")
    code, out, _ = run(["evaluate", str(path), "--arm", "green", "--cap", "0:1"], capsys, monkeypatch)
    assert (code, out.splitlines()[0][:40]) == (0, "Counting at most 1 per decision, green e")
    code, out, _ = run(["evaluate", str(path), "--by", f"{tmp_path / 'rules.py'}:young"], capsys, monkeypatch)
    assert (code, out[:12]) == (0, "young earns ")
    code, out, _ = run(["evaluate", str(path), "--arm", "green", "--arm", "blue"], capsys, monkeypatch)
    assert (code, out[:20]) == (0, "green is the winner:")
    for wrong, message in (
        (["--arm", "purple"], "unknown arm 'purple'"),
        (["--by", "rules"], "--by: must be a function in a file, as in rules.py:choose, got 'rules'"),
        (["--by", f"{tmp_path / 'rules.py'}:old"], "unknown name 'old'"),
        (["--arm", "red", "--cap", "x"], "--cap: must be a number, got 'x'"),
    ):
        code, out, err = run(["evaluate", str(path), *wrong], capsys, monkeypatch)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert message in err


def test_rare_coins_are_bounded_more_closely_unless_a_stated_cap_may_hide_other_rewards() -> None:
    rng = np.random.default_rng(0)
    green = rng.random(10_000) < 0.1
    log = {"arm": np.where(green, "green", "blue"), "p": np.where(green, 0.1, 0.9),
           "reward": (rng.random(10_000) < 0.02).astype(float)}  # fmt: skip
    coins, capped = hb.evaluate(log, arm="green"), hb.evaluate(log, arm="green", cap=1.0)
    assert 0.0 < 1.05 * capped.low < coins.low < coins.estimate == capped.estimate
