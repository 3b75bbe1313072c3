"""The pages for readers of the code: each path that they describe exists, and runs in the order that they say."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import heavybandits as hb

DOCS = Path(__file__).parent.parent / "docs"
PACKAGE = Path(hb.__file__).parent
Calls = list[tuple[str, str]]  # file below the package, and function


def paths(page: str) -> dict[str, Calls]:
    """Return the functions of each section of a page, in order."""
    found = {}
    for section in (DOCS / page).read_text().split("\n## ")[1:]:
        links = re.findall(r"\[`(\w+)`\]\(\.\./src/heavybandits/([^)]+)\)", section)
        found[section.partition("\n")[0]] = [(file, name) for name, file in links]
    return found


@contextmanager
def recorded() -> Iterator[Calls]:
    """Record the calls of our functions."""
    root, calls = f"{PACKAGE}/", []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            calls.append((code.co_filename.removeprefix(root), code.co_name))

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def rounds_of_auto() -> Iterator[Calls]:
    """Play ``auto`` without compiling, on rewards that all differ, then on coins; yield the calls of each round."""
    rng, policy = np.random.default_rng(0), hb.make("auto")
    draws: tuple[Callable[[], float], ...] = (rng.standard_cauchy, lambda: float(rng.random() < 0.5))
    for draw in draws:
        state = policy.init(3, None)
        for t in range(300):
            with recorded() as calls:
                arm = policy.select(state, t, None)
            yield calls
            with recorded() as calls:
                policy.update(state, arm, arm + draw())
            yield calls


def rounds_of_linear_auto() -> Iterator[Calls]:
    """Play ``linear-auto`` without compiling, on fresh positive rows; yield the calls of each round."""
    rng, policy = np.random.default_rng(0), hb.make("linear-auto")
    state = policy.init(5, None)
    for t in range(800):
        rows = rng.random((4, 5))
        with recorded() as calls:
            row = policy.select(state, rows, t, None)
        yield calls
        with recorded() as calls:
            policy.update(state, rows[row], float(rows[row].sum() + rng.standard_normal()))
        yield calls


@pytest.mark.parametrize(
    ("page", "rounds"), [("inside-auto.md", rounds_of_auto), ("inside-linear-auto.md", rounds_of_linear_auto)]
)
def test_functions_run_in_the_order_of_the_page(page: str, rounds: Callable[[], Iterator[Calls]]) -> None:
    sections, played = paths(page), list(rounds())
    assert len(sections) >= 4
    for title, path in sections.items():
        assert path, title
        complete = [calls for calls in played if set(path) <= set(calls)]
        assert complete, (title, [name for name in path if not any(name in calls for calls in played)])
        assert any(is_subsequence(path, calls) for calls in complete), title


def is_subsequence(path: Calls, calls: Calls) -> bool:
    remaining = iter(calls)
    return all(step in remaining for step in path)
