"""Which policies get a generator: all but those whose code shows that they do not draw."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits import testing
from heavybandits.jit.randomness import uses_rng
from heavybandits.protocols import IntArray


class Count(NamedTuple):
    pulls: IntArray


class Steady(NamedTuple):
    """A policy that does not draw."""

    inner: Any = None

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t % len(state.pulls)

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class Around(Steady):
    """A policy that only passes its generator on."""

    def select(self, state: Any, t: int, rng: Any) -> int:
        if t < 0:
            return 0
        return int(self.inner.select(state, t, rng))


class OtherName(Around):
    def select(self, state: Any, t: int, generator: Any) -> int:
        return int(self.inner.select(state, t, generator))


class EpsilonGreedy(NamedTuple):
    """A policy that draws, though the policy inside does not."""

    policy: Any
    epsilon: float = 0.5

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return self.policy.init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        arm = self.policy.select(state, t, rng)
        return rng.integers(0, len(state.pulls)) if rng.random() < self.epsilon else arm  # type: ignore[no-any-return]

    def update(self, state: Any, arm: int, reward: float) -> None:
        self.policy.update(state, arm, reward)


class Draws(Steady):
    def select(self, state: Any, t: int, generator: Any) -> int:
        return int(generator.random() < 0.5)


@hb.compilable
def coin(generator: Any) -> int:
    return int(generator.random() < 0.5)


class ByHelper(Steady):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return coin(rng)


class ByMethod(Steady):
    def toss(self, source: Any) -> int:
        return coin(source)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return self.toss(rng)


class ByVariable(Steady):
    def select(self, state: Any, t: int, rng: Any) -> int:
        source = rng
        return int(source.random() < 0.5)


class ByComprehension(Steady):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(sum([rng.random() for _ in range(2)]) < 1.0)


class ByLambda(Steady):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return (lambda: int(rng.random() < 0.5))()


class ByManyArguments(Steady):
    def select(self, state: Any, *rest: Any) -> int:
        return coin(rest[1])


class ByLocals(Steady):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return coin(locals()["rng"])


class ByKeyword(Around):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(self.inner.select(state, t, rng=rng))


class Twice(Around):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(self.inner.select(state, t, rng)) + coin(rng)


class OtherSelf(Around):
    def select(self, state: Any, t: int, rng: Any) -> int:
        self = OtherSelf(Draws())
        return int(self.inner.select(state, t, rng))


@pytest.mark.parametrize(
    "policy",
    [Steady(), Around(Steady()), OtherName(Steady()), Around(Around(Steady())), hb.UCB(), hb.make("sgd-ucb"),
     hb.MeanOfMedians(hb.UCB())],
    ids=lambda policy: type(policy).__name__,
)  # fmt: skip
def test_a_policy_that_shows_it_does_not_draw_gets_no_generator(policy: Any) -> None:
    assert not uses_rng(policy)


@pytest.mark.parametrize(
    "policy",
    [Draws(), ByHelper(), ByMethod(), ByVariable(), ByComprehension(), ByLambda(), ByManyArguments(), ByLocals(),
     ByKeyword(Steady()), Twice(Steady()), OtherSelf(Steady()), Around(Draws()), OtherName(Around(ByHelper())),
     EpsilonGreedy(Steady()), EpsilonGreedy(hb.UCB()), hb.ThompsonGaussian(), hb.MeanOfMedians(hb.ThompsonGaussian())],
    ids=lambda policy: type(policy).__name__,
)  # fmt: skip
def test_in_doubt_a_policy_gets_a_generator(policy: Any) -> None:
    assert uses_rng(policy)


def test_source_that_is_not_what_was_imported_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hidden(Around):
        def select(self, state: Any, t: int, rng: Any) -> int:
            return coin(rng) + int(self.inner.select(state, t, rng))

    source = "def select(self, state, t, rng):\n    return int(self.inner.select(state, t, rng))\n"
    monkeypatch.setattr("inspect.getsource", lambda _: source)
    assert uses_rng(Hidden(Steady()))


@pytest.mark.slow
def test_epsilon_greedy_passes_the_checks_and_explores() -> None:
    testing.check_policy(EpsilonGreedy(Steady()), horizon=40)
    policies = {"p": EpsilonGreedy(hb.UCB())}
    result = hb.simulate(hb.Instance([0, 100], hb.Gaussian()), policies, horizon=200, replications=1)
    assert result.pulls.values[0, 0, 0] > 20  # UCB alone pulls the bad arm once


@pytest.mark.slow
def test_an_agent_shows_no_index_of_a_policy_around_another_that_has_none_itself() -> None:
    agent = hb.Agent(EpsilonGreedy(hb.UCB()), 2, seed=0)
    agent.update(0, 3.0)
    assert agent.estimates["estimate"][0] == 3.0
    assert agent.estimates["index"].isna().all()


def test_the_checks_refuse_a_policy_that_draws_when_it_should_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sneaky(Steady):
        def select(self, state: Any, t: int, rng: Any) -> int:
            return t % len(state.pulls) if rng is None else coin(rng) % len(state.pulls)

    monkeypatch.setattr("heavybandits.testing.common.uses_rng", lambda _: False)
    with pytest.raises(AssertionError, match=r"Sneaky.select must not draw random numbers: its code"):
        testing.check_policy(Sneaky(), horizon=40)
