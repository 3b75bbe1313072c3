"""A policy and a noise of one's own, in one file: checked, compiled, and compared with UCB."""

from typing import NamedTuple

import numpy as np

import heavybandits as hb

WINDOW = 15  # odd


class State(NamedTuple):
    pulls: np.ndarray
    last: np.ndarray  # (arm, WINDOW): the latest rewards
    sorted: np.ndarray  # (WINDOW,): room to sort them in
    median: np.ndarray
    open: np.ndarray


class MedianGreedy(NamedTuple):
    """Play the arm whose latest rewards have the highest median, but now and then any arm."""

    explore: float = 50.0  # the chance of a random pull in round t is this over t

    def init(self, n_arms, horizon):
        return State(
            np.zeros(n_arms, np.int64), np.zeros((n_arms, WINDOW)), np.zeros(WINDOW), np.zeros(n_arms),
            np.ones(n_arms, np.bool_),
        )  # fmt: skip

    def select(self, state, t, rng):
        random = rng.random() * t < self.explore
        best, highest = -1, 0.0
        for arm in range(len(state.pulls)):
            if state.open[arm]:
                if state.pulls[arm] < WINDOW:
                    return arm
                height = rng.random() if random else state.median[arm]
                if best < 0 or height > highest:
                    best, highest = arm, height
        return best

    def update(self, state, arm, reward):
        state.last[arm, state.pulls[arm] % WINDOW] = reward
        state.pulls[arm] += 1
        n = min(state.pulls[arm], WINDOW)
        for i in range(n):  # insertion sort
            j = i
            while j > 0 and state.sorted[j - 1] > state.last[arm, i]:
                state.sorted[j] = state.sorted[j - 1]
                j -= 1
            state.sorted[j] = state.last[arm, i]
        state.median[arm] = state.sorted[n // 2]

    def value(self, state, arm):
        return state.median[arm]


class Spikes(NamedTuple):
    """Normal noise with rare spikes up or down, of any size."""

    share: float = 0.05

    def sample(self, rng, size):
        spikes = rng.standard_cauchy(size) * 1000.0
        return np.where(rng.random(size) < self.share, spikes, rng.standard_normal(size))


if __name__ == "__main__":
    mine = hb.make(f"{__file__}:MedianGreedy", explore=50.0)
    hb.check_noise(Spikes())
    hb.check_policy(mine)
    print("The policy and the noise pass all checks.\n")

    instance = hb.Instance(means=[0.0, 0.5, 1.0, 3.0], noise=Spikes())
    result = hb.simulate(instance, {"mine": mine, "UCB": hb.UCB(c=1.0)}, horizon=5000, replications=100)
    print(result.summary()[["mean", "median", "q90", "failures", "ns per pull"]].round(2).to_string())
