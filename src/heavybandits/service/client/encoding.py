"""What users give, in JSON's form; what has none is refused before anything is sent."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from reprlib import repr as brief
from typing import Any

Object = dict[str, Any]


def json_context(context: Any, attributes: Mapping[str, Any]) -> Object:
    """Return a context of attributes."""
    if context is not None:
        raise ValueError("Client: either context or attributes must be given, got both")
    return {"attributes": json_attributes(attributes)}


def json_attributes(attributes: Mapping[str, Any]) -> Object:
    """Return attributes in JSON's form: datetimes become text, NumPy's numbers plain ones, NaN and NaT missing."""
    if not isinstance(attributes, Mapping):
        raise TypeError(f"Client: attributes must be a mapping of names to values, got {brief(attributes)}")
    return {name: _plain_attribute(value) for name, value in attributes.items()}


def _plain_attribute(value: Any) -> Any:
    if getattr(getattr(value, "dtype", None), "kind", None) == "M":
        value = value.astype("M8[us]")  # in nanoseconds it would become a plain number
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, (float, datetime)) and value != value:
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def json_vector(name: str, values: Iterable[float]) -> list[float]:
    """Return features in JSON's form."""
    vector = [_number(f"{name} must contain only numbers", value) for value in values]
    for value in vector:
        if not math.isfinite(value):
            raise ValueError(f"Client: {name} must be finite, got {value}")
    return vector


def json_reward(value: float) -> Any:
    """Return a reward in JSON's form."""
    value = _number("value must be a number", value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if math.isnan(value):
        raise ValueError("Client: value must not be NaN (leave out missing rewards), got nan")
    return value


def _number(rule: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"Client: {rule}, got {value!r}") from None


def batch_item(item: Mapping[str, Any]) -> Object:
    """Return an item of a batch in JSON's form; it gets an id, so that it may be repeated."""
    filled: Object = dict(item)
    for kind, content in item.items():
        if isinstance(content, Mapping):
            own = {"id": uuid.uuid4().hex} if kind in ("decision", "observation") else {}
            number = {"value": json_reward(content["value"])} if "value" in content else {}
            filled[kind] = {**own, **content, **number}
    return filled
