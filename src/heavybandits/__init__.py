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

import lazy_loader

from ._version import __version__ as __version__
from .names import CLASSES, MODULES

# The stub beside this file lists the public names.  Each is imported when it is first used, so importing the package
# is quick, and a process that plays one policy does not load all of them.
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
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
