"""The database ``log_0_2_0.db``, made by version 0.2.0: run this with that version's package and tests on the path.

Its arms were not created in the order of their names, and each experiment was restarted in the middle, so 0.2.0 lost
the order.  The experiments called "pruned-..." were pruned after that.
"""

import sqlite3
import sys
from pathlib import Path

from heavybandits.service.retention import prune  # type: ignore[import-not-found]  # where 0.2.0 had it
from services import SECOND, FakeClock, Running, running

from heavybandits.service.storage import open_storage

ARMS = [{"name": "small"}, {"name": "large"}, {"name": "medium"}]
PAYS = {"small": 10.0, "large": 0.0, "medium": 4.0}
SPECS: dict[str, dict[str, object]] = {
    "shared": {"context": {"shared": True, "n_features": 2}},
    "own": {"context": {}},
    "plain": {"policy": "ucb", "sticky": True},
    "drawn": {"policy": "tsallis-inf"},
}


def play(server: Running, name: str, start: int, stop: int) -> None:
    """Decide, and reward three of four decisions by what their arm pays."""
    for i in range(start, stop):
        asked: dict[str, object] = {"id": f"d{i}", "unit": f"u{i % 5}"}
        if name.endswith("shared"):
            asked["context"] = [1.0, i % 3 / 2]
        elif name.endswith("own"):
            asked["context"] = {arm: [1.0, PAYS[arm] / 10, i % 3 / 2] for arm in PAYS}
        answer = server("POST", f"/{name}/decisions", asked)
        assert answer.status == 201, answer
        if i % 4:
            value = PAYS[answer.body["arm"]] + i % 7 / 10
            assert server("PUT", f"/{name}/decisions/d{i}/reward", {"value": value}).status == 201


def main(path: Path) -> None:
    storage, clock = open_storage(f"sqlite:///{path}"), FakeClock()
    for prefix in ("pruned-", ""):
        for part in range(2):  # the second starts from the snapshots of the first
            clock.now += 3600 * SECOND
            with running(storage, clock) as server:
                for kind, spec in SPECS.items():
                    if part == 0:
                        assert server("PUT", f"/{prefix}{kind}", {"arms": ARMS, **spec}).status == 201
                    play(server, prefix + kind, 30 * part, 30 * part + 30)
        if prefix:
            session = storage.connect()
            print(prune(session, clock.now, clock))
            session.close()
    with sqlite3.connect(path) as connection:
        latest = "SELECT max(seq) FROM snapshot AS other WHERE other.exp = snapshot.exp"
        connection.execute(f"DELETE FROM snapshot WHERE exp > 4 AND seq < ({latest})")
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
