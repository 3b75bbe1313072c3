"""Studies of linear bandits: tables of contexts, sweeps, oracle parameters, the store and the report."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.studies.oracle_parameters import with_oracle_parameters
from heavybandits.studies.schema import StudyError, StudyFile
from heavybandits.studies.study import Study
from heavybandits.studies.tables import make_instance

HERE = Path(__file__).parents[1]
FRESH: dict[str, Any] = {
    "kind": "linear", "theta": {"kind": "sphere"}, "contexts": {"kind": "sphere", "n_arms": 4, "n_features": [2, 3]},
    "noise": {"kind": "student-t", "df": [1.5, 3.0]},
}  # fmt: skip
FIXED: dict[str, Any] = {
    "kind": "linear", "theta": [1.0, 0.0], "contexts": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], "noise": {"kind": "cauchy"}
}  # fmt: skip
USERS = '''
import numpy as np


class Correlated:
    """Contexts of a user's own."""

    def __init__(self, n_arms, shift=0.0):
        self.n_arms, self.shift = n_arms, shift

    def sample(self, rng, size):
        common = rng.normal(size=(size, self.n_arms, 1))
        return self.shift + common + rng.normal(size=(size, self.n_arms, 3))
'''


def study(folder: Path = HERE, policy: dict[str, Any] | None = None, **instances: dict[str, Any]) -> Study:
    plain = {
        "study": {"horizon": 60, "replications": 3},
        "instance": instances,
        "policy": {"Ridge": {"kind": "rows.py:Ridge", "radius": [0.5, 1.0]}, **(policy or {})},
    }
    made = Study("mine", StudyFile.checked("mine", plain), str(folder))
    for label in made.cases:
        made.policies(label)
    return made


def test_a_sweep_over_contexts_and_noise() -> None:
    cases = study(fresh=FRESH).cases
    assert next(iter(cases)) == "fresh n_features=2, df=1.5"
    assert len(cases) == 4
    assert cases["fresh n_features=3, df=3"].instance == hb.LinearInstance(
        hb.Sphere(1, 3), hb.Sphere(4, 3), hb.StudentT(3.0)
    )


def test_fixed_rows_are_no_sweep() -> None:
    (case,) = study(fixed=FIXED).cases.values()
    assert case.instance == hb.LinearInstance([1.0, 0.0], FIXED["contexts"], hb.Cauchy())


def test_disjoint_models_and_rows_that_replications_draw() -> None:
    sphere = {"kind": "sphere", "n_arms": 1, "n_features": 5}
    table = {**FIXED, "contexts": {"kind": "disjoint", "n_arms": 3, "context": sphere}}
    made = make_instance({**table, "theta": {"kind": "sphere", "n_arms": 3}}, ".")
    assert made == hb.LinearInstance(hb.Sphere(3, 5), hb.Disjoint(3, hb.Sphere(1, 5)), hb.Cauchy())
    frozen = make_instance({**FIXED, "theta": [1.0] * 5, "contexts": {"kind": "frozen", "contexts": sphere}}, ".")
    assert frozen.contexts == hb.Frozen(hb.Sphere(1, 5))


def test_contexts_of_a_users_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(USERS)
    table = {**FIXED, "theta": [1.0, 0.0, 2.0], "contexts": {"kind": "mine.py:Correlated", "n_arms": 4, "shift": 2.0}}
    plain = {"study": {"horizon": 5}, "instance": {"x": table}, "policy": {"UCB": {"kind": "ucb"}}}
    made = Study("mine", StudyFile.checked("mine", plain), str(tmp_path))
    assert (made.cases["x"].instance.n_arms, made.cases["x"].instance.n_features) == (4, 3)
    assert list(made.sources) == ["mine.py"]


@pytest.mark.slow
def test_run_store_and_report(tmp_path: Path) -> None:
    first = hb.run_study(study(fixed=FIXED, fresh=FRESH), out=tmp_path, progress=False)
    loaded = hb.load_study(tmp_path)
    alone = hb.simulate(
        hb.LinearInstance([1.0, 0.0], FIXED["contexts"], hb.Cauchy()),
        study(fixed=FIXED).policies("fixed"),
        horizon=60, replications=3,
    )  # fmt: skip
    assert np.array_equal(loaded.results["fixed"].regret, alone.regret)
    assert np.array_equal(loaded.results["fixed"].pulls, first.results["fixed"].pulls)
    assert loaded.results["fixed"].pulls.sizes["arm"] == 3
    swept = loaded.results["fresh n_features=3, df=3"]
    assert swept.regret.instance_n_features.item() == 3.0
    assert swept.summary().shape[0] == 2
    played = hb.LinearInstance(hb.Sphere(1, 3), hb.Sphere(4, 3), hb.StudentT(3.0))
    assert swept.instance.learning_loss(60) == played.learning_loss(60) is not None
    page = hb.write_report(loaded, tmp_path / "report")
    assert "fresh" in Path(page).read_text()


def test_oracle_parameters() -> None:
    def oracle(played: Any, **table: Any) -> Any:
        return with_oracle_parameters({"x": table}, played)["x"]

    linear = hb.LinearInstance([3.0, 4.0], np.eye(2), hb.Gaussian(2.0))
    assert oracle(linear, instance="noise-scale") == pytest.approx(2.0, rel=0.01)
    assert oracle(linear, instance="deviation", times=0.5) == pytest.approx(1.0, rel=0.01)
    assert oracle(linear, instance="theta-norm") == 5.0
    arms = hb.Instance([0, 1], hb.Cauchy())
    assert oracle(arms, instance="noise-scale") == pytest.approx(2 / 1.349, rel=0.02)
    with pytest.raises(ValueError, match="only linear instances have a theta-norm"):
        oracle(arms, instance="theta-norm")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"kind": "linear", "theta": [1.0], "noise": {"kind": "cauchy"}},
            "instance.x: needs contexts, as every linear",
        ),
        ({**FIXED, "contexts": {"n_arms": 3}}, "contexts must be rows, or a table with their kind"),
        ({**FIXED, "contexts": {"kind": "spere"}}, "unknown contexts 'spere'; did you mean 'sphere'"),
        ({**FIXED, "contexts": {"kind": "sphere", "n_arms": 3, "n_features": 4}}, "got 2 numbers for contexts of 4"),
        ({**FIXED, "theta": {"kind": "sphere", "n_arms": 3}}, "n_features must be a positive whole number, got 0"),
        ({**FIXED, "kind": "linaer"}, "unknown instance 'linaer'; did you mean 'linear'"),
        ({**FIXED, "goal": "mean"}, "goal"),
    ],
)
def test_what_is_wrong_is_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        study(x=table)


def test_policies_of_another_kind_are_refused() -> None:
    with pytest.raises(StudyError, match=r"mine: policy\.UCB: policy must be of kind 'linear' here"):
        study(policy={"UCB": {"kind": "ucb"}}, fixed=FIXED)
