"""What tests ask for by name."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture
def silent() -> Iterator[None]:
    """Interpreted code as silent as compiled code when numbers overflow."""
    with np.errstate(all="ignore"):
        yield
