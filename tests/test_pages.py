"""Readers of the repository see pages, notebooks and the gallery as they are meant: no directives, all outputs."""

import importlib
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
DIRECTIVE = re.compile(r"^ *(?:```|:::)\{.*|(?:^|[\s(])\{[a-z:]+\}`.*|^% .*", re.MULTILINE)


def links(name: str) -> set[str]:
    """Return the files that a document links to."""
    found = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    return {str((ROOT / name).parent.joinpath(path).resolve().relative_to(ROOT)) for path in found}


def first_python(name: str) -> str:
    return str(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)[0])


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module


@pytest.mark.parametrize("page", sorted(links("README.md")))
def test_pages_behind_the_readme_can_be_read_in_the_repository(page: str) -> None:
    assert (ROOT / page).is_file()
    if page.endswith(".md"):
        assert not DIRECTIVE.findall((ROOT / page).read_text(encoding="utf-8"))
        assert not {link for link in links(page) if not (ROOT / link).exists()}


@pytest.mark.parametrize(("text", "raw"), [
    ("```{include} x\n```", True), ("see {doc}`x`", True), ("% hidden", True), ("```python\nf'{x}'\n```", False),
    ("`PATCH /v1/{experiment}` with `{}`", False),
])  # fmt: skip
def test_directives_are_noticed(text: str, raw: bool) -> None:
    assert bool(DIRECTIVE.search(text)) == raw


def test_programs_on_two_pages_are_the_same() -> None:
    assert first_python("docs/start.md") == first_python("README.md")
    example = (ROOT / "examples" / "own_policy.py").read_text(encoding="utf-8")
    assert first_python("docs/own-policy.md") == example[example.index("from typing") :]


def test_the_gallery_shows_every_example(scripts: Any) -> None:
    pictures = scripts("pictures")
    assert (ROOT / "examples" / "README.md").read_text(encoding="utf-8") == pictures.page(), "run docs/pictures.py"
    files = {file.stem: file.stat().st_size for file in (ROOT / "examples" / "images").iterdir()}
    assert set(files) == set(pictures.scripts())
    assert sum(files.values()) < 1_500_000


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.ipynb")))
def test_notebooks_are_stored_with_what_their_code_shows(page: str, scripts: Any) -> None:
    notebooks = scripts("notebooks")
    notebook = notebooks.read(ROOT / "docs" / page)
    nbformat.validate(notebook)
    assert notebook.metadata.executed == notebooks.digest(notebook), f"run: python docs/notebooks.py docs/{page}"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell.outputs for cell in cells if not cell.source.startswith("import"))
    assert not [output for cell in cells for output in cell.outputs if notebooks.is_progress(output)]
