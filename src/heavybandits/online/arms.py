"""Names of arms, and the place of each in a policy's state."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from reprlib import repr as brief
from typing import Any

import numpy as np


class Arms:
    """Different names, in order; a name's *slot* is its number in that order.

    Parameters
    ----------
    names
        One or more hashable names.
    unused
        The first number that may name a new arm; lower ones may have named arms that were removed.

    Examples
    --------
    >>> arms = Arms(["red", "green"])
    >>> arms.slot("green")
    1
    >>> arms.slot("gren")
    Traceback (most recent call last):
        ...
    ValueError: Agent: arm must be one of ['red', 'green'], got 'gren'; did you mean 'green'?
    """

    def __init__(self, names: Iterable[Any], unused: int = 0) -> None:
        self.labels = [_plain(name) for name in list(names)]  # a list of 1e12 numbers fails at once, a loop does not
        try:
            self._slots = {label: slot for slot, label in enumerate(self.labels)}
        except TypeError:
            raise TypeError(f"Agent: names of arms must be hashable, got {brief(self.labels)}") from None
        if not self.labels:
            raise ValueError("Agent: arms must be one name or more, got none")
        for slot, label in enumerate(self.labels):
            if self._slots[label] != slot:
                raise ValueError(f"Agent: arms must have different names, got {label!r} twice")
        self.unused: int = max([unused, *(label + 1 for label in self.labels if type(label) is int)])

    def slot(self, arm: Any) -> int:
        """Return the slot of an arm, which must be one of the names."""
        try:
            slot = self._slots[arm]
        except (KeyError, TypeError):  # TypeError: not hashable
            if isinstance(arm, np.generic):
                return self.slot(arm.item())
        else:
            label = self.labels[slot]
            if type(arm) is type(label):
                return slot
            # 1.0 and True are found where 1 is, but do not name that arm.
            arm = _plain(arm)
            if isinstance(arm, type(label)) and not isinstance(arm, bool):
                return slot
        if self.labels == list(range(len(self.labels))):
            raise ValueError(f"Agent: arm must be a whole number from 0 to {len(self.labels) - 1}, got {brief(arm)}")
        near = difflib.get_close_matches(str(arm), map(str, self.labels[:1000]), n=1)  # more would take too long
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"Agent: arm must be one of {brief(self.labels)}, got {brief(arm)}{hint}")


def listed(name: str, values: Any) -> list[Any]:
    """Return the values as a list; a string is not taken for a list of letters.

    Examples
    --------
    >>> listed("among", np.arange(3))
    [0, 1, 2]
    >>> listed("among", "red")
    Traceback (most recent call last):
        ...
    TypeError: Agent: among must be a list, got 'red'
    """
    try:
        if not isinstance(values, str | bytes):
            return list(values.tolist() if isinstance(values, np.ndarray) else values)
    except TypeError:  # not iterable
        pass
    raise TypeError(f"Agent: {name} must be a list, got {brief(values)}")


def _plain(name: Any) -> Any:
    """Return the name in a type of Python's own, if it has one of NumPy's."""
    return name.item() if isinstance(name, np.generic) else name
