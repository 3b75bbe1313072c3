"""Tsallis-INF: published numbers."""

import pytest
from randomised import choose

import heavybandits as hb

pytestmark = pytest.mark.usefixtures("silent")


def test_tsallis_inf_numbers() -> None:
    policy = hb.TsallisINF()
    state = policy.init(3, None)
    state.draws.loss[:] = 0.0, 1.0, 2.0
    assert choose(policy, state, 3).tolist() == pytest.approx([0.534814336, 0.286761628, 0.178424036], abs=1e-9)
