"""Where the text of the paper and its published code differ or leave something open, and what is run here."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """A point on which the text and the published code of the paper differ.

    Examples
    --------
    >>> from heavybandits.reproduce import DIFFERENCES
    >>> [difference.topic for difference in DIFFERENCES if "gaussian" in difference.studies]
    ['Gaussian noise', 'Environments with Gaussian noise']
    """

    topic: str
    text: str  # what the paper says
    code: str  # what its published code does
    here: str  # what is run here
    studies: tuple[str, ...] = ()  # those whose claims it affects


DIFFERENCES = (
    Difference(
        "Schedule of Clipped-SGD-UCB",
        "The algorithm takes its step size, clipping levels and bonus from the convergence theorem.",
        "The step size is 1/ln(4(T+1)T²), the clipping level is R throughout, and the bonus is a coefficient times "
        "sqrt(ln t / n).",
        "As in the code: with the theorem's values the arms would be played in turn up to every horizon tried.",
    ),
    Difference(
        "Clipping level",
        "R bounds the distance from the first estimate to the location.",
        "R is the largest absolute location of the arms, which a user would not know; 10 where runtime is measured.",
        "As in the code.",
    ),
    Difference(
        "What T counts",
        "Rounds; in each, the chosen arm is pulled as often as a batch requires.",
        "Pulls.",
        "Pulls, for all algorithms.",
    ),
    Difference(
        "Number of steps",
        "Stated only for runtime (10,000), Gaussian noise (3,000) and close arms (2,000).",
        "10,000 in Env1 and Env2, 15,000 in Env3.",
        "As in the code.",
    ),
    Difference(
        "Bonus of RUCB-Median",
        "Robust UCB with a median of means, whose bonus shrinks as an arm is pulled.",
        "The published code gives RUCB-Median a moment of order 1, so the bonus is the same for every arm and the "
        "policy is greedy.",
        "A grid of bounds on the variance; the smallest, 1e-24, makes the bonus vanish and plays as the code does.",
    ),
    Difference(
        "Gaussian noise",
        "Standard normal.",
        "The published code draws the normal noise uniformly from [0, 1).",
        "Standard normal.",
        ("gaussian", "delta-gaussian"),
    ),
    Difference(
        "Environments with Gaussian noise",
        "Three: 10 arms 0.1 apart, 10 arms 0.02 apart, and 100 arms 0.02 apart.",
        "The published script has the last two; the first is missing.",
        "All three.",
        ("gaussian",),
    ),
    Difference(
        "Cauchy noise mixed with Pareto",
        "The Pareto density is printed for x >= -1.5, where its integral is infinite.",
        "The published code draws the Pareto part from a bounded law on (-1, 0].",
        "The density from -0.5 on, where it integrates to one and has mean zero.",
        ("cauchy-pareto",),
    ),
    Difference(
        "Cauchy noise with close arms",
        "Scale 1.",
        "The published code uses Cauchy noise of scale 2 here and clips at the gap, hence at 0 where the gap is 0.",
        "Scale 1; clipped at the gap, or at 1 where the gap is 0.",
        ("delta-cauchy",),
    ),
    Difference(
        "UCB on close arms under Cauchy noise",
        "Not plotted, because its expected regret is so large that the others could not be read.",
        "In the latest published script UCB is commented out, so it is not run at all; an earlier version ran it.",
        "Run and shown.",
        ("delta-cauchy",),
    ),
    Difference(
        "Gaps of close arms",
        "Steps of 0.04 and of 0.4.",
        "25 gaps, evenly spaced from 0 to 1 and from 0 to 10, so the steps are 1/24 and 10/24.",
        "As in the text, which gives 26 gaps.",
    ),
    Difference(
        "Symmetric noise",
        "The theory is for symmetric noise, and only the two mixtures are called asymmetric.",
        "Fréchet noise is one-sided too.",
        "Kept: all arms share the law, so the gaps are the same for any measure of location.",
    ),
    Difference(
        "Distribution functions",
        "Those printed for Cauchy noise and the mixtures are densities.",
        "Draws from the laws with these densities, except for the Pareto part.",
        "Read as densities; the one printed for Fréchet noise is a distribution function.",
    ),
    Difference(
        "Time to a target",
        "The 90% quantile of the time to reach it; trials that do not reach it count as failures.",
        "The published code looks for the target only after the first fiftieth of the rounds, and takes the quantile "
        "over the trials that reach it: an algorithm that often fails is judged by its lucky trials.",
        "As in the code, with the failures counted separately.",
        ("runtime",),
    ),
    Difference(
        "Unit of the times",
        "Seconds.",
        'The published notebook that makes the table divides milliseconds by ten and heads the column "ms".',
        "Milliseconds of compiled code; only ratios can be compared with the paper's.",
        ("runtime",),
    ),
    Difference(
        "Cost of RUCB-Median",
        "Robust UCB is much more computationally demanding.",
        "Every index is recomputed from all rewards at every pull.",
        "Sums of blocks are kept. A compiled policy that recomputes everything is timed too, and claims about time are "
        "checked against both.",
    ),
    Difference(
        "Hyper-parameters",
        "Those that give the best convergence; neither they nor the values tried are stated.",
        "Coefficients 0.1 and 0.2 under heavy tails, 0.07, 0.1 and 0.12 under Gaussian noise; 0.1, 0.2, 0.5 and 1 for "
        "UCB; one setting of RUCB-Median.",
        "Four values for every algorithm: 0.1, 0.2, 0.5 and 1 for the SGD-UCBs, 0.1, 0.5, 1 and 2 for UCB, 1e-24, "
        "0.001, 0.003 and 0.01 for RUCB-Median. In each study one value is chosen by geometric mean regret over its "
        "instances on the even replications; the odd ones judge it.",
    ),
    Difference(
        "Smoothing",
        "Gaussian noise of scale theta, an arbitrary positive number, is added to each block's mean.",
        "Theta is 0.001.",
        "As in the code.",
    ),
    Difference(
        "Close arms under Gaussian noise",
        "300 trials, and one initial pull of each arm as recommended for Gaussian noise.",
        "The published code runs 30 trials with three initial pulls, of UCB and SGD-UCB only; the other algorithms are "
        "commented out.",
        "As in the text, with all algorithms.",
        ("delta-gaussian",),
    ),
    Difference(
        "Bands of the figures",
        "The standard deviation.",
        "Half a standard deviation on either side of the mean.",
        "From the 10% to the 90% quantile, because regret is far from normal.",
    ),
    Difference(
        "Index of Algorithm 1",
        "The first index adds sqrt(g), all later ones sqrt(2g), which is what the proof needs.",
        "Neither: the bonus is a coefficient times sqrt(ln t / n).",
        "As in the code; the policy fo-ucb, which takes its bonus from a rate, has sqrt(2g) throughout.",
    ),
)
