"""Print how many of 2,000 decisions an arm gets that does not report: a table of docs/late-rewards.md.

``python docs/silent_arm.py`` plays coins whose first arm, the worst, never brings a reward, or stops after five.
"""

from __future__ import annotations

import numpy as np

import heavybandits as hb

POLICIES = ("auto", "auto-mean", "ucb", "thompson-beta", "thompson-gaussian", "tsallis-inf", "uni-inf", "exp3")
HORIZON, SEEDS = 2000, 20


def decisions(name: str, coins: tuple[float, ...], reports: int, seed: int) -> int:
    """Return the number of decisions for the first arm, which brings so many rewards and no more."""
    offset = {"offset": 1.0} if name == "uni-inf" else {}
    agent = hb.Agent(hb.make(name, **offset), n_arms=len(coins), horizon=HORIZON, seed=seed)
    rewards = np.random.default_rng([seed, 1]).random((HORIZON, len(coins))) < coins
    for reward in rewards:
        arm = agent.select()
        if arm != 0 or agent.pulls[0] < reports:
            agent.update(arm, float(reward[arm]))
    return agent.pulls[0] + agent.pending[0]


def mean(numbers: list[int]) -> str:
    """Return the mean and its standard error."""
    return f"{np.mean(numbers):,.0f} ± {np.std(numbers, ddof=1) / len(numbers) ** 0.5:,.0f}"


def main() -> None:
    """Print the means over the seeds."""
    three, twenty = (0.2, 0.3, 0.6), (0.2, *[0.3] * 18, 0.6)
    print("| | 3 arms, never reports | 20 arms, never reports | 3 arms, stops after 5 |\n| --- | --- | --- | --- |")
    for name in POLICIES:
        cells = [
            mean([decisions(name, coins, reports, seed) for seed in range(SEEDS)])
            for coins, reports in ((three, 0), (twenty, 0), (three, 5))
        ]
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
