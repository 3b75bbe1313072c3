"""How studies were made, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._format import plural
from ..results.study_result import StudyResult


def origin(study: StudyResult) -> dict[str, str]:
    """Return how a study was made, leaving out what is unknown."""
    made = study.provenance
    known = {
        "heavybandits": made.get("version"),
        "with": ", ".join(f"{name} {version}" for name, version in made.get("versions", {}).items()),
        "digest of the study": made.get("digest"),
        "seed": made.get("seed"),
    }
    for number, session in enumerate(made.get("sessions", []), start=1):
        known[f"session {number}"] = ", ".join(f"{name} {_plain(value)}" for name, value in session.items())
    return {name: str(value) for name, value in known.items() if value not in (None, "")}


def _plain(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def missing(study: StudyResult) -> str:
    """Say what an unfinished study lacks; return an empty string for a finished one."""
    if study.provenance.get("complete", True):
        return ""
    absent = study.provenance.get("missing replications", 0)
    return f"Not finished: {plural(absent, 'replication is', 'replications are')} missing."


def what_was_run(studies: Sequence[StudyResult]) -> str:
    """Say what the studies ran in total, and where."""
    results = [result for study in studies for result in study.results.values()]
    runs = sum(result.regret.shape[0] * result.regret.shape[1] for result in results)
    sessions = _sessions(studies)
    machines = sorted({machine for machine, _ in sessions if machine})
    policies = len({label for study in studies for label in study.families})
    text = (
        f"{plural(len(studies), 'study', 'studies')}: {plural(policies, 'policy', 'policies')} on "
        f"{plural(len(results), 'instance')}, {plural(runs, 'run')} with "
        f"{_pulls(studies):,} pulls in all"
    )
    if seconds := sum(sessions.values()):
        text += f", in {_duration(seconds)} of computing"
    if machines:
        text += f" on {'; '.join(machines)}"
    return text + "."


def in_short(studies: Sequence[StudyResult]) -> list[str]:
    """Return version, replications, pulls, time and seed, in a few words each."""
    versions = sorted({str(study.provenance["version"]) for study in studies if "version" in study.provenance})
    seeds = sorted({str(study.provenance["seed"]) for study in studies if "seed" in study.provenance})
    pulls, seconds = _pulls(studies), sum(_sessions(studies).values())
    replications = {result.regret.shape[1] for study in studies for result in study.results.values()}
    least, most = min(replications), max(replications)
    return [
        *([f"heavybandits {', '.join(versions)}"] if versions else []),
        plural(most, "replication") if least == most else f"{least:,} to {most:,} replications",
        f"{pulls / 1e6:,.0f} million pulls" if pulls >= 1e6 else f"{pulls:,} pulls",
        *([_duration(seconds)] if seconds else []),
        *([f"seed {', '.join(seeds)}"] if seeds else []),
    ]


def _pulls(studies: Sequence[StudyResult]) -> int:
    return sum(result.regret.shape[0] * result.regret.shape[1] * result.horizon
               for study in studies for result in study.results.values())  # fmt: skip


def _sessions(studies: Sequence[StudyResult]) -> dict[tuple[str, str], float]:
    """Return the seconds of each session, by machine and start; a session may have run several studies."""
    sessions: dict[tuple[str, str], float] = {}
    for session in (session for study in studies for session in study.provenance.get("sessions", [])):
        key = str(session.get("machine", "")), str(session.get("started"))
        sessions[key] = max(sessions.get(key, 0.0), session.get("seconds", 0.0))
    return sessions


def _duration(seconds: float) -> str:
    if seconds < 90:
        return plural(max(1, round(seconds)), "second")
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
