"""HOO plays as its slow reference does."""

import lipschitz_reference as reference
import pytest
from lipschitz_reference import pays, played

from heavybandits.algorithms.lipschitz.hoo import HOO


@pytest.mark.parametrize(("dim", "rho"), [(1, 0.5), (2, 0.7)])
def test_hoo_plays_as_its_reference(dim: int, rho: float) -> None:
    expected = reference.hoo(dim, pays, 150, 0.8, rho, 0.3)
    assert played(HOO(nu1=0.8, rho=rho, c=0.3), dim, 150, 150) == expected
