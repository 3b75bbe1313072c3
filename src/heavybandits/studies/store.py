"""The store of a study, as reports read it: a Zarr group that opens as a tree of xarray datasets.

Each case is a group with ``regret`` (policy, replication, round), ``pulls`` (policy, replication, arm), ``wall_time``
(policy, replication; nanoseconds per pull) and ``checksum`` (chunk), and with the parameters that were swept as
coordinates.  A chunk is some replications of all policies.  Its checksum is written last and covers the study too, so a
chunk counts only if it is complete, undamaged and part of this study.  The root's attributes are a
:class:`~heavybandits.studies.record.Record`.

Reading runs no code that the store names; :mod:`.writer` writes.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from ..results.result import Chunk, Result
from ..results.study_result import StudyResult
from .places import StoreError, absolute, find_stores
from .record import Item, RecordError, StudyRecord

ARRAYS = Chunk._fields
# What Zarr, its codecs and NumPy raise if what is stored is damaged; they check little of what they read.
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, ArithmeticError, MemoryError)


def accept_consolidation() -> None:
    """Silence Zarr's warning that its format does not specify consolidated metadata yet, which xarray asks for."""
    warnings.filterwarnings("ignore", "Consolidated metadata", zarr.errors.ZarrUserWarning)


accept_consolidation()  # for all threads: one could undo a filter that another sets temporarily


class Store:
    """The store of one study, open for reading.

    Parameters
    ----------
    location
        A folder, or any address that Zarr and fsspec understand.

    Attributes
    ----------
    record
        What the store says about its study.
    """

    def __init__(self, location: str | Path) -> None:
        self.location = absolute(location)
        try:
            self._root = zarr.open_group(self.location, mode="r")
            self.record = StudyRecord.unsealed(self._root.attrs.asdict())
        except RecordError as error:
            raise StoreError(f"{self.location}: {error}; run the study again to rebuild it: intact results are kept"
                             ) from None  # fmt: skip
        except FileNotFoundError as error:
            raise StoreError(f"{self.location} is not the store of a study: {error}") from None
        except DAMAGE as error:
            raise StoreError(f"{self.location} is not the store of a study, or its description is damaged ({error}); "
                             "if it is one, run the study again to rebuild it: intact results are kept"
                             ) from None  # fmt: skip

    def missing(self) -> tuple[list[Item], list[Item]]:
        """Return the work that is missing, and the part of it that was stored but is damaged."""
        missing, damaged = [], []
        for item in self.record.items():
            stored, chunk = self.read(item)
            if chunk is None:
                missing.append(item)
                if stored:
                    damaged.append(item)
        return missing, damaged

    def read(self, item: Item) -> tuple[bool, Chunk | None]:
        """Return whether a chunk was stored; and the chunk, or None if it is missing or damaged."""
        where = slice(item.replications.start, item.replications.stop)
        try:
            stored = self._array(item.case, "checksum")[item.chunk]
        except (KeyError, FileNotFoundError):
            return False, None
        except (*DAMAGE, OSError):
            return True, None
        if not stored:
            return False, None
        try:
            chunk = Chunk(**{name: self._array(item.case, name)[:, where] for name in ARRAYS})
        except (*DAMAGE, OSError):
            return True, None
        return True, chunk if checksum(self.record.digest, item, chunk) == stored else None

    def _array(self, case: str, name: str) -> Any:
        return self._root[f"{case}/{name}"]

    def load(self) -> StudyResult:
        """Read the results; replications and cases that are missing are left out.

        Raises
        ------
        StoreError
            If there are no results yet, or some are damaged.
        """
        record, head = self.record, self.record.spec.study
        parts: dict[str, list[Chunk]] = {label: [] for label in record.cases}
        absent = 0
        for item in record.items():
            stored, part = self.read(item)
            if not stored:
                absent += len(item.replications)
            elif part is None:
                raise StoreError(f"{self.location}: damaged: {item}; run the study again to replace them")
            else:
                parts[item.case].append(part)
        results = {}
        for label in filter(parts.__getitem__, record.cases):
            if not self.has_coordinates(label):
                raise StoreError(f"{self.location}: damaged: coordinates of {label}; run the study again to fix them")
            whole = Chunk(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts[label], strict=True)))
            case = record.cases[label]
            results[label] = Result(
                case.instance, labels=tuple(record.policies), rounds=record.rounds(label), regret=whole.regret,
                pulls=whole.pulls, wall_time=whole.wall_time, horizon=case.horizon, seed=head.seed,
                coordinates=record.coordinates(label),
            )  # fmt: skip
        if not results:
            raise StoreError(f"{self.location}: no results yet; run the study first")
        provenance = {"version": record.version, "versions": record.versions, "digest": record.digest,
                      "seed": head.seed, "sessions": record.sessions, "complete": not absent,
                      "missing replications": absent}  # fmt: skip
        return StudyResult(
            name=record.name, title=head.title or record.name, description=head.description, results=results,
            families={label: policy.family for label, policy in record.policies.items()},
            swept={label: case.swept for label, case in record.cases.items()},
            spec=record.spec.plain(), provenance=provenance,
        )  # fmt: skip

    def has_coordinates(self, case: str) -> bool:
        """Return whether the coordinates of a case are stored as the record says."""
        try:
            return all(_equal(self._array(case, name)[...], values)
                       for name, (_, values) in coordinate_arrays(self.record, case).items())  # fmt: skip
        except (*DAMAGE, OSError):
            return False


def coordinate_arrays(record: StudyRecord, case: str) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return the dimensions and values of the coordinates that are stored with a case."""
    more = {name: (("policy",) if np.ndim(values) else (), values) for name, values in record.coordinates(case).items()}
    return {"round": (("round",), record.rounds(case)), "policy": (("policy",), np.array(list(record.policies))),
            **more}  # fmt: skip


def _equal(stored: Any, values: Any) -> bool:
    stored, values = np.asarray(stored), np.asarray(values)
    if values.dtype.kind == "U":
        return bool(stored.tolist() == values.tolist())
    return bool(np.array_equal(stored, values, equal_nan=True))


def checksum(digest: str, item: Item, chunk: Chunk) -> int:
    """Return the checksum of a chunk of the study with this digest; never zero, which means that there is none."""
    found = hashlib.sha256(f"{digest}\n{item}\n".encode())
    for values in chunk:
        found.update(np.ascontiguousarray(values).tobytes())
    return int.from_bytes(found.digest()[:8], "little") | 1


def load_study(folder: str | Path) -> StudyResult:
    """Read the results of a study that has been run; this runs no code that the study names.

    Parameters
    ----------
    folder
        The folder that the study was run in, or its store ``*.zarr`` if there are several.

    Examples
    --------
    >>> import tempfile
    >>> import heavybandits as hb
    >>> folder = tempfile.mkdtemp()
    >>> _ = hb.run_study(hb.read_study("cauchy").with_replications(1), out=folder, progress=False)
    >>> study = hb.load_study(folder)
    >>> study.results["Env1"].regret.sel(policy="UCB c=1").policy_c.item()
    1.0
    """
    if str(folder).rstrip("/").endswith(".zarr"):
        return Store(folder).load()
    stores = find_stores(folder)
    if len(stores) > 1:
        names = ", ".join(os.path.basename(store) for store in stores)
        raise StoreError(f"{folder} has the stores of {len(stores)} studies; name one of {names}")
    return Store(stores[0]).load()
