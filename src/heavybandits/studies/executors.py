"""Executors that do the work of studies: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from .._version import __version__


@contextmanager
def workers(threads: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """Yield an executor: threads of this process, by default one per core, or the workers of a Dask cluster.

    If an exception ends the block, work that has not begun is dropped, and work that has is not waited for.
    """
    if threads and scheduler:
        raise ValueError(f"workers and scheduler must not both be given, got {threads} and {scheduler!r}")
    if scheduler:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError("a scheduler needs Dask: pip install 'heavybandits[distributed]'") from None
        with _quiet_dask():
            try:
                client = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
            except (OSError, ValueError) as error:
                raise ValueError(f"there is no Dask scheduler at {scheduler!r}: {error}") from None
            with client:
                _refuse_other_versions(client)
                with client.get_executor(retries=3) as executor:  # type: ignore[no-untyped-call]
                    yield executor
        return
    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """Keep Dask from logging the tracebacks of errors that it also raises."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "tornado.application")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _refuse_other_versions(client: Any) -> None:
    """Raise if a worker has another version of this package, whose numbers might differ."""
    for address, found in client.run(installed_version, on_error="return").items():
        if found != __version__:
            raise ValueError(f"the worker at {address} has heavybandits {found}, this run needs {__version__}; "
                             "install the same version there")  # fmt: skip


def installed_version() -> str:
    """Return the version of this package where this is called."""
    return __version__
