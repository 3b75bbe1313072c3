"""The studies that play all policies of a kind: their policies, as registered, and the tables of their regrets.

Run ``heavybandits run zoo``, ``heavybandits run linear-zoo`` and ``heavybandits run lipschitz-zoo``, then ``python
docs/zoo.py zoo linear-zoo lipschitz-zoo`` with the folders that they were run into.  Each study has a table in
``docs/_data``, and one study alone may be written again.  ``python docs/generate.py --only NAME`` plays one policy.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import heavybandits as hb
from heavybandits.algorithms.registry import all_entries
from heavybandits.report.tables import summary_table
from heavybandits.results.study_result import StudyResult

ROOT = Path(__file__).parent.parent
COLUMNS = ["instance", "policy", "mean", "se", "failures"]
STUDIES = {"arms": "zoo", "linear": "linear-zoo", "lipschitz": "lipschitz-zoo"}
SECTION = re.compile(r"^\[policy\.([\w-]+)\]\n(?:(?!\[).+\n)*\n?", re.MULTILINE)


def file_of(study: str) -> Path:
    """Return the file of a study."""
    return ROOT / "src" / "heavybandits" / "studies" / "files" / f"{study}.toml"


def with_policies(study: str, kind: str) -> str:
    """Return the text of a study with the policies of a kind, in the order in which it has them; new ones come last."""
    text = file_of(study).read_text(encoding="utf-8")
    old, last = tomllib.loads(text)["policy"], [*SECTION.finditer(text)][-1].end()
    new = {name: {"kind": name, **entry.zoo} for name, entry in all_entries().items() if entry.kind == kind}
    added = "".join(section(name, table) for name, table in new.items() if name not in old)

    def rewritten(match: re.Match[str]) -> str:
        name = match[1]
        return match[0] if old[name] == new.get(name) else section(name, new[name]) if name in new else ""

    return SECTION.sub(rewritten, text[:last]) + added + text[last:]


def section(name: str, table: Mapping[str, Any]) -> str:
    """Return a policy's section of a study.

    >>> section("ucb", {"kind": "ucb", "c": [0.5, {"instance": "scale"}]})
    '[policy.ucb]\\nkind = "ucb"\\nc = [0.5, { instance = "scale" }]\\n\\n'
    """
    return f"[policy.{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items()) + "\n"


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def play(name: str) -> None:
    """Play one policy on all instances of its study, and put its regrets into the table."""
    study = STUDIES[all_entries()[name].kind]
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, f"{study}.toml")
        text = file_of(study).read_text(encoding="utf-8")
        alone.write_text(SECTION.sub(lambda match: match[0] if match[1] == name else "", text), encoding="utf-8")
        write(hb.run_study(alone, out=Path(folder, "results")))


def write(study: StudyResult) -> None:
    """Put the regrets of a study into its table, in the order of its file; those of other policies stay as they are."""
    path, text = table_of(study.name), summary_table(study)[COLUMNS].to_csv(index=False, float_format="%.5g")
    old, played = pd.read_csv(path, dtype=str), pd.read_csv(io.StringIO(text), dtype=str)
    both = pd.concat([old[~old["policy"].isin(played["policy"])], played], ignore_index=True)
    spec = tomllib.loads(file_of(study.name).read_text(encoding="utf-8"))
    cases, families = list(spec["instance"]), list(spec["policy"])
    places = [(cases.index(case), families.index(label.partition(" ")[0]))
              for case, label in zip(both["instance"], both["policy"], strict=True)]  # fmt: skip
    both.iloc[sorted(range(len(both)), key=places.__getitem__)].to_csv(path, index=False)


def table_of(study: str) -> Path:
    """Return the file with the regrets of a study."""
    return ROOT / "docs" / "_data" / f"{study}.csv"


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        write(hb.load_study(folder))
