"""Rerun the commands behind the numbers in the documents, and compare: ``python docs/claims.py [COMMAND ...]``.

The claims of a command stand between its name and the next command or the end of the section.  They are numbers of the
form *mean ± standard error* and, if the command is a script, rows of tables and ratios in bold; if it measures times,
also times, in sentences and in columns such as "ns, K = 10".
Without arguments all commands are run, which takes hours; studies resume.  The outcome is written to docs/claims.md,
where the rows of commands that were not run stay as they are, except that they are marked if their code has changed.
``--mark`` runs nothing and marks rows.  ``--unchanged [COMMAND ...]`` runs nothing either, and takes the code of today
for the code that was run: use it after a change that alters no result, as golden values show.  Measured times are left
as they are.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import platform
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from claim_kinds import FACTOR, PAIRS, Claim, Results, claims_in, value
from code_digest import digest_of

import heavybandits as hb

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "claims.md"
# docs/policies.py writes its page from a file of measured times, and prints nothing
SCRIPT = r"(?:benchmarks/\w+|docs/(?!policies)\w+|quickstart)\.py"
COMMAND = re.compile(rf"`(?:\.venv/bin/)?(heavybandits run [\w.-]+|python {SCRIPT}(?: [\w.-]+)*)`")
MEASURING = tuple(f"benchmarks/{name}.py" for name in ("items", "policies", "service", "speed", "structured"))
HEAD = f"""\
# Claims

Numbers in these pages name the command that makes them. `python docs/claims.py` reruns these commands and looks up each
*mean ± standard error* among the results. If the command is a script, it also looks up each row of a table, and the
ratios in bold, in what the script prints. *Same* counts what is found to the last digit; *near* numbers with a result
within two standard errors, as after a change that alters choices a little; *gone* all others, such as those of an
earlier version. Measured times and their ratios differ from run to run: they are near if all numbers of a row are
within a factor of {FACTOR:.0f} of those measured now. A row is as old as its date; the digest shows whether the numbers
have changed since.

*Code* is a digest of what the command ran: the script or the study, and every function, class and constant that it
reaches in policies, noises, the engine, agents and the service, whatever their names and wherever they stand. Comments,
docstrings and annotations do not count, nor does the code that stores and draws results or, unless times are measured,
compiles. A row is *stale* if its code has changed since; `python docs/claims.py` with its command checks it again.

| document | command | claims | same | near | gone | checked | machine | digest | code |
|---|---|---|---|---|---|---|---|---|---|
"""
STALE = " (stale)"


class Claims(NamedTuple):
    """What a document claims for a command."""

    document: str
    command: str
    found: list[Claim]

    @property
    def digest(self) -> str:
        return f"{zlib.crc32(repr(self.found).encode()):08x}"


def claimed(command: str, text: str) -> list[Claim]:
    """Return what a document claims for a command, given the text after its name."""
    program, script, *_ = command.split()
    return claims_in(text, printed=program == "python", measured=script in MEASURING)


def passages(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command that a document names, and the text up to the next one or to the end of its section."""
    named = list(COMMAND.finditer(text))
    for match, following in zip(named, [*named[1:], None], strict=False):
        level = len((re.findall(r"^(#+) ", text[: match.start()], re.MULTILINE) or ["#"])[-1])
        end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(text, match.end())
        stops = [found.start() for found in (following, end) if found]
        yield match[1], text[match.end() : min(stops, default=None)]


def collected() -> Iterator[Claims]:
    """Yield what README, the paper and the pages claim for each command."""
    pages = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]
    for file in [ROOT / "README.md", ROOT / "paper.md", *pages]:
        found: dict[str, list[Claim]] = {}
        for command, text in passages(file.read_text(encoding="utf-8")):
            found.setdefault(command, []).extend(claimed(command, text))
        for command, claims in found.items():
            if claims and file != PAGE:
                yield Claims(str(file.relative_to(ROOT)), command, claims)


def results(command: str, folder: Path) -> Results:
    """Run a command."""
    program, name, *arguments = command.split()
    if program == "heavybandits":
        study = hb.run_study(arguments[0], out=folder / arguments[0])
        regrets = [result.regret for result in study.results.values()]  # at all checkpoints
        means = [regret.mean("replication") for regret in regrets]
        errors = [regret.std("replication", ddof=1) / regret.sizes["replication"] ** 0.5 for regret in regrets]
        flat = (zip(*(part.to_numpy().ravel().tolist() for part in both), strict=True)
                for both in zip(means, errors, strict=True))  # fmt: skip
        return Results([pair for pairs in flat for pair in pairs], "")
    for study in arguments if name.startswith("docs/") else ():
        hb.run_study(study, out=folder / study)
    script = ROOT / name
    if name == "quickstart.py":
        script = folder / name
        script.write_text(quickstart())
    run = [sys.executable, "-W", "ignore", script, *arguments]
    printed = subprocess.run(run, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    (folder / f"{'-'.join([script.stem, *arguments])}.txt").write_text(printed)
    rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines() if line.strip()}
    if "mean" in rows and "se" in rows:
        return Results(list(zip(map(float, rows["mean"]), map(float, rows["se"]), strict=True)), printed)
    return Results([(value(mean), value(error)) for mean, error in PAIRS.findall(printed)], printed)


def quickstart() -> str:
    """Return the first program of README."""
    return str(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0])


@functools.cache
def code(command: str) -> str:
    """Return a digest of the code behind a command."""
    source = quickstart() if command.endswith("quickstart.py") else ""
    return digest_of(command, ROOT, measured=command.split()[1] in MEASURING, source=source)


def stamped(text: str, command: str) -> str:
    """Return a row with the code of today as the code that was run; measured times are left to be measured again."""
    return (
        text
        if command.split()[1] in MEASURING or text.endswith(" | -")
        else text.rpartition(" | ")[0] + f" | {code(command)}"
    )


def marked(text: str, command: str) -> str:
    """Return a row that says whether its code has changed since."""
    text = text.removesuffix(STALE)
    return text if text.endswith(("| -", f"| {code(command)}")) else text + STALE


def row(claims: Claims, found: Results | None) -> str:
    """Return the row of the page that compares claims and results; None if the command was not run."""
    first = [claims.document, f"`{claims.command}`", str(len(claims.found))]
    if found is None:
        return " | ".join([*first, "-", "-", "-", "not yet", "-", claims.digest, "-"])
    same = sum(claim.is_in(found) for claim in claims.found)
    near = sum(claim.is_near(found) and not claim.is_in(found) for claim in claims.found)
    for claim in claims.found:
        if not claim.is_in(found) and not claim.is_near(found):
            print("gone:", *claim, flush=True)
    counts = map(str, (same, near, len(claims.found) - same - near))
    today = datetime.datetime.now(datetime.UTC).date()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return " | ".join([*first, *counts, str(today), machine, claims.digest, code(claims.command)])


def known() -> dict[tuple[str, str], str]:
    """Return the rows of the page by document and command."""
    rows = re.findall(r"^\| (([\w./-]+) \| `([^`]+)` \| .*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {(document, command): text for text, document, command in rows}


def main() -> None:
    """Run all commands, or those given, or none with an option, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="such as 'heavybandits run auto'")
    option = parser.add_mutually_exclusive_group()
    option.add_argument("--mark", action="store_true", help="run nothing, and mark rows whose code has changed")
    option.add_argument("--unchanged", action="store_true", help="run nothing, and take the code of today as that run")
    given = parser.parse_args()
    folder = Path(os.environ.get("CLAIMS_FOLDER") or tempfile.mkdtemp(prefix="claims-"))
    everything = list(collected())
    if unknown := set(given.commands) - {claims.command for claims in everything}:
        parser.error(f"no document names {', '.join(sorted(unknown))}")
    rows, found = known(), {}
    for claims in everything:
        key = claims.document, claims.command
        rows.setdefault(key, row(claims, None))
        if given.mark or (given.commands and claims.command not in given.commands):
            continue
        if given.unchanged:
            rows[key] = stamped(rows[key], claims.command)
        else:
            found[claims.command] = found.get(claims.command) or results(claims.command, folder)
            rows[key] = row(claims, found[claims.command])
            print(rows[key], flush=True)
    named = sorted({(claims.document, claims.command) for claims in everything})
    PAGE.write_text(HEAD + "".join(f"| {marked(rows[key], key[1])} |\n" for key in named), encoding="utf-8")


if __name__ == "__main__":
    main()
