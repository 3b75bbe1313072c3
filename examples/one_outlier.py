"""What one outlier does: a single reward of a million for the worst arm, or of minus a million for the best."""

import numpy as np

import heavybandits as hb

LEVELS = [0.0, 1.0, 2.0]  # the last arm is best
PULLS, RUNS = 2000, 20
POLICIES = {"UCB": hb.UCB(c=1.0), "auto": hb.make("auto")}
OUTLIERS = {"none": None, "+1e6 for the worst arm": (0, 1e6), "-1e6 for the best arm": (2, -1e6)}


def best_share(policy, outlier, seed):
    """Share of pulls of the best arm, if the given arm's fifth reward is the outlier."""
    agent = hb.Agent(policy, n_arms=len(LEVELS), horizon=PULLS, seed=seed)
    noise = np.random.default_rng(seed).normal(0.0, 1.0, PULLS)
    if outlier:  # the arm's first four rewards are on the record already, and so is this one
        arm, reward = outlier
        agent.update_many([arm] * 5, [*(LEVELS[arm] + noise[:4]), reward])
    pulls = 0
    for t in range(PULLS):
        arm = agent.select()
        agent.update(arm, LEVELS[arm] + noise[t])
        pulls += arm == len(LEVELS) - 1
    return pulls / PULLS


print(f"share of pulls of the best arm, {RUNS} runs of {PULLS} pulls\n")
for label, policy in POLICIES.items():
    for name, outlier in OUTLIERS.items():
        share = np.mean([best_share(policy, outlier, seed) for seed in range(RUNS)])
        print(f"{label:8} {name:23} {share:6.1%} {'#' * round(40 * share)}")
    print()
