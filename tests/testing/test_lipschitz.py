"""Every policy for points keeps to the protocol, and the checks find those that do not."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import examples
from heavybandits.protocols import FloatArray, IntArray


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("lipschitz"))
def test_policies_for_points_pass_the_checks(name: str) -> None:
    hb.check_policy(hb.make(name, **examples()[name]), horizon=40)


class State(NamedTuple):
    pulls: IntArray
    points: FloatArray
    mean: FloatArray


@hb.policy(kind="lipschitz")
class Turns(NamedTuple):
    """A policy that takes turns among three points."""

    first: float = 0.25

    def init(self, dim: int, horizon: int | None) -> State:
        points = np.repeat(np.array([self.first, 0.5, 0.75])[:, None], dim, axis=1)
        return State(np.zeros(3, np.int64), points, np.zeros(3))

    def select(self, state: State, t: int, rng: Any) -> int:
        best = 0
        for cell in range(3):
            if state.pulls[cell] < state.pulls[best]:
                best = cell
        return best

    def update(self, state: State, cell: int, reward: float) -> None:
        state.pulls[cell] += 1

    def point(self, state: State, cell: int) -> FloatArray:
        return state.points[cell]  # type: ignore[no-any-return]

    def n_cells(self, state: State) -> int:
        return 3


class Outside(Turns):
    """A policy with a point outside the cube."""

    def point(self, state: State, cell: int) -> FloatArray:
        return state.points[cell] + 0.5  # type: ignore[no-any-return]


class Strays(Turns):
    """A policy that returns a cell that does not exist."""

    def select(self, state: State, t: int, rng: Any) -> int:
        return 3 if t > 5 else 0


class Moves(Turns):
    """A policy that moves the points of its cells."""

    def update(self, state: State, cell: int, reward: float) -> None:
        state.pulls[cell] += 1
        state.points[cell] = state.points[cell] * 0.9


class Sums(Turns):
    """A policy that sums infinite rewards."""

    def update(self, state: State, cell: int, reward: float) -> None:
        state.pulls[cell] += 1
        state.mean[cell] += reward


def test_a_policy_that_keeps_to_the_protocol_passes() -> None:
    hb.check_policy(Turns(), horizon=30)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Outside(), "point must return 1 number from 0 to 1"),
        (Strays(), "select must return a cell, from 0 to n_cells"),
        (Moves(), "point of a cell must stay the same"),
        (Sums(), "state.mean must not be NaN after infinite rewards"),
    ],
)
def test_what_is_wrong_is_said(policy: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        hb.check_policy(policy, horizon=30)
