"""Laws and contexts by the names they have in study files; each registers its own name where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

NOISES: dict[str, Any] = {}
CONTEXTS: dict[str, Any] = {}


def _register(known: dict[str, Any], name: str) -> Callable[[Class], Class]:
    def registered(cls: Class) -> Class:
        if name in known:
            raise ValueError(f"two classes register the name {name!r}: {known[name].__name__} and {cls.__name__}")
        known[name] = cls
        return cls

    return registered


register_noise, register_contexts = partial(_register, NOISES), partial(_register, CONTEXTS)
