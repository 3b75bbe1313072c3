"""What a policy declares: its kind, and whether it draws random numbers."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits import testing
from heavybandits.protocols import IntArray, is_randomised, kind_of


class Count(NamedTuple):
    pulls: IntArray


class Steady(NamedTuple):
    """A policy that does not draw, and declares nothing."""

    inner: Any = None

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Count(np.zeros(n_arms, np.int64))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return t % len(state.pulls)

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class Around(Steady):
    """A policy that passes its generator on."""

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(self.inner.select(state, t, rng))


class Silent(Steady):
    """A policy that draws without saying so."""

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(rng.random() < 0.5)


@hb.compilable
def coin(generator: Any) -> int:
    return int(generator.random() < 0.5)


class SilentByHelper(Steady):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return coin(rng)


@hb.policy(randomised=True)
class Draws(Silent):
    """A policy that says that it draws."""


@hb.policy(randomised=True)
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


@pytest.mark.parametrize(
    ("policy", "draws"),
    [
        (Steady(), False), (Silent(), False), (Draws(), True), (Around(Steady()), False), (Around(Draws()), True),
        (Around(Around(Draws())), True), (EpsilonGreedy(hb.UCB()), True), (hb.UCB(), False),
        (hb.make("sgd-ucb"), False), (hb.Restarting(hb.UCB()), False), (hb.Restarting(hb.ThompsonGaussian()), True),
        (hb.MeanOfMedians(hb.ThompsonGaussian()), True),
    ],
    ids=repr,
)  # fmt: skip
def test_a_policy_gets_a_generator_if_it_or_the_policy_inside_says_that_it_draws(policy: Any, draws: bool) -> None:
    assert is_randomised(policy) == draws


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Silent(), SilentByHelper()])
def test_drawing_without_saying_so_is_a_clear_error(policy: Any) -> None:
    advice = r"says so: @hb\.policy\(randomised=True\)"
    with pytest.raises(TypeError, match=advice):
        hb.simulate(hb.env1(hb.Cauchy()), {"p": policy}, horizon=10, replications=1)
    with pytest.raises(TypeError, match=advice):
        hb.Agent(policy, n_arms=2).select()
    with pytest.raises(AssertionError, match=advice):
        hb.check_policy(policy, horizon=40)


def test_the_checks_refuse_a_policy_that_draws_if_it_can_without_saying_so() -> None:
    class Sneaky(Steady):
        def select(self, state: Any, t: int, rng: Any) -> int:
            return t % len(state.pulls) if rng is None else coin(rng) % len(state.pulls)

    with pytest.raises(AssertionError, match=r"Sneaky.select must not draw random numbers: .*randomised=True"):
        testing.check_policy(Sneaky(), horizon=40)


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


def test_a_policy_is_for_arms_unless_it_says_otherwise() -> None:
    assert kind_of(Steady()) == "arms"
    with pytest.raises(TypeError, match=r"got one of kind 'arms'.*says so: @hb\.policy\(kind='linear'\)"):
        hb.LinearAgent(Steady(), n_features=2)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="kind must be one of arms, linear, lipschitz, got 'quadratic'"):
        hb.policy(kind="quadratic")
