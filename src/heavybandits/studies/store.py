"""The store of a study: a Zarr group that fills up chunk by chunk, and opens as a tree of xarray datasets.

Each instance is a group with ``regret`` (policy, replication, round), ``pulls`` (policy, replication, arm),
``wall_time`` (policy, replication; nanoseconds per pull) and ``checksum`` (chunk).  A chunk is some replications of all
policies.  Its checksum is written last, so a chunk counts only if it is there completely and as it was written.  The
root's attributes say how the study was made.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import zarr

from .._version import __version__
from ..engine.results import Result, StudyResult
from ..protocols import FloatArray, IntArray
from .study import Study, differences

if sys.platform != "win32":
    import fcntl

Outcome = tuple[FloatArray, IntArray, FloatArray]  # regret, pulls and wall time of some replications


def _accept_consolidation() -> None:
    """Let zarr not warn that the format has yet to name consolidated metadata, which xarray asks for."""
    warnings.filterwarnings("ignore", "Consolidated metadata", zarr.errors.ZarrUserWarning)


_accept_consolidation()  # for all threads: what is set for a while in one can be undone by another

ARRAYS = ("regret", "pulls", "wall_time")
PARTS = (*ARRAYS, "round", "policy", "checksum")


class ArchiveError(ValueError):
    """A store that cannot be used; the message says which, why, and the way out."""


class Item(NamedTuple):
    """A unit of work: some replications of one instance, all policies."""

    case: str
    chunk: int
    replications: range

    def __str__(self) -> str:
        return f"{self.case}, replications {self.replications.start} to {self.replications.stop - 1}"


class Archive:
    """The store of one study.

    Parameters
    ----------
    location
        A folder, or any address that Zarr and fsspec understand.

    Examples
    --------
    >>> import tempfile
    >>> from heavybandits.studies.study import read_study
    >>> study = read_study("cauchy").with_replications(5)
    >>> archive = Archive.create(f"{tempfile.mkdtemp()}/cauchy.zarr", study)
    >>> missing, damaged = archive.missing()
    >>> [str(item) for item in missing]
    ['Env1, replications 0 to 4', 'Env2, replications 0 to 4', 'Env3, replications 0 to 4']
    """

    def __init__(self, location: str, mode: str = "r") -> None:
        self.location = _folder(location)
        try:
            self._root = zarr.open_group(self.location, mode=mode)  # type: ignore[arg-type]
            made: Any = self._root.attrs.asdict()
            self.study = Study(made["name"], made["spec"], made["folder"])
        except (FileNotFoundError, KeyError, ValueError) as error:
            raise ArchiveError(f"{self.location} is not the store of a study: {error}") from None

    @classmethod
    def create(cls, location: str, study: Study) -> Archive:
        """Open the store of a study to write to it, and make it if it is not there; refuse that of another study."""
        about = {"name": study.name, "title": study.spec["study"]["title"], "spec": study.spec, "folder": study.folder,
                 "identity": study.identity, "digest": study.digest, "version": __version__,
                 "versions": _versions(), "seed": study.spec["study"]["seed"], "sessions": []}  # fmt: skip
        location = _folder(location)
        try:
            root = zarr.open_group(location, mode="r")
        except FileNotFoundError:
            root = zarr.create_group(location, attributes=about)
        except ValueError as error:
            raise ArchiveError(f"{location} is not the store of a study: {error}; "
                               "choose another place, or delete what is there") from None  # fmt: skip
        changed = differences(root.attrs.get("identity", {}), study.identity)
        if changed and _is_empty(root):
            zarr.create_group(location, attributes=about, overwrite=True)
        elif changed:
            more = f", and {len(changed) - 4} more differences" if len(changed) > 4 else ""
            raise ArchiveError(f"{location} was made from another study ({'; '.join(changed[:4])}{more}); "
                               "choose another folder, or delete it")  # fmt: skip
        archive = cls(location, "r+")
        archive._prepare()
        return archive

    def _prepare(self) -> None:
        """Lay out the arrays that are not there, or no longer, which the consolidated metadata would not tell."""
        there = zarr.open_group(self.location, mode="r", use_consolidated=False)
        labels = np.array(list(self.study.families), dtype=np.dtypes.StringDType())
        laid_out = False
        for label, (instance, _, replications, rounds, _) in self.study.cases.items():
            if all(_is_there(there, f"{label}/{part}") for part in PARTS):
                continue
            group = self._root.create_group(label, overwrite=True)
            size, n_policies = self.study.chunk(label), len(labels)
            for name, last, length, dtype, fill in (
                ("regret", "round", len(rounds), "f8", np.nan),
                ("pulls", "arm", instance.n_arms, "i8", -1),
            ):
                group.create_array(name, shape=(n_policies, replications, length), chunks=(n_policies, size, length),
                                   dtype=dtype, fill_value=fill,
                                   dimension_names=("policy", "replication", last))  # fmt: skip
            group.create_array("wall_time", shape=(n_policies, replications), chunks=(n_policies, size), dtype="f8",
                               fill_value=np.nan, dimension_names=("policy", "replication"))  # fmt: skip
            group.create_array("round", data=rounds, dimension_names=("round",))
            group.create_array("policy", data=labels, dimension_names=("policy",))
            group.create_array("checksum", shape=(-(-replications // size),), chunks=(1,), dtype="u8", fill_value=0,
                               dimension_names=("chunk",))  # fmt: skip
            laid_out = True
        if laid_out:
            self._consolidate()
            self._root = zarr.open_group(self.location, mode="r+")

    def _consolidate(self) -> None:
        with warnings.catch_warnings():
            _accept_consolidation()
            zarr.consolidate_metadata(self.location)

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Keep other runs on this machine out of a store that is a folder, until this ends, or the process does."""
        if sys.platform == "win32" or not os.path.isdir(self.location):
            yield
            return
        folder = os.open(self.location, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise ArchiveError(f"{self.location}: another run is at work on it; let that one finish") from None
        except OSError:  # a file system that knows no locks
            pass
        try:
            yield
        finally:
            os.close(folder)

    def items(self) -> Iterator[Item]:
        """All work of the study."""
        for label, case in self.study.cases.items():
            size = self.study.chunk(label)
            for chunk, first in enumerate(range(0, case.replications, size)):
                yield Item(label, chunk, range(first, min(first + size, case.replications)))

    def missing(self) -> tuple[list[Item], list[Item]]:
        """Work that is not done; and which of it was stored, but is damaged."""
        missing, damaged = [], []
        for item in self.items():
            stored, outcome = self._read(item)
            if outcome is None:
                missing.append(item)
                if stored:
                    damaged.append(item)
        return missing, damaged

    def write(self, item: Item, outcome: Outcome) -> None:
        """Store a chunk, its checksum last."""
        where = slice(item.replications.start, item.replications.stop)
        for name, values in zip(ARRAYS, outcome, strict=True):
            self._array(item.case, name)[:, where] = values
        self._array(item.case, "checksum")[item.chunk] = _checksum(outcome)

    def _array(self, case: str, name: str) -> Any:
        return self._root[f"{case}/{name}"]

    def _read(self, item: Item) -> tuple[bool, Outcome | None]:
        """Whether a chunk was stored; and what, or None if that is not what was written."""
        where = slice(item.replications.start, item.replications.stop)
        if f"{item.case}/checksum" not in self._root:
            return False, None
        try:
            checksum = self._array(item.case, "checksum")[item.chunk]
            if not checksum:
                return False, None
            regret, pulls, wall_time = (self._array(item.case, name)[:, where] for name in ARRAYS)
        except (ValueError, RuntimeError, OSError):  # what codecs raise for bytes that they cannot decode
            return True, None
        outcome = (regret, pulls, wall_time)
        return True, outcome if _checksum(outcome) == checksum else None

    def add_session(self, **session: Any) -> None:
        """Note a session of work in the provenance."""
        self._root.attrs["sessions"] = [*self._root.attrs["sessions"], session]  # type: ignore[misc]
        self._consolidate()

    def load(self) -> StudyResult:
        """Read the results; what is missing, replications or whole instances, is left out.

        Raises
        ------
        ArchiveError
            If nothing is stored yet, or a chunk is damaged.
        """
        made: Any = self._root.attrs.asdict()
        parts: dict[str, list[Outcome]] = {label: [] for label in self.study.cases}
        absent = 0
        for item in self.items():
            stored, part = self._read(item)
            if not stored:
                absent += len(item.replications)
            elif part is None:
                raise ArchiveError(f"{self.location}: damaged: {item}; run the study again to compute this part anew")
            else:
                parts[item.case].append(part)
        results = {}
        for label, case in self.study.cases.items():
            if not parts[label]:
                continue
            stack = [np.concatenate(arrays, axis=1) for arrays in zip(*parts[label], strict=True)]
            results[label] = Result(case.instance, tuple(self.study.families), case.rounds, *stack,
                                    horizon=case.horizon, seed=made["seed"])  # fmt: skip
        if not results:
            raise ArchiveError(f"{self.location}: nothing is stored yet; run the study to go on")
        provenance = {key: made[key] for key in ("version", "versions", "digest", "seed", "sessions")}
        provenance |= {"complete": not absent, "missing replications": absent}
        head = self.study.spec["study"]
        return StudyResult(self.study.name, head["title"] or self.study.name, head["description"], results,
                           self.study.families, {label: case.swept for label, case in self.study.cases.items()},
                           self.study.spec, provenance)  # fmt: skip


def _folder(location: str) -> str:
    """A folder of this machine without the protocol, under which it would not be made; else the address as it is."""
    return re.sub("^(file|local)://", "", str(location))


def _is_there(root: zarr.Group, path: str) -> bool:
    """Whether an array is there and says what it is."""
    try:
        return path in root
    except ValueError:
        return False


def _is_empty(root: Any) -> bool:
    """Whether no chunk is stored."""
    return not any(group["checksum"].nchunks_initialized for _, group in root.groups() if "checksum" in group)


def _checksum(outcome: Any) -> int:
    """Never zero, which means that nothing was written."""
    digest = hashlib.sha256()
    for values in outcome:
        digest.update(np.ascontiguousarray(values).tobytes())
    return int.from_bytes(digest.digest()[:8], "little") | 1


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "numba", "xarray", "zarr")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
