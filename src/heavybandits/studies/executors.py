"""Executors that play the work of studies: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(threads: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """Yield threads of this process, by default one per core; or the workers of a Dask cluster.

    When an exception ends it, work that has not begun is dropped, and work that has is not waited for.
    """
    if threads and scheduler:
        raise ValueError("workers and scheduler exclude each other")
    if scheduler:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError("a scheduler needs Dask: pip install 'heavybandits[distributed]'") from None
        try:
            client = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ValueError(f"there is no Dask scheduler at {scheduler!r}: {error}") from None
        with client, client.get_executor(retries=3) as executor:  # type: ignore[no-untyped-call]
            yield executor
        return
    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
