"""The root of a store: what it says is sealed, repaired from the study file, and never runs code."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import heavybandits as hb
from heavybandits.report.folder import report_folder
from heavybandits.results.study_result import StudyResult
from heavybandits.studies.executors import workers
from heavybandits.studies.places import StoreError
from heavybandits.studies.progress import RunStep
from heavybandits.studies.run import run_studies
from heavybandits.studies.store import Store
from heavybandits.studies.study import read_study
from heavybandits.studies.writer import reserved

STUDY = """
[study]
title = "Two cases"
horizon = 60
replications = 4
[instance.tails]
means = [0, 1]
noise = { kind = "student-t", df = [1.0, 3.0] }
[policy.UCB]
kind = "ucb"
c = [0.5, 1.0]
"""
ALL = 2 * 2 * 60 * 4  # pulls


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study and its store."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "two.toml").write_text(STUDY)
    hb.run_study(folder / "two.toml", out=folder, workers=1, progress=False)
    return folder


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder."""
    return Path(shutil.copytree(played, tmp_path / "copy"))


def resumed(folder: Path) -> int:
    """Run the study of the folder again; return how many pulls were played."""
    steps: list[RunStep] = []
    with workers(1) as executor:
        run_studies({str(folder / "two.zarr"): read_study(folder / "two.toml")}, executor, steps.append)
    return steps[-1].pulls


def same(one: StudyResult, other: StudyResult) -> bool:
    return one.title == other.title and all(
        one.results[label].to_xarray().identical(other.results[label].to_xarray()) for label in other.results
    )


def edit(folder: Path, change: Callable[[Any], object]) -> None:
    file = folder / "two.zarr" / "zarr.json"
    root = json.loads(file.read_text())
    change(root["attributes"])
    file.write_text(json.dumps(root))


EDITS: dict[str, Callable[[Any], object]] = {
    "seed": lambda root: root["spec"]["study"].update(seed=5),
    "horizon": lambda root: root["spec"]["study"].update(horizon=61),
    "title": lambda root: root["spec"]["study"].update(title="Another"),
    "means": lambda root: root["cases"]["tails df=1"].update(means=[0.0, 2.0]),
    "gaps": lambda root: root["cases"]["tails df=1"].update(gaps=[2.0, 0.0]),
    "limit": lambda root: root["cases"]["tails df=1"].update(lai_robbins=0.1),
    "swept": lambda root: root["policies"]["UCB c=1"]["swept"].update(c=2.0),
    "label": lambda root: root["policies"].update({"mine": root["policies"].pop("UCB c=1")}),
    "version": lambda root: root.update(version="9.9"),
    "sessions": lambda root: root["sessions"][0].update(machine="a better one"),
    "format": lambda root: root.update(format=3),
    "unsealed": lambda root: root.pop("seal"),
    "empty": lambda root: root.clear(),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
def test_an_edited_root_is_refused_and_mended_from_the_study_file(played: Path, folder: Path, what: str) -> None:
    edit(folder, EDITS[what])
    with pytest.raises(StoreError, match=r"two\.zarr: (its description is damaged or was edited|has format 3)"):
        hb.load_study(folder)
    assert resumed(folder) == 0
    assert same(hb.load_study(folder), hb.load_study(played))


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["garbage", "empty", "removed"])
def test_a_damaged_root_is_made_again_and_whole_results_are_kept(played: Path, folder: Path, harm: str) -> None:
    file = folder / "two.zarr" / "zarr.json"
    if harm == "removed":
        file.unlink()
    else:
        file.write_text("garbage" if harm == "garbage" else "")
    (chunk,) = (folder / "two.zarr" / "tails df=3" / "regret" / "c").rglob("0/0/0")
    chunk.write_bytes(b"damaged")
    advice = "is not the store of a study" if harm == "removed" else "run the study again to rebuild it"
    with pytest.raises(StoreError, match=advice):
        hb.load_study(folder)
    assert resumed(folder) == ALL // 2  # the damaged half
    regret = [hb.load_study(place).results["tails df=3"].regret for place in (folder, played)]
    assert regret[0].identical(regret[1])


def test_results_of_another_study_are_kept_when_the_root_is_damaged(folder: Path) -> None:
    (folder / "two.zarr" / "zarr.json").write_text("garbage")
    (folder / "two.toml").write_text(STUDY.replace("replications = 4", "replications = 4\nseed = 1"))
    before = {path: path.read_bytes() for path in (folder / "two.zarr").rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match=r"holds no results of this study; choose another folder, or delete it"):
        resumed(folder)
    assert before == {path: path.read_bytes() for path in (folder / "two.zarr").rglob("*") if path.is_file()}


def test_a_folder_with_other_things_is_left_alone(played: Path, tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "two.zarr", attributes={"mine": 1})
    group.create_array("precious", data=np.arange(3))
    with (
        pytest.raises(StoreError, match="choose another folder"),
        reserved(tmp_path / "two.zarr", read_study(played / "two.toml")),
    ):
        pass
    assert zarr.open_group(tmp_path / "two.zarr")["precious"][:].tolist() == [0, 1, 2]  # type: ignore[index, union-attr]


def test_a_seal_made_anew_does_not_make_results_those_of_another_study(folder: Path) -> None:
    store = Store(folder / "two.zarr")
    head = store.record.spec.study.model_copy(update={"seed": 5})
    forged = store.record.model_copy(update={"spec": store.record.spec.model_copy(update={"study": head})})
    edit(folder, lambda root: root.update(forged.sealed()))
    with pytest.raises(StoreError, match="damaged: tails df=1, replications 0 to 3"):
        hb.load_study(folder)


def test_a_chunk_counts_only_where_it_was_written(folder: Path) -> None:
    for part in ("regret", "pulls", "wall_time", "checksum"):
        one, other = (folder / "two.zarr" / f"tails df={df}" / part / "c" for df in (1, 3))
        shutil.rmtree(one)
        shutil.copytree(other, one)
    with pytest.raises(StoreError, match="damaged: tails df=1, replications 0 to 3"):
        hb.load_study(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["round", "policy", "policy_c", "family", "instance_df"])
def test_edited_coordinates_are_refused_and_mended(played: Path, folder: Path, name: str) -> None:
    root = zarr.open_group(folder / "two.zarr", mode="r+")
    array: Any = root[f"tails df=3/{name}"]
    array[...] = "other" if name in ("policy", "family") else 7
    with pytest.raises(StoreError, match="damaged: coordinates of tails df=3; run the study again to fix them"):
        hb.load_study(folder)
    assert resumed(folder) == 0
    assert same(hb.load_study(folder), hb.load_study(played))


def test_consolidated_metadata_that_are_damaged_are_made_again(played: Path, folder: Path) -> None:
    file = folder / "two.zarr" / "zarr.json"
    root = json.loads(file.read_text())
    root["consolidated_metadata"]["metadata"]["tails df=3/regret"]["shape"] = [2, 4, 5]
    file.write_text(json.dumps(root))
    with pytest.raises(StoreError, match="damaged"):
        hb.load_study(folder)
    assert resumed(folder) == 0
    assert same(hb.load_study(folder), hb.load_study(played))


def test_a_new_title_is_taken_over_without_playing_again(folder: Path) -> None:
    (folder / "two.toml").write_text(STUDY.replace("Two cases", "Tails"))
    assert resumed(folder) == 0
    assert hb.load_study(folder).title == "Tails"


EVIL = """
from pathlib import Path
import numpy as np

with open(Path(__file__).parent / "ran", "a") as log:
    log.write("x")

class Evil:
    def sample(self, rng, size):
        return rng.standard_normal(size)
"""


@pytest.mark.slow
def test_reading_and_reporting_run_no_code_that_a_store_names(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "evil.toml").write_text(STUDY.replace("noise = {", "horizon = 50\nnoise = { kind = 'evil.py:Evil' } #"))
    hb.run_study(tmp_path / "evil.toml", out=tmp_path / "out", workers=1, progress=False)
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    (tmp_path / "evil.py").write_text(EVIL + "\n# changed, so that it would be imported again\n")
    study = hb.load_study(tmp_path / "out")
    assert study.results["tails"].instance.means.tolist() == [0.0, 1.0]
    assert report_folder(tmp_path / "out").page.exists()
    assert not (tmp_path / "ran").exists()
