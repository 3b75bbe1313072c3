"""The disk cache: one file for each function and each signature, with a digest of its contents.

numba's own cache trusts its files, and one flipped bit may crash the process.  Here a file that is damaged, missing or
of another version only means compiling again.  Files are moved into place when they are complete, so several processes
may write the same one at the same time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import pickle
import platform
import secrets
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .backend import is_known

_DIGEST_BYTES = hashlib.sha256().digest_size


def attach(dispatcher: Any, name: str, prepare: Callable[[], None]) -> bool:
    """Let numba's dispatcher keep what it compiles under this name, and call ``prepare`` before it compiles.

    If that is impossible, return false; the dispatcher then compiles in every process.
    """
    folder = _folder() if is_known() else None
    if folder is None or not hasattr(dispatcher, "_cache"):
        return False
    try:
        dispatcher._cache = _cache_class()(folder, name, prepare)
    except Exception:  # numba's internals are not as expected
        return False
    return True


@functools.cache
def _folder() -> Path | None:
    """Return the first folder for the cache that can be written to, or None.

    The folder that NUMBA_CACHE_DIR names need not be writable if there is code in it: an image may contain it.
    """
    numba: Any = importlib.import_module("numba")
    system = {"win32": os.environ.get("LOCALAPPDATA", "~"), "darwin": "~/Library/Caches"}
    user = Path(os.environ.get("XDG_CACHE_HOME") or system.get(sys.platform, "~/.cache")).expanduser()
    folders = [Path(__file__).parent / "__pycache__", user / "heavybandits"]
    if numba.config.CACHE_DIR:
        folders.insert(0, Path(numba.config.CACHE_DIR) / "heavybandits")
        if any(folders[0].glob("*.nbc")):
            return folders[0]
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    return None


@functools.cache
def _cache_class() -> Any:
    numba: Any = importlib.import_module("numba")
    compiler: Any = importlib.import_module("numba.core.compiler")
    serialize: Any = importlib.import_module("numba.core.serialize")
    caching: Any = importlib.import_module("numba.core.caching")
    versions = numba.__version__, np.__version__, platform.python_implementation(), sys.version_info

    class Cache(caching.NullCache):  # type: ignore[misc]
        """The cache that numba asks before it compiles, and fills afterwards."""

        def __init__(self, folder: Path, name: str, prepare: Callable[[], None]) -> None:
            self._folder, self._name, self._prepare = folder, name, prepare

        @property
        def cache_path(self) -> str:
            return str(self._folder)

        def load_overload(self, signature: Any, target: Any) -> Any:
            target.refresh()  # machine code needs what this sets up
            with contextlib.suppress(Exception):
                contents = self._file(signature, target).read_bytes()
                if hashlib.sha256(contents[_DIGEST_BYTES:]).digest() == contents[:_DIGEST_BYTES]:
                    meant, reduced = pickle.loads(contents[_DIGEST_BYTES:])
                    if meant == signature:
                        return compiler.CompileResult._rebuild(target, *reduced)
            self._prepare()
            return None

        def save_overload(self, signature: Any, result: Any) -> None:
            if result.lifted or result.library.has_dynamic_globals:  # valid in this process only
                return
            with contextlib.suppress(Exception):
                contents = serialize.dumps((signature, result._reduce()))
                file = self._file(signature, result.target_context)
                temporary = file.with_name(f"{secrets.token_hex(8)}.tmp")
                try:
                    temporary.write_bytes(hashlib.sha256(contents).digest() + contents)
                    temporary.replace(file)
                finally:
                    temporary.unlink(missing_ok=True)

        def _file(self, signature: Any, target: Any) -> Path:
            key = repr((self._name, signature, target.codegen().magic_tuple(), versions))
            return self._folder / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.nbc"

    return Cache
