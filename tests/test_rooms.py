"""The rooms of the package: which may import which, and that no public name hides a module."""

import ast
import functools
import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import heavybandits as hb

PACKAGE = Path(hb.__file__).parent
# From the ground up: a module may import those on its own line or on a line above it.
FLOORS = (
    ("_files", "_format", "_validate", "_version", "names", "numerics", "palette", "protocols", "theory", "tree"),
    ("jit", "results"),
    ("evidence", "logs", "world"),
    ("algorithms",),
    ("engine",),
    ("online", "testing"),
    ("diagnosis", "evaluation", "studies"),
    ("report",),
    ("reproduce",),
    ("service",),
    ("cli", "__main__"),
)


def module_of(file: Path) -> str:
    parts = list(file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def floor(module: str) -> int:
    """Return the number of the floor that a module is on: that of the longest room that its name begins with."""
    found = [(len(room), number) for number, rooms in enumerate(FLOORS) for room in rooms
             if module == room or module.startswith(f"{room}.")]  # fmt: skip
    assert found, f"{module} is in no room"
    return max(found)[1]


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Return what a module imports, including late imports and those for type checkers only."""
    return frozenset(_imports(module))


def _imports(module: str) -> Iterator[str]:
    file = MODULES[module]
    package = f"heavybandits.{module if file.name == '__init__.py' else module.rpartition('.')[0]}".rstrip(".")
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            yield from (name if name.removeprefix("heavybandits.") in MODULES else base for name in inner)


@pytest.mark.parametrize("module", [module for module in MODULES if module])
def test_imports_point_down(module: str) -> None:
    ours = {name.removeprefix("heavybandits.") for name in imports(module) if name.startswith("heavybandits.")}
    above = {other for other in ours if floor(other) > floor(module)}
    assert not above


@pytest.mark.parametrize("name", hb.__all__)
def test_no_public_name_is_a_module(name: str) -> None:
    getattr(hb, name)
    assert name not in {module.partition(".")[0] for module in MODULES}
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"heavybandits.{name}")


def test_the_architecture_lists_the_floors() -> None:
    text = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    floors = re.findall(r"^\d+\. (.*)", text.partition("## What may import what")[2].partition("## ")[0], re.MULTILINE)
    listed = [set(re.findall(r"`(\w+)`", floor)) for floor in floors]
    assert listed[::-1] == [{room for room in rooms if room[0] != "_"} for rooms in FLOORS]


@pytest.mark.parametrize("part", [name for name in MODULES if re.fullmatch(r"algorithms\.parts\.\w+\.\w+", name)])
def test_what_one_folder_of_policies_alone_uses_lies_in_it(part: str) -> None:
    users = {other for other in MODULES if other and f"heavybandits.{part}" in imports(other)}
    folders = {".".join(user.split(".")[:2]) for user in users}
    assert users
    assert len(folders) > 1 or folders == {"algorithms.parts"}, f"move it to {folders}, with a leading underscore"


def test_the_root_has_few_modules() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 13


def loaded(statement: str) -> set[str]:
    """Return our own modules that a statement loads in a fresh process."""
    script = f"import sys; {statement}; print(*(name for name in sys.modules if name.startswith('heavybandits')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_policy() -> None:
    assert not {name for name in loaded("import heavybandits") if "algorithms" in name or "engine" in name}


@pytest.mark.slow
def test_reports_do_not_load_the_simulator() -> None:
    assert "heavybandits.engine.loop" not in loaded("import heavybandits.report")
