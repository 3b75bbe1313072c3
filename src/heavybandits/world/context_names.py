"""Contexts by the names they have in study files."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .._validate import unknown
from . import contexts as _registers  # noqa: F401
from .registered import CONTEXTS


def contexts() -> dict[str, Any]:
    """Return the samplers of contexts by the names they have in study files.

    Examples
    --------
    >>> list(contexts())
    ['sphere', 'cube', 'disjoint', 'frozen', 'held', 'logged']
    """
    return dict(CONTEXTS)


def make_contexts(kind: str, **parameters: Any) -> Any:
    """Make contexts from their name and their parameters, as a study file gives them.

    A parameter that is itself a sampler of contexts may be given as a mapping with its ``kind``.

    Examples
    --------
    >>> make_contexts("disjoint", n_arms=3, context={"kind": "sphere", "n_arms": 1, "n_features": 5})
    Disjoint(n_arms=3, context=Sphere(n_arms=1, n_features=5))
    """
    known = contexts()
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(unknown("contexts", kind, known))
    accepted = [field.name for field in fields(known[kind])]
    for name in parameters:
        if name not in accepted:
            raise ValueError(f"{kind}: {unknown('parameter', name, accepted)}")
    made = {name: make_contexts(**value) if isinstance(value, dict) and "kind" in value else value
            for name, value in parameters.items()}  # fmt: skip
    try:
        return known[kind](**made)
    except TypeError as error:
        if "missing" not in str(error):
            raise
        raise ValueError(f"{kind}: needs {', '.join(name for name in accepted if name not in made)}") from None
