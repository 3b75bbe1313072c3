"""Auto-mean: indices against a slow reference, invariances, hard rewards, arms that come and go."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playing import seeds
from scipy.special import lambertw

import heavybandits as hb
from heavybandits.algorithms.level_sets.mean_sets import left_root, right_root, upper_mean
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

AUTO_MEAN = hb.make("auto-mean")


class Reference:
    """The recipe, slowly: all rewards are kept, moments computed from them, and bounds found by bisection."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms, self.t, self.due = n_arms, 0, float(n_arms)
        self.own: list[list[float]] = [[] for _ in range(n_arms)]
        self.top: list[tuple[float, int]] = []  # the highest rewards and their arms, ascending
        self.bottom: list[tuple[float, int]] = []  # the lowest and their arms, descending
        self.variance, self.jump = 0.0, 0.0
        self.index = [math.inf] * n_arms
        self.rewards: list[float] = []

    def update(self, arm: int, reward: float) -> None:
        all_equal = len(set(self.rewards)) <= 1
        self.rewards.append(reward)
        self.t += 1
        room = min(40, self.t // 10)
        if room and (not self.top or reward > self.top[0][0]):
            self.top.append((reward, arm))
            self.top.sort(key=lambda entry: entry[0])
            if len(self.top) > room:
                self._to_own(*self.top.pop(0))
        elif room and (not self.bottom or reward < self.bottom[0][0]):
            self.bottom.append((reward, arm))
            self.bottom.sort(key=lambda entry: -entry[0])
            if len(self.bottom) > room:
                self._to_own(*self.bottom.pop(0))
        else:
            self._to_own(reward, arm)
        if self.t >= self.due or (all_equal and len(set(self.rewards)) == 2 and self.t >= self.n_arms):
            self.due = max(1.1 * self.t, self.t + self.n_arms)
            self._pool()
            for other in range(self.n_arms):
                if self._sample(other).size:
                    self.index[other] = self._index(other)
        else:
            self.index[arm] = self._index(arm)

    def _to_own(self, reward: float, arm: int) -> None:
        self.own[arm].append(reward)

    def _sample(self, arm: int) -> FloatArray:
        shared = [
            float(np.mean([value for value, _ in entries]))
            for entries in (self.top, self.bottom)
            for _, owner in entries
            if owner == arm
        ]
        return np.array(self.own[arm] + shared)

    def _moments(self, arm: int) -> tuple[int, float, float, float]:
        sample = self._sample(arm)
        deviations = sample - sample.mean()
        return len(sample), float(sample.mean()), float((deviations**2).mean()), float((deviations**3).mean())

    def _pool(self) -> None:
        found = [self._moments(arm) for arm in range(self.n_arms) if self._sample(arm).size]
        second, third = (sum(row[0] * row[k] for row in found) for k in (2, 3))
        freedom = sum(row[0] - 1 for row in found)
        if freedom < 5 or second == 0:
            means = np.array([row[1] for row in found])
            second += ((means - means.mean()) ** 2).sum()
            third += ((means - means.mean()) ** 3).sum()
            freedom += max(len(found) - 1, 1)
        self.variance, self.jump = second / freedom, third / second if second > 0 else 0.0

    def _index(self, arm: int) -> float:
        n, mean, v, third = self._moments(arm)
        if self.variance == 0:
            return -n
        v, jump = (
            (n * v + self.variance) / (n + 1),
            (n * third + 2 * self.variance * self.jump) / (n * v + 2 * self.variance),
        )
        sd = math.sqrt(v)
        if jump < sd:
            jump = sd + n / (n + 20) * (jump - sd)
        if abs(jump) < 1e-3 * sd:
            jump = 1e-3 * sd
        level = math.log(1 + 8 / self.n_arms * (1 + self.t / (self.n_arms * n)))
        level = (n + 1) / 2 * (math.exp(2 * level / (n + 1)) - 1)
        rate = v / jump**2

        def excess(z: float) -> float:
            return (z - math.log1p(z) if jump > 0 else math.exp(z) * (z - 1) + 1) - level / (n * rate)

        low, high = 0.0, 1.0
        while excess(high) < 0:
            high *= 2
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if excess(middle) > 0 else (middle, high)
        return mean + abs(jump) * rate * low


def stream(kind: str, seed: int, rounds: int = 400, n_arms: int = 3) -> FloatArray:
    """Return rewards of every arm in every round, on a dyadic grid so that offsets cause no rounding."""
    rng, shape = np.random.default_rng(seed), (rounds, n_arms)
    rising = np.linspace(1.0, 2.0, n_arms)
    if kind == "coins":
        return (rng.random(shape) < rising / 4).astype(float)
    table = {
        "normal": rising + rng.standard_normal(shape),
        "left": -rising * rng.standard_exponential(shape),
        "orders": np.where(rng.random(shape) < 0.1, rising * np.exp(rng.standard_normal(shape)), 0.0),
        "student": rising + rng.standard_t(2.5, shape),
    }[kind]
    return np.asarray(np.round(table * 2**16) / 2**16)


KINDS = ["coins", "normal", "left", "orders", "student"]


def arms_played(rewards: FloatArray) -> list[int]:
    """Return the arms that the interpreted policy chooses; round t pays ``rewards[t, arm]``."""
    state, arms = AUTO_MEAN.init(rewards.shape[1], None), []
    for t, row in enumerate(rewards):
        arms.append(AUTO_MEAN.select(state, t, None))
        AUTO_MEAN.update(state, arms[-1], float(row[arms[-1]]))
    return arms


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_indices_are_those_of_the_recipe(kind: str) -> None:
    """They agree for arms that the policy plays, and for one that gets many rewards unasked."""
    n_arms = 4
    rewards = stream(kind, 1, n_arms=n_arms)
    state, slow = AUTO_MEAN.init(n_arms, None), Reference(n_arms)
    for t, row in enumerate(rewards):
        arm = AUTO_MEAN.select(state, t, None) if t % 3 else 2
        AUTO_MEAN.update(state, arm, row[arm])
        slow.update(arm, row[arm])
        if slow.variance > 0:
            quick = [AUTO_MEAN.index_of(state, other, t) for other in range(n_arms)]
            assert quick == pytest.approx(slow.index, rel=1e-7, abs=1e-7)
    means = [AUTO_MEAN.value(state, arm) for arm in range(n_arms)]
    assert means == pytest.approx([slow._moments(arm)[1] for arm in range(n_arms)], abs=0.02)
    assert len(slow.top) > 10 or kind == "coins"


@settings(max_examples=300, derandomize=True)
@given(st.floats(-20, 6))
@example(math.log10(0.045))
@example(math.log10(0.005))
def test_roots_are_exact(exponent: float) -> None:
    """They agree with the branches of Lambert's function, or with series where those lose digits."""
    y = 10.0**exponent
    s = math.sqrt(2 * y)
    if s < 1e-4:
        right, left = s + s * s / 3, s - s * s / 3
    else:
        right = float(-lambertw(-math.exp(-1 - y), -1).real - 1) if y < 600 else y + math.log(y + math.log(y) + 1)
        left = float(1 + lambertw((y - 1) / math.e, 0).real)
    assert right_root(y) == pytest.approx(right, rel=1e-7 if y < 600 else 1e-4)
    assert left_root(y) == pytest.approx(left, rel=1e-7)


@pytest.mark.parametrize("jump", [-3.0, 0.0, 0.5, 1.0, 2.0])
def test_a_jump_below_one_deviation_is_pulled_up_to_it(jump: float) -> None:
    """So says the docstring of the policy, also of symmetric rewards; here the variance of all arms is 1."""
    n, level = 30.0, 2.0
    believed = (n * jump + 20.0) / (n + 20.0) if jump < 1.0 else jump
    adjusted = (n + 1) / 2 * math.expm1(2 * level / (n + 1))
    root = right_root if believed > 0.0 else left_root
    expected = abs(1 / believed) * root(adjusted / n * believed**2)
    assert upper_mean(0.0, 1.0, jump, n, 1.0, jump, level) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("root", "switch"), [(right_root, 0.045), (left_root, 0.005)])
def test_series_and_steps_agree(root: Any, switch: float) -> None:
    below, above = root(switch * (1 - 1e-12)), root(switch * (1 + 1e-12))
    assert above == pytest.approx(below, rel=1e-10)


@settings(max_examples=10, derandomize=True)
@given(seeds, st.sampled_from(KINDS), st.integers(-900, 900))
def test_powers_of_two_change_nothing(seed: int, kind: str, exponent: int) -> None:
    rewards = stream(kind, seed, 200)
    assert arms_played(rewards) == arms_played(np.ldexp(rewards, exponent))


@settings(max_examples=10, derandomize=True)
@given(seeds, st.sampled_from(["normal", "student"]))
def test_rewards_farther_apart_than_the_largest_number(seed: int, kind: str) -> None:
    """Their differences overflow; choices, means and indices do not."""
    rewards = stream(kind, seed, 200)
    rewards = np.ldexp(rewards, -math.frexp(np.abs(rewards).max())[1])  # the largest lies between 1/2 and 1
    huge = np.ldexp(rewards, 1024)
    assert huge.max() > 0 > huge.min()
    assert arms_played(rewards) == arms_played(huge)
    small, large = AUTO_MEAN.init(1, None), AUTO_MEAN.init(1, None)
    for row in rewards:
        AUTO_MEAN.update(small, 0, float(row[0]))
        AUTO_MEAN.update(large, 0, math.ldexp(row[0], 1024))
    assert AUTO_MEAN.value(large, 0) == pytest.approx(math.ldexp(AUTO_MEAN.value(small, 0), 1024))


@settings(max_examples=15, derandomize=True)
@given(seeds, st.sampled_from(KINDS), st.sampled_from([1024.0, 3.7, 1e-9]), st.sampled_from([0.0, 1e9, -1e6]))
def test_units_and_offsets_change_nothing(seed: int, kind: str, factor: float, offset: float) -> None:
    rewards = stream(kind, seed, 200)
    changed = rewards * factor if offset == 0.0 else rewards + offset
    assert arms_played(rewards) == arms_played(changed)


@settings(max_examples=10, derandomize=True)
@given(seeds, st.sampled_from(["normal", "left", "student"]))
def test_the_order_of_the_arms_does_not_matter(seed: int, kind: str) -> None:
    """Only who comes first would matter, so all arms get one reward in advance."""
    rewards = stream(kind, seed, 200)
    played = []
    for order in ([0, 1, 2], [2, 0, 1]):
        state = AUTO_MEAN.init(3, None)
        for arm in range(3):
            AUTO_MEAN.update(state, order.index(arm), rewards[0, arm])
        names = []
        for t in range(1, len(rewards)):
            slot = AUTO_MEAN.select(state, t + 2, None)
            names.append(order[slot])
            AUTO_MEAN.update(state, slot, rewards[t, order[slot]])
        played.append(names)
    assert played[0] == played[1]


@pytest.mark.parametrize("value", [0.0, 7.5, -1e308])
def test_equal_rewards_are_played_in_turn(value: float) -> None:
    assert arms_played(np.full((30, 3), value)) == [0, 1, 2] * 10


def test_constant_arms_that_differ() -> None:
    assert arms_played(np.tile([1.0, 3.0, 2.0], (200, 1))).count(1) > 180


def test_an_arm_that_paid_nothing_so_far_is_tried_again_beside_a_constant_one() -> None:
    """It may pay rarely but much: however often the other pays the same, it is tried again, if ever less often."""
    tried = [t for t, arm in enumerate(arms_played(np.tile([1.0, 0.0], (6_000, 1)))) if arm == 1]
    assert 5 <= sum(t < 1_000 for t in tried) < len(tried) < 12


@pytest.mark.parametrize("wild", [math.inf, -math.inf, 1e308, -1e308])
def test_wild_rewards_leave_the_state_finite(wild: float) -> None:
    """They come early, late and with opposite signs; afterwards arms are still told apart by ordinary rewards."""
    state = AUTO_MEAN.init(3, None)
    rng = np.random.default_rng(0)
    for t in range(300):
        arm = AUTO_MEAN.select(state, t, None)
        AUTO_MEAN.update(state, arm, wild if t in (0, 5, 100) else -wild if t == 200 else arm + rng.normal())
        for where, array in arrays(state.moments):
            assert np.isfinite(array).all(), where
    assert all(math.isfinite(AUTO_MEAN.index_of(state, arm, 300)) for arm in range(3))


def test_an_infinite_first_reward_sets_no_unit() -> None:
    rewards = [math.inf, *np.random.default_rng(1).normal(size=50)]
    state = AUTO_MEAN.init(2, None)
    for reward in rewards:
        AUTO_MEAN.update(state, 0, reward)
    for reward in rewards[1:]:
        AUTO_MEAN.update(state, 1, reward + 10)
    assert 0.1 < state.moments.unit[0] < 10
    assert AUTO_MEAN.value(state, 1) == pytest.approx(10, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("chances", [(0.02, 0.06), (0.06, 0.02)])
def test_the_better_coin_gets_nearly_all_pulls(chances: tuple[float, float]) -> None:
    instance = hb.Instance(list(chances), [_Coin(chance) for chance in chances])
    result = hb.simulate(instance, {"auto-mean": AUTO_MEAN}, horizon=20_000, replications=40)
    assert result.pulls[0, :, instance.best_arm].mean() >= 0.98 * 20_000


def test_arms_come_and_go() -> None:
    """Arms that stay keep their means, even if extreme rewards of a removed arm were shared."""
    agent = hb.Agent(AUTO_MEAN, arms=["a", "b", "c"])
    rng = np.random.default_rng(2)
    for arm, centre in (("a", 0.0), ("b", 100.0), ("c", 1.0)):
        agent.update_many([arm] * 200, (centre + rng.normal(size=200)).tolist())
    agent.remove_arm("b")
    state = agent._state
    assert state.moments.listed.sum(axis=0).tolist() == state.moments.extremes.size.tolist()
    assert (state.moments.extremes.arms < 2).all()
    agent.add_arm("d")
    assert agent.select() == "d"
    for _ in range(300):
        arm = agent.select()
        agent.update(arm, {"a": 0.0, "c": 1.0, "d": 3.0}[arm] + rng.normal())
    assert agent.pulls["d"] > 250
    assert AUTO_MEAN.value(agent._state, agent.arms.index("c")) == pytest.approx(1.0, abs=0.2)


def test_a_choice_among_some_arms() -> None:
    agent = hb.Agent(AUTO_MEAN, n_arms=3)
    agent.update_many(
        [0] * 50 + [1] * 50 + [2] * 50, [*np.linspace(0, 1, 50), *np.linspace(1, 2, 50), *np.linspace(3, 4, 50)]
    )
    assert agent.select() == 2
    assert agent.select(among=[0, 1]) == 1
    assert agent.select() == 2


def test_a_saved_agent_decides_as_it_would_have(tmp_path: Any) -> None:
    agent, rewards = hb.Agent(AUTO_MEAN, n_arms=3), stream("orders", 3)
    for row in rewards[:200]:
        arm = agent.select()
        agent.update(arm, row[arm])
    agent.save(tmp_path / "agent.hb")
    again = hb.Agent.load(tmp_path / "agent.hb")
    for row in rewards[200:]:
        arm = agent.select()
        assert again.select() == arm
        agent.update(arm, row[arm])
        again.update(arm, row[arm])


class _Coin:
    def __init__(self, chance: float) -> None:
        self.chance = chance

    def __repr__(self) -> str:
        return f"Coin({self.chance})"

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.asarray((rng.random(size) < self.chance) - self.chance)
