"""The advice checked against the truth: files drawn from known laws, and the advised policy played on those laws."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pytest
from logged_rewards import is_beaten

import heavybandits as hb
from heavybandits.diagnosis import Report
from heavybandits.diagnosis.advice import PARAMETER_FREE
from heavybandits.diagnosis.replay import LOGGED
from heavybandits.protocols import FloatArray


class File(NamedTuple):
    """Laws of the arms' rewards, how many rewards the file has of each, and what the report should say."""

    laws: list[Any]
    rows: int
    goal: Literal["mean", "location"]
    minimise: bool = False
    change: Callable[[FloatArray], FloatArray] = lambda rewards: rewards


def latencies(factor: float, timeouts: float) -> hb.Empirical:
    """Return a law of costs capped at 1000, as rewards."""
    rng = np.random.default_rng(5)
    waits = np.where(rng.random(5000) < timeouts, 1000.0, np.minimum(factor * rng.lognormal(3, 0.7, 5000), 1000.0))
    return hb.Empirical(-waits)


def revenue(share: float, size: float) -> hb.Empirical:
    rng = np.random.default_rng(6)
    return hb.Empirical(np.where(rng.random(20_000) < share, size * rng.lognormal(0, 1, 20_000), 0.0))


def with_a_jump(rewards: FloatArray) -> FloatArray:
    return rewards + np.where(np.arange(len(rewards)) < len(rewards) // 2, 0.0, 2.0)


FILES = {
    "clicks": File([hb.Bernoulli(0.02), hb.Bernoulli(0.06)], 1000, "mean"),
    "few clicks": File([hb.Bernoulli(0.02), hb.Bernoulli(0.06)], 50, "mean"),
    "revenue": File([revenue(0.1, 10.0), revenue(0.05, 40.0), revenue(0.2, 6.0)], 500, "mean"),
    "counts": File([hb.Poisson(rate) for rate in (1.0, 1.5, 2.0)], 200, "mean"),
    "latencies": File([latencies(1, 0.03), latencies(1.5, 0.0), latencies(2.5, 0.0)], 400, "mean", minimise=True),
    "returns": File([hb.Shifted(hb.StudentT(3), by) for by in (0.0, 0.3, 0.8)], 300, "mean"),
    "cauchy": File([hb.Shifted(hb.Cauchy(), by) for by in (1.0, 2.0, 4.0)], 300, "location"),
    "equal": File([hb.Shifted(hb.Gaussian(), 1.0)] * 2, 100, "mean"),
    "drift": File([hb.Shifted(hb.Gaussian(), by) for by in (1.0, 2.0)], 300, "mean", change=with_a_jump),
    "loud best": File([hb.Shifted(hb.Gaussian(scale), by) for scale, by in ((0.5, 2.0), (5.0, 3.0))], 300, "mean"),
    "orders": File([hb.Shifted(hb.LogNormal(sigma), 0.0) for sigma in (0.5, 0.8, 1.1)], 400, "mean"),
}


def diagnosed(file: File, seed: int = 0) -> Report:
    """Return the report on a file drawn from the laws, with arms pulled at random."""
    rng = np.random.default_rng(seed)
    arms = rng.permutation(np.repeat(np.arange(len(file.laws)), file.rows))
    drawn = np.array([law.sample(rng, len(arms)) for law in file.laws])
    rewards = file.change(drawn[arms, np.arange(len(arms))])
    return hb.diagnose(pd.DataFrame({"arm": arms, "reward": -rewards if file.minimise else rewards}),
                       minimise=file.minimise, ordered=True)  # fmt: skip


def policy_of(call: str) -> Any:
    """Return the policy that a label of the replay, such as ``ucb(c=0.5)``, stands for."""
    name, _, given = call.rstrip(")").partition("(")
    return hb.make(
        name, **{key: float(value) for key, value in (pair.split("=") for pair in given.split(", ") if pair)}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_advice_earns_nearly_as_much_as_the_best_candidate(name: str) -> None:
    file = FILES[name]
    report = diagnosed(file)
    assert report.goal == file.goal
    assert not is_beaten(report)
    assert ("Drift: the level changes" in report.text()) == (name == "drift")
    instance = hb.Instance(laws=file.laws, goal=file.goal)
    horizon = len(report.rewards.rewards)
    policies = {call: policy_of(call) for call in report.replay.policies}
    played = hb.simulate(instance, policies, horizon=horizon, replications=60, seed=1, checkpoints="end")
    earned = dict(zip(policies, (played.pulls.to_numpy().mean(axis=1) @ instance.means) / horizon, strict=True))
    best, found = max(earned.values()), earned[str(report.advice)]
    assert found >= best - abs(best) / 6  # a fitted policy may be better, but the file does not show it clearly
    assert found >= earned[PARAMETER_FREE[report.goal]] - 0.1 * abs(best)


@pytest.mark.slow
def test_the_best_arm_of_the_file_is_the_best_arm() -> None:
    report = diagnosed(FILES["clicks"])
    assert report.evidence.winner == "1"
    known = report.evidence.about("1")
    assert known.low < 0.06 < known.high


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["random", None])
def test_a_few_clicks_on_many_items_tell_nothing(policy: str | None) -> None:
    """Of 10,000 rows 38 are clicks; the best of 80 items pays more in the file than any choice may promise."""
    sample = pd.read_csv(Path(__file__).parents[2] / "docs" / "_data" / "open-bandit.csv.gz")
    log = sample if policy is None else sample[sample["policy"] == policy]
    report = hb.diagnose(log, arm_column="item_id", reward_column="click")
    assert report.evidence.winner is None
    assert "The file cannot tell whether" in report.text()
    best = log.groupby("item_id")["click"].mean().max()
    promised = [report.replay.earned(label).value for label in report.replay.shares]
    assert len(promised) > 4
    assert max(promised) < best / 2
    assert not any(report.replay.is_ahead(label, LOGGED) for label in report.replay.policies)
