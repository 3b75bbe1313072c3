"""The loop: many replications of many policies on one instance, on the same noise, compiled and in threads.

Streams come from keys.  The noise of a replication depends on (seed, instance, replication), and is the same for all
policies; a policy's own draws on (seed, instance, policy, replication).  So a result depends neither on the number of
workers, nor on how replications are cut into work items, nor on which policies run beside it.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from .._validate import count, whole
from ..algorithms.kit.state import SMOOTHING, reseed, streams
from ..protocols import FloatArray, IntArray, Policy
from ..world.instances import Instance
from .checkpoints import checkpoint_rounds
from .compile.compiled import compiled, without_text
from .compile.randomness import uses_rng
from .progress import progress_bar
from .results import Result

# Rounds whose noise is drawn at once, and how many numbers that may be if each arm has a law of its own.  Long enough
# that threads seldom meet at the interpreter lock, short enough for the cache.  They are part of what a seed means, so
# they never change.
BLOCK, NUMBERS = 131_072, 4_194_304


def _nothing() -> None:
    pass


def simulate(
    instance: Instance,
    policies: Mapping[str, Policy[Any]],
    *,
    horizon: int,
    replications: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Sequence[int] | str = "log",
    progress: bool = False,
) -> Result:
    """Play each policy ``replications`` times for ``horizon`` pulls on the same noise.

    Parameters
    ----------
    instance
        The bandit.
    policies
        Policies by the label they have in the result.
    horizon
        Pulls in a replication.
    replications
        Independent repetitions.
    seed
        Any whole number; the same seed gives the same result, whatever the machine and the number of workers.
    workers
        Threads; by default one per core.
    checkpoints
        Rounds after which regret is recorded: ``"log"`` for about a hundred log-spaced ones, ``"all"`` for every round,
        ``"end"`` for the last and what the slope there needs, or increasing numbers; the last is always among them.
    progress
        Whether to show a progress bar, in a terminal or a notebook.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.Instance(means=[0, 1, 2], noise=hb.Cauchy(scale=1.0))
    >>> policies = {"UCB": hb.UCB(c=1.0), "SGD-UCB": hb.ClippedSGDUCB(m=0, n=1)}
    >>> result = hb.simulate(instance, policies, horizon=1000, replications=10, seed=0)
    >>> result.regret.dims
    ('policy', 'replication', 'round')
    """
    if not isinstance(instance, Instance):
        raise TypeError(f"simulate: instance must be an Instance, got {instance!r}")
    if not isinstance(policies, Mapping) or not policies:
        raise TypeError(f"simulate: policies must be a mapping of labels to policies, at least one, got {policies!r}")
    horizon = count("simulate", "horizon", horizon)
    replications = count("simulate", "replications", replications)
    seed = whole("simulate", "seed", seed)
    workers = (os.cpu_count() or 1) if workers is None else count("simulate", "workers", workers)
    rounds = checkpoint_rounds(horizon, checkpoints)
    runs = {label: Run(instance, policy, horizon, rounds, seed) for label, policy in policies.items()}
    with progress_bar(replications) if progress else nullcontext(_nothing) as advance:
        played = play_chunk(instance, list(runs.values()), horizon, seed, range(replications), workers, advance)
    return Result(instance, tuple(runs), rounds, *played, horizon=horizon, seed=seed)


class Run:
    """A policy made ready to be played: compiled, and with the key of its own random stream."""

    def __init__(self, instance: Instance, policy: Policy[Any], horizon: int, rounds: IntArray, seed: int) -> None:
        for method in ("init", "select", "update"):
            if not isinstance(policy, tuple) or not callable(getattr(policy, method, None)):
                raise TypeError(f"simulate: policies must be policies such as hb.UCB(), got {policy!r}")
        self.policy = policy
        self.n_arms, self.horizon = instance.n_arms, horizon
        self.rounds = rounds
        self.random = uses_rng(policy)
        self.key = stream_key(seed, instance.key, repr(policy))
        self._bare = without_text(policy)
        state = policy.init(self.n_arms, self.horizon)
        self._seeds = bool(list(streams(state)))
        self._kernel = compiled(
            play, self._bare, state, np.random.default_rng() if self.random else None,
            0, np.zeros(1), _columns(np.zeros(1), 2), np.zeros(1), rounds, np.zeros(1), np.zeros(1, np.int64),
            np.zeros(1), np.zeros(1, np.int64),
        )  # fmt: skip

    def begin(self, replication: int) -> Progress:
        """Return a replication before its first pull."""
        rng = generator(self.key, replication) if self.random else None
        state = self.policy.init(self.n_arms, self.horizon)
        if self._seeds:
            seed, *key = self.key
            reseed(state, np.random.SeedSequence(seed, spawn_key=(*key, replication, *SMOOTHING)))
        return Progress(state, rng, np.zeros(len(self.rounds)),
                        np.zeros(self.n_arms, np.int64), np.zeros(1), np.zeros(1, np.int64))  # fmt: skip

    def advance(self, progress: Progress, start: int, means: FloatArray, noise: FloatArray, gaps: FloatArray) -> int:
        """Play as many rounds as there is noise, and return the nanoseconds that took."""
        state, rng, *record = progress
        before = time.perf_counter_ns()
        try:
            self._kernel(self._bare, state, rng, start, means, noise, gaps, self.rounds, *record)
        except Exception as error:
            raise type(error)(f"{type(self.policy).__name__}: {error}") from None
        return time.perf_counter_ns() - before


class Progress(NamedTuple):
    """A replication under way."""

    state: Any
    rng: np.random.Generator | None
    regret: FloatArray  # at checkpoints
    pulls: IntArray
    total: FloatArray  # regret so far
    recorded: IntArray  # checkpoints passed


def select(policy: Any, state: Any, t: int, rng: Any) -> int:
    """Call the policy's own method, in compiled copies of :func:`play`."""
    return policy.select(state, t, rng)  # type: ignore[no-any-return]


def update(policy: Any, state: Any, arm: int, reward: float) -> None:
    """Call the policy's own method, in compiled copies of :func:`play`."""
    policy.update(state, arm, reward)


def play(
    policy: Any, state: Any, rng: Any, start: int, means: FloatArray, noise: FloatArray, gaps: FloatArray,
    rounds: IntArray, regret: FloatArray, pulls: IntArray, total: FloatArray, recorded: IntArray,
) -> None:  # fmt: skip
    """Play one round per row of ``noise``; compiled for each policy."""
    sum_of_gaps, checkpoint = total[0], recorded[0]
    for i in range(noise.shape[0]):
        arm = select(policy, state, start + i, rng)
        if not 0 <= arm < len(means):
            raise IndexError("select must return the number of an arm, from 0 to K - 1")
        update(policy, state, arm, means[arm] + noise[i, arm])
        pulls[arm] += 1
        sum_of_gaps += gaps[arm]
        if start + i + 1 == rounds[checkpoint]:
            regret[checkpoint] = sum_of_gaps
            checkpoint += 1
    total[0], recorded[0] = sum_of_gaps, checkpoint


def play_chunk(
    instance: Instance,
    runs: list[Run],
    horizon: int,
    seed: int,
    replications: range,
    workers: int = 1,
    done: Callable[[], None] = _nothing,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Play these runs and replications; return regret at checkpoints, pulls per arm and nanoseconds per pull."""
    pieces = [(first, end, np.array(shifts, dtype=float), np.array(gaps, dtype=float))
              for first, end, shifts, gaps in instance.pieces(horizon)]  # fmt: skip
    regret = np.empty((len(runs), len(replications), len(runs[0].rounds)))
    pulls = np.empty((len(runs), len(replications), instance.n_arms), np.int64)
    duration = np.zeros((len(runs), len(replications)))
    noise_key, block = stream_key(seed, instance.key), block_length(instance)

    def play_one(number: int) -> None:
        rng, fresh = generator(noise_key, replications[number]), instance.begin()
        progress = [run.begin(replications[number]) for run in runs]
        for start in range(0, horizon, block):
            noise = draw_noise(fresh, rng, min(block, horizon - start))
            for first, end, shifts, gaps in pieces:
                part = noise[max(first - start, 0) : max(end - start, 0)]
                for row, run in enumerate(runs if len(part) else ()):
                    duration[row, number] += run.advance(progress[row], max(first, start), shifts, part, gaps)
        for row in range(len(runs)):
            regret[row, number], pulls[row, number] = progress[row].regret, progress[row].pulls
        done()

    _in_threads(play_one, len(replications), workers)
    return regret, pulls, duration / horizon


def _in_threads(task: Callable[[int], None], times: int, workers: int) -> None:
    """Do a task for each number below ``times``; whoever is free takes the next.  An error or Ctrl-C ends it."""
    if workers == 1:
        for number in range(times):
            task(number)
        return
    waiting, over = iter(range(times)), threading.Event()

    def work() -> None:
        try:
            for number in waiting:
                if over.is_set():
                    break
                task(number)
        except BaseException:
            over.set()
            raise

    with ThreadPoolExecutor(workers) as executor:
        try:
            for future in [executor.submit(work) for _ in range(min(workers, times))]:
                future.result()
        finally:
            over.set()  # or the executor, which waits for all, would wait for what has not begun


def block_length(instance: Instance) -> int:
    """Return how many rounds of noise to draw at once, so that memory stays small however many laws there are."""
    return BLOCK if instance.shared_noise else min(BLOCK, max(1, NUMBERS // instance.n_arms))


def draw_noise(instance: Instance, rng: np.random.Generator, size: int) -> FloatArray:
    """Draw the noise of ``size`` rounds, a column per arm; a law that all arms share is drawn once per round."""
    if instance.shared_noise:
        drawn = _draw(instance.noises[0], rng, size)
        return _columns(drawn, instance.n_arms)
    return np.stack([_draw(noise, rng, size) for noise in instance.noises], axis=1)


def _draw(noise: Any, rng: np.random.Generator, size: int) -> FloatArray:
    drawn = np.ascontiguousarray(noise.sample(rng, size), dtype=float)
    if drawn.shape != (size,) or math.isnan(drawn.max()):
        raise ValueError(
            f"noise {noise!r}: sample(rng, {size}) must return {size} numbers that are not NaN, got {drawn!r}"
        )
    return drawn


def _columns(drawn: FloatArray, n_arms: int) -> FloatArray:
    """Return the same column for every arm, without a copy."""
    return np.ndarray((len(drawn), n_arms), drawn.dtype, drawn, strides=(drawn.itemsize, 0))


def stream_key(seed: int, *names: str) -> tuple[int, ...]:
    """Return the numbers that key the random streams of whatever has these names, under this seed."""
    digest = hashlib.sha256("\n".join(names).encode()).digest()
    return (seed, *np.frombuffer(digest[:16], "<u4").tolist())


def generator(key: tuple[int, ...], replication: int) -> np.random.Generator:
    """Return the random stream of a replication."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(key[0], spawn_key=(*key[1:], replication))))
