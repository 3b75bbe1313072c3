"""What a store says about its study: everything that reports need, in plain values under one seal.

Reading a record runs no code that a study names: instances and policies are not made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from .._version import __version__
from ..engine.checkpoints import checkpoint_rounds
from ..protocols import IntArray
from ..results.stored_instance import StoredInstance
from .schema import Count, StudyFile, Table, Text

STORE_FORMAT = 2


class RecordError(ValueError):
    """A record that is damaged or was edited."""


class Item(NamedTuple):
    """A unit of work: some replications of one case, all policies."""

    case: str
    chunk: int
    replications: range

    def __str__(self) -> str:
        return f"{self.case}, replications {self.replications.start} to {self.replications.stop - 1}"


class CaseRecord(Table):
    """A case: how long and how often it is played, and what reports show about its instance."""

    horizon: Count
    replications: Count
    chunk: Count  # replications in an item of work
    means: list[float]
    gaps: list[float]
    noise: str
    lai_robbins: float | None
    learning_loss: float | None = None
    swept: dict[str, Any]

    @property
    def instance(self) -> StoredInstance:
        """The instance, as far as it is known without running any code."""
        return StoredInstance(
            np.array(self.means), np.array(self.gaps), self.noise, self.horizon, self.lai_robbins, self.learning_loss
        )


class PolicyRecord(Table):
    """A policy: its name in the study file, and the parameters that were swept."""

    family: str
    swept: dict[str, Any]


class StudyRecord(Table):
    """A study as its store describes it.

    Attributes
    ----------
    version, versions
        Versions of heavybandits, and of the packages it ran with.
    sources
        Digests of the users' files that the study names.
    cases, policies
        The cases and policies by label, in the order of the study.
    sessions
        When and where work was done.
    """

    format: Literal[2] = 2
    name: Text
    version: str = __version__
    versions: dict[str, str]
    sources: dict[str, str]
    spec: StudyFile
    cases: Annotated[dict[str, CaseRecord], Field(min_length=1)]
    policies: Annotated[dict[str, PolicyRecord], Field(min_length=1)]
    sessions: list[dict[str, Any]] = Field(default_factory=list)

    @classmethod
    def unsealed(cls, attributes: Any) -> StudyRecord:
        """Read a record from the attributes of a store.

        Raises
        ------
        RecordError
            If they are not what was written.
        """
        if "spec" in attributes and attributes.get("format", 1) != STORE_FORMAT:
            found = attributes.get("format", 1)
            raise RecordError(f"has format {found!r}; this version reads format {STORE_FORMAT} only")
        plain = {key: value for key, value in attributes.items() if key != "seal"}
        if attributes.get("seal") != _digest(plain):
            raise RecordError("its description is damaged or was edited")
        plain.pop("digest", None)
        try:
            return cls.model_validate(plain)
        except ValidationError:
            raise RecordError("its description is not that of a study") from None

    def sealed(self) -> dict[str, Any]:
        """Return the attributes of the store."""
        plain = {**self.model_dump(exclude={"spec"}), "spec": self.spec.plain(), "digest": self.digest}
        return {**plain, "seal": _digest(plain)}

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the results depend on, in plain values."""
        return identity(self.spec, self.sources, self.version)

    @property
    def digest(self) -> str:
        """A short name for :attr:`identity`."""
        return short_digest(self.identity)

    def items(self) -> Iterator[Item]:
        """Yield all work of the study."""
        for label, case in self.cases.items():
            for chunk, first in enumerate(range(0, case.replications, case.chunk)):
                yield Item(label, chunk, range(first, min(first + case.chunk, case.replications)))

    def rounds(self, case: str) -> IntArray:
        """Return the rounds after which regret is recorded."""
        return checkpoint_rounds(self.cases[case].horizon, self.spec.study.checkpoints)

    def coordinates(self, case: str) -> dict[str, Any]:
        """Return the coordinates that tell policies and cases apart: arrays along ``policy``, and single values."""
        policies = list(self.policies.values())
        along = {"family": np.array([policy.family for policy in policies])}
        along |= _columns("policy", [policy.swept for policy in policies])
        swept = _columns("instance", [one.swept for one in self.cases.values()])
        row = list(self.cases).index(case)
        return along | {name: column[row] for name, column in swept.items()}


def _columns(prefix: str, settings: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an array per parameter: numbers, NaN where one is not swept; or strings, empty where one is not swept."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        given = [setting.get(name) for setting in settings]
        if any(isinstance(value, str) for value in given):
            columns[f"{prefix}_{name}"] = np.array(["" if value is None else str(value) for value in given])
        else:
            columns[f"{prefix}_{name}"] = np.array([np.nan if value is None else float(value) for value in given])
    return columns


def identity(spec: StudyFile, sources: dict[str, str], version: str = __version__) -> dict[str, Any]:
    """Return what a replication depends on, in plain values: not titles, figures or the number of replications."""
    plain = spec.plain()
    head = _without(plain["study"], "title", "description", "replications")
    instances = {label: _without(table, "replications") for label, table in plain["instance"].items()}
    return {"version": version, "study": head, "instance": instances, "policy": plain["policy"], "sources": sources}


def _without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def short_digest(plain: Any) -> str:
    """Return a short name for plain values."""
    return _digest(plain)[:16]


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def differences(old: Any, new: Any, key: str = "") -> list[str]:
    """Say where two identities differ.

    Examples
    --------
    >>> differences({"study": {"seed": 0}}, {"study": {"seed": 1, "horizon": 5}})
    ['study.horizon was not there, is 5', 'study.seed was 0, is 1']
    """
    if old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return [line for name in sorted({*old, *new})
                for line in differences(old.get(name), new.get(name), f"{key}.{name}".lstrip("."))]  # fmt: skip
    if key.startswith("sources."):
        return [f"{key.removeprefix('sources.')} has changed"]
    return [f"{key} was {'not there' if old is None else old}, is {'not there' if new is None else new}"]
