"""Policies and estimators by name, from this package or from a user's file.

The files of the folders ``policies``, ``linear``, ``lipschitz`` and ``estimators`` register what they define, through
:mod:`.entries`.  ``heavybandits/names.py``, which is generated, says which file has which name, so that making one
policy loads no other.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .._validate import unknown
from ..names import MODULES
from .entries import ENTRIES, Entry, Facts, entries_of

POLICY_FOLDERS = {"arms": "policies", "linear": "linear", "lipschitz": "lipschitz"}  # folders of policies
TITLES = {"arms": "K arms", "linear": "rewards linear in features", "lipschitz": "arms that are points"}
FOLDERS = {**POLICY_FOLDERS, "estimator": "estimators"}
Factory = Callable[..., Any]


def policies(kind: str = "arms") -> dict[str, Factory]:
    """Return the policies of a kind that :func:`make` knows, by name; each is a class or a function that makes one.

    Parameters
    ----------
    kind
        ``"arms"`` for K arms, ``"linear"`` for rewards that are linear in features, ``"lipschitz"`` for arms that are
        points.

    Examples
    --------
    >>> "sgd-ucb-median" in policies()
    True
    >>> policies("quadratic")
    Traceback (most recent call last):
        ...
    ValueError: unknown kind of policies 'quadratic'; known: arms, linear, lipschitz
    """
    if kind not in POLICY_FOLDERS:
        raise ValueError(unknown("kind of policies", kind, POLICY_FOLDERS))
    return {name: entry.make for name, entry in _listed(kind).items()}


def all_policies() -> dict[str, Factory]:
    """Return the policies of all kinds.

    Examples
    --------
    >>> set(policies()) <= set(all_policies())
    True
    """
    return {name: made for kind in POLICY_FOLDERS for name, made in policies(kind).items()}


def estimators() -> dict[str, Factory]:
    """Return the estimators that the templates take, by registered name.

    Examples
    --------
    >>> "clipped-sgd" in estimators()
    True
    """
    return {name: entry.make for name, entry in _listed("estimator").items()}


def facts(kind: str = "arms") -> dict[str, Facts]:
    """Return the facts about each policy of a kind, by name.

    Examples
    --------
    >>> facts()["rucb-truncated"].needs
    'moment order, moment bound'
    """
    return {name: entry.facts for name, entry in _listed(kind).items() if entry.facts is not None}


def examples() -> dict[str, dict[str, Any]]:
    """Return example parameters for every registered policy and estimator.

    Examples
    --------
    >>> examples()["rucb-catoni"]
    {'v': 1.0}
    """
    return {name: entry.example for name, entry in all_entries().items()}


def all_entries() -> dict[str, Entry]:
    """Return what is registered in all files.

    Examples
    --------
    >>> all_entries()["moss-anytime"].preset_of
    <class 'heavybandits.algorithms.policies.moss.MOSS'>
    """
    return {name: entry for what in FOLDERS for name, entry in _listed(what).items()}


@functools.cache
def _listed(what: str) -> dict[str, Entry]:
    folder = importlib.import_module(f"{__package__}.{FOLDERS[what]}")
    for file in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{file.name}")
    return {name: entry for name, entry in sorted(ENTRIES.items()) if entry.kind == what}


def is_registered(name: str) -> bool:
    """Return whether the library has a policy or an estimator of this name; no file is loaded to find out.

    Examples
    --------
    >>> is_registered("ucb"), is_registered("catoni"), is_registered("mine.py:Mine")
    (True, True, False)
    """
    return name in MODULES


def make(kind: str, **parameters: Any) -> Any:
    """Make a policy or an estimator by its registered name, or from a class in a file: ``path/to/my_policy.py:Mine``.

    A parameter that is itself a policy or an estimator may be given as a dictionary of its ``kind`` and its parameters.

    Examples
    --------
    >>> make("sgd-ucb-median", coeff=0.2).coeff
    0.2
    >>> make("fo-ucb", optimizer={"kind": "clipped-sgd", "clip": 2}).optimizer.clip
    2.0
    >>> make("sgd-ubc")
    Traceback (most recent call last):
        ...
    ValueError: unknown policy 'sgd-ubc'; did you mean 'sgd-ucb'? Known: ...
    """
    return _make("policy", kind, parameters)


def _make(what: str, kind: object, parameters: dict[str, Any]) -> Any:
    """Make a policy or an estimator; ``what`` says which is expected, and so which names an error suggests."""
    factory = _factory(what, kind)
    given = {name: _made_inside(value) for name, value in parameters.items()}
    accepted = inspect.signature(factory).parameters
    for name in given:
        if name not in accepted:
            raise ValueError(f"{kind}: {unknown('parameter', name, accepted)}")
    missing = [name for name, p in accepted.items() if p.default is p.empty and name not in given]
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        raise ValueError(f"{kind}: needs {' and '.join(missing)}, which {verb} no default")
    return factory(**given)


def _made_inside(value: Any) -> Any:
    """Return the policy or estimator that a parameter describes; a noise, or anything else, as it is."""
    if not isinstance(value, dict) or "kind" not in value:
        return value
    kind, parameters = value["kind"], {name: inner for name, inner in value.items() if name != "kind"}
    if not is_registered(kind):
        from ..world.noises import noises  # late, because most policies need none

        if kind in noises():
            return value
    return _make("estimator", kind, parameters)


def _factory(what: str, kind: object) -> Factory:
    if not isinstance(kind, str):
        raise TypeError(f"make: kind must be the name of a policy, got {kind!r}")
    path, colon, name = kind.rpartition(":")
    if colon and path.endswith(".py"):
        return class_from_file(path, name)
    if kind.endswith(".py"):
        raise ValueError(f"make: kind must also name a class in the file, as in {kind}:Mine, got {kind!r}")
    if is_registered(kind):
        importlib.import_module(f"{__package__}.{MODULES[kind]}")
        return ENTRIES[kind].make
    everything = {**estimators(), **all_policies()}  # a file may be newer than the list of names
    if kind not in everything:
        raise ValueError(unknown(what, kind, estimators() if what == "estimator" else all_policies()))
    return everything[kind]


def class_from_file(path: str, name: str) -> Factory:
    """Return the class ``name`` of a user's file."""
    module = _module_of(path, name)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        classes = [cls.__name__ for cls in _own_classes(module)]
        raise ValueError(f"{path}:{name}: {unknown('class', name, classes)}")
    return found


def from_file(path: str, name: str) -> Any:
    """Return whatever a user's file calls ``name``, such as a function."""
    module = _module_of(path, name)
    if not hasattr(module, name):
        raise ValueError(f"{path}:{name}: {unknown('name', name, [key for key in vars(module) if key[:1] != '_'])}")
    return getattr(module, name)


def _module_of(path: str, name: str) -> ModuleType:
    """Import a user's file under a name that is the same in every process.

    A file that has been edited since it was imported is imported again.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(f"{path}:{name}: there is no file {path}")
    source = file.read_bytes()
    module_name = f"heavybandits_user_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    stamp = hashlib.sha256(source).hexdigest()
    module = sys.modules.get(module_name)
    if module is None or getattr(module, "__heavybandits_stamp__", None) != stamp:
        spec = importlib.util.spec_from_file_location(module_name, file)
        assert spec is not None  # it is a .py file
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            exec(compile(source, str(file), "exec"), vars(module))
        except Exception as error:
            del sys.modules[module_name]
            raise ValueError(f"{path}:{name}: importing the file fails with {type(error).__name__}: {error}") from error
        vars(module)["__heavybandits_stamp__"] = stamp
    return module


def _own_classes(module: ModuleType) -> list[type]:
    """Return the policies and estimators that a module defines."""
    return [cls for cls in vars(module).values()
            if isinstance(cls, type) and cls.__module__ == module.__name__ and hasattr(cls, "_fields")
            and hasattr(cls, "init") and (hasattr(cls, "select") or hasattr(cls, "observe"))]  # fmt: skip


def to_spec(parameters: Any) -> dict[str, Any]:
    """Describe a policy or an estimator by plain values from which :func:`make` can rebuild it.

    Examples
    --------
    >>> to_spec(make("ucb", c=0.5))
    {'kind': 'ucb', 'c': 0.5}
    """
    cls = type(parameters)
    file = getattr(sys.modules[cls.__module__], "__file__", None)
    own = entries_of(cls)
    kind = own[0].name if own else f"{file or cls.__module__}:{cls.__qualname__}"
    fields = {name: to_spec(value) if hasattr(value, "_fields") else value
              for name, value in parameters._asdict().items()}  # fmt: skip
    return {"kind": kind, **fields}


def kinds_in(description: Any) -> Iterator[Any]:
    """Yield the names of all parts of a description, such as one that :func:`to_spec` returns.

    Examples
    --------
    >>> list(kinds_in({"kind": "mean-of-medians", "policy": {"kind": "ucb"}}))
    ['mean-of-medians', 'ucb']
    """
    if "kind" not in description:
        raise ValueError("policy must have a kind, such as {'kind': 'ucb', 'c': 2}")
    yield description["kind"]
    for value in description.values():
        if isinstance(value, dict):
            yield from kinds_in(value)


def name_of(policy: Any) -> str:
    """Return the registered name of a policy, that of a preset if it is one, or else the name of its class.

    Examples
    --------
    >>> name_of(make("auto")), name_of(make("rucb-median", eps=1, v=2)), name_of(make("ucb", c=3))
    ('auto', 'rucb-median', 'ucb')
    """
    own = entries_of(type(policy))
    names = [entry.name for entry in own if entry.is_preset and entry.is_preset(policy)]
    return [*names, *(entry.name for entry in own), type(policy).__name__][0]


def names_of(policy: Any) -> str:
    """Return the name of a policy, and after it the name of the policy inside, if any.

    Examples
    --------
    >>> import heavybandits as hb
    >>> names_of(hb.UCB()), names_of(hb.Restarting(hb.UCB()))
    ('ucb', 'restarting ucb')
    """
    inside = getattr(policy, "policy", None)
    return f"{name_of(policy)} {names_of(inside)}" if hasattr(inside, "init") else name_of(policy)
