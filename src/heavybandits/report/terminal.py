"""What the terminal shows when a report is made: enough to know whether to open it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ..engine.results import StudyResult
from .claims import Verdict
from .runtimes import runtime_table
from .tables import terminal_table

if TYPE_CHECKING:
    from rich.console import Group


def terminal_summary(studies: Sequence[StudyResult], verdicts: Sequence[Verdict] = ()) -> Iterator[Group | str]:
    """Mean regret of each family's best policy by study and instance, times to targets, and a count of verdicts.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> [str(table.renderables[0]) for table in terminal_summary([study])]
    ['Cauchy noise: mean regret, variants best overall']
    """
    for study in studies:
        kind = study.figure
        if kind == "runtime":
            for instance, rows in runtime_table(study).groupby("instance", sort=False):
                yield terminal_table(rows.drop(columns="instance"), f"{study.title}: {instance}")
        elif len(study.results) <= 12:
            yield terminal_table(_means(study), f"{study.title}: mean regret, variants best overall")
    if verdicts:
        counts = Counter(verdict.verdict for verdict in verdicts)
        order = ("holds", "does not hold", "undecided")
        yield f"{len(verdicts)} claims of the paper: " + ", ".join(f"{name} {counts[name]}" for name in order)


def _means(study: StudyResult) -> pd.DataFrame:
    """The best policy of each family, by instance."""
    best = list(study.best.values())
    means = {label: result.summary()["mean"][best].to_numpy() for label, result in study.results.items()}
    return pd.DataFrame({"policy": best, **means})
