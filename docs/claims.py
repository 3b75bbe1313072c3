"""Rerun the commands behind the numbers in the documents, and compare: ``python docs/claims.py [COMMAND ...]``.

The claims of a command are the numbers of the form *mean ± standard error* between its name and the next heading, or,
if it is a script that reads a study, the rows of tables there.
Without arguments all commands are run, which takes hours; studies resume.  The outcome is written to docs/claims.md,
where the rows of commands that were not run stay as they are.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import heavybandits as hb

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "claims.md"
SCRIPT = r"(?:(?:benchmarks|docs)/\w+|quickstart)\.py"
COMMAND = re.compile(rf"`(?:\.venv/bin/)?(heavybandits run [\w.-]+|python {SCRIPT}(?: [\w.-]+)?)`")
NUMBERS = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s+±\s+(\d[\d,]*(?:\.\d+)?)")
ROWS = re.compile(r"^ *(\|.*\d.*\|)$", re.MULTILINE)
HEAD = """\
# Claims

Numbers in these pages name the command that makes them. `python docs/claims.py` reruns these commands and looks up each
*mean ± standard error* among the results, and each row of a table that a script prints. *Same* counts what is found to
the last digit; *near* numbers with a result within two standard errors, as after a change that alters choices a little;
*gone* all others, such as those of an earlier version. A row is as old as its date; the digest shows whether the
numbers have changed since.

| document | command | numbers | same | near | gone | checked | machine | digest |
|---|---|---|---|---|---|---|---|---|
"""


class Pair(NamedTuple):
    """A mean and its standard error, as a document prints them."""

    mean: str
    error: str

    @property
    def values(self) -> tuple[float, float]:
        return float(self.mean.replace(",", "")), float(self.error.replace(",", ""))

    def is_of(self, mean: float, error: float) -> bool:
        """Return whether a result has these digits."""
        return all(
            round(value, len(text.partition(".")[2])) == shown
            for text, shown, value in zip(self, self.values, (mean, error), strict=True)
        )

    def is_near(self, mean: float, error: float) -> bool:
        """Return whether a result is within two standard errors."""
        shown, own = self.values
        return abs(shown - mean) <= 2.0 * max(own, error) and own <= 2.0 * error and error <= 2.0 * own


class Row(NamedTuple):
    """A row of a table, as a document and a script print it."""

    text: str

    def is_of(self, text: str) -> bool:
        """Return whether a script printed this row."""
        return self.text == text

    def is_near(self, text: str) -> bool:
        """Return False: rows have no standard errors."""
        return False


Claim = Pair | Row


class Claims(NamedTuple):
    """The numbers that a document claims for a command."""

    document: str
    command: str
    found: list[Claim]

    @property
    def digest(self) -> str:
        return f"{zlib.crc32(repr(self.found).encode()):08x}"


def claimed(command: str, text: str) -> list[Claim]:
    """Return what a document claims for a command, given the text after its name."""
    if re.fullmatch(r"python \S+ \S+", command):
        return [Row(row.replace("**", "")) for row in ROWS.findall(text)]
    return [Pair(*numbers) for numbers in NUMBERS.findall(text)]


def collected() -> Iterator[Claims]:
    """Yield what README, the paper and the pages claim for each command."""
    for file in [ROOT / "README.md", ROOT / "paper.md", *sorted((ROOT / "docs").glob("*.md"))]:
        found: dict[str, list[Claim]] = {}
        for section in re.split(r"\n(?=#)", file.read_text(encoding="utf-8")):
            named = list(COMMAND.finditer(section))
            for match, following in zip(named, [*named[1:], None], strict=False):
                text = section[match.start() : following.start() if following else None]
                found.setdefault(match[1], []).extend(claimed(match[1], text))
        for command, claims in found.items():
            if claims and file != PAGE:
                yield Claims(str(file.relative_to(ROOT)), command, claims)


def results(command: str, folder: Path) -> list[tuple[Any, ...]]:
    """Return all means and standard errors that a command makes, or all rows that it prints."""
    if command.startswith("heavybandits run "):
        name = command.split()[-1]
        study = hb.run_study(name, out=folder / name)
        regrets = [result.regret for result in study.results.values()]  # at all checkpoints
        means = [regret.mean("replication") for regret in regrets]
        errors = [regret.std("replication", ddof=1) / regret.sizes["replication"] ** 0.5 for regret in regrets]
        return [pair for both in zip(means, errors, strict=True)
                for pair in zip(*(part.to_numpy().ravel().tolist() for part in both), strict=True)]  # fmt: skip
    name, *studies = command.split()[1:]
    for study in studies:
        hb.run_study(study, out=folder / study)
    script = ROOT / name
    if command == "python quickstart.py":
        script = folder / "quickstart.py"
        script.write_text(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0])
    run = [sys.executable, script, *studies]
    printed = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout
    if studies:
        return [(text,) for text in ROWS.findall(printed)]
    rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines() if line.strip()}
    if "mean" in rows and "se" in rows:
        return [(float(mean), float(error)) for mean, error in zip(rows["mean"], rows["se"], strict=True)]
    return [Pair(*numbers).values for numbers in NUMBERS.findall(printed)]


def row(claims: Claims, given: list[tuple[Any, ...]]) -> str:
    """Return the row of the page that compares claims and results; ``given`` is empty if the command was not run."""
    same = [claim for claim in claims.found if any(claim.is_of(*result) for result in given)]
    near = [claim for claim in claims.found if claim not in same and any(claim.is_near(*result) for result in given)]
    counts = len(claims.found), len(same), len(near), len(claims.found) - len(same) - len(near)
    if not given:
        blanks = ["-", "-", "-", "not yet", "-", claims.digest]
        return " | ".join([claims.document, f"`{claims.command}`", str(len(claims.found)), *blanks])
    today = datetime.datetime.now(datetime.UTC).date()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return " | ".join([claims.document, f"`{claims.command}`", *map(str, counts), str(today), machine, claims.digest])


def known() -> dict[tuple[str, str], str]:
    """Return the rows of the page by document and command."""
    rows = re.findall(r"^\| (([\w./-]+) \| `([^`]+)` \| .*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {(document, command): text for text, document, command in rows}


def main(chosen: list[str]) -> None:
    """Run all commands, or those given, and write the page."""
    folder = Path(os.environ.get("CLAIMS_FOLDER") or tempfile.mkdtemp(prefix="claims-"))
    rows, given = known() if PAGE.exists() else {}, {}
    for claims in collected():
        if not chosen or claims.command in chosen:
            given[claims.command] = given.get(claims.command) or results(claims.command, folder)
            rows[claims.document, claims.command] = row(claims, given[claims.command])
            print(rows[claims.document, claims.command], flush=True)
        rows.setdefault((claims.document, claims.command), row(claims, []))
    claimed = {(claims.document, claims.command) for claims in collected()}
    kept = "".join(f"| {text} |\n" for key, text in sorted(rows.items()) if key in claimed)
    PAGE.write_text(HEAD + kept, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
