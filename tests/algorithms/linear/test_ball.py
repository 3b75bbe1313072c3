"""The projection onto a ball, against its multiplier."""

import numpy as np
from hand_computed import close

from heavybandits.algorithms.linear._ball import into_ball


def test_projection_onto_a_ball() -> None:
    gram = np.array([[4.0, 1.0], [1.0, 2.0]])
    theta = np.array([1.5, -1.0])
    into_ball(theta, np.linalg.inv(gram), 1.0, np.zeros((2, 2)), np.zeros((3, 2)))
    close(theta, [0.926825984, -0.375491138], rtol=1e-8)
    multiplier = (gram @ (np.array([1.5, -1.0]) - theta) / theta).mean()
    close(multiplier, 1.799892567, rtol=1e-8)
