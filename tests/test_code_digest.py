"""The digest of the code behind a command sees what is computed, not where it stands or what it is called."""

import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = """
import heavybandits as hb

SCALE = 2.0

def half(x: float) -> float:
    "Return the half."
    return x / 2  # exactly

def twice(x):
    return SCALE * x

class Scale:
    factor: float = 1.0

    def times(self, x):
        return self.factor * x

    def draw(self):
        return "a line"

def main():
    print(half(twice(1.0)), hb.theory, Scale().times(1.0))

for _ in range(3):
    main()
"""


COMMANDS = "heavybandits run auto", "heavybandits run shao-2018", "python benchmarks/drift.py"


@pytest.fixture(scope="module")
def code() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "docs")
        yield importlib.import_module("code_digest")


@pytest.fixture(scope="module")
def digests(code: Any) -> list[str]:
    return [code.digest_of(command, ROOT) for command in COMMANDS]


def digest(code: Any, folder: Path, source: str = SCRIPT, **beside: str) -> str:
    for name, text in beside.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "script.py").write_text(source)
    code.reader.cache_clear()
    return str(code.digest_of("python script.py", folder))


def test_names_places_and_comments_do_not_matter(code: Any, tmp_path: Path) -> None:
    same = digest(code, tmp_path)
    assert digest(code, tmp_path, SCRIPT.replace("half", "middle").replace("SCALE", "FACTOR")) == same
    assert digest(code, tmp_path, SCRIPT.replace("  # exactly", "").replace('    "Return the half."\n', "")) == same
    assert digest(code, tmp_path, SCRIPT.replace("x: float", "x: int")) == same
    assert digest(code, tmp_path, SCRIPT.replace("Scale", "Unit")) == same
    head, rest = SCRIPT.split("def twice")
    moved = digest(
        code, tmp_path, f"from other import half as h, SCALE\ndef twice{rest.replace('half', 'h')}", other=head
    )
    assert moved == same


@pytest.mark.parametrize(("old", "new"), [
    ("SCALE = 2.0", "SCALE = 3.0"), ("x / 2", "x / 3"), ("half(twice(1.0))", "twice(half(1.0))"),
    ("hb.theory", "hb.make('ucb')"), ("hb.theory", "hb.policies()"), ("range(3)", "range(4)"),
    ("self.factor * x", "self.factor + x"), ("factor: float = 1.0", "factor: float = 2.0"),
])  # fmt: skip
def test_what_is_computed_matters(code: Any, tmp_path: Path, old: str, new: str) -> None:
    assert old in SCRIPT
    assert digest(code, tmp_path) != digest(code, tmp_path, SCRIPT.replace(old, new))


def test_methods_that_nothing_calls_do_not_matter(code: Any) -> None:
    reader, result = code.reader(False), ("heavybandits.results.result", "Result")
    quiet, drawing = (reader.digest([result, (result[0], f"Result.{name}")], None) for name in ("__init__", "plot"))
    assert quiet == reader.digest([result], None) != drawing


@pytest.mark.slow
@pytest.mark.parametrize(("file", "expected"), [
    ("algorithms/linear/tofu.py", [False, True, False]), ("engine/loop.py", [True, True, True]),
    ("algorithms/level_sets/spreads.py", [True, False, True]), ("world/noises/symmetric.py", [True, True, True]),
    ("studies/writer.py", [False, False, False]), ("report/curves.py", [False, False, False]),
])  # fmt: skip
def test_commands_depend_on_the_code_that_they_reach(
    code: Any, digests: list[str], monkeypatch: pytest.MonkeyPatch, file: str, expected: list[bool]
) -> None:
    read, clean = Path.read_text, [code.ours.cache_clear, code.reader.cache_clear]

    def edited(path: Path, *arguments: Any, **options: Any) -> str:
        text = read(path, *arguments, **options)
        return text.replace("    return ", "    return 0 or ") if path == code.PACKAGE / file else text

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", edited)
        for clear in clean:
            clear()
        after = [code.digest_of(command, ROOT) for command in COMMANDS]
    for clear in clean:
        clear()
    assert [one != other for one, other in zip(digests, after, strict=True)] == expected


def test_a_study_depends_on_its_file(code: Any, tmp_path: Path) -> None:
    files = tmp_path / "studies" / "files"
    shutil.copytree(code.PACKAGE / "studies" / "files", files)
    own = code.PACKAGE / "studies" / "files" / "auto.toml"
    reader = code.reader(False)
    before = reader.digest(*code.in_study(own, reader))
    text = own.read_text()
    for old, new, same in (("title = ", "title = 'Another' #", True), ("horizon = ", "seed = 7\nhorizon = ", False)):
        (files / "auto.toml").write_text(text.replace(old, new, 1))
        assert (reader.digest(*code.in_study(files / "auto.toml", reader)) == before) == same
