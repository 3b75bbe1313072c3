"""Study files with arms that are points."""

from pathlib import Path

import pytest

import heavybandits as hb

TEXT = """
[study]
horizon = 60
replications = 2

[instance.hill]
kind = "lipschitz"
function = "{function}"
dim = 2
noise = {{ kind = "cauchy", scale = [0.5, 1.0] }}

[policy.auto]
kind = "{policy}"

[policy.zooming]
kind = "zooming"
nu = 1.0
scale = [0.1, 0.01]
"""


def written(folder: Path, function: str = "peak", policy: str = "lipschitz-auto") -> Path:
    path = folder / "points.toml"
    path.write_text(TEXT.format(function=function, policy=policy))
    return path


@pytest.mark.slow
def test_a_study_gives_what_the_simulator_gives(tmp_path: Path) -> None:
    study = hb.run_study(written(tmp_path), out=tmp_path / "out", workers=1)
    assert list(study.results) == ["hill scale=0.5", "hill scale=1"]
    policies = {"auto": hb.make("lipschitz-auto"), "zooming scale=0.1": hb.make("zooming", nu=1.0, scale=0.1)}
    instance = hb.LipschitzInstance("peak", hb.Cauchy(1.0), dim=2)
    expected = hb.simulate(instance, policies, horizon=60, replications=2)
    stored = study.results["hill scale=1"].regret.sel(policy=list(policies))
    assert (stored.to_numpy() == expected.regret.to_numpy()).all()


@pytest.mark.parametrize(
    ("function", "policy", "message"),
    [
        ("peek", "lipschitz-auto", "unknown function 'peek'; did you mean 'peak'"),
        ("hartmann-3", "lipschitz-auto", "dim must be 3 for 'hartmann-3', got 2"),
        ("peak", "auto", "lipschitz"),
    ],
)
def test_errors_say_where_they_are(tmp_path: Path, function: str, policy: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hb.read_study(written(tmp_path, function, policy))


def test_what_an_instance_needs_is_said(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace('function = "peak"\n', ""))
    with pytest.raises(ValueError, match="needs function, as every Lipschitz instance does"):
        hb.read_study(path)


def test_the_experiment_of_lu_et_al_is_theirs() -> None:
    """So are its suprema, its noise, and the moments that the authors' code computes for both offsets."""
    lu = hb.read_study("lu-2019")
    assert [case.instance.supremum for case in lu.cases.values()] == pytest.approx([0.0, -2.0])
    assert all(case.instance.noises[0].mean == pytest.approx(0.0) for case in lu.cases.values())
    shape = 3.1
    variance = shape / ((shape - 1) ** 2 * (shape - 2))
    third = 2 * shape * (shape + 1) / ((shape - 1) ** 3 * (shape - 2) * (shape - 3))
    told = {label: choice.values for label, choice in lu.choices.items()}
    assert told["ADMM"]["sigma"] == pytest.approx(variance, rel=1e-3)
    for far, adtm, zooming in (
        (0.4, "ADTM nu=0.799", "zooming nu=25.784"),
        (2.4, "ADTM nu=6.399", "zooming nu=43.378"),
    ):
        assert told[adtm]["nu"] == pytest.approx(far**2 + variance, rel=1e-3)
        assert told[zooming]["nu"] == pytest.approx(far**3 + third + 3 * far * variance, rel=1e-3)
