"""MOSS needs a horizon, unless it is anytime."""

import pytest

import heavybandits as hb
from heavybandits.algorithms.policies.moss import MOSS

pytestmark = pytest.mark.usefixtures("silent")


def test_moss_needs_a_horizon_unless_it_is_anytime() -> None:
    with pytest.raises(ValueError, match="MOSS: needs a horizon, or anytime=True"):
        MOSS().init(2, None)
    assert hb.make("moss-anytime").init(2, None).horizon[0] == 0
