"""The paper's experiments: what it claims about them, and whether the results of a study bear it out.

:data:`PAPER_EXPERIMENTS` names the studies, :func:`verdicts` checks the claims against the rules of :mod:`.rules`, and
:data:`DIFFERENCES` lists where the paper's text and its published code disagree, and what is run here.
"""

from .differences import DIFFERENCES, Difference
from .paper import PAPER_EXPERIMENTS
from .verdicts import ClaimVerdict, verdicts

__all__ = ["DIFFERENCES", "PAPER_EXPERIMENTS", "ClaimVerdict", "Difference", "verdicts"]
