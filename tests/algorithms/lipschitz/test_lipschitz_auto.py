"""lipschitz-auto: its boxes as arms of ``auto``, invariances, wild rewards, and where it looks."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import seeds

import heavybandits as hb
from heavybandits.algorithms.lipschitz._cells import Cells, cut, init_cells
from heavybandits.algorithms.lipschitz.lipschitz_auto import ROOM
from heavybandits.algorithms.parts.choice.kinetic_tree import VALUE
from heavybandits.algorithms.parts.choice.tournament import CENTRE
from heavybandits.algorithms.parts.state.tree import arrays, carried
from heavybandits.algorithms.policies.auto import Auto
from heavybandits.protocols import FloatArray


def peak(x: FloatArray) -> float:
    return 1.0 - float(np.abs(x - 0.3).max())


def played(noise: FloatArray, dim: int = 1, scale: float = 1.0, horizon: int | None = None) -> Any:
    """Return the points played and the final state."""
    policy = hb.LipschitzAuto()
    state, points = policy.init(dim, horizon), []
    for t, xi in enumerate(noise.tolist()):
        cell = policy.select(state, t, None)
        points.append(policy.point(state, cell).tolist())
        policy.update(state, cell, scale * (peak(state.cells.centre[cell]) + xi))
    return points, state


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_it_is_auto_with_arms_that_are_added(dim: int) -> None:
    """Play ``auto`` on as many arms as there are boxes, and add two whenever a box is cut."""
    noise = 0.1 * np.random.default_rng(dim).standard_t(2, 400)
    points, _ = played(noise, dim)
    cells = init_cells(dim, 9, ROOM)
    size, state = 9, Auto().init(9, None)
    cuts = 0
    for t in range(400):
        policy = Auto(4.0 * size / 9)
        cell = policy.select(state, t, None)
        assert cells.centre[cell].tolist() == points[t]
        policy.update(state, cell, peak(cells.centre[cell]) + float(noise[t]))
        n = int(state.sets.pulls[cell])
        if n >= 3 and (n <= 16 or n % 4 == 0) and _is_ripe(cells, state, cell):
            cut(cells, cell)
            state = carried(state, policy.init(size, None), policy.init(size + 2, None), np.arange(size))
            size += 2
            cuts += 1
    assert cuts >= 2


def _is_ripe(cells: Cells, state: Any, cell: int) -> bool:
    base, pulls = state.sets.tournament.base, state.sets.pulls
    if not (pulls >= 5).any():
        return False
    lows = [*base[pulls >= 5, CENTRE], *base[(pulls > 0) & (pulls < 5), VALUE]]
    varies = cells.sides[cell].max() * (base[pulls >= 5, CENTRE].max() - min(lows))
    contends = base[cell, VALUE] + varies >= base[pulls >= 3, CENTRE].max()
    return bool(contends and base[cell, VALUE] - base[cell, CENTRE] < 0.5 * varies)


@pytest.mark.slow
@settings(max_examples=4, derandomize=True)
@given(seeds, st.sampled_from([2.0**-40, 0.25, 2.0**30]))
def test_the_unit_of_rewards_does_not_matter(seed: int, scale: float) -> None:
    noise = 0.1 * np.random.default_rng(seed).standard_cauchy(150)
    assert played(noise)[0] == played(noise, scale=scale)[0]


@pytest.mark.slow
@settings(max_examples=4, derandomize=True)
@given(seeds, st.sampled_from([-64.0, 1.0, 16.0]))
def test_the_origin_of_rewards_does_not_matter(seed: int, offset: float) -> None:
    """Rewards that differ only by an offset cut the same boxes, and move all indices by that offset."""
    policy, rng = hb.LipschitzAuto(), np.random.default_rng(seed)
    state, moved = policy.init(1, None), policy.init(1, None)
    for t in range(200):
        cell = policy.select(state, t, None)
        reward = math.ldexp(round(math.ldexp(peak(state.cells.centre[cell]) + 0.1 * rng.standard_normal(), 23)), -23)
        policy.update(state, cell, reward)
        policy.update(moved, cell, reward + offset)
    np.testing.assert_array_equal(state.cells.sides, moved.cells.sides)
    indices = [[policy.index_of(one, cell, 200) for cell in range(policy.n_cells(state))] for one in (state, moved)]
    np.testing.assert_allclose(np.array(indices[1]) - offset, indices[0], atol=1e-3)
    assert policy.n_cells(state) > 9


def test_the_horizon_does_not_matter() -> None:
    noise = np.random.default_rng(5).standard_cauchy(300)
    assert played(noise, horizon=None)[0] == played(noise, horizon=300)[0]


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_infinite_rewards_leave_no_nan(dim: int, silent: None) -> None:
    noise = np.random.default_rng(2).standard_cauchy(400)
    noise[::7], noise[3::11], noise[5::13] = math.inf, -math.inf, 1e300
    _, state = played(noise, dim)
    _, tame = played(np.clip(noise, -10.0, 10.0), dim)
    for (path, array), (_, other) in zip(arrays(state), arrays(tame), strict=True):
        size = int(min(state.cells.size[0], tame.cells.size[0])) if len(array) == ROOM else len(array)
        new = np.isnan(array[:size].astype(float)) & ~np.isnan(other[:size].astype(float))
        assert not new.any(), path


def test_boxes_end_when_there_is_no_room() -> None:
    policy = hb.LipschitzAuto()
    state = policy.init(1, None)
    cells = state.cells
    state = state._replace(cells=Cells(cells.centre[:11], cells.sides[:11], cells.size))
    for t in range(500):
        cell = policy.select(state, t, None)
        policy.update(state, cell, 10.0 * peak(state.cells.centre[cell]) + (t * 37 % 11) / 11.0)
    assert policy.n_cells(state) == 11


def test_boxes_are_cut_where_the_function_is_high() -> None:
    noise = 0.1 * np.random.default_rng(1).standard_cauchy(2000)
    points, state = played(noise)
    assert np.abs(np.array(points[-500:]) - 0.3).mean() < 0.03
    size = int(state.cells.size[0])
    near = np.abs(state.cells.centre[:size, 0] - 0.3) < 0.1
    assert near.sum() >= 6  # at the start it was one of the nine
    assert state.cells.sides[:size, 0][~near].min() > state.cells.sides[:size, 0][near].min()


@pytest.mark.parametrize("dim", [2, 3, 4])
@pytest.mark.parametrize("scale", [0.5, 0.05, 0.01])
def test_boxes_that_cannot_contain_the_best_point_are_not_split_without_end(dim: int, scale: float) -> None:
    """They were, as soon as they were known precisely: the less noise, the more regret."""
    instance = hb.LipschitzInstance(lambda x: -10.0 * ((x - 0.37) ** 2).sum(axis=1), hb.Gaussian(scale), dim=dim)
    result = hb.simulate(instance, {"auto": hb.LipschitzAuto()}, horizon=1500, replications=4, seed=1)
    assert float(result.summary()["mean"].iloc[0]) < 0.15 * 1500 * float(instance.gaps.mean())


@pytest.mark.slow
def test_where_rewards_repeat_it_compares_means() -> None:
    """If buyers' limits are uniform on [0, 1], a price p earns p with probability 1 - p, which is best at a half."""
    rng, policy = np.random.default_rng(3), hb.LipschitzAuto()
    state, prices = policy.init(1, None), []
    for t in range(4000):
        cell = policy.select(state, t, None)
        price = float(policy.point(state, cell)[0])
        policy.update(state, cell, price if rng.random() > price else 0.0)
        prices.append(price)
    assert state.arms.by_means[0] == 1
    assert np.mean([p * (1.0 - p) for p in prices[-2000:]]) > 0.23


def test_estimates_and_indices_are_those_of_the_boxes() -> None:
    policy = hb.LipschitzAuto()
    state = policy.init(1, None)
    assert math.isnan(policy.value(state, 4))
    assert policy.index_of(state, 4, 0) == math.inf
    for reward in (0.4, 0.6, 0.5):
        policy.update(state, 4, reward)
    assert 0.4 <= policy.value(state, 4) < policy.index_of(state, 4, 3)


def test_compiled_code_plays_the_same() -> None:
    instance = hb.LipschitzInstance("peak", hb.Cauchy(0.2), dim=2)
    result = hb.simulate(instance, {"auto": hb.LipschitzAuto()}, horizon=400, replications=1, seed=1)
    assert float(result.regret[0, 0, -1]) < 0.5 * 400 * float(instance.gaps.mean())
