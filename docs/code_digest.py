"""A digest of the code behind a command: of every definition that it reaches, wherever it stands and whatever its name.

A definition is a function, a class or a constant of a module, or a method whose name is mentioned in what is reached.
It reaches what its body names, and so on; the policies, noises and instances that a script or a study names as text are
reached too.  Comments, docstrings, annotations of functions, imports, and the names of modules and definitions are not
part of the digest, so it stays the same if code is moved or a function is renamed.  Rooms that hand numbers on without
changing them are left out (``BESIDE``).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits.algorithms.registry import all_policies

PACKAGE = Path(hb.__file__).parent
# What stores, draws and compiles: none of it may change a number, and other tests hold it to that.
BESIDE = ("jit", "palette", "report", "results.plot", *(f"studies.{name}" for name in
          ("executors", "places", "progress", "record", "run", "store", "writer")))  # fmt: skip
PLAYED = (("engine.loop", "Run"), ("engine.loop", "game_of"), ("engine.loop", "play_chunk"), ("studies.study", "Study"))
REGISTRY = "heavybandits.algorithms.registry"
BODY = ""  # what a script does besides importing and defining
ELSEWHERE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
Key = tuple[str, str]  # a module, and a name in it


class Module:
    """The definitions and imports of a module."""

    def __init__(self, name: str, source: str) -> None:
        self.definitions, self.imports, self.stars = (
            dict[str, list[ast.AST]](),
            dict[str, tuple[str, str]](),
            list[str](),
        )
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), _package(name))
                self.stars += [base for alias in node.names if alias.name == "*"]
                self.imports |= {alias.asname or alias.name: (base, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                self.imports |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
        for name, node in _defined(tree.body):
            self.definitions.setdefault(name, []).append(node)
        if body := [node for node in tree.body if not isinstance(node, ELSEWHERE) and not _is_text(node)]:
            self.definitions[BODY] = list(body)


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _package(module: str) -> str:
    """Return the package that relative imports of a module start from."""
    return module if _file(module).name.startswith("__init__") else module.rpartition(".")[0]


def _file(module: str) -> Path:
    """Return the file of a module of ours; the stub of the package says where its public names are."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    if path == PACKAGE:
        return path / "__init__.pyi"
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _defined(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that statements define, and what defines them."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            yield from ((f"{node.name}.{method.name}", method) for method in methods)
            node.body = [part for part in node.body if part not in methods]
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((part.id, node.value) for part in ast.walk(target) if isinstance(part, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _defined([*node.body, *getattr(node, "orelse", ())])


class Reader:
    """A reader that follows names from definition to definition, leaving out some of our modules."""

    def __init__(self, beside: Iterable[str]) -> None:
        self.beside = tuple(f"heavybandits.{name}" for name in beside)
        self.scripts: dict[str, Module] = {}  # by path, without suffix
        self.reached, self.methods = functools.cache(self._reached), functools.cache(self._methods)
        self.found = functools.cache(self._found)
        self.text = functools.cache(self._text)

    def digest(self, roots: Iterable[Key], more: object) -> str:
        """Return a digest of all that is reached from these definitions, and of something else."""
        waiting, met, names = list(roots), set[Key](), set[str]()
        while waiting:
            while waiting:
                if (key := waiting.pop()) not in met:
                    met.add(key)
                    keys, mentioned = self.reached(key)
                    waiting += keys
                    names |= mentioned
            waiting = [key for cls in met for key in self.methods(cls) if key not in met
                       and ((name := key[1].split(".")[1]) in names or name.startswith("__"))]  # fmt: skip
        parts = sorted({self.text(key, True) for key in met})
        return hashlib.sha256(repr((parts, more)).encode()).hexdigest()[:8]

    def module(self, name: str) -> Module:
        return self.scripts.get(name) or ours(name)

    def read_script(self, path: Path, source: str = "") -> list[Key]:
        """Read a script and those beside it that it imports, and return what they define and what they name."""
        name, source = str(path.with_suffix("")), source or path.read_text(encoding="utf-8")
        module = self.scripts[name] = Module(name, source)
        beside = {base: path.with_name(f"{base}.py") for base, _ in module.imports.values()}
        module.imports = {
            alias: (str(path.with_name(base)) if beside[base].exists() else base, imported)
            for alias, (base, imported) in module.imports.items()
        }
        keys = [key for file in beside.values() if file.exists() for key in self.read_script(file)]
        nodes = list(ast.walk(ast.parse(source)))
        named = [key for node in nodes if (key := self.resolved(name, node)) is not None]
        texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
        goes_through_all = any(
            key[0] == REGISTRY and key[1] in ("policies", "all_policies", "examples") for key in named
        )
        listed = [key for text, key in registered().items() if goes_through_all or text in texts]
        return [*keys, *((name, defined) for defined in module.definitions), *named, *listed]

    def _methods(self, key: Key) -> list[Key]:
        """Return the methods of a class."""
        return [(key[0], name) for name in self.module(key[0]).definitions if name.startswith(f"{key[1]}.")]

    def _reached(self, key: Key) -> tuple[set[Key], set[str]]:
        """Return the definitions that another one names, and all attributes and texts, which may name methods."""
        nodes = [part for node in self.module(key[0]).definitions[key[1]] for part in ast.walk(node)]
        keys = {other for node in nodes if (other := self.resolved(key[0], node)) is not None}
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        return keys, texts | {node.attr for node in nodes if isinstance(node, ast.Attribute)}

    def resolved(self, module: str, node: ast.AST) -> Key | None:
        """Return the definition that a name, or an attribute of a module, stands for; None if it is not ours."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base, name = self.module(module).imports.get(node.value.id, ("", ""))
            return self.found(f"{base}.{name}".rstrip("."), node.attr)
        return self.found(module, node.id) if isinstance(node, ast.Name) else None

    def _found(self, module: str, name: str) -> Key | None:
        """Return where a name of a module is defined, through its imports."""
        if module not in self.scripts and (not is_ours(module) or module.startswith(self.beside)):
            return None
        here = self.module(module)
        if name in here.definitions:
            return module, name
        base, imported = here.imports.get(name, ("", ""))
        if base:
            return self.found(base, imported) if imported and not is_ours(f"{base}.{imported}") else None
        return next(filter(None, (self.found(base, name) for base in here.stars)), None)

    def _text(self, key: Key, named: bool) -> str:
        """Return a definition as text, with those that it names replaced by digests of their text, or by nothing."""

        def shown(value: Any) -> str:
            if isinstance(value, list):
                return f"[{' '.join(map(shown, value))}]"
            if isinstance(value, dict):
                return f"({' '.join(f'{name}={shown(part)}' for name, part in value.items())})"
            if not isinstance(value, ast.AST):
                return repr(value)
            if (other := self.resolved(key[0], value)) is not None:
                return f"<{hashlib.sha256(self.text(other, False).encode()).hexdigest() if named else ''}>"
            return type(value).__name__ + shown(dict(_fields(value)))

        nodes = self.module(key[0]).definitions[key[1]]
        has_name = hasattr(nodes[0], "name") and "." not in key[1]
        return " ".join(shown(dict(_fields(node)) | {"name": ""} if has_name else node) for node in nodes)


@functools.cache
def reader(measured: bool) -> Reader:
    """Return a reader; measured times depend on how code is compiled, other numbers do not."""
    return Reader([name for name in BESIDE if not (measured and name == "jit")])


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a node that matter: no annotations of functions, no docstrings, nothing that is empty."""
    for name, value in ast.iter_fields(node):
        if name in ("ctx", "kind", "returns", "type_comment", "type_params", "type_ignores"):
            continue
        if isinstance(node, ast.arg) and name == "annotation":
            continue
        if name == "body" and isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            value = value[1:]
        if value not in (None, []):
            yield name, value


@functools.cache
def ours(name: str) -> Module:
    """Return a module of the package."""
    return Module(name, _file(name).read_text(encoding="utf-8"))


@functools.cache
def is_ours(name: str) -> bool:
    """Return whether there is such a module in the package."""
    return name.split(".")[0] == "heavybandits" and _file(name).exists()


@functools.cache
def registered() -> dict[object, Key]:
    """Return where policies, estimators, noises and instances are defined, by name."""
    made = {**all_policies(), **hb.estimators(), **hb.noises(), **hb.instances()}
    plain = {name: getattr(make, "func", make) for name, make in made.items()}
    return {name: (make.__module__, make.__name__) for name, make in plain.items()}


def in_study(file: Path, reader: Reader) -> tuple[list[Key], Any]:
    """Return the definitions that a study names, and what its file says about numbers."""
    spec = tomllib.loads(file.read_text(encoding="utf-8"))
    spec["study"] = {key: value for key, value in spec["study"].items() if key not in ("title", "description")}
    keys = [(f"heavybandits.{module}", name) for module, name in PLAYED]
    for text in _texts(spec):
        if text in registered():
            keys.append(registered()[text])
        elif ".py:" in text:
            keys += reader.read_script(file.with_name(text.partition(":")[0]))
    return keys, {key: spec[key] for key in ("study", "instance", "policy")}


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a table."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)


def digest_of(command: str, root: Path, measured: bool = False, source: str = "") -> str:
    """Return the digest of the code behind a command.

    Parameters
    ----------
    command
        ``heavybandits run STUDY``, or ``python SCRIPT`` with the names of studies or with options.
    root
        The folder of the script.
    measured
        Whether the command measures times, which also depend on how code is compiled.
    source
        The source of a script that is no file.
    """
    program, script, *arguments = command.split()
    following = reader(measured)
    keys = following.read_script(root / script, source) if program == "python" else []
    files = [PACKAGE / "studies" / "files" / f"{name}.toml" for name in arguments]
    studies = [in_study(file, following) for file in files if file.exists()]
    return following.digest(
        [*keys, *(key for named, _ in studies for key in named)], (arguments, *(spec for _, spec in studies))
    )
