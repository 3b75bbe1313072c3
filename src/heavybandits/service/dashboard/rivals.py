"""What other policies would have earned, replayed in another process so that decisions need not wait."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from starlette.concurrency import run_in_threadpool

from ..._format import number
from ...protocols import FloatArray
from ..replicas.learners.policy import experiment_policy
from ..spec import QuantileGoal
from .known import Known

if TYPE_CHECKING:
    from ...diagnosis.tails import Estimate

REPLAY_KEPT_SECONDS = 300.0  # seconds for which a replay is shown before it is made again
MOST_REPLAYED_ARMS = 100  # arms; a replay of a thousand takes minutes


class Replayed(NamedTuple):
    """Earnings per decision by policy, as text, or why there are none."""

    rows: list[tuple[str, str, str, str]]
    note: str


class Rivals:
    """Replays of experiments, at most one at a time, kept for a while."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._kept: dict[str, tuple[float, asyncio.Task[Replayed]]] = {}

    async def replay(self, name: str, known: Known) -> Replayed:
        """Return the latest replay of an experiment, or a new one."""
        if known.has_context:
            return Replayed([], "Experiments with contexts or points are not replayed, because rewards depend on them.")
        if len(known.totals.arms) > MOST_REPLAYED_ARMS:
            return Replayed(
                [], f"Experiments with more than {MOST_REPLAYED_ARMS} arms are not replayed: that takes minutes."
            )
        now = time.monotonic()
        self._kept = {key: one for key, one in self._kept.items() if now - one[0] < REPLAY_KEPT_SECONDS}
        try:
            if name not in self._kept:
                self._kept[name] = now, asyncio.create_task(self._replayed(known))
            found = await asyncio.shield(self._kept[name][1])
        except Exception:  # the process ended or was killed
            self.close()
            found = Replayed([], "The replay did not finish; it will be tried again soon.")
        if not found.rows:
            self._kept.pop(name, None)
        return found

    async def _replayed(self, known: Known) -> Replayed:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        pool, policy = self._pool, experiment_policy(known.spec)
        samples = await run_in_threadpool(lambda: [known.sample(name) for name in known.totals.arms])
        goal, sign = known.goal, known.spec.sign
        if isinstance(known.spec.goal, QuantileGoal):
            return Replayed([], f"Policies are not replayed for a {goal}.")
        return await asyncio.get_running_loop().run_in_executor(pool, replayed_policies, policy, goal, samples, sign)

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            processes = list(self._pool._processes.values())  # until Python 3.14, nothing public ends them
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()  # or the server would live on until the replay is done
            self._pool = None


def replayed_policies(policy: Any, goal: str, samples: list[FloatArray], sign: int = 1) -> Replayed:
    """Play the experiment's policy and UCB on half of the samples, and pay them and simpler choices by the other half.

    If ``sign`` is -1, the samples are costs.

    Examples
    --------
    >>> import heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> found = replayed_policies(hb.UCB(), "mean", [rng.normal(mean, 1, 100) for mean in (0.0, 2.0)])
    >>> [label for label, *_ in found.rows]
    ['this policy', 'UCB', 'the best arm, always', 'an arm at random']
    """
    from ...algorithms.registry import make
    from ...diagnosis.advice import measured_ucb
    from ...diagnosis.replay import ALWAYS_BEST, AT_RANDOM, IN_FULL, cap_of, replay_rewards
    from ...diagnosis.shape import measure

    samples = [sign * sample[np.isfinite(sample)] for sample in samples if np.isfinite(sample).any()]
    if len(samples) < 2:
        return Replayed([], "There is nothing to replay until two arms have rewards.")
    residuals = np.concatenate([sample - np.median(sample) for sample in samples])
    ucb = measured_ucb(measure(residuals), residuals)
    policies = {"this policy": policy, "UCB": make("ucb", **ucb.parameters)}
    cap = cap_of(samples, measure(residuals)) if goal == "mean" else IN_FULL
    found = replay_rewards(samples, policies, goal, cap=cap)
    if not found.shares:
        return Replayed([], found.note)
    rows = [(label, *_band(found.earned(label), sign),
             "-" if label == AT_RANDOM else _band(found.lead(label, AT_RANDOM), sign)[1])
            for label in (*policies, ALWAYS_BEST, AT_RANDOM)]  # fmt: skip
    sure = found.is_ahead("this policy", AT_RANDOM)
    does = "costs less" if sign < 0 else "earns more"
    said = "" if sure else f"So far nothing tells whether this policy {does} than an arm at random. "
    most = max(sign * cap[0], sign * cap[1])
    counted = f"{'Costs' if sign < 0 else 'Rewards'} count up to {number(most)}. " if most < math.inf else ""
    return Replayed(rows, f"{said}Each row is paid by rewards that its choices did not see. {counted}")


def _band(earned: Estimate, sign: int) -> tuple[str, str]:
    low, high = sorted((sign * earned.low, sign * earned.high))
    return number(sign * earned.value), f"{number(low)} to {number(high)}"
