"""How PostgreSQL finds rows: by their keys, whatever it believes about the sizes of experiments."""

from collections.abc import Iterator

import pytest
from services import new_database

from heavybandits.service.storage.postgres import FOUND, PostgreSQL

FILL = {
    "event": (
        "INSERT INTO event SELECT ?, number, 'decision', 'k' || number, 'a', NULL, 1, 'policy', 0 "
        "FROM generate_series(?::int, ?::int) AS number"
    ),
    "pending": "INSERT INTO pending SELECT ?, 'k' || number, 'a', 0 FROM generate_series(?::int, ?::int) AS number",
    "unit": "INSERT INTO unit SELECT ?, 'k' || number, 'a' FROM generate_series(?::int, ?::int) AS number",
}
CASES = [("event", "key", "event_key"), ("pending", "key", "pending_pkey"), ("unit", "hash", "unit_pkey")]


@pytest.fixture
def session(postgres: str) -> Iterator[PostgreSQL]:
    session = PostgreSQL(new_database(postgres))
    session.migrate()
    for number in (1, 2):
        session.add_experiment(f"x{number}", "")
    yield session
    session.close()


def index_used(session: PostgreSQL, table: str, column: str, exp: int) -> str:
    """Return the name of the index that a search goes through, with the condition that it is searched by."""
    look_up = FOUND.format(fields=column, table=table, column=column)
    plan = [row[0].strip() for row in session.run(f"EXPLAIN {look_up}", ([f"k{n}" for n in range(64)], exp))]
    (index,) = (i for i, line in enumerate(plan) if "using" in line or "Bitmap Index Scan" in line)
    name = plan[index].replace("Bitmap Index Scan on", "using").split("using ")[1].split()[0]
    return f"{name}: {plan[index + 1]}"


@pytest.mark.parametrize(("table", "column", "index"), CASES)
def test_rows_are_found_by_key_before_and_after_the_table_is_analysed(
    session: PostgreSQL, table: str, column: str, index: str
) -> None:
    """The table has never been analysed, the experiment is old, or it is younger than the statistics."""
    by_key = f"{index}: Index Cond: ((exp = '{{}}'::bigint) AND ({column} = wanted.wanted))"
    session.run(FILL[table], (1, 1, 20_000))
    used = [index_used(session, table, column, 1)]
    session.run(f"ANALYZE {table}")
    used.append(index_used(session, table, column, 1))
    session.run(FILL[table], (2, 1, 400))
    used.append(index_used(session, table, column, 2))
    session.run(FILL[table], (2, 401, 20_000))
    used.append(index_used(session, table, column, 2))
    assert [line.replace("smallint", "bigint") for line in used] == [by_key.format(exp) for exp in (1, 1, 2, 2)]


@pytest.mark.parametrize(("table", "column", "index"), CASES)
def test_rows_are_looked_up_and_removed_by_value(session: PostgreSQL, table: str, column: str, index: str) -> None:
    for exp in (1, 2):
        session.run(FILL[table], (exp, 1, 5))
    assert sorted(session.look_up(column, table, 1, column, ["k2", "k4", "k9"])) == [("k2",), ("k4",)]
    session.remove(table, 1, column, ["k2", "k4", "k9"])
    assert session.run(f"SELECT exp, count(*) FROM {table} GROUP BY exp ORDER BY exp") == [(1, 3), (2, 5)]


def test_text_is_text_in_a_database_without_an_encoding(postgres: str) -> None:
    session = PostgreSQL(new_database(postgres, "TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"))
    session.migrate()
    session.add_experiment("café → ☕", "")
    assert session.run("SELECT name FROM experiment") == [("café → ☕",)]
    session.close()
