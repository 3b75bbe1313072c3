"""How the state of a linear policy grows when rows get new features, which were zero in all rows so far.

Vectors and matrices become longer, and what is new in them is as in a fresh state: such features never had an effect.
Two parts need more care: a learned ridge has to cover new features too, that of products if they are some; and kept
rows are stored in a form that depends on the number of features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...protocols import is_named_tuple
from ._design import Design
from ._level_set.kept_rows import Rows
from ._level_set.level_set import Arms
from ._level_set.product_ridge import own_ridge
from ._level_set.robust_line import SPARSE_SHARE, Model, is_product

NO_PRODUCTS: Mapping[int, int] = {}


def widened(old: Any, fresh: Any, n_features: int, owners: Mapping[int, int] = NO_PRODUCTS) -> Any:
    """Return a state of ``n_features`` with as many as a ``fresh`` state has; the new ones are about 1 in size.

    ``owners`` says of each product of an arm and a visitor which feature says that it is this arm; where a policy
    cares, it shrinks products more.

    Refuse a state that keeps something else beside the features of a row, such as an intercept or its reward.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.make("lin-ucb")
    >>> state = policy.init(n_features=1, horizon=None)
    >>> policy.update(state, np.array([1.0]), 3.0)
    >>> wide = widened(state, policy.init(n_features=2, horizon=None), n_features=1)
    >>> policy.value(wide, np.array([1.0, 0.0])) == policy.value(state, np.array([1.0]))
    True
    """
    if isinstance(old, Arms):
        return fresh.with_rows(len(old.rows))
    if isinstance(old, Rows):
        return _widened_rows(old, fresh)
    if is_named_tuple(old):
        made = type(old)(*(widened(*fields, n_features, owners) for fields in zip(old, fresh, strict=True)))
        if isinstance(made, Model | Design):
            _extend_ridge(made, len(old.inverse), owners)
        return made
    if old is None or old.shape == fresh.shape:
        return old
    if any(size not in (n_features, wide) for size, wide in zip(old.shape, fresh.shape, strict=True)):
        raise ValueError(f"an array of shape {old.shape} cannot get new features beside {n_features} others")
    return _embedded(old, fresh)


def _embedded(old: Any, fresh: Any) -> Any:
    """Return the fresh array with the old one in its first corner."""
    made = fresh.copy()
    made[tuple(map(slice, old.shape))] = old
    return made


def _extend_ridge(made: Any, known: int, owners: Mapping[int, int]) -> None:
    """Give new features the ridge of features that are about 1 in size, and put it into the inverses."""
    new = np.arange(known, len(made.inverse))
    if isinstance(made, Model):
        for feature, owner in owners.items():
            made.owner[feature] = made.owner[owner] = owner
    if isinstance(made, Model) and made.ridge[0] > 0.0:
        made.square[new] = 1.0
        share = max(made.ridge[i] / made.square[i] for i in range(known) if not is_product(made, i))
        for i in range(known, len(made.inverse)):
            made.ridge[i] = own_ridge(made, i, made.product_ridge[0]) if is_product(made, i) else share
        made.inverse[new, new] = 1.0 / made.ridge[new]
    made.asked[new, new] = made.inverse[new, new]


def _widened_rows(old: Rows, fresh: Rows) -> Rows:
    """Return kept rows in the form that they have with more features.

    If all the room was used, later rows were learned without being kept.  Were there room again, the next fit would
    forget those, so what is gained is filled with copies of the first rows.
    """
    n, known, d = int(old.size[0]), old.x.shape[1], fresh.x.shape[1]
    before, after = known // SPARSE_SHARE, d // SPARSE_SHARE
    x, filled, y = fresh.x.copy(), fresh.filled.copy(), fresh.y.copy()
    y[:n] = old.y[:n]
    for k in range(n):
        size = int(old.filled[k])
        if size == known:
            x[k, :known], filled[k] = old.x[k], d
        else:
            x[k, :size], x[k, after : after + size] = old.x[k, :size], old.x[k, before : before + size]
            filled[k] = size
    if n == len(old.y):
        copied = np.arange(len(y)) % n
        x, filled, y, n = x[copied], filled[copied], y[copied], len(y)
    return fresh._replace(
        x=x,
        filled=filled,
        y=y,
        size=np.array([n]),
        origin=_embedded(old.origin, fresh.origin),
        middle=_embedded(old.middle, fresh.middle),
    )
