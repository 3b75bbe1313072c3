"""The loop: many replications of many policies on one instance, on the same noise, compiled and in threads.

Streams come from keys.  The noise of a replication depends on (seed, instance, replication) and is the same for all
policies; a policy's own draws depend on (seed, instance, policy, replication).  So a result depends neither on the
number of workers, nor on how replications are split into chunks, nor on which policies run beside it.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np

from .._validate import count, whole
from ..algorithms.parts.state.tree import SMOOTHING, reseed
from ..jit.compiled import compiled, without_text
from ..protocols import IntArray, LinearPolicy, LipschitzPolicy, Policy, is_randomised, require_kind
from ..results.result import Chunk, Result
from ..world.delays import Delay, Delays
from ..world.instances import Instance
from ..world.linear_instances import LinearInstance
from ..world.lipschitz_instances import LipschitzInstance
from .arms_game import ArmsGame
from .checkpoints import checkpoint_rounds
from .game import Game
from .late_arms_game import LateArmsGame
from .late_linear_game import LateLinearGame
from .linear_game import LinearGame
from .lipschitz_game import LipschitzGame
from .memory import Memory
from .progress import bar_shown, counter, say
from .streams import generator, seeds, stream_key
from .witness import Witness, named_in

GAMES: dict[type, Callable[[Any], Game]] = {
    Instance: ArmsGame, LinearInstance: LinearGame, LipschitzInstance: LipschitzGame,
}  # fmt: skip
LATE_GAMES: dict[type, Callable[[Any, Delays], Game]] = {Instance: LateArmsGame, LinearInstance: LateLinearGame}


def _nothing() -> None:
    pass


def simulate(
    instance: Instance | LinearInstance | LipschitzInstance,
    policies: Mapping[str, Policy[Any] | LinearPolicy[Any] | LipschitzPolicy[Any]],
    *,
    horizon: int,
    replications: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Sequence[int] | str = "log",
    progress: bool = False,
    delay: Delay = 0,
    lost: float = 0.0,
    window: int | None = None,
    evidence: bool = False,
) -> Result:
    """Play each policy ``replications`` times for ``horizon`` pulls on the same noise.

    Parameters
    ----------
    instance
        The bandit.
    policies
        Policies of the instance's kind, by their label in the result.
    horizon
        Pulls per replication.
    replications
        Independent repetitions.
    seed
        Any whole number; the same seed gives the same result, whatever the machine and the number of workers.
    workers
        Number of threads; by default one per core.
    checkpoints
        Rounds after which regret is recorded: ``"log"`` for about a hundred log-spaced ones, ``"all"`` for every round,
        ``"end"`` for the last round and one at nine tenths of the horizon, or increasing numbers.  The last round is
        always included.
    progress
        Whether to show a progress bar, in a terminal or a notebook.
    delay
        How many rounds late rewards come: a number, a law such as ``hb.Pareto(1.1, scale=10)``, whose draws are rounded
        down, or ``hb.Batches(100)``.  Delays are the same for all policies.  Regret counts when a decision is made.
    lost
        Share of rewards that never come.
    window
        Number of rounds after which a decision without a reward is given up, as by ``Agent.cancel``; by default never.
        The policy still learns from a reward that comes later.
    evidence
        Whether to measure after how many decisions the rewards show which arm is the best, as ``hb.compare`` would say:
        see :attr:`.Result.named`.  For K arms only.  It keeps all rewards of a replication, and changes nothing else.

    Examples
    --------
    >>> import heavybandits as hb
    >>> instance = hb.Instance(means=[0, 1, 2], noise=hb.Cauchy(scale=1.0))
    >>> policies = {"UCB": hb.UCB(c=1.0), "SGD-UCB": hb.ClippedSGDUCB(m=0, n=1)}
    >>> result = hb.simulate(instance, policies, horizon=1000, replications=10, seed=0)
    >>> result.regret.dims
    ('policy', 'replication', 'round')
    >>> coins = hb.Instance(laws=[hb.Bernoulli(0.1), hb.Bernoulli(0.4)], goal="mean")
    >>> policies = {"identify": hb.make("identify")}
    >>> result = hb.simulate(coins, policies, horizon=1000, replications=2, seed=1, evidence=True)
    >>> result.named["arm"].values.tolist()
    [[1, 1]]
    """
    game = game_of(instance, Delays(delay, lost, window))
    if not isinstance(policies, Mapping) or not policies:
        raise TypeError(f"simulate: policies must be a mapping of labels to policies, at least one, got {policies!r}")
    horizon = count("simulate", "horizon", horizon)
    replications = count("simulate", "replications", replications)
    seed = whole("simulate", "seed", seed)
    workers = (os.cpu_count() or 1) if workers is None else count("simulate", "workers", workers)
    rounds = checkpoint_rounds(horizon, checkpoints)
    if evidence and not isinstance(instance, Instance):
        raise ValueError(f"simulate: evidence must be False except for an Instance, got {evidence!r} for {instance!r}")
    arms, decisions = np.full((len(policies), replications), -1), np.full((len(policies), replications), math.inf)

    def note(row: int, number: int, state: Any) -> None:
        if evidence and isinstance(instance, Instance):
            arms[row, number], decisions[row, number] = named_in(state, instance.n_arms, instance.goal)

    with bar_shown(replications) if progress else nullcontext() as bar:
        runs = {}
        for label, policy in policies.items():
            say(f"compiling {label}")
            runs[label] = Run(game, policy, horizon, rounds, seed, bool(evidence))
        say("playing")
        done = counter(bar, replications)
        played = play_chunk(game, list(runs.values()), horizon, seed, range(replications), workers, done, note)
    return Result(
        instance, labels=tuple(runs), rounds=rounds, regret=played.regret, pulls=played.pulls,
        wall_time=played.wall_time, horizon=horizon, seed=seed, named=(arms, decisions) if evidence else None,
    )  # fmt: skip


def game_of(instance: Any, delays: Delays | None = None) -> Game:
    """Return the game for an instance of any kind, whose rewards may come late.

    Examples
    --------
    >>> import heavybandits as hb
    >>> game_of(hb.env1(hb.Cauchy())).kind
    'arms'
    """
    for kind, late in LATE_GAMES.items():
        if delays and isinstance(instance, kind):
            return late(instance, delays)
    if delays:
        can = " or a ".join(kind.__name__ for kind in LATE_GAMES)
        raise ValueError(f"simulate: delay and lost must be 0 except for an {can}, got {delays!r} for {instance!r}")
    for kind, game in GAMES.items():
        if isinstance(instance, kind):
            return game(instance)
    known = ", ".join(kind.__name__ for kind in GAMES)
    raise TypeError(f"simulate: instance must be one of {known}, got {instance!r}")


class Run:
    """A policy ready to be played: compiled, and with the key of its own random stream."""

    def __init__(
        self, game: Game, policy: Any, horizon: int, rounds: IntArray, seed: int, witnessed: bool = False
    ) -> None:
        for method in ("init", "select", "update"):
            if not isinstance(policy, tuple) or not callable(getattr(policy, method, None)):
                raise TypeError(f"simulate: policies must be policies such as hb.UCB(), got {policy!r}")
        require_kind("simulate: policies", game.kind, policy)
        policy = Witness(policy) if witnessed else policy
        self.game, self.policy, self.horizon, self.rounds = game, policy, horizon, rounds
        self.random = is_randomised(policy)
        self.key = stream_key(seed, game.key, repr(policy))
        self._bare = without_text(policy)
        state = game.initial_state(policy, horizon)
        rng = np.random.default_rng() if self.random else None
        self._kernel = compiled(
            game.play, self._bare, state, rng, 0, rounds, *game.blank_record(len(rounds)), *game.example_block()
        )

    def memory(self) -> Memory:
        """Return memory for one replication at a time; each thread needs its own."""
        return Memory(lambda: self.game.initial_state(self.policy, self.horizon))

    def begin(self, replication: int, memory: Memory) -> tuple[Any, np.random.Generator | None, Any]:
        """Return a replication before its first round: state, generator and record."""
        rng = generator(self.key, replication) if self.random else None
        state = memory.renewed()
        if memory.streams:
            reseed(memory.streams, seeds(self.key, replication, *SMOOTHING))
        return state, rng, self.game.blank_record(len(self.rounds))

    def advance(self, progress: tuple[Any, Any, Any], start: int, block: tuple[Any, ...]) -> int:
        """Play the rounds of a block and return the nanoseconds it took."""
        state, rng, record = progress
        took, stopped = 0, True
        while stopped:
            before = time.perf_counter_ns()
            try:
                stopped = self._kernel(self._bare, state, rng, start, self.rounds, *record, *block)
                took += time.perf_counter_ns() - before
                if stopped:
                    self.game.complete(self.policy, state, record)
            except Exception as error:
                raise type(error)(f"{type(self.policy).__name__}: {error}") from None
        return took


def play_chunk(
    game: Game,
    runs: list[Run],
    horizon: int,
    seed: int,
    replications: range,
    workers: int = 1,
    done: Callable[[], None] = _nothing,
    ended: Callable[[int, int, Any], None] = lambda row, number, state: None,
) -> Chunk:
    """Play these replications of the runs; ``ended`` gets the numbers of run and replication, and the last state."""
    regret = np.empty((len(runs), len(replications), len(runs[0].rounds)))
    pulls = np.empty((len(runs), len(replications), game.n_arms), np.int64)
    took = np.zeros((len(runs), len(replications)))

    def player() -> Callable[[int], None]:
        memories = [run.memory() for run in runs]

        def play_one(number: int) -> None:
            replication = replications[number]
            progress = [run.begin(replication, memory) for run, memory in zip(runs, memories, strict=True)]
            for start, block in game.blocks(seed, replication, horizon):
                for row, run in enumerate(runs):
                    took[row, number] += run.advance(progress[row], start, block)
            for row, (state, _, record) in enumerate(progress):
                regret[row, number], pulls[row, number] = record.regret, record.pulls
                ended(row, number, state)
            done()

        return play_one

    _in_threads(player, len(replications), workers)
    return Chunk(regret=regret, pulls=pulls, wall_time=took / horizon)


def _in_threads(worker: Callable[[], Callable[[int], None]], times: int, workers: int) -> None:
    """Do the task of a ``worker()`` for each number below ``times``; a thread that is free takes the next one.

    Each thread has its own worker.  An error or Ctrl-C stops all of them.
    """
    if workers == 1:
        task = worker()
        for number in range(times):
            task(number)
        return
    waiting, over = iter(range(times)), threading.Event()

    def work() -> None:
        try:
            task = worker()
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
            over.set()  # otherwise the executor would also wait for the tasks that have not begun
