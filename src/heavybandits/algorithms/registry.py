"""Policies and estimators by name, from this package or from a user's file."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .._validate import unknown
from ..world.noises import noises
from . import estimators as _estimators
from . import policies as _policies
from .entries import Facts

Factory = Callable[..., Any]


@functools.cache
def _registered() -> tuple[dict[str, Factory], dict[str, Factory]]:
    found: tuple[dict[str, Factory], dict[str, Factory]] = ({}, {})
    for package in (_policies, _estimators):
        for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(entry.name)
            for cls in _own_classes(module):
                found[0 if hasattr(cls, "select") else 1][_kebab(cls.__name__)] = cls
            found[0].update(getattr(module, "PRESETS", {}))
    return found


def _own_classes(module: ModuleType) -> list[type]:
    """The policies and estimators that a module defines."""
    return [cls for cls in vars(module).values()
            if isinstance(cls, type) and cls.__module__ == module.__name__ and hasattr(cls, "_fields")
            and hasattr(cls, "init") and (hasattr(cls, "select") or hasattr(cls, "observe"))]  # fmt: skip


def _kebab(name: str) -> str:
    """``ClippedSGDUCB`` is ``clipped-sgd-ucb``, and ``INFClip`` is ``inf-clip``."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z])", "-", name)
    name = re.sub(r"(?<=[A-Z])(APE|SDA|SGD|SSTM|UCB)", r"-\1", name)
    return name.lower()


def policies() -> dict[str, Factory]:
    """Everything :func:`make` knows, by registered name: the class, or a function that makes a policy.

    Examples
    --------
    >>> "sgd-ucb-median" in policies()
    True
    """
    return dict(sorted(_registered()[0].items()))


def facts() -> dict[str, Facts]:
    """What readers compare policies by, for every registered name whose file says it.

    A file's ``FACTS`` are those of all its names, but for those that it lists in ``PRESET_FACTS``.

    Examples
    --------
    >>> facts()["rucb-truncated"].needs
    'moment order, moment bound'
    """
    found = {}
    for entry in pkgutil.iter_modules(_policies.__path__, f"{_policies.__name__}."):
        module = importlib.import_module(entry.name)
        names = [_kebab(cls.__name__) for cls in _own_classes(module)]
        if hasattr(module, "FACTS"):
            found.update(dict.fromkeys([*names, *getattr(module, "PRESETS", {})], module.FACTS))
            found.update(getattr(module, "PRESET_FACTS", {}))
    return found


def estimators() -> dict[str, Factory]:
    """The estimators that the templates take, by registered name.

    Examples
    --------
    >>> "clipped-sgd" in estimators()
    True
    """
    return dict(sorted(_registered()[1].items()))


def make(kind: str, **parameters: Any) -> Any:
    """Make a policy or an estimator by its registered name, or from a file as ``path/to/my_policy.py:Mine``.

    A parameter that is itself a policy or an estimator may be given as a dictionary with its ``kind``.

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
    """Make either; ``what`` was expected, "policy" or "estimator", decides which names an error suggests."""
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
        raise ValueError(f"make: kind must name the class in a file too, as in {kind}:Mine, got {kind!r}")
    known = {**_registered()[1], **_registered()[0]}
    if kind not in known:
        raise ValueError(unknown(what, kind, policies() if what == "policy" else estimators()))
    return known[kind]


def class_from_file(path: str, name: str) -> Factory:
    """Import a user's file under a name that is the same in every process, and return its class ``name``.

    A file that was edited since it was imported is imported again.
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
    """Describe a policy or an estimator by plain values from which :func:`make` makes it again.

    Examples
    --------
    >>> to_spec(make("ucb", c=0.5))
    {'kind': 'ucb', 'c': 0.5}
    """
    cls = type(parameters)
    known = {factory: name for registered in _registered() for name, factory in registered.items()}
    module = sys.modules[cls.__module__]
    kind = known.get(cls) or f"{getattr(module, '__file__', None) or cls.__module__}:{cls.__qualname__}"
    fields = {name: to_spec(value) if hasattr(value, "_fields") else value
              for name, value in parameters._asdict().items()}  # fmt: skip
    return {"kind": kind, **fields}
