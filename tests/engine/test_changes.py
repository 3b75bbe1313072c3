"""Arms that change: which means hold when, regret against the best arm of each round, and what stays the same."""

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.policies.sliding_window_ucb import SlidingWindowUCB
from heavybandits.engine import arms_game
from heavybandits.protocols import FloatArray, IntArray
from heavybandits.studies.schema import StudyError, StudyFile
from heavybandits.studies.study import Study


class Told(NamedTuple):
    """Sums of the rewards of each arm."""

    total: FloatArray
    pulls: IntArray


class InTurn(NamedTuple):
    """A policy that plays arms in turn."""

    scale: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Told:
        return Told(np.zeros(n_arms), np.zeros(n_arms, np.int64))

    def select(self, state: Told, t: int, rng: Any) -> int:
        return t % len(state.pulls)

    def update(self, state: Told, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        state.total[arm] += self.scale * reward


class Silent:
    """No noise at all."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.zeros(size)


CHANGES = {7: [4.0, 0.0], 3: [0.0, 2.0]}


def regret_by_hand(horizon: int) -> list[float]:
    total, found = 0.0, []
    for t in range(horizon):
        means = [1.0, 0.0] if t < 3 else CHANGES[3] if t < 7 else CHANGES[7]
        total += max(means) - means[t % 2]
        found.append(total)
    return found


@pytest.mark.parametrize("block", [4, 5, 131_072])
def test_regret_is_against_the_best_arm_of_each_round(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """This holds however noise is split into blocks."""
    monkeypatch.setattr(arms_game, "BLOCK_ROUNDS", block)
    instance = hb.Instance([1, 0], Silent(), changes=CHANGES)
    for horizon in (2, 3, 7, 12):
        result = hb.simulate(instance, {"": InTurn()}, horizon=horizon, replications=2, checkpoints="all")
        assert result.regret.to_numpy()[0, 1].tolist() == regret_by_hand(horizon)
        assert result.pulls.to_numpy()[0, 0].sum() == horizon


def test_rewards_are_around_the_means_of_their_round() -> None:
    instance = hb.Instance([1, 0], hb.Gaussian(0.01), changes={500: [9, 5]})
    greedy = {"": SlidingWindowUCB(window=20, width=0.01)}
    regret = hb.simulate(instance, greedy, horizon=1000, replications=3).regret.to_numpy()[0, :, -1]
    stuck = hb.Instance([1, 0], hb.Gaussian(0.01), changes={500: [5, 9]})
    assert (regret < 300).all()
    assert (hb.simulate(stuck, greedy, horizon=1000, replications=3).regret.to_numpy()[0, :, -1] < 600).all()
    assert (hb.simulate(stuck, {"": hb.UCB(c=0.01)}, horizon=1000, replications=3).regret[0, :, -1] > 1500).all()


def test_changes_that_come_too_late_change_nothing() -> None:
    still = hb.Instance([0, 1], hb.Cauchy())
    late = hb.Instance([0, 1], hb.Cauchy(), changes={100: [1, 0]})
    assert still.key != late.key
    assert still != late
    assert list(map(str, late.pieces(100))) == list(map(str, still.pieces(100)))


def test_the_order_of_changes_does_not_matter_and_their_values_do() -> None:
    one = hb.Instance([1, 0], hb.Cauchy(), changes=CHANGES)
    assert one == hb.Instance([1, 0], hb.Cauchy(), changes=dict(sorted(CHANGES.items())))
    assert one != hb.Instance([1, 0], hb.Cauchy(), changes={**CHANGES, 7: [4.0, 0.1]})
    assert one != hb.Instance([1, 0], hb.Cauchy(), changes={3: CHANGES[3], 8: CHANGES[7]})
    assert pickle.loads(pickle.dumps(one)) == one
    assert "changes={3: array([0., 2.]), 7: array([4., 0.])}" in repr(one)
    assert "changes" not in repr(hb.Instance([1, 0], hb.Cauchy()))


def test_there_is_no_limit_for_arms_that_change() -> None:
    assert hb.Instance([1, 0], hb.Gaussian(), changes=CHANGES).lai_robbins(100) is None
    assert hb.Instance([1, 0], hb.Gaussian(), changes={}).lai_robbins(100) is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({0: [1, 0]}, "each round of changes must be a positive whole number, got 0"),
        ({5: [1, 0, 2]}, "must have a mean for each of 2 arms, got 3 means at 5"),
        ({5: [1, float("inf")]}, "means must be finite"),
    ],
)
def test_wrong_changes_are_refused(changes: dict[int, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hb.Instance([0, 1], hb.Gaussian(), changes=changes)


def test_changes_are_a_mapping_and_of_means() -> None:
    with pytest.raises(TypeError, match="changes must be a mapping of rounds to means, got 5"):
        hb.Instance([0, 1], hb.Gaussian(), changes=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="arms given as laws must have none"):
        hb.Instance(laws=[hb.Bernoulli(0.5), hb.Bernoulli(0.4)], changes={5: [1, 0]})


def study(changes: dict[str, Any]) -> Study:
    table = {"means": [1.0, 0.0], "noise": {"kind": "cauchy", "scale": [1.0, 2.0]}, "changes": changes}
    plain = {"study": {"horizon": 9}, "instance": {"x": table}, "policy": {"UCB": {"kind": "ucb"}}}
    return Study("mine", StudyFile.checked("mine", plain))


def test_a_study_file_has_changes_by_round() -> None:
    cases = study({"7": [4.0, 0.0], "3": [0.0, 2.0]}).cases
    assert list(cases) == ["x scale=1", "x scale=2"]
    assert cases["x scale=2"].instance == hb.Instance([1, 0], hb.Cauchy(2.0), changes=CHANGES)


def test_a_study_file_with_wrong_changes_is_refused() -> None:
    with pytest.raises(StudyError, match="got the key 'later'"):
        study({"later": [4.0, 0.0]}).cases  # noqa: B018
