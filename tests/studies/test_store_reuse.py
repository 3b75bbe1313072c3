"""Runs into a store that exists: of the same study, of a longer or a shorter one, of another, or two at once."""

from pathlib import Path

import pytest
from stores import run, same

from heavybandits.results.study_result import StudyResult
from heavybandits.studies.places import StoreError
from heavybandits.studies.schema import StudyFile
from heavybandits.studies.store import Store
from heavybandits.studies.study import Study
from heavybandits.studies.writer import reserved


@pytest.mark.slow
def test_what_is_stored_is_not_played_again(study: Study, location: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in location.rglob("c/*")}
    assert run(study, location) == ([], 0)
    assert before == {path: path.stat().st_mtime_ns for path in location.rglob("c/*")}


@pytest.mark.slow
def test_a_study_may_get_more_replications_later(study: Study, whole: StudyResult, location: Path) -> None:
    longer = study.repeated(2)
    assert (longer.digest, longer == study) == (study.digest, False)
    damaged, pulls = run(longer, location)
    assert (damaged, pulls) == ([], 500 * 20 * 3 * 12)  # what is stored is kept
    fresh = location.with_name("fresh.zarr")
    run(longer, fresh)
    grown = Store(str(location)).load()
    assert same(grown, Store(str(fresh)).load())
    for label, result in whole.results.items():  # times are measured, so equal ones were not measured again
        assert (grown.results[label].wall_time[:, :20] == result.wall_time).all()
    assert run(longer, location) == ([], 0)


@pytest.mark.slow
def test_a_chunk_that_was_not_full_is_played_again(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heavybandits.studies.study.PULLS_PER_ITEM", 500 * 3 * 8)  # eight replications in a chunk
    location = tmp_path / "grows.zarr"
    run(study, location)  # 8 + 8 + 4
    damaged, pulls = run(study.repeated(2), location)
    assert (damaged, pulls) == ([], 500 * 24 * 3 * 12)  # 16 of 40 are kept
    fresh = tmp_path / "fresh.zarr"
    run(study.repeated(2), fresh)
    assert same(Store(str(location)).load(), Store(str(fresh)).load())


def test_a_study_cannot_get_fewer_replications_later(study: Study, whole: StudyResult, location: Path) -> None:
    with pytest.raises(StoreError, match=r"has 20 replications of two delta=0, the study asks for 10; ask for at"):
        run(study.with_replications(10), location)
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
def test_the_store_of_another_study_is_refused_and_kept(study: Study, whole: StudyResult, location: Path) -> None:
    spec = study.spec.plain()
    spec["study"]["seed"] = 1
    other = Study(study.name, StudyFile.checked(study.name, spec), study.folder)
    with pytest.raises(StoreError, match=r"made from another study \(study.seed was 0, is 1\); choose"):
        run(other, location)
    assert same(Store(str(location)).load(), whole)


@pytest.mark.slow
def test_a_store_without_chunks_gives_way_to_another_study(study: Study, tmp_path: Path) -> None:
    other = study.with_replications(1)
    with reserved(tmp_path / "new.zarr", study):
        pass
    with reserved(tmp_path / "new.zarr", other) as store:
        assert len(store.missing()[0]) == 12
    assert Store(str(tmp_path / "new.zarr")).record.digest == other.digest


@pytest.mark.slow
def test_a_second_run_at_the_same_time_is_refused(study: Study, whole: StudyResult, location: Path) -> None:
    with reserved(location, study):
        with pytest.raises(StoreError, match=r"whole\.zarr: another run is writing to it; wait for it to finish"):
            run(study, location)
        assert same(Store(str(location)).load(), whole)  # reading is fine
    assert run(study, location) == ([], 0)


@pytest.mark.slow
def test_a_store_that_another_run_has_just_begun_is_left_alone(study: Study, tmp_path: Path) -> None:
    with reserved(tmp_path / "new.zarr", study):  # and no results yet, so that it could give way
        with pytest.raises(StoreError, match="another run is writing to it"):
            run(study.with_replications(1), tmp_path / "new.zarr")
        assert Store(tmp_path / "new.zarr").record.digest == study.digest
