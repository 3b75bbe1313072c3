"""Write the API reference: every public name, grouped by the room it lives in, each with a page of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import heavybandits as hb

# Title and opening words by the beginning of a module's name, in the order of the page; the longest beginning counts.
GROUPS = {
    "engine": ("Simulate", "Play policies on an instance, and look at the results."),
    "results": ("Simulate", ""),
    "world": ("Instances", "What is played: arms, and the environments of the paper."),
    "world.noises": ("Noises and laws", "What rewards are drawn from."),
    "online": ("Decide online", "One decision at a time."),
    "service": ("Decision service", "A client of :doc:`/service`."),
    "studies": ("Studies and reports", "Many cases from one file, stored and resumed."),
    "report": ("Studies and reports", ""),
    "diagnosis": ("Diagnose", "What logged rewards look like."),
    "algorithms.registry": ("By name", "List policies and estimators, and make them by name."),
    "algorithms": ("Policies", "For rewards that depend on nothing but the arm. :doc:`/policies` compares them."),
    "algorithms.linear": ("Linear policies", "For rewards that are linear in features."),
    "algorithms.lipschitz": ("Lipschitz policies", "For arms that are points."),
    "algorithms.estimators": ("Estimators", "For the policies that take an estimator, such as ``fo-ucb``."),
    "testing": ("Your own", "Tools for policies and noises that you write."),
    "protocols": ("Your own", ""),
    "": ("More", "Everything else."),
}
BEFORE = """\
API reference
=============

Every public name of ``import heavybandits as hb``.  The tests run all examples.

"""
AFTER = """\
Theory
------

.. toctree::

   theory
"""


def group(name: str) -> str:
    """Return the title of the group that a public name belongs to."""
    room = getattr(hb, name).__module__.removeprefix("heavybandits.")
    starts = (start for start in GROUPS if not start or f"{room}.".startswith(f"{start}."))
    return GROUPS[max(starts, key=len)][0]


def page() -> str:
    """Return the page that lists all names."""
    names: dict[str, list[str]] = {title: [] for title, _ in GROUPS.values()}
    for name in hb.__all__:
        names[group(name)].append(name)
    text = BEFORE
    for title, words in GROUPS.values():
        if words and names[title]:
            listed = "".join(f"   heavybandits.{name}\n" for name in sorted(names[title], key=str.lower))
            text += f"{title}\n{'-' * len(title)}\n\n{words}\n\n.. autosummary::\n   :toctree: api\n\n{listed}\n"
    return text + AFTER


def write_page(app: Any, config: Any) -> None:
    """Write the page before Sphinx looks for pages; autosummary then writes the pages that it lists."""
    shutil.rmtree(Path(app.srcdir, "api"), ignore_errors=True)
    Path(app.srcdir, "api.rst").write_text(page(), encoding="utf-8")


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: they are described as parameters."""
    return True if type(value).__name__ == "_tuplegetter" else None


def setup(app: Any) -> dict[str, bool]:
    """Register both hooks."""
    app.connect("config-inited", write_page)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
