"""Execute the notebooks, and keep what they show in their files: ``python docs/notebooks.py [NOTEBOOK ...]``.

The repository's page of a notebook shows it as it is stored.  A digest of the code tells whether it has changed since.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import nbformat

PAGES = sorted(Path(__file__).parent.glob("*.ipynb"))


def digest(notebook: Any) -> str:
    """Return a digest of the code cells of a notebook."""
    return f"{zlib.crc32(repr([cell.source for cell in notebook.cells if cell.cell_type == 'code']).encode()):08x}"


def read(page: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(page, as_version=4)  # type: ignore[no-untyped-call]


def execute(page: Path) -> None:
    """Execute a notebook, and store it with what it shows, without progress."""
    import nbclient

    notebook = read(page)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_progress(output)]
    notebook.metadata.language_info = {"name": "python"}  # without its version
    notebook.metadata.executed = digest(notebook)
    nbformat.write(notebook, page)  # type: ignore[no-untyped-call]


def is_progress(output: Any) -> bool:
    """Return whether an output is a bar that shows how far a run is, or a message beside the results."""
    return output.get("name") == "stderr" or "<progress" in output.get("data", {}).get("text/html", "")


if __name__ == "__main__":
    for chosen in map(Path, sys.argv[1:]) if sys.argv[1:] else PAGES:
        execute(chosen)
