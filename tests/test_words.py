"""One word, one thing: which constants have several values, and which names several rooms use, with the reasons."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import heavybandits as hb

PACKAGE = Path(hb.__file__).parent
CONSTANTS: dict[str, str] = {}
COMMAND = "a command and the function that it calls"
NAMES = {
    "compare": COMMAND,
    "diagnose": COMMAND,
    "evaluate": COMMAND,
    "learn": "takes in a reward, wherever something is kept of rewards",
    "main": "where the program begins, and what it begins",
}


def modules() -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the room and the statements of each module; studies name the files beside them by their digests."""
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE)
        if path.parts[:2] != ("studies", "files"):
            yield path.parts[0].removesuffix(".py"), ast.parse(file.read_text()).body


def assigned(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the names and values of an assignment, one by one if several are assigned at once."""
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets, value = [statement.target], statement.value
    else:
        return
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(map(ast.unparse, target.elts), map(ast.unparse, value.elts), strict=True)
        else:
            yield ast.unparse(target), ast.unparse(value)


def constants_with_several_values() -> set[str]:
    values = defaultdict(set)
    for _, body in modules():
        for statement in body:
            for name, value in assigned(statement):
                if name.isupper():
                    values[name].add(value)
    return {name for name, found in values.items() if len(found) > 1}


def names_in_several_rooms() -> set[str]:
    """Return the classes and public functions that share a name across rooms."""
    rooms = defaultdict(set)
    for room, body in modules():
        for statement in body:
            if isinstance(statement, ast.ClassDef | ast.FunctionDef) and not statement.name.startswith("_"):
                rooms[statement.name].add(room)
    return {name for name, found in rooms.items() if len(found) > 1}


@pytest.mark.parametrize(
    ("found", "allowed"),
    [(constants_with_several_values(), CONSTANTS), (names_in_several_rooms(), NAMES)],
    ids=["constants", "names"],
)
def test_a_word_means_one_thing(found: set[str], allowed: dict[str, str]) -> None:
    assert not found - set(allowed), "choose another name, or give a reason above"
    assert not set(allowed) - found, "no longer needed above"
