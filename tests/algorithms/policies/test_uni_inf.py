"""uniINF: a trace by hand."""

import pytest
from randomised import assert_threshold, choose

from heavybandits.algorithms.policies.uni_inf import UniINF

pytestmark = pytest.mark.usefixtures("silent")


def test_trace_of_uni_inf() -> None:
    policy = UniINF(offset=0)
    state = policy.init(2, 100)
    trace = [  # arm, loss, threshold, barrier afterwards
        (0, 1.0, 2.0, 4.003391488),
        (1, 5.0, 2.282446855, 4.016951732),
        (0, -0.5, 1.789126249, 4.018016050),
        (1, 0.2, 2.122280791, 4.018137119),
    ]
    for t, (arm, loss, threshold, barrier) in enumerate(trace):
        choose(policy, state, t)
        assert_threshold(policy, state, arm, threshold)
        policy.update(state, arm, -loss)
        assert state.barrier[0] == pytest.approx(barrier, abs=1e-9)
    assert state.draws.loss.tolist() == pytest.approx([0.860266988, 0.379732489], abs=1e-9)
