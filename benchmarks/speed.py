"""Speed and memory as ratios within one run, beside river, mabwiser and pymab.

Run from the repository: ``pip install '.[bench]' && python benchmarks/speed.py``.  Takes about three minutes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import peers

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.parts.state.tree import arrays
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.zo_ucb import ZOUCB
from heavybandits.engine.arms_game import ArmsGame
from heavybandits.engine.checkpoints import checkpoint_rounds
from heavybandits.engine.loop import Run
from heavybandits.engine.streams import generator

SGD = hb.make("sgd-ucb")
MEDIAN = hb.make("rucb-median", eps=1, v=1)


def median_seconds(*tasks: Callable[[], object], repeats: int = 7) -> list[float]:
    """Return the median time of each task, measured in turns so that a slow moment of the machine hits all of them."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats):
        for task, record in zip(tasks, times, strict=True):
            start = time.perf_counter()
            task()
            record.append(time.perf_counter() - start)
    return [statistics.median(record) for record in times]


def study(policy: Any, pulls: int, replications: int, workers: int = 1, copies: int = 1) -> Callable[[], object]:
    """Return a task: a whole simulation of ten arms, Cauchy noise included."""
    instance, policies = hb.env2(hb.Cauchy()), {f"copy {i}": policy for i in range(copies)}
    hb.simulate(instance, policies, horizon=pulls, replications=1)  # compiled before it is timed
    return lambda: hb.simulate(instance, policies, horizon=pulls, replications=replications, workers=workers)


def naive_rucb_median(pulls: int) -> Callable[[], object]:
    """Return a task: Robust UCB with the median of means as published, every estimate from scratch in every round."""
    means, noise = np.arange(10) / 10, np.random.default_rng(0).standard_cauchy(pulls)

    def run() -> None:
        rewards: list[list[float]] = [[] for _ in means]
        for t in range(pulls):
            if t < 20:
                arm = t // 2
            else:
                heights = []
                for own in rewards:
                    n = len(own)
                    blocks = max(1, int(min(1 + 16 * np.log(t), n / 2)))
                    size = n // blocks
                    block_means = np.array(own[: blocks * size]).reshape(blocks, size).mean(axis=1)
                    heights.append(np.median(block_means) + np.sqrt(12 * (2 + 32 * np.log(t)) / n))
                arm = int(np.argmax(heights))
            rewards[arm].append(means[arm] + noise[t])

    return run


def per_pull(policy: Any, n_arms: int, pulls: int = 200_000) -> float:
    """Return the median nanoseconds per pull, noise included, with initial pulls made beforehand."""
    first = 4 * n_arms
    means = np.linspace(0, 1, n_arms)
    game, horizon = ArmsGame(hb.Instance(means, hb.Cauchy())), first + 6 * pulls
    run = Run(game, policy, horizon, checkpoint_rounds(horizon), 0)
    progress = run.begin(0, run.memory())
    rng, start, times = generator((0, 0), 0), 0, []
    for block in [first] + 5 * [pulls]:
        begin = time.perf_counter_ns()
        noise = np.lib.stride_tricks.as_strided(hb.Cauchy().sample(rng, block), (block, n_arms), (8, 0))
        run.advance(progress, start, (means, noise, 1.0 - means))
        times.append((time.perf_counter_ns() - begin) / block)
        start += block
    return statistics.median(times[1:])


def online(policy: Any, n_arms: int) -> Callable[[], object]:
    """Return a task: a thousand decisions from Python."""
    agent = hb.Agent(policy, n_arms, horizon=10**6)
    agent.compile()
    rewards = np.random.default_rng(0).standard_cauchy(1000).tolist()
    agent.update_many([arm for arm in range(n_arms) for _ in range(3)], rewards[:3] * n_arms)

    def run() -> None:
        for reward in rewards:
            agent.update(agent.select(), reward)

    return run


def process_seconds(code: str, **env: str) -> float:
    """Return the seconds that a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def nanoseconds(*tasks: tuple[int, Callable[[], object]], repeats: int = 5) -> list[float]:
    """Return the median time of one pull, given how many pulls each task makes."""
    seconds = median_seconds(*(task for _, task in tasks), repeats=repeats)
    return [1e9 * second / pulls for second, (pulls, _) in zip(seconds, tasks, strict=True)]


def own(policy: Any, copies: int = 1) -> tuple[int, Callable[[], object]]:
    """Return a task: two million pulls of each copy of a policy."""
    return 2_000_000 * copies, study(policy, 100_000, 20, copies=copies)


def loops() -> Iterator[list[str]]:
    """Measure the whole loop, noise included, with one thread and ten arms."""
    n, rng = 8192, np.random.default_rng(0)
    draw, sgd, ucb, auto, mean, short_sgd, short_auto, median, naive = nanoseconds(
        (100 * n, lambda: [np.tan(np.pi * (rng.random(n) - 0.5)) for _ in range(100)]),
        own(SGD),
        own(hb.UCB()),
        own(hb.make("auto")),
        own(hb.make("auto-mean")),
        *((200_000, study(policy, 10_000, 20)) for policy in (SGD, hb.make("auto"), MEDIAN)),
        (500, naive_rucb_median(500)),
    )
    yield ["NumPy draws the noise, tan(pi (u - 1/2))", f"{draw:.1f} ns", "1"]
    yield ["`sgd-ucb`, noise included", f"{sgd:.1f} ns", f"{sgd / draw:.1f} x the draw (at most 8)"]
    yield ["`ucb`, noise included", f"{ucb:.1f} ns", f"{ucb / draw:.1f} x the draw"]
    yield ["`auto`", f"{auto:.0f} ns", f"{auto / sgd:.1f} x `sgd-ucb` (at most 5)"]
    yield ["`auto`, 10,000 pulls", f"{short_auto:.0f} ns", f"{short_auto / short_sgd:.1f} x `sgd-ucb` (at most 5)"]
    yield ["`auto-mean`", f"{mean:.0f} ns", f"{mean / auto:.1f} x `auto` (at most 2)"]
    yield ["`rucb-median`, 10,000 pulls", f"{median:.0f} ns", f"{median / sgd:.1f} x `sgd-ucb` (at most 30)"]
    yield ["`rucb-median`, naive NumPy, 500 pulls", f"{naive:.0f} ns", f"{naive / sgd:.0f} x `sgd-ucb`"]


def against_peers() -> Iterator[list[str]]:
    """Measure each peer's loop in turns with ours, which plays as many policies at once as the peer does."""
    ours = {copies: (own(SGD, copies), own(hb.UCB(), copies)) for copies in (1, 16)}
    for label, copies, pulls, task in peer_loops():
        peer, sgd, ucb = nanoseconds((pulls, task), *ours[copies])
        yield [label, f"{peer:,.0f} ns", f"{sgd:.1f} ns", f"{peer / sgd:,.0f}", f"{peer / ucb:,.0f}"]


def peer_loops() -> Iterator[tuple[str, int, int, Callable[[], object]]]:
    """Return the loops of the peers: those they document, and pymab's inner Rust loop, which it does not."""
    from river import bandit

    class Casino:
        """The part of a Gymnasium environment that river needs."""

        action_space = SimpleNamespace(n=10, seed=lambda _: None)

        def reset(self, **_: object) -> None:
            self.noise = iter(np.random.default_rng(0).standard_cauchy(30_000).tolist())

        def step(self, arm: int) -> tuple[None, float, bool, bool, dict[str, object]]:
            return None, arm / 10 + next(self.noise), False, False, {}

    def river(policy: Any) -> Callable[[], object]:
        def run() -> None:
            runs = bandit.evaluate(policies=[policy.clone()], env=Casino(), n_episodes=1)
            for _ in zip(range(20_000), runs, strict=False):
                pass

        return run

    def pymab(label: str, pulls: int, copies: int = 1, **how: Any) -> tuple[str, int, int, Callable[[], object]]:
        made = peers.pymab_loop(10, pulls, copies=copies, **how)
        return f"pymab: UCB, {label}", copies, made, lambda: peers.pymab_loop(10, pulls, copies=copies, **how)

    evaluate = "`bandit.evaluate`, Cauchy"
    yield f"river: UCB, {evaluate}", 1, 20_000, river(bandit.UCB(delta=1, seed=0))
    yield f"river: EpsilonGreedy, {evaluate}", 1, 20_000, river(bandit.EpsilonGreedy(0.1, seed=0))
    label = "mabwiser: UCB1, `predict` and `partial_fit`, Cauchy"
    yield label, 1, 1000, lambda: peers.mabwiser_loop(10, 1000, noise="cauchy")
    yield pymab("`Experiment.run`, Gaussian", 20_000, how="public")
    yield pymab("`Experiment.run` with 16 policies at once, Gaussian", 40_000, 16, how="public")
    yield pymab("inner Rust object driven from Python, Cauchy", 100_000, how="pair", noise="cauchy")
    yield pymab("inner Rust loop, 16 policies at once, Gaussian", 500_000, 16, how="rust")


def growth() -> Iterator[list[str]]:
    """Measure how the cost of a pull grows with the number of arms."""
    sizes = (10, 100, 1000, 10_000, 100_000)
    yield ["", *(f"K = {k:,}" for k in sizes), "last / first (at most 30)"]
    fo, zo = FOUCB(ClippedSGD()), ZOUCB(TwoPoint(init_pulls=3))
    for name, policy in (("sgd-ucb", SGD), ("ucb", hb.UCB()), ("fo-ucb", fo), ("zo-ucb", zo)):
        costs = [per_pull(policy, k) for k in sizes]
        yield [f"`{name}`", *(f"{cost:.0f} ns" for cost in costs), f"{costs[-1] / costs[0]:.1f}"]


def decisions() -> Iterator[list[str]]:
    """Measure one online decision, select and update, from Python."""
    tasks = {(name, k): online(policy, k) for name, policy in (("sgd-ucb", SGD), ("ucb", hb.UCB())) for k in (10, 1000)}
    seconds = dict(zip(tasks, median_seconds(*tasks.values(), repeats=15), strict=True))
    ours = {key: 1e6 * value / 1000 for key, value in seconds.items()}
    for name in ("sgd-ucb", "ucb"):
        yield [f"`{name}`", f"{ours[name, 10]:.2f} us", f"{ours[name, 1000]:.2f} us", ""]
    for name, make in (
        ("pymab UCB", lambda k: peers.pymab_pair(k, native=False)),
        ("pymab UCB, inner Rust object", lambda k: peers.pymab_pair(k, native=True)),
        ("river UCB", peers.river_pair),
        ("river EpsilonGreedy", lambda k: peers.river_pair(k, "greedy")),
        ("mabwiser UCB1", peers.mabwiser_pair),
    ):
        cost = [1e6 * peers.seconds_per_pull(make(k), k, 1000 if k == 10 else 100) for k in (10, 1000)]
        yield [name, f"{cost[0]:.2f} us", f"{cost[1]:.2f} us", f"{cost[0] / ours['sgd-ucb', 10]:.1f} x `sgd-ucb`"]


def memory() -> Iterator[list[str]]:
    """Measure the bytes of a state, and the peak memory of a short and of a long run."""
    for name in ("ucb", "sgd-ucb", "sgd-ucb-smom", "thompson-gaussian", "kl-ucb"):
        policy = hb.make(name)
        small, large = (sum(array.nbytes for _, array in arrays(policy.init(k, 10**6))) for k in (1000, 101_000))
        yield [f"`{name}` state", f"{(large - small) / 100_000:.0f} bytes per arm"]
    instance = hb.env2(hb.Cauchy())
    peaks = []
    for pulls in (300_000, 3_000_000):
        hb.simulate(instance, {"p": SGD}, horizon=pulls, replications=1, workers=1)
        tracemalloc.start()
        hb.simulate(instance, {"p": SGD}, horizon=pulls, replications=1, workers=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    yield [
        "`simulate`, 300,000 pulls and 3,000,000 pulls",
        f"peaks of {peaks[0] / 1e3:.0f} kB and {peaks[1] / 1e3:.0f} kB",
    ]


def starting() -> Iterator[list[str]]:
    """Measure the latency of first use, in fresh processes."""
    timed = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    imports = [process_seconds(timed.format("import heavybandits")) for _ in range(7)]
    numpy = [process_seconds(timed.format("import numpy")) for _ in range(7)]
    yield ["`import heavybandits`", f"{statistics.median(imports):.2f} s (at most 0.3)",
           f"`import numpy` {statistics.median(numpy):.2f} s"]  # fmt: skip
    # numba's own start (reading its registries) is not compilation, so compile a trivial function first
    code = """
import time, numba, numpy as np, heavybandits as hb
from heavybandits.engine.arms_game import ArmsGame
from heavybandits.engine.checkpoints import checkpoint_rounds
from heavybandits.engine.loop import Run
numba.njit(lambda x: x + 1)(1.0)
start = time.perf_counter()
Run(ArmsGame(hb.env2(hb.Cauchy())), {}, 100, checkpoint_rounds(100), 0)
print(time.perf_counter() - start)
"""
    for name in ("hb.UCB()", "hb.make('sgd-ucb')", "hb.make('rucb-median', eps=1, v=1)", "hb.ThompsonGaussian()"):
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (process_seconds(code.format(name), NUMBA_CACHE_DIR=cache) for _ in range(2))
        yield [f"compiling `{name}`", f"{cold:.2f} s (at most 3)", f"second process {warm:.3f} s (at most 0.1)"]


def workers() -> Iterator[list[str]]:
    """Measure threads in turns with processes that do the same and share nothing."""
    code = """
import speed, sys
task = speed.study(speed.SGD, 100_000, 200)
for line in sys.stdin:
    task()
    print(flush=True)
"""
    busy = [subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip

    def together(processes: list[subprocess.Popen[str]]) -> None:
        for process in processes:
            print(file=process.stdin, flush=True)
        for process in processes:
            process.stdout.readline()  # type: ignore[union-attr]

    together(busy)  # all have started
    one, two, alone, both = median_seconds(
        study(SGD, 100_000, 400, workers=1),
        study(SGD, 100_000, 400, workers=2),
        lambda: together(busy[:1]),
        lambda: together(busy),
        repeats=15,
    )
    for process in busy:
        process.communicate()
    wall, work = time.perf_counter(), time.process_time()
    study(SGD, 100_000, 2000, workers=2)()
    wall, work = time.perf_counter() - wall, time.process_time() - work
    yield ["`sgd-ucb`, two workers", f"{one / two:.2f} x one worker (at least 1.7)"]
    yield ["the two wait for each other", f"{1 - work / (2 * wall):.1%} of the time"]
    yield ["`sgd-ucb`, two processes", f"{2 * alone / both:.2f} x one process: the machine's own limit"]


def main() -> None:
    """Print all tables as Markdown."""
    for title, head, rows in (
        ("Loop", ["one pull, K = 10, one thread", "median", "ratio"], loops()),
        (
            "Peers",
            ["one pull, K = 10, one thread, noise included", "peer", "`sgd-ucb`, Cauchy", "ratio", "ratio to `ucb`"],
            against_peers(),
        ),
        ("Growth with the number of arms", None, growth()),
        ("Online decision", ["select and update", "K = 10", "K = 1000", "K = 10, ratio"], decisions()),
        ("Workers", ["", ""], workers()),
        ("Memory", ["", ""], memory()),
        ("Start", ["", "first process", ""], starting()),
    ):
        print(f"\n### {title}\n")
        table = rows if head is None else (row for part in ([head], rows) for row in part)
        for place, row in enumerate(table):
            print("| " + " | ".join(row) + " |", flush=True)
            if place == 0:
                print("|" + "---|" * len(row))


if __name__ == "__main__":
    main()
