"""What the pages claim, and how each kind of claim is compared with the results of its command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
PAIRS = re.compile(rf"({NUMBER})\s+±\s+({NUMBER})")
ROWS = re.compile(r"^ *(\|.*\d.*\|)$", re.MULTILINE)
SECONDS = {"nanoseconds": 1e-9, "ns": 1e-9, "microseconds": 1e-6, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
TIMES = re.compile(rf"({NUMBER})\s+({'|'.join(SECONDS)})\b(?!/)")
RATIOS = re.compile(r"\*\*(\d+\.\d+)\*\*")
COLUMN = re.compile(r"ns, K = (\d+)")
FACTOR = 2.0  # by which a measured number may differ from the number in a page


def value(text: str) -> float:
    """Return the number that a text shows."""
    return float(text.replace(",", ""))


def close(shown: float, found: float) -> bool:
    """Return whether two measured numbers are within the factor."""
    return shown == found or 0 < shown <= FACTOR * found <= FACTOR**2 * shown


class Results(NamedTuple):
    """What a command makes: means with standard errors, and what it prints."""

    pairs: list[tuple[float, float]]
    printed: str

    @property
    def rows(self) -> list[str]:
        """Rows of tables."""
        return ROWS.findall(self.printed)


class Pair(NamedTuple):
    """A mean and its standard error."""

    mean: str
    error: str

    def is_in(self, results: Results) -> bool:
        """Return whether a result has these digits."""
        return any(all(map(_rounds_to, pair, self)) for pair in results.pairs)

    def is_near(self, results: Results) -> bool:
        """Return whether a result is within two standard errors."""
        shown, own = map(value, self)
        return any(
            abs(shown - mean) <= 2.0 * max(own, error) and own <= 2.0 * error and error <= 2.0 * own
            for mean, error in results.pairs
        )


class Row(NamedTuple):
    """A row of a table that a script prints."""

    text: str

    def is_in(self, results: Results) -> bool:
        """Return whether the script printed this row."""
        return self.text in results.rows

    def is_near(self, results: Results) -> bool:
        """Return False: a computed row is the same or it is not."""
        return False


class Ratios(NamedTuple):
    """Ratios in sentences, in bold, which a script prints in this order, each on a line of its own."""

    amounts: tuple[str, ...]

    def is_in(self, results: Results) -> bool:
        """Return whether the script printed these ratios in this order, perhaps with others between them."""
        printed = iter(re.findall(rf"^[^|\n]*: ({NUMBER})$", results.printed, re.MULTILINE))
        return all(amount in printed for amount in self.amounts)  # each search goes on where the last one ended

    def is_near(self, results: Results) -> bool:
        """Return False: computed ratios are the same or they are not."""
        return False


class Measured(NamedTuple):
    """A row of a table with measured numbers."""

    text: str

    def is_in(self, results: Results) -> bool:
        """Return whether the script printed this row."""
        return self.text in results.rows

    def is_near(self, results: Results) -> bool:
        """Return whether the script printed such a row, with each number within the factor."""
        own = self._numbers(self.text)
        return any(
            len(own) == len(found) and all(map(close, own, found))
            for found in (self._numbers(row) for row in results.rows if self._label(row) == self._label(self.text))
        )

    @staticmethod
    def _label(row: str) -> str:
        return row.split("|")[1].strip()

    @staticmethod
    def _numbers(row: str) -> list[float]:
        cells = re.sub(r"\(at (?:most|least)[^)]*\)", "", row.split("|", 2)[2])  # without targets
        return [value(number) for number in re.findall(NUMBER, cells)]


class Time(NamedTuple):
    """A measured time in a sentence, and the names in its paragraph, of which one must be in the row that shows it."""

    amount: str
    unit: str
    names: tuple[str, ...]

    def is_in(self, results: Results) -> bool:
        """Return False: a time in a sentence is rounded."""
        return False

    def is_near(self, results: Results) -> bool:
        """Return whether the script printed such a time within the factor."""
        lines = [line for line in results.printed.splitlines() if any(name in line for name in self.names or ("",))]
        found = [value(amount) * SECONDS[unit] for line in lines for amount, unit in TIMES.findall(line)]
        return any(close(value(self.amount) * SECONDS[self.unit], time) for time in found)


class Cost(NamedTuple):
    """A measured time of a policy, in a column for a number of arms."""

    name: str
    arms: str
    amount: str

    def is_in(self, results: Results) -> bool:
        """Return False: a time differs from run to run."""
        return False

    def is_near(self, results: Results) -> bool:
        """Return whether the script printed a time for this policy and these arms within the factor."""
        found = re.search(rf"^{self.name}, {self.arms} arms: ({NUMBER}) ns$", results.printed, re.MULTILINE)
        return found is not None and close(value(self.amount), value(found[1]))


Claim = Pair | Row | Ratios | Measured | Time | Cost


def claims_in(text: str, *, printed: bool, measured: bool) -> list[Claim]:
    """Return the claims of a text.

    Parameters
    ----------
    text
        What follows the name of a command.
    printed
        Whether the command prints tables.
    measured
        Whether it measures times.
    """
    if not printed:
        return [Pair(*numbers) for numbers in PAIRS.findall(text)]
    if measured and COLUMN.search(text):
        return list(_costs(text))
    kind = Measured if measured else Row
    claims: list[Claim] = [kind(row.replace("**", "")) for row in ROWS.findall(text)]
    sentences = ROWS.sub("", text)
    if ratios := tuple(RATIOS.findall(sentences)):
        claims.append(Ratios(ratios))
    for paragraph in re.split(r"\n\s*\n", sentences):
        claims += [Pair(*numbers) for numbers in PAIRS.findall(paragraph)]
        names = tuple(re.findall(r"`[\w-]+`", paragraph))
        claims += [Time(*time, names) for time in TIMES.findall(paragraph) if measured]
    return claims


def _costs(text: str) -> Iterator[Cost]:
    """Yield the times in the columns for numbers of arms."""
    sizes: dict[int, str] = {}
    for line in text.splitlines():
        first, *cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:]] or [""]
        if first == "policy":
            sizes = {i: found[1] for i, cell in enumerate(cells) if (found := COLUMN.fullmatch(cell))}
        elif first.startswith("`"):
            yield from (Cost(first.strip("`"), sizes[i], cells[i]) for i in sizes if cells[i] != "-")


def _rounds_to(number: float, shown: str) -> bool:
    return round(number, len(shown.partition(".")[2])) == value(shown)
