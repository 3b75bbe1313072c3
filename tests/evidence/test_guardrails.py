"""Guardrails: what is shown of margins, and how rarely it is wrong."""

import math

import numpy as np
import pytest

from heavybandits.evidence.ab_test.guardrails import GuardrailState, read_guardrail, stand, states_of
from heavybandits.evidence.tally import Tally, add, new_tally

ARMS = ("blue", "green")


def green(text: str, tally: Tally, delta: float) -> GuardrailState:
    """Return how the other arm stands."""
    (found,) = states_of(read_guardrail("compare", text), tally, ARMS, "blue", delta)
    assert found.arm == "green"
    return found


def stood(text: str, factor: float, n: int = 6000, shift: float = 0.0, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    tally = new_tally(2, read_guardrail("compare", text).tau)
    arms = rng.integers(2, size=n)
    add(tally, arms, rng.exponential(100.0, n) * np.where(arms == 1, factor, 1.0) + shift * arms)
    return green(text, tally, 0.05).state


@pytest.mark.parametrize(
    ("text", "factor", "state"),
    [
        ("latency <= +20", 1.0, "kept"),
        ("latency <= +20", 1.5, "broken"),
        ("latency <= +20", 1.2, "open"),
        ("latency <= +0", 0.7, "kept"),
        ("orders >= -20", 1.0, "kept"),
        ("orders >= -20", 0.6, "broken"),
        ("latency <= +20%", 1.0, "kept"),
        ("latency <= +20%", 1.5, "broken"),
        ("orders >= -20%", 1.0, "kept"),
        ("orders >= -20%", 0.6, "broken"),
        ("p90(latency) <= +60", 1.0, "kept"),
        ("p90(latency) <= +20", 1.5, "broken"),
        ("p50(orders) >= -20", 0.5, "broken"),
    ],
)
def test_a_margin_is_kept_broken_or_open(text: str, factor: float, state: str) -> None:
    assert stood(text, factor) == state


@pytest.mark.slow
@pytest.mark.parametrize("text", ["latency <= +20%", "latency <= +19.5", "p50(latency) <= +13.9"])
def test_an_arm_on_the_margin_is_rarely_ever_judged(text: str) -> None:
    delta, runs, wrong = 0.3, 60, 0
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        tally, states = new_tally(2, read_guardrail("compare", text).tau), set[str]()
        for _ in range(20):
            arms = rng.integers(2, size=100)
            add(tally, arms, rng.exponential(100.0 + 20.0 * arms))
            states.add(green(text, tally, delta).state)
        wrong += ("kept" if text.endswith("%") else "broken") in states
    assert wrong <= 28  # 29 of 60 or more have a probability of 0.3% if each has at most 30%


def test_an_open_guardrail_says_for_what_there_is_evidence() -> None:
    def said(text: str, rewards: list[float]) -> str:
        tally = new_tally(2)
        add(tally, [0, 1] * (len(rewards) // 2), rewards)
        return green(text, tally, 1e-9).sentence

    slower, alike, both = [1.0, 1.5, 2.0, 3.5] * 30, [1.0, 1.0, 3.0, 3.0] * 30, [-1.0, -1.0, 3.0, 3.0] * 30
    assert said("ms <= +0.1", slower).startswith("It is open whether green keeps the guardrail ms <= +0.1 (evidence ")
    assert said("ms <= +0.1", slower).endswith(" : 1 that it does not).")
    assert said("ms <= +0.5", alike).endswith(" : 1 that it does).")
    assert said("ms <= +1", [1.0, 2.0]) == "It is open whether green keeps the guardrail ms <= +1."
    assert said("ms <= +1%", both).endswith("Where ms may be negative, the margin must be an amount, not a share.")


def test_arms_share_delta() -> None:
    rng = np.random.default_rng(2)
    rail, tally, arms = read_guardrail("compare", "latency <= +20"), new_tally(3), rng.integers(3, size=900)
    add(tally, arms, rng.exponential(100.0 + 60.0 * arms))
    found = states_of(rail, tally, ("a", "b", "c"), "a", 0.002)
    assert [(one.arm, one.state) for one in found] == [("b", "open"), ("c", "broken")]
    assert stand(rail, tally, ("a", "b", "c"), 1, 0, 0.002).state == "broken"  # alone, with the whole of delta


@pytest.mark.parametrize(
    "text",
    [
        "latency",
        "latency <= 20",
        "latency <= -20",
        "orders >= +2%",
        "p0(x) <= +1",
        "p100(x) <= +1",
        3,
        "<= +2",
        "p95(latency <= +50",
        "median(x) >= -1",
        "mean(x) >= -1",
        "p95((x)) <= +1",
        "quality >= -\u0661",
        "p\u0669(x) <= +1",
        "latency <= +20\n",
        "a\nb <= +20",
    ],
)
def test_what_guardrails_may_be(text: object) -> None:
    with pytest.raises(ValueError, match=r"^compare: a guardrail must read like 'latency <= \+20'"):
        read_guardrail("compare", text)
    assert math.isclose(read_guardrail("compare", " a b>= -2.5 %").margin, 0.025)


def test_shares_have_limits() -> None:
    with pytest.raises(ValueError, match="must be an amount, not a share"):
        read_guardrail("compare", "p95(latency) <= +5%")
    with pytest.raises(ValueError, match="must be below 100%"):
        read_guardrail("compare", "orders >= -100%")
