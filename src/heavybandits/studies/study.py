"""A study: instances and policies in a file, checked and spread out into what is to be played.

A study file is TOML.  ``[study]`` has horizon, replications and seed, each ``[instance.LABEL]`` an instance, each
``[policy.LABEL]`` a policy.  A list where one value is meant makes a sweep, ``{ linspace = [0, 1, 5] }`` is a list, and
``{ instance = "largest-mean" }`` is taken from the instance that is played.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._validate import unknown
from .._version import __version__
from ..algorithms.registry import class_from_file, make
from ..engine.loop import checkpoint_rounds
from ..protocols import IntArray
from ..world.environments import instances
from ..world.instances import Instance
from ..world.noises import make_noise
from .schema import StudyError, with_defaults
from .sweep import combinations, described

ITEM = 5_000_000  # pulls in a work item: about half a second for most policies

# What a policy may be told of the instance, as the paper tells its policies the largest location.
FROM_INSTANCE: dict[str, Callable[[Instance], Any]] = {
    "largest-mean": lambda instance: float(np.abs(instance.means).max()) or 1.0,  # in absolute value; 1 if all are 0
    "lowest": lambda instance: float(instance.means.min()),
    "highest": lambda instance: float(instance.means.max()),
    "noise": lambda instance: instance.noises[0],  # the first arm's, if they differ
}


class Case(NamedTuple):
    """An instance of a study, and how long and how often it is played."""

    instance: Instance
    horizon: int
    replications: int
    rounds: IntArray  # checkpoints
    swept: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Study:
    """A study that has been checked.  See :func:`read_study`.

    Attributes
    ----------
    name
        What it is called, usually as its file.
    spec
        The file in plain values, defaults filled in.
    folder
        Where files of users' policies are looked for.
    """

    name: str
    spec: dict[str, Any]
    folder: str = "."

    def __post_init__(self) -> None:
        self.__dict__["spec"] = with_defaults(self.name, self.spec)
        for label in (*self.cases, *self.families):
            if not re.fullmatch(r"[\w(][\w .,=()+-]*", label):
                rule = "may have letters, digits, spaces and . , = ( ) + - _ only, and begin with a letter or digit"
                raise StudyError(f"{self.name}: a label {rule}, got {label!r}")

    def __reduce__(self) -> Any:
        return _restored, (self.name, json.dumps(self.spec), self.folder)

    def __eq__(self, other: object) -> bool:
        return (self.name, self.digest) == (other.name, other.digest) if isinstance(other, Study) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    @cached_property
    def cases(self) -> dict[str, Case]:
        """What is played, by label."""
        head, cases = self.spec["study"], {}
        for base, table in self.spec["instance"].items():
            for label, swept, values in self._sweep(f"instance.{base}", base, table):
                horizon = values.pop("horizon", head["horizon"])
                replications = values.pop("replications", head["replications"])
                with _located(self.name, f"instance.{base}"):
                    rounds = checkpoint_rounds(horizon, head["checkpoints"])
                    cases[label] = Case(self._instance(values), horizon, replications, rounds, swept)
        return cases

    @cached_property
    def families(self) -> dict[str, str]:
        """The name in the file of each policy that a sweep makes, by label."""
        return {label: family for label, (family, _) in self._policies.items()}

    @cached_property
    def _policies(self) -> dict[str, tuple[str, dict[str, Any]]]:
        return {label: (family, values) for family, table in self.spec["policy"].items()
                for label, _, values in self._sweep(f"policy.{family}", family, table)}  # fmt: skip

    def policies(self, case: str) -> dict[str, Any]:
        """The policies by label, as they are told of this instance."""
        made = {}
        for label, (family, values) in self._policies.items():
            with _located(self.name, f"policy.{family}"):
                told = _told(values, self.cases[case].instance)
                made[label] = make(self._in_folder(told.pop("kind")), **told)
        return made

    def chunk(self, case: str) -> int:
        """Replications of all policies that make a work item."""
        _, horizon, replications, *_ = self.cases[case]
        return min(replications, math.ceil(ITEM / (horizon * len(self.families))))

    def with_replications(self, replications: int) -> Study:
        """The same study with at most so many replications."""
        spec = json.loads(json.dumps(self.spec))
        for table in (spec["study"], *spec["instance"].values()):
            if "replications" in table:
                table["replications"] = min(table["replications"], replications)
        return Study(self.name, spec, self.folder)

    def without(self, family: str) -> Study:
        """The same study without a policy."""
        kept = {name: table for name, table in self.spec["policy"].items() if name != family}
        return Study(self.name, {**self.spec, "policy": kept}, self.folder)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that results depend on, in plain values."""
        head = {key: value for key, value in self.spec["study"].items() if key not in ("title", "description")}
        sources = {kind.rpartition(":")[0]: "" for kind in _kinds(self.spec) if ".py:" in kind}
        for path in sources:
            sources[path] = hashlib.sha256((Path(self.folder) / path).read_bytes()).hexdigest()
        return {"version": __version__, "study": head, "instance": self.spec["instance"],
                "policy": self.spec["policy"], "sources": sources}  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """A short name for :attr:`identity`."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:16]

    def _sweep(self, key: str, label: str, table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
        """Labels, swept values and single values of all combinations."""
        with _located(self.name, key):
            for swept, values in combinations(table):
                yield f"{label} {described(swept)}".strip(), swept, values

    def _instance(self, values: dict[str, Any]) -> Instance:
        if "noise" in values:
            noise = values["noise"]
            values["noise"] = [self._noise(one) for one in noise] if isinstance(noise, list) else self._noise(noise)
        if "laws" in values:
            laws = values.pop("laws")
            return Instance(laws=[self._noise(law) for law in (laws if isinstance(laws, list) else [laws])], **values)
        if "kind" not in values:
            for key in ("means", "noise"):
                if key not in values:
                    raise ValueError(
                        f"needs {key}, or laws, or the kind of an instance, one of {', '.join(instances())}"
                    )
            return Instance(**values)
        kind, known = values.pop("kind"), instances()
        if kind not in known:
            raise ValueError(unknown("instance", kind, known))
        return known[kind](**values)

    def _noise(self, table: Any) -> Any:
        if not isinstance(table, dict) or "kind" not in table:
            raise ValueError(f"noise must be a table with its kind, such as {{ kind = 'cauchy' }}, got {table!r}")
        kind, values = self._in_folder(table["kind"]), {key: value for key, value in table.items() if key != "kind"}
        path, _, name = kind.rpartition(":")
        return class_from_file(path, name)(**values) if path.endswith(".py") else make_noise(kind, **values)

    def _in_folder(self, kind: str) -> str:
        return str(Path(self.folder) / kind) if ".py:" in kind else kind


@functools.lru_cache(maxsize=64)
def _restored(name: str, spec: str, folder: str) -> Study:
    """A study that was sent to a worker, checked once there."""
    return Study(name, json.loads(spec), folder)


class _located:
    """Says where in the file an error comes from."""

    def __init__(self, name: str, key: str) -> None:
        self.place = f"{name}: {key}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ValueError | TypeError) and not isinstance(error, StudyError):
            raise StudyError(f"{self.place}: {error}") from None


def read_study(source: str | Path) -> Study:
    """Read and check a study: a file, or one of those that come with the package by its name.

    Examples
    --------
    >>> study = read_study("cauchy")
    >>> list(study.cases)
    ['Env1', 'Env2', 'Env3']
    >>> study.families["SGD-UCB coeff=0.1"]
    'SGD-UCB'
    """
    path = Path(source)
    if path.suffix != ".toml":
        shipped = studies()
        if str(source) not in shipped:
            raise StudyError(unknown("study", str(source), shipped) + "; a study of your own is a file *.toml")
        path = shipped[str(source)]
    try:
        spec = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise StudyError(f"there is no file {source}") from None
    except OSError as error:
        raise StudyError(f"{source}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{source}: is not TOML: {error}") from None
    try:
        study = Study(path.stem, spec, str(path.resolve().parent))
        for label in study.cases:
            study.policies(label)  # so that errors come now, not in the middle of a run
        study.identity  # noqa: B018  of the files as they are now
        return study
    except StudyError as error:
        raise StudyError(f"{source}{str(error).removeprefix(path.stem)}") from None


def studies() -> dict[str, Path]:
    """The studies that come with the package, by name.

    Examples
    --------
    >>> "delta-cauchy" in studies()
    True
    """
    folder = Path(str(resources.files(__package__) / "files"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def differences(old: Any, new: Any, key: str = "") -> list[str]:
    """Where two values of :attr:`Study.identity` differ, in words.

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


def _told(value: Any, instance: Instance) -> Any:
    """Values with what is taken from the instance filled in."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"instance"}:
        return {key: _told(part, instance) for key, part in value.items()}
    if value["instance"] not in FROM_INSTANCE:
        raise ValueError(unknown("fact of an instance", value["instance"], FROM_INSTANCE))
    return FROM_INSTANCE[value["instance"]](instance)


def _kinds(value: Any) -> Iterator[str]:
    """Every ``kind`` in a file, and every file of a user among them."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str):
            yield value["kind"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _kinds(part)
