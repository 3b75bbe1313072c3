"""Results of studies made by hand, for reports."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.results.result import Result
from heavybandits.results.study_result import StudyResult

HORIZON = 100
ROUNDS = np.arange(1, HORIZON + 1)
INSTANCE = hb.Instance([0.0, 1.0], hb.Cauchy())


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, as the page shows it."""

    claim: str
    where: str = "Figure 1"
    study: str = "made"
    verdict: str = "holds"
    numbers: str = "1 against 2"
    rule: str = "smaller"
    note: str = ""


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
