"""MoM for rows: how rewards are grouped."""

from heavybandits.algorithms.linear.mom_lin import MomLin


def test_mom_lin_groups() -> None:
    state = MomLin(eps=1.0, v=1.0).init(3, 10_000)
    assert (len(state.group.rewards), len(state.blocks)) == (100, 79)
