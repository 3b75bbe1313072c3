"""The page of claims stands alone, holds everything, and says first what matters."""

import csv
import math
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reports import result, study, verdict, write_claims

from heavybandits.report.section import study_section
from heavybandits.reproduce import DIFFERENCES
from heavybandits.reproduce.headline import best_rival, headline
from heavybandits.reproduce.page import claim_entries, claims_opening, shared_notes
from heavybandits.reproduce.paper import PAPER


class Reader(HTMLParser):
    """A parser that checks that elements nest, and collects references and text."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.anchors: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.references += [value or "" for name, value in attributes if name in {"src", "href"}]
        self.anchors += [value or "" for name, value in attributes if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


NASTY = "<script>alert('x')</script> & 5% of_$x^{$ \x1b[31m"


@pytest.mark.slow
def test_page_stands_alone_and_holds_everything(tmp_path: Path) -> None:
    made = study(
        {NASTY: result([0.1, 0.2], [0.3, 0.4], labels=(NASTY, "b"))},
        name="a & <b>", title=f"Title {NASTY}", description=f"About {NASTY}",
        spec={"note": f"Spec {NASTY}"},
        provenance={"version": "1.2.3", "digest": "abc", "seed": 7, "complete": False, "missing replications": 3,
                    "sessions": [{"started": "today", "seconds": 200.0, "machine": f"Box {NASTY}"}]},
    )  # fmt: skip
    timed = study(
        {"x": result([0.01, 0.2])}, name="timed", provenance=made.provenance, spec={"report": {"figure": "runtime"}}
    )
    verdicts = [verdict(f"Claim {i} {NASTY}", outcome, notes=(f"Note {i}",), study="timed")
                for i, outcome in enumerate(["holds", "does not hold", "undecided", "holds"])]  # fmt: skip
    page = write_claims([made, timed], tmp_path / "new" / "folder", verdicts)
    html = page.read_text()
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert len(set(reader.anchors)) == len(reader.anchors)
    assert [reference for reference in reader.references if reference[0] != "#"] == [PAPER.link]
    assert {reference[1:] for reference in reader.references if reference[0] == "#"} <= set(reader.anchors)
    assert "<script>alert" not in html
    text = "".join(reader.words).replace("\N{NO-BREAK SPACE}", " ")
    for i in range(4):
        assert f"Claim {i} {NASTY}" in text
        assert f"Note {i}" in text
    for difference in DIFFERENCES:
        assert {difference.topic, difference.text, difference.code, difference.here} <= set(reader.words)
    for part in (f"Title {NASTY}", f"About {NASTY}", PAPER.title, f"Box {NASTY}",
                 "1.2.3", "abc", "3 replications are missing", "in 3 minutes of"):  # fmt: skip
        assert part in text
    assert {path.name for path in page.parent.glob("*/*")} == {
        *(f"{name}.{kind}" for name in ("a-b", "timed") for kind in ("png", "svg", "pdf", "csv", "tex")),
        "timed-times.csv", "timed-times.tex",
    }  # fmt: skip
    with (page.parent / "tables" / "a-b.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [NASTY, "b"]
    assert [float(row["mean"]) for row in rows] == pytest.approx([15, 35])


def test_what_fails_comes_first_and_no_note_comes_twice(tmp_path: Path) -> None:
    both = "The code does otherwise."
    verdicts = [
        verdict("One", notes=("Only here.", both), differences=DIFFERENCES[1:2]),
        verdict("Two", "does not hold", notes=(both,)),
    ]
    shared = shared_notes(verdicts)
    assert shared == {both: "note-1"}
    [one], [two] = (claim_entries(verdicts, outcome, shared) for outcome in ("holds", "does not hold"))
    assert (one.verdict.claim.words, two.verdict.claim.words) == ("One", "Two")
    assert (one.notes, one.references) == (["Only here."], ["difference-2", "note-1"])
    assert (two.notes, two.references) == ([], ["note-1"])
    body = claims_opening([study_section(tmp_path, study({"x": result([0.1, 0.2])}))], verdicts).body
    assert body.index("Claims that fail") < body.index("Two") < body.index("Claims that hold") < body.index("One")
    assert body.count(both) == 1


@pytest.mark.parametrize(
    ("outcomes", "title"),
    [
        ("hhh", "Every claim of the paper holds."),
        ("hhu", "2 of 3 claims hold; the rest cannot be decided yet."),
        ("huuu", "1 of 4 claims holds; the rest cannot be decided yet."),
        ("hhf", "Most of the paper holds; 1 claim does not."),
        ("hhfuuu", "Most claims that can be decided hold; 1 does not."),
        ("hffu", "Of 3 claims that can be decided, 2 do not hold."),
        ("hf", "Of 2 claims that can be decided, 1 does not hold."),
        ("uu", "Too few replications to judge the paper."),
    ],
)
def test_headline_follows_the_verdicts(outcomes: str, title: str) -> None:
    words = {"h": "holds", "f": "does not hold", "u": "undecided"}
    verdicts = [verdict(f"Claim {i}", words[letter]) for i, letter in enumerate(outcomes)]
    found, cards = headline([study({"x": result([0.1], [0.2])})], verdicts)
    assert found == title
    assert [card.number for card in cards][:2] == [f"{outcomes.count('h')} of {len(outcomes)}",
                                                   str(outcomes.count("f"))]  # fmt: skip


def test_headline_quotes_the_clearest_claim_and_finds_the_rival() -> None:
    verdicts = [verdict("Vague", comparisons=[("", 5.0, -2.0)]),
                verdict("Half", comparisons=[("", 99.0, -99.0), ("", 5.0, -2.0)]), verdict("Clear"),
                verdict("Wrong", "does not hold")]  # fmt: skip
    slopes = {"x": result([0.4], [0.2], [0.1], labels=("UCB", "SGD-UCB", "mine")),
              "y": result([0.1], [0.3], [0.2], labels=("UCB", "SGD-UCB", "mine"))}  # fmt: skip
    title, cards = headline([study(slopes)], verdicts)
    rival = best_rival([study(slopes)])
    assert rival is not None
    assert (rival.name, rival.lower, rival.instances) == ("mine", 1, 2)
    assert rival.ratio == pytest.approx(math.sqrt(0.1 * 0.2 / (0.4 * 0.1)))
    assert title.endswith(" mine, which is not in the paper, beats its best policy.")
    assert "“Clear”" in cards[0].text
    assert "“Wrong”" in cards[1].text
    assert cards[2].number.startswith("0.71")
    assert best_rival([study({"x": result([0.1], [0.2], labels=("UCB", "mine"))})]) is None


def test_numbers_do_not_break_and_undecided_claims_say_what_to_do(tmp_path: Path) -> None:
    compared = [("regret, Env1: UCB 58 ± 6, KL-UCB 14 ± 3", 44.0, -7.0)]
    verdicts = [verdict("Sure", where="Section 3.1, Table 1", comparisons=compared), verdict("Open", "undecided")]
    made = study({"x": result([0.1, 0.2]), "y": result([0.1, 0.2, 0.3])})
    page = write_claims([made], tmp_path, verdicts).read_text()
    space = "\N{NO-BREAK SPACE}"
    name = f'<span class="whole">KL-UCB{space}14{space}±{space}3</span>'
    assert f"regret, Env1: UCB{space}58{space}±{space}6, {name}</span>" in page
    assert f"<small>Section{space}3.1, Table{space}1</small>" in page
    assert "heavybandits reproduce --decide</code>" in page
    assert "2 to 3 replications" in page
    assert "--decide" not in write_claims([made], tmp_path, verdicts[:1]).read_text()
    assert "so at most 0.1 of 2 are expected to be wrong." in page
