"""The claims of a paper as the page lists them: failures first, each note once, with sections to filter by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

ORDER = ("does not hold", "undecided", "holds")
HEADINGS = {"does not hold": "Claims that fail", "undecided": "Undecided", "holds": "Claims that hold"}


class Verdict(Protocol):
    """What the page says about a claim."""

    @property
    def claim(self) -> str: ...
    @property
    def where(self) -> str: ...
    @property
    def study(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def numbers(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def note(self) -> str: ...


class Difference(Protocol):
    """Where the text of a paper and its published code differ."""

    @property
    def topic(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def here(self) -> str: ...


class Row(NamedTuple):
    """A claim on the page."""

    verdict: Verdict
    section: str
    brief: str  # the numbers that matter most
    note: str  # without the sentences that other claims share
    references: list[str]  # anchors of differences and of shared notes


class Group(NamedTuple):
    """The claims with one verdict."""

    verdict: str
    heading: str
    rows: list[Row]


class Claims(NamedTuple):
    """Everything the page lists."""

    groups: list[Group]
    notes: dict[str, str]  # shared by several claims, by anchor
    sections: list[str]
    counts: dict[str, int]


def listed(verdicts: Sequence[Verdict], differences: Sequence[Difference] = ()) -> Claims:
    """Order the claims for the page: by verdict, and within it as in the paper.

    A note that repeats a difference, or that several claims share, is given once and linked from each claim.
    """
    known = {difference.code: f"difference-{number}" for number, difference in enumerate(differences, start=1)}
    own: list[tuple[str, list[str]]] = []
    for verdict in verdicts:
        note = verdict.note
        references: list[str] = []
        for text, anchor in known.items():
            if text and text in note:
                note, references = note.replace(text, " "), [*references, anchor]
        own.append((" ".join(note.split()), references))
    uses = Counter(sentence for note, _ in own for sentence in sentences(note))
    shared = {sentence: f"note-{number}" for number, sentence in
              enumerate((sentence for sentence, times in uses.items() if times > 1), start=1)}  # fmt: skip
    rows = []
    for verdict, (note, references) in zip(verdicts, own, strict=True):
        parts = sentences(note)
        rows.append(Row(
            verdict, section(verdict.where), in_brief(verdict.numbers),
            " ".join(part for part in parts if part not in shared),
            references + [shared[part] for part in parts if part in shared],
        ))  # fmt: skip
    groups = [Group(outcome, HEADINGS[outcome], [row for row in rows if row.verdict.verdict == outcome])
              for outcome in ORDER]  # fmt: skip
    counts = Counter(verdict.verdict for verdict in verdicts)
    return Claims([group for group in groups if group.rows], {anchor: text for text, anchor in shared.items()},
                  list(dict.fromkeys(row.section for row in rows)),
                  {outcome: counts[outcome] for outcome in ORDER})  # fmt: skip


def sentences(text: str) -> list[str]:
    """Split a text into its sentences.

    Examples
    --------
    >>> sentences("In Env1 it is 0.5 or so. Read as: less.")
    ['In Env1 it is 0.5 or so.', 'Read as: less.']
    """
    return [part for part in re.split(r"(?<=\.)\s+(?=[A-Z])", text.strip()) if part]


def section(where: str) -> str:
    """Return the first section, appendix, figure or table in which a claim appears.

    Examples
    --------
    >>> section("Section 3.1, Figure 1"), section("Appendix E, Figure 5"), section("Figure 4"), section("Preface")
    ('Section 3.1', 'Appendix E', 'Figure 4', 'Preface')
    """
    found = re.search(r"(Section|Appendix|Figure|Table) [\w.]*\w", where)
    return found[0] if found else where


def in_brief(numbers: str) -> str:
    """Return the comparison that matters most.

    Examples
    --------
    >>> in_brief("0 of 3 comparisons support it, 3 contradict it. The weakest: UCB 58 ± 6, KL-UCB 14 ± 3; margin -4.")
    'UCB 58 ± 6, KL-UCB 14 ± 3'
    """
    weakest = numbers.partition("The weakest: ")[2] or numbers
    return weakest.partition("; margin")[0].rstrip(".")
