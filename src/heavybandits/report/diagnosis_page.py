"""The page of a diagnosis: one file, in the style of the reports on studies."""

from __future__ import annotations

import html
from importlib.resources import files
from typing import TYPE_CHECKING

from .._validate import visible

if TYPE_CHECKING:
    from ..diagnosis.report import Report


def diagnosis_page(report: Report) -> str:
    """Return a page that needs no other file.

    Examples
    --------
    >>> import heavybandits as hb
    >>> page = diagnosis_page(hb.diagnose({"arm": ["a", "b"] * 20, "reward": [0.0, 1.0] * 20}))
    >>> page[:15], "thompson-beta" in page, "<script" in page
    ('<!doctype html>', True, False)
    """
    css = (files(__package__) / "templates" / "page.css").read_text(encoding="utf-8")
    title = html.escape(visible(f"Diagnosis of {report.rewards.source}"))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{css}</style></head>\n'
        f'<body><main><h1>{title}</h1>\n<div style="overflow-x: auto">{report._repr_html_()}</div>'
        "</main></body></html>\n"
    )
