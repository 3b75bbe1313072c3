"""Published linear policies against numbers computed by hand or by another program."""

from typing import Any

import numpy as np
import pytest

from heavybandits.algorithms.linear._adaptive_huber import init_adaptive_huber, take_in, width_of
from heavybandits.algorithms.linear._ball import into_ball
from heavybandits.algorithms.linear._roots import square_root
from heavybandits.algorithms.linear._rows import init_fit, lift
from heavybandits.algorithms.linear.crt import CRT
from heavybandits.algorithms.linear.heavy_oful import HeavyOFUL
from heavybandits.algorithms.linear.huber_bandit import HuberBandit, forced_arm
from heavybandits.algorithms.linear.hvt_ucb import HvtUCB, one_pass
from heavybandits.algorithms.linear.menu import MENU, most_central
from heavybandits.algorithms.linear.mom_lin import MomLin
from heavybandits.algorithms.linear.oful import OFUL
from heavybandits.algorithms.linear.tofu import TOFU

ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [1.0, 0.0]])
REWARDS = [0.5, 8.0, 0.9, -1.0]
close = np.testing.assert_allclose


def fed(policy: Any, horizon: int | None = None) -> list[tuple[Any, ...]]:
    """Return a policy's estimate, its radius and one index after each reward."""
    state, seen = policy.init(2, horizon), []
    for t, (x, reward) in enumerate(zip(ROWS, REWARDS, strict=True)):
        policy.update(state, x, reward)
        index = policy.index_of(state, np.array([0.8, -0.6]), t + 1)
        seen.append((state.fit.theta.copy(), policy.beta(state), index))
    return seen


def test_oful() -> None:
    thetas, betas, indices = zip(*fed(OFUL()), strict=True)
    expected = [(0.25, 0.0), (0.25, 4.0), (-0.24, 3.346666667), (-0.472222222, 3.388888889)]
    close(thetas, expected, rtol=1e-8, atol=1e-9)
    close(betas, [4.146980704, 4.255247261, 4.316941338, 4.371460063], rtol=1e-8)
    close(indices, [3.619687894, 0.808914194, 0.852538494, 0.314973195], rtol=1e-8)


def test_crt() -> None:
    thetas, betas, _ = zip(*fed(CRT(eps=1.0, v=1.0), horizon=10), strict=True)
    close(thetas, [(0.25, 0.0), (0.25, 0.0), (0.4, 0.2), (-0.027777778, 0.277777778)], rtol=1e-7, atol=1e-9)
    close(betas, [8.618046400, 10.273316276, 11.398573874, 12.303773933], rtol=1e-8)


def test_menu_repeats_and_radius() -> None:
    policy = MENU(eps=1.0, v=3.0)
    assert len(policy.init(10, 10_000).group.rewards) == 356
    half = MENU(eps=0.5, v=3.0, repeats=51)
    state = half.init(10, None)
    state.fit.seen[0] = 28
    close(half.beta(state), 221.385317278, rtol=1e-8)


def test_menu_takes_the_estimate_in_the_midst() -> None:
    estimates = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0], [0.05, 0.05]])
    assert most_central(estimates, np.zeros(5)) == 4


def test_tofu() -> None:
    policy = TOFU(eps=1.0, u=3.0)
    state = policy.init(2, 100)
    for x, reward in zip(ROWS[:3], REWARDS[:3], strict=True):
        policy.update(state, x, reward)
    close(state.threshold, 0.550384947, rtol=1e-8)
    close(state.root, [[0.660394437, -0.062283126], [-0.062283126, 0.624062614]], rtol=1e-7)
    close(state.fit.theta, [0.070948562, 0.231033502], rtol=1e-7)
    close(policy.beta(state), 32.894779108, rtol=1e-8)


def test_square_root_of_a_large_matrix() -> None:
    rng = np.random.default_rng(0)
    turns, _ = np.linalg.qr(rng.standard_normal((12, 12)))
    matrix = turns @ np.diag(10.0 ** rng.uniform(-6, 2, 12)) @ turns.T
    root = np.zeros((12, 12))
    square_root(matrix, root, np.zeros((12, 12)), np.zeros((12, 12)))
    close(root @ root, matrix, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh(root).min() > 0.0


@pytest.mark.parametrize(("eps", "tau", "beta"), [(1.0, 3.413110217, 1952.420148), (0.5, 2.970548725, 1700.489383)])
def test_heavy_oful_constants(eps: float, tau: float, beta: float) -> None:
    policy = HeavyOFUL(eps=eps, nu=1.0)
    state = policy.init(10, 10_000)
    c1, kappa = {1.0: 8.78339517e-4, 0.5: 6.65327014e-4}[eps], 138.155115580
    close(state.scales.per_width, 1 / 0.042814208, rtol=1e-7)
    close(state.scales.per_root, (2 * c1 * kappa) ** -0.25, rtol=1e-8)
    close(state.tau, tau, rtol=1e-8)
    close(policy.beta(state), beta, rtol=1e-8)


def test_adaptive_huber_fit() -> None:
    huber = init_adaptive_huber(2, False, 0.2, 10)
    for x, reward in zip(ROWS[:3], REWARDS[:3], strict=True):
        width_of(huber, x)
        take_in(huber, reward, 1.0, 2.0, 100.0, False)
    close(huber.fit.theta, [-0.4, 3.466666667], atol=1e-5)  # fits are precise to a millionth of a width


@pytest.mark.parametrize(("eps", "tau", "beta"), [(1.0, 3.237343394, 8223.905943), (0.5, 2.817572735, 7158.556221)])
def test_hvt_ucb_constants(eps: float, tau: float, beta: float) -> None:
    policy = HvtUCB(eps=eps, nu=1.0)
    state = policy.init(10, 10_000)
    close(state.tau, tau, rtol=1e-8)
    close(policy.beta(state), beta, rtol=1e-8)


def test_hvt_ucb_steps() -> None:
    fit, seen = init_fit(2, False, 2.0), []
    for x, reward in zip(ROWS, (5.0, 8.0, 0.9), strict=False):
        lift(fit.row, x)
        one_pass(fit, reward, 1.0, 1.0)
        seen.append(fit.theta.copy())
    close(seen, [(1.333333333, 0.0), (1.333333333, 1.333333333), (1.101333333, 1.024)], rtol=1e-8)


def test_projection_onto_a_ball() -> None:
    gram = np.array([[4.0, 1.0], [1.0, 2.0]])
    theta = np.array([1.5, -1.0])
    into_ball(theta, np.linalg.inv(gram), 1.0, np.zeros((2, 2)), np.zeros((3, 2)))
    close(theta, [0.926825984, -0.375491138], rtol=1e-8)
    multiplier = (gram @ (np.array([1.5, -1.0]) - theta) / theta).mean()
    close(multiplier, 1.799892567, rtol=1e-8)


def test_huber_bandit_forces_arms_at_these_rounds() -> None:
    forced = {moment: arm for moment in range(1, 33) if (arm := forced_arm(moment, 2, 2)) >= 0}
    assert [moment for moment, arm in forced.items() if arm == 0] == [1, 2, 5, 6, 13, 14, 29, 30]
    assert [moment for moment, arm in forced.items() if arm == 1] == [3, 4, 7, 8, 15, 16, 31, 32]


def test_huber_bandit_level() -> None:
    policy = HuberBandit(n_arms=2, eps=1.0, nu=1.0)
    state = policy.init(10, None)
    state.seen[0] = 10
    close(policy.level(state, 4), 0.587011876, rtol=1e-8)


def test_mom_lin_groups() -> None:
    state = MomLin(eps=1.0, v=1.0).init(3, 10_000)
    assert (len(state.group.rewards), len(state.blocks)) == (100, 79)
