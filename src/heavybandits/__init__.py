"""Multi-armed bandits for heavy-tailed rewards: robust policies, a compiled simulator, an online agent.

Start with :func:`simulate` (many policies on one :class:`Instance`, on the same noise) or with :class:`Agent` (one
decision at a time).  :func:`make` makes a policy by name; ``list(policies())``, ``list(noises())``,
``list(estimators())`` and ``list(instances())`` show what is available.  The docstring of a policy says what it assumes
and what happens when that fails: ``help(UCB)``.  Check your own policies and noises with :func:`check_policy` and
:func:`check_noise`, compare arms by their rewards with :func:`compare`, and examine logged rewards with
:func:`diagnose`.  The theory's regret bounds are in :mod:`heavybandits.theory`.
"""

import importlib
import warnings
from typing import Any

from ._version import __version__ as __version__
from .names import CLASSES, MODULES, PUBLIC

# Each public name is imported when it is first used, so importing the package is quick, and a process that plays one
# policy does not load all of them.  The stub beside this file tells type checkers the same.
__all__ = [*PUBLIC]
_INSTANCES = ("delta_cauchy", "delta_gaussian", "gaussian_env1", "gaussian_env2", "gaussian_env3")


def __getattr__(name: str) -> Any:
    """Return a public name, or with a warning one that was public until version 0.2."""
    if name in CLASSES:
        module, advice = f"algorithms.{MODULES[CLASSES[name]]}", f"hb.make({CLASSES[name]!r}), or "
    elif name in _INSTANCES:
        module, advice = "world.environments", ""
    else:
        return _public(name)
    advice += f"from {__name__}.{module} import {name}"
    warnings.warn(f"hb.{name} is deprecated; use {advice}", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(f".{module}", __name__), name)


def _public(name: str) -> Any:
    """Import a public name, and keep it."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f".{PUBLIC[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
