"""What notebooks show of results, studies, agents and diagnoses: small tables with units, and nothing unescaped."""

import io
from html.parser import HTMLParser
from typing import Any

import IPython.display
import nbclient
import nbformat
import pandas as pd
import pytest
from reports import result, study
from rich.console import Console

import heavybandits as hb
from heavybandits.engine.progress import NotebookBar
from heavybandits.results.study_result import MOST_CASES

NASTY = "<script>alert('x')</script> \x1b[31m"


class Table(HTMLParser):
    """A parser of a table's rows and bold cells; every element must be closed."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.bold: list[str] = []
        self.caption = ""
        self.feed(shown._repr_html_())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"th", "td"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "caption" in self.open:
            self.caption += data
        elif "span" not in self.open and {"th", "td"} & set(self.open):
            self.rows[-1][-1] = (self.rows[-1][-1] + data).strip()
            if "b" in self.open:
                self.bold.append(data)


@pytest.mark.slow
def test_result() -> None:
    table = Table(result([0.1, 0.3], [0.05, 0.05], labels=(NASTY, "b")))
    assert table.caption == "Regret after 100 pulls, in units of reward; 2 replications, seed 0"
    assert table.rows[0] == [
        "policy", "mean ± standard error", "median", "worst", "failed (of 2)", "cost (ns per pull)",
    ]  # fmt: skip
    assert table.rows[1][:4] == [r"<script>alert('x')</script> \x1b[31m", "20.0 ± 10.0", "20.0", "30.0"]
    assert table.bold == ["5.00 ± 0"]
    assert Table(result([0.1])).rows[1][1] == "10.0"  # one replication has no standard error
    title, head, first, _ = str(result([0.1, 0.3], [0.05, 0.05], labels=(NASTY, "b"))).splitlines()
    assert title == table.caption
    assert head.split("  ")[0] == "policy"
    assert first.startswith(r"<script>alert('x')</script> \x1b[31m  ")
    assert "20.0 ± 10.0" in first


def test_study_shows_the_best_of_each_family() -> None:
    families = {"a": "one", "b": "one", "c": "two"}
    made = study(
        {f"x{i}": result([0.1, 0.3], [0.4, 0.4], [0.3, 0.3]) for i in range(MOST_CASES + 1)}, families, title=NASTY
    )
    table = Table(made)
    assert table.caption.startswith(r"<script>alert('x')</script> \x1b[31m (regret at the horizon, in units of reward")
    assert table.caption.endswith(f"the first {MOST_CASES} of {MOST_CASES + 1} cases)")
    assert repr(made) == f"StudyResult({made.name}; {MOST_CASES + 1} cases, 3 policies)"
    assert [row[:2] for row in table.rows] == [["policy", "x0"], ["a", "20.0 ± 10.0"], ["c", "30.0 ± 0"]]
    assert table.bold == ["20.0 ± 10.0"] * MOST_CASES


def test_agent() -> None:
    agent = hb.Agent(hb.UCB(), arms=[NASTY, "green"])
    agent.update(NASTY, 1.0)
    table = Table(agent)
    assert table.caption == str(agent).splitlines()[0] == "ucb, 1 reward"
    assert table.rows[1][:3] == [r"<script>alert('x')</script> \x1b[31m", "1", "1"]
    many = Table(hb.Agent(hb.UCB(), n_arms=100))
    assert len(many.rows) == 21
    assert many.caption.endswith("the 20 most pulled of 100 arms")
    around = hb.Agent(hb.Restarting(hb.make("auto")), n_arms=2)
    assert Table(around).caption == str(around).splitlines()[0] == "restarting auto, 0 rewards"


def test_diagnosis() -> None:
    rewards = pd.DataFrame({"arm": ["<red>", "green"] * 30, "reward": [float(i * i % 17) for i in range(60)]})
    report = hb.diagnose(rewards)
    table = Table(report)
    assert [row[0] for row in table.rows[:5]] == ["arm", "<red>", "green", "pooled", "what chooses"]  # then the replay
    assert "as logged" in [row[0] for row in table.rows[5:]]
    assert table.rows[0][1:3] == ["rewards", "median"]
    assert table.rows[1][1] == "30"
    assert report.advice.name in report._repr_html_()
    assert repr(report) == f"Report(table: 60 rewards of 2 arms; goal {report.goal}, advice {report.advice.name})"


def test_a_simulation_shows_its_progress_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    instance, policies = hb.Instance([0, 1], hb.Gaussian()), {"UCB": hb.UCB()}
    silent = hb.simulate(instance, policies, horizon=10, replications=3, progress=True)
    assert capsys.readouterr() == ("", "")
    file = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=file, force_terminal=True))
    shown = hb.simulate(instance, policies, horizon=10, replications=3, progress=True)
    assert "3 of 3" in file.getvalue()
    assert "compiling UCB" in file.getvalue()
    drawn = len(file.getvalue())
    monkeypatch.setenv("JPY_PARENT_PID", "1")  # a command that a notebook runs
    hb.simulate(instance, policies, horizon=10, replications=3, progress=True)
    assert len(file.getvalue()) == drawn
    assert (shown.regret == silent.regret).all()


def test_a_bar_in_a_notebook_is_drawn_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Handle:
        def __init__(self) -> None:
            self.drawn: list[dict[str, str]] = []

        def update(self, shown: dict[str, str], *, raw: bool) -> None:
            assert raw
            self.drawn.append(shown)

    handle = Handle()
    monkeypatch.setattr(IPython.display, "display", lambda *_, **__: handle)
    bar = NotebookBar(100)
    for done in range(100):
        bar.show(done, NASTY, f"{done} of 100")
    bar.show(100, NASTY, "100 of 100")
    bar.show(99, NASTY, "a thread that was late")
    bar.stop()
    assert 2 <= len(handle.drawn) < 50
    assert 'value="100" max="100"' in handle.drawn[-1]["text/html"]
    assert handle.drawn[-1]["text/html"].endswith("100 of 100")
    assert "<script>" not in handle.drawn[-1]["text/html"]


@pytest.mark.slow
def test_a_notebook_shows_one_bar_and_each_figure_once() -> None:
    cells = [
        """import tempfile
import matplotlib.pyplot as plt
import heavybandits as hb
instance, policies = hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}
result = hb.simulate(instance, policies, horizon=100, replications=50, progress=True)""",
        'study = hb.run_study(hb.read_study("cauchy").with_replications(1), out=tempfile.mkdtemp())',
        "result.plot()",
        "figure = result.plot()",
        'figure.axes[0].set(title="Mine", ylim=(0, 5))\nfigure.savefig(tempfile.mkdtemp() + "/mine.pdf")\nfigure',
        "figure, axes = plt.subplots()\nresult.plot(ax=axes)",
        "result",
    ]
    v4: Any = nbformat.v4  # whose functions have no types
    notebook = v4.new_notebook(cells=list(map(v4.new_code_cell, cells)))
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [[output.get("data", output) for output in cell.outputs] for cell in notebook.cells]
    (bar,), (study,), (plain,), nothing, (changed,), (given, drawn), (table,) = shown
    assert 'value="50" max="50"' in bar["text/html"]
    assert "100%" in study["text/html"]
    assert nothing == []
    assert plain["image/png"] != changed["image/png"]
    assert set(given) == {"text/plain"}  # the axis; the inline backend shows its figure
    assert "image/png" in drawn
    assert "<table>" in table["text/html"]
