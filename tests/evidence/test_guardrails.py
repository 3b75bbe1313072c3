"""Guardrails: what is shown of margins, and how rarely it is wrong."""

import math

import numpy as np
import pytest

from heavybandits.evidence.ab_test.guardrails import Guard, read_guardrail

ARMS = ("blue", "green")


def stood(text: str, factor: float, n: int = 6000, shift: float = 0.0, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    guard = Guard(read_guardrail("compare", text), ARMS, "blue")
    arms = rng.integers(2, size=n)
    guard.add(arms, rng.exponential(100.0, n) * np.where(arms == 1, factor, 1.0) + shift * arms)
    (found,) = guard.look(0.05)
    assert found.arm == "green"
    return found.state


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


@pytest.mark.parametrize("text", ["latency <= +20%", "latency <= +19.5", "p50(latency) <= +13.9"])
def test_an_arm_on_the_margin_is_rarely_ever_judged(text: str) -> None:
    delta, runs, wrong = 0.3, 60, 0
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        guard = Guard(read_guardrail("compare", text), ARMS, "blue")
        for _ in range(20):
            arms = rng.integers(2, size=100)
            guard.add(arms, rng.exponential(100.0 + 20.0 * arms))
            (found,) = guard.look(delta)
        wrong += found.state == "kept" if text.endswith("%") else found.state == "broken"
    assert wrong <= 28  # 29 of 60 or more have a probability of 0.3% if each has at most 30%


def test_what_was_shown_stays_shown_and_replicas_add_up() -> None:
    rng = np.random.default_rng(1)
    arms = np.arange(4000) % 2
    values = rng.exponential(100.0 + 80.0 * arms)
    whole, parts = (Guard(read_guardrail("compare", "latency <= +20"), ARMS, "blue") for _ in range(2))
    whole.add(arms, values)
    parts.add(arms[:2000], values[:2000])
    replica = parts.branched()
    replica.add(arms[2000:], values[2000:])
    parts.merge(replica)
    assert parts.look(0.05)[0].evidence == pytest.approx(whole.look(0.05)[0].evidence, rel=1e-6)
    whole.add(arms, np.full(4000, 50.0))
    assert whole.look(0.05)[0].state == "broken"


def test_arms_share_delta() -> None:
    rng = np.random.default_rng(2)
    guard = Guard(read_guardrail("compare", "latency <= +20"), ("a", "b", "c"), "a")
    arms = rng.integers(3, size=900)
    guard.add(arms, rng.exponential(100.0 + 60.0 * arms))
    states = [found.state for found in guard.look(0.05)]
    assert [found.arm for found in guard.look(0.05)] == ["b", "c"]
    assert states[1] == "broken"


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


@pytest.mark.parametrize("text", ["latency <= +20", "p90(latency) <= +20"])
def test_bytes_keep_a_guardrail_with_what_was_shown(text: str) -> None:
    rng, arms = np.random.default_rng(3), np.arange(4000) % 2
    values = rng.exponential(100.0, 4000) * np.where(arms == 1, 2.0, 1.0)
    guard = Guard(read_guardrail("compare", text), ARMS, "blue")
    guard.add(arms[:2000], values[:2000])
    shown = guard.look(0.05)
    again = Guard.loads(guard.dumps())
    assert again.dumps() == guard.dumps()
    for one in (guard, again):
        one.add(arms[2000:], values[2000:])
    assert again.look(1e-12) == guard.look(1e-12) == shown  # what was shown stays shown
    assert shown[0].state == "broken"
    assert again.dumps() == guard.dumps()


@pytest.mark.parametrize("wrong", [b"", b"[]\n", b"{}\n"])
def test_bytes_of_something_else_are_refused(wrong: bytes) -> None:
    whole = Guard(read_guardrail("compare", "latency <= +20"), ARMS, "blue").dumps()
    for contents in (wrong, whole[:-1], whole + b"more"):
        with pytest.raises(ValueError, match=r"^these bytes are no guardrail$"):
            Guard.loads(contents)
