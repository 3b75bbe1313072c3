"""The paper's experiments: what it claims of them, and whether that is so in the results of a study.

:data:`EXPERIMENTS` names the studies, :func:`verdicts` decides the claims by the rules of
:mod:`.rules`, and :data:`DIFFERENCES` lists where the paper's text and its published code say
different things, and what is run here.
"""

from .claims import EXPERIMENTS
from .differences import DIFFERENCES, Difference
from .verdicts import Verdict, verdicts

__all__ = ["DIFFERENCES", "EXPERIMENTS", "Difference", "Verdict", "verdicts"]
