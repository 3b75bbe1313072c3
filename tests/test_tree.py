"""Trees are walked in one way, and the names that whoever plays a policy looks for in its state are declared."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.protocols import Part
from heavybandits.tree import changed, parts, walk

PACKAGE = Path(hb.__file__).parent
ROOMS = ("algorithms", "engine", "online", "service", "testing")
LOOKED_FOR = re.compile(r"(?:hasattr|getattr)\((?:\w*state|\w*part|old|one|self\.inner), \"(\w+)\"")


class Leaf(NamedTuple):
    numbers: Any


class Branch(NamedTuple):
    left: Any
    right: Any


def test_parts_come_outermost_first_and_in_order_with_their_paths() -> None:
    one, two = Leaf(np.ones(1)), Leaf(None)
    tree = Branch(one, (two, 3))
    paths = ["t", "t.left", "t.left.numbers", "t.right", "t.right.0", "t.right.0.numbers", "t.right.1"]
    assert [path for path, _ in walk(tree, "t")] == paths
    assert [id(part) for part in parts(tree, Leaf)] == [id(one), id(two)]


def test_a_changed_part_is_not_entered_and_the_rest_stays() -> None:
    kept, tree = np.ones(1), Branch(Leaf("inner"), Branch("outer", None))
    tree = tree._replace(right=Branch(kept, Leaf("inner")))
    new = changed(tree, lambda part: Leaf("new") if isinstance(part, Leaf) else part)
    assert (new.left, new.right.right) == (Leaf("new"), Leaf("new"))
    assert new.right.left is kept
    assert tree.left == Leaf("inner")


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_looked_for_in_a_state_is_declared(room: str) -> None:
    declared = {*Part.__annotations__, *vars(Part)}
    found = {name for file in (PACKAGE / room).rglob("*.py") for name in LOOKED_FOR.findall(file.read_text())}
    assert found <= declared
    assert found or room != "algorithms"
