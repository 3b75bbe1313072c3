"""Late rewards in the simulator, against agents that are told the same at the same time."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heavybandits as hb
from heavybandits.algorithms.parts.choice.ftrl import Draws, init_draws
from heavybandits.algorithms.parts.choice.pending import Pending, find_pending
from heavybandits.engine.arms_game import draw_noise
from heavybandits.engine.checkpoints import checkpoint_rounds
from heavybandits.engine.late_arms_game import LateArmsGame
from heavybandits.engine.late_linear_game import LateLinearGame
from heavybandits.engine.loop import Run, play_chunk
from heavybandits.engine.streams import generator, stream_key
from heavybandits.protocols import FloatArray, IntArray
from heavybandits.studies.schema import StudyError, StudyFile
from heavybandits.studies.study import Study
from heavybandits.world.delays import Delays

INSTANCE = hb.Instance(means=[0.4, 0.0, 1.0, 0.7], noise=hb.StudentT(2.0))
HORIZON = 400


@pytest.mark.parametrize("name", ["auto", "auto-mean", "ucb", "tsallis-inf", "thompson-gaussian", "kl-ucb"])
def test_without_delay_nothing_changes_to_the_last_bit(name: str) -> None:
    policy, rounds = hb.make(name), checkpoint_rounds(HORIZON, "all")
    game = LateArmsGame(INSTANCE, Delays(0, 0.0, None))
    regret, pulls, _ = play_chunk(game, [Run(game, policy, HORIZON, rounds, 3)], HORIZON, 3, range(3))
    plain = hb.simulate(INSTANCE, {name: policy}, horizon=HORIZON, replications=3, seed=3, checkpoints="all")
    assert_array_equal(plain.regret.to_numpy(), regret)
    assert_array_equal(plain.pulls.to_numpy(), pulls)


def arms_of_an_agent(policy: Any, delays: Delays, seed: int, replication: int) -> list[int]:
    """Return the decisions of an agent that learns from each reward when it comes, and gives decisions up in time."""
    due = delays.due(generator(stream_key(seed, INSTANCE.key, "delay"), replication), HORIZON)
    noise = draw_noise(INSTANCE, generator(stream_key(seed, INSTANCE.key), replication), HORIZON)
    window = HORIZON if delays.window is None else delays.window
    agent = hb.Agent(policy, n_arms=INSTANCE.n_arms, horizon=HORIZON)
    chosen: list[int] = []
    if agent._rng is not None:
        agent._rng = generator(stream_key(seed, INSTANCE.key, repr(policy)), replication)
    for t in range(HORIZON):
        for decision in np.flatnonzero(due == t).tolist():
            arm = chosen[decision]
            in_time = t - decision - 1 <= window
            agent.update(arm, INSTANCE.means[arm] + noise[decision, arm], selected=in_time)
        if t > window and due[t - 1 - window] > t:
            agent.cancel(chosen[t - 1 - window])
        chosen.append(agent.select())
    return chosen


@pytest.mark.parametrize(
    "delays",
    [
        Delays(7, 0.0, None),
        Delays(hb.Batches(30), 0.0, None),
        Delays(hb.Pareto(1.1, scale=5.0), 0.0, None),
        Delays(hb.Exponential(20.0), lost=0.3, window=15),
    ],
    ids=["constant", "batches", "heavy-tailed", "lost, with a window"],
)
@pytest.mark.parametrize(
    "policy", [hb.UCB(), hb.make("auto"), hb.MeanOfMedians(hb.UCB())], ids=["ucb", "auto", "groups"]
)
def test_decisions_are_those_of_an_agent(policy: Any, delays: Delays) -> None:
    seed, replications = 5, 2
    result = hb.simulate(
        INSTANCE, {"": policy}, horizon=HORIZON, replications=replications, seed=seed, checkpoints="all",
        delay=delays.delay, lost=delays.lost, window=delays.window,
    )  # fmt: skip
    for replication in range(replications):
        arms = arms_of_an_agent(policy, delays, seed, replication)
        expected = np.cumsum(INSTANCE.gaps[arms])
        assert_array_equal(result.regret.to_numpy()[0, replication], expected)


def test_randomised_decisions_are_those_of_an_agent() -> None:
    delays = Delays(9, 0.0, None)  # in order, as an agent takes them
    result = hb.simulate(INSTANCE, {"": hb.TsallisINF()}, horizon=HORIZON, replications=1, seed=2, delay=9)
    arms = arms_of_an_agent(hb.TsallisINF(), delays, 2, 0)
    assert_array_equal(result.pulls.to_numpy()[0, 0], np.bincount(arms, minlength=INSTANCE.n_arms))


class Clock:
    """Noise that is the number of the round."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.arange(size, dtype=float)


class SpyState(NamedTuple):
    draws: Draws
    round: IntArray
    wrong: FloatArray  # array of length one: how far told probabilities are from those of their decisions
    told: IntArray


class Spy(NamedTuple):
    """A policy that gives each decision its own probability, and compares it with the one it is told later."""

    shift: float = 2.0

    def init(self, n_arms: int, horizon: int | None) -> SpyState:
        return SpyState(init_draws(n_arms, 1.0), np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64))

    def select(self, state: SpyState, t: int, rng: Any) -> int:
        state.draws.awaited[0] = 1.0 / (self.shift + state.round[0])
        state.round[0] += 1
        return 0

    def update(self, state: SpyState, arm: int, reward: float) -> None:
        state.wrong[0] += abs(state.draws.awaited[arm] - 1.0 / (self.shift + reward))
        state.told[0] += 1


def test_a_reward_comes_with_the_probability_of_its_own_decision() -> None:
    instance, rounds = hb.Instance(means=[0.0, 0.0], noise=Clock()), np.array([HORIZON])
    game = LateArmsGame(instance, Delays(hb.Exponential(20.0), 0.0, None))
    run = Run(game, Spy(), HORIZON, rounds, 0)
    progress = run.begin(0, run.memory())
    for start, block in game.blocks(0, 0, HORIZON):
        run.advance(progress, start, block)
    state = progress[0].inner
    assert state.told[0] > HORIZON / 2
    assert state.wrong[0] == 0.0


def test_delays_do_not_depend_on_workers_or_company() -> None:
    options: dict[str, Any] = {"horizon": 300, "replications": 6, "delay": hb.Exponential(30.0), "lost": 0.1}
    both = hb.simulate(INSTANCE, {"a": hb.UCB(), "b": hb.UCB(), "c": hb.make("auto")}, workers=3, **options)
    alone = hb.simulate(INSTANCE, {"a": hb.UCB()}, workers=1, **options)
    assert_array_equal(both.regret.sel(policy="a"), alone.regret.sel(policy="a"))
    assert_array_equal(both.regret.sel(policy="b"), alone.regret.sel(policy="a"))


def test_replications_and_seeds_have_delays_of_their_own() -> None:
    game = LateArmsGame(INSTANCE, Delays(hb.Exponential(30.0), 0.0, None))

    def dealt(seed: int, replication: int) -> list[int]:
        ((_, (*_, arrivals)),) = game.blocks(seed, replication, 50)
        return list(arrivals.due)

    assert dealt(0, 0) == dealt(0, 0)
    assert dealt(0, 0) != dealt(0, 1)
    assert dealt(0, 0) != dealt(1, 0)


def test_arms_that_change_may_have_late_rewards() -> None:
    instance = hb.Instance([0, 1], hb.Gaussian(), changes={100: [1, 0]})
    result = hb.simulate(instance, {"": hb.UCB()}, horizon=200, replications=2, delay=1000, checkpoints="all")
    arms = np.arange(200) % 2  # no reward ever comes, so arms take turns
    gaps = np.where(arms == (np.arange(200) < 100), 0.0, 1.0)
    assert_array_equal(result.regret.to_numpy()[0, 0], np.cumsum(gaps))


def test_delays_of_points_are_refused() -> None:
    instance = hb.LipschitzInstance("peak", hb.Gaussian())
    with pytest.raises(ValueError, match="delay and lost must be 0 except for an Instance or a LinearInstance"):
        hb.simulate(instance, {"": hb.make("lipschitz-auto")}, horizon=10, replications=1, delay=3)


ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.7, -0.7]])
LINEAR = hb.LinearInstance([0.3, 0.8], ROWS, hb.StudentT(2.0))


def rows_of_an_agent(policy: Any, delays: Delays, seed: int) -> list[int]:
    """Return the decisions of an agent that learns from each reward when it comes, and gives decisions up in time."""
    due = delays.due(generator(stream_key(seed, LINEAR.key, "delay"), 0), HORIZON)
    noise = draw_noise(LINEAR, generator(stream_key(seed, LINEAR.key), 0), HORIZON)
    window = HORIZON if delays.window is None else delays.window
    agent = hb.LinearAgent(policy, n_features=2, horizon=HORIZON)
    chosen: list[int] = []
    for t in range(HORIZON):
        for decision in np.flatnonzero(due == t).tolist():
            row = chosen[decision]
            reward = ROWS[row] @ LINEAR.theta + noise[decision, row]
            agent.update(ROWS[row], reward, selected=t - decision - 1 <= window)
        if t > window and due[t - 1 - window] > t:
            agent.cancel(ROWS[chosen[t - 1 - window]])
        chosen.append(agent.select(ROWS))
    return chosen


@pytest.mark.parametrize(
    "delays",
    [Delays(7, 0.0, None), Delays(hb.Batches(30), 0.0, None), Delays(hb.Exponential(20.0), lost=0.3, window=15)],
    ids=["constant", "batches", "lost, with a window"],
)
@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto"])
def test_decisions_among_rows_are_those_of_an_agent(name: str, delays: Delays) -> None:
    policy = hb.make(name)
    result = hb.simulate(
        LINEAR, {"": policy}, horizon=HORIZON, replications=1, seed=5, checkpoints="all",
        delay=delays.delay, lost=delays.lost, window=delays.window,
    )  # fmt: skip
    means = ROWS @ LINEAR.theta
    expected = np.cumsum(means.max() - means[rows_of_an_agent(policy, delays, 5)])
    assert result.regret.to_numpy()[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["lin-ucb", "linear-auto", "lin-ts"])
def test_rewards_of_rows_that_come_at_once_change_nothing(name: str) -> None:
    policy, rounds = hb.make(name), checkpoint_rounds(HORIZON, "all")
    instance = hb.LinearInstance([0.3, 0.8, -0.2], hb.Sphere(4, 3), hb.StudentT(2.0))
    game = LateLinearGame(instance, Delays(0, 0.0, None))
    regret, pulls, _ = play_chunk(game, [Run(game, policy, HORIZON, rounds, 3)], HORIZON, 3, range(2))
    plain = hb.simulate(instance, {name: policy}, horizon=HORIZON, replications=2, seed=3, checkpoints="all")
    assert_array_equal(plain.regret.to_numpy(), regret)
    assert_array_equal(plain.pulls.to_numpy(), pulls)


def test_a_state_may_hide_that_decisions_are_pending() -> None:
    class Hidden(NamedTuple):
        inner: Any

        @property
        def hides_pending(self) -> bool:
            return True

    assert find_pending(Hidden(hb.UCB().init(2, None))) == Pending()


def study(**late: Any) -> Study:
    table = {"means": [0.0, 1.0], "noise": {"kind": "gaussian"}, **late}
    plain = {"study": {"horizon": 50}, "instance": {"x": table}, "policy": {"UCB": {"kind": "ucb"}}}
    return Study("mine", StudyFile.checked("mine", plain))


def test_a_study_file_has_delays() -> None:
    cases = study(delay=[1, 20], lost=0.5, window=7).cases
    assert [case.delays for case in cases.values()] == [Delays(1, 0.5, 7), Delays(20, 0.5, 7)]
    (case,) = study(delay={"kind": "pareto", "shape": 1.5}).cases.values()
    assert case.delays == Delays(hb.Pareto(1.5), 0.0, None)
    (case,) = study(delay={"batches": 5}).cases.values()
    assert case.delays == Delays(hb.Batches(5), 0.0, None)
    assert study().cases["x"].delays == Delays(0, 0.0, None)
    assert study(delay=3).digest != study().digest


def test_a_study_file_with_wrong_delays_is_refused() -> None:
    with pytest.raises(StudyError, match=r"mine: instance.x: simulate: delay must be a non-negative .* got -1"):
        study(delay=-1)


@pytest.mark.slow
def test_pending_decisions_halve_regret_at_a_constant_delay() -> None:
    """This is a small part of the study `late`."""
    shipped = hb.read_study("late")
    case = shipped.cases["Gaussian ladder, constant delay=300"]
    policies = {
        label: shipped.policies("Gaussian ladder, constant delay=300")[label] for label in ("auto", "naive auto")
    }
    regret = hb.simulate(case.instance, policies, horizon=2000, replications=20, delay=case.delays.delay).regret
    heeding, naive = regret.isel(round=-1).mean("replication").to_numpy()
    assert heeding < 0.5 * naive
