"""From plain Python methods to machine code: with :mod:`.draft` all that knows numba's extension API.

Two things are taught to numba once: methods of ``NamedTuple`` classes, by name, and functions marked
:func:`.compilable`.  Then the loop that is to be compiled is copied for each policy, and the
copy named after the policy and a digest of every source file the policy is made of.  numba keeps its disk cache by that
name, so a second process loads what the first compiled, and an edited policy never plays its old code.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import gc
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ...algorithms.kit.state import arrays
from ...algorithms.registry import estimators, policies
from ...protocols import COMPILABLE, is_named_tuple
from .jit import compile_for, jit

_known: dict[str, tuple[str, inspect.Signature]] = {}  # methods that numba was taught: an owner, and its arguments


def without_text(parameters: Any) -> Any:
    """The same NamedTuple with ``None`` for text, which only ``init`` reads: compiled code is quicker without.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Plan(NamedTuple):
    ...     step: float
    ...     kind: str
    >>> without_text(Plan(0.5, "slow"))
    Plan(step=0.5, kind=None)
    """
    if not is_named_tuple(parameters):
        return None if isinstance(parameters, str) else parameters
    return parameters._make(map(without_text, parameters))


def uses_rng(policy: Any) -> bool:
    """Whether the policy draws random numbers: its ``select`` reads ``rng``, and so does any policy inside it."""
    inner = [field for field in policy if hasattr(field, "select")]
    reads = any(
        "LOAD_FAST" in step.opname and "rng" in str(step.argval) for step in dis.get_instructions(policy.select)
    )
    return reads and (not inner or any(map(uses_rng, inner)))


def compiled(function: Callable[..., Any], policy: Any, state: Any, *arguments: Any) -> Callable[..., Any]:
    """``function(policy, state, *arguments)`` compiled for arguments of exactly these types.

    The policy comes without its text; where the function names ``select`` and ``update``, these are the policy's.  The
    types of later arguments are not checked, which makes calls cheap: whoever calls must keep to them.  With
    ``NUMBA_DISABLE_JIT=1`` the function is not compiled.
    """
    numba: Any = importlib.import_module("numba")
    classes = tuple(_classes(policy))
    for place, array in arrays(state):
        if not isinstance(array, np.ndarray):
            owner = classes[0].__name__
            raise TypeError(f"{owner}: {place} must be a NumPy array, or a NamedTuple of them, got {array!r}")
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(_bound(function, classes[0]))  # as silent as compiled code
    signature = tuple(numba.typeof(argument) for argument in (policy, state, *arguments))
    _teach(classes)
    # Without numba's reference counts a loop is several times quicker, but cannot allocate.  Ours do not; others may.
    for counted in (False, True):
        dispatcher = _dispatcher(function, classes, counted)
        try:
            with _without_collecting_garbage():
                compile_for(dispatcher, signature)
            break
        except (RuntimeError, numba.core.errors.NumbaError, numba.core.errors.UnsupportedBytecodeError) as error:
            if counted:
                raise TypeError(f"{classes[0].__name__} cannot be compiled by numba: {_reason(error)}") from error
    return dispatcher.get_overload(signature)  # type: ignore[no-any-return]


@contextlib.contextmanager
def _without_collecting_garbage() -> Iterator[None]:
    """numba makes a million objects of which few become garbage; to look for these takes a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _reason(error: Exception) -> str:
    """The line of numba's long report that says what is wrong, and the place it was found at."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = re.compile("Unknown attribute|Untyped global|not defined|annot |nvalid |nsupported|not supported|No impl")
    reason = next(filter(telling.search, reversed(lines)), lines[0])
    if "<class 'function'>" in reason:
        reason += "; mark the function with @hb.compilable"
    place = re.search(r'File "[^"]*", line \d+', str(error))
    where = f" ({place[0]})" if place else ""
    return f"{reason}{where}; hb.check_policy may tell more"


def _bound(function: Callable[..., Any], cls: Any) -> FunctionType:
    """A copy of the function that calls the methods of this class by their names."""
    names = {**function.__globals__, "select": cls.select, "update": cls.update}
    copy = FunctionType(function.__code__, names, function.__name__)
    copy.__module__ = function.__module__
    return copy


@functools.cache
def _dispatcher(function: Callable[..., Any], classes: tuple[type, ...], counted: bool) -> Any:
    copy = _bound(function, classes[0])
    names = "_".join(cls.__name__ for cls in classes)
    copy.__qualname__ = f"{function.__name__}_{names}_{_digest(classes)}_{'counted' if counted else 'bare'}"
    return jit(copy, cached=all(map(_importable, classes)), _nrt=counted, **_options("FullCompiler"))


def _options(compiler: str) -> dict[str, Any]:
    """By which compiler of :mod:`.draft` numba compiles, and no second copy for callers in C."""
    draft = importlib.import_module(f"{__package__}.draft")
    return {"pipeline_class": getattr(draft, compiler), "no_cfunc_wrapper": True}


def _classes(parameters: Any) -> Iterator[type]:
    """Class of the NamedTuple and of those nested in it, outermost first."""
    yield type(parameters)
    for field in filter(is_named_tuple, parameters):
        yield from _classes(field)


def _importable(cls: type) -> bool:
    """Whether another process can find the class, which numba's cache needs."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and getattr(module, cls.__qualname__, None) is cls


def _teach(classes: tuple[type, ...]) -> None:
    """Tell numba of the methods of these classes, and of compilable functions not known yet."""
    registry: Any = importlib.import_module("numba.core.registry")
    registry.cpu_target.typing_context.refresh()  # numba's rules come first, so a field wins over a method of its name
    for function in COMPILABLE:
        _teach_function(function)
    _teach_names(*(known for known in (*policies().values(), *estimators().values()) if isinstance(known, type)))
    _teach_names(*classes)
    for cls in classes:
        for method in _methods_of(cls).values():
            _teach_function(method)


@functools.cache
def _teach_function(function: Callable[..., Any]) -> None:
    extending: Any = importlib.import_module("numba.extending")
    extending.register_jitable(**_options("DraftCompiler"))(function)


def _methods_of(cls: type) -> dict[str, FunctionType]:
    """The methods that compiled code may call."""
    functions = inspect.getmembers(cls, inspect.isfunction)
    return {name: method for name, method in functions if not name.startswith("_") and name not in ("init", "check")}


@functools.cache
def _teach_names(*classes: type) -> None:
    """Teach numba the names of methods; it must be told how many arguments the methods of one name take."""
    for cls in classes:
        for name, method in _methods_of(cls).items():
            signature = _bare_signature(method)
            owner, known = _known.setdefault(name, (cls.__name__, signature))
            if known is signature:
                _teach_name(name, signature)
            elif len(known.parameters) != len(signature.parameters):
                wrong, right = len(signature.parameters), f"{owner}.{name}{known}"
                remedy = "" if name in ("select", "update") else "; give it another name"
                raise TypeError(f"{cls.__name__}.{name} must take as many arguments as {right}, got {wrong}{remedy}")


def _bare_signature(method: FunctionType) -> inspect.Signature:
    """The arguments of a method, without their types."""
    parameters = inspect.signature(method).parameters.values()
    return inspect.Signature([parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters])


def _teach_name(name: str, signature: inspect.Signature) -> None:
    numba: Any = importlib.import_module("numba")

    def resolve(self: Any, *_: Any) -> Any:
        found = getattr(self.instance_class, name, None)
        return found if isinstance(found, FunctionType) else None

    resolve.__signature__ = signature  # type: ignore[attr-defined]
    options = {"jit_options": _options("DraftCompiler"), "strict": False}
    numba.extending.overload_method(numba.types.BaseNamedTuple, name, **options)(resolve)


def _digest(classes: tuple[type, ...]) -> str:
    """Digest of this package and of every source file that the classes' modules import, directly or not."""
    own = Path(__file__).parents[2]
    files = set(own.rglob("*.py"))
    waiting = [cls.__module__ for cls in classes]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if name in seen or module is None or file is None or not file.endswith(".py") or _is_library(Path(file)):
            continue
        if Path(file).is_relative_to(own):  # read as a whole anyway
            continue
        seen.add(name)
        files.add(Path(file))
        waiting.extend(_imports(module, Path(file)))
    # The names too, for numba's cache finds the classes by them: a file that was moved must not find its old place.
    digest = hashlib.sha256(repr([(cls.__module__, cls.__qualname__) for cls in classes]).encode())
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _is_library(file: Path) -> bool:
    """Whether the file belongs to Python or to an installed package: such code changes by new versions only."""
    return any(
        file.is_relative_to(sysconfig.get_path(place)) for place in ("stdlib", "platstdlib", "purelib", "platlib")
    )


def _imports(module: ModuleType, file: Path) -> Iterator[str]:
    """Names of the modules that a module's source imports."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.__package__ or ""
            base = (
                importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                if node.level
                else node.module
            )
            yield from (base or "", *(f"{base}.{alias.name}" for alias in node.names))
