"""Results that must not change: regret bit for bit, what saved agents restore to, and the digest of a small study.

The values in ``golden/values.json`` change only on purpose, in the commit that changes a result, with the reason in the
changelog.  To write them again: ``python tests/test_golden.py``, or ``python docs/generate.py --only NAME`` for those
of one policy.  The files in ``golden/agents`` were saved by version 0.2.0 and are never written again: agents saved by
users must load for ever.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import all_entries

FOLDER = Path(__file__).parent / "golden"
VALUES: dict[str, Any] = json.loads((FOLDER / "values.json").read_text())
PINNED = {name: entry.pinned for name, entry in all_entries().items() if entry.facts is not None}
AGENTS = (
    "ucb", "auto", "sgd-ucb", "sgd-ucb-smom", "rucb-catoni", "rucb-median", "fo-ucb", "ape2", "htinf",
    "mean-of-medians", "thompson-gaussian",
)  # fmt: skip
INSTANCES = {
    "cauchy": hb.env2(hb.Cauchy()),
    "few": hb.Instance(means=[0.0, 1.0, 0.5], noise=hb.StudentT(df=2.0)),
    "many": hb.Instance(means=np.linspace(0.0, 3.0, 70), noise=hb.Gaussian()),
}
STRUCTURED_INSTANCES: dict[str, dict[str, Any]] = {
    "linear": {
        "fixed": hb.LinearInstance(np.arange(6.0) / 6.0, hb.Frozen(hb.Sphere(5, 6)), hb.StudentT(df=2.0)),
        "fresh": hb.LinearInstance(np.arange(6.0) / 6.0, hb.Disjoint(3, hb.Cube(1, 2)), hb.StudentT(df=2.0)),
    },
    "lipschitz": {
        "line": hb.LipschitzInstance("peak", hb.Cauchy(0.1)),
        "square": hb.LipschitzInstance(lambda points: 1.0 - np.abs(points - 0.3).max(axis=1), hb.Gaussian(0.3), dim=2),
    },
}
STUDY = """
[study]
horizon = 400
replications = 3
seed = 7

[instance.tails]
means = [0.0, 0.5, 1.0]
noise = { kind = "student-t", df = [1.0, 3.0] }

[policy.UCB]
kind = "ucb"
c = [0.5, 1.0]

[policy.auto]
kind = "auto"
"""


def digest(*arrays: Any) -> str:
    """Return a short name for the bytes of some arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def regret_of(name: str) -> dict[str, str]:
    """Return digests of the regret and pulls of a policy on each instance, for two seeds."""
    policy = hb.make(name, **PINNED[name])
    return {
        f"{label} {seed}": regret_digest(instance, name, policy, seed)
        for label, instance in INSTANCES.items()
        for seed in (0, 1)
    }


def structured_regret_of(kind: str, name: str) -> dict[str, str]:
    """Return digests of the regret and pulls of a policy for features or points, on each instance of its kind."""
    policy = hb.make(name, **PINNED[name])
    return {label: regret_digest(each, name, policy, 0) for label, each in STRUCTURED_INSTANCES[kind].items()}


def regret_digest(instance: Any, name: str, policy: Any, seed: int) -> str:
    result = hb.simulate(instance, {name: policy}, horizon=300, replications=2, seed=seed, workers=1)
    return digest(result.regret.to_numpy(), result.pulls.to_numpy())


def rewards_of(seed: int, n: int) -> list[float]:
    return list(map(float, np.random.default_rng(seed).standard_cauchy(n)))


def trained(name: str) -> hb.Agent:
    """Return an agent that has learned from sixty rewards, some of them unasked."""
    agent = hb.Agent(hb.make(name, **PINNED[name]), arms=["a", "b", "c", "d"], horizon=1000, seed=5)
    agent.update_many(["b", "d", "d"], [1.0, 2.0, float("inf")])
    for reward in rewards_of(1, 57):
        agent.update(agent.select(), reward)
    return agent


def decisions_of(agent: hb.Agent) -> str:
    """Return what an agent decides next, one letter per decision."""
    letters = []
    for reward in rewards_of(2, 60):
        letters.append(agent.select())
        agent.update(letters[-1], reward)
    return "".join(letters)


def study_digest(folder: Path) -> str:
    """Return a digest of a small study's results, played by the command-line tool and read back from its store."""
    import subprocess

    import xarray

    (folder / "small.toml").write_text(STUDY)
    command = [sys.executable, "-m", "heavybandits", "run", "small.toml", "--workers", "1"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    tree = xarray.open_datatree(folder / "small" / "small.zarr", engine="zarr")
    return digest(
        *(tree[f"{case}/{name}"].to_numpy() for case in sorted(tree.children) for name in ("regret", "pulls"))
    )


@pytest.mark.parametrize("name", hb.policies())
def test_regret_is_pinned(name: str) -> None:
    assert regret_of(name) == VALUES["regret"][name]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("linear", "lipschitz") for name in hb.policies(kind)]
)
def test_regret_with_features_and_points_is_pinned(kind: str, name: str) -> None:
    assert structured_regret_of(kind, name) == VALUES["structured"][kind][name]


@pytest.mark.slow
@pytest.mark.usefixtures("public_path")
@pytest.mark.parametrize("name", ["ucb", "auto", "rucb-median", "htinf", "restarting"])
def test_regret_is_the_same_on_the_public_path(name: str) -> None:
    assert regret_of(name) == VALUES["regret"][name]


@pytest.mark.slow
@pytest.mark.usefixtures("public_path")
@pytest.mark.parametrize(("kind", "name"), [("linear", "linear-auto"), ("linear", "lin-ts"), ("lipschitz", "zooming")])
def test_regret_with_features_and_points_is_the_same_on_the_public_path(kind: str, name: str) -> None:
    assert structured_regret_of(kind, name) == VALUES["structured"][kind][name]


def test_nothing_else_is_pinned() -> None:
    assert set(VALUES["regret"]) == set(hb.policies())
    for kind in STRUCTURED_INSTANCES:
        assert set(VALUES["structured"][kind]) == set(hb.policies(kind))


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_saved_by_an_earlier_version_decides_as_it_would_have(name: str) -> None:
    agent = hb.Agent.load(FOLDER / "agents" / f"{name}.hb")
    assert agent.pulls == VALUES["agents"][name]["pulls"]
    assert decisions_of(agent) == VALUES["agents"][name]["decisions"]


@pytest.mark.parametrize("name", AGENTS)
def test_what_an_agent_learns_is_pinned(name: str) -> None:
    agent = trained(name)
    assert agent.pulls == VALUES["trained"][name]["pulls"]
    assert decisions_of(agent) == VALUES["trained"][name]["decisions"]


@pytest.mark.slow
def test_a_small_study_is_pinned(tmp_path: Path) -> None:
    assert study_digest(tmp_path) == VALUES["study"]


def write(only: str | None = None) -> None:
    """Write the values again, or those of one policy alone."""
    for name in hb.policies() if only is None else {only} & {*hb.policies()}:
        VALUES["regret"][name] = regret_of(name)
    for kind in STRUCTURED_INSTANCES:
        for name in hb.policies(kind) if only is None else {only} & {*hb.policies(kind)}:
            VALUES["structured"][kind][name] = structured_regret_of(kind, name)
    for name in AGENTS if only is None else {only} & {*AGENTS}:
        saved, learned = hb.Agent.load(FOLDER / "agents" / f"{name}.hb"), trained(name)
        VALUES["agents"][name] = {"pulls": saved.pulls, "decisions": decisions_of(saved)}
        VALUES["trained"][name] = {"pulls": learned.pulls, "decisions": decisions_of(learned)}
    if only is None:
        with tempfile.TemporaryDirectory() as folder:
            VALUES["study"] = study_digest(Path(folder))
    for named in (VALUES["regret"], *VALUES["structured"].values()):
        ordered = sorted(named.items())
        named.clear()
        named.update(ordered)
    (FOLDER / "values.json").write_text(json.dumps(VALUES, indent=1) + "\n")


if __name__ == "__main__":
    write(*sys.argv[1:])
