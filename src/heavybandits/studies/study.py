"""A study: instances and policies in a file, checked and expanded into cases.

A study file is TOML.  ``[study]`` has horizon, replications and seed, each ``[instance.LABEL]`` an instance, each
``[policy.LABEL]`` a policy.  A list where a single value belongs makes a sweep, ``{ linspace = [0, 1, 5] }`` is such a
list, and ``{ instance = "largest-mean" }`` is taken from the instance that is played; ``times`` beside it is a factor.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from .._validate import unknown
from ..algorithms.registry import make
from ..engine.checkpoints import checkpoint_rounds
from ..protocols import IntArray, require_kind
from ..world.delays import Delays
from .oracle_parameters import with_oracle_parameters
from .record import identity, short_digest
from .schema import StudyError, StudyFile
from .sweep import MOST_COMBINATIONS, choices
from .tables import in_folder, make_instance, pop_delays

PULLS_PER_ITEM = 5_000_000  # of work: about half a second for most policies
LONGEST_LABEL = 200  # bytes of a label, which names a folder of the store
RESERVED_LABELS = ("c", "zarr.json")  # names that Zarr uses itself


class Case(NamedTuple):
    """An instance of a study, and how long and how often it is played."""

    instance: Any
    horizon: int
    replications: int
    rounds: IntArray  # checkpoints
    swept: dict[str, Any]
    delays: Delays


class PolicyChoice(NamedTuple):
    """A policy of a study: its name in the file, the parameters that were swept, and all parameters."""

    family: str
    swept: dict[str, Any]
    values: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Study:
    """A study that has been checked.  See :func:`read_study`.

    Parameters
    ----------
    name
        The name of the study, usually that of its file.
    spec
        The checked contents of the file.
    folder
        The folder of the users' files that the study names.
    """

    name: str
    spec: StudyFile
    folder: str = "."

    def __post_init__(self) -> None:
        if not self.name.isprintable():
            raise StudyError(f"{self.name}: the name of a study must not contain control characters, got {self.name!r}")
        if len(self.cases) * len(self.choices) > MOST_COMBINATIONS:
            raise StudyError(f"{self.name}: has {len(self.cases):,} cases and {len(self.choices):,} policies; "
                             f"a study may have at most {MOST_COMBINATIONS:,} pairs of them")  # fmt: skip

    def __reduce__(self) -> Any:
        return _restored, (self.name, json.dumps(self.spec.plain()), self.folder)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return (self.name, self.digest, self.replications) == (other.name, other.digest, other.replications)

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    @cached_property
    def cases(self) -> dict[str, Case]:
        """The cases by label."""
        cases, labels = {}, _Labels(self.name, "instance")
        for base, table in self.spec.instance.items():
            with _located(self.name, f"instance.{base}"):
                for label, swept, values in choices(base, table.model_dump(exclude_none=True)):
                    labels.add(label, base)
                    horizon = values.pop("horizon", self.spec.study.horizon)
                    replications = values.pop("replications", self.spec.study.replications)
                    rounds = checkpoint_rounds(horizon, self.spec.study.checkpoints)
                    delays = pop_delays(values, self.folder)
                    instance = make_instance(values, self.folder)
                    cases[label] = Case(instance, horizon, replications, rounds, swept, delays)
        return cases

    @cached_property
    def choices(self) -> dict[str, PolicyChoice]:
        """The policies by label, before oracle parameters are filled in."""
        found, labels = {}, _Labels(self.name, "policy")
        for family, table in self.spec.policy.items():
            with _located(self.name, f"policy.{family}"):
                for label, swept, values in choices(family, table.model_dump()):
                    labels.add(label, family)
                    found[label] = PolicyChoice(family, swept, values)
        return found

    @property
    def families(self) -> dict[str, str]:
        """The name in the file of each policy, by label; a sweep makes several policies of one name."""
        return {label: choice.family for label, choice in self.choices.items()}

    def policies(self, case: str) -> dict[str, Any]:
        """Make the policies, with their oracle parameters on this instance, by label."""
        made, instance = {}, self.cases[case].instance
        for label, (family, _, values) in self.choices.items():
            with _located(self.name, f"policy.{family}"):
                known = with_oracle_parameters(values, instance)
                made[label] = make(in_folder(known.pop("kind"), self.folder), **known)
                require_kind("policy", instance.kind, made[label])
        return made

    def chunk(self, case: str) -> int:
        """Return how many replications of all policies make a work item."""
        _, horizon, replications, *_ = self.cases[case]
        return min(replications, math.ceil(PULLS_PER_ITEM / (horizon * len(self.choices))))

    @property
    def replications(self) -> dict[str, int]:
        """How often each case is played, by label."""
        return {label: case.replications for label, case in self.cases.items()}

    def with_replications(self, replications: int) -> Study:
        """Return the same study with at most this many replications."""
        return self._with_replications(lambda own: min(own, replications))

    def repeated(self, times: int) -> Study:
        """Return the same study with this many times the replications; the first of them stay the same."""
        return self._with_replications(lambda own: own * times)

    def _with_replications(self, change: Callable[[int], int]) -> Study:
        spec = self.spec.plain()
        for table in (spec["study"], *spec["instance"].values()):
            if "replications" in table:
                table["replications"] = change(table["replications"])
        return Study(self.name, StudyFile.checked(self.name, spec), self.folder)

    def only(self, labels: Collection[str]) -> Study:
        """Return the same study with these policies only, at most one of a family, each named after its family.

        Examples
        --------
        >>> list(read_study("cauchy").only(["UCB c=1", "auto"]).choices)
        ['UCB', 'auto']
        """
        kept = {choice.family: choice.values for label, choice in self.choices.items() if label in labels}
        return Study(self.name, StudyFile.checked(self.name, {**self.spec.plain(), "policy": kept}), self.folder)

    def without(self, family: str) -> Study:
        """Return the same study without a policy."""
        kept = {name: table for name, table in self.spec.policy.items() if name != family}
        return Study(self.name, self.spec.model_copy(update={"policy": kept}), self.folder)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Digests of the users' files that the study names."""
        kinds = dict.fromkeys(kind.rpartition(":")[0] for kind in _kinds(self.spec.plain()) if ".py:" in kind)
        return {path: hashlib.sha256((Path(self.folder) / path).read_bytes()).hexdigest() for path in kinds}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that results depend on, in plain values."""
        return identity(self.spec, self.sources)

    @cached_property
    def digest(self) -> str:
        """A short name for :attr:`identity`."""
        return short_digest(self.identity)


class _Labels:
    """The labels of a study's cases or policies; those of cases name folders, and some file systems ignore case."""

    def __init__(self, name: str, table: str) -> None:
        self._name, self._table, self._taken = name, table, dict[str, tuple[str, str]]()

    def add(self, label: str, base: str) -> None:
        """Refuse a label that cannot be used; ``base`` is the name of its table."""
        if not re.fullmatch(r"[\w(][\w .,=()+-]*", label):
            rule = "must begin with a letter or digit and contain only letters, digits, spaces and . , = ( ) + - _"
            raise StudyError(f"{self._name}: a label {rule}, got {label!r}")
        if len(label.encode()) > LONGEST_LABEL:
            raise StudyError(f"{self._name}: a label must have at most {LONGEST_LABEL} bytes, got {label!r}")
        key = label.casefold() if self._table == "instance" else label
        if self._table == "instance" and key in RESERVED_LABELS:
            raise StudyError(f"{self._name}: instance.{base}: the store uses {label!r} itself; choose another label")
        if key in self._taken:
            other, where = self._taken[key]
            raise StudyError(f"{self._name}: {self._table}.{where} makes {other!r} and {self._table}.{base} makes "
                             f"{label!r}; labels must differ, and those of instances not only in case")  # fmt: skip
        self._taken[key] = label, base


@functools.lru_cache(maxsize=64)
def _restored(name: str, spec: str, folder: str) -> Study:
    """Return a study that was sent to a worker, where it is checked only once."""
    return Study(name, StudyFile.checked(name, json.loads(spec)), folder)


@contextmanager
def _located(name: str, key: str) -> Iterator[None]:
    """Let errors say where in the file they come from."""
    try:
        yield
    except (StudyError, RecursionError):
        raise
    except Exception as error:
        kind = "" if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: "  # a user's code
        raise StudyError(f"{name}: {key}: {kind}{error}") from None


def read_study(source: str | Path) -> Study:
    """Read and check a study, given by its file or by the name of one that comes with the package.

    Examples
    --------
    >>> study = read_study("cauchy")
    >>> list(study.cases)
    ['Env1', 'Env2', 'Env3']
    >>> study.families["SGD-UCB coeff=0.1"]
    'SGD-UCB'
    """
    if not isinstance(source, str | Path):
        raise TypeError(f"study must be the name of a study or of a file *.toml, got {source!r}")
    path = Path(source)
    if path.suffix != ".toml":
        shipped = studies()
        if str(source) not in shipped:
            raise StudyError(unknown("study", str(source), shipped) + "; your own study must be a file *.toml")
        path = shipped[str(source)]
    try:
        plain = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise StudyError(f"there is no file {source}") from None
    except OSError as error:
        raise StudyError(f"{source}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise StudyError(f"{source}: is nested too deeply") from None
    except ValueError as error:  # not TOML, not UTF-8, or a number with thousands of digits
        raise StudyError(f"{source}: is not TOML: {error}") from None
    try:
        study = Study(path.stem, StudyFile.checked(path.stem, plain), str(path.resolve().parent))
        for label in study.cases:
            study.policies(label)  # so that errors come now, not in the middle of a run
        study.identity  # noqa: B018  of the files as they are now
        return study
    except RecursionError:
        raise StudyError(f"{source}: is nested too deeply") from None
    except StudyError as error:
        raise StudyError(f"{source}{str(error).removeprefix(path.stem)}") from None


def studies() -> dict[str, Path]:
    """Return the studies that come with the package, by name.

    Examples
    --------
    >>> "delta-cauchy" in studies()
    True
    """
    folder = Path(str(resources.files(__package__) / "files"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _kinds(value: Any) -> Iterator[str]:
    """Yield every ``kind`` in a file, users' files included."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str):
            yield value["kind"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _kinds(part)
