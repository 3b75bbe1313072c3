"""Draw docs/level-set.png, the figure of docs/level-set.md: ``python docs/level_set.py`` takes half a minute."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import heavybandits as hb
from heavybandits.palette import OKABE_ITO

LEVEL = 4.5


def draw_sets(axes: Any) -> None:
    """Draw the Cauchy losses of two arms with three rewards each, and their level sets."""
    theta = np.linspace(-70, 30, 4001)
    arms = (([9.0, -50.0, -60.0], 4), ([0.1, -0.4, 0.3], -48))
    for colour, (rewards, offset) in zip(OKABE_ITO, arms, strict=False):
        loss = np.log1p((np.array(rewards)[:, None] - theta) ** 2).sum(axis=0)
        loss -= loss.min()
        inside = loss <= LEVEL
        upper = theta[inside].max()
        axes.plot(theta, loss, color=colour, label=f"rewards {', '.join(f'{reward:g}' for reward in rewards)}")
        axes.fill_between(theta, 0, LEVEL, where=inside, color=colour, alpha=0.2, linewidth=0)
        axes.plot([upper], [LEVEL], "o", color=colour)
        axes.annotate(f"U = {upper:.1f}", (upper, LEVEL), (offset, 6), textcoords="offset points", color=colour)
    axes.axhline(LEVEL, color="black", linestyle=":", linewidth=1)
    axes.set(xlabel="location θ", ylabel="F(θ) - min F", ylim=(0, 16), title="Level sets of two arms")
    axes.legend(frameon=False, loc="upper left", fontsize=8)


def draw_regret(axes: Any) -> None:
    """Draw the mean regret on ten arms 0.1 apart under Cauchy noise."""
    noise = hb.Cauchy()
    policies = {
        "auto": hb.make("auto"),
        "oracle, knows the law": hb.make("oracle-ucb", noise=noise),
        "SGD-UCB": hb.make("sgd-ucb", clip=0.9, coeff=0.2),
        "order statistics, c = 0.5": hb.make("order-statistic-ucb", c=0.5),
    }
    regret = hb.simulate(hb.env2(noise), policies, horizon=10_000, replications=200).regret.mean("replication")
    for colour, label in zip(OKABE_ITO, policies, strict=False):
        axes.plot(regret["round"], regret.sel(policy=label), color=colour, label=label)
    axes.set(xscale="log", xlim=(10, None), ylim=(0, None), xlabel="round", ylabel="mean regret")
    axes.set_title("Ten arms 0.1 apart, Cauchy noise")
    axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_sets(left)
    draw_regret(right)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("level-set.png"), dpi=120)
