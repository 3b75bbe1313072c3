"""The overhead of a work item of a study, in threads and on a Dask cluster of two workers on this machine.

Run with ``python benchmarks/items.py``; it needs the extra ``distributed``.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from heavybandits.studies.executors import workers
from heavybandits.studies.progress import RunStep
from heavybandits.studies.run import run_studies
from heavybandits.studies.schema import StudyFile
from heavybandits.studies.study import Study

ITEMS = 200
STUDY = {
    "study": {"horizon": 10, "replications": 1},
    "instance": {"two": {"kind": "delta-cauchy", "delta": {"linspace": [0, 3, ITEMS]}}},
    "policy": {"UCB": {"kind": "ucb"}},
}


def milliseconds_per_item(location: Path, **where: Any) -> float:
    """Play items of ten pulls; the first, which compiles, does not count."""
    ends: list[float] = []

    def watch(step: RunStep) -> None:
        if step.pulls:
            ends.append(time.perf_counter())

    with workers(**where) as executor:
        run_studies({str(location): Study("items", StudyFile.checked("items", STUDY))}, executor, watch)
    return 1000 * (ends[-1] - ends[0]) / (ITEMS - 1)


def dask(role: str, *options: str) -> subprocess.Popen[bytes]:
    """Start a part of a cluster."""
    command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{role}", "--no-dashboard", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    """Print the medians of both, from three runs in turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contact = folder / "scheduler.json"
        cluster = [dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(contact))]
        try:
            while not (contact.exists() and contact.read_text().endswith("}")):
                time.sleep(0.1)
            address = json.loads(contact.read_text())["address"]
            options = (address, "--nthreads", "1", "--no-nanny", "--local-directory", name)
            cluster += [dask("worker", *options) for _ in range(2)]
            threads, remote = [], []
            for turn in range(3):
                threads.append(milliseconds_per_item(folder / f"threads-{turn}.zarr", threads=2))
                remote.append(milliseconds_per_item(folder / f"dask-{turn}.zarr", scheduler=address))
        finally:
            for process in cluster:
                process.kill()
    print("| | per item |\n|---|---|")
    print(f"| two threads | {statistics.median(threads):.0f} ms |")
    print(f"| two Dask workers | {statistics.median(remote):.0f} ms |")


if __name__ == "__main__":
    main()
