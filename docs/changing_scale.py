"""Print a table of ``docs/structured.md``: regret under noise whose scale changes from round to round.

This is the second game of Huang, Zhong, Wang and Yang (2023): that of ``heavybandits run huang-2023``, except that the
noise of a round is multiplied by 10^U with U uniform on [0, 2].  Heavy-OFUL is played twice: told the scale of each
round, as in the paper, and told a moment of the noise of all rounds, as the other policies are.  Run ``python
docs/changing_scale.py``, which takes a minute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.linear.heavy_oful import HeavyOFUL
from heavybandits.jit.compiled import compiled, without_text
from heavybandits.protocols import FloatArray

HORIZON, REPLICATIONS, SPAN, ORDER = 10_000, 10, 2.0, 1.99
ROWS, THETA = hb.Cube(20, 10), np.full(10, 0.1**0.5)
# E|10^U xi|^p = E 10^(pU) E|xi|^p
GROWN = (10.0 ** (SPAN * ORDER) - 1.0) / (SPAN * ORDER * math.log(10.0))


def play(policy: Any, state: Any, rng: Any, contexts: Any, means: Any, noise: Any, scales: Any, rows: Any) -> None:
    """Play a policy that is not told the scales."""
    for t in range(len(noise)):
        rows[t] = policy.select(state, contexts[t], t, rng)
        policy.update(state, contexts[t, rows[t]], means[t, rows[t]] + scales[t] * noise[t])


def play_told(policy: Any, state: Any, rng: Any, contexts: Any, means: Any, noise: Any, scales: Any, rows: Any) -> None:
    """Play Heavy-OFUL, and tell it the scale of each reward."""
    for t in range(len(noise)):
        rows[t] = policy.select(state, contexts[t], t, rng)
        told = HeavyOFUL(
            policy.eps, policy.nu * scales[t], policy.bound, policy.ridge, policy.delta, policy.beta_scale,
            policy.intercept,
        )  # fmt: skip
        told.update(state, contexts[t, rows[t]], means[t, rows[t]] + scales[t] * noise[t])


def regrets(policy: Any, loop: Any) -> FloatArray:
    """Return the regret of each replication; all policies meet the same rows and the same noise."""
    found = []
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng(seed)
        contexts = hb.Held(ROWS, 51).sample(rng, HORIZON)
        means = contexts @ THETA
        noise, scales = rng.standard_t(2.0, HORIZON), 10.0 ** rng.uniform(0.0, SPAN, HORIZON)
        rows, state = np.zeros(HORIZON, np.int64), policy.init(10, HORIZON)
        arguments = (without_text(policy), state, None, contexts, means, noise, scales, rows)
        compiled(loop, *arguments)(*arguments)
        found.append((means.max(axis=1) - means[np.arange(HORIZON), rows]).sum())
    return np.array(found)


if __name__ == "__main__":
    policies: dict[str, Any] = hb.read_study("huang-2023").policies("Student")
    heavy, root = policies["Heavy-OFUL"], GROWN ** (1.0 / ORDER)
    played = {
        "Heavy-OFUL told each scale": (heavy, play_told),
        "Heavy-OFUL": (heavy._replace(nu=root * heavy.nu), play),
        "MENU": (policies["MENU"]._replace(v=GROWN * policies["MENU"].v), play),
        "TOFU": (policies["TOFU"]._replace(u=GROWN * policies["TOFU"].u), play),
        "AdaOFUL": (policies["AdaOFUL"]._replace(nu=root * policies["AdaOFUL"].nu), play),
        "Hvt-UCB": (policies["Hvt-UCB"]._replace(nu=root * policies["Hvt-UCB"].nu), play),
        "OFUL": (policies["OFUL"]._replace(scale=10.0 * policies["OFUL"].scale), play),  # the median scale
        "`linear-auto`": (hb.make("linear-auto"), play),
    }
    print("| | regret |\n|---|---|")
    for label, (policy, loop) in played.items():
        regret = regrets(policy, loop)
        error = regret.std(ddof=1) / math.sqrt(REPLICATIONS)
        print(f"| {label} | {regret.mean():.0f} ± {error:.0f} |", flush=True)
    gaps = hb.LinearInstance(THETA, ROWS, hb.StudentT(df=2.0)).gaps
    print(f"| at random | {HORIZON * gaps.mean():.0f} |")
