"""Policies and estimators by name, from this package or from a user's file.

The folders ``policies``, ``linear``, ``lipschitz`` and ``estimators`` are the registry; there is no other list.  Every
file in them whose name does not begin with an underscore defines

- ``NAME``, by which :func:`make` knows it: the name of the file, with dashes;
- ``EXAMPLE``, parameters with which it is checked and measured;
- ``FACTS``, its row in the table of policies, if it is a policy.

It registers the function that has the name of the file, or else the class that the file defines.
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
from typing import Any, NamedTuple

from .._validate import unknown
from ..protocols import kind_of
from ..world.noises import noises
from .entries import Facts

KINDS = {"arms": "policies", "linear": "linear", "lipschitz": "lipschitz"}  # folders of policies
TITLES = {"arms": "K arms", "linear": "rewards linear in features", "lipschitz": "arms that are points"}
FOLDERS = {**KINDS, "estimator": "estimators"}
Factory = Callable[..., Any]


class Entry(NamedTuple):
    """What a file in the registry defines."""

    name: str
    make: Factory
    example: dict[str, Any]
    facts: Facts | None


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
    if kind not in KINDS:
        raise ValueError(unknown("kind of policies", kind, KINDS))
    return {name: entry.make for name, entry in _listed(kind).items()}


def all_policies() -> dict[str, Factory]:
    """Return the policies of all kinds.

    Examples
    --------
    >>> set(policies()) <= set(all_policies())
    True
    """
    return {name: made for kind in KINDS for name, made in policies(kind).items()}


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
    return {name: entry.example for what in FOLDERS for name, entry in _listed(what).items()}


@functools.cache
def _listed(what: str) -> dict[str, Entry]:
    folder = importlib.import_module(f"{__package__}.{FOLDERS[what]}")
    files = (file.name for file in pkgutil.iter_modules(folder.__path__) if not file.name.startswith("_"))
    entries = (_entry(f"{folder.__name__}.{file}") for file in files)
    return {entry.name: entry for entry in sorted(entries)}


def _entry(path: str) -> Entry:
    module = importlib.import_module(path)
    made = vars(module).get(path.rpartition(".")[2]) or _own_classes(module)[0]
    return Entry(module.NAME, made, module.EXAMPLE, getattr(module, "FACTS", None))


def _own_classes(module: ModuleType) -> list[type]:
    """Return the policies and estimators that a module defines."""
    return [cls for cls in vars(module).values()
            if isinstance(cls, type) and cls.__module__ == module.__name__ and hasattr(cls, "_fields")
            and hasattr(cls, "init") and (hasattr(cls, "select") or hasattr(cls, "observe"))]  # fmt: skip


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
    given = {}
    for name, value in parameters.items():
        nested = isinstance(value, dict) and "kind" in value and value["kind"] not in noises()
        given[name] = (
            _make("estimator", value["kind"], {k: v for k, v in value.items() if k != "kind"}) if nested else value
        )
    accepted = inspect.signature(factory).parameters
    for name in given:
        if name not in accepted:
            raise ValueError(f"{kind}: {unknown('parameter', name, accepted)}")
    missing = [name for name, p in accepted.items() if p.default is p.empty and name not in given]
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        raise ValueError(f"{kind}: needs {' and '.join(missing)}, which {verb} no default")
    return factory(**given)


def _factory(what: str, kind: object) -> Factory:
    if not isinstance(kind, str):
        raise TypeError(f"make: kind must be the name of a policy, got {kind!r}")
    path, colon, name = kind.rpartition(":")
    if colon and path.endswith(".py"):
        return class_from_file(path, name)
    if kind.endswith(".py"):
        raise ValueError(f"make: kind must also name a class in the file, as in {kind}:Mine, got {kind!r}")
    for folder in FOLDERS.values():  # try the file of that name first, so that the others need not be loaded
        file = kind.replace("-", "_")
        path = f"{__package__}.{folder}.{file}"
        if file.isidentifier() and not file.startswith("_") and importlib.util.find_spec(path) is not None:
            entry = _entry(path)
            if entry.name == kind:
                return entry.make
    known = estimators() if what == "estimator" else all_policies()
    if kind not in (everything := {**estimators(), **all_policies()}):
        raise ValueError(unknown(what, kind, known))
    return everything[kind]


def class_from_file(path: str, name: str) -> Factory:
    """Import a user's file under a name that is the same in every process, and return its class ``name``.

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
    found = getattr(module, name, None)
    if not isinstance(found, type):
        classes = [cls.__name__ for cls in _own_classes(module)]
        raise ValueError(f"{path}:{name}: {unknown('class', name, classes)}")
    return found


def to_spec(parameters: Any) -> dict[str, Any]:
    """Describe a policy or an estimator by plain values from which :func:`make` can rebuild it.

    Examples
    --------
    >>> to_spec(make("ucb", c=0.5))
    {'kind': 'ucb', 'c': 0.5}
    """
    cls = type(parameters)
    file = getattr(sys.modules[cls.__module__], "__file__", None)
    kind = _registered_name(cls) or f"{file or cls.__module__}:{cls.__qualname__}"
    fields = {name: to_spec(value) if hasattr(value, "_fields") else value
              for name, value in parameters._asdict().items()}  # fmt: skip
    return {"kind": kind, **fields}


def name_of(policy: Any) -> str:
    """Return the registered name that makes this policy from the fewest parameters, or else the name of its class.

    Examples
    --------
    >>> name_of(make("auto")), name_of(make("rucb-median", eps=1, v=2)), name_of(make("ucb", c=3))
    ('auto', 'rucb-median', 'ucb')
    """
    efforts = ((_effort(made, policy), name) for name, made in policies(kind_of(policy)).items())
    names = [(effort, name) for effort, name in efforts if effort is not None]
    return min(names)[1] if names else type(policy).__name__


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


def _effort(factory: Factory, policy: Any) -> tuple[int, int] | None:
    """Return how many parameters this policy must be given, out of how many; None if the factory cannot make it."""
    values, accepted = dict(_values(policy)), inspect.signature(factory).parameters
    given = {name: values[name] for name in accepted if name in values}
    try:
        made = factory(**given)
    except (TypeError, ValueError):  # it needs parameters that this policy does not have
        return None
    if type(made) is not type(policy) or made != policy:
        return None
    unusual = [value for name, value in given.items() if value != accepted[name].default]
    return sum(1 + (len(value) if hasattr(value, "_fields") else 0) for value in unusual), len(accepted)


def _registered_name(cls: type) -> str | None:
    """Return the name under which a class is registered, or None, without loading other files."""
    folder, _, file = cls.__module__.rpartition(".")
    if folder not in {f"{__package__}.{name}" for name in FOLDERS.values()} or file.startswith("_"):
        return None
    entry = _entry(cls.__module__)
    return entry.name if entry.make is cls else None


def _values(parameters: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a policy's parameters, those of an estimator before the estimator itself."""
    for name, value in parameters._asdict().items():
        if hasattr(value, "_fields"):
            yield from _values(value)
        yield name, value
