"""Arms given as laws: what they are compared by, what is refused, and what is played, stored and reported."""

import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import heavybandits as hb
from heavybandits.algorithms.policies.level_set_ucb import LevelSetUCB
from heavybandits.studies.study import read_study

REVENUE = [hb.Bernoulli(0.5), hb.ZeroInflated(0.1, hb.LogNormal(1.0)), hb.Empirical([0.0, 0.0, 0.3])]


class Sampled:
    """A law that can only be sampled."""

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.random(size)


def test_arms_are_compared_by_their_means() -> None:
    instance = hb.Instance(laws=REVENUE)
    np.testing.assert_allclose(instance.means, [0.5, 0.1 * math.exp(0.5), 0.1])
    assert (instance.n_arms, instance.best_arm, instance.goal) == (3, 0, "mean")
    np.testing.assert_allclose(instance.gaps, 0.5 - instance.means)
    assert instance.noises == tuple(REVENUE)
    assert instance.shifts.tolist() == [0.0, 0.0, 0.0]
    assert eval(repr(instance), vars(hb) | {n: getattr(hb, n) for n in hb.__all__}) == instance
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_arms_are_compared_by_their_medians() -> None:
    instance = hb.Instance(laws=[hb.Cauchy(), hb.LogNormal(3.0), hb.Shifted(hb.Cauchy(), 0.5)], goal="location")
    np.testing.assert_allclose(instance.means, [0.0, 1.0, 0.5], atol=1e-12)
    assert instance.goal == "location"
    assert instance.key != hb.Instance(laws=[hb.Gaussian(), hb.LogNormal(3.0)]).key


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"laws": [hb.Cauchy()]}, ValueError, "Cauchy(scale=1.0) has no mean; use goal='location'"),
        ({"laws": [hb.Frechet(1.0)]}, ValueError, "Frechet(alpha=1.0) has no mean"),
        ({"laws": [Sampled()]}, TypeError, "for goal='mean' each of laws must have 'mean'"),
        ({"laws": [Sampled()], "goal": "location"}, TypeError, "for goal='location' each of laws must have 'quantile'"),
        ({"laws": []}, TypeError, "laws must be a sequence of at least one law, got []"),
        ({"laws": hb.Cauchy()}, TypeError, "laws must be a sequence of at least one law, got Cauchy"),
        ({"laws": [3]}, TypeError, "each of laws must be an object with a method sample(rng, size), got 3"),
        ({"laws": [hb.Gaussian()], "goal": "median"}, ValueError, "goal must be 'mean' or 'location', got 'median'"),
        ({"laws": [hb.Gaussian()], "means": [0]}, TypeError, "laws take the place of means and noise"),
        ({"laws": [hb.Gaussian()], "noise": hb.Gaussian()}, TypeError, "laws take the place of means and noise"),
        (
            {"means": [0]},
            TypeError,
            "means and noise must both be given, or laws instead, got means=[0] and noise=None",
        ),
        ({}, TypeError, "means and noise must both be given, or laws instead"),
        ({"means": [0], "noise": hb.Gaussian(), "goal": "mean"}, ValueError, "give the arms as laws; got goal='mean'"),
    ],
)
def test_refusals(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        hb.Instance(**arguments)
    assert message in str(caught.value)


def test_keys_tell_laws_from_noises() -> None:
    instances = [
        hb.Instance([0.0, 0.0], hb.Gaussian()),
        hb.Instance(laws=[hb.Gaussian(), hb.Gaussian()]),
        hb.Instance(laws=[hb.Gaussian(), hb.Gaussian()], goal="location"),
        hb.Instance(laws=[hb.Gaussian()]),
    ]
    assert len({instance.key for instance in instances}) == 4
    assert len(set(instances)) == 4


def test_regret_is_of_true_means() -> None:
    """Given as means of 0 and skewed noises, bad arms would cost nothing."""
    laws = [hb.Exponential(2.0), hb.Negative(hb.Exponential(1.0)), hb.Bernoulli(0.5)]
    result = hb.simulate(hb.Instance(laws=laws), {"UCB": hb.UCB(c=2.0)}, horizon=500, replications=4, seed=1)
    expected = (result.pulls.values * np.array([0.0, 3.0, 1.5])).sum(axis=2)
    np.testing.assert_allclose(result.regret.values[:, :, -1], expected)
    assert (expected > 0).all()
    summary = result.summary()
    assert math.isnan(summary.loc["UCB", "ratio to Lai-Robbins"])
    assert result.instance.lai_robbins(500) is None
    assert result.plot() is not None
    assert hb.Instance(laws=[hb.Gaussian()] * 2).lai_robbins(500) == 0.0


def test_laws_are_played_as_they_are() -> None:
    """Shifts of a law are the same arms as means and noise, reward for reward."""
    shifted = hb.Instance(laws=[hb.Gaussian(), hb.Shifted(hb.Gaussian(), 2.0)])
    from heavybandits.engine.arms_game import draw_noise

    drawn = draw_noise(shifted, np.random.default_rng(0), 1000)
    again = draw_noise(hb.Instance([0.0, 2.0], [hb.Gaussian(), hb.StudentT(3)]), np.random.default_rng(0), 1000)
    assert np.array_equal(drawn[:, 0], again[:, 0])
    assert abs(drawn[:, 1].mean() - 2.0) < 0.2


# Noises with different centres


@pytest.mark.parametrize(
    "noise",
    [
        [hb.LogNormal(), hb.Gaussian()],
        [hb.Frechet(1.0), hb.Cauchy()],
        [hb.Exponential(1.0), hb.Exponential(2.0)],
    ],
)
def test_noises_with_different_centres_are_warned_of_once(noise: list[hb.Noise]) -> None:
    with pytest.warns(UserWarning, match="the noises have different centres") as caught:
        hb.Instance([0, 0], noise)
    assert len(caught) == 1
    assert "laws=[...]" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "noise",
    [
        hb.Frechet(),
        [hb.Frechet(1.5), hb.Frechet(1.5)],
        [hb.Cauchy(), hb.Gaussian()],
        [hb.Mixture([0.5, 0.5], [hb.Gaussian(), hb.Laplace()]), hb.StudentT(3)],
        [hb.Pareto(2.0), Sampled()],
    ],
)
def test_noises_with_one_centre_or_an_unknown_one_are_not(noise: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hb.Instance([0, 1], noise).n_arms == 2


# Study files

STUDY = """
[study]
horizon = 60
replications = 2

[instance.shop]
laws = [
    { kind = "bernoulli", p = 0.2 },
    { kind = "zero-inflated", share = 0.1, law = { kind = "log-normal", sigma = 1.5 } },
    { kind = "empirical", values = [0.0, 0.0, 1.0], replace = false },
]

[instance.tails]
laws = [{ kind = "cauchy" }, { kind = "shifted", by = 1.0, law = { kind = "cauchy" } }]
goal = "location"

[policy.UCB]
kind = "ucb"
"""


def test_laws_in_a_study_file(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(STUDY)
    study = read_study(tmp_path / "shop.toml")
    assert study.cases["shop"].instance == hb.Instance(
        laws=[hb.Bernoulli(0.2), hb.ZeroInflated(0.1, hb.LogNormal(1.5)), hb.Empirical([0, 0, 1], replace=False)]
    )
    assert study.cases["tails"].instance.means.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('goal = "location"', "", "instance.tails: Instance: Cauchy(scale=1.0) has no mean; use goal='location'"),
        ("p = 0.2", "p = 2.0", "instance.shop: Bernoulli: p must be a number in [0, 1], got 2.0"),
        ('goal = "location"', "means = [0]", "instance.tails: Instance: laws take the place of means and noise"),
    ],
)
def test_errors_in_a_study_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "shop.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_study(tmp_path / "shop.toml")
    assert message in str(caught.value)


@pytest.mark.slow
def test_a_study_of_laws_runs_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(STUDY)
    command = [sys.executable, "-m", "heavybandits", "run", "shop.toml", "--out", "out", "--workers", "1"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "shop" in (tmp_path / "out" / "report.html").read_text()


def test_a_loss_needs_a_density() -> None:
    with pytest.raises(ValueError, match="some values have a positive probability"):
        LevelSetUCB(hb.Bernoulli(0.1))
