"""The promise, with real processes: servers are killed under load on both databases."""

from pathlib import Path

import pytest
from kills import storm

from heavybandits.service.storage import Storage


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_servers_are_killed(storage: Storage, tmp_path: Path) -> None:
    tally = storm(storage.url, tmp_path, kills=3)
    assert tally.is_good(), tally
    assert tally.decisions > 20
    assert tally.repeats > 0
