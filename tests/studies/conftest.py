"""A small study that was run once, for all tests of the store."""

import shutil
from pathlib import Path

import pytest
from stores import TEXT, run

from heavybandits.results.study_result import StudyResult
from heavybandits.studies.store import Store
from heavybandits.studies.study import Study, read_study


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the study file, and the store of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "small.toml").write_text(TEXT)
    run(read_study(folder / "small.toml"), folder / "whole.zarr")
    return folder


@pytest.fixture(scope="session")
def study(folder: Path) -> Study:
    return read_study(folder / "small.toml")


@pytest.fixture(scope="session")
def whole(folder: Path) -> StudyResult:
    """The results of a run that nothing disturbed."""
    return Store(str(folder / "whole.zarr")).load()


@pytest.fixture
def location(folder: Path, tmp_path: Path) -> Path:
    """A copy of its store."""
    return Path(shutil.copytree(folder / "whole.zarr", tmp_path / "whole.zarr"))
