"""The commands behind numbers exist, and the numbers of README and the paper were checked against them."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from heavybandits.studies.study import studies

ROOT = Path(__file__).parent.parent


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("claims")


@pytest.fixture
def kinds(claims: Any) -> Any:
    return importlib.import_module("claim_kinds")


def test_commands_exist(claims: Any) -> None:
    found = list(claims.collected())
    assert len(found) > 5
    for claim in found:
        program, name, *arguments = claim.command.split()
        if program == "heavybandits":
            assert name == "run"
        elif name != "quickstart.py":
            assert (ROOT / name).is_file()
        if not name.startswith("benchmarks/"):
            assert set(arguments) <= set(studies())


@pytest.mark.parametrize(("document", "commands"), [("README.md", 2), ("paper.md", 5)])
def test_numbers_are_those_of_their_commands(claims: Any, document: str, commands: int) -> None:
    found = [claim for claim in claims.collected() if claim.document == document]
    assert len(found) == commands
    for claim in found:
        numbers, same, near, gone, _, _, digest, _ = claims.known()[document, claim.command].split(" | ")[2:]
        assert digest == claim.digest, f"run: python docs/claims.py '{claim.command}'"
        if claim.command.split()[1] in claims.MEASURING:
            assert gone in ("0", "-")  # "-" where it was not measured yet
        else:
            assert (int(numbers), int(same), near, gone) == (len(claim.found), len(claim.found), "0", "0")


def test_rows_are_marked_if_their_code_has_changed(claims: Any) -> None:
    wrong = [key for key, text in claims.known().items() if claims.marked(text, key[1]) != text]
    assert not wrong, "run these commands again by docs/claims.py, or mark their rows: python docs/claims.py --mark"


def test_a_row_is_marked_once_and_cleared_by_what_is_run(claims: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "code", lambda command: "new")
    computed, measured = "heavybandits run late", "python benchmarks/speed.py"
    assert claims.marked("late | new", computed) == "late | new"
    assert (
        claims.marked("late | old", computed) == claims.marked("late | old (stale)", computed) == "late | old (stale)"
    )
    assert claims.marked("late | new (stale)", computed) == "late | new"
    assert claims.marked("late | -", computed) == "late | -"
    assert claims.stamped("late | old (stale)", computed) == "late | new"
    assert claims.stamped("speed | old (stale)", measured) == "speed | old (stale)"
    assert claims.stamped("late | -", computed) == "late | -"  # it was never run


def test_claims_end_with_the_section_of_their_command(claims: Any) -> None:
    text = (
        "## A\nx `heavybandits run late`: 1\n### B\n2\n`python docs/linear.py` 3\n## C\n4 `python docs/policies.py` 5"
    )
    assert list(claims.passages(text)) == [
        ("heavybandits run late", ": 1\n### B\n2\n"), ("python docs/linear.py", " 3\n"),
    ]  # fmt: skip


def test_what_is_claimed_depends_on_the_command(claims: Any, kinds: Any) -> None:
    text = " says 7 ± 2, about 20 ns for `ucb`:\n\n| delay | `auto` |\n| --- | --- |\n  | 10 | **0.5 ± 1** |\n"
    pair, cell = kinds.Pair("7", "2"), "| 10 | 0.5 ± 1 |"
    assert claims.claimed("heavybandits run late", text) == [pair, kinds.Pair("0.5", "1")]
    assert claims.claimed("python docs/late_rewards.py late", text) == [kinds.Row(cell), pair]
    time = kinds.Time("20", "ns", ("`ucb`",))
    assert claims.claimed("python benchmarks/speed.py", text) == [kinds.Measured(cell), pair, time]


def test_times_of_policies_stand_in_columns(claims: Any, kinds: Any) -> None:
    table = "| policy | told | ns, K = 10 | ns, K = 100 |\n|---|---|---|---|\n| `ucb` | O(\\|X\\|) 7 | 20 | 1,500 |\n"
    other = "| policy | told |\n|---|---|\n| `menu` | 5 |\n"
    text = f"x\n\n{table}| `auto` | - | - | 90 |\n\n{other}"
    found = claims.claimed("python benchmarks/policies.py", text)
    assert found == [kinds.Cost("ucb", "10", "20"), kinds.Cost("ucb", "100", "1,500"), kinds.Cost("auto", "100", "90")]
    results = kinds.Results([], "sgd-ucb, 10 arms: 60 ns\nucb, 10 arms: 39 ns\nucb, 100 arms: 3100 ns\n")
    assert [cost.is_near(results) for cost in found] == [True, False, False]


def test_the_times_of_all_policies_are_claims(claims: Any) -> None:
    (found,) = (claim for claim in claims.collected() if claim.document == "docs/policies.md")
    assert {cost.arms for cost in found.found} == {"10", "100"}
    assert {cost.name for cost in found.found} >= {"ucb", "auto", "betting-ucb"}


def test_a_pair_is_compared_by_its_digits(kinds: Any) -> None:
    pair = kinds.Pair("1,234.5", "6.0")

    def results(*numbers: float) -> Any:
        return kinds.Results([(0.0, 0.0), numbers], "")

    assert pair.is_in(results(1234.46, 6.04))
    assert not pair.is_in(results(1234.46, 6.06))
    assert pair.is_near(results(1224.0, 5.0))
    assert not pair.is_near(results(1200.0, 5.0))
    assert not pair.is_near(results(1234.5, 20.0))


def test_a_computed_row_is_the_same_or_it_is_gone(kinds: Any) -> None:
    results = kinds.Results([], "| delay | `auto` |\n|---|---|\n| 10 | 0.51 |\n")
    assert kinds.Row("| 10 | 0.51 |").is_in(results)
    assert not kinds.Row("| 10 | 0.5 |").is_in(results)
    assert not kinds.Row("| 10 | 0.5 |").is_near(results)


def test_ratios_in_bold_are_printed_in_their_order(claims: Any, kinds: Any) -> None:
    text = " it has **0.58** times the regret, or **1.10**; on another seed 0.59.\n\n| `auto` | **0.51** |\n"
    row, ratios = claims.claimed("python docs/means.py means", text)
    assert (row, ratios) == (kinds.Row("| `auto` | 0.51 |"), kinds.Ratios(("0.58", "1.10")))
    assert ratios.is_in(kinds.Results([], "| `ucb` | 2 |\nall: 0.58\nmost: 0.70\nGaussian: 1.10\n"))
    for other in ("Gaussian: 1.10\nall: 0.58\n", "| x: 0.58\nGaussian: 1.10\n", "all: 0.581\nGaussian: 1.10\n"):
        assert not ratios.is_in(kinds.Results([], other))
        assert not ratios.is_near(kinds.Results([], other))


@pytest.mark.parametrize(("row", "near"), [
    ("| `ucb` | 10 ns | 1.0 x the draw (at most 8) |", True), ("| `ucb` | 38 ns | 0.8 x |", True),
    ("| `ucb` | 41 ns | 1.6 x |", False), ("| `ucb` | 20 ns | 0.7 x |", False), ("| `ucb` | 20 ns |", False),
    ("| `auto` | 20 ns | 1.6 x |", False),
])  # fmt: skip
def test_a_measured_row_may_differ_by_the_factor(kinds: Any, row: str, near: bool) -> None:
    results = kinds.Results([], "| `ucb` | 20 ns | 1.6 x the draw (at most 8) |\n| `sgd-ucb` | 41 ns | 0.7 x |\n")
    assert kinds.Measured(row).is_near(results) == near


def test_a_time_is_looked_up_beside_a_name_of_its_paragraph(kinds: Any) -> None:
    results = kinds.Results([], "| `ucb` | 15 ns |\n| `auto` | 0.2 us |\n")
    assert kinds.Time("20", "nanoseconds", ("`ucb`",)).is_near(results)
    assert not kinds.Time("200", "ns", ("`ucb`",)).is_near(results)
    assert kinds.Time("200", "ns", ()).is_near(results)
