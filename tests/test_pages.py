"""Readers of the repository see pages, notebooks and the gallery as they are meant: no directives, all outputs."""

import importlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
MOST_WORDS = 2500  # of a page: what a reader takes in at one sitting
LONGER = {
    "CHANGELOG.md": "a reference: every change of every version",
    "docs/linear-measured.md": "measurements",
    "docs/policies-proved.md": "a reference: a paragraph for each policy",
}
DIRECTIVE = re.compile(r"^ *(?:```|:::)\{.*|(?:^|[\s(])\{[a-z:]+\}`.*|^% .*", re.MULTILINE)


def links(name: str) -> set[str]:
    """Return the files that a document links to."""
    found = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    return {str((ROOT / name).parent.joinpath(path).resolve().relative_to(ROOT)) for path in found}


def reachable(name: str) -> set[str]:
    """Return the documents that links lead to, through any number of pages."""
    found, waiting = set[str](), [name]
    while waiting:
        for link in links(waiting.pop()) - found:
            found.add(link)
            waiting += [link] if link.endswith(".md") and (ROOT / link).is_file() else []
    return found


def first_python(name: str) -> str:
    return str(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)[0])


def words(text: str) -> int:
    """Return how many words of prose a page has: without code, tables and addresses."""
    text = re.sub(r"^ *(```+)(?!\{).*?^ *\1$|^ *\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    return len(re.sub(r"\]\([^)]*\)", "]", text).split())


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module


@pytest.mark.parametrize("page", sorted(reachable("README.md")))
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


def test_pages_are_short_enough_to_be_read() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    lengths = {str(page.relative_to(ROOT)): words(page.read_text(encoding="utf-8")) for page in pages}
    assert {name for name, length in lengths.items() if length > MOST_WORDS} == set(LONGER)


def test_the_changelog_says_nothing_twice() -> None:
    for section in re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        entries = Counter(re.findall(r"^- (.{40})", section, re.MULTILINE))
        assert not {entry for entry, count in entries.items() if count > 1}, section.splitlines()[0]


def test_words_of_code_and_tables_do_not_count() -> None:
    assert words("See [this page](a/b.md):\n\n```sh\none two\n```\n\n| a | b |\n|---|---|\n\n- an item\n") == 6


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
