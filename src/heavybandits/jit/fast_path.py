"""How methods and the loop around them are compiled fast: the methods as *parts*, and the loop as a *whole*.

numba optimises every function and turns it into machine code, and then once more within each function that calls it.
Ours are only called by compiled code.  A part is only translated for LLVM, so the whole is optimised once.

All of this overrides numba's internals, so it is imported by :mod:`.backend` alone.
"""
# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.core.untyped_passes import InlineClosureLikes
from numba.extending import intrinsic, lower_builtin

from ..protocols import COMPILABLE
from .backend import path_in_use
from .stopping import checkpoint


class _Part(JITCodeLibrary):
    """Code of one function, for a :class:`_Linked` library; it does not contain what the function calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """Return the object to tell where the function's Python objects are: this one, which ignores it."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing; the caller's lowering does it."""


@register_pass(mutates_CFG=False, analysis_only=False)
class _PartLowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        checkpoint()
        # Decided only here, because numba compiles a function again for callers with other flags.
        state.flags = state.flags.copy()
        state.flags.forceinline = COMPILABLE.get(state.func_id.func, True)
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _Linked(JITCodeLibrary):
    """Code with all parts in it that it calls, directly or not."""

    def finalize(self) -> None:
        libraries = self._linking_libraries
        for library in libraries:  # callers come first, because LLVM leaves out what nothing calls yet
            if isinstance(library, _Part):
                libraries += [called for called in library._linking_libraries if called not in libraries]
        super().finalize()


class _Whole(_Linked):
    """Code with all parts in it, optimised in one pass: numba's other pass handles reference counts; it has none."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        checkpoint()
        made = self._codegen._module_pass_manager()
        manager, *builder = made if isinstance(made, tuple) else (made,)  # numba 0.61 needs no builder
        manager.run(self._final_module, *builder)
        checkpoint()  # machine code is made after this


@register_pass(mutates_CFG=False, analysis_only=False)
class _WholeLowering(NativeLowering):
    _name = "whole_lowering"

    def run_pass(self, state: Any) -> bool:
        library = _Linked if state.flags.nrt else _Whole
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        changed = bool(super().run_pass(state))
        for variable in state.library._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                state.library.codegen.set_env(variable.name, environment)
        return changed


class _Compiler(CompilerBase):
    """numba's own compiler, with another lowering."""

    lowering: type

    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = [(self.lowering if step is NativeLowering else step, what) for step, what in steps.passes]
        if not self.state.flags.nrt:  # nothing is allocated, so there are no whole-array expressions and no lists
            passes = [(step, what) for step, what in passes if step not in (InlineClosureLikes, NopythonRewrites)]
        steps.passes = passes
        steps.finalize()
        return [steps]


class PartCompiler(_Compiler):
    """The compiler for functions that only compiled code calls."""

    lowering = _PartLowering


class WholeCompiler(_Compiler):
    """The compiler for functions that Python calls."""

    lowering = _WholeLowering


def kernel_options() -> dict[str, Any]:
    """Return the options for a function that Python calls."""
    return {"pipeline_class": WholeCompiler, "no_cfunc_wrapper": True}


def part_options(_: Any) -> dict[str, Any]:
    """Return the options for a function that only compiled code calls."""
    return {"pipeline_class": PartCompiler, "no_cfunc_wrapper": True}


def register_method(name: str) -> None:
    """Do nothing: :class:`_Methods` finds every method by the class that has it."""


def copy_bytes(target: Any, source: Any) -> None:
    """Copy an array as bytes: a state has many arrays, and loops would become much code."""
    _move(target, source)  # type: ignore[call-arg]


@intrinsic
def _move(_: Any, target: Any, source: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = [context.make_array(kind) for kind in signature.args]
        one, other = (kind(context, builder, value) for kind, value in zip(kinds, values, strict=True))
        size = builder.select(builder.icmp_signed("<", one.nitems, other.nitems), one.nitems, other.nitems)
        cgutils.raw_memmove(builder, one.data, other.data, size, one.itemsize)
        return context.get_dummy_value()

    return types.void(target, source), emit


cpu_target.typing_context.refresh()  # numba's own rules come first, so a field wins over a method of the same name


@infer_getattr
class _Methods(AttributeTemplate):
    """The methods of NamedTuples, each found by its class: methods of one name may take different arguments."""

    key = types.BaseNamedTuple

    def generic_resolve(self, owner: Any, name: str) -> Any:  # type: ignore[override]
        method = getattr(owner.instance_class, name, None)
        if path_in_use() != __name__ or not isinstance(method, FunctionType):
            return None
        return types.BoundFunction(_template(method, ConfigStack.top_or_none()), owner)


@functools.cache
def _template(method: FunctionType, flags: Any) -> type:
    """Return how numba types and lowers calls of a method by callers compiled with these flags."""
    dispatcher = numba.njit(method, **part_options(method))
    kind = types.Dispatcher(dispatcher)
    name = (method, flags)

    class Template(AbstractTemplate):
        key = name
        this: Any  # the type of the NamedTuple
        compiled_by = dispatcher  # numba's type does not keep it alive

        def generic(self, arguments: Any, keywords: Any) -> Any:
            signature = kind.get_call_type(self.context, (self.this, *arguments), keywords)
            return None if signature is None else signature.as_method()

    @lower_builtin(name, types.BaseNamedTuple, types.VarArg(types.Any))
    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = context.get_function(kind, signature)
        context.add_linking_libs(getattr(function, "libs", ()))
        return function(builder, arguments)

    return Template
