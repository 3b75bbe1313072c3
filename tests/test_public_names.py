"""The public names: few, written by a script, and with warnings for those that are public no more."""

import re
from pathlib import Path

import pytest

import heavybandits as hb
from heavybandits.names import CLASSES

ROOT = Path(__file__).parents[1]
TAUGHT = re.compile(r"\bhb\.(\w+)")


def test_there_are_at_most_eighty() -> None:
    assert len(hb.__all__) <= 80


@pytest.mark.parametrize("pattern", ["README.md", "docs/*.md", "docs/*.ipynb", "examples/*.py"])
def test_what_the_documentation_teaches_is_public(pattern: str) -> None:
    used = {name for file in ROOT.glob(pattern) for name in TAUGHT.findall(file.read_text(encoding="utf-8"))}
    assert used
    assert used - {*hb.__all__, "__version__", "__all__"} == set()


@pytest.mark.parametrize("name", [*CLASSES, "gaussian_env1", "delta_cauchy"])
def test_a_name_that_was_public_still_works_and_says_where_it_is(name: str) -> None:
    with pytest.warns(
        DeprecationWarning, match=rf"hb\.{name} is deprecated; use .*from heavybandits\..* import {name}$"
    ):
        found = getattr(hb, name)
    assert found.__name__ == name
    assert name not in dir(hb)


@pytest.mark.parametrize("name", ["Nothing", "SmoothAuto"])  # a class that was never public
def test_any_other_name_is_an_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(hb, name)
