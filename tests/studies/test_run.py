"""Running studies from Python: the whole walk, and errors in a user's policy."""

import shutil
from pathlib import Path

import pytest
from stores import TEXT, same

import heavybandits as hb
from heavybandits.results.study_result import StudyResult
from heavybandits.studies.executors import workers
from heavybandits.studies.places import StoreError
from heavybandits.studies.run import run_studies
from heavybandits.studies.schema import StudyError
from heavybandits.studies.study import Study, read_study

MINE = """
from typing import NamedTuple
import numpy as np

class State(NamedTuple):
    pulls: np.ndarray

class Mine(NamedTuple):
    c: float = 1.0
    def init(self, n_arms, horizon):
        return State(np.zeros(n_arms))
    def select(self, state, t, rng):
        {}
    def update(self, state, arm, reward):
        pass
"""


@pytest.mark.slow
def test_studies_run_load_and_report_from_python(
    study: Study, whole: StudyResult, folder: Path, tmp_path: Path
) -> None:
    played = hb.run_study(folder / "small.toml", out=tmp_path, workers=2, progress=False)
    loaded = hb.load_study(tmp_path)
    assert same(played, whole)
    assert same(loaded, whole)
    assert not (tmp_path / "report.html").exists()
    assert hb.write_report(loaded, tmp_path) == tmp_path / "report.html"
    assert "two delta=3" in (tmp_path / "report.html").read_text()
    shutil.copytree(tmp_path / "small.zarr", tmp_path / "other.zarr")
    with pytest.raises(StoreError, match=r"has the stores of 2 studies; name one of other\.zarr, small\.zarr"):
        hb.load_study(tmp_path)
    assert same(hb.load_study(tmp_path / "other.zarr"), whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return 7", "two delta=0, replications 0 to 1: IndexError: Mine: select must return the number of an arm"),
        (
            "if t > 1: raise ValueError('no')\n        return 0",
            "two delta=0, replications 0 to 1: ValueError: Mine: no",
        ),
        ("import os; return 0", "mine: policy.M: TypeError: Mine cannot be compiled by numba"),
        ("return state.nothing[0]", "mine: policy.M: TypeError: Mine cannot be compiled by numba"),
    ],
)
def test_an_error_in_a_users_policy_is_one_line_that_says_where(tmp_path: Path, body: str, complaint: str) -> None:
    (tmp_path / "mine.py").write_text(MINE.format(body))
    (tmp_path / "mine.toml").write_text(TEXT.split("[policy.UCB]")[0] + "[policy.M]\nkind = 'mine.py:Mine'\n")
    study = read_study(tmp_path / "mine.toml").with_replications(2)
    with pytest.raises(StudyError) as caught, workers(1) as executor:
        run_studies({str(tmp_path / "mine.zarr"): study}, executor)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
