r"""From named attributes to rows of features: the columns of a model, which are added as arms and levels appear.

Let v be the slots of a visitor, and z those of an arm: one that says which arm it is, and those of its attributes.  The
row of the arm consists of v, of z and of products: v times the slot that says which arm it is or, if arms are known by
their attributes only, v times each slot of these.  So there is one model for all arms, plus a difference for each, and
the policy's ridge shrinks differences that rewards do not speak for.

A column is added when it is first needed, and never moves.  So a model has no more features than its data, and agents
that see the same decisions in the same order have the same columns.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from reprlib import repr as brief
from typing import Any, NamedTuple

import numpy as np

from ...protocols import FloatArray, IntArray
from .kinds import (
    Attribute,
    Features,
    NewSlot,
    NumberAttribute,
    Plain,
    attribute_for,
    declared,
    in_python,
    is_missing,
    loaded,
    saved,
)

Values = dict[str, Plain]  # attributes that are not missing, in plain types

SURE_TYPES = (float, str, bool, int)  # values of these types are not NumPy's, and missing only if they are NaN
FIRST_SLOT = 2  # where the number of the first slot stands in a layout
MOST_ATTRIBUTE_COLUMNS = 512  # the time of a decision grows as their square


class Side:
    """The attributes of visitors, or of arms.

    Parameters
    ----------
    whose
        Whose attributes they are, in words.
    schema
        What is known about attributes beforehand; unless it is empty, others are refused.
    """

    def __init__(self, whose: str, schema: Mapping[str, Any]) -> None:
        self._whose, self._schema = whose, schema
        self.attributes: dict[str, Attribute] = {}
        self._sized_up: dict[str, Attribute] = {}  # whose units are known before they are first used

    def checked(self, values: Any, new: dict[str, Attribute] | None = None) -> Values:
        """Return these values in plain types, without the missing ones; refuse what does not fit.  Nothing changes.

        Values that are checked together share ``new``: the first one of an attribute says what others may be.
        """
        if type(values) is not dict and not isinstance(values, Mapping):  # the second check takes longer
            raise TypeError(f"attributes of {self._whose} must be a mapping of names to values, got {brief(values)}")
        made: Values = {}
        for name, value in values.items():
            attribute = self.attributes.get(name)
            if attribute is None:
                self._check_name(name)
            if type(value) not in SURE_TYPES:  # the other checks take longer
                value = in_python(value)
                if is_missing(value):
                    continue
            elif value != value:
                continue
            made[name] = (attribute or self._found(name, value, new)).plain(value)
        return made

    def _check_name(self, name: Any) -> None:
        """Refuse the name of an attribute that is not known yet, unless it is text and in the schema, if any."""
        if not isinstance(name, str):
            raise TypeError(f"attributes of {self._whose} must be named by text, got {brief(name)}")
        if self._schema and name not in self._schema:
            near = difflib.get_close_matches(name, self._schema, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"attributes of {self._whose} must be in the schema, got {name!r}{hint}")

    def _found(self, name: str, value: Any, new: dict[str, Attribute] | None) -> Attribute:
        if new is None:
            return self._new(name, value)
        if name not in new:
            new[name] = self._new(name, value)
        return new[name]

    def _new(self, name: str, value: Any) -> Attribute:
        return declared(name, self._schema[name]) if name in self._schema else attribute_for(name, value)

    def size_up(self, table: list[Values]) -> None:
        """Find the units of numbers that are new by all that is given at once; nothing else is learned."""
        for name in dict.fromkeys(name for values in table for name in values):
            given = [values[name] for values in table if name in values]
            attribute = self.attributes.get(name) or self._new(name, given[0])
            if isinstance(attribute, NumberAttribute) and attribute.origin is None:
                attribute.size_up([*attribute.recent, *map(float, given)])
                self._sized_up[name] = attribute

    def features(self, values: Values, new_slot: NewSlot) -> Features:
        """Return the features of checked values, and learn from them."""
        made: Features = []
        n_missing = 0
        for name, attribute in self.attributes.items():
            value = values.get(name)
            if value is None:
                made += attribute.missing(new_slot)
                n_missing += 1
            else:
                made += attribute.features(value, new_slot)
        if len(values) + n_missing == len(self.attributes):  # nothing is new
            return made
        for name, value in values.items():
            if name not in self.attributes:
                self.attributes[name] = self._sized_up.pop(name) if name in self._sized_up else self._new(name, value)
                made += self.attributes[name].features(value, new_slot)
        return made


class Layout(NamedTuple):
    """Which of these numbers stands where in a table with a row for each of some arms: 0, 1, then those of visitors."""

    names: tuple[Any, ...]
    n_columns: int
    sources: IntArray  # (arm, column)
    numbers: FloatArray  # 0, 1, and 0 for each slot of visitors


class Encoder:
    """The columns of a model with named attributes.

    Parameters
    ----------
    schema
        Kinds of attributes by name, of visitors and arms; see :func:`.declared`.  Unless it is empty, others are
        refused.

    Examples
    --------
    >>> encoder = Encoder({})
    >>> encoder.add_arms({"a": {}, "b": {}})
    >>> visitor = encoder.visitors.checked({"country": "CA"})
    >>> encoder.rows({"a": None, "b": None}, visitor)
    array([[1., 0., 1., 1., 0.],
           [0., 1., 1., 0., 1.]])
    >>> encoder.labels
    ['a', 'b', 'country = CA', 'a: country = CA', 'b: country = CA']
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        for name, description in schema.items():
            declared(name, description)
        self._schema = dict(schema)
        self.visitors, self.offers = Side("visitors", self._schema), Side("arms", self._schema)
        self.labels: list[str] = []  # of columns
        self.arms: dict[Any, int] = {}  # arms with a model of their own, in order
        self.own: dict[Any, Values | None] = {}  # the same, each with None, as rows takes them
        self._arm_features: list[Features] = []  # of their attributes
        self._arm_columns: list[int] = []  # those that say which arm it is
        self._offer_columns: list[int] = []  # by slot
        self._visitor_columns: list[int] = []  # by slot
        self._sums: list[float] = []  # of the features of visitors, by slot
        self._visits = 0
        self._layout = self._layout_of(())
        self.has_refused = False  # whether there was no room for a slot, since somebody looked
        self._products = np.zeros((0, 0), np.int64)  # (arm, or slot of offers if there is no arm; slot of visitors)

    @property
    def schema(self) -> dict[str, Any]:
        """What is known about each attribute, in the form in which a new encoder takes it."""
        sides = (self.visitors, self.offers)
        seen = {name: each.described() for side in sides for name, each in side.attributes.items()}
        return {**self._schema, **seen}

    @property
    def owners(self) -> dict[int, int]:
        """The columns that are products, each with that of its arm, or of the attribute by which arms are known."""
        partners = self._arm_columns or self._offer_columns
        return {column: owner for owner, line in zip(partners, self._products.tolist(), strict=True) for column in line}

    @property
    def left_out(self) -> list[str]:
        """The attributes that say more than there is room for."""
        known = [*self.visitors.attributes.values(), *self.offers.attributes.values()]
        return [each.name for each in known if each.lacks_room]

    def require_room(self) -> None:
        """Refuse a schema that needs more columns than there may be, with the arms that there are."""
        needed = len(self.arms)
        for name, description in self._schema.items():
            copies = 1 if name in self.offers.attributes else 1 + len(self.arms)
            needed += declared(name, description).fewest_slots * copies
        if needed > MOST_ATTRIBUTE_COLUMNS:
            raise ValueError(
                f"schema must need at most {MOST_ATTRIBUTE_COLUMNS} features, one for each level, number or boolean of "
                f"visitors, and as many for each arm, got {needed} with {len(self.arms)} arms"
            )

    def needed(self, n_arms: int) -> int:
        """Return how many columns so many new arms need."""
        return n_arms * (1 + len(self._visitor_columns))

    def add_arms(self, arms: Mapping[Any, Values]) -> None:
        """Add arms with models of their own, which have these checked attributes unless a decision says otherwise."""
        needed = self.needed(len(arms))
        if len(self.labels) + needed > MOST_ATTRIBUTE_COLUMNS:
            raise ValueError(
                f"there must be at most {MOST_ATTRIBUTE_COLUMNS} features, got {len(self.labels)}, "
                f"and new arms need {needed} more"
            )
        self.offers.size_up(list(arms.values()))
        for name, values in arms.items():
            self.arms[name], self.own[name] = len(self.arms), None
            self._arm_columns.append(self._column(str(name)))
            self._add_products(str(name))
            self._arm_features.append(self.offers.features(values, self._new_offer_slot))

    def _column(self, label: str) -> int:
        self.labels.append(label)
        return len(self.labels) - 1

    def _add_products(self, label: str) -> None:
        """Multiply an arm, or a slot of offers, with all slots of visitors."""
        columns = [self._column(f"{label}: {self.labels[column]}") for column in self._visitor_columns]
        self._products = np.vstack([self._products, np.array(columns, np.int64).reshape(1, len(columns))])

    def _has_room(self, n_columns: int) -> bool:
        """Return whether there is room for so many columns of a slot, and note if there is none."""
        fits = len(self.labels) + n_columns <= MOST_ATTRIBUTE_COLUMNS
        self.has_refused |= not fits
        return fits

    def _new_visitor_slot(self, label: str) -> int | None:
        if not self._has_room(1 + len(self._products)):
            return None
        self._visitor_columns.append(self._column(label))
        self._sums.append(0.0)
        partners = self._arm_columns or self._offer_columns
        columns = [self._column(f"{self.labels[partner]}: {label}") for partner in partners]
        self._products = np.hstack([self._products, np.array(columns, np.int64).reshape(len(columns), 1)])
        return len(self._visitor_columns) - 1

    def _new_offer_slot(self, label: str) -> int | None:
        n_products = 0 if self.arms else len(self._visitor_columns)
        if not self._has_room(1 + n_products):
            return None
        self._offer_columns.append(self._column(label))
        if not self.arms:
            self._add_products(label)
        return len(self._offer_columns) - 1

    def rows(self, offers: Mapping[Any, Values | None], visitor: Values) -> FloatArray:
        """Return a row for each arm, for a visitor with these checked attributes, and learn from both.

        None stands for the attributes that an arm was added with.
        """
        of_visitor = self.visitors.features(visitor, self._new_visitor_slot)
        self._visits += 1
        sums = self._sums
        for slot, number in of_visitor:
            sums[slot] += number
        if not self.offers.attributes and (offers is self.own or not any(offers.values())):  # the most common case
            return self._table(of_visitor, tuple(offers), [])
        self.offers.size_up([values for values in offers.values() if values])
        of_arms = [self._features_of(arm, values) for arm, values in offers.items()]
        return self._table(of_visitor, tuple(offers), of_arms)

    def average_rows(self) -> FloatArray:
        """Return the rows of all arms with models of their own for an average of all visitors."""
        of_visitor = [(slot, total / self._visits) for slot, total in enumerate(self._sums)]
        return self._table(of_visitor, tuple(self.arms), self._arm_features)

    def _table(self, of_visitor: Features, names: tuple[Any, ...], of_arms: list[Features]) -> FloatArray:
        """Return a row for each arm; ``of_arms`` are the features of their attributes, or empty if they have none."""
        layout = self._layout
        if layout.n_columns != len(self.labels) or layout.names != names:
            layout = self._layout = self._layout_of(names)  # kept, because most decisions are among the same arms
        numbers = layout.numbers.copy()
        for slot, number in of_visitor:
            numbers[FIRST_SLOT + slot] = number
        table = numbers.take(layout.sources)
        partners = [slot for slot, _ in of_visitor] if of_arms and not self.arms else []
        for line, features in enumerate(of_arms):
            for slot, number in features:
                table[line, self._offer_columns[slot]] = number
                if partners:
                    table[line, self._products[slot, partners]] = number * np.array([x for _, x in of_visitor])
        return table

    def _layout_of(self, names: tuple[Any, ...]) -> Layout:
        slots = np.arange(len(self._visitor_columns))
        sources = np.zeros((len(names), max(1, len(self.labels))), np.int64)  # agents have one feature or more
        sources[:, self._visitor_columns] = FIRST_SLOT + slots
        for line, name in enumerate(names if self.arms else ()):
            arm = self.arms[name]
            sources[line, self._arm_columns[arm]] = 1
            sources[line, self._products[arm]] = FIRST_SLOT + slots
        numbers = np.zeros(FIRST_SLOT + len(slots))
        numbers[1] = 1.0
        return Layout(names, len(self.labels), sources, numbers)

    def _features_of(self, arm: Any, values: Values | None) -> Features:
        if values is None:
            return self._arm_features[self.arms[arm]]
        return self.offers.features(values, self._new_offer_slot)

    def units(self) -> FloatArray:
        """Return what one unit of each column is in the units of the user; products of two are left as they are."""
        made = np.ones(len(self.labels))
        for attribute in self.visitors.attributes.values():
            for slot in attribute.slots.values():
                made[self._visitor_columns[slot]] = attribute.unit_of(slot)
                made[self._products[:, slot]] = attribute.unit_of(slot)
        for attribute in self.offers.attributes.values():
            for slot in attribute.slots.values():
                made[self._offer_columns[slot]] = attribute.unit_of(slot)
                if not self.arms:
                    made[self._products[slot]] *= attribute.unit_of(slot)
        return made

    def saved(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        return {
            "schema": self._schema,
            "labels": self.labels,
            "visitors": [saved(each) for each in self.visitors.attributes.values()],
            "offers": [saved(each) for each in self.offers.attributes.values()],
            "arms": list(self.arms),
            "arm_features": self._arm_features,
            "arm_columns": self._arm_columns,
            "offer_columns": self._offer_columns,
            "visitor_columns": self._visitor_columns,
            "products": self._products.tolist(),
            "sums": self._sums,
            "visits": self._visits,
        }

    @classmethod
    def loaded(cls, stored: dict[str, Any]) -> Encoder:
        """Return the encoder that was saved; refuse columns that do not exist."""
        made = cls(stored["schema"])
        for side, attributes in ((made.visitors, stored["visitors"]), (made.offers, stored["offers"])):
            side.attributes = {each["name"]: loaded(each) for each in attributes}
        made.labels = [str(label) for label in stored["labels"]]
        made._sums, made._visits = [float(total) for total in stored["sums"]], int(stored["visits"])
        made.arms = {arm: number for number, arm in enumerate(stored["arms"])}
        made.own = dict.fromkeys(made.arms)
        made._arm_features = [[(int(slot), float(x)) for slot, x in features] for features in stored["arm_features"]]
        made._arm_columns, made._offer_columns, made._visitor_columns = (
            [int(column) for column in stored[f"{whose}_columns"]] for whose in ("arm", "offer", "visitor")
        )
        partners = len(made._arm_columns or made._offer_columns)
        made._products = np.array(stored["products"], np.int64).reshape(partners, len(made._visitor_columns))
        columns = [*made._arm_columns, *made._offer_columns, *made._visitor_columns, *made._products.ravel().tolist()]
        if sorted(columns) != list(range(len(made.labels))) or len(made._arm_columns) != len(made.arms):
            raise ValueError(f"each of the {len(made.labels)} features must belong to one arm, attribute or product")
        return made
