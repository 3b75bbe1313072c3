"""linear-auto and linear-auto-mean against a slow reference, over whole games with many fits."""

import math

import numpy as np
import pytest
from linear_auto_reference import LinearAuto

import heavybandits as hb
from heavybandits.protocols import FloatArray

HORIZON = 130


def noise_of(kind: str, rng: np.random.Generator) -> FloatArray:
    draws = {
        "normal": rng.standard_normal(HORIZON),
        "cauchy": rng.standard_cauchy(HORIZON),
        "skewed": rng.pareto(1.5, HORIZON),
        "coins": (rng.random(HORIZON) < 0.5).astype(float),
        "nothing": np.zeros(HORIZON),
    }
    return np.asarray(draws[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "cauchy", "skewed", "coins", "nothing"])
@pytest.mark.parametrize("name", ["linear-auto", "linear-auto-mean"])
@pytest.mark.parametrize(("d", "seed"), [(3, 0), (3, 1), (15, 2)])
def test_plays_and_learns_as_the_reference(name: str, kind: str, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.tile([0.1, 1.0, 10.0], d // 3)
    noise, offers = noise_of(kind, rng), rng.standard_normal((HORIZON, 6, d)) * sizes + 2.0
    effect = np.zeros(d) if kind == "coins" else rng.standard_normal(d) / sizes
    policy = hb.make(name)
    state, reference = policy.init(d, None), LinearAuto(offers[0], only_means=name == "linear-auto-mean")
    for t in range(HORIZON):
        row, indices = policy.select(state, offers[t], t, None), reference.index(offers[t])
        shown = [policy.index_of(state, x, t) for x in offers[t]]
        np.testing.assert_allclose(shown, indices, rtol=1e-4, atol=1e-4, err_msg=f"round {t}")
        assert math.isinf(indices[row]) or indices[row] >= indices.max() - 1e-4 * (1.0 + abs(indices.max()))
        x, y = offers[t, row], float(offers[t, row] @ effect + noise[t])
        policy.update(state, x, y)
        reference.learn(x, y)
    assert policy.goal(state) == ("mean" if kind == "coins" or name == "linear-auto-mean" else "location")
