"""Logged rewards, as diagnoses read them."""

import io
from collections.abc import Callable

import numpy as np
import pandas as pd

from heavybandits.diagnosis.report import Report
from heavybandits.logs.rewards import Rewards, read_rewards
from heavybandits.protocols import FloatArray


def parse(text: str) -> Rewards:
    return read_rewards(io.StringIO(text))


def logged(arms: dict[str, FloatArray], seed: int = 0) -> pd.DataFrame:
    """Return the rewards of the arms in random order."""
    frame = pd.DataFrame(
        [(arm, reward) for arm, rewards in arms.items() for reward in rewards], columns=["arm", "reward"]
    )
    return frame.sample(frac=1, random_state=seed)


def noise_of(law: str, size: int = 6000) -> FloatArray:
    """Return draws from a law, in the same order each time."""
    rng = np.random.default_rng(1)
    draws: dict[str, Callable[[], FloatArray]] = {
        "normal": lambda: rng.standard_normal(size),
        "cauchy": lambda: rng.standard_cauchy(size),
        "log-normal": lambda: np.exp(rng.standard_normal(size)),
        "clicks": lambda: (rng.random(size) < 0.2).astype(float),
        "orders": lambda: np.where(rng.random(size) < 0.3, 1 + rng.pareto(1.5, size), 0.0),
    }
    return draws[law]()


def is_beaten(report: Report) -> bool:
    """Return whether another policy should have been advised, by the replay."""
    return any(report.replay.is_ahead(label, str(report.advice)) for label in report.replay.policies)
