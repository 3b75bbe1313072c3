r"""Level-set UCB: the index of an arm is the upper end of a sub-level set of its own loss.

*Assumes* noise with the same law for all arms, whatever its tails; no moment need exist.  *Needs* no prior knowledge;
the loss may be chosen or learned.  *When that fails*: a best arm that is several times noisier than the others may be
locked out, and a loss that does not fit the noise costs pulls.  It compares locations, not means.  Where the arms'
rewards differ in shape, the arm it prefers may not have the highest mean; where most rewards are the same number, say
zero, it can hardly tell arms apart.

*Formula*: for a loss :math:`\rho`, by default Cauchy's, :math:`\ln(1 + z^2)`, and a scale s that is learned from all
arms,

.. math::  A_t = \arg\max_a\ \sup\{\theta : F_a(\theta) \le \min F_a + \ell_a\}, \qquad
           F_a(\theta) = \sum_j \rho\Bigl(\frac{r_{a,j} - \theta}{s}\Bigr),

.. math::  \ell_a = \frac{n_a}{n_a - h} \ln\Bigl(1 + \frac cK
           \bigl(1 + u\,(1 + \tfrac23 h \ln^2(1 + u))\bigr)\Bigr), \qquad u = \frac{t}{K n_a},

with h = 3/4 for lower tails like Cauchy's and 0 for light ones.  A *learned* loss is :math:`-\ln f_q` of the law under
which the residuals seen so far, of all arms, are most likely: Student's t with 1, 3 or infinitely many degrees of
freedom, or one of four skewed laws; Cauchy's has a head start.  With :math:`\rho = -\ln f` the set is that of a
likelihood-ratio test, and with the squared loss it is UCB's interval.  The sets are exact for an arm's first sixteen
rewards; after that the sum is replaced by its expectation, and its minimiser tracked by stochastic approximation: see
:mod:`.level_sets.level_set` and ``docs/level-set.md``.

*Cost*: O(1) amortised per reward and O(log K) per choice; 337 bytes per arm.

*Reference*: this library; the template is that of Dorn, Katrutsa, Latypov and Pudovikov (2024).
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...world.noises import Cauchy, Noise, make_noise, noise_spec
from ..entries import register_policy, register_preset
from ..level_sets.level_set import LevelSets, init_level_sets, observe
from ..level_sets.loss_tables import Losses, TwoPiece, footing, tabulate
from ..parameters import NonNegative, Positive
from ..parts.choice.tournament import choose

LEARNED_LAWS = (
    TwoPiece(1.0, 1.0), TwoPiece(3.0, 3.0), TwoPiece(math.inf, math.inf),
    TwoPiece(math.inf, 1.0, 3.0), TwoPiece(1.0, math.inf, 1 / 3), TwoPiece(3.0, 1.0, 2.0), TwoPiece(1.0, 3.0, 0.5),
)  # fmt: skip
DOUBT = 0.02  # share of Cauchy's law in each of them: what is learned from few residuals may be wrong
HEAD_START = 0.7  # of Cauchy's law, in log likelihood
# What tabulate(LEARNED_LAWS, DOUBT) returns, saved by np.savez_compressed: computing it takes SciPy, slow to load.
TABLES = Path(__file__).with_name("level_set_ucb.npz")


def learned_losses() -> Losses:
    """Return the losses of ``LEARNED_LAWS``, from the file of tables.

    Examples
    --------
    >>> computed = tabulate(LEARNED_LAWS, DOUBT)
    >>> all(np.allclose(one, other, rtol=1e-12) for one, other in zip(learned_losses(), computed, strict=True))
    True
    """
    return Losses(*(table.copy() for table in _tables_on_disk()))


@functools.cache
def _tables_on_disk() -> Losses:
    with np.load(TABLES) as file:
        return Losses(**{name: file[name] for name in Losses._fields})


def _law(owner: str, name: str, value: Any) -> str | None:
    """Return a noise as text, because parameters are saved to files and compiled code ignores text."""
    if value is None:
        return None
    try:
        spec = json.loads(value) if isinstance(value, str) else value
        law = spec if isinstance(spec, Noise) else make_noise(**spec)
        if not law.has_density:
            raise ValueError("some values have a positive probability")
        return json.dumps(noise_spec(law))
    except (TypeError, ValueError) as error:
        rule = "must be a noise with a density, such as hb.Cauchy(), or None to learn the law"
        raise ValueError(f"{owner}: {name} {rule}, got {value!r}: {error}") from error


@register_policy(
    "level-set-ucb",
    needs="nothing",
    memory="337 bytes",
    cost="O(1) amortised, O(log K)",
    regret="none; measured in docs/level-set-measured.md",
    reference="this library",
    example={"noise": {"kind": "student-t", "df": 3.0}, "scale": 2.0},
    look="purple solid",
)
class LevelSetUCB(NamedTuple):
    r"""Level-set UCB.

    Parameters
    ----------
    noise
        The law whose negative log density is the loss: any noise with a density, whatever its scale.  None to learn the
        law, as ``hb.make("auto")`` does.
    scale
        The noise's median absolute deviation, if it is known; 0 to learn it.
    c
        How much to explore.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(LevelSetUCB(), arms=["red", "green"])
    >>> agent.update_many(["red"] * 5, [1.0, 1.2, 0.9, 1e9, 1.1])
    >>> agent.update_many(["green"] * 5, [5.0, 4.8, -1e9, 5.1, 5.3])
    >>> agent.select()
    'green'
    """

    noise: Annotated[Any, _law] = Cauchy()
    scale: NonNegative = 0.0
    c: Positive = 4.0

    def init(self, n_arms: int, horizon: int | None) -> LevelSets:
        if self.noise is not None:
            return init_level_sets(n_arms, tabulate((make_noise(**json.loads(self.noise)),)), np.zeros(1), self.scale)
        evidence = np.zeros(len(LEARNED_LAWS))
        evidence[0] = HEAD_START
        return init_level_sets(n_arms, learned_losses(), evidence, self.scale)

    def level(self, state: LevelSets, t: int) -> float:
        """Return zero: between refreshes, indices do not depend on t."""
        return 0.0

    def select(self, state: LevelSets, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        return choose(self, state, t, 1, 1)

    def update(self, state: LevelSets, arm: int, reward: float) -> None:
        """Learn from the reward, and bring the arm's index up to date."""
        observe(state, arm, reward, self.c, self.scale == 0.0)

    def value(self, state: LevelSets, arm: int) -> float:
        """Return the minimiser of the arm's loss."""
        return float(state.x[arm]) if state.pulls[arm] > 0 else math.nan


@register_preset(
    "adaptive-level-set-ucb",
    LevelSetUCB,
    lambda policy: policy.noise is None and policy.scale == 0.0,
    example={"c": 2.0},
    look="purple dashed",
)
def adaptive_level_set_ucb(c: float = 4.0) -> LevelSetUCB:
    """Make level-set UCB with a learned loss.

    Examples
    --------
    >>> adaptive_level_set_ucb()
    LevelSetUCB(noise=None, scale=0.0, c=4.0)
    """
    return LevelSetUCB(noise=None, scale=0.0, c=c)


@register_preset(
    "oracle-ucb",
    LevelSetUCB,
    lambda policy: policy.noise is not None and policy.scale == _scale(policy.noise),
    needs="law and scale of the noise",
    example={"noise": {"kind": "frechet", "alpha": 1.25}},
    zoo={"noise": {"instance": "noise"}},
    look="grey short",
)
def oracle_ucb(noise: Any, c: float = 4.0) -> LevelSetUCB:
    """Make level-set UCB that knows the law and the scale of the noise, and so shows how much learning it could gain.

    Examples
    --------
    >>> import heavybandits as hb
    >>> round(oracle_ucb(hb.Cauchy(scale=2.0)).scale, 3)
    2.0
    """
    policy = LevelSetUCB(noise, 0.0, c)
    return policy._replace(scale=_scale(policy.noise))


def _scale(noise: str) -> float:
    """Return the median absolute deviation of a law, given as text."""
    return footing(make_noise(**json.loads(noise)))[1]
