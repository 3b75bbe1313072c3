"""Trees: parameters and states are NamedTuples whose fields may be NamedTuples in turn; how to walk and change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .protocols import is_named_tuple

Kind = TypeVar("Kind")


def walk(tree: Any, path: str = "state") -> Iterator[tuple[str, Any]]:
    """Yield a tree and all its parts, outermost first and in order, each with its path.

    Examples
    --------
    >>> import heavybandits as hb
    >>> [path for path, _ in walk(hb.UCB().init(n_arms=2, horizon=None))][:4]
    ['state', 'state.pulls', 'state.tournament', 'state.tournament.line']
    """
    waiting = [(path, tree)]  # the next one last
    while waiting:
        path, part = waiting.pop()
        yield path, part
        if isinstance(part, tuple):
            names = getattr(part, "_fields", range(len(part)))
            waiting += [(f"{path}.{name}", inner) for name, inner in zip(names, part, strict=True)][::-1]


def parts(tree: Any, kind: type[Kind]) -> Iterator[Kind]:
    """Yield the parts of a tree that are of this class, and the tree itself if it is.

    Examples
    --------
    >>> import heavybandits as hb
    >>> list(parts(hb.Restarting(hb.UCB()), hb.UCB))
    [UCB(c=1.0)]
    """
    return (part for _, part in walk(tree) if isinstance(part, kind))


def changed(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree in which ``change`` was applied to each part, outermost first, until it returned another one.

    Examples
    --------
    >>> import heavybandits as hb
    >>> changed(hb.Restarting(hb.UCB()), lambda part: hb.UCB(c=2) if isinstance(part, hb.UCB) else part)
    Restarting(policy=UCB(c=2.0), every=0)
    """
    new = change(tree)
    return tree._make(changed(part, change) for part in tree) if new is tree and is_named_tuple(tree) else new
