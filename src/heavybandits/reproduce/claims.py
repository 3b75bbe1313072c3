"""What the paper says about its experiments: each claim once, where it appears, and the rule that decides it."""

from __future__ import annotations

import math
from typing import NamedTuple

from .comparisons import Rule
from .measures import (
    ALL_INSTANCES,
    CLOSE_ARMS,
    DISTINCT_ARMS,
    EACH_INSTANCE,
    LATE_REGRET,
    NEARER_ARMS,
    SHARE_OF_RANDOM,
    environments,
    misses,
)
from .races import cheaper, faster, faster_than_recomputing, same_order
from .rate import rate_holds
from .rules import (
    MUCH,
    SIMILAR,
    almost_the_same,
    below,
    below_on_average,
    close,
    converges,
    each,
    grows_no_faster,
    harder,
    lower_in,
    no_worse_in_batches,
    under,
)
from .study_evidence import BEST_OF_OURS, OURS

RUCB_MEDIAN = "RUCB-Median"
RECOMPUTED = "RUCB-Median recomputed"
RIVALS = ("UCB", RUCB_MEDIAN)
BEST = (BEST_OF_OURS,)
SGD_AND_MEDIAN = ("SGD-UCB", "SGD-UCB-Median")
ENV1, ENV2, ENV3 = environments(1), environments(2), environments(3)

COMPARED = "Read as a comparison with RUCB-Median, which the paper then says is better there."
CHEAPER = "Here RUCB-Median keeps sums of blocks and refreshes only what has changed."
AS_IN_THE_CODE = (
    "The published code recomputes every estimate of RUCB-Median at every pull; so does the compiled policy used here."
)
UNSHOWN = "The paper gives no numbers for it."


class PaperClaim(NamedTuple):
    """A claim of the paper in our words, where it appears, and the study and rule that decide it."""

    words: str
    where: str  # sections, figures and tables, with commas between
    study: str
    rule: Rule
    notes: tuple[str, ...] = ()  # how it was read, a sentence each

    @property
    def section(self) -> str:
        """The first place in which it appears."""
        return self.where.split(", ")[0]


def _outperforms(noise: str, study: str, where: str, *notes: str) -> PaperClaim:
    return PaperClaim(
        f"Under {noise} the proposed algorithm outperforms other UCB-type algorithms.",
        f"Section 1.2, {where}", study, below_on_average(each(BEST, RIVALS), ALL_INSTANCES), notes,
    )  # fmt: skip


def _converges(noise: str, study: str, where: str) -> PaperClaim:
    return PaperClaim(f"The proposed algorithm converges under {noise}.", where, study, converges(BEST, EACH_INSTANCE))


def _to_target(target: float, counts: str) -> list[PaperClaim]:
    where, fails = "Section 3.1, Table 1", misses(target)
    published = f"In the paper SGD-UCB, SGD-UCB-Median, SGD-UCB-SMoM and RUCB-Median fail in {counts} of 100 trials."
    left_out = "Replications that never reach it are left out, which favours algorithms that often fail to."
    return [
        PaperClaim(
            f"The proposed algorithms reach a mean regret of {target:g} significantly faster than RUCB-Median.",
            where, "runtime", faster(each(OURS, [RUCB_MEDIAN]), target, MUCH), (left_out, CHEAPER),
        ),
        PaperClaim(
            f"The proposed algorithms reach a mean regret of {target:g} significantly faster than RUCB-Median that "
            "recomputes its estimates at every pull.",
            where, "runtime", faster_than_recomputing(OURS, RUCB_MEDIAN, RECOMPUTED, "remarks-cost", target, MUCH),
            (left_out, AS_IN_THE_CODE),
        ),
        PaperClaim(
            f"The proposed algorithms fail less often than RUCB-Median to reach a mean regret of {target:g}.",
            where, "runtime", below(each(OURS, [RUCB_MEDIAN]), EACH_INSTANCE, fails), (published,),
        ),
        PaperClaim(
            f"SGD-UCB-SMoM is the fastest to reach a mean regret of {target:g}.",
            where, "runtime", faster(each(["SGD-UCB-SMoM"], [*SGD_AND_MEDIAN, RUCB_MEDIAN]), target),
        ),
        PaperClaim(
            f"SGD-UCB fails least often to reach a mean regret of {target:g}.",
            where, "runtime", below(each(OURS[:1], [*OURS[1:], RUCB_MEDIAN]), EACH_INSTANCE, fails), (published,),
        ),
    ]  # fmt: skip


def _demanding(words: str, family: str, where: str) -> PaperClaim:
    return PaperClaim(
        words, where, "remarks-cost", cheaper(OURS, family, MUCH),
        (f"Read as: a pull costs at least {MUCH:g} times as much as a pull of the proposed algorithms.",),
    )  # fmt: skip


CLAIMS: tuple[PaperClaim, ...] = (
    # Cauchy noise
    _outperforms("Cauchy noise", "cauchy", "Section 3", "Section 3.1 itself makes an exception of Env3."),
    PaperClaim(
        "Robust UCB with a median of means shows results close to those of the proposed algorithm.",
        "Section 1.2", "cauchy", close(each(BEST, [RUCB_MEDIAN]), EACH_INSTANCE),
    ),
    PaperClaim(
        "Under Cauchy noise the proposed algorithms outperform UCB and RUCB-Median in Env1.",
        "Section 3.1, Figure 1", "cauchy", below(each(OURS, RIVALS), ENV1),
    ),
    PaperClaim(
        "Under Cauchy noise the proposed algorithms outperform UCB and RUCB-Median in Env2.",
        "Section 3.1, Figure 1", "cauchy", below(each(OURS, RIVALS), ENV2),
    ),
    PaperClaim(
        "Under Cauchy noise RUCB-Median converges faster than the proposed algorithms in Env3.",
        "Section 3.1, Figure 1", "cauchy", below(each([RUCB_MEDIAN], OURS), ENV3),
    ),
    PaperClaim(
        "Under Cauchy noise RUCB-Median is only slightly faster than the proposed algorithms in Env3.",
        "Section 3.1, Figure 1", "cauchy", below(each(OURS, [RUCB_MEDIAN]), ENV3, factor=SIMILAR),
    ),
    PaperClaim(
        "Under Cauchy noise Env3 is more challenging for the proposed algorithms than Env1 and Env2.",
        "Section 3.1", "cauchy", harder(each(OURS, [RUCB_MEDIAN]), ENV3, environments(1, 2)), (COMPARED,),
    ),
    PaperClaim(
        "The closer the locations of the arms, the more challenging the problem: Env2 is harder than Env1.",
        "Section 3", "cauchy", lower_in(BEST, ENV1, ENV2, SHARE_OF_RANDOM),
    ),
    PaperClaim(
        "Robust UCB with truncated means does worse than RUCB-Median.",
        "Section 3", "remarks-cauchy", below([(RUCB_MEDIAN, "RUCB-Truncated")], EACH_INSTANCE), (UNSHOWN,),
    ),
    PaperClaim(
        "Under heavy tails three initial pulls of each arm are better than one.",
        "Section 3", "remarks-cauchy", below_on_average([("SGD-UCB", "SGD-UCB (p=1)")], ALL_INSTANCES), (UNSHOWN,),
    ),
    _converges("Cauchy noise, which has no mean", "cauchy", "Section 4"),
    PaperClaim(
        "In other environments the order of the algorithms by runtime is the same.",
        "Section 3.1", "cauchy", same_order([*OURS, RUCB_MEDIAN], environments(2, 3), 0.1, "runtime"),
    ),
    PaperClaim(
        "With batches of b rewards only the fixed part of the regret bound grows: 2b pulls of each arm instead of 2.",
        "Remark after the theorem on Clipped-SGD-UCB", "cauchy",
        no_worse_in_batches("SGD-UCB", {"SGD-UCB-Median": 3, "SGD-UCB-SMoM": 6}, EACH_INSTANCE),
        ("The remark is on the bound; the claim is checked on the regret itself.",),
    ),
    # Runtime
    PaperClaim(
        "A step of RUCB-Median costs much more than one of the proposed algorithms.",
        "Section 1.2, Section 3.1", "runtime",
        cheaper(OURS, RUCB_MEDIAN, MUCH), (CHEAPER,),
    ),
    *_to_target(0.1, "7, 17, 12 and 37"),
    *_to_target(0.05, "17, 18, 30 and 37"),
    PaperClaim(
        "A step of RUCB-Median that recomputes its estimates costs much more than one of the proposed algorithms.",
        "Section 1.2, Section 3.1", "remarks-cost",
        cheaper(OURS, RECOMPUTED, MUCH), (AS_IN_THE_CODE,),
    ),
    _demanding("Robust UCB with truncated means is computationally intensive.", "RUCB-Truncated", "Section 1"),
    _demanding(
        "The index of Agrawal et al. (KLinf-UCB) is computationally demanding.", "KLinf-UCB", "Section 1, Section 1.1"
    ),
    _demanding("The index of Genalti et al. (AdaR-UCB) is computationally intensive.", "AdaR-UCB", "Section 1"),
    # Fréchet noise with a mean
    _outperforms(
        "Fréchet noise with a mean (shape 1.25)", "frechet-1.25", "Section 3",
        "Section 3.2 itself makes exceptions of Env1 and Env3.",
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 SGD-UCB and SGD-UCB-Median have smaller regret than UCB and RUCB-Median "
        "in Env2.",
        "Section 3.2, Figure 2", "frechet-1.25", below(each(SGD_AND_MEDIAN, RIVALS), ENV2),
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 SGD-UCB and SGD-UCB-Median converge asymptotically faster than RUCB-Median "
        "in Env3.",
        "Section 3.2, Figure 2", "frechet-1.25", below(each(SGD_AND_MEDIAN, [RUCB_MEDIAN]), ENV3, LATE_REGRET),
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 RUCB-Median has smaller regret than SGD-UCB and SGD-UCB-Median in Env3 in "
        "the given number of steps.",
        "Section 3.2, Figure 2", "frechet-1.25", below(each([RUCB_MEDIAN], SGD_AND_MEDIAN), ENV3),
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 RUCB-Median outperforms the proposed algorithms in Env1.",
        "Section 3.2, Figure 2", "frechet-1.25", below(each([RUCB_MEDIAN], OURS), ENV1),
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 the regrets of RUCB-Median and SGD-UCB in Env1 do not differ much.",
        "Section 3.2", "frechet-1.25", close([("SGD-UCB", RUCB_MEDIAN)], ENV1),
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 the mean regrets of RUCB-Median and SGD-UCB in Env1 are almost the same.",
        "Section 3.2", "frechet-1.25", almost_the_same([("SGD-UCB", RUCB_MEDIAN)], ENV1),
    ),
    PaperClaim(
        "Under Fréchet noise of shape 1.25 Env1 is especially challenging for the proposed algorithms.",
        "Section 3.2", "frechet-1.25", harder(each(OURS, [RUCB_MEDIAN]), ENV1, environments(2, 3)), (COMPARED,),
    ),
    PaperClaim(
        "For other noise the order of the algorithms by runtime is the same.",
        "Section 3.1", "frechet-1.25", same_order([*OURS, RUCB_MEDIAN], EACH_INSTANCE, 0.1, "runtime"),
    ),
    # Growth with the horizon
    PaperClaim(
        "Under symmetric noise without a mean, regret grows no faster than log(T) sqrt(T log T).",
        "Abstract", "remarks-growth", grows_no_faster(
            BEST, "Cauchy", lambda t: math.log(t) * math.sqrt(t * math.log(t)), "log(T) sqrt(T log T)",
        ),
    ),
    PaperClaim(
        "Under heavy tails with a mean, regret grows more slowly than the general lower bound, T to the 1/(1 + a).",
        "Abstract", "remarks-growth", grows_no_faster(BEST, "Fréchet", lambda t: math.pow(t, 0.8), "T^0.8"),
        ("Moments of Fréchet noise of shape 1.25 are finite below that order, so a is 0.25; the paper makes the claim "
         "for symmetric noise, which this is not.",),
    ),
    PaperClaim(
        "The rate C ln(4(K+1)/delta) ln²((K+1)R²) / (k+1) of clipped SGD holds after every step k up to K.",
        "Theorem on clipped SGD", "remarks-growth", rate_holds(sigma=0.01, radius=10.0, horizon=100_000, steps=10_000),
        ("The cited theorem proves only that the distance is at most sqrt(2) R exp(-step k / 2) after every step.",),
    ),
    # Gaussian noise
    PaperClaim(
        "Under Gaussian noise UCB has the smallest regret in all three environments.",
        "Section 3.3, Figure 3", "gaussian", below(each(["UCB"], [*OURS, RUCB_MEDIAN]), EACH_INSTANCE),
    ),
    PaperClaim(
        "Under Gaussian noise the proposed algorithms converge to almost the same mean regret as UCB.",
        "Section 3.3, Figure 3", "gaussian", almost_the_same(each(OURS, ["UCB"]), EACH_INSTANCE),
    ),
    PaperClaim(
        "Under Gaussian noise the proposed algorithm performs nearly optimally, similar to UCB.",
        "Section 1.2, Section 3.3", "gaussian", below(each(BEST, ["UCB"]), EACH_INSTANCE, factor=SIMILAR),
    ),
    PaperClaim(
        "Under Gaussian noise one initial pull of each arm is better than three.",
        "Section 3", "remarks-gaussian", below_on_average([("SGD-UCB", "SGD-UCB (p=3)")], ALL_INSTANCES), (UNSHOWN,),
    ),
    # Arms that are hard to tell apart
    PaperClaim(
        "UCB is optimal for two arms with Gaussian noise.",
        "Section 3.4, Figure 4", "delta-gaussian", below(each(["UCB"], [*OURS, RUCB_MEDIAN]), ALL_INSTANCES),
    ),
    PaperClaim(
        "With two close arms and Gaussian noise the proposed algorithms are close to RUCB-Median.",
        "Section 3.4, Figure 4", "delta-gaussian", close(each(OURS, [RUCB_MEDIAN]), CLOSE_ARMS),
    ),
    PaperClaim(
        "With two close arms and Gaussian noise the proposed algorithms distinguish them as UCB does.",
        "Figure 4", "delta-gaussian", close(each(OURS, ["UCB"]), CLOSE_ARMS),
    ),
    PaperClaim(
        "Under Cauchy noise the regret of UCB is out of proportion to that of the others.",
        "Section 3.4", "delta-cauchy", below(each([*OURS, RUCB_MEDIAN], ["UCB"]), ALL_INSTANCES, factor=1.0 / MUCH),
    ),
    PaperClaim(
        "Under Cauchy noise the proposed algorithms have smaller regret than RUCB-Median if arms are distinguishable.",
        "Section 3.4, Figure 4", "delta-cauchy", below(each(OURS, [RUCB_MEDIAN]), DISTINCT_ARMS),
        ('One reading of "smaller expected regrets as arms become more distinguishable".',),
    ),
    PaperClaim(
        "Under Cauchy noise the regret of the proposed algorithms falls as arms become more distinguishable.",
        "Section 3.4, Figure 4", "delta-cauchy", lower_in(OURS, DISTINCT_ARMS, NEARER_ARMS),
        ('The other reading of "smaller expected regrets as arms become more distinguishable".',),
    ),
    PaperClaim(
        "The proposed algorithms can distinguish arms with close locations even under Cauchy noise.",
        "Figure 4", "delta-cauchy", under(OURS, CLOSE_ARMS, SHARE_OF_RANDOM, 1.0 / MUCH),
    ),
    # Other noise without a mean
    _outperforms("Fréchet noise without a mean (shape 1)", "frechet-1", "Appendix E, Figure 5"),
    _converges("Fréchet noise without a mean (shape 1)", "frechet-1", "Section 4"),
    _outperforms("asymmetric noise, Cauchy mixed with exponential,", "cauchy-exp", "Appendix E, Figure 6"),
    _converges("asymmetric noise, Cauchy mixed with exponential", "cauchy-exp", "Section 3.1"),
    _outperforms("asymmetric noise, Cauchy mixed with Pareto,", "cauchy-pareto", "Appendix E, Figure 7"),
    _converges("asymmetric noise, Cauchy mixed with Pareto", "cauchy-pareto", "Section 3.1"),
)  # fmt: skip
