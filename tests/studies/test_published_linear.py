"""The shipped studies of published linear bandits: their settings, and what docs/structured.md says about them."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.studies.study import read_study


@pytest.mark.slow
def test_settings_of_shao() -> None:
    study = read_study("shao-2018")
    sizes = [(case.instance.n_arms, case.instance.n_features) for case in study.cases.values()]
    assert sizes == [(20, 10), (100, 20)] * 2
    assert {(case.horizon, case.replications) for case in study.cases.values()} == {(20_000, 10)}
    assert all(isinstance(case.instance.contexts, hb.Frozen) for case in study.cases.values())
    noise = study.cases["20 arms, 10 features, Pareto"].instance.noise
    assert noise.mean == pytest.approx(0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rounds", "horizon"), [("xue-2020", 31, 20_000), ("huang-2023", 51, 10_000)])
def test_settings_of_xue_and_huang(name: str, rounds: int, horizon: int) -> None:
    study = read_study(name)
    for label, case in study.cases.items():
        assert case.instance.contexts == hb.Held(hb.Cube(20, 10), rounds)
        np.testing.assert_allclose(case.instance.theta, 1 / np.sqrt(10))
        assert case.horizon == horizon
        for policy in study.policies(label).values():
            assert getattr(policy, "repeats", rounds) == rounds  # otherwise groups would straddle two arrays of rows


@pytest.mark.slow
def test_settings_of_kang() -> None:
    study = read_study("kang-2023")
    assert [label.rpartition("=")[2] for label in study.cases] == ["1.1", "1.5", "2"]
    for case in study.cases.values():
        assert (case.instance.n_arms, case.instance.n_features, case.horizon) == (10, 50, 1000)
        assert case.instance.theta_norm == pytest.approx(np.sqrt(10))  # ten models of length 1


CLAIMS = [
    ("shao-2018", "20 arms, 10 features, Student", "MENU, order 2", "MoM, order 2"),
    ("shao-2018", "20 arms, 10 features, Pareto", "MENU, order 2", "MoM, order 2"),
    (
        "shao-2018",
        "20 arms, 10 features, Student",
        "TOFU, order 1.5 beta_scale=0.002",
        "CRT, order 1.5 beta_scale=0.01",
    ),
    ("xue-2020", "Student df=3", "BMM, order 2", "TOFU, order 2"),
    ("xue-2020", "Student df=3", "TOFU, order 2", "CRT, order 2"),
    ("xue-2020", "Student df=1.02", "BMM, order 2", "TOFU, order 2"),
    ("huang-2023", "Student", "Heavy-OFUL", "MENU"),
    ("huang-2023", "Student", "MENU", "TOFU"),
    ("kang-2023", "Student df=1.1", "Huber bandit eps=0.05, nu=0.5, forced=4", "OFUL beta_scale=1"),
    ("kang-2023", "Student df=2", "OFUL beta_scale=1", "Huber bandit eps=0.95, nu=0.5, forced=4"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "label", "better", "worse"), CLAIMS)
def test_what_agrees(name: str, label: str, better: str, worse: str) -> None:
    study = read_study(name)
    case, policies = study.cases[label], study.policies(label)
    both: dict[str, Any] = {one: policies[one] for one in (better, worse)}
    replications = 20 if case.horizon == 1000 else 5
    result = hb.simulate(
        case.instance, both, horizon=case.horizon, replications=replications, seed=1, checkpoints="end"
    )
    regret = result.regret.isel(round=-1).mean("replication")
    assert regret.sel(policy=better) < regret.sel(policy=worse)
