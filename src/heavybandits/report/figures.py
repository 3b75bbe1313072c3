"""The figure that a study asks for."""

from __future__ import annotations

from ..results.study_result import StudyResult
from .curves import draw_curves
from .drawing import Drawing
from .matrix import draw_matrix
from .runtimes import draw_runtimes
from .sweep import draw_sweep, swept_parameter

FIGURES = {"curves": draw_curves, "sweep": draw_sweep, "runtime": draw_runtimes, "matrix": draw_matrix}


def draw_figure(study: StudyResult) -> Drawing:
    """Draw what ``spec["report"]["figure"]`` asks for: curves (the default), sweep, runtime or matrix.

    A sweep of no parameter, or of several at once, is drawn as curves.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> draw_figure(study).caption
    'Mean regret over 5 replications on common noise. The bands hold 80% of the replications of UCB; ...'
    """
    kind = study.figure
    if kind not in FIGURES:
        raise ValueError(f"study {study.name!r}: report.figure must be one of {', '.join(FIGURES)}, got {kind!r}")
    if kind == "sweep" and swept_parameter(study) is None:
        kind = "curves"
    return FIGURES[kind](study)
