"""The commands behind numbers exist, and the numbers of README and the paper were checked against them."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from heavybandits.studies.study import studies

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def claims() -> Any:
    spec = importlib.util.spec_from_file_location("claims", ROOT / "docs" / "claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["claims"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_commands_exist(claims: Any) -> None:
    found = list(claims.collected())
    assert len(found) > 5
    for claim in found:
        program, name, *played = claim.command.split()
        if program == "heavybandits":
            assert name == "run"
        elif name != "quickstart.py":
            assert (ROOT / name).is_file()
        assert set(played) <= set(studies())


@pytest.mark.parametrize(("document", "commands"), [("README.md", 1), ("paper.md", 2)])
def test_numbers_are_those_of_their_commands(claims: Any, document: str, commands: int) -> None:
    found = [claim for claim in claims.collected() if claim.document == document]
    assert len(found) == commands
    for claim in found:
        numbers, same, near, gone, _, _, digest = claims.known()[document, claim.command].split(" | ")[2:]
        assert (int(numbers), int(same), near, gone) == (len(claim.found), len(claim.found), "0", "0")
        assert digest == claim.digest, f"run: python docs/claims.py '{claim.command}'"


def test_rows_of_tables_are_claims_of_scripts(claims: Any) -> None:
    table = "| delay | `auto` |\n| --- | --- |\n  | 10 | **0.5** |\n"
    assert claims.claimed("python docs/late_rewards.py late", table) == [claims.Row("| 10 | 0.5 |")]
    assert claims.claimed("heavybandits run late", table) == []


def test_a_pair_is_compared_by_its_digits(claims: Any) -> None:
    pair = claims.Pair("1,234.5", "6.0")
    assert pair.is_of(1234.46, 6.04)
    assert not pair.is_of(1234.46, 6.06)
    assert pair.is_near(1224.0, 5.0)
    assert not pair.is_near(1200.0, 5.0)
    assert not pair.is_near(1234.5, 20.0)
