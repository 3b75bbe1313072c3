"""Checks that every policy and every noise must pass; run them on yours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..protocols import DECLARE, is_named_tuple, is_randomised, kind_of
from .arms import check_arms
from .common import global_streams, is_plain, require
from .linear import check_linear
from .lipschitz import check_lipschitz
from .noise import check_noise

__all__ = ["check_noise", "check_policy"]

CHECKS = {"arms": check_arms, "linear": check_linear, "lipschitz": check_lipschitz}


def check_policy(policy: Any, *, horizon: int = 300) -> None:
    """Raise ``AssertionError``, saying what is wrong, unless the policy follows the protocol of its kind.

    A policy for K arms is played on one, three and seventy arms, with rewards that include ties and infinities.
    Compiled and interpreted, it must choose the same arms and end in the same state.  Then rewards come late, in
    another order, past the horizon and for arms that were never selected, and arms come and go.

    A linear policy is played on rows that stay the same and rows that change: one row, one feature, more features than
    rounds, features of very different scale, constant ones, and rows that span little or nothing.

    A policy for points is played in one, two and three dimensions; cells must keep their numbers and points.

    Examples
    --------
    >>> import heavybandits as hb
    >>> check_policy(hb.UCB(), horizon=50)
    """
    name = type(policy).__name__
    require(is_named_tuple(policy), f"{name} must be a NamedTuple of parameters, got {policy!r}")
    require(len(policy) > 0, f"{name} must have at least one parameter, or numba cannot compile it")
    require(is_plain(policy), f"{name} must have parameters that cannot change (numbers, text, tuples), got {policy!r}")
    for method in ("init", "select", "update"):
        require(callable(getattr(policy, method, None)), f"{name} must have a method {method}")
    streams = global_streams()
    try:
        with np.errstate(all="ignore"):  # as silent as compiled code
            check_compiled = CHECKS[kind_of(policy)](policy, name, horizon)
    except AssertionError:
        raise
    except Exception as error:
        hint = f"; {DECLARE}" if "NoneType" in str(error) and not is_randomised(policy) else ""
        raise AssertionError(f"{name} must not raise {type(error).__name__}: {error}{hint}") from error
    require(global_streams() == streams, f"{name} must draw random numbers from rng, not from a global generator")
    check_compiled()
