"""Pictures of how policies explore: what they play in the first rounds, in plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from figures import STYLE
from matplotlib import rc_context
from matplotlib.figure import Figure

import heavybandits as hb
from heavybandits.algorithms.registry import examples
from heavybandits.palette import FAINT, INK, look
from heavybandits.protocols import kind_of

PULLS = 500
LOCATIONS = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
# Rows of length one; only the first feature determines the reward.
_OTHER = np.random.default_rng(0).normal(size=(len(LOCATIONS), 3))
_OTHER *= np.sqrt(1.0 - LOCATIONS[:, None] ** 2 / 4.0) / np.linalg.norm(_OTHER, axis=1, keepdims=True)
FEATURES = np.column_stack([LOCATIONS / 2.0, _OTHER])
PEAK = 0.7
OTHERS = "#b4bcc8"
CAPTIONS = {
    "arms": f"The first {PULLS} pulls, one mark each, on five arms under Cauchy noise of scale 1.  The best arm is on "
    "top; its row should fill up, and the others thin out.",
    "linear": f"The first {PULLS} pulls, one mark each, on five rows of four features under Cauchy noise of scale 1.  "
    "Only the first feature determines the reward.  The best row is on top; it should fill up.",
    "lipschitz": f"Every point that is played in the first {PULLS} rounds.  Rewards fall with the distance from "
    f"{PEAK}, which is marked, under Cauchy noise of scale 0.1.",
}  # fmt: skip


def draw(name: str, file: Path) -> None:
    """Draw what a policy plays, a mark for every round."""
    policy = hb.make(name, **examples()[name])
    kind = kind_of(policy)
    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, 1.9))
        axes = figure.subplots()
        if kind == "lipschitz":
            draw_points(axes, points(policy), look(name).colour)
        else:
            draw_arms(axes, arms(policy) if kind == "arms" else rows(policy), look(name).colour)
        axes.set(xlim=(0, PULLS), xlabel="round")
        axes.tick_params(color=FAINT)
        figure.savefig(file, dpi=150)


def noise() -> Any:
    """Return the noise of all rounds, the same for every policy."""
    return np.random.default_rng(7).standard_cauchy(PULLS)


def arms(policy: Any) -> list[int]:
    """Return the arms that a policy for K arms pulls."""
    state, rng, played = policy.init(len(LOCATIONS), PULLS), np.random.default_rng(1), []
    for t, error in enumerate(noise()):
        played.append(int(policy.select(state, t, rng)))
        policy.update(state, played[-1], LOCATIONS[played[-1]] + error)
    return played


def rows(policy: Any) -> list[int]:
    """Return the rows that a linear policy plays."""
    state, rng, played = policy.init(FEATURES.shape[1], PULLS), np.random.default_rng(1), []
    for t, error in enumerate(noise()):
        played.append(int(policy.select(state, FEATURES, t, rng)))
        policy.update(state, FEATURES[played[-1]], LOCATIONS[played[-1]] + error)
    return played


def points(policy: Any) -> list[float]:
    """Return the points that a Lipschitz policy plays."""
    state, rng, played = policy.init(1, PULLS), np.random.default_rng(1), []
    for t, error in enumerate(noise()):
        cell = policy.select(state, t, rng)
        played.append(float(policy.point(state, cell)[0]))
        policy.update(state, cell, 1.0 - 2.0 * abs(played[-1] - PEAK) + 0.1 * error)
    return played


def draw_arms(axes: Any, played: list[int], colour: str) -> None:
    """Draw a line of marks for each arm, the best one on top."""
    best = len(LOCATIONS) - 1
    for arm, location in enumerate(LOCATIONS):
        rounds = np.flatnonzero(np.equal(played, arm)) + 1
        axes.vlines(rounds, arm - 0.36, arm + 0.36, color=colour if arm == best else OTHERS, linewidth=1.1)
        axes.text(PULLS * 1.02, arm, f"{len(rounds)}", va="center", color=INK)
        axes.text(-PULLS * 0.02, arm, f"{location:g}", va="center", ha="right", color=INK)
    axes.text(PULLS * 1.02, best + 0.7, "pulls", color=INK)
    axes.text(-PULLS * 0.02, best + 0.7, "location", ha="right", color=INK)
    axes.set(ylim=(-0.6, best + 0.6), yticks=[])
    axes.spines[["left"]].set_visible(False)


def draw_points(axes: Any, played: list[float], colour: str) -> None:
    """Draw a mark for each point."""
    axes.axhline(PEAK, color=OTHERS, linewidth=4, alpha=0.6)
    axes.plot(np.arange(1, PULLS + 1), played, ".", color=colour, markersize=3)
    axes.set(ylim=(0, 1), yticks=[0, PEAK, 1], ylabel="point")
