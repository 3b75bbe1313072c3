"""How a file of the library registers the policies, presets and estimators that it defines.

All that is particular to one of them stands in its own file: its name, the facts by which it is compared, its look in
figures, and the parameters with which it is checked, pinned and played in the zoo.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..protocols import policy
from .parameters import validated

Class = TypeVar("Class", bound=type)
Factory = TypeVar("Factory", bound=Callable[..., Any])
Parameters = dict[str, Any]


class Facts(NamedTuple):
    """A row of the table of policies.

    Examples
    --------
    >>> Facts(needs="scale", memory="O(1)", cost="O(log K)", regret="none", reference="Auer et al. 2002").needs
    'scale'
    """

    needs: str  # what it must be told, such as horizon, scale or moment bound; or "nothing"
    memory: str  # per arm
    cost: str  # per pull
    regret: str  # what is proved, and under which assumption
    reference: str


class Entry(NamedTuple):
    """What the library knows about a policy, a preset or an estimator of its own."""

    name: str  # for ``hb.make``
    make: Callable[..., Any]
    kind: str  # "arms", "linear", "lipschitz" or "estimator"
    example: Parameters  # with which it is checked, shown and measured
    pinned: Parameters  # with which its results are pinned
    zoo: Parameters  # with which the study of all policies of its kind plays it
    look: str  # its colour and its line in figures: see `palette`
    facts: Facts | None
    preset_of: type | None = None
    is_preset: Callable[[Any], bool] | None = None  # whether a policy of that class is this preset

    @property
    def module(self) -> str:
        """The module that registers it."""
        return (self.preset_of or self.make).__module__


ENTRIES: dict[str, Entry] = {}  # of the files that are loaded, by name


def register_policy(
    name: str,
    *,
    needs: str,
    memory: str,
    cost: str,
    regret: str,
    reference: str,
    kind: str = "arms",
    randomised: bool | None = None,
    example: Parameters | None = None,
    pinned: Parameters | None = None,
    zoo: Parameters | None = None,
    look: str = "",
) -> Callable[[Class], Class]:
    """Register a class of policies, whose parameters check themselves from now on.

    Parameters
    ----------
    name
        The name for ``hb.make``: that of the file, with dashes.
    needs, memory, cost, regret, reference
        The facts by which policies are compared; see :class:`Facts`.
    kind, randomised
        See :func:`~heavybandits.protocols.policy`.
    example
        Parameters with which it is checked, shown and measured.
    pinned
        Parameters with which its results are pinned, if others say more than the example.
    zoo
        Parameters with which the study of all policies of its kind plays it, as a study file gives them.
    look
        Its colour and line in figures, such as ``"blue dashed"``; without one it gets what others may have too.
    """

    def registered(cls: Class) -> Class:
        facts = Facts(needs, memory, cost, regret, reference)
        _enter(Entry(name, cls, kind, example or {}, pinned or example or {}, zoo or {}, look, facts))
        return _completed(policy(kind=kind, randomised=randomised)(cls))

    return registered


def register_preset(
    name: str,
    of: type,
    when: Callable[[Any], bool],
    *,
    example: Parameters | None = None,
    zoo: Parameters | None = None,
    look: str = "",
    **facts: str,
) -> Callable[[Factory], Factory]:
    """Register a function that makes a policy with some parameters fixed; its facts are the policy's, but for these.

    Parameters
    ----------
    name, example, zoo, look
        As for :func:`register_policy`.
    of
        The class of the policies that it makes, which is registered in the same file.
    when
        A function that returns whether a policy of that class is this preset.
    facts
        Those in which it differs from the class.
    """

    def registered(make: Factory) -> Factory:
        parent = entries_of(of)[0]
        assert parent.facts is not None  # it is a policy
        own, example_ = parent.facts._replace(**facts), example or {}
        _enter(Entry(name, make, parent.kind, example_, example_, zoo or {}, look, own, of, when))
        return make

    return registered


def register_estimator(name: str, *, example: Parameters | None = None) -> Callable[[Class], Class]:
    """Register a class of estimators, whose parameters check themselves from now on."""

    def registered(cls: Class) -> Class:
        _enter(Entry(name, cls, "estimator", example or {}, {}, {}, "", None))
        return _completed(cls)

    return registered


def entries_of(cls: type) -> list[Entry]:
    """Return the entry of a class, and those of its presets; none if the class is a user's own.

    Examples
    --------
    >>> import heavybandits as hb
    >>> [entry.name for entry in entries_of(type(hb.make("moss")))]
    ['moss', 'moss-anytime']
    """
    return [entry for entry in ENTRIES.values() if cls in (entry.make, entry.preset_of)]


def _completed(cls: Class) -> Class:
    """Return the class with parameters that check themselves, and with words about ``init`` if it has none."""
    cls.init.__doc__ = cls.init.__doc__ or "Return a fresh state."  # type: ignore[attr-defined]
    return validated(cls)


def _enter(entry: Entry) -> None:
    if entry.name in ENTRIES and ENTRIES[entry.name].module != entry.module:
        raise ValueError(f"two files register the name {entry.name!r}")
    ENTRIES[entry.name] = entry
