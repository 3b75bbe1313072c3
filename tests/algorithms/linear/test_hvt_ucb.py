"""Hvt-UCB: constants that another program computed, and steps by hand."""

import pytest
from hand_computed import ROWS, close

from heavybandits.algorithms.linear._rows import init_fit, lift
from heavybandits.algorithms.linear.hvt_ucb import HvtUCB, one_pass


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
