"""Write a page for each policy: formula, facts, a picture of how it explores, its regret on the zoo, its parameters."""

from __future__ import annotations

import csv
import inspect
import re
import shutil
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from explorations import CAPTIONS, draw

import heavybandits as hb
from heavybandits.algorithms.entries import Entry
from heavybandits.algorithms.registry import all_entries, all_policies, examples, facts
from heavybandits.protocols import kind_of

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^(\| |\*\*)`([\w-]+)`(?= \||\*\*)", re.MULTILINE)  # of the pages on policies
LISTED = """
```{toctree}
:hidden:
:glob:

policies-proved
policies/*
```
"""


class Zoo(NamedTuple):
    """A study that plays all policies of a kind, and what readers must know about it."""

    study: str
    size: str
    failed: str
    told: str


ZOOS = {
    "arms": Zoo(
        study="zoo",
        size="10,000 pulls, 15,000 in Env3, 30 replications",
        failed="end in linear regret",
        told="Policies that must be told a moment are told one that hardly any of these noises has.",
    ),
    "linear": Zoo(
        study="linear-zoo",
        size="5000 rounds, 20 replications; rows of six features, three arms where each has a model",
        failed="end in linear regret",
        told="Radii have the factors that did best elsewhere.  Policies that must be told a moment are told that the "
        "one of order 1.5 is at most 3; the Huber bandit, that each of three arms has a model.",
    ),
    "lipschitz": Zoo(
        study="lipschitz-zoo",
        size="5000 rounds, 20 replications",
        failed="still lose more than a fifth of what random points lose",
        told="Radii have the factors that did best elsewhere.  Policies that must be told a moment are told that the "
        "second one is 1.",
    ),
}


def page(name: str) -> str:
    """Return the page of a policy, which is written beside its picture."""
    example = examples()[name]
    policy = hb.make(name, **example)
    entry, home = all_entries()[name], sys.modules[type(policy).__module__]
    call = ", ".join([f'"{name}"', *(f"{key}={value!r}" for key, value in example.items())])
    parts = [f"{name}\n{'=' * len(name)}"]
    if entry.preset_of is None:
        parts.append(f".. module:: {home.__name__}\n   :no-index-entry:")
    parts.append(f".. code-block:: python\n\n   hb.make({call})")
    if entry.preset_of is not None:
        parts += [linked(about(entry)), "It presets parameters of another policy, which is described below."]
    parts += [linked(str(home.__doc__)), table_of_facts(name, kind_of(policy))]
    parts.append(
        f"How it explores\n---------------\n\n.. image:: {name}.png\n   :alt: What {name} plays in each round\n\n"
        f"{CAPTIONS[kind_of(policy)]}"
    )
    parts.append(zoo_table(name, kind_of(policy)))
    parts.append(f"Parameters\n----------\n\n.. autoclass:: {home.__name__}.{type(policy).__name__}\n   :no-index:")
    return "\n\n".join(filter(None, parts)) + "\n"


def about(entry: Entry) -> str:
    """Return what the docstring of a preset says before its examples, or which parameters it fixes."""
    if isinstance(entry.make, partial):
        fixed = zip(entry.make.func._fields, entry.make.args, strict=False)
        return "It has " + " and ".join(f"{field} = {value}" for field, value in fixed) + "."
    return str(inspect.getdoc(entry.make)).partition("Examples\n--------")[0]


def linked(text: str) -> str:
    """Return a docstring with the pages of this site as links."""

    def link(match: re.Match[str]) -> str:
        return f":doc:`/{match[1]}`" if (ROOT / "docs" / f"{match[1]}.md").exists() else f"``docs/{match[1]}.md``"

    return re.sub(r"`{0,2}docs/([\w-]+)\.md`{0,2}", link, text.strip())


def table_of_facts(name: str, kind: str) -> str:
    """Return the table of facts by which readers compare policies."""
    own = facts(kind)[name]
    rows = {
        "Must be told": own.needs, "Memory per arm" if kind == "arms" else "Memory": own.memory,
        "Cost per pull": own.cost, "Proved regret": own.regret, "Reference": own.reference,
    }  # fmt: skip
    lines = "".join(f"   * - {key}\n     - {plain(value)}\n" for key, value in rows.items())
    return f".. list-table::\n   :stub-columns: 1\n   :widths: 20 80\n\n{lines}"


def plain(text: str) -> str:
    """Return a fact in reStructuredText, with the pages of this site as links."""
    return linked(re.sub(r"([*|_`\\])", r"\\\1", text))


@cache
def results(study: str) -> dict[str, list[dict[str, str]]]:
    """Return the results of a study by instance, the lowest regret first."""
    found: dict[str, list[dict[str, str]]] = {}
    with (ROOT / "docs" / "_data" / f"{study}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["instance"], []).append(row)
    return {case: sorted(rows, key=lambda row: float(row["mean"])) for case, rows in found.items()}


def rounded(number: str, digits: int) -> str:
    """Return a number with this many significant digits, and never with an exponent."""
    value = float(f"{float(number):.{digits}g}")
    return f"{value:,.0f}" if value >= 100.0 and value.is_integer() else f"{value:g}"


def zoo_table(name: str, kind: str) -> str:
    """Return the regret of a policy on each instance of the zoo."""
    zoo, lines = ZOOS[kind], ""
    for case, rows in results(zoo.study).items():
        for rank, row in enumerate(rows, 1):
            label, _, setting = row["policy"].partition(" ")
            if label == name:
                regret = f"{rounded(row['mean'], 4)} ± {rounded(row['se'], 2)}"
                played = f"{case}, {setting}" if setting else case
                cells = [played, regret, f"{rank} of {len(rows)}", f"{float(row['failures']):.0%}"]
                lines += "   * - " + "\n     - ".join(cells) + "\n"
    return (
        "Regret on the zoo\n-----------------\n\n"
        "Mean regret at the horizon and its standard error, the rank among all policies, and the share of replications "
        f"that {zoo.failed} (``heavybandits run {zoo.study}``: {zoo.size}).  {zoo.told}\n\n"
        ".. list-table::\n   :header-rows: 1\n\n   * - instance\n     - regret\n     - rank\n     - failed\n" + lines
    )


def write_pages(app: Any, config: Any) -> None:
    """Write all pages before Sphinx looks for them."""
    folder = Path(app.srcdir, "policies")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in all_policies():
        (folder / f"{name}.rst").write_text(page(name), encoding="utf-8")
        draw(name, folder / f"{name}.png")


def link_names(app: Any, name: str, text: list[str]) -> None:
    """Link the names of policies to their pages, which only the site has, and list these."""
    if name in ("policies", "policies-proved"):
        text[0] = ROW.sub(r"\1[`\2`](policies/\2.rst)", text[0])
    if name == "policies":
        text[0] += LISTED


def drop_description(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Drop the module's description from the docstring of a policy whose page begins with it."""
    if what == "class" and app.env.docname.startswith("policies/"):
        about = inspect.cleandoc(str(sys.modules[obj.__module__].__doc__)).splitlines()
        if lines[: len(about)] == about:
            del lines[: len(about)]


def setup(app: Any) -> dict[str, bool]:
    """Register the pages."""
    app.connect("config-inited", write_pages)
    app.connect("source-read", link_names)
    app.connect("autodoc-process-docstring", drop_description, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
