"""Lipschitz bandits in the simulator: a slow reference, keys, boxes, and errors."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.engine.lipschitz_game import LipschitzGame
from heavybandits.engine.streams import generator, stream_key
from heavybandits.jit.compiled import without_text
from heavybandits.protocols import FloatArray

POLICIES = {
    "auto": hb.make("lipschitz-auto"),
    "ADTM": hb.make("adtm", eps=1, nu=1, scale=0.05),
    "zooming": hb.make("zooming", nu=1, scale=0.05),
    "HOO": hb.make("hoo"),
}


@pytest.mark.slow
@pytest.mark.parametrize("label", POLICIES)
def test_regret_and_pulls_are_those_of_a_plain_loop(label: str) -> None:
    instance = hb.LipschitzInstance("peak", hb.StudentT(3), dim=2)
    result = hb.simulate(instance, {label: POLICIES[label]}, horizon=300, replications=2, seed=4, checkpoints=[100])
    for replication in range(2):
        noise = hb.StudentT(3).sample(generator(stream_key(4, instance.key), replication), 300)
        policy = without_text(POLICIES[label])
        state, regret, pulls = policy.init(2, 300), np.zeros(300), np.zeros((8, 8), np.int64)
        for t in range(300):
            cell = policy.select(state, t, None)
            x = np.array(policy.point(state, cell))
            value = float(instance.values(x[None])[0])
            policy.update(state, cell, value + noise[t])
            regret[t] = instance.supremum - value
            pulls[int(x[0] * 8), int(x[1] * 8)] += 1
        np.testing.assert_allclose(
            result.regret.to_numpy()[0, replication], [regret[:100].sum(), regret.sum()], rtol=1e-12
        )
        np.testing.assert_array_equal(result.pulls.to_numpy()[0, replication], pulls.ravel())


def test_policies_and_workers_do_not_change_each_others_results() -> None:
    instance = hb.LipschitzInstance("lu-2019", hb.Cauchy())
    alone = hb.simulate(instance, {"auto": POLICIES["auto"]}, horizon=500, replications=3, workers=1)
    beside = hb.simulate(instance, {**POLICIES}, horizon=500, replications=3, workers=2)
    np.testing.assert_array_equal(alone.regret.sel(policy="auto"), beside.regret.sel(policy="auto"))


@hb.policy(kind="lipschitz")
class Wanderer(NamedTuple):
    """A policy that plays a new cell in every round."""

    step: float = 0.5

    def init(self, dim: int, horizon: int | None) -> Any:
        return State(np.zeros(1, np.int64), np.full((10_000, dim), self.step))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(state.seen[0])

    def update(self, state: Any, cell: int, reward: float) -> None:
        state.seen[0] += 1

    def point(self, state: Any, cell: int) -> FloatArray:
        return state.points[cell]  # type: ignore[no-any-return]

    def n_cells(self, state: Any) -> int:
        return int(state.seen[0]) + 1


class State(NamedTuple):
    seen: Any
    points: Any


def test_there_is_room_for_any_number_of_cells() -> None:
    instance = hb.LipschitzInstance("peak", hb.Gaussian())
    result = hb.simulate(instance, {"new": Wanderer()}, horizon=1000, replications=1)
    assert float(result.regret[0, 0, -1]) == pytest.approx(200.0)
    assert int(result.pulls[0, 0, 32]) == 1000


def test_points_outside_the_cube_are_refused() -> None:
    instance = hb.LipschitzInstance("peak", hb.Gaussian())
    with pytest.raises(ValueError, match=r"Wanderer: point must return 1 number from 0 to 1, got array\(\[1.5\]\)"):
        hb.simulate(instance, {"far": Wanderer(1.5)}, horizon=10, replications=1)


def test_policies_of_other_kinds_are_refused() -> None:
    with pytest.raises(TypeError, match="must be of kind 'lipschitz' here, got one of kind 'arms'"):
        hb.simulate(hb.LipschitzInstance("peak", hb.Gaussian()), {"UCB": hb.UCB()}, horizon=10)
    with pytest.raises(TypeError, match="must be of kind 'arms' here, got one of kind 'lipschitz'"):
        hb.simulate(hb.env1(hb.Gaussian()), {"auto": hb.make("lipschitz-auto")}, horizon=10)


def test_data_without_replacement_start_afresh() -> None:
    noise = hb.Empirical(np.arange(50.0), replace=False)
    game = LipschitzGame(hb.LipschitzInstance("peak", noise))
    for replication in range(2):
        ((_, (drawn,)),) = game.blocks(0, replication, 50)
        assert sorted(drawn.tolist()) == np.arange(50.0).tolist()
