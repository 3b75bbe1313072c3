"""Writing to the store of a study: making it, repairing it, and filling it chunk by chunk."""

from __future__ import annotations

import math
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr

from .._files import named
from ..results.result import Chunk
from ..results.stored_instance import noise_of
from .places import StoreError, absolute, clear, delete_file, has_results, is_empty, is_folder
from .record import CaseRecord, Item, PolicyRecord, RecordError, StudyRecord, differences
from .store import ARRAYS, DAMAGE, Store, accept_consolidation, checksum, coordinate_arrays
from .study import Study

if sys.platform != "win32":
    import fcntl


class Writer(Store):
    """The store of one study, open for writing; :func:`reserved` makes it.

    Parameters
    ----------
    location
        Where the store is.
    study
        The study that it must belong to.
    """

    def __init__(self, location: str, study: Study) -> None:
        super().__init__(location)
        if self.record.digest != study.digest:
            raise _another(location, self.record, study)
        # Consolidated metadata are a copy, which may be damaged while the originals are not.
        self._root = zarr.open_group(self.location, mode="r+", use_consolidated=False)

    def write(self, item: Item, chunk: Chunk) -> None:
        """Store a chunk, its checksum last."""
        where = slice(item.replications.start, item.replications.stop)
        with named(self.location):
            for name, values in zip(ARRAYS, chunk, strict=True):
                self._array(item.case, name)[:, where] = values
            self._array(item.case, "checksum")[item.chunk] = checksum(self.record.digest, item, chunk)

    def add_session(self, **session: Any) -> None:
        """Add a session of work to the record."""
        self.record = self.record.model_copy(update={"sessions": [*self.record.sessions, session]})
        with named(self.location):
            _write_attributes(self.location, self.record.sealed())
            _consolidate(self.location)


@contextmanager
def reserved(location: str | Path, study: Study) -> Iterator[Writer]:
    """Keep other runs out of the store of a study, make or repair it, and yield it.

    Examples
    --------
    >>> import tempfile
    >>> from heavybandits.studies.study import read_study
    >>> study = read_study("cauchy").with_replications(5)
    >>> with reserved(f"{tempfile.mkdtemp()}/cauchy.zarr", study) as store:
    ...     missing, damaged = store.missing()
    >>> [str(item) for item in missing]
    ['Env1, replications 0 to 4', 'Env2, replications 0 to 4', 'Env3, replications 0 to 4']
    """
    location = absolute(location)
    with _locked(location):
        with named(location):
            _write_attributes(location, _settled(location, study).sealed())
            writer = Writer(location, study)
            for label in writer.record.cases:
                _lay_out(writer, label)
            _consolidate(location)
        yield writer


@contextmanager
def _locked(location: str) -> Iterator[None]:
    """Keep other runs on this machine out of a folder until the block or the process ends."""
    if sys.platform == "win32" or not is_folder(location):
        yield
        return
    os.makedirs(location, exist_ok=True)
    folder = os.open(location, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        raise StoreError(f"{location}: another run is writing to it; wait for it to finish") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(folder)


def _settled(location: str, study: Study) -> StudyRecord:
    """Return the record that the store of a study should have; clear a store that has no results.

    A record that is damaged is made again from the study, if at least one chunk belongs to it.
    """
    try:
        found = StudyRecord.unsealed(zarr.open_group(location, mode="r").attrs.asdict())
    except (*DAMAGE, FileNotFoundError) as error:
        made = record_of(study)
        if is_empty(location) or _holds_some(location, made):
            return made
        reason = str(error) if isinstance(error, RecordError) else f"is not the store of a study: {error}"
        raise StoreError(f"{location}: {reason}, and holds no results of this study; "
                         "choose another folder, or delete it") from None  # fmt: skip
    if not has_results(location):
        clear(location)
        return record_of(study)
    if found.digest != study.digest:
        raise _another(location, found, study)
    cases = {label: _extended(location, label, case, study.replications[label]) for label, case in found.cases.items()}
    return found.model_copy(update={"name": study.name, "spec": study.spec, "cases": cases})  # titles may differ


def _extended(location: str, label: str, case: CaseRecord, replications: int) -> CaseRecord:
    """Return a case extended to this many replications; results do not depend on how many there are."""
    if replications < case.replications:
        raise StoreError(f"{location} has {case.replications} replications of {label}, the study asks for "
                         f"{replications}; ask for at least as many, or choose another folder")  # fmt: skip
    return case.model_copy(update={"replications": replications})


def _another(location: str, record: StudyRecord, study: Study) -> StoreError:
    changed = differences(record.identity, study.identity)
    more = f"; and {len(changed) - 4} more differences" if len(changed) > 4 else ""
    return StoreError(f"{location} was made from another study ({'; '.join(changed[:4])}{more}); "
                      "choose another folder, or delete it")  # fmt: skip


def record_of(study: Study) -> StudyRecord:
    """Return the record of a study, with everything that reports need."""
    cases = {}
    for label, case in study.cases.items():
        limit = case.instance.lai_robbins(case.horizon)
        cases[label] = CaseRecord(
            horizon=case.horizon, replications=case.replications, chunk=study.chunk(label),
            means=case.instance.means.tolist(), gaps=case.instance.gaps.tolist(), noise=noise_of(case.instance),
            lai_robbins=limit, learning_loss=case.instance.learning_loss(case.horizon), swept=case.swept,
        )  # fmt: skip
    policies = {
        label: PolicyRecord(family=choice.family, swept=choice.swept) for label, choice in study.choices.items()
    }
    return StudyRecord(name=study.name, versions=_versions(), sources=study.sources, spec=study.spec, cases=cases,
                  policies=policies)  # fmt: skip


def _write_attributes(location: str, attributes: Any) -> None:
    """Write the attributes of a group, in one piece, and only if they differ from what is there.

    If what is there cannot be read, it is written anew; what the group contains is kept.
    """
    try:
        group = zarr.open_group(location, mode="r+", use_consolidated=False)
    except FileNotFoundError:
        zarr.create_group(location, attributes=attributes)
    except DAMAGE:
        delete_file(f"{location}/zarr.json")
        zarr.create_group(location, attributes=attributes)
    else:
        if group.attrs.asdict() != attributes:
            group.attrs.put(attributes)


class _Layout(NamedTuple):
    """The layout of an array of a case."""

    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str
    fill: float


def _layout(record: StudyRecord, label: str) -> dict[str, _Layout]:
    """Return the layout of the arrays of a case, except for its coordinates."""
    case, n_policies, along = record.cases[label], len(record.policies), ("policy", "replication")
    all_of_it, chunk = (n_policies, case.replications), (n_policies, case.chunk)
    n_rounds, n_arms, n_chunks = len(record.rounds(label)), len(case.means), -(-case.replications // case.chunk)
    return {
        "regret": _Layout((*along, "round"), (*all_of_it, n_rounds), (*chunk, n_rounds), "f8", math.nan),
        "pulls": _Layout((*along, "arm"), (*all_of_it, n_arms), (*chunk, n_arms), "i8", -1),
        "wall_time": _Layout(along, all_of_it, chunk, "f8", math.nan),
        "checksum": _Layout(("chunk",), (n_chunks,), (1,), "u8", 0),
    }


def _lay_out(writer: Writer, label: str) -> None:
    """Make all arrays of a case if one is missing or damaged; coordinates are just written again."""
    root, layout, coordinates = writer._root, _layout(writer.record, label), coordinate_arrays(writer.record, label)
    _make_room(root, label, writer.record.cases[label], layout)
    attributes: Any = {"coordinates": " ".join(name for name in coordinates if name not in ("round", "policy"))}
    if not all(_is_laid_out(root, f"{label}/{name}", array) for name, array in layout.items()):
        group = root.create_group(label, attributes=attributes, overwrite=True)
        for name, array in layout.items():
            group.create_array(name, shape=array.shape, chunks=array.chunks, dtype=array.dtype, fill_value=array.fill,
                               dimension_names=array.dimensions)  # fmt: skip
    else:
        _write_attributes(f"{writer.location}/{label}", attributes)
    if not writer.has_coordinates(label):
        for name, (dimensions, values) in coordinates.items():
            stored = np.asarray(values)
            if stored.dtype.kind == "U":
                stored = stored.astype(np.dtypes.StringDType())
            root.create_array(f"{label}/{name}", data=stored, dimension_names=dimensions, overwrite=True)


def _make_room(root: zarr.Group, label: str, case: CaseRecord, layout: dict[str, _Layout]) -> None:
    """Enlarge the arrays of a case for replications that were added; a chunk that was not full is played again."""
    try:
        arrays: Any = {name: root[f"{label}/{name}"] for name in layout}
        stored = arrays["regret"].shape[1]
        if stored >= case.replications or any(arrays[name].chunks != layout[name].chunks for name in layout):
            return
    except DAMAGE:
        return
    if stored % case.chunk:
        arrays["checksum"][stored // case.chunk] = 0
    for name in reversed(layout):  # regret comes last: its shape tells that the rest is done
        arrays[name].resize(layout[name].shape)


def _is_laid_out(root: zarr.Group, path: str, layout: _Layout) -> bool:
    try:
        array: Any = root[path]
        return bool((array.shape, array.chunks, array.dtype) == (layout.shape, layout.chunks, np.dtype(layout.dtype)))
    except DAMAGE:
        return False


def _consolidate(location: str) -> None:
    """Copy the metadata of all arrays to the root, where xarray looks for them."""
    with warnings.catch_warnings():
        accept_consolidation()
        try:
            zarr.consolidate_metadata(location)
        except DAMAGE as error:
            raise StoreError(f"{location}: something in it cannot be read ({error}); "
                             "delete that, or choose another folder") from None  # fmt: skip


def _holds_some(location: str, record: StudyRecord) -> bool:
    """Return whether at least one chunk belongs to the study with this record."""
    cases = _Cases(location, record)
    return any(cases.read(item)[1] is not None for item in record.items())


class _Cases(Store):
    """The cases of a store whose root cannot be read."""

    def __init__(self, location: str, record: StudyRecord) -> None:
        self.location, self.record = location, record

    def _array(self, case: str, name: str) -> Any:
        return zarr.open_array(f"{self.location}/{case}/{name}", mode="r")


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "numba", "xarray", "zarr")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
