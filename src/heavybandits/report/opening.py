"""What a page says before its studies: by default which policy wins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from ..results.study_result import StudyResult

TIMES = "\N{MULTIPLICATION SIGN}"


class Card(NamedTuple):
    """A number, what it means, and its kind: "good", "bad" or "news"."""

    number: str
    text: str
    kind: str


class Opening(NamedTuple):
    """The top of a page, and what it shows before its studies."""

    heading: str
    cards: Sequence[Card] = ()
    kind: str = "Study"  # what the page is
    title: str = ""  # of the window, if not the heading
    lead: Markup = Markup()
    contents: Sequence[tuple[str, str]] = ()  # anchors and titles of the parts in its body
    body: Markup = Markup()
    script: Markup = Markup()


def opening_of(studies: Sequence[StudyResult]) -> Opening:
    """Say which policy wins a study; several studies get a heading only."""
    first = studies[0]
    means = final_means(first)
    if len(studies) > 1 or not means:
        return Opening(f"{len(studies)} studies" if len(studies) > 1 else first.title or first.name)
    order = sorted(means, key=lambda family: sum(map(math.log, means[family])))
    best, table = order[0], np.array([means[family] for family in order])
    wins, instances = int((table[0] <= table.min(axis=0)).sum()), table.shape[1]
    row = list(first.families).index(first.best[best])
    failed = np.concatenate([result.failed[row] for result in first.results.values()])
    cards = [Card(f"{wins} of {instances}", f"instance{'s' * (instances != 1)} in which {best} has the lowest regret.",
                  "good")]  # fmt: skip
    if len(order) > 1:
        ratio = math.exp(float(np.log(table[0] / table[1]).mean()))
        text = f"the regret of {order[1]}, the next best, is the average of {best} over the instances."
        cards.append(Card(f"{ratio:.2f} {TIMES}", text, "news"))
    lost = int(failed.sum())
    text = f"replications of {best} ended in linear regret."
    cards.append(Card(f"{lost} of {failed.size}", text, "bad" if lost else "good"))
    return Opening(first.title or first.name, cards)


def final_means(study: StudyResult) -> dict[str, list[float]]:
    """Return each family's mean regrets at the horizon, one for each instance whose arms differ."""
    order = list(study.families)
    finals = [np.maximum(result.regret.to_numpy()[:, :, -1].mean(axis=1), 1e-12)
              for result in study.results.values() if result.instance.gaps.any()]  # fmt: skip
    return {family: [float(final[order.index(label)]) for final in finals]
            for family, label in study.best.items()} if finals else {}  # fmt: skip
