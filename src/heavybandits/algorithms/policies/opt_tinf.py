r"""OptTINF: HTINF without knowledge of the tails, run as if :math:`\alpha = 2` and :math:`\sigma = 1`.

*Assumes* that losses :math:`\ell = b - r` have a moment of some order :math:`\alpha \in (1, 2]`, and the sign condition
of :mod:`.htinf`.  *Must be told* b, an upper bound on the location of the best arm, but neither :math:`\alpha` nor
:math:`\sigma` nor the horizon.  *When that fails*: see :mod:`.htinf`.  Even so, losses should be of the order of 1: the
bounds grow faster with :math:`\sigma` than HTINF's, and larger losses are skipped at first, which makes bad arms look
good.

*Formula*: HTINF's at :math:`\alpha = 2`, :math:`\sigma = 1`.  The regret is
:math:`O(\sigma^\alpha K^{(\alpha - 1)/2} T^{(3 - \alpha)/2} + \sqrt{KT})` against any adversary and
:math:`O(\sum_a (\sigma^{2\alpha}/\Delta_a^{3 - \alpha})^{1/(\alpha - 1)} \ln T)` under fixed laws with one best arm.
*Cost*: HTINF's.  *Reference*: J. Huang, Y. Dai, L. Huang (2022).
"""

from __future__ import annotations

from ..entries import Facts
from .htinf import HTINF

NAME = "opt-tinf"
EXAMPLE = {"offset": 1.0}
FACTS = Facts(
    needs="bound on the best location",
    memory="57 bytes",
    cost="O(1), O(K)",
    regret=(
        "as htinf, but O(sigma^p K^((p-1)/2) T^((3-p)/2) + sqrt(K T)) and O(sum_a "
        "(sigma^(2p)/Delta_a^(3-p))^(1/(p-1)) ln T) for every p and sigma"
    ),
    reference="Huang, Dai, Huang 2022",
)


def opt_tinf(offset: float) -> HTINF:
    """Make the optimistic HTINF; ``offset`` is b.

    Examples
    --------
    >>> opt_tinf(offset=3)
    HTINF(eps=1.0, scale=1.0, offset=3.0)
    """
    return HTINF(eps=1.0, scale=1.0, offset=offset)
