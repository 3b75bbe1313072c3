"""How long it takes to begin: first decisions, first signs of commands, and decisions while code is compiled.

Run from the repository: ``pip install '.[bench]' && python benchmarks/start.py``.  Takes about four minutes.  Times
are ratios to ``import numpy, scipy.special`` in the same run, measured in turns; peers not installed are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb

YARDSTICK = "import numpy, scipy.special"
AGENT = "import heavybandits as hb; agent = hb.Agent(hb.make({name!r}), n_arms=3); agent.select()"
LINEAR_AGENT = (
    "import heavybandits as hb, numpy as np; agent = hb.LinearAgent(hb.make({name!r}), n_features=3);"
    "agent.select(np.eye(3))"
)
OURS = {name: AGENT.format(name=name) for name in ("ucb", "auto", "auto-mean")}
OURS["linear-auto"] = LINEAR_AGENT.format(name="linear-auto")
PEERS = {
    "river": "from river import bandit; bandit.UCB(delta=1, seed=0).pull([0, 1, 2])",
    "mabwiser": (
        "from mabwiser.mab import MAB, LearningPolicy; mab = MAB([0, 1, 2], LearningPolicy.UCB1(1));"
        "mab.fit([0, 1, 2], [0.0, 1.0, 2.0]); mab.predict()"
    ),
    "pymab": "from pymab.policies import UCBPolicy; import numpy as np;"
    "UCBPolicy(n_arms=3).select_action(rng=np.random.default_rng(0))",
    "vowpalwabbit": "import vowpalwabbit; vowpalwabbit.Workspace('--cb_explore 3 --quiet').predict('| a')",
}
EXPERIMENTS: list[dict[str, Any]] = [{}, {"goal": "location"}, {"context": {"shared": True, "n_features": 3}}]
COMMANDS = ("diagnose", "compare")  # on a log of so many rows
LOGGED = 20_000
ENDS = "; import os; os._exit(0)"  # at the first decision, so that nothing that ends a process is counted

# Plays a decision every millisecond until code is compiled, and prints how long after they were due decisions ended.
LATENCY = """
import json, sys, time
import numpy as np
import heavybandits as hb

name, seconds = sys.argv[1], float(sys.argv[2])
linear = name.startswith("lin")
agent = hb.LinearAgent(hb.make(name), n_features=3) if linear else hb.Agent(hb.make(name), n_arms=10)
rows, rewards = np.eye(3), np.random.default_rng(0).standard_t(2.0, 100_000)
late, begun, changed = {True: [], False: []}, time.perf_counter(), None
due = begun
for reward in rewards.tolist():
    due = max(due + 0.001, time.perf_counter() - 0.001)
    while time.perf_counter() < due:
        time.sleep(max(0.0, due - time.perf_counter()))
    waits = agent._better is not None
    if linear:
        agent.update(rows[agent.select(rows)], reward)
    else:
        agent.update(agent.select(), reward)
    late[waits].append(time.perf_counter() - due)
    if not waits and changed is None:
        changed = time.perf_counter()
    if (changed is not None and time.perf_counter() > changed + 1.0) or time.perf_counter() > begun + seconds:
        break
print(json.dumps({"changed": changed and changed - begun, "before": late[True], "after": late[False]}))
"""


def seconds_of(script: str, cache: Path) -> float:
    """Return how long a process with this script takes, from its start to the end of its last statement."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", script + ENDS], env=environment, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def first_decisions(repeats: int, warm: Path) -> None:
    """Print the median time of first decisions, as a ratio."""
    peers = {name: script for name, script in PEERS.items() if importlib.util.find_spec(name) is not None}
    tasks = {"python": "pass", "numpy, scipy.special": YARDSTICK}
    tasks |= {f"{name}, {cache}": script for name, script in OURS.items() for cache in ("cold", "warm")} | peers
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(repeats):
        for name, script in tasks.items():
            with tempfile.TemporaryDirectory() as cold:
                times[name].append(seconds_of(script, warm if name.endswith("warm") else Path(cold)))
        print(f"turn {turn + 1} of {repeats}", file=sys.stderr)
    unit = statistics.median(times["numpy, scipy.special"])
    print("\n### First decision\n\nFrom the start of the process, without its end.\n")
    print("| | times `import numpy, scipy.special` | seconds |\n|---|---:|---:|")
    for name, record in times.items():
        print(f"| {name} | {statistics.median(record) / unit:.2f} | {statistics.median(record):.2f} |")


def latencies(seconds: float, warm: Path) -> None:
    """Print how late decisions are while code is compiled, and afterwards."""
    print("\n### Decisions while code is compiled\n")
    print("A decision and a reward every millisecond; ms from when they were due to their end.\n")
    print("| | compiled after | median | p99 | worst | afterwards p99 | worst |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in OURS:
        for cache in ("cold", "warm"):
            with tempfile.TemporaryDirectory() as cold:
                environment = {**os.environ, "NUMBA_CACHE_DIR": cold if cache == "cold" else str(warm)}
                command = [sys.executable, "-c", LATENCY, name, str(seconds)]
                found = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
            before, after = (sorted(1000 * late for late in found[when]) or [0.0] for when in ("before", "after"))
            changed = "-" if found["changed"] is None else f"{found['changed']:.1f} s"
            numbers = [statistics.median(before), quantile(before), before[-1], quantile(after), after[-1]]
            print(f"| {name}, {cache} | {changed} | {' | '.join(f'{number:.1f}' for number in numbers)} |", flush=True)


def service(repeats: int) -> None:
    """Print how soon a server decides if nothing was ever compiled on its machine, as ratios."""
    times: dict[str, list[float]] = {}
    for turn in range(repeats):
        for more in EXPERIMENTS:
            with tempfile.TemporaryDirectory() as folder:
                for moment in ("new", "restarted"):
                    times.setdefault(YARDSTICK, []).append(seconds_of(YARDSTICK, Path(folder)))
                    for name, seconds in first_answers(more, Path(folder), moment).items():
                        times.setdefault(name, []).append(seconds)
        print(f"turn {turn + 1} of {repeats}", file=sys.stderr)
    unit = statistics.median(times.pop(YARDSTICK))
    print("\n### The service\n\nOver experiments on means, on locations and with contexts, each with an empty cache.\n")
    print("| | times `import numpy, scipy.special` | seconds | worst |\n|---|---:|---:|---:|")
    for name, record in times.items():
        median = statistics.median(record)
        print(f"| {name} | {median / unit:.2f} | {median:.2f} | {max(record):.2f} |")


def first_answers(more: dict[str, Any], folder: Path, moment: str) -> dict[str, float]:
    """Start a server with an empty cache, let it decide, and return the seconds that this took."""
    command = [sys.executable, "-m", "heavybandits", "serve", "--port", "0", "--db", f"sqlite:///{folder}/log.db"]
    context = [1.0, 0.0, 0.5] if "context" in more else None
    with tempfile.TemporaryDirectory() as cold:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cold}
        begun = time.perf_counter()
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        try:
            assert server.stdout is not None
            client = hb.Client(server.stdout.readline().split()[3])
            client.ready()  # asks again until it is
            ready = time.perf_counter()
            if moment == "new":
                client.create("x", ["a", "b"], **more)
            client.decide("x", context=context)
            decided = time.perf_counter()
            client.close()
        finally:
            server.terminate()
            server.communicate()
    if moment == "new":
        return {"ready": ready - begun, "new experiment and its first decision": decided - ready}
    return {"restart, until its first decision": decided - begun}


def commands(repeats: int, warm: Path) -> None:
    """Print when commands on a log first show that they work, and when they are done, as ratios."""
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        log, rng = Path(folder, "log.csv"), np.random.default_rng(0)
        arms, rewards = rng.integers(3, size=LOGGED), rng.standard_t(1.5, LOGGED)
        log.write_text(
            "arm,reward\n" + "".join(f"{arm},{x}\n" for arm, x in zip(arms, rewards + 0.3 * arms, strict=True))
        )
        for turn in range(repeats):
            times.setdefault(YARDSTICK, []).append(seconds_of(YARDSTICK, warm))
            for name in COMMANDS:
                for cache in ("cold", "warm"):
                    with tempfile.TemporaryDirectory() as cold:
                        for when, seconds in shown(name, log, Path(cold) if cache == "cold" else warm).items():
                            times.setdefault(f"{name}, {cache}: {when}", []).append(seconds)
            print(f"turn {turn + 1} of {repeats}", file=sys.stderr)
    unit = statistics.median(times.pop(YARDSTICK))
    print(f"\n### Commands\n\nOn a log of {LOGGED:,} rewards of three arms, in a terminal.\n")
    print("| | times `import numpy, scipy.special` | seconds |\n|---|---:|---:|")
    for name, record in times.items():
        print(f"| {name} | {statistics.median(record) / unit:.2f} | {statistics.median(record):.2f} |")


def shown(name: str, log: Path, cache: Path) -> dict[str, float]:
    """Run a command in a terminal; return after how many seconds it first shows something, and how long it takes."""
    ours, terminal = pty.openpty()
    command = [sys.executable, "-m", "heavybandits", name, str(log)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "TERM": "xterm"}
    begun, first = time.perf_counter(), None
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    with contextlib.suppress(OSError):  # the terminal is gone
        while os.read(ours, 65_536):
            first = first or time.perf_counter() - begun
    os.close(ours)
    if process.wait() or first is None:
        raise RuntimeError(f"{' '.join(command)} failed, or showed nothing")
    return {"first sign": first, "done": time.perf_counter() - begun}


def quantile(ordered: list[float]) -> float:
    """Return the 99th percentile."""
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def main() -> None:
    """Measure, with a cache that is warmed first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="turns of first decisions")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="at most, for code to be compiled")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as warm:
        for script in OURS.values():
            environment = {**os.environ, "NUMBA_CACHE_DIR": warm}
            subprocess.run([sys.executable, "-c", f"{script}; agent.compile()"], env=environment, check=True)
        if arguments.repeats:
            first_decisions(arguments.repeats, Path(warm))
            service(arguments.repeats)
            commands(arguments.repeats, Path(warm))
        if arguments.seconds:
            latencies(arguments.seconds, Path(warm))


if __name__ == "__main__":
    main()
