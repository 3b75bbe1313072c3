"""
A policy of your own
====================

A class with three methods is a policy.  This one follows each arm's median by small steps, and plays the highest.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb


class State(NamedTuple):
    median: np.ndarray


@hb.policy(randomised=True)
class MedianWalk(NamedTuple):
    explore: float = 100.0  # the chance of a random pull in round t is this over t

    def init(self, n_arms, horizon):
        return State(np.zeros(n_arms))

    def select(self, state, t, rng):
        return int(rng.random() * len(state.median)) if rng.random() * t < self.explore else np.argmax(state.median)

    def update(self, state, arm, reward):
        state.median[arm] += 0.05 * np.sign(reward - state.median[arm])


hb.check_policy(MedianWalk())
instance = hb.Instance(means=[0.0, 0.5, 1.0, 3.0], noise=hb.Cauchy())
result = hb.simulate(instance, {"mine": MedianWalk(), "ucb": hb.UCB()}, horizon=5000, replications=50)
print(result.summary()[["mean", "median", "failures"]].round(2).to_string())
result.plot(plt.figure(layout="constrained").subplots(), band=["mine"])
plt.show()
