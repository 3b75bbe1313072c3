"""Rules and measures that decide claims: thresholds, standard errors, times to a target."""

import math

import numpy as np
import pytest
from reports import Shown
from scipy.special import stdtr
from worlds import ENVS, MANY, MED, OURS, RUCB, SGD, SMOM, costs, environments, find, papers_world, race, study

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.reproduce import verdicts
from heavybandits.reproduce.claims import PaperClaim
from heavybandits.reproduce.comparisons import Comparison, Rule, growth_needed
from heavybandits.reproduce.measures import (
    CLOSE_ARMS,
    DISTINCT_ARMS,
    EACH_INSTANCE,
    NEARER_ARMS,
    REGRET,
    Measured,
    measured,
)
from heavybandits.reproduce.races import cheaper, faster, faster_than_recomputing, same_order
from heavybandits.reproduce.rate import rate_holds
from heavybandits.reproduce.rules import below
from heavybandits.reproduce.study_evidence import StudyEvidence
from heavybandits.reproduce.verdicts import ClaimVerdict, verdict_on
from heavybandits.results.result import Result
from heavybandits.results.study_result import StudyResult
from heavybandits.results.time_to_target import late_quantile, pulls_to_target, seconds_to_target
from heavybandits.studies.study import studies


def rule(*odds: tuple[float, float]) -> Rule:
    """Return a rule with comparisons that have this evidence for and against a claim."""
    compared = [Comparison(f"{number}", Shown(math.log(for_it)), Shown(math.log(against)))
                for number, (for_it, against) in enumerate(odds)]  # fmt: skip
    return Rule("", lambda study: compared)


def decide(rule: Rule, study: StudyResult, **others: StudyResult) -> ClaimVerdict:
    evidence = {name.replace("_", "-"): StudyEvidence(other) for name, other in others.items()}
    return verdict_on(PaperClaim("", "", study.name, rule), {study.name: StudyEvidence(study), **evidence})


def outcome_of(rule: Rule, study: StudyResult, **others: StudyResult) -> str:
    return decide(rule, study, **others).outcome


@pytest.mark.parametrize(
    ("odds", "outcome"),
    [
        ([(20.01, 0.1)], "holds"), ([(19.99, 0.1)], "undecided"), ([(0.1, 19.99)], "undecided"),
        ([(0.1, 20.01)], "does not hold"), ([(20.01, 0.1), (9e9, 0.1)], "holds"),
        ([(9e9, 0.1), (19.99, 0.1)], "undecided"), ([(9e9, 0.1), (0.1, 39.99)], "undecided"),
        ([(9e9, 0.1), (0.1, 40.01)], "does not hold"),
    ],
)  # fmt: skip
def test_thresholds(odds: list[tuple[float, float]], outcome: str) -> None:
    decided = decide(rule(*odds), papers_world()["runtime"])
    assert (decided.outcome, decided.is_open) == (outcome, outcome == "undecided")
    weakest = len(odds) - 1 if outcome != "holds" else 0
    assert f"{weakest}; evidence " in decided.numbers
    assert decided.in_brief == str(weakest)
    assert ("replications would decide it" in decided.numbers) == (outcome == "undecided")


def test_replications_that_are_needed_decide() -> None:
    for odds in ([(4.0, 0.1), (300.0, 0.1)], [(300.0, 0.1), (0.1, 3.0)]):
        factor = growth_needed([Comparison("", Shown(math.log(one)), Shown(math.log(other))) for one, other in odds])
        for more, decided in ((0.98, False), (1.01, True)):
            later = rule(*((one ** (factor * more), other ** (factor * more)) for one, other in odds))
            assert (outcome_of(later, papers_world()["runtime"]) != "undecided") == decided
    numbers = decide(rule((math.sqrt(20.0) + 1e-9, 0.1)), papers_world()["runtime"]).numbers
    assert numbers.endswith("About 900 replications would decide it if they go on like the 600 played so far.")
    numbers = decide(rule((1.0, 1.0)), papers_world()["runtime"]).numbers
    assert numbers.endswith("How many replications would decide it cannot be told yet.")


def test_differences_are_paired_and_keep_their_limits() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.uniform(size=(2, 40))
    difference = Measured(a, 0.0, 1.0) - Measured(b[:30], 0.0, 1.0) * 2.0 + 0.5
    assert np.allclose(difference.numbers, a[:30] - 2.0 * b[:30] + 0.5)
    assert (difference.low, difference.high) == (-1.5, 1.5)
    assert difference.error == pytest.approx((a[:30] - 2.0 * b[:30]).std(ddof=1) / math.sqrt(30))


def test_regrets_that_are_all_alike_are_no_proof() -> None:
    def compared(replications: int) -> str:
        regret = np.stack([np.full(replications, 0.0), np.full(replications, 90.0)])[:, :, None]
        made = Result(
            ENVS["Env1"], labels=("A", "B"), rounds=np.array([1000]), regret=regret,
            pulls=np.zeros((2, replications, 10), np.int64), wall_time=np.ones((2, replications)), horizon=1000, seed=0,
        )  # fmt: skip
        return outcome_of(below([("A", "B")], EACH_INSTANCE), study("", {"Env1": made}))

    # B loses a hundredth of what is possible: A, which lost nothing so far, may lose it all in one of a hundred
    assert (compared(500), compared(1000)) == ("undecided", "holds")


def fails_rarely(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Return real regrets of a greedy policy, resampled so that one in fifty replications loses linearly."""
    greedy = {"greedy": hb.make("rucb-median", eps=1, v=1e-24)}
    played = hb.simulate(hb.env1(hb.Cauchy()), greedy, horizon=500, replications=400, workers=1)
    regret = played.regret.to_numpy()[0, :, -1]
    lost = regret > 0.1 * 500 * 9.0
    assert 20 < lost.sum() < 380
    return np.where(rng.random(shape) < 0.02, rng.choice(regret[lost], shape), rng.choice(regret[~lost], shape))


@pytest.mark.slow
def test_verdicts_on_real_regrets_are_rarely_wrong_at_any_look() -> None:
    rng, most = np.random.default_rng(5), 500 * 9.0
    mean = fails_rarely(rng, (100, 10_000)).mean()
    margins = mean - fails_rarely(rng, (500, 2048))  # that regret is below its own mean is wrong, but only just
    wrong, old = np.zeros(500, bool), np.zeros(500, bool)
    for n in (16, 32, 64, 128, 256, 512, 1024, 2048):
        seen = margins[:, :n]
        strength = seen.mean(axis=1) / np.maximum(seen.std(axis=1, ddof=1) / math.sqrt(n), 1e-9)
        old |= stdtr(n - 1, -strength) < 0.05 / 8
        compared = (Comparison.of("", Measured(row, mean - most, mean)) for row in seen)
        wrong |= np.array([one.speaks_for() or one.speaks_against(1) for one in compared])
    assert wrong.mean() <= 0.05
    assert old.mean() > 0.15  # t tests, with a level for each look, err much more often


def test_a_paired_difference_may_decide_where_the_spread_is_large() -> None:
    luck = np.random.default_rng(2).uniform(0.0, 60_000.0, 400)
    regret = np.stack([luck, luck + 3000.0])[:, :, None]
    made = Result(
        ENVS["Env1"], labels=("A", "B"), rounds=np.array([10_000]), regret=regret,
        pulls=np.zeros((2, 400, 10), np.int64), wall_time=np.ones((2, 400)), horizon=10_000, seed=0,
    )  # fmt: skip
    assert outcome_of(below([("A", "B")], EACH_INSTANCE), study("", {"Env1": made})) == "holds"
    assert outcome_of(below([("B", "A")], EACH_INSTANCE), study("", {"Env1": made})) == "does not hold"


@pytest.mark.slow
def test_numbers_of_a_verdict_are_those_of_the_results() -> None:
    world = papers_world()
    decided = find(verdicts(world), "only slightly faster")
    final = world["cauchy"].results["Env3"].regret.isel(round=-1)
    smom, rucb = (final.sel(policy=family).to_numpy()[1::2] for family in (SMOM, RUCB))
    shown = [
        f"{values.mean():.4f} ± {values.std(ddof=1) / math.sqrt(MANY // 2):.4f}"
        for values in (smom, rucb, 1.25 * rucb - smom)
    ]
    rule = f"mean regret at the horizon in Env3: each of {SGD}, {MED}, {SMOM} below 1.25 times {RUCB}"
    assert decided.claim.rule.words == rule
    assert decided.numbers == (
        f"3 of 3 comparisons support it, 0 contradict it. The weakest: regret, Env3: {SMOM} {shown[0]}, "
        f"{RUCB} {shown[1]}; margin {shown[2]}; evidence over 1,000,000 : 1 for it, below 1 : 1 against it."
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


def test_times_are_those_of_replications_that_reach_the_target() -> None:
    cost = {"never": 1.0, "early": 1.0, "late": 1.0}
    made = race({"never": 4.0, "early": 9.0, "late": 40.0}, {"never": 50, "early": 25, "late": 0}, cost, 600)
    assert outcome_of(faster([("early", "late")], 0.1), made) == "holds"
    assert outcome_of(faster([("late", "early")], 0.1), made) == "does not hold"
    for pair in (("late", "never"), ("never", "late"), ("late", "late")):
        assert outcome_of(faster([pair], 0.1), made) == "undecided"


def test_noise_of_times_leaves_costs_undecided() -> None:
    made = race(dict.fromkeys((SGD, RUCB), 9.0), dict.fromkeys((SGD, RUCB), 0), {SGD: 10.0, RUCB: 20.0}, 100)
    times = made.results["Env1"].wall_time.to_numpy()
    assert outcome_of(cheaper([SGD], RUCB, 1.5), made) == "holds"
    assert outcome_of(cheaper([SGD], RUCB, 3.0), made) == "does not hold"
    times[:] *= np.random.default_rng(0).choice([1.0, 9.0], size=times.shape)
    assert outcome_of(cheaper([SGD], RUCB, 1.5), made) == "undecided"


@pytest.mark.parametrize(("cost", "outcome"), [(102.0, "holds"), (98.0, "does not hold")])
def test_recomputing_costs_in_proportion_to_the_square_of_the_pulls(cost: float, outcome: str) -> None:
    # twice 51 pulls at 10.2 ns, against 102 pulls that cost 102² / 1000 times the mean cost of 1000 pulls
    made = race({SGD: 5.0, RUCB: 10.0}, {SGD: 0, RUCB: 0}, {SGD: 1.0, RUCB: 1.0}, 300)
    compared = faster_than_recomputing([SGD], RUCB, "RUCB-Median recomputed", "remarks-cost", 0.1, 2.0)
    assert outcome_of(compared, made, remarks_cost=costs(10.2, cost, 300)) == outcome


def test_the_order_is_that_of_the_other_study_and_not_the_papers() -> None:
    families = (SGD, RUCB)
    rule = same_order(families, EACH_INSTANCE, 0.1, "runtime")
    made = environments("cauchy", dict.fromkeys((*OURS, RUCB), (0.1, 0.1, 0.1)), {}, {SGD: 30.0, RUCB: 20.0}, 300)
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
    assert (
        outcome_of(generous, any_study) == "undecided"
    )  # no run is beyond it, but delta is far below one in a hundred
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
