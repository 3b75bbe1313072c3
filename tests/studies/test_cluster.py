"""Studies on a real Dask cluster: a scheduler and two workers, each a process of its own."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heavybandits.studies.executors import workers
from heavybandits.studies.progress import Step
from heavybandits.studies.run import run_studies
from heavybandits.studies.store import Store
from heavybandits.studies.study import read_study

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


def dask(role: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{role}", "--no-dashboard", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The scheduler's address, and two workers."""
    contact = tmp_path / "scheduler.json"
    processes = [dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(contact))]
    try:
        while not (contact.exists() and contact.read_text().endswith("}")):
            assert processes[0].poll() is None
            time.sleep(0.05)
        address = json.loads(contact.read_text())["address"]
        options = (address, "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
        processes += [dask("worker", *options) for _ in range(2)]
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_cluster_that_loses_a_worker_gives_the_results_of_threads(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, (victim, survivor) = cluster
    (tmp_path / "study.toml").write_text(TEXT)
    study = read_study(tmp_path / "study.toml")
    with workers(2) as executor:
        run_studies({str(tmp_path / "threads.zarr"): study}, executor)
    steps: list[Step] = []

    def watch(step: Step) -> None:
        steps.append(step)
        if len(steps) == 5:  # some chunks are done, some are under way
            victim.kill()

    with workers(scheduler=address) as executor:
        run_studies({str(tmp_path / "cluster.zarr"): study}, executor, watch)
    victim.wait()
    assert survivor.poll() is None
    assert steps[4].pulls < steps[-1].pulls == steps[-1].total == 2 * 2 * 20 * 1_000_000
    threads, cluster_ = (Store(str(tmp_path / f"{name}.zarr")).load() for name in ("threads", "cluster"))
    for label in study.cases:
        assert cluster_.results[label].regret.identical(threads.results[label].regret)
        assert cluster_.results[label].pulls.identical(threads.results[label].pulls)
    assert cluster_.provenance["sessions"][0]["executor"] == "ClientExecutor"


def test_no_scheduler_is_one_clear_sentence() -> None:
    with (
        pytest.raises(ValueError, match=r"there is no Dask scheduler at 'nonsense://1'"),
        workers(scheduler="nonsense://1"),
    ):
        pass
