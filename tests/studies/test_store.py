"""The store: what it holds, which addresses it may have, and how it is read."""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from stores import TEXT, same

import heavybandits as hb
from heavybandits.results.result import Chunk
from heavybandits.results.study_result import StudyResult
from heavybandits.studies.executors import workers
from heavybandits.studies.places import StoreError
from heavybandits.studies.run import run_studies
from heavybandits.studies.store import Store
from heavybandits.studies.study import Study, read_study
from heavybandits.studies.writer import reserved


@pytest.mark.slow
def test_stored_results_are_those_of_simulate(study: Study, whole: StudyResult) -> None:
    for label, case in study.cases.items():
        direct = hb.simulate(case.instance, study.policies(label), horizon=500, replications=20, seed=0)
        for name, array in direct.to_xarray()[["regret", "pulls"]].items():
            stored = whole.results[label].to_xarray()[name]
            assert array.identical(stored.drop_vars(["family", "policy_c", "instance_delta"])), name
    assert whole.provenance["complete"]
    assert whole.families == {"UCB c=0.1": "UCB", "UCB c=1": "UCB", "Thompson": "Thompson"}


@pytest.mark.slow
def test_xarray_opens_it_as_a_tree_with_its_provenance(study: Study, whole: StudyResult, location: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = xr.open_datatree(str(location), engine="zarr")
    node = tree["two delta=3"]
    assert node["regret"].dims == ("policy", "replication", "round")
    np.testing.assert_array_equal(node["regret"].sel(policy="UCB c=1"),
                                  whole.results["two delta=3"].regret.sel(policy="UCB c=1"))  # fmt: skip
    assert (node["pulls"].sum("arm") == 500).all()
    assert (node["wall_time"] > 0).all()
    assert tree.attrs["digest"] == study.digest
    assert tree.attrs["spec"] == study.spec.plain()
    assert node["policy_c"].dims == ("policy",)
    np.testing.assert_array_equal(node["policy_c"], [0.1, 1.0, np.nan])
    assert node["family"].to_numpy().tolist() == ["UCB", "UCB", "Thompson"]
    assert node["instance_delta"].item() == 3.0
    assert {"policy_c", "family", "instance_delta"} < set(node.coords)
    assert {"python", "numpy", "numba"} <= set(tree.attrs["versions"])
    assert [session["pulls"] for session in tree.attrs["sessions"]] == [12 * 500 * 20 * 3]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["file", "local"])
def test_an_address_of_a_folder_is_that_folder(study: Study, tmp_path: Path, protocol: str) -> None:
    with reserved(f"{protocol}://{tmp_path}/new/small.zarr", study):
        assert Store(str(tmp_path / "new" / "small.zarr")).record.digest == study.digest
        assert Store(f"{protocol}://{tmp_path}/new/small.zarr").record.digest == study.digest


def test_an_address_that_nothing_understands_is_named(study: Study) -> None:
    with (
        pytest.raises(StoreError, match=r"foo://x: Protocol not known: foo; choose a folder"),
        reserved("foo://x", study),
    ):
        pass


def test_an_address_whose_package_is_missing_is_named(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(address: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.url_to_fs", missing)
    needs = r"^s3://x: Install s3fs to access S3; such an address needs fsspec and the package that it asks for$"
    with pytest.raises(StoreError, match=needs):
        Store("s3://x")
    with pytest.raises(StoreError, match=needs), reserved("s3://x", study):
        pass


def test_instances_that_were_not_played_yet_are_left_out(study: Study, location: Path, tmp_path: Path) -> None:
    shutil.rmtree(location / "two delta=0" / "checksum" / "c")
    loaded = Store(str(location)).load()
    assert len(loaded.results) == 11
    assert loaded.provenance["missing replications"] == 20


@pytest.mark.slow
def test_parameters_may_be_infinite(tmp_path: Path) -> None:
    (tmp_path / "inf.toml").write_text(
        TEXT.split("[policy.UCB]")[0] + "[policy.T]\nkind = 'thompson-gaussian'\nprior_scale = inf\n"
    )
    study = read_study(tmp_path / "inf.toml").with_replications(1)
    assert study.policies("two delta=0")["T"].prior_scale == float("inf")
    for _ in range(2):
        with reserved(tmp_path / "inf.zarr", study) as store:
            assert store.record.spec == study.spec


def test_swept_parameters_are_coordinates(whole: StudyResult) -> None:
    regret = whole.results["two delta=3"].regret
    np.testing.assert_array_equal(regret["policy_c"], [0.1, 1.0, np.nan])
    cases = xr.concat([case.to_dataset() for case in whole.to_xarray().children.values()], "case")
    np.testing.assert_allclose(cases["instance_delta"], np.linspace(0, 3, 12), rtol=1e-11)
    assert cases["regret"].where(cases["family"] == "UCB", drop=True).sizes["policy"] == 2


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not the store of a study"):
        Store(str(tmp_path))
    with pytest.raises(StoreError, match="is not the store of a study"):
        Store(str(tmp_path / "nothing.zarr"))


def test_results_of_an_unfinished_study_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text("""
        [study]
        horizon = 1_000_000
        replications = 12
        [instance.pair]
        means = [0, 1]
        noise = { kind = "gaussian" }
        [policy.UCB]
        kind = "ucb"
        """)
    study = read_study(tmp_path / "long.toml")
    with reserved(tmp_path / "long.zarr", study) as store:
        with pytest.raises(StoreError, match="no results yet; run the study first"):
            store.load()
        items = list(store.record.items())
        assert [len(item.replications) for item in items] == [5, 5, 2]
        regret = np.zeros((1, 5, len(study.cases["pair"].rounds)))
        store.write(items[1], Chunk(regret=regret, pulls=np.zeros((1, 5, 2), np.int64), wall_time=np.zeros((1, 5))))
        loaded = store.load()
    assert loaded.results["pair"].regret.sizes["replication"] == 5
    assert loaded.provenance["missing replications"] == 7
    assert not loaded.provenance["complete"]


@pytest.mark.slow
def test_the_store_may_be_any_fsspec_address(study: Study, whole: StudyResult) -> None:
    location = f"memory://heavybandits-{os.getpid()}/small.zarr"
    with workers(2) as executor:
        run_studies({location: study}, executor)
    assert same(Store(location).load(), whole)
