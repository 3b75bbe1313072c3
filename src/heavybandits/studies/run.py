"""Running studies: work items go to an executor, and the worker that plays one stores it."""

from __future__ import annotations

import functools
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

from .._validate import count
from .._version import __version__
from ..engine.loop import Run, game_of, play_chunk
from ..results.study_result import StudyResult
from .executors import workers as opened_workers
from .places import has_results
from .progress import RunProgress, RunStep
from .record import Item
from .schema import StudyError
from .store import Store
from .study import Study, read_study
from .writer import Writer, reserved

RESUME = "Finished work is saved; run the same command to resume"

_compiling = threading.Lock()


def run_study(
    source: str | Path | Study,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> StudyResult:
    """Run a study, or resume it if some of it is stored, and return its results.

    Running a study runs the code of the policies and noises that it names.

    Parameters
    ----------
    source
        A study file ``*.toml``, the name of a study that comes with the package, or a study from :func:`read_study`.
    out
        The folder for the results, by default named after the study.
    workers
        Number of threads, by default one per core.
    scheduler
        The address of a Dask scheduler whose workers play instead, such as ``tcp://host:8786``.
    progress
        Whether to show how far the run has got.

    Examples
    --------
    >>> import tempfile
    >>> import heavybandits as hb
    >>> study = hb.read_study("cauchy").with_replications(1)
    >>> results = hb.run_study(study, out=tempfile.mkdtemp(), progress=False)
    >>> results.results["Env1"].regret.dims
    ('policy', 'replication', 'round')
    """
    study = source if isinstance(source, Study) else read_study(source)
    workers = None if workers is None else count("run_study", "workers", workers)
    location = f"{study.name if out is None else out}/{study.name}.zarr"
    with opened_workers(workers, scheduler) as executor, RunProgress() if progress else nullcontext(_ignore) as watch:
        run_studies({location: study}, executor, watch)
    return Store(location).load()


def _ignore(_: object) -> None:
    pass


def run_studies(
    studies: Mapping[str, Study],
    executor: Executor,
    watch: Callable[[RunStep], None] = _ignore,
    finished: Callable[[str], None] = _ignore,
) -> list[str]:
    """Play what is missing of these studies, given by the location of their stores; return what was found damaged.

    ``watch`` is called before the first item and after each, ``finished`` when the last item of a study is stored.  The
    workers continue meanwhile.

    Examples
    --------
    >>> import tempfile
    >>> from heavybandits.studies.executors import workers
    >>> location = f"{tempfile.mkdtemp()}/cauchy.zarr"
    >>> with workers(2) as threads:
    ...     run_studies({location: read_study("cauchy").with_replications(1)}, threads)
    []
    >>> Store(location).load().results["Env2"].regret.sizes["replication"]
    1
    """
    with ExitStack() as stack:
        stores = {stack.enter_context(reserved(location, study)): study for location, study in studies.items()}
        with resumable(lambda: any(has_results(store.location) for store in stores)):
            return _run(stores, executor, watch, finished)


@contextmanager
def resumable(is_saved: Callable[[], bool]) -> Iterator[None]:
    """Add a note to an exception that ends a run early: finished work is saved, if any is.

    Examples
    --------
    >>> try:
    ...     with resumable(lambda: True):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt as interrupt:
    ...     interrupt.__notes__
    ['Finished work is saved; run the same command to resume']
    """
    try:
        yield
    except BaseException as error:
        if RESUME not in getattr(error, "__notes__", ()) and is_saved():
            error.add_note(RESUME)
        raise


def _run(
    stores: dict[Writer, Study], executor: Executor, watch: Callable[[RunStep], None], finished: Callable[[str], None]
) -> list[str]:
    """Play what is missing; the stores are open, and no other run writes to them."""
    began, start = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    work, damaged = [], []
    for store in stores:
        missing, broken = store.missing()
        work += [(store, item) for item in missing]
        damaged += [f"{store.record.name}: {item}" for item in broken]
    total = sum(_pulls(store, item) for store, item in work)
    watch(RunStep(f"{work[0][0].record.name}: {work[0][1].case}" if work else "", 0, total))
    done: Counter[Writer] = Counter()  # pulls
    left = Counter(store for store, _ in work)  # items
    # Not concurrent.futures.wait, which holds the locks of all futures for a while: Ctrl-C at that moment would hang.
    ready: SimpleQueue[Future[None]] = SimpleQueue()
    futures = {executor.submit(play_item, __version__, store.location, stores[store], item): (store, item)
               for store, item in work}  # fmt: skip

    def close(store: Writer) -> None:
        store.add_session(started=began, seconds=round(time.perf_counter() - start, 1), machine=_machine(),
                          pulls=done.pop(store), executor=type(executor).__name__)  # fmt: skip

    order, pulls = {future: number for number, future in enumerate(futures)}, 0
    try:
        for future in futures:
            future.add_done_callback(ready.put)
        while left.total():
            for future in sorted(_take(ready), key=order.__getitem__):  # raise the error of the first item
                store, item = futures[future]
                _outcome(future, f"{store.record.name}: {item}")
                done[store] += _pulls(store, item)
                left[store] -= 1
                pulls += _pulls(store, item)
                watch(RunStep(f"{store.record.name}: {item.case}", pulls, total))
                if not left[store]:
                    close(store)
                    finished(store.location)
    finally:
        for future in futures:
            future.cancel()
        with suppress(OSError):  # a full disk, which the first error reports
            for store in list(done):
                close(store)
    return damaged


def _take(ready: SimpleQueue[Future[None]]) -> list[Future[None]]:
    """Wait for something in the queue, and take everything that is there."""
    taken = [ready.get()]
    while not ready.empty():
        taken.append(ready.get())
    return taken


def _outcome(future: Future[None], what: str) -> None:
    """Raise the error that ended a piece of work, if any; work that nobody here cancelled has lost its cluster."""
    try:
        future.result()
    except CancelledError:
        raise StudyError("lost the Dask scheduler") from None
    except (ValueError, OSError):
        raise
    except Exception as error:  # whatever a cluster may raise
        raise StudyError(f"{what}: {type(error).__name__}: {error}") from error


def play_item(version: str, location: str, study: Study, item: Item) -> None:
    """Play an item and store it; a worker calls this, in a thread or on another machine."""
    if version != __version__:
        raise StudyError(f"a worker has heavybandits {__version__}, this run needs {version}; install the same version")
    with _compiling:
        runs = _runs(study, item.case)
    case = study.cases[item.case]
    game = game_of(case.instance, case.delays)
    try:
        chunk = play_chunk(game, list(runs.values()), case.horizon, study.spec.study.seed, item.replications)
    except Exception as error:  # whatever a user's policy or noise may raise
        raise StudyError(f"{study.name}: {item}: {type(error).__name__}: {error}") from error
    _opened(location, study).write(item, chunk)


@functools.lru_cache(maxsize=256)
def _runs(study: Study, case: str) -> dict[str, Run]:
    instance, horizon, _, rounds, _, delays = study.cases[case]
    game, runs = game_of(instance, delays), {}
    for label, policy in study.policies(case).items():
        try:
            runs[label] = Run(game, policy, horizon, rounds, study.spec.study.seed)
        except Exception as error:  # whatever a user's policy may raise
            raise StudyError(f"{study.name}: policy.{label}: {type(error).__name__}: {error}") from error
    return runs


@functools.lru_cache(maxsize=256)
def _opened(location: str, study: Study) -> Writer:
    return Writer(location, study)


def _pulls(store: Writer, item: Item) -> int:
    return store.record.cases[item.case].horizon * len(item.replications) * len(store.record.policies)


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
