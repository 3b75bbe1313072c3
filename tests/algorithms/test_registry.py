"""The folders are the registry: a file defines everything about a policy, and no other list has it."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
from heavybandits.algorithms import registry
from heavybandits.algorithms.entries import register_estimator
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.protocols import kind_of

ROOT = Path(__file__).parents[2]
HEAD = '''"""A policy that learns nothing."""

from typing import Any, NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Count

FACTS = {"needs": "nothing", "memory": "8 bytes", "cost": "O(1)", "regret": "linear", "reference": "folklore"}


class Rewards(NamedTuple):
    seen: IntArray

'''
NEW = {
    "arms": """

@register_policy("round-robin", kind="arms", example={"length": 2}, **FACTS)
class RoundRobin(NamedTuple):
    length: Count = 1

    def init(self, n_arms: int, horizon: int | None) -> Rewards:
        return Rewards(np.zeros(n_arms, np.int64))

    def select(self, state: Rewards, t: int, rng: Any) -> int:
        return t // self.length % len(state.seen)

    def update(self, state: Rewards, arm: int, reward: float) -> None:
        state.seen[arm] += 1
""",
    "linear": """

@register_policy("first-row", kind="linear", example={"length": 2}, **FACTS)
class FirstRow(NamedTuple):
    length: Count = 1

    def init(self, n_features: int, horizon: int | None) -> Rewards:
        return Rewards(np.zeros(1, np.int64))

    def select(self, state: Rewards, features: FloatArray, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Rewards, x: FloatArray, reward: float) -> None:
        state.seen[0] += 1
""",
    "lipschitz": """

@register_policy("midpoint", kind="lipschitz", example={"length": 2}, **FACTS)
class Midpoint(NamedTuple):
    length: Count = 1

    def init(self, dim: int, horizon: int | None) -> Rewards:
        return Rewards(np.zeros(dim, np.int64))

    def select(self, state: Rewards, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Rewards, cell: int, reward: float) -> None:
        state.seen[0] += 1

    def point(self, state: Rewards, cell: int) -> FloatArray:
        return np.full(len(state.seen), 0.5)

    def n_cells(self, state: Rewards) -> int:
        return 1
""",
}
NAMES = {"arms": "round-robin", "linear": "first-row", "lipschitz": "midpoint"}
USE = f"""
import heavybandits as hb
from heavybandits.algorithms.registry import examples

for kind, name in {NAMES}.items():
    assert hb.make(name, length=3).length == 3
    assert name in hb.policies(kind)
    hb.check_policy(hb.make(name, **examples()[name]), horizon=30)
print(hb.Agent(hb.make("round-robin"), n_arms=2))
print(hb.LinearAgent(hb.make("first-row"), n_features=2))
print(hb.LipschitzAgent(hb.make("midpoint"), dim=2))
"""


@pytest.mark.slow
def test_a_new_policy_is_one_file(tmp_path: Path) -> None:
    """In a copy of the package with a new file of each kind, each is found by name, checked, shown and in the table."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignore)
    scripts = (f"docs/{name}.py" for name in ("generate", "policies", "stub", "zoo"))
    for name in (*scripts, "benchmarks/policies.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for kind, name in NAMES.items():
        folder = tmp_path / "src/heavybandits/algorithms" / registry.POLICY_FOLDERS[kind]
        (folder / f"{name.replace('-', '_')}.py").write_text(HEAD + NEW[kind])
    # Interpreted, because compiling takes long and does not depend on where the file is.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NUMBA_DISABLE_JIT": "1"}
    for arguments in (["-c", USE], ["docs/generate.py"], ["-c", USE]):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if arguments[0] == "-c":
            for name in NAMES.values():
                assert f"{name}, 0 rewards\n" in done.stdout
    names, studies = (tmp_path / "src/heavybandits" / part for part in ("names.py", "studies/files"))
    for kind, name in NAMES.items():
        module = f"{registry.POLICY_FOLDERS[kind]}.{name.replace('-', '_')}"
        assert f'"{name}": "{module}"' in names.read_text(encoding="utf-8")
    assert '[policy.round-robin]\nkind = "round-robin"\n' in (studies / "zoo.toml").read_text(encoding="utf-8")
    table, proved = ((tmp_path / f"docs/{page}.md").read_text() for page in ("policies", "policies-proved"))
    for kind, name in NAMES.items():
        assert f"| `{name}` | nothing |{' - | - |' if kind == 'arms' else ''}\n" in table
        assert f"**`{name}`**. *Proved regret*: linear. *Memory" in proved


@pytest.mark.slow
def test_making_a_policy_loads_no_other() -> None:
    script = (
        "import sys; import heavybandits as hb; hb.make('ucb'); "
        "print(*(name for name in sys.modules if 'algorithms.policies.' in name))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["heavybandits.algorithms.policies.ucb"]


def test_a_file_registers_its_own_name_first() -> None:
    folder = Path(registry.__file__).parent
    files = {f"{name}.{file.stem}" for name in registry.FOLDERS.values() for file in (folder / name).glob("[!_]*.py")}
    entries = registry.all_entries().values()
    owners = {entry.module.removeprefix("heavybandits.algorithms."): entry for entry in entries if not entry.preset_of}
    assert set(owners) == files
    for file, entry in owners.items():
        assert entry.name == file.partition(".")[2].replace("_", "-")
    for entry in entries:
        assert entry.preset_of is None or hb.make(entry.name, **entry.example).__class__ is entry.preset_of


def test_generated_files_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    for path, text in runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, "run: python docs/generate.py"


def test_a_name_can_be_registered_once() -> None:
    with pytest.raises(ValueError, match="two files register the name 'ucb'"):
        register_estimator("ucb")(type(ClippedSGD()))


@pytest.mark.parametrize("kind", registry.POLICY_FOLDERS)
def test_every_policy_has_facts_and_is_of_its_kind(kind: str) -> None:
    assert set(registry.facts(kind)) == set(hb.policies(kind))
    for name in hb.policies(kind):
        assert kind_of(hb.make(name, **registry.examples()[name])) == kind


def test_no_two_policies_share_a_name() -> None:
    assert len(registry.all_policies()) == sum(len(hb.policies(kind)) for kind in registry.POLICY_FOLDERS)


@pytest.mark.parametrize("name", sorted({*registry.all_policies()} - {"clipped-sgd-ucb", "robust-ucb"}))
def test_a_policy_knows_its_name(name: str) -> None:
    example = registry.examples()[name]
    assert registry.name_of(hb.make(name, **example)) == name


@pytest.mark.parametrize("name", registry.all_policies())
def test_an_error_begins_with_the_class(name: str) -> None:
    policy, complaint = hb.make(name, **registry.examples()[name]), ""
    try:
        policy.init(2, None)
    except ValueError as error:
        complaint = str(error)
    assert not complaint or complaint.startswith(f"{type(policy).__name__}: ")


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (hb.make("auto"), "auto"),
        (hb.make("clipped-sgd-ucb", m=0, n=1), "sgd-ucb"),
        (hb.make("clipped-sgd-ucb", m=2, n=1), "clipped-sgd-ucb"),
        (hb.make("htinf", eps=1.0, scale=1.0, offset=3.0), "opt-tinf"),
        (hb.make("htinf", eps=1.0, scale=2.0, offset=3.0), "htinf"),
        (hb.make("robust-ucb", estimator={"kind": "median-of-means", "eps": 0.5, "v": 2.0}), "rucb-median"),
        (hb.make("order-statistic-ucb", c=1.0), "order-statistic-ucb"),
        (hb.make("lb-sda", memory=2.0), "lb-sda-limited"),
        (hb.make("level-set-ucb", noise={"kind": "cauchy", "scale": 2.0}, scale=1.0), "level-set-ucb"),
        (hb.make("linear-level-set-ucb", degrees=0.0, scale=1.0), "linear-level-set-ucb"),
    ],
)
def test_the_most_special_name_is_told(policy: Any, name: str) -> None:
    assert registry.name_of(policy) == name
    assert registry.names_of(hb.Restarting(hb.Restarting(policy))) == f"restarting restarting {name}"


@pytest.mark.parametrize("kind", ["_ranked", "__init__", "ucb.UCB", "..registry", "", "UCB", "kl_ucb"])
def test_only_names_are_known(kind: str) -> None:
    with pytest.raises(ValueError, match="unknown policy"):
        hb.make(kind)
