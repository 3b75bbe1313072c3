"""The Huber bandit: forced rounds and levels."""

from hand_computed import close

from heavybandits.algorithms.linear.huber_bandit import HuberBandit, forced_arm


def test_huber_bandit_forces_arms_at_these_rounds() -> None:
    forced = {moment: arm for moment in range(1, 33) if (arm := forced_arm(moment, 2, 2)) >= 0}
    assert [moment for moment, arm in forced.items() if arm == 0] == [1, 2, 5, 6, 13, 14, 29, 30]
    assert [moment for moment, arm in forced.items() if arm == 1] == [3, 4, 7, 8, 15, 16, 31, 32]


def test_huber_bandit_level() -> None:
    policy = HuberBandit(n_arms=2, eps=1.0, nu=1.0)
    state = policy.init(10, None)
    state.seen[0] = 10
    close(policy.level(state, 4), 0.587011876, rtol=1e-8)
