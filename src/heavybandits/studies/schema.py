"""The form of a study file: which tables and keys there are, and what they may hold."""

from __future__ import annotations

import reprlib
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from .._validate import unknown

LARGEST_STUDY_COUNT = 10**12


class StudyError(ValueError):
    """A study that cannot be used; the message is one sentence with file, key, value and rule."""


def _printable(text: str) -> str:
    if not all(character.isprintable() or character == "\n" for character in text):
        raise ValueError("must not contain control characters")
    return text


def _plain(value: Any) -> Any:
    """Refuse values that JSON cannot hold: TOML also has dates and times."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _plain(part)
    if not isinstance(value, dict | list | str | int | float):
        raise ValueError("must not contain dates or times")
    return value


Count = Annotated[int, Field(ge=1, le=LARGEST_STUDY_COUNT)]
Text = Annotated[str, AfterValidator(_printable)]


class Table(BaseModel):
    """A table that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StudyTable(Table):
    """The table ``[study]``."""

    title: Text = ""
    description: Text = ""
    horizon: Count
    replications: Count = 100
    seed: Annotated[int, Field(ge=0)] = 0
    checkpoints: Literal["log", "all", "end"] | list[Count] = "log"


class ReportTable(Table):
    """The table ``[report]``."""

    figure: Literal["curves", "sweep", "runtime", "matrix"] = "curves"
    targets: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = [0.1, 0.05]


class InstanceTable(Table):
    """A table ``[instance.LABEL]``; its other keys are parameters of the instance."""

    model_config = ConfigDict(extra="allow")
    horizon: Count | None = None
    replications: Count | None = None


class PolicyTable(Table):
    """A table ``[policy.LABEL]``; its other keys are parameters of the policy."""

    model_config = ConfigDict(extra="allow")
    kind: str


class StudyFile(Table):
    """A study file with defaults filled in.

    Examples
    --------
    >>> plain = {"study": {"horizon": 5}, "instance": {"x": {}}, "policy": {"UCB": {"kind": "ucb"}}}
    >>> StudyFile.checked("mine", plain).study.replications
    100
    >>> StudyFile.checked("mine", {**plain, "study": {"horizn": 5}})
    Traceback (most recent call last):
        ...
    heavybandits.studies.schema.StudyError: mine: study: unknown key 'horizn'; did you mean 'horizon'? Known: ...
    """

    study: StudyTable
    instance: Annotated[dict[str, Annotated[InstanceTable, BeforeValidator(_plain)]], Field(min_length=1)]
    policy: Annotated[dict[str, Annotated[PolicyTable, BeforeValidator(_plain)]], Field(min_length=1)]
    report: ReportTable = ReportTable()

    @classmethod
    def checked(cls, name: str, plain: Any) -> Self:
        """Check plain values; ``name`` begins the message of an error."""
        try:
            return cls.model_validate(plain)
        except ValidationError as error:
            raise StudyError(f"{name}: {_sentence(error)}") from None

    def plain(self) -> dict[str, Any]:
        """Return the study in plain values."""
        return self.model_dump(exclude_none=True)


_shortened = reprlib.Repr().repr  # a file may hold anything

# What a value must be, by the type of pydantic's error; braces are filled in from the error's context.
RULES = {
    "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "string_type": "a string", "list_type": "a list", "dict_type": "a table", "model_type": "a table",
    "greater_than": "above {gt:g}", "greater_than_equal": "at least {ge}", "less_than_equal": "at most {le}",
    "literal_error": "one of {expected}",
}  # fmt: skip


def _sentence(error: ValidationError) -> str:
    """Return one sentence on the first error; unknown keys come first, since one may be a missing key misspelt."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    *parents, last = first["loc"]
    key = ".".join(str(part) for part in first["loc"])
    got = f"got {_shortened(first['input'])}"
    if first["loc"][:2] == ("study", "checkpoints"):
        return f"study.checkpoints must be 'log', 'all', 'end' or a list of rounds, {got}"
    match first["type"]:
        case "extra_forbidden":
            table: Any = StudyFile
            for part in parents:
                table = table.model_fields[part].annotation
            where = f"{'.'.join(map(str, parents))}: " if parents else ""
            return where + unknown("key", last, table.model_fields)
        case "missing":
            return f"needs {key}"
        case "too_short":
            return (
                f"needs at least one table [{key}.LABEL]"
                if not parents
                else f"{key} must have at least one value, {got}"
            )
        case "value_error":
            return f"{key} {first['ctx']['error']}"
    rule = RULES.get(first["type"])
    return f"{key} must be {rule.format(**first.get('ctx', {}))}, {got}" if rule else f"{key}: {first['msg']}, {got}"
