"""Study files: what they mean, and one clear sentence for each way to get them wrong."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.studies.record import differences
from heavybandits.studies.schema import StudyError
from heavybandits.studies.study import PULLS_PER_ITEM, Study, read_study, studies
from heavybandits.studies.sweep import choices
from heavybandits.world.environments import delta_cauchy, delta_gaussian, gaussian_env1, gaussian_env2, gaussian_env3

HEAD = "[study]\nhorizon = 50\nreplications = 3\n"
PAIR = "[instance.pair]\nmeans = [0, 1]\nnoise = { kind = 'cauchy' }\n"
UCB = "[policy.UCB]\nkind = 'ucb'\n"
MINE = """
from typing import NamedTuple
import numpy as np

class State(NamedTuple):
    pulls: np.ndarray

class First(NamedTuple):
    arm: int = 0
    def init(self, n_arms, horizon):
        return State(np.zeros(n_arms, np.int64))
    def select(self, state, t, rng):
        return self.arm
    def update(self, state, arm, reward):
        state.pulls[arm] += 1

class Coin:
    def __init__(self, size=1.0):
        self.size = size
    def sample(self, rng, size):
        return rng.choice([-self.size, self.size], size)
"""


def study(tmp_path: Path, text: str, name: str = "mine") -> Study:
    file = tmp_path / f"{name}.toml"
    file.write_text(text)
    return read_study(file)


def test_a_list_makes_a_sweep_of_all_combinations(tmp_path: Path) -> None:
    grid = study(tmp_path, HEAD + PAIR + "[policy.SGD]\nkind = 'sgd-ucb'\ncoeff = [0.1, 0.2]\nclip = [1.0, 5.0]\n")
    made = grid.policies("pair")
    assert list(made) == ["SGD coeff=0.1, clip=1", "SGD coeff=0.1, clip=5",
                          "SGD coeff=0.2, clip=1", "SGD coeff=0.2, clip=5"]  # fmt: skip
    assert [(policy.coeff, policy.clip) for policy in made.values()] == [(0.1, 1), (0.1, 5), (0.2, 1), (0.2, 5)]
    assert set(grid.families.values()) == {"SGD"}


def test_labels_show_as_many_digits_as_it_takes_to_tell_values_apart(tmp_path: Path) -> None:
    close = study(tmp_path, HEAD + PAIR + UCB + "c = [0.12345671, 0.12345672, 1.0]\n")
    assert [policy.c for policy in close.policies("pair").values()] == [0.12345671, 0.12345672, 1.0]
    assert list(close.families) == ["UCB c=0.12345671", "UCB c=0.12345672", "UCB c=1"]


def test_parameters_of_one_name_at_two_levels_are_told_apart(tmp_path: Path) -> None:
    nested = "[policy.FO]\nkind = 'fo-ucb'\noptimizer = { kind = 'clipped-sgd', clip = [1.0, 2.0] }\n"
    assert list(study(tmp_path, HEAD + PAIR + nested).families) == ["FO clip=1", "FO clip=2"]
    table = {"scale": [1, 2], "inner": {"scale": [3, 4]}}
    assert [choice.label for choice in choices("X", table)][1] == "X scale=1, inner.scale=4"
    assert list(choices("X", table))[1].values == {"scale": 1, "inner": {"scale": 4}}


def test_instances_sweep_and_keep_lists_that_are_lists_by_nature(tmp_path: Path) -> None:
    text = """
    [instance.spaced]
    means = { linspace = [0, 1, 3] }
    noise = { kind = "frechet", alpha = [1.0, 1.5] }
    [instance.mixed]
    means = [0, 1]
    noise = { kind = "mixture", weights = [0.9, 0.1], noises = [{ kind = "gaussian" }, { kind = "cauchy" }] }
    [instance.each]
    means = [0, 1]
    noise = [{ kind = "gaussian", scale = 2.0 }, { kind = "cauchy" }]
    horizon = 70
    replications = 2
    [instance.two]
    kind = "delta-gaussian"
    delta = { linspace = [0, 0.5, 2] }
    """
    cases = study(tmp_path, HEAD + text + UCB).cases
    assert list(cases) == ["spaced alpha=1", "spaced alpha=1.5", "mixed", "each", "two delta=0", "two delta=0.5"]
    assert cases["spaced alpha=1.5"].instance == hb.Instance([0, 0.5, 1], hb.Frechet(alpha=1.5))
    assert cases["spaced alpha=1.5"].swept == {"alpha": 1.5}
    assert cases["mixed"].instance.noise == hb.Mixture([0.9, 0.1], [hb.Gaussian(), hb.Cauchy()])
    assert cases["each"].instance == hb.Instance([0, 1], [hb.Gaussian(2.0), hb.Cauchy()])
    assert (cases["each"].horizon, cases["each"].replications) == (70, 2)
    assert (cases["mixed"].horizon, cases["mixed"].replications) == (50, 3)
    assert cases["two delta=0.5"].instance == delta_gaussian(0.5)


def test_a_policy_is_told_of_the_instance(tmp_path: Path) -> None:
    text = "[policy.SGD]\nkind = 'sgd-ucb'\nclip = { instance = 'largest-mean' }\n"
    both = study(tmp_path, HEAD + "[instance.low]\nmeans = [-7, 1]\nnoise = { kind = 'cauchy' }\n"
                 "[instance.flat]\nmeans = [0, 0]\nnoise = { kind = 'cauchy' }\n" + text)  # fmt: skip
    assert both.policies("low")["SGD"].clip == 7.0
    assert both.policies("flat")["SGD"].clip == 1.0


def test_a_fact_of_the_instance_may_have_a_factor(tmp_path: Path) -> None:
    """The policies are told the largest standard deviation, 5 here, times 0.5 and 2."""
    noise = "noise = [{ kind = 'gaussian', scale = 1.0 }, { kind = 'gaussian', scale = 5.0 }]"
    text = f"""
[study]
horizon = 10
[instance.x]
means = [0.0, 1.0]
{noise}
[policy.UCB]
kind = "ucb"
c = {{ instance = "deviation", times = [0.5, 2] }}
"""
    (tmp_path / "told.toml").write_text(text)
    policies = read_study(tmp_path / "told.toml").policies("x")
    assert [policy.c for policy in policies.values()] == pytest.approx([2.5, 10.0], rel=0.01)
    (tmp_path / "told.toml").write_text(text.replace("deviation", "noise"))
    with pytest.raises(ValueError, match="times must be a number"):
        read_study(tmp_path / "told.toml").policies("x")


def test_policies_and_noises_from_files_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    text = (HEAD + "[instance.coin]\nmeans = [0, 1]\nnoise = { kind = 'mine.py:Coin', size = 2.0 }\n"
            "[policy.First]\nkind = 'mine.py:First'\narm = [0, 1]\n")  # fmt: skip
    own = study(tmp_path, text)
    assert [policy.arm for policy in own.policies("coin").values()] == [0, 1]
    noise = own.cases["coin"].instance.noise
    assert not isinstance(noise, tuple)
    assert set(noise.sample(np.random.default_rng(0), 50)) == {-2.0, 2.0}
    (tmp_path / "mine.py").write_text(MINE + "\n# edited\n")
    edited = study(tmp_path, text)
    assert differences(own.identity, edited.identity) == ["mine.py has changed"]
    assert own.digest != edited.digest


def test_what_results_do_not_depend_on_is_not_part_of_a_studys_identity(tmp_path: Path) -> None:
    plain = study(tmp_path, HEAD + PAIR + UCB)
    titled = study(tmp_path, HEAD + "title = 'a title'\n" + PAIR + UCB + "[report]\nfigure = 'matrix'\n")
    longer = study(tmp_path, HEAD.replace("50", "60") + PAIR + UCB)
    assert plain.digest == titled.digest
    assert differences(plain.identity, longer.identity) == ["study.horizon was 50, is 60"]


def test_a_policy_can_be_left_out(tmp_path: Path) -> None:
    both = study(tmp_path, HEAD + PAIR + UCB + "[policy.Thompson]\nkind = 'thompson-gaussian'\n")
    assert list(both.without("Thompson").policies("pair")) == ["UCB"]
    assert list(both.families) == ["UCB", "Thompson"]


def test_a_study_survives_pickling(tmp_path: Path) -> None:
    original = study(tmp_path, HEAD + PAIR + UCB)
    copy = pickle.loads(pickle.dumps(original))
    assert copy == original
    assert copy is pickle.loads(pickle.dumps(original))  # a worker checks it once
    assert copy.spec == original.spec
    assert original != study(tmp_path, HEAD + "seed = 5\n" + PAIR + UCB)


def test_work_items_are_about_equally_long(tmp_path: Path) -> None:
    text = "[study]\nhorizon = {}\nreplications = 100000\n"
    for horizon in (10, 1000, 10 * PULLS_PER_ITEM):
        sized = study(tmp_path, text.format(horizon) + PAIR + UCB)
        pulls = sized.chunk("pair") * horizon
        assert pulls >= min(PULLS_PER_ITEM, 100_000 * horizon)
        assert pulls < PULLS_PER_ITEM + horizon


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[study", "mine.toml: is not TOML: "),
        (PAIR + UCB, "mine.toml: needs study"),
        (HEAD + UCB, "mine.toml: needs instance"),
        (HEAD + PAIR, "mine.toml: needs policy"),
        (HEAD + "horizn = 5\n" + PAIR + UCB, "mine.toml: study: unknown key 'horizn'; did you mean 'horizon'? Known: "),
        ("[study]\nhorizn = 5\n" + PAIR + UCB, "mine.toml: study: unknown key 'horizn'; did you mean 'horizon'?"),
        (HEAD + PAIR + UCB.replace("policy", "polcy"), "mine.toml: unknown key 'polcy'; did you mean 'policy'?"),
        (HEAD + PAIR.replace("means", "meens") + UCB, "; got meens, noise"),
        (HEAD + PAIR + UCB + "[reprot]\n", "mine.toml: unknown key 'reprot'; did you mean 'report'? Known: "),
        (HEAD.replace("50", "-50") + PAIR + UCB, "study.horizon must be at least 1, got -50"),
        (HEAD.replace("50", "'long'") + PAIR + UCB, "study.horizon must be a whole number, got 'long'"),
        (HEAD.replace("50", "2.5") + PAIR + UCB, "study.horizon must be a whole number, got 2.5"),
        (HEAD.replace("50", "9" * 20) + PAIR + UCB, "study.horizon must be at most 1000000000000, got 9"),
        (HEAD + PAIR.replace("[0, 1]", "[0, nan]") + UCB, "instance.pair: Instance: means must be finite, got [0,"),
        (HEAD + "checkpoints = 'often'\n" + PAIR + UCB, "study.checkpoints must be 'log', 'all', 'end' or a list"),
        (HEAD + "checkpoints = [60]\n" + PAIR + UCB, "instance.pair: simulate: checkpoints must be increasing rounds"),
        (HEAD + PAIR + UCB + "c = -1\n", "mine.toml: policy.UCB: UCB: c must be a non-negative finite number, got -1"),
        (HEAD + PAIR + UCB + "cc = 1\n", "policy.UCB: ucb: unknown parameter 'cc'; did you mean 'c'? Known: c"),
        (HEAD + PAIR + UCB + "c = []\n", "policy.UCB: c must have at least one value, got []"),
        (HEAD + PAIR + UCB + "c = { linspace = [0, 1] }\n", "policy.UCB: linspace must be [first, last, count]"),
        (HEAD + PAIR + UCB + "c = { instance = 'luck' }\n", "policy.UCB: unknown property of an instance 'luck'"),
        (HEAD + PAIR + "[policy.X]\nkind = 'ubc'\n", "policy.X: unknown policy 'ubc'; did you mean 'ucb'?"),
        (HEAD + PAIR + "[policy.X]\nc = 1\n", "needs policy.X.kind"),
        (HEAD + PAIR + "[policy.X]\nkind = 'none.py:Mine'\n", "policy.X: "),
        (HEAD + PAIR + "[policy.X]\nkind = 'rucb-median'\n", "policy.X: rucb-median: needs eps and v"),
        (HEAD + "[instance.x]\nmeans = [0]\n" + UCB, "instance.x: needs noise, or laws, or the kind of an instance"),
        (HEAD + "[instance.x]\nkind = 'env9'\n" + UCB, "instance.x: unknown instance 'env9'"),
        (HEAD + "[instance.x]\nkind = 'env1'\n" + UCB, "instance.x: "),
        (HEAD + "[instance.x]\nmeans = [0]\nnoise = 'cauchy'\n" + UCB, "instance.x: noise must be a table"),
        (HEAD + PAIR.replace("cauchy", "cauchi") + UCB, "instance.pair: unknown noise 'cauchi'; did you"),
        (HEAD + PAIR.replace("pair", "'a/b'") + UCB, "a label must begin with a letter"),
        (HEAD + PAIR.replace("pair", "'zarr.json'") + UCB, "instance.zarr.json: the store uses 'zarr.json' itself"),
        (HEAD + PAIR.replace("pair", "C") + UCB, "instance.C: the store uses 'C' itself; choose another label"),
        (HEAD + PAIR.replace("pair", "'..'") + UCB, "a label must begin with a letter"),
        (HEAD + PAIR.replace("pair", "x" * 201) + UCB, "a label must have at most 200 bytes, got 'xxx"),
        (HEAD + PAIR + PAIR.replace("pair", "Pair") + UCB, "instance.pair makes 'pair' and instance.Pair makes 'Pair'"),
        (HEAD + PAIR + UCB + "c = [1.0, 2.0]\n[policy.'UCB c=1']\nkind = 'ucb'\n",
         "policy.UCB makes 'UCB c=1' and policy.UCB c=1 makes 'UCB c=1'; labels must differ"),
        (HEAD + PAIR + UCB + "c = [1.0, 1]\n", "policy.UCB makes 'UCB c=1' and policy.UCB makes 'UCB c=1'; labels"),
        (HEAD + PAIR + UCB + "c = [[1.0]]\n", "policy.UCB: c: a sweep may have numbers and strings only, got [1.0]"),
        (HEAD + PAIR + UCB + "c = 1979-05-27\n", "policy.UCB must not contain dates or times"),
        (HEAD + PAIR + UCB + f"c = {'[' * 5000}{']' * 5000}\n", "mine.toml: is nested too deeply"),
        (HEAD + PAIR + UCB + f"c = {'[' * 300}{']' * 300}\n", "mine.toml: "),
        (HEAD + PAIR + UCB + f"c = {'9' * 5000}\n", "mine.toml: is not TOML"),
        (HEAD + PAIR + "[policy.X]\nkind = [{}]\n", "policy.X.kind must be a string, got [{}]"),
        (HEAD + "[instance.x]\nkind = [{}]\n" + UCB, "instance.x: kind: a sweep may have numbers and strings only"),
        (HEAD + "[instance.x]\nkind = {}\n" + UCB, "instance.x: unknown instance {}"),
        (HEAD + PAIR.replace("'cauchy'", "[{}]") + UCB, "instance.pair: kind: a sweep may have numbers"),
        (HEAD + PAIR.replace("'cauchy'", "{}") + UCB, "instance.pair: noise must be a table with its kind"),
        (HEAD + PAIR + UCB + "c = { instance = {} }\n", "policy.UCB: unknown property of an instance {}"),
        (HEAD + PAIR + UCB + "c = { linspace = [0, 1, 1_000_000_000] }\n", "with a count from 1 to 1,000,000, got ["),
        (HEAD + PAIR + UCB + "c = { linspace = [0, 1, 20_000] }\nd = { linspace = [0, 1, 20_000] }\n",
         "policy.UCB: makes 400,000,000 combinations; a study may have at most 1,000,000"),
        (HEAD + "[instance.x]\nkind = 'delta-cauchy'\ndelta = { linspace = [0, 1, 1001] }\n" + UCB
         + "c = { linspace = [0, 1, 1000] }\n", "has 1,001 cases and 1,000 policies; a study may have at most 1,000"),
        (HEAD.replace("50", "1_000_000_000_000") + "checkpoints = 'all'\n" + PAIR + UCB,
         "checkpoints = 'all' takes a horizon of at most 10,000,000, got 1,000,000,000,000; use 'log'"),
        (HEAD + "title = 'red \\u001b[31m'\n".replace("'", '"') + PAIR + UCB, "study.title must not contain control c"),
        (HEAD + "seed = -1\n" + PAIR + UCB, "study.seed must be at least 0, got -1"),
        (HEAD + "seed = true\n" + PAIR + UCB, "study.seed must be a whole number, got True"),
        (HEAD + "title = 5\n" + PAIR + UCB, "study.title must be a string, got 5"),
        (HEAD + PAIR + UCB + "[report]\nfigure = 'pie'\n", "report.figure must be one of 'curves', 'sweep', "),
        (HEAD + PAIR + UCB + "[report]\ntargets = ['low']\n", "report.targets.0 must be a number, got 'low'"),
        (HEAD + PAIR + UCB + "[report]\ntargets = [0]\n", "report.targets.0 must be above 0, got 0"),
        (HEAD + PAIR + UCB + "[report]\ntargets = []\n", "report.targets must have at least one value, got []"),
        ("study = 5\n" + PAIR + UCB, "study must be a table, got 5"),
        (HEAD + "[instance]\n" + UCB, "needs at least one table [instance.LABEL]"),
    ],
)  # fmt: skip
def test_one_sentence_says_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(StudyError) as caught:
        study(tmp_path, text)
    message = str(caught.value)
    assert complaint in message
    assert message.startswith(str(tmp_path / "mine.toml") + ": ")
    assert "\n" not in message


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"there is no file .*none\.toml"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(StudyError, match="unknown study 'cauchi'; did you mean 'cauchy'"):
        read_study("cauchi")


@pytest.mark.slow
@pytest.mark.parametrize("name", studies())
def test_shipped_studies_can_be_used(name: str) -> None:
    shipped = read_study(name)
    assert shipped.spec.study.title
    assert list(shipped.policies(next(iter(shipped.cases)))) == list(shipped.families)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [("zoo", "arms"), ("linear-zoo", "linear"), ("lipschitz-zoo", "lipschitz")])
def test_the_zoo_has_every_policy(name: str, kind: str) -> None:
    assert {table.kind for table in read_study(name).spec.policy.values()} == set(hb.policies(kind))


@pytest.mark.parametrize("name", ["cauchy", "frechet-1", "frechet-1.25", "cauchy-exp", "cauchy-pareto"])
def test_the_papers_heavy_tails(name: str) -> None:
    cases = read_study(name).cases
    assert [case.instance.n_arms for case in cases.values()] == [10, 10, 100]
    assert [case.horizon for case in cases.values()] == [10_000, 10_000, 15_000]
    assert {case.replications for case in cases.values()} == {120}
    assert len({case.instance.noise for case in cases.values()}) == 1


def test_the_papers_other_experiments() -> None:
    gaussian, close, far, runtime = map(read_study, ("gaussian", "delta-gaussian", "delta-cauchy", "runtime"))
    assert [case.instance for case in gaussian.cases.values()] == [
        gaussian_env1(), gaussian_env2(), gaussian_env3()]  # fmt: skip
    assert {(case.horizon, case.replications) for case in gaussian.cases.values()} == {(3000, 150)}
    for sweep, step, make in ((close, 0.04, delta_gaussian), (far, 0.4, delta_cauchy)):
        np.testing.assert_allclose([case.swept["delta"] for case in sweep.cases.values()], step * np.arange(26))
        assert all(case.instance == make(case.swept["delta"]) for case in sweep.cases.values())
        assert {(case.horizon, case.replications) for case in sweep.cases.values()} == {(2000, 300)}
    (case,) = runtime.cases.values()
    assert (case.instance, case.horizon, case.replications) == (hb.env1(hb.Cauchy()), 10_000, 100)
    assert len(case.rounds) == 10_000


def test_arguments_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="run_study: workers must be a positive whole number, got 0"):
        hb.run_study("cauchy", out=tmp_path / "out", workers=0)
    with pytest.raises(TypeError, match=r"study must be the name of a study or of a file \*.toml, got 3"):
        hb.run_study(3, out=tmp_path / "out")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
