"""TOFU against numbers computed by another program."""

from hand_computed import REWARDS, ROWS, close

from heavybandits.algorithms.linear.tofu import TOFU


def test_tofu() -> None:
    policy = TOFU(eps=1.0, u=3.0)
    state = policy.init(2, 100)
    for x, reward in zip(ROWS[:3], REWARDS[:3], strict=True):
        policy.update(state, x, reward)
    close(state.threshold, 0.550384947, rtol=1e-8)
    close(state.root, [[0.660394437, -0.062283126], [-0.062283126, 0.624062614]], rtol=1e-7)
    close(state.fit.theta, [0.070948562, 0.231033502], rtol=1e-7)
    close(policy.beta(state), 32.894779108, rtol=1e-8)
