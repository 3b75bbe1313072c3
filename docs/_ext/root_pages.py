"""Show the documents of the repository's root as pages, and let links to files lead to pages of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = {
    "index": "README.md",
    "architecture": "ARCHITECTURE.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
}
PLACES = {"benchmarks/README.md": "performance.md", "examples": "gallery/index.rst", "CITATION.cff": "../CITATION.cff"}


def place(match: re.Match[str]) -> str:
    """Return the end of a link, with the path of the page instead of the path in the repository."""
    path = match[1]
    names = {file: f"{page}.md" for page, file in PAGES.items()}
    path = (PLACES | names).get(path) or re.sub(r"^examples/(\w+)\.py$", r"gallery/\1.rst", path).removeprefix("docs/")
    return f"]({path})"


def insert(app: Any, name: str, text: list[str]) -> None:
    """Let links to scripts lead to the gallery, and insert the document of the root before the page's own text."""
    text[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text[0])
    if name in PAGES:
        app.env.note_dependency(str(ROOT / PAGES[name]))
        root = (ROOT / PAGES[name]).read_text(encoding="utf-8")
        text[0] = re.sub(r"\]\((?!https?:)([^)]+)\)", place, root) + "\n" + text[0]


def setup(app: Any) -> dict[str, bool]:
    """Register the hook."""
    app.connect("source-read", insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
