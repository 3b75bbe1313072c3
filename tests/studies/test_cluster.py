"""Studies on a real Dask cluster: a scheduler and two workers, each in its own process."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client

import heavybandits as hb
from heavybandits.studies.executors import workers
from heavybandits.studies.places import StoreError, has_results
from heavybandits.studies.progress import RunStep
from heavybandits.studies.run import play_item, run_studies
from heavybandits.studies.schema import StudyError
from heavybandits.studies.store import Store
from heavybandits.studies.study import read_study
from heavybandits.studies.writer import reserved

# eight chunks per instance, each long enough for a worker to be killed in the middle of one
TEXT = """
[study]
horizon = 1_000_000
replications = 20
checkpoints = "end"
[instance.pair]
means = [0, 1]
noise = { kind = "cauchy" }
[instance.trio]
means = [0, 1, 2]
noise = { kind = "gaussian" }
[policy.UCB]
kind = "ucb"
c = [0.1, 1.0]
"""


class Cluster:
    """A scheduler, and workers in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._processes = folder, list[subprocess.Popen[bytes]]()
        contact = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", contact)
        while not (contact.exists() and contact.read_text().endswith("}")):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(contact.read_text())["address"]

    def add_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", self._folder)
        return self._start("worker", self.address, *options, **environment)

    def _start(self, role: str, *options: object, **environment: str) -> subprocess.Popen[bytes]:
        program = f"distributed.cli.dask_{role}"
        command = [sys.executable, "-W", "ignore", "-m", program, "--no-dashboard", *map(str, options)]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=self._folder, env={**os.environ, **environment}, stdout=nowhere, stderr=nowhere
        )
        self._processes.append(process)
        return process

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    started = Cluster(folder)
    try:
        yield started
    finally:
        started.end()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_cluster_that_loses_a_worker_gives_the_results_of_threads(cluster: Cluster, tmp_path: Path) -> None:
    victim, survivor = cluster.add_worker(), cluster.add_worker()
    (tmp_path / "study.toml").write_text(TEXT)
    study = read_study(tmp_path / "study.toml")
    with workers(2) as executor:
        run_studies({str(tmp_path / "threads.zarr"): study}, executor)
    steps: list[RunStep] = []

    def watch(step: RunStep) -> None:
        steps.append(step)
        if len(steps) == 5:  # some chunks are done, some are under way
            victim.kill()

    with workers(scheduler=cluster.address) as executor:
        run_studies({str(tmp_path / "cluster.zarr"): study}, executor, watch)
    victim.wait()
    assert survivor.poll() is None
    assert steps[4].pulls < steps[-1].pulls == steps[-1].total == 2 * 2 * 20 * 1_000_000
    threads, cluster_ = (Store(str(tmp_path / f"{name}.zarr")).load() for name in ("threads", "cluster"))
    for label in study.cases:
        assert cluster_.results[label].regret.identical(threads.results[label].regret)
        assert cluster_.results[label].pulls.identical(threads.results[label].pulls)
    assert cluster_.provenance["sessions"][0]["executor"] == "ClientExecutor"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_worker_of_another_version_is_refused_before_it_plays(cluster: Cluster, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(Path(hb.__file__).parent, other / "heavybandits", ignore=shutil.ignore_patterns("__pycache__"))
    (other / "heavybandits" / "_version.py").write_text('__version__ = "0.0.7"\n')
    cluster.add_worker(PYTHONPATH=str(other))
    with Client(cluster.address) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(1)
    (tmp_path / "study.toml").write_text(TEXT)
    command = [sys.executable, "-m", "heavybandits", "run", "study.toml", "--scheduler", cluster.address]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"has heavybandits 0.0.7, this run needs {hb.__version__}; install the same version" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("study/*.zarr"))


def test_a_worker_that_joins_late_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    study = read_study(tmp_path / "study.toml")
    with reserved(tmp_path / "study.zarr", study) as store:
        item = next(store.record.items())
        with pytest.raises(StudyError, match=rf"a worker has heavybandits {hb.__version__}, this run needs 9\.9"):
            play_item("9.9", store.location, study, item)
        assert not has_results(store.location)
        head = study.spec.study.model_copy(update={"seed": study.spec.study.seed + 1})
        changed = dataclasses.replace(study, spec=study.spec.model_copy(update={"study": head}))
        with pytest.raises(StoreError, match="was made from another study"):  # the worker has other files
            play_item(hb.__version__, store.location, changed, item)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_killed_scheduler_ends_the_run_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT.replace("replications = 20", "replications = 200"))
    cluster.add_worker()
    command = [sys.executable, "-m", "heavybandits", "run", "study.toml", "--out", "here/results"]
    process = subprocess.Popen([*command, "--scheduler", cluster.address], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    stored = "here/results/study.zarr/pair/checksum/c/*"  # in our folder, not in the worker's
    while len(list(tmp_path.glob(stored))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    cluster.scheduler.kill()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors == ("heavybandits: lost the Dask scheduler. Finished work is saved; run the same command to resume\n")


def test_no_scheduler_is_one_clear_sentence() -> None:
    with (
        pytest.raises(ValueError, match=r"there is no Dask scheduler at 'nonsense://1'"),
        workers(scheduler="nonsense://1"),
    ):
        pass
