"""A small study, how to run it, and whether two results of it are the same."""

from pathlib import Path

from heavybandits.results.study_result import StudyResult
from heavybandits.studies.executors import workers
from heavybandits.studies.progress import RunStep
from heavybandits.studies.run import run_studies
from heavybandits.studies.study import Study

# One chunk per instance, and enough instances to interrupt the run between two of them.
TEXT = """
[study]
horizon = 500
replications = 20
[instance.two]
kind = "delta-cauchy"
delta = { linspace = [0, 3, 12] }
[policy.UCB]
kind = "ucb"
c = [0.1, 1.0]
[policy.Thompson]
kind = "thompson-gaussian"
"""


def run(study: Study, location: Path) -> tuple[list[str], int]:
    """Run a study; return what was damaged, and how many pulls were played."""
    steps: list[RunStep] = []
    with workers(2) as executor:
        damaged = run_studies({str(location): study}, executor, steps.append)
    return damaged, steps[-1].pulls


def same(one: StudyResult, other: StudyResult) -> bool:
    return list(one.results) == list(other.results) and all(
        one.results[label].regret.identical(other.results[label].regret)
        and one.results[label].pulls.identical(other.results[label].pulls)
        for label in one.results
    )
