"""The promise, with real processes: servers are killed, paused, restarted and cut off under load on both databases."""

from pathlib import Path

import pytest
from kills import storm

from heavybandits.service.storage import Storage


@pytest.mark.slow
def test_nothing_is_lost_doubled_or_changed_in_a_storm(storage: Storage, tmp_path: Path) -> None:
    tally = storm(storage.url, tmp_path, kills=4, pauses=2)
    assert tally.is_good(), tally
    assert tally.decisions > 20
    assert tally.repeats > 0
