"""Adaptive Huber regression against a fit by hand."""

from hand_computed import REWARDS, ROWS, close

from heavybandits.algorithms.linear._adaptive_huber import init_adaptive_huber, take_in, width_of


def test_adaptive_huber_fit() -> None:
    huber = init_adaptive_huber(2, False, 0.2, 10)
    for x, reward in zip(ROWS[:3], REWARDS[:3], strict=True):
        width_of(huber, x)
        take_in(huber, reward, 1.0, 2.0, 100.0, False)
    close(huber.fit.theta, [-0.4, 3.466666667], atol=1e-5)  # fits are precise to a millionth of a width
