"""Show the documents of the repository's root as pages, and let links to files lead to pages of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = {
    "architecture": "ARCHITECTURE.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
}
PLACES = {
    "README.md": "index.md",
    "benchmarks/README.md": "performance.md",
    "examples/README.md": "gallery/index.rst",
    **{file: f"{page}.md" for page, file in PAGES.items()},
}


def place(path: str) -> str:
    """Return where the site has a file of the repository."""
    page = PLACES.get(path) or re.sub(r"^examples/(\w+)\.py$", r"gallery/\1.rst", path).removeprefix("docs/")
    return page if page != path else f"../{path}"


def insert(app: Any, name: str, text: list[str]) -> None:
    """Insert the document of the root before the page's own text, and let links to files lead to pages."""
    text[0] = re.sub(r"\]\(\.\./([^)]+)\)", lambda link: f"]({place(link[1])})", text[0])
    if name in PAGES:
        app.env.note_dependency(str(ROOT / PAGES[name]))
        root = (ROOT / PAGES[name]).read_text(encoding="utf-8")
        text[0] = re.sub(r"\]\((?!https?:|#)([^)]+)\)", lambda link: f"]({place(link[1])})", root) + "\n" + text[0]


def setup(app: Any) -> dict[str, bool]:
    """Register the hook."""
    app.connect("source-read", insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
