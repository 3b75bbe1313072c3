"""Results made by hand: worlds in which all claims of the paper hold, none holds, or nothing can be decided."""

import functools
from collections.abc import Callable, Mapping

import numpy as np

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.reproduce import ClaimVerdict, verdicts
from heavybandits.results.result import Result
from heavybandits.results.study_result import StudyResult
from heavybandits.world.environments import delta_cauchy, delta_gaussian

SGD, MED, SMOM = OURS = ("SGD-UCB", "SGD-UCB-Median", "SGD-UCB-SMoM")
RUCB, RECOMPUTED, TRUNCATED = "RUCB-Median", "RUCB-Median recomputed", "RUCB-Truncated"
ENVS = {"Env1": hb.env1(hb.Cauchy()), "Env2": hb.env2(hb.Cauchy()), "Env3": hb.env3(hb.Cauchy())}
DELTAS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
HORIZONS = (1000, 4000, 16000)
MANY = 4000  # replications: enough to exclude that a few lose as much as possible
RACES = 600  # for shares and quantiles


def spread(mean: float, replications: int, seed: int) -> FloatArray:
    """Return numbers around a mean, with errors of up to one part in a thousand."""
    return mean * (1.0 + 1e-3 * np.random.default_rng(seed).uniform(-1.0, 1.0, replications))


def result(
    instance: hb.Instance, regret: dict[str, float], growth: dict[str, float], cost: dict[str, float], *,
    replications: int = MANY, horizon: int = 1000,
) -> Result:  # fmt: skip
    """Return a result with these mean regrets; growth is the loss per pull in the last tenth over the average loss."""
    curves, times = [], []
    for number, (family, mean) in enumerate(regret.items()):
        final = spread(mean, replications, seed=number)
        curves.append(np.stack([0.0 * final, final * (1.0 - 0.1 * growth.get(family, 0.5)), final], axis=1))
        times.append(spread(cost.get(family, 50.0), replications, seed=100 + number))
    pulls = np.zeros((len(regret), replications, instance.n_arms), np.int64)
    rounds = np.array([1, horizon - horizon // 10, horizon])
    return Result(
        instance, labels=tuple(regret), rounds=rounds, regret=np.array(curves), pulls=pulls, wall_time=np.array(times),
        horizon=horizon, seed=0,
    )  # fmt: skip


def study(name: str, results: dict[str, Result], swept: dict[str, dict[str, float]] | None = None) -> StudyResult:
    labels = next(iter(results.values())).regret["policy"].to_numpy().tolist()
    return StudyResult(
        name=name, title=name, description="", results=results, families={label: label for label in labels},
        swept=swept or {}, spec={}, provenance={},
    )  # fmt: skip


def environments(
    name: str,
    shares: Mapping[str, tuple[float, ...]],
    growth: dict[str, float],
    cost: dict[str, float],
    replications: int,
) -> StudyResult:
    """Return a study with regrets given as shares of what choosing at random loses."""
    results = {}
    for number, (label, instance) in enumerate(ENVS.items()):
        chance = 1000 * float(instance.gaps.mean())
        regret = {family: share[number] * chance for family, share in shares.items()}
        results[label] = result(instance, regret, growth, cost, replications=replications)
    return study(name, results)


def sweep(name: str, top: float, regrets: Callable[[str, float], float], replications: int) -> StudyResult:
    make = delta_gaussian if name == "delta-gaussian" else delta_cauchy
    results = {
        f"{delta}": result(
            make(delta * top), {family: delta and regrets(family, delta) for family in ("UCB", RUCB, *OURS)}, {}, {},
            replications=replications,
        )
        for delta in DELTAS
    }  # fmt: skip
    return study(name, results, {f"{delta}": {"delta": delta * top} for delta in DELTAS})


def horizons(exponent: float, replications: int) -> StudyResult:
    """Return a study in which the regret of all families grows as a power of the horizon."""
    noises = {"Cauchy": hb.Cauchy(), "Fréchet": hb.Frechet(1.25)}
    return study("remarks-growth", {
        f"{name}, {horizon} pulls": result(
            hb.env2(noise), dict.fromkeys(OURS, 270.0 * (horizon / 1000.0) ** exponent), {}, {},
            replications=replications, horizon=horizon,
        )
        for name, noise in noises.items() for horizon in HORIZONS
    })  # fmt: skip


def costs(ours: float, others: float, replications: int) -> StudyResult:
    """Return a study in which pulls take these nanoseconds."""
    cost = dict.fromkeys(OURS, ours) | dict.fromkeys((RECOMPUTED, TRUNCATED, "KLinf-UCB", "AdaR-UCB"), others)
    regret = dict.fromkeys(cost, 100.0)
    return study("remarks-cost", {"Env1": result(ENVS["Env1"], regret, {}, cost, replications=replications)})


def race(stop: dict[str, float], fails: dict[str, int], cost: dict[str, float], replications: int) -> StudyResult:
    """Return a study in which regret grows by one per pull up to a stop, or for ever where a replication fails.

    As many of 50 even replications fail as are given, and as many of 50 odd ones.
    """
    rounds = np.arange(1, 1001)
    curves = np.array([
        [np.minimum(rounds, rounds[-1] if r // 2 % 50 < fails[family] else stop[family]) for r in range(replications)]
        for family in stop
    ])  # fmt: skip
    times = np.array([spread(cost[family], replications, seed=number) for number, family in enumerate(stop)])
    pulls = np.zeros((len(stop), replications, 10), np.int64)
    made = Result(
        ENVS["Env1"], labels=tuple(stop), rounds=rounds, regret=curves.astype(float), pulls=pulls, wall_time=times,
        horizon=1000, seed=0,
    )  # fmt: skip
    return study("runtime", {"Env1": made})


@functools.cache
def papers_world(replications: int = MANY) -> dict[str, StudyResult]:
    cost = {SMOM: 10.0, MED: 20.0, SGD: 30.0, RUCB: 100.0}
    cauchy = {
        SGD: (0.10, 0.20, 0.33), MED: (0.105, 0.21, 0.34), SMOM: (0.11, 0.22, 0.35), RUCB: (0.12, 0.24, 0.30),
        "UCB": (0.3, 0.6, 0.6), TRUNCATED: (0.5, 0.7, 0.8), "SGD-UCB (p=1)": (0.2, 0.4, 0.5),
    }  # fmt: skip
    frechet = {
        SGD: (0.12, 0.10, 0.31), MED: (0.125, 0.12, 0.32), SMOM: (0.13, 0.20, 0.33), RUCB: (0.10, 0.30, 0.30),
        "UCB": (0.5, 0.5, 0.5),
    }  # fmt: skip
    gaussian = {SGD: 0.11, MED: 0.115, SMOM: 0.12, RUCB: 0.2, "UCB": 0.1, "SGD-UCB (p=3)": 0.2}
    light = {SGD: 11.0, MED: 11.5, SMOM: 12.0, RUCB: 12.0, "UCB": 10.0}
    return {
        **{name: environments(name, cauchy, {}, cost, replications)
           for name in ("cauchy", "remarks-cauchy", "frechet-1", "cauchy-exp", "cauchy-pareto")},
        "frechet-1.25": environments("frechet-1.25", frechet, {RUCB: 0.9}, cost, replications),
        **{name: environments(name, {f: (s,) * 3 for f, s in gaussian.items()}, {}, cost, replications)
           for name in ("gaussian", "remarks-gaussian")},
        "delta-gaussian": sweep(
            "delta-gaussian", 1.0, lambda family, delta: 10.0 * delta * light[family], replications
        ),
        "delta-cauchy": sweep(
            "delta-cauchy", 10.0, lambda family, delta: {"UCB": 900.0, RUCB: 160.0}.get(family, 200.0 - 100.0 * delta),
            replications,
        ),
        "remarks-growth": horizons(0.4, replications),
        "remarks-cost": costs(10.0, 1000.0, replications),
        "runtime": race(
            {SMOM: 4.0, MED: 6.0, SGD: 8.0, RUCB: 20.0}, {SMOM: 10, MED: 12, SGD: 0, RUCB: 40}, cost,
            min(replications, RACES),
        ),
    }  # fmt: skip


@functools.cache
def mirrored_world() -> dict[str, StudyResult]:
    cost = {SMOM: 100.0, MED: 60.0, SGD: 50.0, RUCB: 10.0}
    turned = {SMOM: 10.0, MED: 50.0, SGD: 60.0, RUCB: 100.0}  # another order than in the race
    growth = {SGD: 1.5, MED: 1.5, SMOM: 1.5, RUCB: 0.1}
    cauchy = {
        SGD: (0.5, 0.4, 0.3), MED: (0.6, 0.6, 0.5), SMOM: (0.7, 0.7, 0.9), RUCB: (0.2, 0.2, 0.5),
        "UCB": (0.1, 0.1, 0.1), TRUNCATED: (0.1, 0.1, 0.1), "SGD-UCB (p=1)": (0.1, 0.1, 0.1),
    }  # fmt: skip
    frechet = {
        SGD: (0.1, 0.2, 0.1), MED: (0.2, 0.3, 0.2), SMOM: (0.3, 0.4, 0.3), RUCB: (0.5, 0.1, 0.5),
        "UCB": (0.01, 0.01, 0.01),
    }  # fmt: skip
    gaussian = {SGD: 0.5, MED: 0.5, SMOM: 0.6, RUCB: 0.1, "UCB": 0.3, "SGD-UCB (p=3)": 0.2}
    light = {SGD: 50.0, MED: 50.0, SMOM: 60.0, RUCB: 5.0, "UCB": 30.0}
    return {
        **{name: environments(name, cauchy, growth, turned, MANY)
           for name in ("cauchy", "remarks-cauchy", "frechet-1", "cauchy-exp", "cauchy-pareto")},
        "frechet-1.25": environments("frechet-1.25", frechet, growth, turned, MANY),
        **{name: environments(name, {f: (s,) * 3 for f, s in gaussian.items()}, {}, cost, MANY)
           for name in ("gaussian", "remarks-gaussian")},
        "delta-gaussian": sweep("delta-gaussian", 1.0, lambda family, delta: 10.0 * delta * light[family], MANY),
        "delta-cauchy": sweep(
            "delta-cauchy", 10.0, lambda family, delta: {"UCB": 50.0, RUCB: 40.0}.get(family, 9e3 * delta), MANY
        ),
        "remarks-growth": horizons(0.95, MANY),
        "remarks-cost": costs(10.0, 1.0, MANY),
        "runtime": race(
            {SMOM: 20.0, MED: 8.0, SGD: 6.0, RUCB: 4.0}, {SMOM: 30, MED: 10, SGD: 40, RUCB: 0}, cost, RACES
        ),
    }  # fmt: skip


def outcomes(studies: dict[str, StudyResult]) -> dict[str, str]:
    return {verdict.claim.words: verdict.outcome for verdict in verdicts(studies)}


def find(decided: list[ClaimVerdict], words: str) -> ClaimVerdict:
    [found] = [verdict for verdict in decided if words in verdict.claim.words]
    return found
