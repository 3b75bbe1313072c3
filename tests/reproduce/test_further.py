"""Further replications for undecided claims: what is played, how much of it, and which replications then judge."""

import shutil
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from reports import verdict

from heavybandits import cli
from heavybandits.report.folder import Reported, run_and_report
from heavybandits.reproduce import ClaimVerdict, page
from heavybandits.reproduce.further import decide_further, load_further
from heavybandits.reproduce.study_evidence import StudyEvidence
from heavybandits.results.study_result import StudyResult
from heavybandits.studies.executors import workers
from heavybandits.studies.run import run_studies
from heavybandits.studies.schema import StudyFile
from heavybandits.studies.store import Store
from heavybandits.studies.study import Study, read_study

NAME = "remarks-gaussian"
LOOK = 8 * 3 * 60 * 2  # pulls of eight replications: three cases, sixty rounds, the best of two families


@pytest.fixture(scope="module")
def study() -> Study:
    spec = read_study(NAME).with_replications(8).spec.plain()
    spec["study"] |= {"horizon": 60, "checkpoints": "all"}
    return Study(NAME, StudyFile.checked(NAME, spec))


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with workers(1) as threads:
        yield threads


@pytest.fixture(scope="module")
def played(study: Study, executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("played")
    run_studies({f"{results}/{NAME}.zarr": study}, executor)
    return results


@pytest.fixture
def results(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "results"))


def claims_are(is_open: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = verdict("", "undecided" if is_open else "holds", study=NAME)
    monkeypatch.setattr("heavybandits.reproduce.further.verdicts", lambda results, further: [undecided])


def replications(results: Path) -> int:
    return int(load_further(results)[NAME].results["10 arms, 0.1 apart"].regret.sizes["replication"])


@pytest.mark.slow
def test_looks_double_the_replications_of_the_best_variants(
    study: Study, results: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims_are(True, monkeypatch)
    monkeypatch.setattr("heavybandits.reproduce.further.MOST_TIMES", 4)
    told: list[str] = []
    decide_further({NAME: study}, str(results), executor, tell=told.append)
    assert told == [f"Undecided claims: 1. Playing further replications of {NAME}."] * 2  # the second and third look
    first, further = Store(results / f"{NAME}.zarr").load(), load_further(results)[NAME]
    assert list(further.families) == ["SGD-UCB", "SGD-UCB (p=3)"]
    for label, result in first.results.items():
        for family, best in first.best.items():
            longer = further.results[label].regret.sel(policy=family)
            assert longer.sizes["replication"] == 32
            rounds = longer["round"].to_numpy()
            assert (longer[:8].to_numpy() == result.regret.sel(policy=best, round=rounds).to_numpy()).all()


@pytest.mark.slow
def test_a_budget_is_kept_and_a_new_one_plays_on(
    study: Study, results: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims_are(True, monkeypatch)
    decide_further({NAME: study}, str(results), executor, budget=2 * LOOK - 1)
    assert load_further(results) == {}
    decide_further({NAME: study}, str(results), executor, budget=4 * LOOK - 1)
    assert replications(results) == 16
    decide_further({NAME: study}, str(results), executor, budget=2 * LOOK)
    assert replications(results) == 32


@pytest.mark.slow
def test_a_look_that_was_interrupted_is_finished_first(
    study: Study, results: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims_are(True, monkeypatch)
    decide_further({NAME: study}, str(results), executor, budget=2 * LOOK)
    shutil.rmtree(results / "further" / f"{NAME}.zarr" / "10 arms, 0.1 apart" / "checksum" / "c")
    assert load_further(results) == {}  # an incomplete look is ignored
    decide_further({NAME: study}, str(results), executor, budget=2 * LOOK)
    assert replications(results) == 16


@pytest.mark.slow
def test_nothing_is_played_if_no_claim_is_open(
    study: Study, results: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims_are(False, monkeypatch)
    decide_further({NAME: study}, str(results), executor)
    assert not (results / "further").exists()


@pytest.mark.slow
def test_all_replications_judge_but_those_that_chose(
    study: Study, results: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims_are(True, monkeypatch)
    decide_further({NAME: study}, str(results), executor, budget=2 * LOOK)
    first, further = Store(results / f"{NAME}.zarr").load(), load_further(results)[NAME]
    evidence, label = StudyEvidence(first, further), "100 arms, 0.02 apart"
    regret = evidence.results[label].regret.to_numpy()[evidence.position("SGD-UCB (p=3)")]
    judging = [1, 3, 5, 7, *range(8, 16)]
    assert np.array_equal(regret, further.results[label].regret.sel(policy="SGD-UCB (p=3)").to_numpy()[judging])
    assert (evidence.played, StudyEvidence(first).played) == (16, 8)
    assert (evidence.judged, StudyEvidence(first).judged) == (12, 4)
    times = first.results[label].wall_time.sel(policy=first.best["SGD-UCB (p=3)"]).to_numpy()[1::2]
    judged = evidence.results[label].wall_time.to_numpy()[evidence.position("SGD-UCB (p=3)")]
    assert np.array_equal(judged[:4], times)  # what was measured once is not measured again


@pytest.mark.slow
def test_what_is_found_damaged_in_further_replications_is_reported(study: Study, tmp_path: Path) -> None:
    reported = run_and_report([study], tmp_path, 1, None, None, further=lambda executor: ["damaged"])
    assert reported.damaged == ["damaged"]


@pytest.mark.parametrize("decide", [True, False])
def test_further_replications_are_played_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decide: bool
) -> None:
    asked: list[object] = []

    def run(studies: list[Study], out: Path, *_: object, further: Any = lambda executor: [], **__: object) -> Reported:
        return Reported([], out, damaged=further("executor"))

    def note(studies: dict[str, Study], results: str, executor: object, tell: object) -> list[str]:
        asked.append((list(studies), results, executor))
        return []

    monkeypatch.setattr("heavybandits.report.folder.run_and_report", run)
    monkeypatch.setattr("heavybandits.reproduce.further.decide_further", note)
    cli.reproduce(tmp_path, [NAME], decide=decide)
    assert asked == ([([NAME], str(tmp_path), "executor")] if decide else [])


@pytest.mark.slow
def test_a_folder_is_reported_with_claims_if_it_holds_studies_of_the_paper(results: Path) -> None:
    reported = cli._report(results, None)
    assert reported.closing == "Claims of the paper: too few replications to judge the paper"
    assert "The paper's claims" in reported.page.read_text()
    store = Store(results / f"{NAME}.zarr")
    mine = store.record.model_copy(update={"name": "mine"}).sealed()
    zarr.open_group(store.location, mode="r+").attrs.put(mine)
    reported = cli._report(results, None)
    assert reported.closing == ""
    assert "The paper's claims" not in reported.page.read_text()


@pytest.mark.slow
def test_verdicts_are_those_of_the_further_replications(
    study: Study, results: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, StudyResult]] = []

    def look(results: object, further: dict[str, StudyResult]) -> list[ClaimVerdict]:
        seen.append(further)
        return []

    monkeypatch.setattr(page, "verdicts", look)
    with monkeypatch.context() as patched:
        claims_are(True, patched)
        decide_further({NAME: study}, str(results), executor, budget=2 * LOOK)
    page.report_paper(results)
    assert [list(further) for further in seen] == [[NAME]]
