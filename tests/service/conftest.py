"""Databases for the tests of the service: a SQLite file each, and one PostgreSQL for all, each with its own schema."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from services import new_storage, postgres_server

from heavybandits.service.storage import Storage


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL that was started for these tests."""
    with postgres_server(tmp_path_factory.mktemp("server")) as uri:
        yield uri


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty database of either kind."""
    return new_storage(request, tmp_path)
