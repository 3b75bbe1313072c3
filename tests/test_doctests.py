"""Every example in a docstring runs and prints what it says; everything public has one."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import heavybandits

MODULES = [
    importlib.import_module(entry.name) for entry in pkgutil.walk_packages(heavybandits.__path__, "heavybandits.")
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: ModuleType) -> None:
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("name", heavybandits.__all__)
def test_public_names_have_an_example(name: str) -> None:
    documentation = getattr(heavybandits, name).__doc__
    assert documentation is not None
    assert ">>> " in documentation
