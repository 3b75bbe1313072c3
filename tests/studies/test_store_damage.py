"""Interrupted runs, damaged files and full disks: what is lost is named, and computed again to the same results."""

import json
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from stores import run, same

from heavybandits.results.study_result import StudyResult
from heavybandits.studies.places import StoreError
from heavybandits.studies.store import Store
from heavybandits.studies.study import Study, read_study
from heavybandits.studies.writer import reserved

RUN = """
import sys
from heavybandits.studies.executors import workers
from heavybandits.studies.run import run_studies
from heavybandits.studies.study import read_study
with workers(1) as executor:
    run_studies({sys.argv[2]: read_study(sys.argv[1])}, executor, lambda step: print(step.pulls, flush=True))
"""
DAMAGED = "damaged: two delta=3, replications 0 to 19; run the study again to replace them"


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


DESCRIPTIONS: dict[str, tuple[str, Any]] = {  # files, and what their JSON becomes
    "root: a number": ("zarr.json", lambda root: 1.5),
    "root: arrays of no shape": ("zarr.json", lambda root: changed(root, "metadata", "two delta=3/pulls", shape=["x"])),
    "root: arrays of no kind": ("zarr.json", lambda root: changed(root, "metadata", "two delta=3/pulls", codecs=None)),
    "root: no arrays": ("zarr.json", lambda root: changed(root, metadata=[1])),
    "case: a number": ("two delta=3/zarr.json", lambda case: 1.5),
    "case: of no format": ("two delta=3/zarr.json", lambda case: {**case, "zarr_format": "x"}),
    "array: a number": ("two delta=3/regret/zarr.json", lambda array: 1.5),
    "array: no shape": ("two delta=3/regret/zarr.json", lambda array: {**array, "shape": ["x"]}),
    "array: a number too large": ("two delta=3/checksum/zarr.json", lambda array: {**array, "fill_value": 10**30}),
    "coordinate: a number": ("two delta=3/family/zarr.json", lambda array: 1.5),
    "coordinate: more than memory": ("two delta=3/policy_c/zarr.json", lambda array: {**array, "shape": [10**12]}),
}


def changed(root: dict[str, Any], *path: str, **parts: Any) -> dict[str, Any]:
    """Return the description of a store with other parts in its copy of what describes its arrays."""
    inner = root["consolidated_metadata"]
    for key in path:
        inner = inner[key]
    inner.update(parts)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_descriptions_that_make_no_sense_are_refused_and_written_again(
    study: Study, whole: StudyResult, location: Path, what: str
) -> None:
    name, change = DESCRIPTIONS[what]
    file = location / name
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    if what.startswith("root"):
        with pytest.raises(StoreError, match=r"whole\.zarr is not the store of a study, or its description is damaged"):
            Store(str(location))
    _, pulls = run(study, location)
    assert pulls == (500 * 20 * 3 if what.startswith("array") else 0)
    assert same(Store(str(location)).load(), whole)


def test_something_else_in_a_store_that_cannot_be_read_is_left_to_its_owner(study: Study, location: Path) -> None:
    (location / "mine").mkdir()
    (location / "mine" / "zarr.json").write_text("1.5")
    with pytest.raises(StoreError, match=r"something in it cannot be read .* delete that, or choose another folder"):
        run(study, location)


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    # Regret is zero where arms are equal, which takes no space; where they differ, one number per round takes much.
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
