"""Rules and measures that decide claims: thresholds, standard errors, times to a target."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from worlds import ENVS, MANY, MED, OURS, RUCB, SGD, SMOM, costs, environments, find, papers_world, race, study

import heavybandits as hb
from heavybandits.reproduce import verdicts
from heavybandits.reproduce.claims import PaperClaim
from heavybandits.reproduce.comparisons import LOOK_LEVEL, Comparison, Rule, growth_needed
from heavybandits.reproduce.measures import (
    CLOSE_ARMS,
    COST,
    DISTINCT_ARMS,
    EACH_INSTANCE,
    LATE_GROWTH,
    LOG_REGRET,
    NEARER_ARMS,
    REGRET,
    Measured,
    ResultMeasure,
    StudyEvidence,
    measured,
)
from heavybandits.reproduce.races import faster, faster_than_recomputing, same_order
from heavybandits.reproduce.rate import rate_holds
from heavybandits.reproduce.rules import below
from heavybandits.reproduce.verdicts import ClaimVerdict, verdict_on
from heavybandits.results.result import Result
from heavybandits.results.study_result import StudyResult
from heavybandits.results.time_to_target import late_quantile, pulls_to_target, seconds_to_target
from heavybandits.studies.study import studies


def rule(*strengths: float, freedom: int = 10**6) -> Rule:
    return Rule(
        "", lambda study: [Comparison(f"{number}", 10.0 * s, 10.0, freedom) for number, s in enumerate(strengths)]
    )


def decide(rule: Rule, study: StudyResult, **others: StudyResult) -> ClaimVerdict:
    evidence = {name.replace("_", "-"): StudyEvidence(other) for name, other in others.items()}
    return verdict_on(PaperClaim("", "", study.name, rule), {study.name: StudyEvidence(study), **evidence})


def outcome_of(rule: Rule, study: StudyResult, **others: StudyResult) -> str:
    return decide(rule, study, **others).outcome


@pytest.mark.parametrize(
    ("strengths", "outcome"),
    [
        ((2.50,), "holds"), ((2.49,), "undecided"), ((-2.49,), "undecided"), ((-2.50,), "does not hold"),
        ((2.50, 9.0), "holds"), ((9.0, 2.49), "undecided"), ((9.0, -2.73), "undecided"),
        ((9.0, -2.74), "does not hold"),
    ],
)  # fmt: skip
def test_thresholds(strengths: tuple[float, ...], outcome: str) -> None:
    decided = decide(rule(*strengths), papers_world()["runtime"])
    assert (decided.outcome, decided.is_open) == (outcome, outcome == "undecided")
    weakest = min(range(len(strengths)), key=lambda number: strengths[number])
    assert f"{weakest}; margin {10 * strengths[weakest]:.0f} ± 10." in decided.numbers
    assert decided.in_brief == str(weakest)
    assert ("replications would decide it" in decided.numbers) == (outcome == "undecided")


@pytest.mark.slow
def test_eight_looks_err_with_probability_one_in_twenty_at_most() -> None:
    assert pytest.approx(0.05) == 8 * LOOK_LEVEL
    # and a look errs no more often with few replications: t tests of five numbers
    rng, wrong = np.random.default_rng(5), 0
    for sample in rng.normal(size=(20_000, 5)):
        wrong += Comparison("", sample.mean(), sample.std(ddof=1) / math.sqrt(5), 4).speaks_for()
    assert wrong / 20_000 == pytest.approx(LOOK_LEVEL, abs=4 * math.sqrt(LOOK_LEVEL / 20_000))


def test_contradicting_one_of_many_by_chance_is_as_rare_as_contradicting_one() -> None:
    def tail(z: float) -> float:
        return 0.5 * math.erfc(z / math.sqrt(2.0))

    for comparisons in (1, 4, 12):
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            against = Comparison("", -middle, 1.0, 10**8).speaks_against(comparisons)
            low, high = (low, middle) if against else (middle, high)
        assert comparisons * tail(high) == pytest.approx(LOOK_LEVEL, rel=1e-4)


def test_replications_that_are_needed_decide() -> None:
    for margins in ((1.0, 3.0), (5.0, -1.5)):
        comparisons = [Comparison("", margin, 1.0, 10**6) for margin in margins]
        factor = growth_needed(comparisons)
        for more, decided in ((0.99, False), (1.01, True)):
            later = rule(*(margin * math.sqrt(factor * more) for margin in margins))
            assert (outcome_of(later, papers_world()["runtime"]) != "undecided") == decided
    numbers = decide(rule(0.50001 * NormalDist().inv_cdf(1.0 - LOOK_LEVEL)), papers_world()["runtime"]).numbers
    assert numbers.endswith("About 1,200 replications would decide it if the margin stays the same; 300 were played.")
    numbers = decide(rule(0.0), papers_world()["runtime"]).numbers
    assert numbers.endswith("More replications of this kind would not decide it.")


@pytest.mark.parametrize(
    ("margin", "error", "strength"),
    [(3.0, 1.5, 2.0), (0.0, 0.0, 0.0), (1.0, 0.0, math.inf), (-1.0, 0.0, -math.inf), (-math.inf, 1.0, -math.inf),
     (-math.inf, math.inf, 0.0), (math.nan, 1.0, 0.0), (1.0, math.inf, 0.0)],
)  # fmt: skip
def test_strength_of_a_comparison(margin: float, error: float, strength: float) -> None:
    assert Comparison("", margin, error, 10).strength == strength


def test_errors_are_those_of_paired_differences_within_and_independent_between_instances() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 40))
    difference = Measured({"Env1": a, "Env2": c}) - Measured({"Env1": a + b}) * 2.0
    paired = a - 2.0 * (a + b)
    assert difference.value == pytest.approx(paired.mean() + c.mean())
    assert difference.error == pytest.approx(math.sqrt(paired.var(ddof=1) / 40 + c.var(ddof=1) / 40))
    assert (difference + 1.0).value == pytest.approx(difference.value + 1.0)
    assert difference.freedom == 39


def test_a_paired_difference_may_decide_where_the_spread_is_large() -> None:
    luck = np.random.default_rng(2).exponential(100.0, 30)
    regret = np.stack([luck, luck + 1.0])[:, :, None]
    made = Result(
        ENVS["Env1"], labels=("A", "B"), rounds=np.array([10]), regret=regret, pulls=np.zeros((2, 30, 10), np.int64),
        wall_time=np.ones((2, 30)), horizon=10, seed=0,
    )  # fmt: skip
    assert outcome_of(below([("A", "B")], EACH_INSTANCE), study("", {"Env1": made})) == "holds"
    assert outcome_of(below([("B", "A")], EACH_INSTANCE), study("", {"Env1": made})) == "does not hold"


@pytest.mark.parametrize(
    ("measure", "function"),
    [
        (LOG_REGRET, lambda final, late, cost: math.log(final.mean())),
        (LATE_GROWTH, lambda final, late, cost: late.mean() / final.mean()),
        (COST, lambda final, late, cost: np.quantile(cost, 0.25)),
    ],
)
def test_errors_against_bootstrap(measure: ResultMeasure, function: Callable[..., float]) -> None:
    rng = np.random.default_rng(3)
    final = rng.gamma(2.0, 50.0, 400)
    late = final * rng.uniform(0.2, 0.8, 400)  # per pull, as a multiple of the average
    cost = rng.gamma(3.0, 10.0, 400)
    regret, costs = np.full((1, 800, 2), 1e9), np.full((1, 800), 1e9)
    regret[0, 1::2], costs[0, 1::2] = np.stack([final - 0.1 * late, final], axis=1), cost  # odd ones judge
    made = Result(
        ENVS["Env1"], labels=("A",), rounds=np.array([900, 1000]), regret=regret,
        pulls=np.zeros((1, 800, 10), np.int64), wall_time=costs, horizon=1000, seed=0,
    )  # fmt: skip
    found = measured(StudyEvidence(study("", {"Env1": made})), "A", measure, ["Env1"])
    assert found.value == pytest.approx(function(final, late, cost))
    resampled = [function(final[row], late[row], cost[row]) for row in rng.integers(400, size=(2000, 400))]
    assert found.error == pytest.approx(np.std(resampled), rel=0.2)


@pytest.mark.slow
def test_numbers_of_a_verdict_are_those_of_the_results() -> None:
    world = papers_world()
    decided = find(verdicts(world), "only slightly faster")
    final = world["cauchy"].results["Env3"].regret.isel(round=-1)
    smom, rucb = (final.sel(policy=family).to_numpy()[1::2] for family in (SMOM, RUCB))
    shown = [
        f"{values.mean():.3f} ± {values.std(ddof=1) / math.sqrt(MANY // 2):.3f}"
        for values in (smom, rucb, 1.25 * rucb - smom)
    ]
    rule = f"mean regret at the horizon in Env3: each of {SGD}, {MED}, {SMOM} below 1.25 times {RUCB}"
    assert decided.claim.rule.words == rule
    assert decided.numbers == (
        f"3 of 3 comparisons support it, 0 contradict it. The weakest: regret, Env3: {SMOM} {shown[0]}, "
        f"{RUCB} {shown[1]}; margin {shown[2]}."
    )


def curve_result(curves: list[list[float]], horizon: int, cost: list[float]) -> Result:
    regret = np.array([curves])
    return Result(
        ENVS["Env1"], labels=("A",), rounds=np.arange(1, horizon + 1), regret=regret,
        pulls=np.zeros((1, len(curves), 10), np.int64), wall_time=np.array([cost]), horizon=horizon, seed=0,
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
    assert outcome_of(faster([("late", "never")], 0.1), made) == "holds"
    assert outcome_of(faster([("never", "late")], 0.1), made) == "does not hold"
    assert outcome_of(faster([("never", "never")], 0.1), made) == "undecided"


@pytest.mark.parametrize(("cost", "outcome"), [(103.0, "holds"), (101.0, "does not hold")])
def test_recomputing_costs_in_proportion_to_the_square_of_the_pulls(cost: float, outcome: str) -> None:
    # twice 51 pulls at 10.201 ns, against 101 pulls that cost 101² / 1000 times the mean cost of 1000 pulls
    made = race({SGD: 5.0, RUCB: 10.0}, {SGD: 0, RUCB: 0}, {SGD: 10.201, RUCB: 1.0}, 50)
    compared = faster_than_recomputing([SGD], RUCB, "RUCB-Median recomputed", "remarks-cost", 0.1, 2.0)
    assert outcome_of(compared, made, remarks_cost=costs(1.0, cost, 50)) == outcome


def test_the_order_is_that_of_the_other_study_and_not_the_papers() -> None:
    families = (SGD, RUCB)
    rule = same_order(families, EACH_INSTANCE, 0.1, "runtime")
    made = environments("cauchy", dict.fromkeys((*OURS, RUCB), (0.1, 0.1, 0.1)), {}, {SGD: 30.0, RUCB: 20.0}, 50)
    for fast, outcome in ((SGD, "does not hold"), (RUCB, "holds")):
        cost = {family: 1.0 if family == fast else 2.0 for family in families}
        reference = race(dict.fromkeys(families, 9.0), dict.fromkeys(families, 0), cost, 50)
        assert outcome_of(rule, made, runtime=reference) == outcome


@pytest.mark.slow
def test_recomputing_makes_the_choices_of_rucb_median() -> None:
    file = studies()["remarks-cost"].with_name("recomputed_median.py")
    policies = {"kept": hb.make("rucb-median", eps=1, v=0.003), "anew": hb.make(f"{file}:RecomputedMedian", v=0.003)}
    result = hb.simulate(hb.env2(hb.Cauchy()), policies, horizon=600, replications=3, workers=1)
    assert (result.pulls.sel(policy="kept") == result.pulls.sel(policy="anew")).all()


def test_the_printed_rate_is_generous_where_noise_is_large() -> None:
    any_study = papers_world()["runtime"]
    generous, small = (rate_holds(sigma, radius=10.0, horizon=100_000, steps=2000) for sigma in (1.0, 0.01))
    assert outcome_of(generous, any_study) == "holds"
    assert outcome_of(small, any_study) == "does not hold"


def test_which_gaps_are_close_and_which_distinct() -> None:
    for made in (StudyEvidence(papers_world()["delta-gaussian"]), StudyEvidence(papers_world()["delta-cauchy"])):
        assert CLOSE_ARMS.groups(made) == [["0.1"], ["0.2"]]
        assert NEARER_ARMS.groups(made) == [["0.1", "0.2", "0.4"]]
        assert DISTINCT_ARMS.groups(made) == [["0.6", "0.8", "1.0"]]


def test_measure_of_regret_is_the_mean_of_the_best_variant() -> None:
    world = papers_world()["frechet-1.25"]
    expected = [world.results[label].regret.sel(policy=MED)[1::2, -1].mean() for label in ("Env1", "Env3")]
    assert measured(StudyEvidence(world), MED, REGRET, ["Env1", "Env3"]).value == pytest.approx(np.mean(expected))
