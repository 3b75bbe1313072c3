"""The store: whole chunks, found again after any interruption, refused when they are not this study's."""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import heavybandits as hb
from heavybandits.engine.results import Chunk
from heavybandits.engine.study_results import StudyResult
from heavybandits.studies.executors import workers
from heavybandits.studies.progress import Step
from heavybandits.studies.run import run_studies
from heavybandits.studies.schema import StudyError, StudyFile
from heavybandits.studies.store import Store, StoreError
from heavybandits.studies.study import Study, read_study
from heavybandits.studies.writer import reserved

# A chunk per instance, and enough of them to be interrupted between.
TEXT = """
[study]
horizon = 500
replications = 20
[instance.two]
kind = "delta-cauchy"
delta = { linspace = [0, 3, 12] }
[policy.UCB]
kind = "ucb"
c = [0.1, 1.0]
[policy.Thompson]
kind = "thompson-gaussian"
"""
RUN = """
import sys
from heavybandits.studies.executors import workers
from heavybandits.studies.run import run_studies
from heavybandits.studies.study import read_study
with workers(1) as executor:
    run_studies({sys.argv[2]: read_study(sys.argv[1])}, executor, lambda step: print(step.pulls, flush=True))
"""


DAMAGED = "damaged: two delta=3, replications 0 to 19; run the study again to replace them"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the study file, and the store of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "small.toml").write_text(TEXT)
    run(read_study(folder / "small.toml"), folder / "whole.zarr")
    return folder


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    return read_study(folder / "small.toml")


@pytest.fixture(scope="module")
def whole(folder: Path) -> StudyResult:
    """The results of a run that nothing disturbed."""
    return Store(str(folder / "whole.zarr")).load()


@pytest.fixture
def location(folder: Path, tmp_path: Path) -> Path:
    """A copy of its store."""
    return Path(shutil.copytree(folder / "whole.zarr", tmp_path / "whole.zarr"))


def run(study: Study, location: Path) -> tuple[list[str], int]:
    """Run a study; return what was damaged, and how many pulls were played."""
    steps: list[Step] = []
    with workers(2) as executor:
        damaged = run_studies({str(location): study}, executor, steps.append)
    return damaged, steps[-1].pulls


def same(one: StudyResult, other: StudyResult) -> bool:
    return list(one.results) == list(other.results) and all(
        one.results[label].regret.identical(other.results[label].regret)
        and one.results[label].pulls.identical(other.results[label].pulls)
        for label in one.results
    )


@pytest.mark.slow
def test_stored_results_are_those_of_simulate(study: Study, whole: StudyResult) -> None:
    for label, case in study.cases.items():
        direct = hb.simulate(case.instance, study.policies(label), horizon=500, replications=20, seed=0)
        for name, array in direct.to_xarray()[["regret", "pulls"]].items():
            stored = whole.results[label].to_xarray()[name]
            assert array.identical(stored.drop_vars(["family", "policy_c", "instance_delta"])), name
    assert whole.provenance["complete"]
    assert whole.families == {"UCB c=0.1": "UCB", "UCB c=1": "UCB", "Thompson": "Thompson"}


@pytest.mark.slow
def test_xarray_opens_it_as_a_tree_with_its_provenance(study: Study, whole: StudyResult, location: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = xr.open_datatree(str(location), engine="zarr")
    node = tree["two delta=3"]
    assert node["regret"].dims == ("policy", "replication", "round")
    np.testing.assert_array_equal(node["regret"].sel(policy="UCB c=1"),
                                  whole.results["two delta=3"].regret.sel(policy="UCB c=1"))  # fmt: skip
    assert (node["pulls"].sum("arm") == 500).all()
    assert (node["wall_time"] > 0).all()
    assert tree.attrs["digest"] == study.digest
    assert tree.attrs["spec"] == study.spec.plain()
    assert node["policy_c"].dims == ("policy",)
    np.testing.assert_array_equal(node["policy_c"], [0.1, 1.0, np.nan])
    assert node["family"].to_numpy().tolist() == ["UCB", "UCB", "Thompson"]
    assert node["instance_delta"].item() == 3.0
    assert {"policy_c", "family", "instance_delta"} < set(node.coords)
    assert {"python", "numpy", "numba"} <= set(tree.attrs["versions"])
    assert [session["pulls"] for session in tree.attrs["sessions"]] == [12 * 500 * 20 * 3]


@pytest.mark.slow
def test_what_is_stored_is_not_played_again(study: Study, location: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in location.rglob("c/*")}
    assert run(study, location) == ([], 0)
    assert before == {path: path.stat().st_mtime_ns for path in location.rglob("c/*")}


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(4))
def test_killed_at_any_moment_it_goes_on_to_the_same_results(
    study: Study, whole: StudyResult, folder: Path, tmp_path: Path, moment: int
) -> None:
    location = tmp_path / "killed.zarr"
    rng = random.Random(moment)
    command = [sys.executable, "-c", RUN, str(folder / "small.toml"), str(location)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if moment:  # else it is killed while the store is laid out
        for _ in range(rng.randrange(2, 8)):  # one at the start, one after each chunk
            process.stdout.readline()
    else:
        while not location.exists():
            time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.01))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    damaged, pulls = run(study, location)
    assert damaged == []
    assert same(Store(str(location)).load(), whole)
    if moment:
        assert pulls < 12 * 500 * 20 * 3


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
@pytest.mark.parametrize("array", ["regret", "pulls", "wall_time"])
def test_a_damaged_chunk_is_named_and_computed_again(
    study: Study, whole: StudyResult, location: Path, harm: str, array: str
) -> None:
    (file,) = (path for path in (location / "two delta=3" / array / "c").rglob("*") if path.is_file())
    data = bytearray(file.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 255
        file.write_bytes(data)
    elif harm == "cut":
        file.write_bytes(data[:-5])
    else:
        file.unlink()
    with pytest.raises(StoreError, match=DAMAGED):
        Store(str(location)).load()
    damaged, pulls = run(study, location)
    assert damaged == ["small: two delta=3, replications 0 to 19"]
    assert pulls == 500 * 20 * 3
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["flip", "empty"])
def test_a_damaged_checksum_is_named_and_its_chunk_computed_again(
    study: Study, whole: StudyResult, location: Path, harm: str
) -> None:
    file = location / "two delta=3" / "checksum" / "c" / "0"
    file.write_bytes(file.read_bytes()[::-1] if harm == "flip" else b"")
    with pytest.raises(StoreError, match=DAMAGED):
        Store(str(location)).load()
    assert run(study, location) == (["small: two delta=3, replications 0 to 19"], 500 * 20 * 3)
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["file", "local"])
def test_an_address_of_a_folder_is_that_folder(study: Study, tmp_path: Path, protocol: str) -> None:
    with reserved(f"{protocol}://{tmp_path}/new/small.zarr", study):
        assert Store(str(tmp_path / "new" / "small.zarr")).record.digest == study.digest
        assert Store(f"{protocol}://{tmp_path}/new/small.zarr").record.digest == study.digest


def test_an_address_that_nothing_understands_is_named(study: Study) -> None:
    with (
        pytest.raises(StoreError, match=r"foo://x: Protocol not known: foo; choose a folder"),
        reserved("foo://x", study),
    ):
        pass


@pytest.mark.slow
def test_a_second_run_at_the_same_time_is_refused(study: Study, whole: StudyResult, location: Path) -> None:
    with reserved(location, study):
        with pytest.raises(StoreError, match=r"whole\.zarr: another run is writing to it; wait for it to finish"):
            run(study, location)
        assert same(Store(str(location)).load(), whole)  # to read is fine
    assert run(study, location) == ([], 0)


@pytest.mark.slow
def test_a_store_that_another_run_has_just_begun_is_left_alone(study: Study, tmp_path: Path) -> None:
    with reserved(tmp_path / "new.zarr", study):  # and no results yet, so that it could give way
        with pytest.raises(StoreError, match="another run is writing to it"):
            run(study.with_replications(1), tmp_path / "new.zarr")
        assert Store(tmp_path / "new.zarr").record.digest == study.digest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "part"),
    [("remove", "regret"), ("remove", "round"), ("remove", "."), ("overwrite", "pulls"), ("overwrite", "checksum")],
)
def test_an_instance_whose_layout_is_damaged_is_computed_again(
    study: Study, whole: StudyResult, location: Path, harm: str, part: str
) -> None:
    target = location / "two delta=3" / part
    if harm == "remove":
        shutil.rmtree(target)
    else:
        (target / "zarr.json").write_text("garbage")
    _, pulls = run(study, location)
    assert pulls == (0 if part == "round" else 500 * 20 * 3)  # a coordinate can be written again
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
def test_the_store_of_another_study_is_refused_and_kept(study: Study, whole: StudyResult, location: Path) -> None:
    spec = study.spec.plain()
    spec["study"]["seed"] = 1
    other = Study(study.name, StudyFile.checked(study.name, spec), study.folder)
    with pytest.raises(StoreError, match=r"made from another study \(study.seed was 0, is 1\); choose"):
        run(other, location)
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
def test_a_study_may_get_more_replications_later(study: Study, whole: StudyResult, location: Path) -> None:
    longer = study.repeated(2)
    assert (longer.digest, longer == study) == (study.digest, False)
    damaged, pulls = run(longer, location)
    assert (damaged, pulls) == ([], 500 * 20 * 3 * 12)  # what is stored is kept
    fresh = location.with_name("fresh.zarr")
    run(longer, fresh)
    grown = Store(str(location)).load()
    assert same(grown, Store(str(fresh)).load())
    for label, result in whole.results.items():  # times are measured, so equal ones were not measured again
        assert (grown.results[label].wall_time[:, :20] == result.wall_time).all()
    assert run(longer, location) == ([], 0)


@pytest.mark.slow
def test_a_chunk_that_was_not_full_is_played_again(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heavybandits.studies.study.ITEM", 500 * 3 * 8)  # eight replications in a chunk
    location = tmp_path / "grows.zarr"
    run(study, location)  # 8 + 8 + 4
    damaged, pulls = run(study.repeated(2), location)
    assert (damaged, pulls) == ([], 500 * 24 * 3 * 12)  # 16 of 40 are kept
    fresh = tmp_path / "fresh.zarr"
    run(study.repeated(2), fresh)
    assert same(Store(str(location)).load(), Store(str(fresh)).load())


def test_a_study_cannot_get_fewer_replications_later(study: Study, whole: StudyResult, location: Path) -> None:
    with pytest.raises(StoreError, match=r"has 20 replications of two delta=0, the study asks for 10; ask for at"):
        run(study.with_replications(10), location)
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
def test_a_store_without_chunks_gives_way_to_another_study(study: Study, tmp_path: Path) -> None:
    other = study.with_replications(1)
    with reserved(tmp_path / "new.zarr", study):
        pass
    with reserved(tmp_path / "new.zarr", other) as store:
        assert len(store.missing()[0]) == 12
    assert Store(str(tmp_path / "new.zarr")).record.digest == other.digest


def test_instances_that_were_not_played_yet_are_left_out(study: Study, location: Path, tmp_path: Path) -> None:
    shutil.rmtree(location / "two delta=0" / "checksum" / "c")
    loaded = Store(str(location)).load()
    assert len(loaded.results) == 11
    assert loaded.provenance["missing replications"] == 20


@pytest.mark.slow
def test_parameters_may_be_infinite(tmp_path: Path) -> None:
    (tmp_path / "inf.toml").write_text(
        TEXT.split("[policy.UCB]")[0] + "[policy.T]\nkind = 'thompson-gaussian'\nprior_scale = inf\n"
    )
    study = read_study(tmp_path / "inf.toml").with_replications(1)
    assert study.policies("two delta=0")["T"].prior_scale == float("inf")
    for _ in range(2):
        with reserved(tmp_path / "inf.zarr", study) as store:
            assert store.record.spec == study.spec


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


def test_swept_parameters_are_coordinates(whole: StudyResult) -> None:
    regret = whole.results["two delta=3"].regret
    np.testing.assert_array_equal(regret["policy_c"], [0.1, 1.0, np.nan])
    cases = xr.concat([case.to_dataset() for case in whole.to_xarray().children.values()], "case")
    np.testing.assert_allclose(cases["instance_delta"], np.linspace(0, 3, 12), rtol=1e-11)
    assert cases["regret"].where(cases["family"] == "UCB", drop=True).sizes["policy"] == 2


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not the store of a study"):
        Store(str(tmp_path))
    with pytest.raises(StoreError, match="is not the store of a study"):
        Store(str(tmp_path / "nothing.zarr"))


def test_results_of_an_unfinished_study_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text("""
        [study]
        horizon = 1_000_000
        replications = 12
        [instance.pair]
        means = [0, 1]
        noise = { kind = "gaussian" }
        [policy.UCB]
        kind = "ucb"
        """)
    study = read_study(tmp_path / "long.toml")
    with reserved(tmp_path / "long.zarr", study) as store:
        with pytest.raises(StoreError, match="no results yet; run the study first"):
            store.load()
        items = list(store.record.items())
        assert [len(item.replications) for item in items] == [5, 5, 2]
        regret = np.zeros((1, 5, len(study.cases["pair"].rounds)))
        store.write(items[1], Chunk(regret=regret, pulls=np.zeros((1, 5, 2), np.int64), wall_time=np.zeros((1, 5))))
        loaded = store.load()
    assert loaded.results["pair"].regret.sizes["replication"] == 5
    assert loaded.provenance["missing replications"] == 7
    assert not loaded.provenance["complete"]


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    # regret is zero where arms are equal, which takes no space, and large where it is kept at every round
    (tmp_path / "two.toml").write_text("""
        [study]
        horizon = 5000
        replications = 200
        checkpoints = "all"
        [instance.two]
        kind = "delta-cauchy"
        delta = [0.0, 3.0]
        [policy.UCB]
        kind = "ucb"
        """)
    study, location = read_study(tmp_path / "two.toml"), tmp_path / "full" / "two.zarr"
    run(study, tmp_path / "first.zarr")  # compiles, which writes files too
    command = [sys.executable, "-m", "heavybandits", "run", "two.toml", "--out", "full", "--workers", "1"]
    limit = (30_000, resource.RLIM_INFINITY)
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))  # fmt: skip
    assert process.returncode == 2
    assert re.fullmatch("heavybandits: File too large.*[.] Finished work is saved; run the same command to resume\n",
                        process.stderr)  # fmt: skip
    with reserved(location, study) as store:
        missing, damaged = store.missing()
    assert ([str(item) for item in missing], damaged) == (["two delta=3, replications 0 to 199"], [])
    assert not list(location.rglob("*.partial"))
    assert run(study, location) == ([], 5000 * 200)
    assert Store(str(location)).load().provenance["complete"]


@pytest.mark.slow
def test_the_store_may_be_any_fsspec_address(study: Study, whole: StudyResult) -> None:
    location = f"memory://heavybandits-{os.getpid()}/small.zarr"
    with workers(2) as executor:
        run_studies({location: study}, executor)
    assert same(Store(location).load(), whole)
