"""The laws of the study of arms that differ in shape."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import class_from_file
from heavybandits.studies.study import studies

FILE = str(studies()["shapes"].with_suffix(".py"))


def made(name: str, **parameters: Any) -> Any:
    return class_from_file(FILE, name)(**parameters)


def test_latencies_are_log_normal() -> None:
    law = made("Latencies", median=1.5, sigma=0.9)
    assert np.median(law.values) == pytest.approx(-1.5, rel=1e-3)
    assert law.mean == pytest.approx(-1.5 * np.exp(0.9**2 / 2), rel=0.01)


def test_noise_depends_on_the_round_before() -> None:
    law, rng = made("AutoRegressive", correlation=0.9), np.random.default_rng(0)
    draws = law.sample(rng, 100_000)
    assert draws.std() == pytest.approx(1.0, abs=0.05)
    assert np.corrcoef(draws[1:], draws[:-1])[0, 1] == pytest.approx(0.9, abs=0.01)
    firsts = [law.sample(rng, 2)[0] for _ in range(4000)]
    assert np.std(firsts) == pytest.approx(1.0, abs=0.05)


def test_one_server_has_the_best_mean_and_the_best_median() -> None:
    cases = hb.read_study("shapes").cases
    best = {name: int(cases[name].instance.gaps.argmin()) for name in ("latencies, means", "latencies, medians")}
    assert set(best.values()) == {1}
