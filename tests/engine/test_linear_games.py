"""Linear bandits in the engine: the same contexts for all policies, and regret against the best row of each round."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from rows import DRAWN, FIXED, FRESH, Gamble, Ridge

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import with_rows
from heavybandits.engine import linear_game
from heavybandits.engine.arms_game import draw_noise
from heavybandits.engine.checkpoints import checkpoint_rounds
from heavybandits.engine.linear_game import LinearGame
from heavybandits.engine.loop import Run, play_chunk
from heavybandits.engine.streams import generator, stream_key
from heavybandits.protocols import FloatArray, IntArray, is_randomised


class Squares(NamedTuple):
    """Contexts that tell what their rows pay: the square of the first feature."""

    n_arms: int = 3

    def sample_paid(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        rows = self.sample(rng, size)
        return rows, rows[:, :, 0] ** 2

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return rng.standard_normal((size, self.n_arms, 2))


INSTANCES = {
    "fresh": FRESH, "fixed": FIXED, "drawn": DRAWN, "told": hb.LinearInstance(None, Squares(), hb.Gaussian()),
}  # fmt: skip


def slow_regret(instance: hb.LinearInstance, policy: Any, horizon: int, seed: int, replication: int) -> FloatArray:
    """Return cumulative regret after every round, by the plainest loop there is; the horizon is one block."""
    rng = generator(stream_key(seed, instance.key, "contexts"), replication)
    theta, rows = instance.theta_and_rows(rng)
    if theta is None:
        contexts, paid = instance.contexts.sample_paid(rng, horizon)
    else:
        contexts = instance.contexts.sample(rng, horizon) if rows is None else [rows] * horizon
        paid = [[sum(a * b for a, b in zip(x.tolist(), theta.tolist(), strict=True)) for x in r] for r in contexts]
    noise = draw_noise(instance, generator(stream_key(seed, instance.key), replication), horizon)
    own = generator(stream_key(seed, instance.key, repr(policy)), replication)
    state = policy.init(instance.n_features, horizon)
    total, found = 0.0, []
    for t in range(horizon):
        row = policy.select(state, contexts[t], t, own)
        means = np.array(paid[t])
        policy.update(state, contexts[t][row], means[row] + noise[t, row])
        total += means.max() - means[row]
        found.append(total)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("policy", [Ridge(0.5), Gamble()])
def test_compiled_loop_equals_a_plain_one_bit_for_bit(kind: str, policy: Any) -> None:
    result = hb.simulate(INSTANCES[kind], {"x": policy}, horizon=300, replications=2, seed=5, checkpoints="all")
    for replication in range(2):
        expected = slow_regret(INSTANCES[kind], policy, 300, 5, replication)
        assert np.array_equal(result.regret.values[0, replication], expected)
    assert result.pulls.sum("arm").values.tolist() == [[300, 300]]
    assert result.pulls.sizes["arm"] == INSTANCES[kind].n_arms


def test_only_policies_that_draw_get_a_generator() -> None:
    assert (is_randomised(Ridge()), is_randomised(Gamble())) == (False, True)


@pytest.mark.parametrize("kind", INSTANCES)
def test_results_do_not_depend_on_workers_chunks_or_company(kind: str) -> None:
    game, rounds = LinearGame(INSTANCES[kind]), checkpoint_rounds(100)
    runs = [Run(game, policy, 100, rounds, 1) for policy in (Ridge(), Gamble(), Ridge(2.0))]
    whole = play_chunk(game, runs, 100, 1, range(5), workers=3)
    part = play_chunk(game, runs[::-1], 100, 1, range(2, 4))
    assert np.array_equal(part[0][::-1], whole[0][:, 2:4])
    assert np.array_equal(part[1][::-1], whole[1][:, 2:4])
    alone = play_chunk(game, runs[1:2], 100, 1, range(5))
    assert np.array_equal(alone[0][0], whole[0][1])


def test_a_long_horizon_is_played_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_game, "BLOCK_FEATURES", 100)
    game = LinearGame(FRESH)
    starts = [start for start, _ in game.blocks(0, 0, 50)]
    assert starts == list(range(0, 50, 100 // 12))
    contexts = np.concatenate([block[0] for _, block in game.blocks(0, 0, 50)])
    assert contexts.shape == (50, 4, 3)
    assert np.unique(contexts[:, 0, 0]).size == 50
    monkeypatch.setattr(linear_game, "BLOCK_FEATURES", 1)
    assert len(list(game.blocks(0, 0, 3))) == 3


def test_contexts_and_noise_have_streams_of_their_own() -> None:
    louder = hb.LinearInstance(FRESH.theta, FRESH.contexts, hb.Gaussian(0.7))
    (_, one), (_, two) = (next(iter(LinearGame(instance).blocks(3, 0, 10))) for instance in (FRESH, louder))
    assert not np.array_equal(one[0], two[0])  # another instance
    (_, again), (_, other) = (next(iter(LinearGame(FRESH).blocks(3, replication, 10))) for replication in (0, 1))
    assert np.array_equal(one[0], again[0])
    assert np.array_equal(one[4], again[4])
    assert not np.array_equal(one[0], other[0])


def test_replications_draw_problems_of_their_own_and_keep_them() -> None:
    game = LinearGame(DRAWN)
    firsts = [block for replication in range(2) for _, block in game.blocks(0, replication, 10)]
    assert firsts[0][0].shape == (1, 4, 3)
    assert firsts[0][3] == 0  # one array of rows for all rounds
    assert not np.array_equal(firsts[0][0], firsts[1][0])


def test_rows_may_have_noises_of_their_own() -> None:
    instance = hb.LinearInstance([1.0], [[1.0], [2.0]], [hb.Gaussian(0.1), hb.Gaussian(100.0)])
    (_, (*_, noise)), *_ = LinearGame(instance).blocks(0, 0, 1000)
    assert noise[:, 0].std() == pytest.approx(0.1, rel=0.1)
    assert noise[:, 1].std() == pytest.approx(100.0, rel=0.1)


class Counts(NamedTuple):
    """A state with a number per row."""

    times: IntArray

    def with_rows(self, n_rows: int) -> "Counts":
        times = np.zeros(n_rows, np.int64)
        times[: len(self.times)] = self.times
        return Counts(times)


class TurnState(NamedTuple):
    counts: Counts
    seen: IntArray


@hb.policy(kind="linear")
class InTurn(NamedTuple):
    """A policy that plays the row that it has played least, and must know how many there are."""

    scale: float = 1.0

    def init(self, n_features: int, horizon: int | None) -> TurnState:
        return TurnState(Counts(np.zeros(0, np.int64)), np.zeros(1, np.int64))

    def select(self, state: TurnState, features: FloatArray, t: int, rng: Any) -> int:
        row: int = t % features.shape[0]
        state.counts.times[row] += 1
        return row

    def update(self, state: TurnState, x: FloatArray, reward: float) -> None:
        state.seen[0] += 1


def test_states_get_room_for_all_rows() -> None:
    assert with_rows(InTurn().init(3, None), 7).counts.times.shape == (7,)
    result = hb.simulate(FIXED, {"x": InTurn()}, horizon=50, replications=1, checkpoints="all")
    assert result.pulls.values.tolist() == [[[10] * 5]]
    assert result.regret.values[0, 0, -1] == pytest.approx(10 * FIXED.gaps.sum())


def test_policies_must_be_of_the_instances_kind() -> None:
    with pytest.raises(TypeError, match="policies must be of kind 'linear' here, got one of kind 'arms'"):
        hb.simulate(FRESH, {"x": hb.UCB()}, horizon=5)
    with pytest.raises(TypeError, match="policies must be of kind 'arms' here, got one of kind 'linear'"):
        hb.simulate(hb.env1(hb.Cauchy()), {"x": Ridge()}, horizon=5)
    with pytest.raises(
        TypeError, match="instance must be one of Instance, LinearInstance, LipschitzInstance, got 'env1'"
    ):
        hb.simulate("env1", {"x": Ridge()}, horizon=5)  # type: ignore[arg-type]


@hb.policy(kind="linear")
class Stray(NamedTuple):
    """A policy that selects a row that does not exist."""

    row: int = 9

    def init(self, n_features: int, horizon: int | None) -> TurnState:
        return TurnState(Counts(np.zeros(0, np.int64)), np.zeros(1, np.int64))

    def select(self, state: TurnState, features: FloatArray, t: int, rng: Any) -> int:
        return self.row

    def update(self, state: TurnState, x: FloatArray, reward: float) -> None:
        pass


@pytest.mark.parametrize("row", [-1, 4])
def test_a_row_that_is_not_there_is_refused(row: int) -> None:
    with pytest.raises(IndexError, match="Stray: select must return the number of a row, from 0 to K - 1"):
        hb.simulate(FRESH, {"x": Stray(row)}, horizon=5, replications=1)


def test_summary_and_figure_are_as_for_arms() -> None:
    result = hb.simulate(FRESH, {"a": Ridge(), "b": Gamble()}, horizon=400, replications=6)
    table = result.summary()
    assert table["mean"]["a"] < table["mean"]["b"]
    assert table["failures"].tolist() == [0.0, 1.0]
    assert np.isnan(table["ratio to Lai-Robbins"]).all()
    assert result.plot(band=[]).axes[0].get_ylabel() == "mean regret"
    assert "Regret after 400 pulls" in result._repr_html_()


def test_rows_that_are_held_stay_together_across_blocks() -> None:
    game = LinearGame(hb.LinearInstance(hb.Sphere(1, 50), hb.Held(hb.Sphere(100, 50), rounds=7), hb.Gaussian()))
    rows = np.concatenate([block[0] for _, block in game.blocks(0, 0, 150)])
    assert len(rows) == 150
    groups = [rows[i : i + 7] for i in range(0, 150, 7)]
    assert all((group == group[0]).all() for group in groups)
    assert len({group[0].tobytes() for group in groups}) == len(groups)
