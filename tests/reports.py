"""Results of studies made by hand, for reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.report.page import write_page
from heavybandits.report.section import study_section
from heavybandits.reproduce.claims import PaperClaim
from heavybandits.reproduce.comparisons import Comparison, Rule
from heavybandits.reproduce.differences import Difference
from heavybandits.reproduce.page import claims_opening
from heavybandits.reproduce.verdicts import ClaimVerdict
from heavybandits.results.result import Result
from heavybandits.results.study_result import StudyResult

HORIZON = 100
ROUNDS = np.arange(1, HORIZON + 1)
INSTANCE = hb.Instance([0.0, 1.0], hb.Cauchy())


class Shown(NamedTuple):
    """A statement with this evidence."""

    log: float

    def log_evidence(self, times: float = 1.0) -> float:
        return times * self.log


# Logarithms of the evidence for and against a claim, by what they say about it.
LOGS = {"holds": (30.0, -30.0), "does not hold": (-30.0, 30.0), "undecided": (0.5, -0.5)}


def verdict(
    words: str, outcome: str = "holds", where: str = "Figure 1", study: str = "made",
    comparisons: Sequence[tuple[str, float, float]] = (), notes: tuple[str, ...] = (),
    differences: tuple[Difference, ...] = (),
) -> ClaimVerdict:  # fmt: skip
    """Return a verdict on a claim, by default from a comparison with this outcome; others have words and evidence."""
    claim = PaperClaim(words, where, study, Rule("smaller", lambda: ()))
    compared = comparisons or [("1 against 2", *LOGS[outcome])]
    shown = tuple(Comparison(text, Shown(for_it), Shown(against)) for text, for_it, against in compared)
    return ClaimVerdict(claim, shown, "", 100, 50, notes, differences)


def write_claims(studies: Sequence[StudyResult], folder: Path, verdicts: Sequence[ClaimVerdict]) -> Path:
    """Write a page with claims."""
    sections = [study_section(folder, study) for study in studies]
    return write_page(folder, sections, claims_opening(sections, verdicts))


def result(*slopes: list[float], instance: hb.Instance = INSTANCE, labels: tuple[str, ...] = ()) -> Result:
    """Return a result whose regret grows linearly, with a slope for each policy and replication."""
    given_slopes = np.array(slopes, float)
    regret = given_slopes[:, :, None] * ROUNDS.astype(float)
    pulls = np.zeros((*given_slopes.shape, instance.n_arms), np.int64)
    duration = np.arange(1.0, 1 + given_slopes.size).reshape(given_slopes.shape)
    labels = labels or tuple("abcdefghijklmnop"[: len(slopes)])
    return Result(
        instance, labels=labels, rounds=ROUNDS, regret=regret, pulls=pulls, wall_time=duration, horizon=HORIZON, seed=0
    )


def study(results: dict[str, Result], families: dict[str, str] | None = None, **changes: Any) -> StudyResult:
    labels = next(iter(results.values())).regret["policy"].values.tolist()
    fields: dict[str, Any] = {
        "name": "made", "title": "Made by hand", "description": "", "results": results,
        "families": families or {label: label for label in labels}, "swept": {}, "spec": {}, "provenance": {},
    }  # fmt: skip
    return StudyResult(**{**fields, **changes})


def grid() -> StudyResult:
    gaussian = hb.Instance([0.0, 1.0], hb.Gaussian())
    return study(
        {
            "Cauchy": result([0.04, 0.04], [0.01, 0.03], [0.6, 0.6]),
            "Gaussian": result([0.02, 0.02], [0.5, 0.7], [0.01, 0.01], instance=gaussian),
        },
        spec={"report": {"figure": "matrix"}},
    )
