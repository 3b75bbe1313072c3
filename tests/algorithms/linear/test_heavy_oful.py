"""Heavy-OFUL: constants that another program computed."""

import pytest
from hand_computed import close

from heavybandits.algorithms.linear.heavy_oful import HeavyOFUL


@pytest.mark.parametrize(("eps", "tau", "beta"), [(1.0, 3.413110217, 1952.420148), (0.5, 2.970548725, 1700.489383)])
def test_heavy_oful_constants(eps: float, tau: float, beta: float) -> None:
    policy = HeavyOFUL(eps=eps, nu=1.0)
    state = policy.init(10, 10_000)
    c1, kappa = {1.0: 8.78339517e-4, 0.5: 6.65327014e-4}[eps], 138.155115580
    close(state.scales.per_width, 1 / 0.042814208, rtol=1e-7)
    close(state.scales.per_root, (2 * c1 * kappa) ** -0.25, rtol=1e-8)
    close(state.tau, tau, rtol=1e-8)
    close(policy.beta(state), beta, rtol=1e-8)
