"""The type that numba gives to located states, and how compiled code finds these."""
# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

import numba
from numba import types
from numba.extending import NativeValue, models, register_model, unbox

from .backend import is_known


class LocatedType(types.Tuple):
    """The type of parts that are passed as a :class:`~.located.Located`; compiled code sees a tuple."""

    def __new__(cls, parts: Any) -> Any:
        """Return this type even if all parts are of one type; tuples of such parts have a type of their own."""
        return object.__new__(cls)


register_model(LocatedType)(models.TupleModel)


@unbox(LocatedType)
def find(kind: Any, located: Any, compiler: Any) -> Any:
    """Return the parts from where they lie as numba keeps them; if it may keep them otherwise, take them apart."""
    context, builder, python = compiler.context, compiler.builder, compiler.pyapi
    if is_known():
        address = builder.bitcast(python.long_as_voidptr(located), context.get_value_type(kind).as_pointer())
        return NativeValue(builder.load(address))
    parts = python.object_getattr_string(located, "parts")
    python.decref(parts)  # their owner keeps them
    values = [compiler.unbox(part, python.tuple_getitem(parts, place)).value for place, part in enumerate(kind)]
    return NativeValue(context.make_tuple(builder, kind, values))


def typeof(value: Any) -> Any:
    """Return numba's type of an argument; one that is a tuple here is passed located."""
    return LocatedType([numba.typeof(part) for part in value]) if type(value) is tuple else numba.typeof(value)
