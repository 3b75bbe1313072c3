r"""Kinds of attributes, and how the values of one become numbers in *slots*: places that only it uses.

**What is decided about a value stays decided.**  A model learns what a unit of a feature is worth, so a feature must
not change its meaning while the model learns.  Slots are given out in order of appearance and never change hands.  A
number x becomes :math:`(x - o)/u`, where the origin o and the unit u are the median and the distance of the quartiles
of the first block of eight values.  Until then it has no effect, so that a mistyped value among them spoils nothing.
What is known of several arms at once is a block of its own.  Two values would not do: if they happen to lie close
together, all others are huge.  The units that users choose have no effect.

**Outliers.**  One mistyped number would decide the slope of a line alone.  So a number that lies further from the
quartiles than ten times their distance counts as if it lay just there.  The quartiles are those of the latest complete
block of 8, 16, 32, then 64 values; there is no limit if they are equal.  Limits move, but only outliers with them.

**Hours** are points on a circle: the sine and cosine of one and of two turns a day.  A level for each hour would have
24 effects to learn for each arm, none of which knows of its neighbours.  Days of the week are levels: a Sunday need not
resemble a Monday.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from reprlib import repr as brief
from typing import Any, ClassVar

import numpy as np

Plain = float | str | bool  # what values are turned into before anything is learned from them
Features = list[tuple[int, float]]  # slots, and the numbers in them
NewSlot = Callable[[str], int | None]  # returns the next slot, which gets this label; None if there is no room

MOST_CATEGORY_LEVELS = 25  # of an attribute, unless its schema says otherwise; the rest are "other"
LONGEST_LEVEL = 200  # characters
LARGEST_NUMBER = 1e30
UNPRINTABLE = 10**4000  # Python refuses to print numbers that are not much larger
LARGEST_SLOT = 1e40  # so that linear agents accept products of two
OUTLIER_REACH = 10.0  # how many times the distance of the quartiles a number may lie beyond them
FIRST_BLOCK, LAST_BLOCK = 8, 64  # values between two looks at the quartiles
HOURS_PER_DAY = 24.0
NUMBER_TYPES, LEVEL_TYPES = (float, int), (str, int)  # types of numbers, and of levels; a tuple is quicker than a union
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
OTHER_LABEL, MISSING_LABEL = "(other)", "(missing)"
TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")  # how text begins that is a time, not a level


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return values at about a quarter, a half and three quarters.

    Examples
    --------
    >>> quartiles([5.0, 1.0, 2.0, 4.0, 3.0])
    (2.0, 3.0, 4.0)
    """
    ordered, quarter = sorted(values), len(values) // 4
    return ordered[quarter], ordered[len(values) // 2], ordered[-quarter - 1]


@dataclass
class Attribute:
    """What is known about an attribute; ``slots`` are those of its levels and parts, by their names."""

    kind: ClassVar[str]
    expected: ClassVar[str]  # values, in words
    name: str
    slots: dict[str, int] = field(default_factory=dict)
    lacks_room: bool = False  # there was no room for one of its slots, so part of what it says is ignored

    @property
    def fewest_slots(self) -> int:
        """How many slots it will need if values are as declared."""
        return 1

    def plain(self, value: Any) -> Plain:
        """Return a value that is not missing in a plain type; refuse others.  Nothing changes."""
        raise NotImplementedError

    def features(self, value: Plain, new_slot: NewSlot) -> Features:
        """Return the features of a plain value, and learn from it."""
        raise NotImplementedError

    def missing(self, new_slot: NewSlot) -> Features:
        """Return the features of a missing value."""
        slot = self._slot(MISSING_LABEL, new_slot)
        return [] if slot is None else [(slot, 1.0)]

    def _slot(self, part: str, new_slot: NewSlot) -> int | None:
        if part not in self.slots:
            slot = new_slot(f"{self.name} {part}".rstrip())
            if slot is None:
                self.lacks_room = True
                return None
            self.slots[part] = slot
        return self.slots[part]

    def described(self) -> Any:
        """Return what a schema says about the attribute."""
        return self.kind

    def unit_of(self, slot: int) -> float:
        """Return what one unit of a slot is in the units of the user."""
        return 1.0

    def _refused(self, value: Any) -> Exception:
        error = ValueError if isinstance(value, float | int | str) else TypeError
        has_end = not isinstance(value, int) or abs(value) < UNPRINTABLE
        got = brief(value) if has_end else "a whole number of thousands of digits"
        return error(f"attribute {self.name!r} must be {self.expected}, or None if it is missing, got {got}")


@dataclass
class NumberAttribute(Attribute):
    """A number."""

    kind: ClassVar[str] = "number"
    expected: ClassVar[str] = f"a number between {-LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}"
    origin: float | None = None
    unit: float | None = None
    low: float | None = None
    high: float | None = None
    recent: list[float] = field(default_factory=list)  # values of the block that is not complete
    block: int = FIRST_BLOCK

    def plain(self, value: Any) -> Plain:
        is_number = type(value) is float or (isinstance(value, NUMBER_TYPES) and not isinstance(value, bool))
        if not is_number or not abs(value) <= LARGEST_NUMBER:
            raise self._refused(value)
        return float(value)

    def features(self, value: Plain, new_slot: NewSlot) -> Features:
        number = float(value)
        self.recent.append(number)
        if len(self.recent) == self.block:
            self._look()
        slot = self.slots.get("")
        if slot is None:
            slot = self._slot("", new_slot)
        if slot is None or self.origin is None or self.unit is None:
            return []
        if self.low is not None and self.high is not None and not self.low <= number <= self.high:
            number = self.low if number < self.low else self.high
        scaled = (number - self.origin) / self.unit
        return [(slot, scaled if abs(scaled) <= LARGEST_SLOT else math.copysign(LARGEST_SLOT, scaled))]

    def _look(self) -> None:
        """Set the limits by the quartiles of a complete block, and begin the next."""
        self.size_up(self.recent)
        first, _, third = quartiles(self.recent)
        reach = OUTLIER_REACH * (third - first)
        self.low, self.high = (first - reach, third + reach) if reach > 0.0 else (None, None)
        self.recent, self.block = [], min(2 * self.block, LAST_BLOCK)

    def size_up(self, values: list[float]) -> None:
        """Set the origin and the unit for good, unless that is done or all values are equal."""
        if self.origin is None and min(values) < max(values):
            first, self.origin, third = quartiles(values)
            self.unit = third - first or max(values) - min(values)

    def unit_of(self, slot: int) -> float:
        return self.unit or 1.0 if slot == self.slots.get("") else 1.0


@dataclass
class BooleanAttribute(Attribute):
    """True or false."""

    kind: ClassVar[str] = "boolean"
    expected: ClassVar[str] = "True or False"

    def plain(self, value: Any) -> Plain:
        if not isinstance(value, bool):
            raise self._refused(value)
        return value

    def features(self, value: Plain, new_slot: NewSlot) -> Features:
        slot = self._slot("", new_slot)
        return [] if slot is None or not value else [(slot, 1.0)]


@dataclass
class CategoryAttribute(Attribute):
    """One of several levels, which get slots in order of appearance; once there is no room, they are "other"."""

    kind: ClassVar[str] = "category"
    expected: ClassVar[str] = f"text of at most {LONGEST_LEVEL} characters, a whole number or a boolean"
    most: int = MOST_CATEGORY_LEVELS
    fixed: list[str] | None = None  # the only levels, if they were given beforehand

    def __post_init__(self) -> None:
        self._met: dict[Plain, Features] = {}  # features of levels that have slots, as far as they came again

    def plain(self, value: Any) -> Plain:
        if type(value) is str and len(value) <= LONGEST_LEVEL:  # the other checks take longer
            return value
        value = without_point(value)
        is_endless = isinstance(value, int) and abs(value) > LARGEST_NUMBER
        if not isinstance(value, LEVEL_TYPES) or is_endless or len(str(value)) > LONGEST_LEVEL:
            raise self._refused(value)
        return str(value)

    def features(self, value: Plain, new_slot: NewSlot) -> Features:
        if value in self._met:
            return self._met[value]
        level = f"= {value}"
        slot = self.slots.get(level)
        if slot is not None:
            self._met[value] = [(slot, 1.0)]
        elif self._takes(str(value)):
            slot = self._slot(level, new_slot)
        if slot is None:
            slot = self._slot(OTHER_LABEL, new_slot)
        return [] if slot is None else [(slot, 1.0)]

    def _takes(self, level: str) -> bool:
        return len(self.levels) < self.most if self.fixed is None else level in self.fixed

    @property
    def fewest_slots(self) -> int:
        return len(self.fixed or [""])

    @property
    def levels(self) -> list[str]:
        """The levels that have slots of their own."""
        return [part.removeprefix("= ") for part in self.slots if part not in (OTHER_LABEL, MISSING_LABEL)]

    def described(self) -> Any:
        return self.fixed or self.levels or self.kind


@dataclass
class HourAttribute(Attribute):
    """An hour of the day."""

    kind: ClassVar[str] = "hour"
    expected: ClassVar[str] = "a number of hours from 0 to 24"

    @property
    def fewest_slots(self) -> int:
        return 4

    def plain(self, value: Any) -> Plain:
        if isinstance(value, bool) or not isinstance(value, float | int) or not 0.0 <= value <= HOURS_PER_DAY:
            raise self._refused(value)
        return float(value)

    def features(self, value: Plain, new_slot: NewSlot) -> Features:
        made: Features = []
        for turns, text in ((1, "once a day"), (2, "twice a day")):
            angle = turns * math.tau * float(value) / HOURS_PER_DAY
            for wave in (math.cos, math.sin):
                slot = self._slot(f"{wave.__name__} {text}", new_slot)
                if slot is not None:
                    made.append((slot, wave(angle)))
        return made


@dataclass
class WeekdayAttribute(CategoryAttribute):
    """A day of the week."""

    kind: ClassVar[str] = "weekday"
    expected: ClassVar[str] = f"a day of the week, from 0 for Monday to 6, or one of {', '.join(WEEKDAYS)}"

    @property
    def fewest_slots(self) -> int:
        return len(WEEKDAYS)

    def plain(self, value: Any) -> Plain:
        day = without_point(value)
        if isinstance(day, int) and not isinstance(day, bool) and 0 <= day < len(WEEKDAYS):
            return WEEKDAYS[day]
        if value in WEEKDAYS:
            return str(value)
        raise self._refused(value)

    def described(self) -> Any:
        return self.kind


@dataclass
class DatetimeAttribute(Attribute):
    """A point in time: its hour and its day of the week, in its own time zone."""

    kind: ClassVar[str] = "datetime"
    expected: ClassVar[str] = "a datetime, or text such as '2026-05-17T18:30'"
    hour: dict[str, int] = field(default_factory=dict)  # the slots of the hour
    weekday: dict[str, int] = field(default_factory=dict)

    def plain(self, value: Any) -> Plain:
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            raise self._refused(value) from None
        if not isinstance(moment, datetime):
            raise self._refused(value)
        return moment.isoformat()

    def features(self, value: Plain, new_slot: NewSlot) -> Features:
        moment = datetime.fromisoformat(str(value))
        hour, weekday = self._parts()
        made = hour.features(moment.hour + moment.minute / 60.0, new_slot)
        made += weekday.features(WEEKDAYS[moment.weekday()], new_slot)
        self.lacks_room |= hour.lacks_room or weekday.lacks_room
        return made

    def _parts(self) -> tuple[HourAttribute, WeekdayAttribute]:
        return HourAttribute(f"{self.name} hour", self.hour), WeekdayAttribute(f"{self.name} weekday", self.weekday)

    @property
    def fewest_slots(self) -> int:
        return sum(part.fewest_slots for part in self._parts())


ALL_KINDS = (NumberAttribute, BooleanAttribute, CategoryAttribute, HourAttribute, WeekdayAttribute, DatetimeAttribute)
ATTRIBUTE_KINDS: dict[str, type[Attribute]] = {each.kind: each for each in ALL_KINDS}


def in_python(value: Any) -> Any:
    """Return a value of NumPy's in a type of Python's own; others stay as they are.

    Examples
    --------
    >>> in_python(np.float32(0.5)), in_python(np.datetime64("2026-05-17T18:30", "ns"))
    (0.5, datetime.datetime(2026, 5, 17, 18, 30))
    """
    if not isinstance(value, np.generic):
        return value
    plain = value.item()
    is_too_fine = isinstance(value, np.datetime64) and isinstance(plain, int)  # nanoseconds
    return value.astype("M8[us]").item() if is_too_fine else plain


def without_point(value: Any) -> Any:
    """Return a whole number as an integer, if it is: data frames have 3.0 for 3 in columns with missing values.

    Examples
    --------
    >>> without_point(3.0), without_point(3.5), without_point("3.0")
    (3, 3.5, '3.0')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_missing(value: Any) -> bool:
    """Return whether a value in a type of Python's own says that nothing is known: None, NaN, or those of data frames.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), in_python(np.datetime64("NaT", "ns")), 0, "")]
    [True, True, True, False, False]
    """
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def declared(name: str, description: Any) -> Attribute:
    """Return the attribute that an entry of a schema describes.

    Examples
    --------
    >>> declared("country", ["CA", "US"]).described(), declared("zip", 50).most, declared("age", "number").kind
    (['CA', 'US'], 50, 'number')
    >>> declared("age", "int")
    Traceback (most recent call last):
        ...
    ValueError: schema of 'age' must be a list of levels, their number, or one of number, boolean, category, hour, \
weekday, datetime, got 'int'
    """
    if isinstance(description, str) and description in ATTRIBUTE_KINDS:
        return ATTRIBUTE_KINDS[description](name)
    if isinstance(description, int) and not isinstance(description, bool) and description > 0:
        return CategoryAttribute(name, most=description)
    if isinstance(description, list | tuple) and description:
        levels = [str(CategoryAttribute(name).plain(level)) for level in description]
        if len(set(levels)) < len(levels):
            raise ValueError(f"schema of {name!r} must have different levels, got {brief(description)}")
        return CategoryAttribute(name, fixed=levels)
    raise ValueError(
        f"schema of {name!r} must be a list of levels, their number, or one of {', '.join(ATTRIBUTE_KINDS)}, "
        f"got {brief(description)}"
    )


def attribute_for(name: str, value: Any) -> Attribute:
    """Return an attribute of the kind that its first value suggests.

    JSON has no times, so text such as "2026-05-17T18:30" is one.

    Examples
    --------
    >>> [attribute_for("it", value).kind for value in (31, True, "CA", datetime(2026, 5, 17), "2026-05-17T18:30:00Z")]
    ['number', 'boolean', 'category', 'datetime', 'datetime']
    """
    if isinstance(value, str) and TIME_TEXT.match(value):
        return DatetimeAttribute(name)
    for kind, types in (("boolean", bool), ("number", float | int), ("category", str), ("datetime", datetime)):
        if isinstance(value, types):
            return ATTRIBUTE_KINDS[kind](name)
    raise TypeError(f"attribute {name!r} must be a number, text, True or False, a datetime, or None if it is missing, "
                    f"got {brief(value)}")  # fmt: skip


def saved(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as JSON holds it."""
    return {"kind": attribute.kind, **asdict(attribute)}


def loaded(stored: dict[str, Any]) -> Attribute:
    """Return the attribute that was saved.

    Examples
    --------
    >>> country = declared("country", "category")
    >>> country.features("CA", lambda label: 0)
    [(0, 1.0)]
    >>> loaded(saved(country)) == country
    True
    """
    return ATTRIBUTE_KINDS[stored["kind"]](**{name: value for name, value in stored.items() if name != "kind"})
