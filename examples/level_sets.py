"""
Level sets with gaps
====================

Where may the location of an arm be, given three rewards?  Anywhere its loss is at most a given level above the lowest.
With a loss for heavy tails this set can have gaps: the rewards 9, -50 and -60 may come from an arm at 9 that had two
bad draws.
"""

import matplotlib.pyplot as plt
import numpy as np

LEVEL = 4.5
ARMS = {"#c2185b": ([9.0, -50.0, -60.0], 12), "#0072b2": ([0.1, -0.4, 0.3], -22)}  # rewards, and where to put the label

theta = np.linspace(-72, 30, 4001)
figure, axes = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
for colour, (rewards, words) in ARMS.items():
    loss = np.log1p((np.array(rewards)[:, None] - theta) ** 2).sum(axis=0)  # Cauchy's
    loss -= loss.min()
    upper = theta[loss <= LEVEL].max()
    axes.plot(theta, loss, color=colour)
    axes.fill_between(theta, 0, LEVEL, where=loss <= LEVEL, color=colour, alpha=0.25, linewidth=0)
    axes.plot(rewards, [-0.5] * 3, "|", color=colour, markersize=9, clip_on=False)
    axes.text(words, LEVEL - 1.4, f"upper end {upper:.1f}", color=colour)
    axes.plot([upper], [LEVEL], "o", color=colour)
axes.axhline(LEVEL, color="#333a45", linestyle=":", linewidth=1)
axes.text(-71, LEVEL + 0.2, "level")
axes.set(xlabel="location; rewards are marked below", ylabel="loss above its minimum", ylim=(-1, 16))
axes.set_title("Two arms with three rewards each")
plt.show()
