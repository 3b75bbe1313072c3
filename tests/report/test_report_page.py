"""The page stands alone, holds everything, and sorts its tables."""

import csv
import re
import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from reports import grid, result, study

from heavybandits.report import write_report


@dataclass(frozen=True)
class Verdict:
    claim: str
    where: str = "Figure 1"
    study: str = "made"
    verdict: str = "holds"
    numbers: str = "1 against 2"
    rule: str = "smaller"
    note: str = ""


class Difference(NamedTuple):
    topic: str
    text: str
    code: str
    here: str


class Reader(HTMLParser):
    """Checks that elements nest, and collects references and text."""

    VOID = frozenset({"meta", "img", "br"})

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


def test_page_stands_alone_and_holds_everything(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script> & 5% of_$x^{$"
    made = study(
        {nasty: result([0.1, 0.2], [0.3, 0.4], labels=(nasty, "b"))},
        name="a & <b>", title=f"Title {nasty}", description=f"About {nasty}",
        spec={"note": f"Spec {nasty}"},
        provenance={"version": "1.2.3", "digest": "abc", "seed": 7, "complete": False, "missing replications": 3,
                    "sessions": [{"started": "today", "seconds": 200.0, "machine": f"Box {nasty}"}]},
    )  # fmt: skip
    timed = study(
        {"x": result([0.01, 0.2])}, name="timed", provenance=made.provenance, spec={"report": {"figure": "runtime"}}
    )
    verdicts = [Verdict(f"Claim {i} {nasty}", verdict=verdict, note=f"Note {i}", study="timed")
                for i, verdict in enumerate(["holds", "does not hold", "undecided", "holds"])]  # fmt: skip
    differences = [Difference(f"Topic {nasty}", "As written", "As coded", "As run")]
    page = write_report([made, timed], tmp_path / "new" / "folder", verdicts, differences)
    html = page.read_text()
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert all(reference.startswith(("#", "data:image/png;base64,")) for reference in reader.references)
    assert "http" not in re.sub(r"base64,[^\"]*", "", html)
    assert {reference[1:] for reference in reader.references if reference[0] == "#"} <= set(reader.anchors)
    assert "<script>alert" not in html
    text = "".join(reader.words)
    for i in range(4):
        assert f"Claim {i} {nasty}" in text
        assert f"Note {i}" in text
    assert "4 claims: holds 2, does not hold 1, undecided 1." in text
    for part in (f"Topic {nasty}", "As written", "As coded", "As run", f"Title {nasty}", f"About {nasty}",
                 f"Box {nasty}", "1.2.3", "abc", "3 replications are missing", "in 3 minutes of"):  # fmt: skip
        assert part in text
    assert {path.name for path in page.parent.glob("*/*")} == {
        "a-b.png", "a-b.svg", "a-b.csv", "a-b.tex", "timed.png", "timed.svg", "timed.csv", "timed.tex",
        "timed-times.csv", "timed-times.tex",
    }  # fmt: skip
    with (page.parent / "tables" / "a-b.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [nasty, "b"]
    assert [float(row["mean"]) for row in rows] == pytest.approx([15, 35])


def test_a_page_of_one_study_is_titled_by_it(tmp_path: Path) -> None:
    one, two = (study({"x": result([0.1, 0.2])}, name=name, title=f"The {name} < 2") for name in ("first", "second"))
    titles = [
        re.findall("<title>(.*)</title>", write_report(made, tmp_path).read_text()) for made in ([one], [one, two])
    ]
    assert titles == [["The first &lt; 2 - heavybandits report"], ["heavybandits report"]]


def test_a_report_of_the_same_results_is_the_same(tmp_path: Path) -> None:
    first, second = (write_report(grid(), tmp_path / name).parent for name in ("one", "two"))
    for path in sorted(first.glob("**/*.*")):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_studies_need_names_of_their_own(tmp_path: Path) -> None:
    made = study({"x": result([0.1])})
    for studies in ([], [made, made]):
        with pytest.raises(ValueError, match="write_report: studies must be at least one, each with a name of its own"):
            write_report(studies, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser")
def test_a_click_on_a_head_sorts_by_the_column(tmp_path: Path) -> None:
    page = write_report(study({"x": result([0.2], [0.05], [1.0])}), tmp_path)
    click = """<script>
    const heads = [...document.querySelectorAll("table.sortable th")], mean = heads.find(h => h.textContent === "mean");
    const order = () => [...document.querySelectorAll("table.sortable tbody tr")].map(r => r.cells[1].textContent).join("");
    mean.firstChild.click(); const up = order(); mean.firstChild.click();
    document.title = `${up} ${order()} ${mean.getAttribute("aria-sort")}`;
    </script></body>"""  # noqa: E501
    page.write_text(page.read_text().replace("</body>", click))
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    dom = subprocess.run([*browser, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120).stdout
    assert "<title>bac cab descending</title>" in dom
