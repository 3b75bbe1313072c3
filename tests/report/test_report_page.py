"""The page stands alone, holds everything, and says first what matters."""

import csv
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from reports import Verdict, grid, result, study

from heavybandits.report import write_report
from heavybandits.report.claims import listed
from heavybandits.report.headline import best_rival, headline
from heavybandits.reproduce.paper import PAPER


class Difference(NamedTuple):
    topic: str
    text: str
    code: str
    here: str


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
    verdicts = [Verdict(f"Claim {i} {NASTY}", verdict=verdict, note=f"Note {i}", study="timed")
                for i, verdict in enumerate(["holds", "does not hold", "undecided", "holds"])]  # fmt: skip
    differences = [Difference(f"Topic {NASTY}", "As written", "As coded", "As run")]
    page = write_report([made, timed], tmp_path / "new" / "folder", verdicts, differences, PAPER)
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
    for part in (f"Topic {NASTY}", "As written", "As coded", "As run", f"Title {NASTY}", f"About {NASTY}", PAPER.title,
                 f"Box {NASTY}", "1.2.3", "abc", "3 replications are missing", "in 3 minutes of"):  # fmt: skip
        assert part in text
    assert {path.name for path in page.parent.glob("*/*")} == {
        "a-b.png", "a-b.svg", "a-b.csv", "a-b.tex", "timed.png", "timed.svg", "timed.csv", "timed.tex",
        "timed-times.csv", "timed-times.tex",
    }  # fmt: skip
    with (page.parent / "tables" / "a-b.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [NASTY, "b"]
    assert [float(row["mean"]) for row in rows] == pytest.approx([15, 35])


def test_what_fails_comes_first_and_no_note_comes_twice() -> None:
    shared = "The code does otherwise."
    verdicts = [
        Verdict("One", note=f"Only here. {shared} As coded"),
        Verdict("Two", verdict="does not hold", note=shared),
    ]
    claims = listed(verdicts, [Difference("Topic", "As written", "As coded", "As run")])
    assert [[row.verdict.claim for row in group.rows] for group in claims.groups] == [["Two"], ["One"]]
    assert claims.notes == {"note-1": shared}
    (two,), (one,) = (group.rows for group in claims.groups)
    assert (one.note, one.references) == ("Only here.", ["difference-1", "note-1"])
    assert (two.note, two.references) == ("", ["note-1"])
    assert claims.counts == {"does not hold": 1, "undecided": 0, "holds": 1}


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
        ("uu", "No claim of the paper can be decided yet."),
    ],
)
def test_headline_follows_the_verdicts(outcomes: str, title: str) -> None:
    words = {"h": "holds", "f": "does not hold", "u": "undecided"}
    verdicts = [Verdict(f"Claim {i}", verdict=words[letter]) for i, letter in enumerate(outcomes)]
    head = headline([study({"x": result([0.1], [0.2])})], verdicts, None)
    assert head.title == title
    assert [card.number for card in head.cards][:2] == [f"{outcomes.count('h')} of {len(outcomes)}",
                                                        str(outcomes.count("f"))]  # fmt: skip


def test_headline_quotes_the_clearest_claim_and_finds_the_rival() -> None:
    verdicts = [Verdict("Vague", numbers="margin 3 ± 2"), Verdict("Clear", numbers="a 1; margin 30 ± 2."),
                Verdict("Wrong", verdict="does not hold", numbers="margin -9 ± 2")]  # fmt: skip
    slopes = {"x": result([0.4], [0.2], [0.1], labels=("UCB", "SGD-UCB", "mine")),
              "y": result([0.1], [0.3], [0.2], labels=("UCB", "SGD-UCB", "mine"))}  # fmt: skip
    head = headline([study(slopes)], verdicts, PAPER)
    rival = best_rival([study(slopes)], PAPER.policies)
    assert rival is not None
    assert (rival.name, rival.lower, rival.instances) == ("mine", 1, 2)
    assert rival.ratio == pytest.approx(math.sqrt(0.1 * 0.2 / (0.4 * 0.1)))
    assert head.title.endswith(" mine, which is not in the paper, beats its best policy.")
    assert "“Clear”" in head.cards[0].text
    assert "“Wrong”" in head.cards[1].text
    assert head.cards[2].number.startswith("0.71")
    assert best_rival([study({"x": result([0.1], [0.2], labels=("UCB", "mine"))})], PAPER.policies) is None


def test_a_study_without_claims_is_headed_by_who_wins() -> None:
    better, worse = result([0.4, 0.4], [0.2, 0.2]), result([0.1, 0.1], [0.2, 0.2])
    head = headline([study({"x": better, "y": worse, "z": better}, title="Mine")], [], None)
    assert head.title == "Mine"
    assert [card.number[:6] for card in head.cards] == ["2 of 3", "0.79 \N{MULTIPLICATION SIGN}", "6 of 6"]
    assert [card.kind for card in head.cards] == ["good", "news", "bad"]


@pytest.mark.slow
def test_tables_have_units_bold_bests_and_the_rest_behind_more(tmp_path: Path) -> None:
    slopes = {"x": result([0.4, 0.6], [0.2, 0.2], [0.9, 0.9])}
    page = write_report(study(slopes, {"a": "one", "b": "two", "c": "two"}), tmp_path).read_text()
    brief, rest = page.split('<details class="more">', 1)
    assert "Regret after 100 pulls, in units of reward (mean ± standard error)" in brief
    assert re.findall(r'best" data-key="([\d.]+)"', brief) == ["20.0"]
    assert "50.0\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}10.0" in brief
    assert "90.0" not in brief.split("<table")[1]  # a setting that is not the best
    assert "cost (ns per pull)" in rest


def test_numbers_do_not_break_and_undecided_claims_say_what_to_do(tmp_path: Path) -> None:
    numbers = "regret, Env1: UCB 58 ± 6, KL-UCB 14 ± 3; margin 44 ± 7."
    verdicts = [Verdict("Sure", "Section 3.1, Table 1", numbers=numbers),
                Verdict("Open", verdict="undecided", numbers="UCB 3 ± 2")]  # fmt: skip
    made = study({"x": result([0.1, 0.2]), "y": result([0.1, 0.2, 0.3])})
    page = write_report(made, tmp_path, verdicts).read_text()
    space = "\N{NO-BREAK SPACE}"
    name = f'<span class="whole">KL-UCB{space}14{space}±{space}3</span>'
    assert f"regret, Env1: UCB{space}58{space}±{space}6, {name}</span>" in page
    assert f"<small>Section{space}3.1, Table{space}1</small>" in page
    assert "heavybandits reproduce --decide</code>" in page
    assert "2 to 3 replications" in page
    assert "--decide" not in write_report(made, tmp_path, verdicts[:1]).read_text()


@pytest.mark.slow
def test_a_page_of_one_study_is_titled_by_it(tmp_path: Path) -> None:
    one, two = (study({"x": result([0.1, 0.2])}, name=name, title=f"The {name} < 2") for name in ("first", "second"))
    titles = [re.findall("<title>(.*)</title>", write_report(made, tmp_path).read_text()) for made in (one, [one, two])]
    assert titles == [["The first &lt; 2 - heavybandits report"], ["2 studies - heavybandits report"]]


@pytest.mark.slow
def test_a_report_of_the_same_results_is_the_same(tmp_path: Path) -> None:
    first, second = (write_report([grid()], tmp_path / name).parent for name in ("one", "two"))
    for path in sorted(first.glob("**/*.*")):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    for wrong in ("tails", [study({"x": result([0.1])}), 3]):
        with pytest.raises(TypeError, match=r"write_report: studies must be results such as hb.load_study\(folder\)"):
            write_report(wrong, tmp_path)  # type: ignore[arg-type]


def test_studies_need_names_of_their_own(tmp_path: Path) -> None:
    made = study({"x": result([0.1])})
    for studies in ([], [made, made]):
        with pytest.raises(ValueError, match="write_report: studies must be one or more, with different names, got"):
            write_report(studies, tmp_path)
    assert list(tmp_path.iterdir()) == []
