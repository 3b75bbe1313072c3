"""The example scripts run as a newcomer runs them, and print what they promise to show."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@cache
def printed(name: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def percentages(line: str) -> list[float]:
    return [float(share) for share in re.findall(r"([\d.]+)%", line)]


def lines(name: str, beginning: str) -> list[str]:
    found = [line for line in printed(name).splitlines() if line.startswith(beginning)]
    assert found
    return found


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tested] == []


def test_one_outlier_moves_ucb_and_not_the_robust_policy() -> None:
    clean, *ucb = [percentages(line)[0] for line in lines("one_outlier.py", "UCB ")]
    assert clean > 95 > 5 > max(ucb)
    clean, *robust = [percentages(line)[0] for line in lines("one_outlier.py", "auto ")]
    assert robust == pytest.approx([clean, clean], abs=2)


def test_requests_go_to_the_quickest_server() -> None:
    _, _, rome, _ = percentages(lines("choose_server.py", "auto")[0])
    assert rome > 90
    median = {name: float(lines("choose_server.py", name)[0].split()[-7]) for name in ("at random", "UCB", "auto")}
    assert median["auto"] < 0.75 * min(median["UCB"], median["at random"])


def test_the_advised_policy_earns_more() -> None:
    earned = {}
    for label in ("UCB as it comes", "as advised"):
        earned[label] = float(lines("ad_revenue.py", label)[0].removeprefix(label).split()[0])
    assert earned["as advised"] > 1.1 * earned["UCB as it comes"]
    assert "Advice: ucb(c=" in printed("ad_revenue.py")


def test_own_policy_passes_the_checks_and_beats_ucb() -> None:
    assert "pass all checks" in printed("own_policy.py")
    mine, ucb = (float(lines("own_policy.py", label)[0].split()[1]) for label in ("mine", "UCB"))
    assert mine < 0.2 * ucb
