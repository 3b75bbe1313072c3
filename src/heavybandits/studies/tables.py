"""Instances from the tables of a study file, given by their means, their laws, their kind or their name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._validate import unknown
from ..algorithms.registry import class_from_file
from ..world.context_names import make_contexts
from ..world.delays import Batches, Delays
from ..world.environments import instances
from ..world.instances import Instance
from ..world.linear_instances import LinearInstance, context_rows
from ..world.lipschitz_instances import LipschitzInstance
from ..world.noises import make_noise


def make_instance(values: dict[str, Any], folder: str) -> Any:
    """Make the instance that a table describes; users' files are looked up in the folder.

    Examples
    --------
    >>> make_instance({"kind": "env1", "noise": {"kind": "cauchy"}}, ".").n_arms
    10
    """
    values = dict(values)
    if "noise" in values:
        noise = values["noise"]
        values["noise"] = [_noise(one, folder) for one in noise] if isinstance(noise, list) else _noise(noise, folder)
    kind = values.pop("kind", "arms")
    makers: dict[str, Callable[..., Any]] = {"arms": _arms, "linear": _linear, "lipschitz": _lipschitz}
    if isinstance(kind, str) and kind in makers:
        return makers[kind](values, folder)
    if not isinstance(kind, str) or kind not in instances():
        raise ValueError(unknown("instance", kind, [*makers, *instances()]))
    return instances()[kind](**values)


def pop_delays(values: dict[str, Any], folder: str) -> Delays:
    """Remove what the table of an instance says about late rewards, and return it.

    Examples
    --------
    >>> pop_delays({"delay": {"batches": 100}, "lost": 0.5}, ".")
    Delays(delay=Batches(size=100), lost=0.5, window=None)
    """
    delay, lost, window = values.pop("delay", 0), values.pop("lost", 0.0), values.pop("window", None)
    if isinstance(delay, dict):
        delay = Batches(delay["batches"]) if set(delay) == {"batches"} else _noise(delay, folder)
    return Delays(delay, lost, window)


def in_folder(kind: str, folder: str) -> str:
    """Return the kind of a policy or a law, with the folder of the study before the path of a user's file.

    Examples
    --------
    >>> in_folder("ucb", "studies"), in_folder("mine.py:Mine", "studies")
    ('ucb', 'studies/mine.py:Mine')
    """
    return str(Path(folder) / kind) if ".py:" in kind else kind


def _arms(values: dict[str, Any], folder: str) -> Instance:
    if isinstance(values.get("changes"), dict):  # the keys of a TOML table are strings
        values["changes"] = {_round(key): means for key, means in values["changes"].items()}
    if "laws" in values:
        laws = values.pop("laws")
        listed = laws if isinstance(laws, list) else [laws]
        return Instance(laws=[_noise(law, folder) for law in listed], **values)
    kinds = ", ".join(("linear", "lipschitz", *instances()))
    _require(values, ("means", "noise"), f"or laws, or the kind of an instance, one of {kinds}")
    return Instance(**values)


def _linear(values: dict[str, Any], folder: str) -> LinearInstance:
    """Make a linear instance; contexts and theta are numbers, or tables with the kind of a sampler.

    There is no theta if the contexts tell what their rows pay.
    """
    _require(values, ("contexts", "noise"), "as every linear instance does")
    values["contexts"] = _sampler(values["contexts"], folder)
    if hasattr(values["contexts"], "sample_paid"):
        values.setdefault("theta", None)
    _require(values, ("theta",), "as every linear instance does whose contexts do not tell what they pay")
    if isinstance(values["theta"], dict):  # by default it has as many numbers as there are features
        n_arms = values["theta"].get("n_arms", 1)
        if values["theta"].get("kind") in ("sphere", "cube") and isinstance(n_arms, int) and n_arms > 0:
            n_features = context_rows(values["contexts"]).shape[-1] // n_arms
            values["theta"] = {"n_arms": n_arms, "n_features": n_features, **values["theta"]}
        values["theta"] = _sampler(values["theta"], folder)
    return LinearInstance(**values)


def _lipschitz(values: dict[str, Any], folder: str) -> LipschitzInstance:
    _require(values, ("function", "noise"), "as every Lipschitz instance does")
    return LipschitzInstance(**values)


def _require(values: dict[str, Any], keys: tuple[str, ...], reason: str) -> None:
    for key in keys:
        if key not in values:
            raise ValueError(f"needs {key}, {reason}; got {', '.join(values) or 'nothing'}")


def _sampler(table: Any, folder: str) -> Any:
    """Return a sampler of contexts, ours or from a user's file; numbers are returned as they are."""
    if not isinstance(table, dict):
        return table
    if not isinstance(table.get("kind"), str):
        raise ValueError(f"contexts must be rows, or a table with their kind, such as {{ kind = 'sphere', n_arms = 20, "
                         f"n_features = 10 }}, got {table!r}")  # fmt: skip
    made = {key: _sampler(part, folder) for key, part in table.items() if key != "kind"}
    return _made(make_contexts, table["kind"], made, folder)


def _noise(table: Any, folder: str) -> Any:
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        raise ValueError(f"noise must be a table with its kind, such as {{ kind = 'cauchy' }}, got {table!r}")
    return _made(make_noise, table["kind"], {key: value for key, value in table.items() if key != "kind"}, folder)


def _made(make: Callable[..., Any], kind: str, values: dict[str, Any], folder: str) -> Any:
    """Make something by its name, or from the class in a user's file that its kind names."""
    path, _, name = in_folder(kind, folder).rpartition(":")
    return class_from_file(path, name)(**values) if path.endswith(".py") else make(kind, **values)


def _round(key: str) -> int:
    if not key.isdecimal():
        raise ValueError(
            f"changes must be a table of means by round, such as {{ 1000 = [0.0, 1.0] }}, got the key {key!r}"
        )
    return int(key)
