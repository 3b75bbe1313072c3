"""How often bounds of what was earned more than the control would have are ever wrong, and how wide they are.

``python benchmarks/gains.py`` prints the table of docs/evidence-measured.md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from evidence import RULES, Law, looks
from false_winners import LAWS

from heavybandits.evidence.ledger import Ledger
from heavybandits.evidence.measures import ClippedMean
from heavybandits.evidence.tally import add, is_sized_up
from heavybandits.protocols import FloatArray

DECISIONS, VALUES = 5_000, 20_000
SCALES = {"2, equal": [1.0, 1.0], "2, one better": [1.0, 1.3], "5, mixed": [1.0, 0.8, 1.2, 1.4, 1.0],
          "20, mixed": [1.0, *np.linspace(0.6, 1.5, 19)]}  # fmt: skip


def played(values: FloatArray, scales: list[float], rule: Any, rng: np.random.Generator) -> tuple[bool, float]:
    """Play arms that draw from values times scales; return whether bounds were ever wrong, and half their width.

    The width is that of the end, as a part of what arms other than the control earned.
    """
    arms = [str(number) for number in range(len(scales))]
    ledger, done, wrong, width = Ledger(arms, "mean"), 0, False, np.nan
    for n in looks(50, DECISIONS):
        batch = rule(ledger._tally, rng, n - done)
        add(ledger._tally, batch, np.asarray(scales)[batch] * rng.choice(values, n - done))
        done = n
        if not is_sized_up(ledger._tally):
            continue
        found = ledger.evidence(arms, "0", closest=1)
        gain, measure = ledger.gain(found, "0"), found.measure
        assert isinstance(measure, ClippedMean)
        if gain is not None and gain.n:
            means = np.array([np.clip(scale * values, *measure.limits).mean() for scale in scales])
            counts = ledger._tally.rows.sum(axis=1)
            truth = float(counts @ (means - means[0]))
            slack = 1e-9 * max(map(abs, measure.limits)) * n
            wrong |= not gain.low - slack <= truth <= gain.high + slack
            width = (gain.high - gain.low) / 2.0 / abs(float(counts[1:] @ means[1:]))
    return wrong, width


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    laws: dict[str, Law] = {name: law for name, law in LAWS.items() if not name.startswith("Student")}
    print("| arms |" + "".join(f" {name}: ever wrong | half width |" for name in RULES))
    print("| --- |" + " --- | --- |" * len(RULES))
    for kind, (name, scales) in enumerate(SCALES.items()):
        cells = []
        for number, rule in enumerate(RULES.values()):
            found = []
            for at, law in enumerate(laws.values()):
                values = law(np.random.default_rng(at), VALUES)
                rng = np.random.default_rng([kind, number, at])
                found += [played(values, scales, rule, rng) for _ in range(runs)]
            wrong, widths = zip(*found, strict=True)
            cells.append(f" {sum(wrong)} of {len(wrong)} | {np.nanmedian(widths):.0%} |")
        print(f"| {name} |{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
