"""Where stores are: folders of this machine, and other addresses that fsspec understands."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class StoreError(ValueError):
    """A store that cannot be used; the message says which, why, and what to do."""


def absolute(location: str | Path) -> str:
    """Return a folder as an absolute path, which means the same to all workers; any other address is left as it is."""
    path = re.sub("^(file|local)://", "", str(location))
    if is_folder(path):
        return os.path.abspath(path)
    file_system(path)  # refuses an address that nothing here can open
    return path


def is_folder(location: str) -> bool:
    """Return whether a location is a folder of this machine, which may not exist yet."""
    return "://" not in location


def file_system(address: str) -> Any:
    """Return the file system of an address that is not a folder of this machine."""
    try:
        import fsspec

        return fsspec.url_to_fs(address)[0]
    except ImportError as error:
        raise StoreError(f"{address}: {error}; such an address needs fsspec and the package that it asks for") from None
    except ValueError as error:
        raise StoreError(f"{address}: {error}; choose a folder, or another address") from None


def matching(location: str, pattern: str) -> Iterator[str]:
    """Yield what is at a location and matches a pattern."""
    if is_folder(location):
        yield from map(str, Path(location).glob(pattern))
    else:
        files = file_system(location)
        yield from map(files.unstrip_protocol, files.glob(f"{location}/{pattern}"))


def find_stores(location: str | Path) -> list[str]:
    """Return the stores in a folder, or at an address that fsspec understands."""
    location = absolute(location)
    if is_folder(location) and not Path(location).is_dir():
        raise StoreError(f"there is no folder {location}")
    found = sorted(matching(location, "*.zarr"))
    if not found:
        raise StoreError(f"{location}: no results yet; run the study first")
    return found


def has_results(location: str) -> bool:
    """Return whether any chunk is stored, of any study."""
    return any(True for _ in matching(location, "*/checksum/c/*"))


def is_empty(location: str) -> bool:
    """Return whether there is nothing there, except perhaps files that were never finished."""
    if is_folder(location):
        return all(entry.suffix == ".partial" for entry in Path(location).iterdir())
    return not file_system(location).find(location)


def delete_file(file: str) -> None:
    """Delete a file."""
    Path(file).unlink() if is_folder(file) else file_system(file).rm_file(file)


def clear(location: str) -> None:
    """Delete what is in a store; its folder, which is locked, stays."""
    if not is_folder(location):
        file_system(location).rm(location, recursive=True)
        return
    for entry in Path(location).iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
