"""Which of several targets is best, as far as a log shows it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._format import html_table, number, text_table
from .._validate import visible
from .value import Gap, Value
from .words import about_lead, limited

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Candidates:
    """Several targets on one log, the best estimate first: see :func:`~heavybandits.evaluate`, which makes it.

    Attributes
    ----------
    values
        What each earns.
    leads
        By how much the first earns more than each other one, by its name; each end is wrong in at most delta/K of logs.
    winner
        The target that is shown to earn more than every other one, or to cost less; or None.
    delta
        How often a winner may be wrong.
    """

    values: tuple[Value, ...]
    leads: Mapping[str, Gap]
    delta: float

    @property
    def winner(self) -> str | None:
        """The target that is shown to be better than every other one."""
        first, leads = self.values[0], self.leads.values()
        is_shown = all(
            lead.low <= lead.high < 0.0 if first.are_costs else 0.0 < lead.low <= lead.high for lead in leads
        )
        return first.target if is_shown else None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is known, in plain words."""
        first, lead = self.values[0].target, next(iter(self.leads.values()))
        are_costs = self.values[0].are_costs
        counted, does = limited(lead.cap, lead.has_one_sign), "costs less" if are_costs else "earns more"
        head = (
            f"{first} is the winner: {counted[:1].lower()}{counted[1:]}it {does} than every other candidate (wrong "
            f"in at most {100 * self.delta:g}% of logs)."
            if self.winner
            else f"{first} has the best estimate, but it is not shown to be best."
        )
        return head, *(about_lead(first, other, lead, are_costs) for other, lead in self.leads.items())

    @property
    def table(self) -> pd.DataFrame:
        """One row for each target: what it earns, with an interval, and the effective sample size."""
        import pandas as pd

        return pd.DataFrame([{"target": value.target, "estimate": value.estimate, "low": value.low,
                              "high": value.high, "effective": value.effective} for value in self.values])  # fmt: skip

    def __repr__(self) -> str:
        return f"Candidates(winner={self.winner!r}, of={[value.target for value in self.values]})"

    def __str__(self) -> str:
        return visible("\n".join((*self.sentences, "", text_table(*self._cells()))))

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(visible(line))}</p>" for line in self.sentences)
        return said + html_table("Per decision", *self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = [[value.target, *(number(x) for x in (value.estimate, value.low, value.high, value.effective))]
                for value in self.values]  # fmt: skip
        return ["target", "estimate", "low", "high", "effective"], rows
