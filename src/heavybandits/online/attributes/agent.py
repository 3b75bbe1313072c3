"""An agent that takes named attributes, of visitors and of arms, instead of rows of features."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._format import plural
from ...algorithms.linear._widening import widened
from ...algorithms.parts.choice.propensity import without_propensities
from ...algorithms.parts.state.tree import fresh_state, with_rows
from ...protocols import FloatArray, LinearPolicy
from ..arguments import FeatureRows, reward_of
from ..file import NAME_TYPES, Contents
from ..linear_agent import LinearAgent
from ..pending import Assigned, padded
from .encoder import MOST_ATTRIBUTE_COLUMNS, Encoder, Values
from .kinds import Attribute
from .tables import DecisionKey, Known, arm_name, arms_of, contexts_of, decision_key, is_table, loaded_key, saved_key

if TYPE_CHECKING:
    import pandas as pd

Offers = dict[Any, Values | None]  # arms with their attributes; None for those that they were made with


class Latest(NamedTuple):
    """The visitor of the latest decision: a reward that comes at once needs no second check."""

    names: list[Any]  # of the attributes, as they were given
    given: list[Any]  # their values
    values: Values  # the same, checked
    known: Known  # these, to tell decisions apart

    def is_equal(self, context: Any) -> bool:
        """Return whether a context is that of this visitor: the same objects, as values need not be comparable."""
        return type(context) is dict and [*context] == self.names and all(map(is_, context.values(), self.given))


NO_VISITOR = Latest([], [], {}, frozenset())


class AttributeAgent(LinearAgent):
    """An agent that chooses arms for visitors with named attributes, and learns which arm suits whom.

    ``hb.LinearAgent`` makes it if it gets no ``n_features``.  Values may be numbers, text, True or False, datetimes, or
    None if they are missing; an attribute is of the kind of its first value.  Attributes may appear and be left out at
    any time.  Each level of a category is a feature; after 25 levels, the rest share one.  There is one model for all
    arms and a difference for each, or for each attribute of the arms if these come with each decision.

    Parameters
    ----------
    policy
        The policy, such as ``hb.make("linear-auto")``.
    arms
        A list of names, a mapping of names to attributes, or a data frame with a row for each arm.  Leave them out if
        arms come with each decision.
    schema
        What is known about attributes beforehand: a mapping of their names to ``"number"``, ``"category"``,
        ``"boolean"``, ``"datetime"``, ``"hour"``, ``"weekday"``, a list of levels, or the largest number of levels.
        Attributes that it does not mention are then refused.
    horizon, seed, drift, floor
        As for :class:`~heavybandits.LinearAgent`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
    >>> visitor = {"country": "CA", "age": 31, "returning": True}
    >>> agent.select(visitor)
    'red'
    >>> agent.update("red", 0.5, context=visitor)
    >>> agent.schema
    {'country': ['CA'], 'age': 'number', 'returning': 'boolean'}
    """

    def __init__(
        self,
        policy: LinearPolicy[Any],
        *,
        arms: Any = None,
        schema: Mapping[str, Any] | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        drift: bool = False,
        floor: float = 0.0,
    ) -> None:
        if schema is not None and not isinstance(schema, Mapping):
            raise TypeError(f"LinearAgent: schema must be a mapping of names to kinds or levels, got {schema!r}")
        self._encoder, self._is_open, self._latest = Encoder(schema or {}), arms is None, NO_VISITOR
        self._warned_of: set[str] = set()
        given = {} if arms is None else arms_of(arms)
        new: dict[str, Attribute] = {}
        self._encoder.add_arms({
            name: self._encoder.offers.checked(values or {}, new) for name, values in given.items()
        })  # fmt: skip
        self._encoder.require_room()
        n_features = max(1, len(self._encoder.labels))
        self._begin(policy, n_features, horizon, seed, drift, floor)
        try:
            self._widened(n_features + 1, self._encoder)
        except ValueError:
            raise ValueError(
                "LinearAgent: policy must be one to which features can be added, such as 'linear-auto', 'lin-ucb' or "
                f"'lin-ts', all without an intercept, got {policy!r}"
            ) from None

    def _parts(self) -> dict[str, Any]:
        for name in self._encoder.arms:
            if not isinstance(name, NAME_TYPES):
                raise TypeError(f"LinearAgent: to be saved, arms must be named by text or numbers, got {name!r}")
        pending = [[saved_key(key), padded(row, self.n_features).tolist()] for key, row in self._awaited.entries]
        return {**super()._parts(), "pending": pending, "encoder": self._encoder.saved(), "open": self._is_open}

    @staticmethod
    def _checked(contents: Contents) -> dict[str, Any]:
        header = dict(contents.header)
        encoder, is_open, pending = header.pop("encoder"), bool(header.pop("open")), header["pending"]
        keys = [loaded_key(key) for key, _ in pending]
        parts = LinearAgent._checked(contents._replace(header={**header, "pending": [row for _, row in pending]}))
        if len(Encoder.loaded(encoder).labels) > parts["n_features"]:
            raise ValueError(f"there must be at most {parts['n_features']} columns")
        waiting = list(zip(map(saved_key, keys), parts["pending"], strict=True))
        return {**parts, "pending": waiting, "encoder": encoder, "open": is_open}

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self._encoder, self._is_open, self._latest = Encoder.loaded(parts["encoder"]), parts["open"], NO_VISITOR
        self._warned_of = set()
        super().__setstate__({**parts, "pending": ()})
        for key, row in parts["pending"]:
            self._awaited.add(loaded_key(key), np.array(row))

    @property
    def arms(self) -> list[Any]:
        """Names of the arms that have a model of their own."""
        with self._lock:
            return list(self._encoder.arms)

    def add_arm(self, name: Any, attributes: Mapping[str, Any] | None = None) -> None:
        """Add an arm with a model of its own, which begins as the model that all arms share.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red"])
        >>> agent.add_arm("green", {"price": 3.0})
        >>> agent.arms
        ['red', 'green']
        """
        name = arm_name(name)
        with self._lock:
            if name in self._encoder.arms:
                raise ValueError(f"LinearAgent: there is an arm {name!r} already")
            self._encoder.add_arms({name: self._encoder.offers.checked(attributes or {})})
            self._make_features()

    @property
    def left_out(self) -> list[str]:
        """Attributes of which some levels or numbers are ignored, because there was no room for their features.

        :meth:`select` warns about each of them once.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> agent.check({"country": "CA"})
        >>> agent.left_out
        []
        """
        with self._lock:
            return self._encoder.left_out

    def _warn_of_left_out(self) -> None:
        """Warn of attributes that have been left out since the last warning."""
        with self._lock:
            self._encoder.has_refused = False
            new = [name for name in self._encoder.left_out if name not in self._warned_of]
            self._warned_of.update(new)
        for name in new:
            warnings.warn(
                f"LinearAgent: part of attribute {name!r} is ignored, because arms and attributes need more than "
                f"{MOST_ATTRIBUTE_COLUMNS} features; give it fewer levels in the schema, or leave some attributes out",
                stacklevel=3,
            )

    @property
    def has_room(self) -> bool:
        """Whether another arm can be added."""
        with self._lock:
            return len(self._encoder.labels) + self._encoder.needed(1) <= MOST_ATTRIBUTE_COLUMNS

    def check(self, context: Any) -> None:
        """Refuse a context that :meth:`select` would refuse; nothing changes.

        Examples
        --------
        >>> import heavybandits as hb
        >>> hb.LinearAgent(hb.make("lin-ucb"), arms=["red"]).check({"country": "CA"})
        """
        with self._lock:
            self._encoder.visitors.checked(context)

    def check_arm(self, attributes: Mapping[str, Any]) -> None:
        """Refuse attributes that :meth:`add_arm` would refuse; nothing changes.

        Examples
        --------
        >>> import heavybandits as hb
        >>> hb.LinearAgent(hb.make("lin-ucb"), arms={"red": {"price": 3.0}}).check_arm({"price": 4.0})
        """
        with self._lock:
            self._encoder.offers.checked(attributes)

    def average_rows(self) -> FloatArray:
        """Return the rows of features of all arms of the agent, for an average of all visitors so far."""
        with self._lock:
            return self._encoder.average_rows()

    @property
    def schema(self) -> dict[str, Any]:
        """What is known about each attribute, in the form that the argument ``schema`` takes: its levels, or its kind.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> for country in ("CA", "US"):
        ...     arm = agent.select({"country": country})
        >>> twin = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"], schema=agent.schema)
        >>> twin.select({"county": "CA"})
        Traceback (most recent call last):
            ...
        ValueError: attributes of visitors must be in the schema, got 'county'; did you mean 'country'?
        """
        with self._lock:
            return self._encoder.schema

    def select(self, context: Any = None, *, arms: Any = None) -> Any:
        """Return which arm to play next for a visitor, or a list with an arm for each row of a data frame.

        The decision is pending until a reward of this arm with an equal context comes, or until it is given up by
        :meth:`cancel`.

        Parameters
        ----------
        context
            The attributes of the visitor by name, or a data frame with a visitor in each row.
        arms
            What to choose among: a list of names, or a mapping of names to attributes, or a data frame whose index or
            column ``arm`` has the names; by default all arms of the agent.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"))
        >>> news = {"n1": {"topic": "sport", "words": 310}, "n2": {"topic": "arts", "words": 950}}
        >>> agent.select({"country": "CA"}, arms=news)
        'n1'
        >>> agent.update("n1", 0.5, context={"country": "CA"}, arms=news)
        """
        if type(context) is not dict and is_table(context):  # the second check takes longer
            visitors, new = contexts_of(context), dict[str, Attribute]()
            with self._lock:
                for visitor in visitors:  # before any of them gets a decision
                    self._encoder.visitors.checked(visitor, new)
            chosen: Any = [self._decide_for(visitor, arms, None, None, asks=False).arm for visitor in visitors]
        else:
            chosen = self._decide_for(context, arms, None, None, asks=False).arm
        if self._encoder.has_refused:
            self._warn_of_left_out()
        return chosen

    def assign(self, context: Any = None, arm: Any = None, key: bytes | None = None, *, arms: Any = None) -> Assigned:
        """Make a decision for this arm, whatever the policy would play, or for the policy's own choice if None.

        See :meth:`LinearAgent.assign`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> agent.assign({"country": "CA"}, "green")
        Assigned(arm='green', chosen='red', propensity=0.0)
        """
        return self._decide_for(context, arms, arm, key, asks=True)

    def _decide_for(self, context: Any, arms: Any, arm: Any, key: bytes | None, asks: bool) -> Assigned:
        if arm is not None:
            arm = arm_name(arm)
        with self._lock:
            visitor, offers = self._understood(self._encoder, context, arms)
            if arm is not None and arm not in offers:
                raise ValueError(f"LinearAgent: arm must be one of {brief(list(offers))}, got {brief(arm)}")
            known = frozenset(visitor.items())
            if type(context) is dict:
                self._latest = Latest([*context], [*context.values()], visitor, known)
            assigned, x = self._assign_row(self._rows(visitor, offers), arm, key, asks)
            self._await_reward(decision_key(assigned.arm, known, offers[assigned.arm]), x.copy())  # not the other rows
            return assigned

    def _understood(self, encoder: Encoder, context: Any, arms: Any) -> tuple[Values, Offers]:
        """Return the attributes of a visitor and of arms in plain types; refuse what does not fit.  Nothing changes."""
        visitor = encoder.visitors.checked({} if context is None else context)
        if arms is None:
            if not encoder.arms:
                raise ValueError("LinearAgent: arms must be given, because the agent has none of its own")
            return visitor, encoder.own
        given = arms_of(arms)
        if not self._is_open or (encoder.arms and None not in given.values()):
            for name in given:
                if name not in encoder.arms:
                    raise ValueError(f"LinearAgent: arms must be among {brief(list(encoder.arms))}, got {brief(name)}")
        elif encoder.offers.attributes and not encoder.arms and None in given.values():
            raise ValueError(f"LinearAgent: arms must come with attributes, as before, got {brief(list(given))}")
        elif None in given.values() and any(
            values is not None and name not in encoder.arms for name, values in given.items()
        ):
            raise ValueError(f"LinearAgent: new arms must all come with attributes or all without, got {brief(given)}")
        new: dict[str, Attribute] = {}
        return visitor, {
            name: None if values is None else encoder.offers.checked(values, new) for name, values in given.items()
        }

    def _encoded(self, encoder: Encoder, visitor: Values, offers: Offers) -> FeatureRows:
        """Return the rows of arms for a visitor; the encoder learns what is new about them."""
        if self._is_open:
            new = [name for name, values in offers.items() if values is None and name not in encoder.arms]
            if new:
                encoder.add_arms({name: {} for name in new})
        return FeatureRows(encoder.rows(offers, visitor), list(offers), encoder.labels)

    def _rows(self, visitor: Values, offers: Offers) -> FeatureRows:
        """Return the rows of arms for a visitor, and make room for new features."""
        rows = self._encoded(self._encoder, visitor, offers)
        self._make_features()
        return rows

    def _make_features(self) -> None:
        """Give the state a feature for each column of the encoder."""
        n_features = len(self._encoder.labels)
        if n_features > self.n_features:
            self._hold(self._widened(n_features, self._encoder))
            self.n_features = n_features

    def _widened(self, n_features: int, encoder: Encoder) -> Any:
        """Return the state with so many features, which are those of an encoder."""
        fresh = with_rows(fresh_state(self.policy, n_features, self.horizon), self._n_rows)
        wide = widened(without_propensities(self._state), fresh, self.n_features, encoder.owners)
        (state,) = self._forms(wide)
        return state

    def _imagined(self, context: Any, arms: Any) -> tuple[FeatureRows, Any]:
        """Return the rows of arms for a visitor, and a copy of the state with room for them; nothing changes."""
        encoder, state = copy.deepcopy(self._encoder), self._state
        rows = self._encoded(encoder, *self._understood(encoder, context, arms))
        if rows.features.shape[1] > self.n_features:
            state = self._widened(rows.features.shape[1], encoder)
        return rows, copy.deepcopy(state)

    def peek(self, context: Any = None, *, arms: Any = None) -> Any:
        """Return the arm that :meth:`select` would return, without making a decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> agent.peek({"country": "CA"}), agent.schema
        ('red', {})
        """
        with self._lock:
            return self._peek_row(*self._imagined(context, arms))

    def update(self, arm: Any, reward: float, *, context: Any = None, arms: Any = None, selected: bool = True) -> None:
        """Learn from the reward of an arm; give the same ``context`` and ``arms`` as to :meth:`select`.

        It settles a pending decision for this arm with an equal context, if there is one.  Pass ``selected=False`` if
        no selection led to it.  Once visitors have attributes, the ``context`` cannot be left out; ``{}`` says that
        nothing is known.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> agent.update("red", 2.0, context={"country": "CA"})
        >>> agent.update("red", 2.0, context={"country": 0.5})
        Traceback (most recent call last):
            ...
        ValueError: attribute 'country' must be text of at most 200 characters, a whole number or a boolean, or None \
if it is missing, got 0.5
        """
        value = reward_of(reward, "LinearAgent")
        with self._lock:
            if context is None:
                self._require_no_attributes("update: give context=")
            self._learn_arm(*self._settled(arm, context, arms), value, selected)

    def _require_no_attributes(self, advice: str) -> None:
        """Refuse rewards without contexts if visitors have attributes: somebody forgot to pass them."""
        if self._encoder.visitors.attributes:
            raise ValueError(f"LinearAgent: {advice}, what select was given (or {{}} if nothing is known)")

    def _settled(self, arm: Any, context: Any, arms: Any) -> tuple[DecisionKey, Values, Offers]:
        """Return the key of a decision, and the attributes of the visitor and of the arm."""
        arm = arm_name(arm)
        if arms is None and arm in self._encoder.arms:  # the most common case by far
            if self._latest.is_equal(context):
                return decision_key(arm, self._latest.known, None), self._latest.values, {arm: None}
            offers: Offers = {arm: None}
            visitor = self._encoder.visitors.checked({} if context is None else context)
        else:
            visitor, offers = self._understood(self._encoder, context, [arm] if arms is None else arms)
            if arm not in offers:
                raise ValueError(f"LinearAgent: arm must be one of {brief(list(offers))}, got {brief(arm)}")
        return decision_key(arm, frozenset(visitor.items()), offers[arm]), visitor, {arm: offers[arm]}

    def _learn_arm(self, key: DecisionKey, visitor: Values, offers: Offers, reward: float, selected: bool) -> None:
        row = self._awaited.first(key) if selected else None
        if row is None:
            self._learn_row(self._rows(visitor, offers).features[0], reward, None)
        else:
            self._learn_row(padded(row, self.n_features), reward, key)

    def update_many(
        self, arms: Iterable[Any], rewards: Iterable[float], *, contexts: Any = None, selected: bool = True
    ) -> None:
        """Learn from the rewards of several arms: from all of them or, if one is refused, from none.

        Parameters
        ----------
        arms, rewards
            An arm and a reward for each.
        contexts
            A data frame with a row for each, or a list of mappings.
        selected
            Whether selections led to them.

        Examples
        --------
        >>> import pandas as pd
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> visitors = pd.DataFrame({"country": ["CA", "US"], "age": [31, None]})
        >>> agent.update_many(["red", "green"], [0.5, 0.7], contexts=visitors, selected=False)
        >>> agent.seen
        2
        """
        names, values = list(arms), [reward_of(reward, "LinearAgent") for reward in rewards]
        visitors = [None] * len(names) if contexts is None else contexts_of(contexts)
        if not len(names) == len(values) == len(visitors):
            raise ValueError(f"LinearAgent: there must be a reward and a context for each arm, got {len(values)} and "
                             f"{len(visitors)} for {plural(len(names), 'arm')}")  # fmt: skip
        with self._lock:
            if contexts is None:
                self._require_no_attributes("update_many: give contexts=")
            trial = copy.deepcopy(self._encoder)  # what is refused may depend on what comes before it
            for name, visitor in zip(names, visitors, strict=True):
                self._encoded(trial, *self._understood(trial, visitor, [name]))
            for name, visitor, value in zip(names, visitors, values, strict=True):
                self._learn_arm(*self._settled(name, visitor, None), value, selected)

    def cancel(self, arm: Any, *, context: Any = None, arms: Any = None) -> None:
        """Give up a pending decision for an arm and a visitor, whose reward will never come.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
        >>> agent.select({"country": "CA"})
        'red'
        >>> agent.cancel("red", context={"country": "CA"})
        >>> agent.pending
        0
        """
        with self._lock:
            key = self._settled(arm, context, arms)[0]
            if key not in self._awaited:
                raise ValueError(f"LinearAgent: arm must have a pending decision with this context to be cancelled, "
                                 f"got {brief(arm)} without one")  # fmt: skip
            self._give_up(key)

    def estimates(self, context: Any = None, *, arms: Any = None) -> pd.DataFrame:
        """Return a data frame of what is known about each arm for this visitor; see :meth:`LinearAgent.estimates`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb", beta=1.0), arms=["red", "green"])
        >>> agent.update("red", 1.0)
        >>> agent.estimates({}).round(3)
             arm  estimate    low   high
        0    red       0.5 -0.207  1.207
        1  green       0.0 -1.000  1.000
        """
        import pandas as pd

        with self._lock:
            rows, state = self._imagined(context, arms)
            bounds = self._known(state).bounds(rows.features)
        return pd.DataFrame({"arm": list(rows.names), **bounds})

    def __repr__(self) -> str:
        own, attributes = plural(len(self._encoder.arms), "arm"), plural(len(self._encoder.schema), "attribute")
        return f"LinearAgent({self.policy!r}, {own}, {attributes}, {self._seen} rewards)"

    def _columns(self) -> tuple[Sequence[str], FloatArray]:
        return self._encoder.labels, self._encoder.units()

    def _table(self) -> tuple[str, list[list[str]]]:
        title, table = super()._table()
        kinds = [f"{name}: {kind if isinstance(kind, str) else plural(len(kind), 'level')}"
                 for name, kind in self.schema.items() if not isinstance(kind, int)]  # fmt: skip
        return "; ".join([title, *([", ".join(kinds)] if kinds else [])]), table
