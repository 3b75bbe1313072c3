"""The check of policies: a sound one passes, and each way to break the protocol is caught."""

import math
import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from playing import Means

import heavybandits as hb
from heavybandits.protocols import FloatArray, IntArray

pytestmark = pytest.mark.usefixtures("silent")


class Sound(NamedTuple):
    """Follow the leader, which keeps to the protocol."""

    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.full(n_arms, self.start))

    def select(self, state: Any, t: int, rng: Any) -> int:
        best = 0
        for arm in range(len(state.mean)):
            if state.mean[arm] > state.mean[best]:
                best = arm
        return best

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        state.mean[arm] += (min(max(reward, -1e6), 1e6) - state.mean[arm]) / state.pulls[arm]


def test_a_sound_policy_passes() -> None:
    hb.check_policy(Sound())


class NoNamedTuple:
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)


class NoParameters(NamedTuple):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)


class ChangesItsParameters(NamedTuple):
    weights: list[float]

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        self.weights[0] += reward


class NoUpdate(NamedTuple):
    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0


class SelectsTooHigh(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return len(state.mean)


class SelectsNegative(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return -1


class SelectsFloat(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0.0  # type: ignore[return-value]


class SelectsNothing(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return None  # type: ignore[return-value]


SHARED = {n_arms: np.zeros(n_arms) for n_arms in range(1, 100)}


class SharesItsState(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), SHARED[n_arms])


class StartsAtRandom(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.random.default_rng().random(n_arms))


class NumberInState(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(0, np.zeros(n_arms))  # type: ignore[arg-type]


class ObjectsInState(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, object), np.zeros(n_arms))


class TypeDependsOnArms(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64 if n_arms < 4 else np.int32), np.zeros(n_arms))


class OddShape(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.zeros(n_arms + 1))


class SilentAboutHorizon(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        if horizon is None:
            raise ValueError("something is missing")
        return super().init(n_arms, horizon)


class NeedsALongHorizon(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.full(n_arms, 1 / math.log(horizon or 2)))


class DrawsFromNumPy(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(np.random.randint(len(state.mean)))  # noqa: NPY002


class DrawsFromPython(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        random.random()


class DrawsItsOwn(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(np.random.default_rng().integers(len(state.mean)))


CALLS: list[int] = []


class RemembersElsewhere(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        CALLS.append(t)
        return len(CALLS) // 7 % len(state.mean)


class MeanOfInfinities(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        state.mean[arm] += (reward - state.mean[arm]) / state.pulls[arm]

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(t % len(state.mean))


class ValueIsNaN(Sound):
    def value(self, state: Any, arm: int) -> float:
        return math.nan if state.pulls[arm] and abs(state.mean[arm]) > 1e4 else float(state.mean[arm])


class IndexIsNaN(Sound):
    def index_of(self, state: Any, arm: int, t: int) -> float:
        return math.nan if state.pulls[arm] and abs(state.mean[arm]) > 1e4 else float(state.mean[arm])


class KeepsRewardsUpToTheHorizon(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.zeros((n_arms, 1000 if horizon is None else horizon)))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.mean[arm, state.pulls[arm]] = reward
        state.pulls[arm] += 1


class Follower(NamedTuple):
    """Means, and the arm to stay with."""

    mean: FloatArray
    at: IntArray


class StaysWhereItWas(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Follower(np.zeros(n_arms), np.array([n_arms - 1]))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(state.at[0])

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.mean[arm] = min(max(reward, -1e6), 1e6)


class Doors(NamedTuple):
    """A state that claims that some arms may be closed."""

    pulls: IntArray
    mean: FloatArray
    open: Any


class IgnoresClosedArms(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Doors(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.ones(n_arms, np.bool_))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0


class NeverAskedUpdatesFail(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        if state.pulls.sum() == 0 and arm != 0:
            raise KeyError(arm)
        state.pulls[arm] += 1
        state.mean[arm] = 0.0


class CannotBeCompiled(NamedTuple):
    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(sorted(state.pulls.tolist())[0] % len(state.pulls))

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class AddsInAnotherOrder(NamedTuple):
    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(1, np.int64), np.zeros(64))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[0] += 1
        state.mean[state.pulls[0] % 63] = min(max(reward, -10.0), 10.0)
        state.mean[63] = np.sum(state.mean[:63])


BROKEN: list[tuple[Any, str]] = [
    (NoNamedTuple(), "must be a NamedTuple of parameters"),
    (NoParameters(), "must have at least one parameter"),
    (ChangesItsParameters([1.0]), "must have parameters that cannot change"),
    (NoUpdate(), "must have a method update"),
    (SelectsTooHigh(), "select must return an arm, a whole number from 0 to 0, got 1"),
    (SelectsNegative(), "select must return an arm, a whole number from 0 to 0, got -1"),
    (SelectsFloat(), r"select must return an arm, a whole number from 0 to 0, got 0\.0"),
    (SelectsNothing(), "select must return an arm, a whole number from 0 to 0, got None"),
    (SharesItsState(), "init must make a fresh state.mean each time"),
    (StartsAtRandom(), "init must make the same state.mean each time"),
    (NumberInState(), "state.pulls must be an array"),
    (ObjectsInState(), "state.pulls must hold numbers or booleans, not object"),
    (TypeDependsOnArms(), "the type of state.pulls must not depend on the number of arms"),
    (OddShape(), "state.mean must have a row per arm, or always the same shape"),
    (SilentAboutHorizon(), "init without a horizon must work, or raise a ValueError that names it"),
    (NeedsALongHorizon(), "must not raise ZeroDivisionError"),
    (DrawsFromNumPy(), "must choose the same arms when it is given the same rewards and seed"),
    (DrawsFromPython(), "must draw random numbers from rng, not from a global generator"),
    (DrawsItsOwn(), "must choose the same arms when it is given the same rewards and seed"),
    (RemembersElsewhere(), "must choose the same arms when it is given the same rewards and seed"),
    (MeanOfInfinities(), "state.mean must not be NaN after infinite rewards"),
    (ValueIsNaN(), "value must not be NaN after infinite rewards"),
    (IndexIsNaN(), "index_of must not be NaN after infinite rewards"),
    (KeepsRewardsUpToTheHorizon(), "must not raise IndexError"),
    (StaysWhereItWas(), "select must return an arm, a whole number from 0 to 2, got 3"),
    (IgnoresClosedArms(), "select must keep to the open arms 1 and 2, got 0"),
    (NeverAskedUpdatesFail(), "must not raise KeyError"),
    (CannotBeCompiled(), "must compile"),
    (AddsInAnotherOrder(), r"state\.mean must come out the same compiled and interpreted"),
]


@pytest.mark.parametrize(("policy", "message"), BROKEN, ids=[type(policy).__name__ for policy, _ in BROKEN])
def test_each_broken_policy_is_caught(policy: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{type(policy).__name__}.*({message})"):
        hb.check_policy(policy, horizon=60)
