"""The sample of the Open Bandit Dataset, whose answers are known: the click rates of its two policies."""

from pathlib import Path

import pandas as pd
import pytest

import heavybandits as hb
from heavybandits.evaluation import Value

SAMPLE = Path(__file__).parents[2] / "docs" / "_data" / "open-bandit.csv.gz"


def log_of(policy: str) -> pd.DataFrame:
    sample = pd.read_csv(SAMPLE)
    return sample[sample["policy"] == policy]


def test_the_click_rates_are_those_of_the_dataset() -> None:
    assert log_of("random")["click"].mean() == pytest.approx(0.0038)
    assert log_of("bts")["click"].mean() == pytest.approx(0.0042)


@pytest.mark.parametrize("policy", ["random", "bts"])
def test_intervals_contain_the_known_rate_of_random_choices(policy: str) -> None:
    """From the log of random choices the estimate is exact; from the other one it rests on few clicks."""
    log, items = log_of(policy), {str(item): 1 / 80 for item in range(80)}
    value = hb.evaluate(log, by=lambda known: items)
    assert isinstance(value, Value)
    assert value.low < 0.0038 < value.high
    weights = 1 / 80 / log["propensity_score"]
    assert value.estimate == pytest.approx((weights * log["click"]).sum() / weights.sum(), rel=1e-9)
    assert value.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-9)
    assert ("too little to rely on" in str(value)) == (policy == "bts")


def test_three_clicks_decide_nothing() -> None:
    best = hb.evaluate(log_of("random"), arm="49")
    assert isinstance(best, Value)
    assert best.estimate == pytest.approx(3 / 114)
    assert best.lead is not None
    assert best.lead.low < 0.0 < best.lead.high
