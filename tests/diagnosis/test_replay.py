"""What replays promise: what arms pay on rewards that the choice did not see."""

import math
from typing import Any

import numpy as np
import pytest
from logged_rewards import logged

import heavybandits as hb
from heavybandits.diagnosis.advice import Advice, overruled
from heavybandits.diagnosis.replay import (
    ALWAYS_BEST,
    AT_RANDOM,
    FEWEST_PER_ARM,
    FILE_SPLITS,
    IN_FULL,
    LOGGED,
    MOST_ARMS_IN_REPLAY,
    Replay,
    Resampled,
    Worth,
    cap_of,
    replay_rewards,
)
from heavybandits.diagnosis.shape import measure
from heavybandits.numerics import LARGEST_FLOAT
from heavybandits.protocols import FloatArray


def replayed(paid: FloatArray, variance: float = 0.0, **shares: list[float]) -> Replay:
    """Return a replay in which arms pay the same in all halves, and shares are the same everywhere."""
    n_arms = len(paid)
    everywhere = {label: np.broadcast_to(np.array(share), (FILE_SPLITS, 2, n_arms)) for label, share in shares.items()}
    halves = np.broadcast_to(paid, (FILE_SPLITS, 2, n_arms))
    return Replay(everywhere, tuple(shares),
                  Worth(halves, np.full(n_arms, variance), np.zeros(n_arms), 1.645, 1.0, IN_FULL), 100)  # fmt: skip


def test_the_replay_overrules_the_rule_only_if_it_is_sure() -> None:
    rule, rival = Advice("ucb", {}, "Tails are light."), Advice("auto", {}, "")
    shares = {"ucb": [0.5, 0.5], "auto": [0.0, 1.0]}
    assert overruled(rule, [rule, rival], Replay()) is rule
    # The lead is 0.5 (p2 - p1) = 0.5, with a standard error of 0.5 sqrt(2 variance).
    unsure, sure = (replayed(np.array([0.0, 1.0]), variance, **shares) for variance in (0.19, 0.18))
    assert overruled(rule, [rule, rival], unsure) is rule
    found = overruled(rule, [rule, rival], sure)
    assert found.name == "auto"
    assert "rule of thumb says ucb: tails are light.  But auto is better by 0.5 (0.0065 to 0.994)" in found.reason


def test_leads_by_rounding_are_no_leads() -> None:
    found = replayed(np.full(3, 0.1), one=[0.3, 0.3, 0.4], other=[0.2, 0.7, 0.1])
    assert not found.is_ahead("one", "other")
    assert not found.is_ahead("other", "one")
    assert not Replay().is_ahead("one", "other")


@pytest.mark.parametrize("value", [0.1, -LARGEST_FLOAT, LARGEST_FLOAT])
def test_arms_that_always_pay_the_same_earn_it(value: float) -> None:
    found = replay_rewards([np.full(10, value)] * 3, {"ucb": hb.UCB(c=0.0)}, "mean")
    for label in found.shares:
        assert found.earned(label) == (value, value, value)


def test_replay_of_the_largest_numbers_is_finite() -> None:
    rng = np.random.default_rng(0)
    log = [1.6e308 + 1e307 * rng.random(20) for _ in range(2)]
    found = replay_rewards(log, {"ucb": hb.UCB(c=1e306)}, "mean")
    assert all(1.6e308 < value < 1.7e308 for value in found.earned("ucb"))
    assert np.isfinite(found.lead("ucb", LOGGED)).all()


def test_resampled_rewards_are_those_of_the_arm() -> None:
    drawn = Resampled(np.array([1.0, 2.0, 2.0])).sample(np.random.default_rng(0), 3000)
    assert set(drawn) == {1.0, 2.0}
    assert np.mean(drawn) == pytest.approx(5 / 3, abs=0.05)


def test_replay_of_arms_without_noise_is_exact() -> None:
    """Greedy play pulls each arm once and then the best: earnings can be counted."""
    found = replay_rewards(
        [np.full(50, 1.0), np.full(150, 5.0)], {"greedy": hb.UCB(c=0.0)}, "mean", control=0
    )  # fmt: skip
    assert found.pulls == 200
    assert found.earned("greedy").value == pytest.approx(996 / 200)
    assert found.earned(ALWAYS_BEST).value == 5.0
    assert found.earned(LOGGED).value == 4.0
    assert found.earned(AT_RANDOM).value == 3.0
    assert found.earned("the control, always").value == 1.0


def test_what_is_logged_and_random_is_paid_by_the_whole_file() -> None:
    """The halves together are the file, so what does not depend on them is estimated by all rewards."""
    rng = np.random.default_rng(3)
    log = [rng.normal(mean, 1, size) for mean, size in ((0.0, 40), (1.0, 60))]
    found = replay_rewards(log, {}, "mean")
    assert found.earned(LOGGED).value == pytest.approx(np.concatenate(log).mean())
    assert found.earned(AT_RANDOM).value == pytest.approx(np.mean([rewards.mean() for rewards in log]))
    # and its interval is the normal one, but for Student's quantile and two rewards of all arms in each variance
    error = math.sqrt(sum((len(rewards) / 100) ** 2 * rewards.var() / len(rewards) for rewards in log))
    low, high = found.earned(LOGGED)[1:]
    assert high - low == pytest.approx(2 * 1.739 * error, rel=0.05)


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_among_equal_arms_nothing_is_promised(goal: str) -> None:
    """The best of ten equal arms looks better by 1.5 standard errors in the file, but not on unseen rewards."""
    gains, sure = [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = replay_rewards([rng.normal(size=40) for _ in range(10)], {}, goal)
        gains.append(found.lead(ALWAYS_BEST, LOGGED).value)
        sure += not found.lead(ALWAYS_BEST, LOGGED).low <= 0 <= found.lead(ALWAYS_BEST, LOGGED).high
    assert abs(np.mean(gains)) < 3 * np.std(gains) / math.sqrt(60)
    assert np.mean(gains) < 0.1
    assert sure <= 6


def test_a_better_arm_is_found_and_paid_what_it_pays() -> None:
    hits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        low, high = replay_rewards([rng.normal(mean, 1, 200) for mean in (0.0, 0.0, 1.0)], {}, "mean").earned(
            ALWAYS_BEST
        )[1:]
        hits += low <= 1.0 <= high
    assert 32 <= hits <= 40


def test_few_clicks_of_many_items_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    clicks = [(rng.random(125) < 0.004).astype(float) for _ in range(80)]
    found = replay_rewards(clicks, {}, "mean")
    best = found.earned(ALWAYS_BEST)
    assert best.low == 0.0
    assert best.value < 0.01 < max(rewards.mean() for rewards in clicks)
    assert not found.is_ahead(ALWAYS_BEST, LOGGED)
    assert 0.0 <= found.earned(LOGGED).low <= found.earned(LOGGED).high < 0.01


@pytest.mark.slow
def test_replay_tells_good_from_bad_policies() -> None:
    rng = np.random.default_rng(0)
    log = [rng.standard_cauchy(1000) + 5 * arm for arm in range(3)]
    policies: dict[str, Any] = {"UCB": hb.UCB(c=1.0), "SGD-UCB": hb.make("sgd-ucb", clip=10.0, coeff=0.3)}
    found = replay_rewards(log, policies, "location")
    assert found.pulls == 3000
    assert found.policies == ("UCB", "SGD-UCB")
    assert found.shares["SGD-UCB"][:, :, 2].mean() > 0.95 > found.shares["UCB"][:, :, 2].mean()
    assert found.lead("SGD-UCB", "UCB").value > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_few_orders_do_not_advise_a_fitted_policy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms = {
        label: np.where(rng.random(200) < chance, rng.lognormal(3.5, 1.5, 200), 0.0)
        for label, chance in {"a": 0.02, "b": 0.03, "c": 0.05}.items()
    }
    report = hb.diagnose(logged(arms))
    assert report.advice.name == "auto-mean"
    assert "The file cannot tell whether auto-mean does better than what was logged" in report.text()


def test_rewards_count_up_to_a_cap_where_there_may_be_no_variance() -> None:
    rng = np.random.default_rng(0)
    heavy, light = rng.pareto(1.5, 4000), rng.normal(size=4000)
    low, high = cap_of([heavy[:2000], heavy[2000:]], measure(heavy - np.median(heavy)))
    assert low == -math.inf
    assert np.count_nonzero(heavy > high) == 30
    assert cap_of([light], measure(light)) == IN_FULL
    mirrored = cap_of([-heavy], measure(np.median(heavy) - heavy))
    assert mirrored == (-high, math.inf)
    found = replay_rewards([heavy[:2000], heavy[2000:]], {}, "mean", cap=(low, high))
    assert found.earned(LOGGED).value == pytest.approx(np.minimum(heavy, high).mean())


def test_both_tails_of_rewards_of_both_signs_are_capped_or_neither() -> None:
    rng = np.random.default_rng(0)
    lopsided = np.where(rng.random(5000) < 0.5, -rng.random(5000), rng.pareto(1.5, 5000))
    low, high = cap_of([lopsided], measure(lopsided - np.median(lopsided)))
    assert int((lopsided < low).sum()) == int((lopsided > high).sum()) == 30


def test_replay_says_why_there_is_none() -> None:
    few, some = np.arange(FEWEST_PER_ARM - 1.0), np.arange(99.0)
    nothing = replay_rewards([few, some], {}, "mean")
    assert nothing.shares == {}
    assert nothing.note == f"No replay: an arm has {FEWEST_PER_ARM - 1} rewards, fewer than {FEWEST_PER_ARM}."
    assert "only one arm" in replay_rewards([some], {}, "mean").note
    assert "more than 1,000 arms" in replay_rewards([some] * (MOST_ARMS_IN_REPLAY + 1), {}, "mean").note
    endless = np.full(20, math.inf)
    assert "medians are infinite" in replay_rewards([some, endless], {}, "location").note


def test_medians_that_may_be_infinite_have_no_interval() -> None:
    often = np.concatenate([np.arange(30.0), np.full(20, math.inf)])
    found = replay_rewards([often, np.arange(50.0)], {}, "location")
    if found.shares:
        assert not math.isnan(found.earned(LOGGED).low)
