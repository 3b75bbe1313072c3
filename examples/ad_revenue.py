"""Which of three ads earns most per visitor, when nearly all visitors buy nothing and some buy a lot?

Most rewards are zero, so all medians are equal, and only means tell the ads apart.  A log of past visitors says so, and
how large the noise is.  UCB that is told this finds the best ad; UCB as it comes believes the first large order.
"""

import numpy as np
import pandas as pd

import heavybandits as hb

VISITORS, RUNS = 10_000, 10


def revenue(ad, rng, size):
    """What visitors spend who saw the ad."""
    share, amounts = {
        "bargains": (0.15, rng.lognormal(2.3, 0.8, size)),
        "classics": (0.10, rng.lognormal(3.0, 1.0, size)),
        "luxury": (0.02, 60.0 * (1.0 + rng.pareto(2.5, size))),  # no third moment
    }[ad]
    return np.where(rng.random(size) < share, amounts, 0.0)


ADS = ("bargains", "classics", "luxury")
past = np.random.default_rng(0)
log = pd.concat(pd.DataFrame({"arm": ad, "reward": revenue(ad, past, 2000)}) for ad in ADS)
for ad, rewards in log.groupby("arm")["reward"]:
    print(
        f"{ad:9} {rewards.mean():5.2f} per visitor; {(rewards > 0).mean():4.0%} bought, at most for {rewards.max():.0f}"
    )

report = hb.diagnose(log)
print(f"\n{report.advice.reason}\nAdvice: {report.advice}\n")

for label, policy in {"UCB as it comes": hb.UCB(), "as advised": report.advice.policy()}.items():
    earned, shown = [], dict.fromkeys(ADS, 0)
    for seed in range(RUNS):
        rng = np.random.default_rng(1 + seed)
        visitors = {ad: revenue(ad, rng, VISITORS) for ad in ADS}
        agent = hb.Agent(policy, arms=ADS, horizon=VISITORS, seed=seed)
        for visitor in range(VISITORS):
            ad = agent.select()
            earned.append(visitors[ad][visitor])
            agent.update(ad, earned[-1])
            shown[ad] += 1
    shares = ", ".join(f"{ad} {count / (RUNS * VISITORS):.0%}" for ad, count in shown.items())
    print(f"{label:15} {np.mean(earned):5.2f} per visitor; shown: {shares}")
