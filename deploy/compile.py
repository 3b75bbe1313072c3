"""Use the service once with each default policy, so that their machine code is in numba's cache."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from typing import Any

import heavybandits as hb

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "mean": {},
    "location": {"goal": "location"},
    "linear mean": {"context": {"shared": True, "n_features": 2}},
    "linear location": {"context": {"shared": True, "n_features": 2}, "goal": "location"},
    "points": {"points": {"price": [5, 25]}},
}


def main() -> None:
    """Create experiments, let them decide and learn, and stop the server, which writes snapshots."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "heavybandits", "serve", "--port", "0", "--db", f"sqlite:///{folder}/log.db"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            client = hb.Client(server.stdout.readline().split()[3], timeout=600.0)  # after "Page and API:"
            for name, more in EXPERIMENTS.items():
                client.create(name, () if "points" in more else ("a", "b"), **more)
                for number in range(4):
                    decision = client.decide(name, context=[1.0, 0.5 * number] if "context" in more else None)
                    client.reward(name, decision, float(number))
                client.report(name)
            while client.ready()["compiling"]:
                time.sleep(0.2)
            client.close()
            server.terminate()
    sys.exit(server.returncode)


if __name__ == "__main__":
    main()
