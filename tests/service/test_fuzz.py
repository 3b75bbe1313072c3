"""Whatever is sent to the service, it answers without failing, and nobody else notices."""

import pytest
from fuzz import fuzz

from heavybandits.service.storage import Storage


@pytest.mark.slow
def test_nothing_that_is_sent_makes_the_service_fail(storage: Storage) -> None:
    tally = fuzz(storage, requests=4_000)
    assert tally.is_good(), tally
    assert tally.honest > 100
    assert {200, 201, 303, 400, 403, 404, 405, 409, 413, 415, 422} <= tally.statuses.keys()  # every door was tried
