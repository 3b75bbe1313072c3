"""Rewards from a log: which arm, what it paid, and when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..protocols import FloatArray, IntArray
from .columns import Kind, pick
from .export import is_export, learned_rewards
from .frames import Frame, Source, frames_of
from .wide import arms_in_columns, read_wide

NOUNS = ("reward", "cost")  # what a file calls a reward, and what it calls one that is minimised


class Rewards:
    """Logged rewards, in order of time.

    Attributes
    ----------
    source
        What they were read from, for messages.
    labels
        Names of the arms, in the order in which they first appear.
    arms, rewards
        The number of each row's arm, and its reward.
    timed
        Whether there was a column ``time``; otherwise rows are taken to be in order of time.
    dropped
        How many rows were left out because a value was missing.
    minimised
        Whether the file has costs; rewards are then negated costs.
    sticky
        Whether the file says that units keep their arm.
    feature_names, features
        Names of the features, and the features of each row.

    Examples
    --------
    >>> log = read_rewards({"arm": ["b", "a", "b"], "reward": [1, 2, 3], "time": [9, 8, 7]})
    >>> log.labels, log.arms.tolist(), log.by_arm
    (('b', 'a'), [0, 1, 0], [array([3., 1.]), array([2.])])
    """

    def __init__(
        self, source: str, *, labels: tuple[str, ...], arms: IntArray, rewards: FloatArray, timed: bool,
        dropped: int = 0, minimised: bool = False, feature_names: tuple[str, ...] = (),
        features: FloatArray | None = None, sticky: bool = False,
    ) -> None:  # fmt: skip
        self.source, self.labels, self.arms, self.rewards, self.timed = source, labels, arms, rewards, timed
        self.dropped, self.minimised, self.sticky = dropped, minimised, sticky
        self.feature_names = feature_names
        self.features = np.zeros((len(rewards), 0)) if features is None else features

    @property
    def noun(self) -> str:
        """What the file calls a reward: ``"cost"`` or ``"reward"``."""
        return NOUNS[self.minimised]

    @property
    def paid(self) -> str:
        """What a program reports to an agent, in words."""
        return "what the arm cost, negated" if self.minimised else "whatever the arm paid"

    @cached_property
    def rows(self) -> list[IntArray]:
        """The rows of each arm."""
        ends = np.cumsum(np.bincount(self.arms, minlength=len(self.labels)))
        return np.split(np.argsort(self.arms, kind="stable"), ends[:-1])

    @cached_property
    def by_arm(self) -> list[FloatArray]:
        """The rewards of each arm."""
        return [self.rewards[rows] for rows in self.rows]


def read_rewards(
    source: Source,
    *,
    arm_column: str = "arm",
    reward_column: str = "reward",
    minimise: bool = False,
    feature_columns: Sequence[str] = (),
    owner: str = "diagnose",
) -> Rewards:
    r"""Read the rewards of a source, which may be anything that :func:`~.frames.frames_of` knows.

    The columns are those of the arm, the reward and the features, and optionally ``time``, a number or an ISO 8601
    date; others are ignored.  A source with neither an arm nor a reward, but with numbers in two columns or more, is
    wide: each column but ``time`` is an arm, and each cell a reward.  Of an export of the service, the rewards are read
    that the experiment has learned.  Columns of a CSV file may be separated by
    semicolons; numbers may then have decimal commas.  Rows that lack a value are left out and counted.  A source is
    refused if a reward, a feature or a time is not a number; the error names the lines.  Infinite rewards are fine,
    infinite features are not.  Errors about arguments name the ``owner``.

    Examples
    --------
    >>> import io
    >>> read_rewards(io.StringIO("arm,reward\nblue,1.5\nred,-inf\n")).rewards
    array([ 1.5, -inf])
    >>> read_rewards(io.StringIO("ad;euros\nblue;1,5\nred;\n"), arm_column="ad", reward_column="euros").rewards
    array([1.5])
    >>> read_rewards(io.StringIO("arm,reward\nblue,1.5\nred,lots\n"))
    Traceback (most recent call last):
        ...
    ValueError: text: line 3 has no usable reward, got 'lots'
    >>> wide = read_rewards(io.StringIO("blue,red\n1.5,2\n3,\n"))
    >>> wide.labels, wide.by_arm
    (('blue', 'red'), [array([1.5, 3. ]), array([2.])])
    """
    for name, column in (("arm_column", arm_column), ("reward_column", reward_column)):
        if not isinstance(column, str):
            raise TypeError(f"{owner}: {name} must be the name of a column, got {column!r}")
    if arm_column == reward_column:
        raise ValueError(f"{owner}: arm_column and reward_column must be different, got {arm_column!r} for both")
    arm, reward = arm_column.strip(), reward_column.strip()
    features = _features(owner, feature_columns, arm, reward)
    frames = frames_of(source, owner)
    wanted: dict[str, Kind] = {arm: "label", reward: "number", **dict.fromkeys(features, "finite")}
    if (arm, reward, features) == ("arm", "reward", ()) and is_export(frames):
        return _read_export(frames, minimise)
    if arms := _columns_of_arms(frames, arm, reward, features):
        return _read_wide(frames, arms, minimise)
    for frame in frames:
        _require(frame, arm, reward, features, owner)
    timed = "time" not in wanted and any("time" in frame.names for frame in frames)  # it may be a waiting time
    for frame in frames:
        if timed and "time" not in frame.names:
            raise ValueError(f"{frame.source}: columns must be {', '.join(wanted)} and time, as elsewhere, got "
                             f"{', '.join(frame.names)}")  # fmt: skip
    found = pick(frames, {**wanted, "time": "time"} if timed else wanted)
    rewards = found.values[reward]
    if not len(rewards):
        raise ValueError(f"{found.source}: must have at least one reward, got none")
    order = np.argsort(found.values["time"], kind="stable") if timed else slice(None)
    return Rewards(
        found.source, labels=found.labels[arm], arms=found.values[arm][order],
        rewards=0.0 - rewards[order] if minimise else rewards[order] + 0.0,  # a zero has no sign
        timed=timed, dropped=found.dropped, minimised=minimise, feature_names=features,
        features=np.stack([found.values[name][order] for name in features], axis=1) if features else None,
    )  # fmt: skip


def _columns_of_arms(frames: Sequence[Frame], arm: str, reward: str, features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that are arms, if the frames are wide; they must be alike."""
    if (arm, reward, features) != ("arm", "reward", ()) or any({arm, reward} & set(frame.names) for frame in frames):
        return ()
    first, *rest = (arms_in_columns(frame) for frame in frames)
    for frame, arms in zip(frames[1:], rest, strict=True):
        if set(arms) != set(first) and first:
            raise ValueError(f"{frame.source}: columns of arms must be {', '.join(first)}, as elsewhere, got "
                             f"{', '.join(frame.names)}")  # fmt: skip
    return first


def _read_wide(frames: Sequence[Frame], labels: tuple[str, ...], minimise: bool) -> Rewards:
    """Read rewards that have a column for each arm."""
    timed = all("time" in frame.names for frame in frames)
    arms, rewards, times = read_wide(frames, labels, timed)
    source = ", ".join(dict.fromkeys(frame.source for frame in frames))
    if not len(rewards):
        raise ValueError(f"{source}: must have at least one reward, got none")
    order = np.argsort(times, kind="stable")
    paid = np.unique(arms)
    return Rewards(
        f"{source}, a column for each arm", labels=tuple(labels[arm] for arm in paid),
        arms=np.searchsorted(paid, arms)[order], rewards=0.0 - rewards[order] if minimise else rewards[order] + 0.0,
        timed=timed, minimised=minimise,
    )  # fmt: skip


def _read_export(frames: Sequence[Frame], minimise: bool) -> Rewards:
    """Read the rewards that an experiment of the service has learned, in its order; it may say that they are costs."""
    found = learned_rewards(frames)
    source = ", ".join(dict.fromkeys(frame.source for frame in frames))
    if not found.rewards:
        raise ValueError(f"{source}: must have at least one reward, got none")
    labels = {label: number for number, label in enumerate(dict.fromkeys(found.arms))}
    rewards, are_costs = np.array(found.rewards), minimise or found.rules.are_costs
    return Rewards(
        source, labels=tuple(labels), arms=np.array([labels[arm] for arm in found.arms]),
        rewards=0.0 - rewards if are_costs else rewards + 0.0, timed=True, minimised=are_costs,
        sticky=found.rules.sticky,
    )  # fmt: skip


def _features(owner: str, given: Sequence[str], *others: str) -> tuple[str, ...]:
    """Return the names of the feature columns."""
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"{owner}: feature_columns must be a list of column names, got {given!r}")
    names = tuple(name.strip() for name in given)
    taken = {name.strip() for name in others} | {"time"}
    if len(set(names)) < len(names) or taken & set(names):
        raise ValueError(f"{owner}: {_further(owner)} must be columns other than arm, reward and time, each once, "
                         f"got {list(given)!r}")  # fmt: skip
    return names


def _further(owner: str) -> str:
    """Return how further columns are given."""
    return "feature_columns" if owner == "diagnose" else "before, guardrails, metrics and costs"


def _require(frame: Frame, arm: str, reward: str, features: tuple[str, ...], owner: str) -> None:
    """Refuse a frame that lacks a column."""
    needed = (arm, reward, *features)
    if set(needed) <= set(frame.names):
        return
    lacks_features = {arm, reward} <= set(frame.names)
    hint = (
        _further(owner) + " (--feature-column)" * (owner == "diagnose")
        if lacks_features
        else "arm_column and reward_column (--arm-column and --reward-column)"
    )
    raise ValueError(
        f"{frame.source}: columns must be {', '.join(needed)} and optionally time, each once, "
        f"got {', '.join(frame.names)}; name yours with {hint}, or give numbers in a column for each arm"
    )
