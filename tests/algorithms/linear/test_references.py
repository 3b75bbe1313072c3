"""Every published linear policy against a slow reference, over whole games."""

from typing import Any

import huber_references as huber
import linear_references as slow
import numpy as np
import pytest

from heavybandits.algorithms.linear.ada_oful import AdaOFUL
from heavybandits.algorithms.linear.bmm import BMM
from heavybandits.algorithms.linear.crt import CRT
from heavybandits.algorithms.linear.epsilon_greedy_huber import EpsilonGreedyHuber
from heavybandits.algorithms.linear.epsilon_greedy_ridge import EpsilonGreedyRidge
from heavybandits.algorithms.linear.heavy_oful import HeavyOFUL
from heavybandits.algorithms.linear.huber_bandit import HuberBandit
from heavybandits.algorithms.linear.hvt_ucb import HvtUCB
from heavybandits.algorithms.linear.lin_ucb import LinUCB
from heavybandits.algorithms.linear.linear_clipped_sgd_ucb import LinearClippedSGDUCB
from heavybandits.algorithms.linear.menu import MENU
from heavybandits.algorithms.linear.mom_lin import MomLin
from heavybandits.algorithms.linear.oful import OFUL
from heavybandits.algorithms.linear.tofu import TOFU
from heavybandits.protocols import FloatArray

HORIZON = 60


CASES: dict[str, tuple[Any, type[slow.Reference]]] = {
    "oful": (OFUL(scale=0.7, bound=2.0, ridge=0.5, beta_scale=0.3), slow.OFUL),
    "oful with intercept": (OFUL(beta_scale=0.3, intercept=True), slow.OFUL),
    "lin-ucb": (LinUCB(beta=0.4, ridge=2.0), slow.LinUCB),
    "second order": (LinearClippedSGDUCB(clip=0.8, coeff=0.4, intercept=True), slow.ClippedSGD),
    "first order": (LinearClippedSGDUCB(clip=0.8, coeff=0.4, order="first"), slow.ClippedSGD),
    "crt": (CRT(eps=0.5, v=1.5, beta_scale=0.1), slow.CRT),
    "mom-lin": (MomLin(eps=0.6, v=1.5, beta_scale=0.02, delta=1.0), slow.MomLin),
    "menu": (MENU(eps=0.5, v=1.5, repeats=4, beta_scale=0.02, ridge=0.5), slow.MENU),
    "menu, odd": (MENU(eps=0.5, v=1.5, repeats=5, beta_scale=0.02), slow.MENU),
    "bmm": (BMM(eps=0.5, v=1.5, repeats=3, beta_scale=0.02), slow.BMM),
    "tofu": (TOFU(eps=0.5, u=2.0, beta_scale=0.02, intercept=True), slow.TOFU),
    "heavy-oful": (HeavyOFUL(eps=0.5, nu=0.5, bound=0.8, beta_scale=1e-3), huber.HeavyOFUL),
    "heavy-oful, light ridge": (HeavyOFUL(eps=1.0, nu=0.5, ridge=0.1, beta_scale=1e-3), huber.HeavyOFUL),
    "ada-oful": (AdaOFUL(nu=0.5, bound=0.8, beta=0.3), huber.AdaOFUL),
    "hvt-ucb": (HvtUCB(eps=0.5, nu=0.5, bound=0.8, ridge=0.5, beta_scale=1e-3), huber.HvtUCB),
    "greedy-ridge": (EpsilonGreedyRidge(epsilon=0.0, ridge=2.0, intercept=True), slow.Greedy),
    "greedy-huber": (EpsilonGreedyHuber(epsilon=0.0, ridge=0.5), huber.GreedyHuber),
    "greedy-huber with intercept": (EpsilonGreedyHuber(epsilon=0.0, intercept=True), huber.GreedyHuber),
    "huber-bandit": (HuberBandit(n_arms=3, eps=0.5, nu=0.7), slow.HuberBandit),
}


INDEXED = set(CASES) - {"huber-bandit", "menu, odd"}  # one forces rows, and estimates of the other tie


BALLS = ("heavy-oful", "ada-oful", "hvt-ucb")  # they keep theta in a ball


def world(name: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the features and the noise of each round; features change unless the policy repeats rows."""
    rng = np.random.default_rng(seed)
    if name == "huber-bandit":
        contexts = rng.standard_normal((HORIZON, 2))
        features = np.array([blocks(z, 3) for z in contexts])
    else:
        n = 1 if name in ("mom-lin", "menu", "menu, odd", "bmm") else HORIZON
        features = np.broadcast_to(rng.standard_normal((n, 5, 3)), (HORIZON, 5, 3)).copy()
    scale = 300.0 if name in BALLS else 1.0
    return features, scale * rng.standard_t(1.5, HORIZON)


def blocks(context: FloatArray, n_arms: int) -> FloatArray:
    """Return a row per arm, with the context in its block."""
    return np.asarray(np.kron(np.eye(n_arms), context), dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_plays_and_learns_as_the_reference(name: str) -> None:
    policy, make = CASES[name]
    for seed in range(1 if name in BALLS else 3):
        features, noise = world(name, seed)
        n_features = features.shape[2]
        rng = np.random.default_rng(seed + 100)
        theta = rng.standard_normal(n_features) / 2
        intercept = getattr(policy, "intercept", False)
        state, reference = policy.init(n_features, HORIZON), make(policy, n_features + intercept, HORIZON)
        for t in range(HORIZON):
            lifted = np.column_stack([features[t], np.ones(len(features[t]))]) if intercept else features[t]
            row, indices = policy.select(state, features[t], t, rng), reference.index(lifted)
            assert indices[row] >= indices.max() - 2e-5 * (1 + abs(indices.max())), f"seed {seed}, round {t}"
            if name in INDEXED and not getattr(reference, "waiting", None):  # else the same row is played again
                shown = [policy.index_of(state, x, t) for x in features[t]]
                np.testing.assert_allclose(shown, indices, rtol=2e-5, atol=2e-5, err_msg=f"seed {seed}, round {t}")
            x, y = features[t, row], float(features[t, row] @ theta + noise[t])
            policy.update(state, x, y)
            reference.learn(lifted[row], y)


@pytest.mark.slow
@pytest.mark.parametrize("name", BALLS)
def test_these_games_leave_the_ball_and_clip(name: str) -> None:
    policy, make = CASES[name]
    features, noise = world(name, 0)
    reference, clipped, outside = make(policy, 3, HORIZON), 0, 0
    assert isinstance(reference, huber.AdaptiveHuber)
    for t in range(HORIZON):
        reference.learn(features[t, 0], float(noise[t]))
        z = (noise[t] - features[t, 0] @ reference.estimate) / reference.scales[-1]
        clipped += abs(z) > reference.levels[-1]
        outside += np.linalg.norm(reference.estimate) > policy.bound * (1.0 - 1e-6)
    assert clipped > 0
    assert outside > 0
