"""The form of a study file: which tables and keys there are, and what they may be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .._validate import unknown

Count = Annotated[int, Field(strict=True, ge=1, le=10**12)]


class StudyError(ValueError):
    """A study that cannot be used; the message is one sentence with file, key, value and rule."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Head(_Table):
    title: str = ""
    description: str = ""
    horizon: Count
    replications: Count = 100
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    checkpoints: Literal["log", "all", "end"] | list[Count] = "log"


class _Report(_Table):
    figure: Literal["curves", "sweep", "runtime", "matrix"] = "curves"
    targets: list[Annotated[float, Field(gt=0)]] = []


class _InstanceTable(BaseModel):
    model_config = ConfigDict(extra="allow")
    horizon: Count | None = None
    replications: Count | None = None


class _PolicyTable(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: str


class _File(_Table):
    study: _Head
    instance: Annotated[dict[str, _InstanceTable], Field(min_length=1)]
    policy: Annotated[dict[str, _PolicyTable], Field(min_length=1)]
    report: _Report = _Report()


def with_defaults(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Check the form of a study, and return it with defaults filled in; what is in instances and policies stays open.

    Examples
    --------
    >>> study = {"study": {"horizon": 5}, "instance": {"x": {}}, "policy": {"UCB": {"kind": "ucb"}}}
    >>> with_defaults("mine", study)["study"]["replications"]
    100
    >>> with_defaults("mine", {**study, "study": {"horizn": 5}})
    Traceback (most recent call last):
        ...
    heavybandits.studies.schema.StudyError: mine: needs study.horizon
    """
    try:
        return _File.model_validate(spec).model_dump(exclude_none=True)
    except ValidationError as error:
        raise StudyError(f"{name}: {_sentence(error)}") from None


def _sentence(error: ValidationError) -> str:
    """What is wrong first, in one sentence."""
    first = error.errors()[0]
    *parents, last = first["loc"]
    table: Any = _File
    for part in parents:
        fields = getattr(table, "model_fields", {})
        table = fields[part].annotation if part in fields else None
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        where = f"{'.'.join(map(str, parents))}: " if parents else ""
        return where + unknown("key", last, getattr(table, "model_fields", ()))
    if first["type"] == "missing":
        return f"needs {key}"
    rule = first["msg"][0].lower() + first["msg"][1:]
    return f"{key}: {rule.replace('input', 'it')}, got {first['input']!r}"
