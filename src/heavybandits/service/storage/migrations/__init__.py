"""Numbered changes to the schema; a database is brought up to date by those that it has not seen."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Session

VERSIONS = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)"


def steps(dialect: str) -> dict[int, str]:
    """Return the statements of each step by its number; a step for another database has none.

    Examples
    --------
    >>> min(steps("sqlite"))
    1
    """
    found = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda file: file.name):
        if match := re.fullmatch(r"(\d{3})_\w+?(?:\.(\w+))?\.sql", file.name):
            number, only = match.groups()
            found[int(number)] = file.read_text("utf-8") if only in (None, dialect) else ""
    return found


def migrate(session: Session) -> list[int]:
    """Run the steps that the database has not seen, in one transaction, and return their numbers."""
    with session.transaction():
        session.lock_experiments()
        session.run(VERSIONS)
        seen, known = version(session), steps(session.DIALECT)
        if seen > max(known):
            raise ValueError(f"serve: the database has schema {seen}, but this version of heavybandits reads up to "
                             f"{max(known)}; use the version that wrote it, or a later one")  # fmt: skip
        new = [number for number in known if number > seen]
        for number in new:
            for statement in filter(str.strip, known[number].split(";")):
                session.run(statement)
            session.run("INSERT INTO schema_version (version) VALUES (?)", (number,))
    return new


def version(session: Session) -> int:
    """Return the number of the last step that the database has seen."""
    ((last,),) = session.run("SELECT coalesce(max(version), 0) FROM schema_version")
    return int(last)
