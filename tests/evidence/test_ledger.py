"""Rewards of named arms that come and go."""

from typing import Any

import numpy as np
import pytest
from compilers import Compiler

from heavybandits.evidence import measures
from heavybandits.evidence.ledger import Ledger
from heavybandits.jit.background_compile import ChangingCode

ARMS = ["red", "blue", "green"]


def played(goal: str, n: int, seed: int = 0, arms: list[str] = ARMS) -> Ledger:
    """Return a ledger in which later arms pay more, Pareto-distributed."""
    rng, ledger = np.random.default_rng(seed), Ledger(arms, goal)
    for _ in range(n):
        for number, arm in enumerate(arms):
            ledger.learn(arm, (1.0 + number) * float(rng.pareto(1.5)))
    return ledger


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_the_best_arm_wins_and_bytes_keep_everything(goal: str) -> None:
    ledger = played(goal, 3000)
    found, again = ledger.evidence(ARMS, "red"), Ledger.loads(ledger.dumps())
    assert found.winner == "green"
    assert again.dumps() == ledger.dumps()
    assert str(again.evidence(ARMS, "red")) == str(found)


def test_a_copy_is_not_changed_by_later_rewards() -> None:
    ledger = played("mean", 50)
    copy, before = ledger.copied(), ledger.dumps()
    ledger.learn("red", 3.0)
    assert copy.dumps() == before != ledger.dumps()


def test_an_arm_that_joins_has_no_rewards_and_one_that_returns_has_its_own() -> None:
    ledger = played("mean", 300)
    before = ledger.evidence(ARMS).table.set_index("arm")
    ledger.add_arm("grey")
    ledger.add_arm("red")
    after = ledger.evidence([*ARMS, "grey"]).table.set_index("arm")
    assert after.loc["grey", "n"] == 0
    assert after.loc[ARMS, "n"].tolist() == before.loc[ARMS, "n"].tolist()
    assert after.loc["red", "estimate"] == pytest.approx(before.loc["red", "estimate"])


def test_arms_that_are_gone_still_count_among_those_that_might_have_been_named() -> None:
    few, many = played("mean", 60), played("mean", 60)
    for number in range(97):
        many.add_arm(f"gone {number}")
    alone, beside = (ledger.evidence(["red", "green"]) for ledger in (few, many))
    assert alone.leader == beside.leader == "green"
    assert alone._verdict is not None
    assert beside._verdict is not None
    assert beside._verdict.need - alone._verdict.need == pytest.approx(np.log(100 / 3))


def test_looking_at_the_closest_rivals_changes_neither_winner_nor_first_sentence() -> None:
    arms = [f"arm {number}" for number in range(12)]
    ledger = played("mean", 400, arms=arms)
    full, quick = ledger.evidence(arms), ledger.evidence(arms, closest=2)
    assert (full.winner, full.sentences[0]) == (quick.winner, quick.sentences[0])
    assert quick.table["evidence"].notna().sum() == 3  # the leader, and two rivals


def test_a_winner_and_its_lift_are_wrong_together_as_rarely_as_promised() -> None:
    """Either the winner of eight arms is not the best, or its lift is less than the sentence says, at any look."""
    wrong, named, truth = 0, 0, 0.6 / 0.3 - 1.0
    for seed in range(100):
        rng, arms = np.random.default_rng(seed), [str(number) for number in range(8)]
        ledger, is_wrong, is_named = Ledger(arms, "mean"), False, False
        for _ in range(40):
            for arm in arms * 4:
                ledger.learn(arm, float(rng.random() < (0.6 if arm == "7" else 0.3)))
            found = ledger.evidence(arms, control="0")
            if found.winner is not None:
                least = found.about(found.winner).lift_low
                assert least < 0.01 or f"at least {np.floor(100.0 * least):.0f}% more than 0." in found.sentences[0]
                is_named, is_wrong = True, is_wrong or found.winner != "7" or least > truth
        named, wrong = named + is_named, wrong + is_wrong
    assert named > 50
    assert wrong <= 5


def test_an_arm_is_close_only_if_every_rival_is() -> None:
    rng, arms = np.random.default_rng(1), [f"arm {number}" for number in range(5)]
    ledger = Ledger(arms, "mean")
    for arm in arms[:4]:
        for reward in rng.random(4000) < 0.5:
            ledger.learn(arm, float(reward))
    assert "hardly matters" in ledger.evidence(arms[:4], eps=0.2, closest=1).sentences[0]
    assert "hardly matters" not in ledger.evidence(arms, eps=0.2, closest=1).sentences[0]  # the fifth has no rewards


@pytest.mark.parametrize("damaged", [b"", b"{}", b'{"goal": "mean", "arms": ["a"]}\nabc', b"\xff\n"])
def test_other_bytes_are_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="no evidence about arms"):
        Ledger.loads(damaged)


@pytest.mark.parametrize("goal", ["mean", "location"])
def test_evidence_is_the_same_whenever_its_code_is_ready(
    goal: str, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, n_calls = played(goal, 150), 0

    def said(moment: int | None) -> str:
        """Return all that is said; code is ready at this call."""
        nonlocal n_calls
        compiler.__init__()  # type: ignore[misc]
        measures._bets_on_means.cache_clear()
        measures._bets_on_quantiles.cache_clear()
        n_calls = 0

        def now(code: ChangingCode) -> Any:
            nonlocal n_calls
            if n_calls == moment:
                compiler.finish()
            n_calls += 1
            return after(code)

        monkeypatch.setattr(ChangingCode, "now", now)
        found = ledger.evidence(ARMS, "red", eps=0.1)
        return repr([found.about(arm) for arm in ARMS]) + str(found)

    after = ChangingCode.now
    never = said(None)
    for moment in range(0, n_calls, 1 + n_calls // 20):
        assert said(moment) == never, moment
    measures._bets_on_means.cache_clear()
    measures._bets_on_quantiles.cache_clear()
