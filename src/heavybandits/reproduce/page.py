"""The report on a folder with studies of the paper: its claims, failures first, each note once, then the studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from markupsafe import Markup

from ..report.folder import Reported, stored_sections
from ..report.opening import Opening
from ..report.page import templates, write_page
from ..report.section import Section
from ..studies.places import find_stores
from ..studies.store import Store
from .differences import DIFFERENCES
from .further import load_further
from .headline import by_chance, closing, headline
from .paper import PAPER, PAPER_EXPERIMENTS
from .verdicts import ClaimVerdict, Outcome, verdicts

LEAD = Markup(
    'We replayed the experiments of <a href="{link}">{title}</a> ({authors}, {year}) and checked each of its claims '
    "against a rule written beforehand."
)
HEADINGS: dict[Outcome, str] = {
    "does not hold": "Claims that fail", "undecided": "Undecided", "holds": "Claims that hold"
}  # fmt: skip


class ClaimEntry(NamedTuple):
    """A claim on the page."""

    verdict: ClaimVerdict
    notes: list[str]  # that no other claim has
    references: list[str]  # anchors of differences and of notes that several claims share


def claims_opening(sections: Sequence[Section], verdicts: Sequence[ClaimVerdict]) -> Opening:
    """Return what a page with the paper's studies says before them."""
    shared = shared_notes(verdicts)
    body = templates("heavybandits.reproduce").get_template("claims.html.j2").render(
        groups={outcome: entries for outcome in HEADINGS if (entries := claim_entries(verdicts, outcome, shared))},
        counts=Counter(verdict.outcome for verdict in verdicts), headings=HEADINGS, notes=shared,
        places=dict.fromkeys(verdict.claim.section for verdict in verdicts), differences=DIFFERENCES,
        anchors={section.study.name: section.anchor for section in sections}, by_chance=by_chance(len(verdicts)),
    )  # fmt: skip
    script = (Path(__file__).parent / "templates" / "claims.js").read_text(encoding="utf-8")
    return Opening(
        *headline([section.study for section in sections], verdicts), kind="Reproduction", title="Reproduction",
        lead=LEAD.format(**PAPER._asdict()), body=Markup(body), script=Markup(script),
        contents=(("claims", "The paper's claims"), ("differences", "Text and code")),
    )  # fmt: skip


def shared_notes(verdicts: Sequence[ClaimVerdict]) -> dict[str, str]:
    """Return the notes that several claims share, with anchors."""
    uses = Counter(note for verdict in verdicts for note in verdict.notes)
    shared = (note for note, times in uses.items() if times > 1)
    return {note: f"note-{number}" for number, note in enumerate(shared, start=1)}


def claim_entries(verdicts: Sequence[ClaimVerdict], outcome: Outcome, shared: dict[str, str]) -> list[ClaimEntry]:
    """Return the claims with this verdict, as in the paper; a note that several claims share is only linked."""
    return [
        ClaimEntry(
            verdict, [note for note in verdict.notes if note not in shared],
            [*(f"difference-{DIFFERENCES.index(difference) + 1}" for difference in verdict.differences),
             *(shared[note] for note in verdict.notes if note in shared)],
        )
        for verdict in verdicts if verdict.outcome == outcome
    ]  # fmt: skip


def report_paper(
    folder: Path, store: str | None = None, drawn: Mapping[str, Section] = MappingProxyType({})
) -> Reported:
    """Write the report on a folder: its claims first, then its studies, then others; see :func:`.report_folder`."""
    order = {name: number for number, name in enumerate(PAPER_EXPERIMENTS)}
    sections = sorted(
        stored_sections(folder, store, drawn), key=lambda section: order.get(section.study.name, len(order))
    )
    studies = [section.study for section in sections]
    decided = verdicts({study.name: study for study in studies}, load_further(store or folder))
    return Reported(studies, write_page(folder, sections, claims_opening(sections, decided)), closing(decided))


def holds_paper(folder: str | Path) -> bool:
    """Return whether a folder, or an address, holds studies of the paper."""
    return any(Store(location).record.name in PAPER_EXPERIMENTS for location in find_stores(folder))
