"""Claims of the paper: three worlds made by hand, in which all hold, none does, and nothing can be told."""

import functools
import math
from collections.abc import Callable

import pytest
from worlds import (
    OURS,
    RUCB,
    environments,
    find,
    mirrored_world,
    outcomes,
    papers_world,
    race,
    study,
    sweep,
)

from heavybandits.engine.results import StudyResult
from heavybandits.reproduce import DIFFERENCES, EXPERIMENTS, verdicts
from heavybandits.reproduce.claims import CLAIMS


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
