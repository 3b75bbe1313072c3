"""Claims of the paper: three worlds made by hand, in which all hold, none does, and nothing can be told."""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.reproduce import DIFFERENCES, EXPERIMENTS, Verdict, verdicts
from heavybandits.reproduce.claims import CLAIMS
from heavybandits.reproduce.measures import (
    CLOSE_ARMS,
    COST,
    DISTINCT_ARMS,
    EACH,
    GROWTH,
    LOG_REGRET,
    NEARER_ARMS,
    REGRET,
    Measure,
    Measured,
    measured,
)
from heavybandits.reproduce.rules import Comparison, Rule, below, contradiction, decide, faster
from heavybandits.results import Result, StudyResult
from heavybandits.runtime import late_quantile, pulls_to_target, seconds_to_target

SGD, MED, SMOM = OURS = ("SGD-UCB", "SGD-UCB-Median", "SGD-UCB-SMoM")
RUCB, TRUNCATED = "RUCB-Median", "RUCB-Truncated"
ENVS = {"Env1": hb.env1(hb.Cauchy()), "Env2": hb.env2(hb.Cauchy()), "Env3": hb.env3(hb.Cauchy())}
DELTAS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def spread(mean: float, replications: int, seed: int) -> FloatArray:
    """Numbers around a mean, with errors of a part in ten thousand."""
    return mean * (1.0 + 1e-3 * np.random.default_rng(seed).uniform(-1.0, 1.0, replications))


def result(
    instance: hb.Instance, regret: dict[str, float], growth: dict[str, float], cost: dict[str, float], *,
    replications: int = 50, horizon: int = 1000,
) -> Result:  # fmt: skip
    """Mean regrets at the horizon; growth is what is lost per pull in the last tenth, divided by the average."""
    curves, times = [], []
    for place, (family, mean) in enumerate(regret.items()):
        final = spread(mean, replications, seed=place)
        curves.append(np.stack([0.0 * final, final * (1.0 - 0.1 * growth.get(family, 0.5)), final], axis=1))
        times.append(spread(cost.get(family, 50.0), replications, seed=100 + place))
    pulls = np.zeros((len(regret), replications, instance.n_arms), np.int64)
    rounds = np.array([1, horizon - horizon // 10, horizon])
    return Result(instance, tuple(regret), rounds, np.array(curves), pulls, np.array(times), horizon=horizon, seed=0)


def study(name: str, results: dict[str, Result], swept: dict[str, dict[str, float]] | None = None) -> StudyResult:
    labels = next(iter(results.values())).regret["policy"].to_numpy().tolist()
    return StudyResult(name, name, "", results, {label: label for label in labels}, swept or {}, {}, {})


def environments(
    name: str, shares: dict[str, tuple[float, ...]], growth: dict[str, float], cost: dict[str, float], replications: int
) -> StudyResult:
    """Regrets given as shares of what choosing at random loses."""
    results = {}
    for place, (label, instance) in enumerate(ENVS.items()):
        chance = 1000 * float(instance.gaps.mean())
        regret = {family: share[place] * chance for family, share in shares.items()}
        results[label] = result(instance, regret, growth, cost, replications=replications)
    return study(name, results)


def sweep(name: str, top: float, regrets: Callable[[str, float], float], replications: int) -> StudyResult:
    make = hb.delta_gaussian if name == "delta-gaussian" else hb.delta_cauchy
    results = {
        f"{delta}": result(
            make(delta * top), {family: delta and regrets(family, delta) for family in ("UCB", RUCB, *OURS)}, {}, {},
            replications=replications,
        )
        for delta in DELTAS
    }  # fmt: skip
    return study(name, results, {f"{delta}": {"delta": delta * top} for delta in DELTAS})


def race(stop: dict[str, float], fails: dict[str, int], cost: dict[str, float], replications: int) -> StudyResult:
    """Regret grows by one a pull up to a stop, or for ever in as many of 50 replications as fail."""
    rounds = np.arange(1, 1001)
    curves = np.array([
        [np.minimum(rounds, rounds[-1] if r < fails[family] else stop[family]) for r in range(replications)]
        for family in stop
    ])  # fmt: skip
    times = np.array([spread(cost[family], replications, seed=place) for place, family in enumerate(stop)])
    pulls = np.zeros((len(stop), replications, 10), np.int64)
    made = Result(ENVS["Env1"], tuple(stop), rounds, curves.astype(float), pulls, times, horizon=1000, seed=0)
    return study("runtime", {"Env1": made})


@functools.cache
def papers_world(replications: int = 50) -> dict[str, StudyResult]:
    cost = {SMOM: 10.0, MED: 20.0, SGD: 30.0, RUCB: 100.0}
    cauchy = {
        SGD: (0.10, 0.20, 0.33), MED: (0.105, 0.21, 0.34), SMOM: (0.11, 0.22, 0.35), RUCB: (0.12, 0.24, 0.30),
        "UCB": (0.3, 0.6, 0.6), TRUNCATED: (0.5, 0.7, 0.8), "SGD-UCB (p=1)": (0.2, 0.4, 0.5),
    }  # fmt: skip
    frechet = {
        SGD: (0.11, 0.10, 0.32), MED: (0.12, 0.12, 0.34), SMOM: (0.13, 0.20, 0.36), RUCB: (0.10, 0.30, 0.30),
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
        "delta-gaussian": sweep("delta-gaussian", 1.0, lambda family, delta: light[family], replications),
        "delta-cauchy": sweep(
            "delta-cauchy", 10.0, lambda family, delta: {"UCB": 900.0, RUCB: 16.0}.get(family, 20.0 - 10.0 * delta),
            replications,
        ),
        "runtime": race(
            {SMOM: 4.0, MED: 6.0, SGD: 8.0, RUCB: 20.0}, {SMOM: 10, MED: 12, SGD: 0, RUCB: 40}, cost, replications
        ),
    }  # fmt: skip


@functools.cache
def mirrored_world() -> dict[str, StudyResult]:
    cost = {SMOM: 100.0, MED: 60.0, SGD: 50.0, RUCB: 10.0}
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
        **{name: environments(name, cauchy, growth, cost, 50)
           for name in ("cauchy", "remarks-cauchy", "frechet-1", "cauchy-exp", "cauchy-pareto")},
        "frechet-1.25": environments("frechet-1.25", frechet, growth, cost, 50),
        **{name: environments(name, {f: (s,) * 3 for f, s in gaussian.items()}, {}, cost, 50)
           for name in ("gaussian", "remarks-gaussian")},
        "delta-gaussian": sweep("delta-gaussian", 1.0, lambda family, delta: light[family], 50),
        "delta-cauchy": sweep(
            "delta-cauchy", 10.0, lambda family, delta: {"UCB": 50.0, RUCB: 40.0}.get(family, 9e3 * delta), 50
        ),
        "runtime": race(
            {SMOM: 20.0, MED: 8.0, SGD: 6.0, RUCB: 4.0}, {SMOM: 30, MED: 10, SGD: 40, RUCB: 0}, cost, 50
        ),
    }  # fmt: skip


def outcomes(studies: dict[str, StudyResult]) -> dict[str, str]:
    return {verdict.claim: verdict.verdict for verdict in verdicts(studies)}


def test_in_the_papers_world_every_claim_holds() -> None:
    assert outcomes(papers_world()) == {claim.words: "holds" for claim in CLAIMS}


def test_in_a_mirrored_world_no_claim_holds() -> None:
    assert outcomes(mirrored_world()) == {claim.words: "does not hold" for claim in CLAIMS}


def test_one_replication_decides_nothing() -> None:
    assert outcomes(papers_world(replications=1)) == {claim.words: "undecided" for claim in CLAIMS}


def test_claims_are_listed_once_and_cover_every_experiment_in_order() -> None:
    assert len({claim.words for claim in CLAIMS}) == len(CLAIMS)
    assert len({(claim.study, claim.rule.words) for claim in CLAIMS}) == len(CLAIMS)
    assert tuple(dict.fromkeys(claim.study for claim in CLAIMS)) == EXPERIMENTS


def test_claims_on_studies_that_were_not_run_are_left_out() -> None:
    world = papers_world()
    decided = verdicts({"gaussian": world["gaussian"], "of my own": world["cauchy"]})
    assert [verdict.claim for verdict in decided] == [claim.words for claim in CLAIMS if claim.study == "gaussian"]


def find(decided: list[Verdict], words: str) -> Verdict:
    [found] = [verdict for verdict in decided if words in verdict.claim]
    return found


def test_a_claim_on_an_algorithm_that_was_not_run_is_undecided() -> None:
    few = dict.fromkeys((*OURS, "UCB"), (0.1, 0.2, 0.3))
    decided = verdicts({name: environments(name, few, {}, {}, 50) for name in ("cauchy", "remarks-cauchy")})
    truncated = find(decided, "truncated means")
    assert (truncated.verdict, truncated.numbers) == ("undecided", "Not tested: RUCB-Median was not run.")
    assert find(decided, "converges under Cauchy").verdict == "holds"


def test_a_claim_on_an_environment_that_was_not_run_is_undecided() -> None:
    whole = papers_world()["cauchy"]
    part = study("cauchy", {label: whole.results[label] for label in ("Env1", "Env2")})
    third = find(verdicts({"cauchy": part}), "converges faster than the proposed algorithms in Env3")
    assert (third.verdict, third.numbers) == ("undecided", "Not tested: Env3 was not run.")


def test_the_best_variant_stands_for_its_family_and_is_named() -> None:
    shares = dict.fromkeys((*OURS, "UCB"), (0.1, 0.2, 0.33))
    shares |= {"greedy": (0.12, 0.24, 0.3), "formula": (0.9, 0.9, 0.9)}
    made = environments("cauchy", shares, {}, {}, 50)
    families = {label: RUCB if label in ("greedy", "formula") else label for label in shares}
    variants = StudyResult("cauchy", "", "", made.results, families, {}, {}, {})
    third = find(verdicts({"cauchy": variants}), "converges faster than the proposed algorithms in Env3")
    assert third.verdict == "holds"
    assert "'greedy'" in third.note
    assert "formula" not in third.note


def test_notes_say_where_text_and_code_differ() -> None:
    assert {name for difference in DIFFERENCES for name in difference.studies} < set(EXPERIMENTS)
    decided = verdicts(papers_world())
    for difference in DIFFERENCES:
        for verdict in decided:
            assert (difference.code in verdict.note) == (verdict.study in difference.studies)


def test_failures_are_counted_with_convergence() -> None:
    # at the end a pull loses 0.16 or 0.24 times the mean gap; a tenth of the largest gap is 0.2 times that
    shares = dict.fromkeys((*OURS, "UCB", RUCB), (0.4, 0.4, 0.4))
    decided = verdicts({"cauchy": environments("cauchy", shares, dict.fromkeys(shares, 0.4), {}, 50)})
    assert (
        "(replications still losing much: Env1 0 of 50, Env2 0 of 50, Env3 0 of 50)"
        in find(decided, "converges under Cauchy").numbers
    )
    decided = verdicts({"cauchy": environments("cauchy", shares, dict.fromkeys(shares, 0.6), {}, 50)})
    assert (
        "(replications still losing much: Env1 50 of 50, Env2 50 of 50, Env3 50 of 50)"
        in find(decided, "converges under Cauchy").numbers
    )


def ratio_in_env3(x: float) -> StudyResult:
    shares = {RUCB: (0.1, 0.1, 0.1), **dict.fromkeys((*OURS, "UCB"), (0.1, 0.1, 0.1 * x))}
    return environments("cauchy", shares, {}, {}, 50)


def difference_in_env1(x: float) -> StudyResult:
    shares = {RUCB: (0.1, 0.1, 0.1), **dict.fromkeys((*OURS, "UCB"), (0.1 + x, 0.1, 0.1))}
    return environments("frechet-1.25", shares, {}, {}, 50)


def growth(name: str, x: float) -> StudyResult:
    shares = dict.fromkeys((*OURS, "UCB", RUCB), (0.1, 0.1, 0.1))
    return environments(name, shares, dict.fromkeys(OURS, x), {}, 50)


def cost_of_ours(x: float) -> StudyResult:
    families = (*OURS, RUCB)
    return race(dict.fromkeys(families, 9.0), dict.fromkeys(families, 0), {**dict.fromkeys(OURS, x), RUCB: 10.0}, 50)


def share_of_chance(x: float) -> StudyResult:
    # four arms of five lose the gap, which is ten times delta
    return sweep("delta-cauchy", 10.0, lambda family, delta: x * 1000 * 0.8 * 10.0 * delta, 50)


@pytest.mark.parametrize(
    ("words", "made", "most"),
    [
        ("only slightly faster", ratio_in_env3, 1.25),
        ("are almost the same", difference_in_env1, 0.05),
        ("converges under Cauchy", functools.partial(growth, "cauchy"), 1.0),
        (
            "no faster than log(T)",
            functools.partial(growth, "cauchy"),
            10 * (1 - math.sqrt(0.9) * (math.log(900) / math.log(1000)) ** 1.5),
        ),
        ("than the general lower bound", functools.partial(growth, "frechet-1.25"), 10 * (1 - 0.9**0.8)),
        ("costs much more", cost_of_ours, 5.0),
        ("0.1 significantly faster", cost_of_ours, 5.0),
        ("distinguish arms with close", share_of_chance, 0.5),
    ],
)
def test_what_words_mean(words: str, made: Callable[[float], StudyResult], most: float) -> None:
    for factor, outcome in ((0.99, "holds"), (1.01, "does not hold")):
        study = made(factor * most)
        assert find(verdicts({study.name: study}), words).verdict == outcome


def rule(*strengths: float) -> Rule:
    return Rule("", lambda study: [Comparison(f"{place}", 10.0 * s, 10.0) for place, s in enumerate(strengths)])


@pytest.mark.parametrize(
    ("strengths", "outcome"),
    [
        ((2.01,), "holds"), ((1.99,), "undecided"), ((-1.99,), "undecided"), ((-2.01,), "does not hold"),
        ((2.01, 9.0), "holds"), ((9.0, 1.99), "undecided"), ((9.0, -2.2), "undecided"), ((9.0, -2.3), "does not hold"),
    ],
)  # fmt: skip
def test_thresholds(strengths: tuple[float, ...], outcome: str) -> None:
    any_study = papers_world()["runtime"]
    decided, numbers = decide(rule(*strengths), any_study)
    assert decided == outcome
    weakest = min(range(len(strengths)), key=lambda place: strengths[place])
    assert f"{weakest}; margin {10 * strengths[weakest]:.0f} ± 10." in numbers


def test_contradicting_one_of_many_by_chance_is_as_rare_as_contradicting_one() -> None:
    def tail(z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))

    for comparisons in (1, 4, 12):
        assert comparisons * tail(contradiction(comparisons)) == pytest.approx(tail(-2.0), rel=1e-9)


@pytest.mark.parametrize(
    ("margin", "error", "strength"),
    [(3.0, 1.5, 2.0), (0.0, 0.0, 0.0), (1.0, 0.0, math.inf), (-1.0, 0.0, -math.inf), (-math.inf, 1.0, -math.inf),
     (-math.inf, math.inf, 0.0), (math.nan, 1.0, 0.0), (1.0, math.inf, 0.0)],
)  # fmt: skip
def test_strength_of_a_comparison(margin: float, error: float, strength: float) -> None:
    assert Comparison("", margin, error).strength == strength


def test_errors_are_those_of_paired_differences_within_and_independent_between_instances() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 40))
    difference = Measured({"Env1": a, "Env2": c}) - Measured({"Env1": a + b}) * 2.0
    paired = a - 2.0 * (a + b)
    assert difference.value == pytest.approx(paired.mean() + c.mean())
    assert difference.error == pytest.approx(math.sqrt(paired.var(ddof=1) / 40 + c.var(ddof=1) / 40))
    assert (difference + 1.0).value == pytest.approx(difference.value + 1.0)


def test_a_paired_difference_may_decide_where_the_spread_is_large() -> None:
    luck = np.random.default_rng(2).exponential(100.0, 30)
    regret = np.stack([luck, luck + 1.0])[:, :, None]
    made = Result(
        ENVS["Env1"], ("A", "B"), np.array([10]), regret, np.zeros((2, 30, 10), np.int64), np.ones((2, 30)),
        horizon=10, seed=0,
    )  # fmt: skip
    assert decide(below([("A", "B")], EACH), study("", {"Env1": made}))[0] == "holds"
    assert decide(below([("B", "A")], EACH), study("", {"Env1": made}))[0] == "does not hold"


@pytest.mark.parametrize(
    ("measure", "function"),
    [
        (LOG_REGRET, lambda final, late, cost: math.log(final.mean())),
        (GROWTH, lambda final, late, cost: late.mean() / final.mean()),
        (COST, lambda final, late, cost: np.median(cost)),
    ],
)
def test_errors_against_bootstrap(measure: Measure, function: Callable[..., float]) -> None:
    rng = np.random.default_rng(3)
    final = rng.gamma(2.0, 50.0, 400)
    late = final * rng.uniform(0.2, 0.8, 400)  # per pull, as a multiple of the average
    cost = rng.gamma(3.0, 10.0, 400)
    regret = np.stack([final - 0.1 * late, final], axis=1)[None]
    made = Result(
        ENVS["Env1"], ("A",), np.array([900, 1000]), regret, np.zeros((1, 400, 10), np.int64), cost[None],
        horizon=1000, seed=0,
    )  # fmt: skip
    found = measured(study("", {"Env1": made}), "A", measure, ["Env1"])
    assert found.value == pytest.approx(function(final, late, cost))
    resampled = [function(final[row], late[row], cost[row]) for row in rng.integers(400, size=(2000, 400))]
    assert found.error == pytest.approx(np.std(resampled), rel=0.2)


def test_numbers_of_a_verdict_are_those_of_the_results() -> None:
    world = papers_world()
    decided = find(verdicts(world), "only slightly faster")
    final = world["cauchy"].results["Env3"].regret.isel(round=-1)
    smom, rucb = (final.sel(policy=family).to_numpy() for family in (SMOM, RUCB))
    shown = [
        f"{values.mean():.3f} ± {values.std(ddof=1) / math.sqrt(50):.3f}" for values in (smom, rucb, 1.25 * rucb - smom)
    ]
    assert decided.rule == f"Mean regret at the horizon in Env3: each of {SGD}, {MED}, {SMOM} below 1.25 times {RUCB}."
    assert decided.numbers == (
        f"3 of 3 comparisons for it, 0 against. The weakest: Env3, {SMOM} {shown[0]}, {RUCB} {shown[1]}; "
        f"margin {shown[2]}."
    )


def curve_result(curves: list[list[float]], horizon: int, cost: list[float]) -> Result:
    regret = np.array([curves])
    return Result(
        ENVS["Env1"], ("A",), np.arange(1, horizon + 1), regret, np.zeros((1, len(curves), 10), np.int64),
        np.array([cost]), horizon=horizon, seed=0,
    )  # fmt: skip


def test_pulls_to_target_by_hand() -> None:
    rounds = np.arange(1, 101)
    lucky_start = np.where(rounds <= 2, 0.0, rounds)  # the first fiftieth does not count
    at_once = np.zeros(100)
    at_40 = np.where(rounds < 40, rounds, 3.9)  # 3.9 / 39 is not below 0.1
    just_never = rounds * 0.1
    made = curve_result([list(c) for c in (lucky_start, at_once, at_40, just_never)], 100, [5.0, 10.0, 20.0, 1000.0])
    assert pulls_to_target(made, 0.1).tolist() == [[math.inf, 3, 40, math.inf]]
    assert seconds_to_target(made, 0.1) == pytest.approx(np.array([[math.inf, 45e-9, 600e-9, math.inf]]))


def test_late_quantile_is_over_those_who_got_there() -> None:
    rng = np.random.default_rng(0)
    times = rng.exponential(size=(20, 15))
    failed = rng.random(times.shape) < 0.3
    expected = [np.quantile(row[~lost], 0.9) for row, lost in zip(times, failed, strict=True)]
    assert late_quantile(np.where(failed, math.inf, times)) == pytest.approx(expected)
    assert late_quantile(np.array([math.inf, 7.0, math.inf])) == 7.0
    assert late_quantile(np.full(3, math.inf)) == math.inf


def test_never_is_slower_than_late() -> None:
    made = race({"never": 4.0, "late": 40.0}, {"never": 50, "late": 0}, {"never": 1.0, "late": 100.0}, 50)
    assert decide(faster([("late", "never")], 0.1), made)[0] == "holds"
    assert decide(faster([("never", "late")], 0.1), made)[0] == "does not hold"
    assert decide(faster([("never", "never")], 0.1), made)[0] == "undecided"


def test_which_gaps_are_close_and_which_distinct() -> None:
    for made in (papers_world()["delta-gaussian"], papers_world()["delta-cauchy"]):
        assert CLOSE_ARMS.groups(made) == [["0.1", "0.2"]]
        assert NEARER_ARMS.groups(made) == [["0.1", "0.2", "0.4"]]
        assert DISTINCT_ARMS.groups(made) == [["0.6", "0.8", "1.0"]]


def test_measure_of_regret_is_the_mean_of_the_best_variant() -> None:
    world = papers_world()["frechet-1.25"]
    expected = [world.results[label].regret.sel(policy=MED)[:, -1].mean() for label in ("Env1", "Env3")]
    assert measured(world, MED, REGRET, ["Env1", "Env3"]).value == pytest.approx(np.mean(expected))
