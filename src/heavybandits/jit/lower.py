"""How a function is translated for LLVM: with few slots on the stack, and with NamedTuples passed as one value.

A state has hundreds of fields.  numba gives a slot to every variable that several blocks read, and clears the slot in
the end; it passes every field as an argument of its own.  LLVM removes all of this again, which takes long.

All of this overrides numba's internals, so only :mod:`.draft` imports it.
"""
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import functools
from typing import Any

from numba import types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.datamodel.packer import ArgPacker
from numba.core.imputils import user_function
from numba.core.ir import Assign
from numba.core.lowering import Lower as NumbasLower


class Lower(NumbasLower):
    """numba's own translation, with fewer slots if there are no reference counts."""

    def setup_function(self, fndesc: Any) -> None:
        """Declare the function, and begin its body."""
        own = self.context
        self.context = _context_of(own, fndesc)
        super().setup_function(fndesc)
        self.context = own

    def extract_function_arguments(self) -> Any:
        """Return the arguments, put together if they are passed in parts."""
        convention = _context_of(self.context, self.fndesc).call_conv
        self.fnargs = convention.decode_arguments(self.builder, self.fndesc.argtypes, self.function)
        return self.fnargs

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no slot: assigned once, in a block that dominates all blocks that read them."""
        super()._find_singly_assigned_variable()
        has_try = self.func_ir.func_id.func.__code__.co_exceptiontable  # then blocks may be left in the middle
        self._uncounted = not (self.flags.nrt or self.generator_info or has_try)
        if not self._uncounted:
            return
        homes: dict[str, Any] = {}  # where variables are assigned; None if they need a slot
        for label, block in self.blocks.items():
            for step in block.find_insts(Assign):
                name = step.target.name
                homes[name] = None if name in homes else label
        dominators = compute_cfg_from_blocks(self.blocks).dominators()
        for label, names in compute_use_defs(self.blocks).usemap.items():  # without names assigned before in the block
            for name in names:
                home = homes.get(name)
                if home is None or home >= label or home not in dominators[label]:  # blocks are translated in order
                    homes[name] = None
        self._singly_assigned_vars.update(name for name, home in homes.items() if home is not None)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign a variable; there is no need to release its old value."""
        if self._uncounted and name not in self._singly_assigned_vars:
            self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        """Forget a variable; there is no need to release its value."""
        if not self._uncounted:
            super().delvar(name)


def insert_function(context: Any, function: Any, fndesc: Any, libraries: Any = ()) -> None:
    """Tell numba how compiled code calls a function that :class:`Lower` translated."""
    call = user_function(fndesc, libraries)

    def call_it(context: Any, *arguments: Any) -> Any:
        return call(_context_of(context, fndesc), *arguments)

    call_it.libs = call.libs  # type: ignore[attr-defined]
    context._defns[function].append(call_it, call.signature)


def _context_of(context: Any, fndesc: Any) -> Any:
    """Return the context for declaring and calling a function.

    One that is not inlined gets all fields as arguments, because LLVM leaves out those that it does not need.
    """
    if not fndesc.inline:
        return context
    return context.subtarget(get_arg_packer=functools.partial(ArgPacker, _Models(context.data_model_manager)))


class _Models:
    """numba's models of values, with NamedTuples in one piece."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def lookup(self, kind: Any) -> Any:
        model = self._manager.lookup(kind)
        return _OnePiece(model) if isinstance(kind, types.BaseNamedTuple) else model


class _OnePiece:
    """A model of a value that is passed as it is."""

    def __init__(self, model: Any) -> None:
        self.get_argument_type = model.get_value_type

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value

    from_argument = as_argument
