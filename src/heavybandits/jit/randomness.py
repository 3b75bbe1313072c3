"""Whether a policy draws random numbers, as its code shows, and generators that are set to a key."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from types import CodeType, FunctionType
from typing import Any

import numpy as np

_PEEKING = {"eval", "exec", "locals", "vars", "_getframe"}  # ways to reach an argument without its name


def uses_rng(policy: Any) -> bool:
    """Return whether the policy draws random numbers.

    A policy does not if its ``select`` never mentions its generator, whatever it is called, or only hands it to the
    ``select`` of policies among its parameters that do not draw.  When in doubt, the answer is yes: a generator that
    nobody needs costs little.

    Examples
    --------
    >>> import heavybandits as hb
    >>> uses_rng(hb.UCB()), uses_rng(hb.ThompsonGaussian())
    (False, True)
    """
    select = type(policy).select
    if not isinstance(select, FunctionType) or select.__code__.co_flags & inspect.CO_VARARGS:
        return True
    code = select.__code__
    if code.co_argcount not in (4, 5) or _PEEKING & set(code.co_names):
        return True
    return _mentions(code, _generator(code)) and not _only_hands_on(policy, select)


def _generator(code: CodeType) -> str:
    """Return what ``select`` calls its generator, which comes last."""
    return code.co_varnames[code.co_argcount - 1]


def set_key(rng: np.random.Generator, key: bytes) -> None:
    """Set a PCG64 generator so that its next draws depend on this key alone, 32 bytes that look random.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> set_key(rng, bytes(range(32)))
    >>> first = rng.random()
    >>> set_key(rng, bytes(range(32)))
    >>> rng.random() == first
    True
    """
    if len(key) != 32:
        raise ValueError(f"key must be 32 bytes, got {len(key)}")
    start = {"state": int.from_bytes(key[:16]), "inc": int.from_bytes(key[16:]) | 1}  # the increment is odd
    rng.bit_generator.state = {"bit_generator": "PCG64", "state": start, "has_uint32": 0, "uinteger": 0}


def _mentions(code: CodeType, name: str) -> bool:
    """Return whether any instruction reads or writes the variable, or a nested function can."""
    return name in code.co_cellvars or any(
        name == step.argval or (isinstance(step.argval, tuple) and name in step.argval)
        for step in dis.get_instructions(code)
        if step.opcode in dis.haslocal
    )


def _only_hands_on(policy: Any, select: FunctionType) -> bool:
    """Return whether ``select`` only passes its generator to ``self.<field>.select`` of policies that do not draw."""
    steady = {name for name, field in zip(policy._fields, policy, strict=True)
              if hasattr(field, "select") and not uses_rng(field)}  # fmt: skip
    tree = _source_tree(select) if steady else None
    if tree is None:
        return False
    me, rng = select.__code__.co_varnames[0], _generator(select.__code__)
    handed = [
        node.args[-1]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and len(node.args) == select.__code__.co_argcount - 1
        and not node.keywords
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "select"
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr in steady
        and isinstance(node.func.value.value, ast.Name)
        and node.func.value.value.id == me
    ]
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    mentions = [node for node in names if node.id == rng]
    rebound = any(node.id == me and not isinstance(node.ctx, ast.Load) for node in names)
    scopes = any(isinstance(node, ast.Lambda | ast.FunctionDef | ast.ClassDef) and node is not tree
                 for node in ast.walk(tree))  # fmt: skip
    return not rebound and not scopes and all(node in handed for node in mentions)


def _source_tree(function: FunctionType) -> ast.FunctionDef | None:
    """Return the function's source, or None if it is missing or not what was imported."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        built = next(part for part in compile(tree, "", "exec").co_consts if isinstance(part, CodeType))
    except (OSError, TypeError, SyntaxError, StopIteration):
        return None
    code = function.__code__
    same = all(getattr(built, part) == getattr(code, part) for part in ("co_code", "co_consts", "co_names"))
    found = tree.body[0]
    return found if same and isinstance(found, ast.FunctionDef) else None
