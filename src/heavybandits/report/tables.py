"""Tables of a study, as frames and for LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from .._format import number
from ..results.study_result import StudyResult

ROWS_ON_A_PAGE = 45  # rows of a LaTeX table that fit on a page


def summary_table(study: StudyResult) -> pd.DataFrame:
    """Return a row per instance and policy: :meth:`Result.summary`, and how many replications failed.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> summary_table(study)[["instance", "policy", "failed", "replications"]].to_string(index=False)
    'instance policy  failed  replications\\n    Env2    UCB       0             5'
    """
    parts = []
    for instance, result in study.results.items():
        part = result.summary().reset_index()
        part.insert(0, "instance", instance)
        part.insert(2, "family", [study.families[label] for label in part["policy"]])
        column = part.columns.get_loc("failures")
        part.insert(column, "failed", result.failed.sum(axis=1))
        part.insert(column + 1, "replications", result.failed.shape[1])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def latex_escape(text: str) -> str:
    r"""Return the text as LaTeX prints it.

    Examples
    --------
    >>> print(latex_escape("a_b & 5% of {x} < $y"))
    a\_b \& 5\% of \{x\} \textless{} \$y
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip


def lowest_of_instance(frame: pd.DataFrame, column: str) -> pd.Series:
    """Return which rows have the lowest number of their instance in a column."""
    return frame[column] == frame.groupby("instance", sort=False)[column].transform("min")


def latex_table(frame: pd.DataFrame, bold: Mapping[str, pd.Series]) -> str:
    """Return the rows as LaTeX tables for ``\\usepackage{booktabs}``, a block per instance.

    A table too long for one page continues in another.

    Parameters
    ----------
    frame
        The first two columns are ``instance`` and ``policy``.
    bold
        Which rows are bold, by column.

    Examples
    --------
    >>> frame = pd.DataFrame({"instance": ["a", "a"], "policy": ["x_1", "x_2"], "mean": [1.0, 2.0]})
    >>> print(latex_table(frame, {"mean": lowest_of_instance(frame, "mean")}))
    \\begin{tabular}{lr}
    \\toprule
    policy & mean \\\\
    \\midrule
    \\multicolumn{2}{l}{\\emph{a}} \\\\
    x\\_1 & \\textbf{1.00} \\\\
    x\\_2 & 2.00 \\\\
    \\bottomrule
    \\end{tabular}
    """
    columns = list(frame.columns[1:])
    pages: list[list[str]] = [[]]
    for instance, block in frame.groupby("instance", sort=False):
        lines = [rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{latex_escape(str(instance))}}}}} \\"]
        for at, row in block[columns].to_dict("index").items():
            cells = [_latex_cell(value, name in bold and bold[name][at]) for name, value in row.items()]
            lines.append(" & ".join(cells) + r" \\")
        if pages[-1] and len(pages[-1]) + len(lines) > ROWS_ON_A_PAGE:
            pages.append([])
        pages[-1] += [r"\addlinespace", *lines] if pages[-1] else lines
    header = " & ".join(map(latex_escape, columns)) + r" \\"
    begin = rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}"
    return "\n\n\\medskip\n".join(
        "\n".join([begin, r"\toprule", header, r"\midrule", *page, r"\bottomrule", r"\end{tabular}"]) for page in pages
    )


def _latex_cell(value: Any, bold: bool) -> str:
    text = latex_escape(number(value))
    return rf"\textbf{{{text}}}" if bold else text
