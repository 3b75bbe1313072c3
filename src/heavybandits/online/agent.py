"""Online use: an agent that chooses arms and learns, gains and loses arms, and survives a restart."""

from __future__ import annotations

import copy
import heapq
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._format import plural
from .._validate import count, in_range, positive, whole
from ..algorithms.parts.choice.kinetic_tree import SCAN
from ..algorithms.parts.choice.late import MANY
from ..algorithms.parts.choice.pending import find_pending, give_up, note
from ..algorithms.parts.choice.propensity import ASKED, find_propensities, with_propensities, without_propensities
from ..algorithms.parts.choice.tournament import with_trees, without_caches
from ..algorithms.parts.state.tree import carried, find_open, fresh_state
from ..jit.background_compile import Call, Compilation, interpreted
from ..jit.compiled import is_disabled
from ..protocols import FloatArray, IntArray, Policy
from .arguments import ArmNames, ledger_of, listed, new_ledger, plan_of, policy_of, renamed, reward_of
from .base import BaseAgent
from .estimates import MOST_PRINTED_ROWS, ArmEstimate, as_frame, as_text
from .file import NAME_TYPES, Contents, counted
from .floor import Floor, mixed
from .pending import Assigned, PendingArms, calls_on_arms

if TYPE_CHECKING:
    import pandas as pd

    from ..evidence.ledger import Ledger
    from ..evidence.report import Evidence

Arm = Hashable
FEWEST_ARMS_TO_COMPILE_AHEAD = 48  # from these on, the code for more than SCAN arms is compiled in the background


class Agent(BaseAgent):
    """An agent that chooses arms and learns from rewards, one decision at a time.

    Rewards may come late, in any order, in bulk, or for arms that were never selected (logged data).  Several decisions
    may be pending at once, and the next one takes them into account.  A call that is refused, such as an update with
    NaN, changes nothing; infinite rewards are accepted.  Threads may share an agent: its calls run one after another.

    Parameters
    ----------
    policy
        The policy, such as ``hb.make("sgd-ucb")``.
    n_arms
        Number of arms, which are then named 0, 1, 2, ...
    arms
        Names of the arms, instead of ``n_arms``.
    horizon
        Planned number of pulls, for policies that must know it.
    seed
        Seed of a randomised policy; by default a fresh one.
    drift
        Whether arms may change; if so, the policy is played as ``hb.Restarting(policy)``.
    evidence
        Whether to keep what :meth:`evidence` needs: about 800 bytes per arm and a few microseconds per reward.
        ``"location"`` compares medians, and ``True`` means.
    floor
        Share of decisions that are uniform over the arms, whatever the policy prefers, so that each of K arms has a
        propensity of at least ``floor/K``.  Evidence comes sooner with a floor, and earnings fall a little: see
        ``docs/evidence.md``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
    >>> agent.select()
    'red'
    >>> agent.update("red", 1.0)
    >>> agent.update("green", 3.0)
    >>> agent.select()
    'green'
    >>> print(agent)
    ucb, 2 rewards
    arm    pulls  pending  estimate  index
    red        1        0         1  2.177
    green      1        1         3  3.833
    """

    _kind = "arms"
    _ledger: Ledger | None

    def __init__(
        self,
        policy: Policy[Any],
        n_arms: int | None = None,
        *,
        arms: Iterable[Arm] | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        drift: bool = False,
        evidence: bool | str = False,
        floor: float = 0.0,
    ) -> None:
        policy = policy_of("Agent", "arms", policy)
        if drift:
            from ..algorithms.policies.restarting import Restarting

            policy = Restarting(policy)
        if (n_arms is None) == (arms is None) or isinstance(n_arms, list | tuple):
            given = f"n_arms={brief(n_arms)} and arms={brief(arms)}"
            raise TypeError(f"Agent: either n_arms, a number, or arms=, a list of names, must be given, got {given}")
        try:
            names = ArmNames(range(count("Agent", "n_arms", n_arms)) if arms is None else listed("arms", arms))
        except (MemoryError, OverflowError):
            given = f"n_arms={n_arms}" if arms is None else f"arms={brief(arms)}"
            raise ValueError(f"Agent: arms must fit into memory, got {given}") from None
        n = len(names.labels)
        self._ledger = new_ledger(evidence, names.labels)
        horizon, seed = plan_of("Agent", horizon, seed)
        self._floor = Floor.made("Agent", floor, seed)
        self._start(policy, horizon, seed, fresh_state(policy, n, horizon))
        self._name_arms(names, [0] * n, PendingArms([0] * n))

    def _parts(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "horizon": self.horizon, "labels": self._labels, "unused": self._names.unused,
            "pulls": self._pulls, "seen": self._seen, "rng": self._rng,
            "state": without_propensities(without_caches(self._state)),  # which depend on the code in use
            "pending": self._awaited.counts, "chances": self._awaited.propensities,
            **({} if self._ledger is None else {"evidence": self._ledger.dumps().hex()}), **self._floor.saved(),
        }  # fmt: skip

    @staticmethod
    def _checked(contents: Contents) -> dict[str, Any]:
        contents.require("labels", "unused", "pulls", "pending", "chances", optional=("evidence", "floor"))
        header, labels = contents.header, contents.header["labels"]
        Floor.loaded(header)
        if "evidence" in header and not set(map(str, labels)) <= set(ledger_of(header["evidence"]).arms):
            raise ValueError("the evidence must be about the arms")
        whole("agent", "unused", header["unused"])
        counted(header["seen"], *header["pulls"], *header["pending"])
        if not all(isinstance(label, NAME_TYPES) for label in labels):
            raise ValueError(f"arms must be named by text or numbers, got {labels}")
        if not len(set(labels)) == len(header["pulls"]) == len(header["pending"]):
            raise ValueError("there must be as many labels as pulls and as pending decisions")
        chances = [(whole("agent", "arm", arm), list(map(float, queue))) for arm, queue in header["chances"]]
        if not all(arm < len(labels) and all(0.0 <= p <= 1.0 for p in queue) for arm, queue in chances):
            raise ValueError("probabilities of pending decisions must belong to arms and lie between 0 and 1")
        state = contents.state(fresh_state(contents.policy, len(labels), contents.horizon), len(labels))
        return contents.parts(state=state, chances=chances)

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self._go_on(parts["policy"], parts["horizon"], parts["seen"], parts["rng"], parts["state"])
        self._ledger = ledger_of(parts["evidence"]) if "evidence" in parts else None
        self._floor = Floor.loaded(parts)
        pending = PendingArms(parts["pending"], parts["chances"])
        self._name_arms(ArmNames(parts["labels"], parts["unused"]), parts["pulls"], pending)

    def _forms(self, state: Any) -> Iterator[Any]:
        state = with_propensities(state)
        yield with_trees(state)
        yield with_trees(state, beyond=0)
        yield with_trees(state, beyond=MANY)

    def _calls(self, state: Any) -> tuple[Call, Call]:
        return calls_on_arms(self._bare, state, self._rng)

    _pending_in = staticmethod(find_pending)

    def _change_over(self) -> None:
        super()._change_over()
        self._compile_ahead()

    def _compile_ahead(self) -> None:
        """Compile the code for more than SCAN arms in the background, if there may soon be so many."""
        if self._better is None and FEWEST_ARMS_TO_COMPILE_AHEAD <= len(self._labels) <= SCAN and not is_disabled():
            self._ahead = Compilation(self._calls(with_trees(self._state, beyond=0)))
            self._ahead.is_over()

    def _name_arms(self, names: ArmNames, pulls: list[int], awaited: PendingArms) -> None:
        """Use these arms, to which the state belongs."""
        self._names, self._pulls, self._awaited = names, pulls, awaited
        self._labels, self._slot = names.labels, names.slot
        self._acquire, self._release = self._lock.acquire, self._lock.release  # takes half the time of a with statement
        self._compile_ahead()

    def select(self, among: Iterable[Arm] | None = None) -> Any:
        """Return the arm to pull next; if only some are available now, name them in ``among``.

        The decision is pending until a reward of the arm comes, or until it is given up by :meth:`cancel`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.select(), agent.select(among=[0, 2])
        (0, 2)
        """
        if among is not None or self._floor.share > 0.0:
            return self._assign(None, among, None, asks=False).arm
        self._acquire()
        try:
            n_arms = len(self._labels)
            slot = self._decide(self._bare, self._located, self._seen, self._rng, n_arms, -1)
            label = self._label(slot)
            self._awaited.add(slot, self._pending.awaited)
            if self._better is not None:
                self._change_over()
            return label
        finally:
            self._release()

    def assign(self, arm: Arm | None = None, among: Iterable[Arm] | None = None, key: bytes | None = None) -> Assigned:
        """Make a decision for this arm, whatever the policy would pull, or for the policy's own choice if None.

        The policy is consulted either way, so repeating the calls of an agent, with the arms that it returned, leads to
        the same state.  With a ``key`` of 32 bytes, all draws depend on that alone.

        The ``propensity`` is the probability with which the arm was to be chosen, given all that happened before.  To
        know it, Thompson sampling and other policies that compare random numbers make 255 draws instead of one, and one
        decision in 256 is then uniform; see ``docs/production.md``.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.assign("green")
        Assigned(arm='green', chosen='red', propensity=0.0)
        >>> agent.pending
        {'red': 0, 'green': 1}
        """
        return self._assign(arm, among, key, asks=True)

    def _assign(self, arm: Arm | None, among: Iterable[Arm] | None, key: bytes | None, asks: bool) -> Assigned:
        """Make a decision; unless ``asks``, its propensity may be wrong."""
        names, restrict = None if among is None else listed("among", among), None
        with self._lock:
            given = -1 if arm is None else self._slot(arm)
            slots = range(len(self._labels)) if names is None else self._slots(names)
            try:
                if names is not None:
                    restrict = self._restrict(slots, self._state)
                call = self._bare, self._located, self._seen, self._rng, len(self._labels)
                slot, made, drawn = self._decided(slots, given, key, asks or self.draws, self._label, *call)
            finally:
                if restrict is not None:
                    restrict(None)
            self._awaited.add(slot, self._pending.awaited)
            if drawn and made.propensity is not None:
                self._awaited.correct(slot, made.propensity)
            self._change_over()
            return made

    @property
    def draws(self) -> bool:
        """Whether the policy draws arms by probabilities, and weights rewards by them.

        Examples
        --------
        >>> import heavybandits as hb
        >>> [hb.Agent(hb.make(name), n_arms=2).draws for name in ("ucb", "tsallis-inf")]
        [False, True]
        """
        return self._pending.awaited is not None and self._pending.outer is None

    def correct_propensity(self, arm: Arm, propensity: float) -> None:
        """Correct the propensity of the arm's latest decision, if the policy did not make it alone.

        Policies that draw arms by probabilities weight the reward by it.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.TsallisINF(), arms=["red", "green"], seed=0)
        >>> agent.assign("red").propensity
        0.5
        >>> agent.correct_propensity("red", 0.75)  # if half of all decisions are fixed to this arm
        """
        with self._lock:
            self._awaited.correct(self._slot(arm), in_range("Agent", "propensity", propensity, 0, 1))

    def correct_chance(self, arm: Arm, probability: float) -> None:
        """Do what :meth:`correct_propensity` does, under its old name."""
        message = "Agent: correct_chance is called correct_propensity now; the next version removes the old name"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        self.correct_propensity(arm, probability)

    def probabilities(self) -> dict[Any, float]:
        """Return the probability of each arm in the next decision that :meth:`assign` makes.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.TsallisINF(), arms=["red", "green"], seed=0)
        >>> agent.probabilities()
        {'red': 0.5, 'green': 0.5}
        >>> agent.update("red", 1.0)
        >>> agent.update("green", 0.0)
        >>> agent.probabilities()["red"] > 0.5
        True
        """
        with self._lock:
            slots = range(len(self._labels))
            chosen, drawn = self._look_ahead(None, asks=True)
            shares = self._floor.shares(slots)
            found = [mixed(shares, slot, self._propensity(drawn, slot, chosen)) for slot in slots]
        if None in found:
            raise TypeError(f"Agent: {type(self.policy).__name__} does not tell the probabilities by which it draws")
        return dict(zip(self._labels, cast("list[float]", found), strict=True))

    def peek(self, among: Iterable[Arm] | None = None) -> Any:
        """Return the arm that :meth:`select` would return, without making a decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.peek(), agent.peek(), agent.select(), agent.peek()
        (0, 0, 0, 1)
        """
        names = None if among is None else listed("among", among)
        with self._lock:
            slots = None if names is None else self._slots(names)
            slot, _ = self._look_ahead(slots)
            taken = self._floor.peek(range(len(self._labels)) if slots is None else slots)
            return self._label(slot if taken is None else taken)

    def _look_ahead(self, among: Sequence[int] | None, asks: bool = False) -> tuple[int, FloatArray | None]:
        """Return the slot that the policy would select and, if asked, the probabilities by which it would draw it."""
        state, rng = copy.deepcopy((self._state, self._rng))
        drawn = None if self._drawn is None else find_propensities(state)
        if among is not None:
            self._restrict(among, state)
        if asks and drawn is not None:
            drawn[0] = ASKED
        slot: int = self._decide(self._bare, self._locate(state), self._seen, rng, len(self._labels), -1)
        return slot, None if drawn is None or drawn[0] < 0.0 else drawn

    def _slots(self, names: list[Any]) -> list[int]:
        """Return the slots of these arms, in order."""
        slots = sorted({self._slot(arm) for arm in names})
        if not slots:
            raise ValueError("Agent: among must name at least one arm, got none")
        return slots

    def _restrict(self, slots: Sequence[int], state: Any) -> Callable[[IntArray | None], None]:
        """Let only these arms be chosen, and return the function that lifts this again."""
        restrict = find_open(state)
        if restrict is None:
            raise TypeError(f"Agent: among must be None for {self.policy!r}, whose state has no field 'open'")
        restrict(np.array(slots))
        return restrict

    def _label(self, slot: int) -> Any:
        """Return the name of the arm that a policy has selected."""
        try:
            return self._labels[slot if slot >= 0 else len(self._labels)]
        except (IndexError, TypeError):
            owner, last = type(self.policy).__name__, len(self._labels) - 1
            raise TypeError(f"Agent: {owner}.select must return an arm from 0 to {last}, got {slot!r}") from None

    @renamed(asked="selected", chance="propensity")
    def update(self, arm: Arm, reward: float, *, selected: bool = True, propensity: float | None = None) -> None:
        """Learn from a reward.

        It settles a pending decision for the arm, if there is one.  Pass ``selected=False`` if no selection led to it.
        Policies that draw arms at random weight the reward by the probability of its decision.  If you know that, pass
        it as ``propensity``; otherwise the reward is taken to belong to the oldest pending decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update(1, 0.5)
        >>> agent.update(1, float("nan"))
        Traceback (most recent call last):
            ...
        ValueError: Agent: reward must not be NaN (leave out missing rewards), got nan
        """
        if type(reward) is not float or reward != reward:  # a float that is a number needs no call
            reward = reward_of(reward)
        if propensity is not None:
            in_range("Agent", "propensity", propensity, 0, 1)
        self._acquire()
        try:
            self._learn(self._slot(arm), reward, bool(selected), propensity)
        finally:
            self._release()

    @renamed(asked="selected")
    def update_many(self, arms: Iterable[Arm], rewards: Iterable[float], *, selected: bool = True) -> None:
        """Learn from many rewards, in this order: from all of them or, if one is refused, from none.

        ``selected`` is as in :meth:`update`, and the same for all of them.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update_many([0, 1, 1], [0.5, 2.0, 3.0])
        >>> agent.select()
        1
        """
        names = listed("arms", arms)
        values = [reward_of(reward) for reward in listed("rewards", rewards)]
        with self._lock:
            slots = [self._slot(arm) for arm in names]
            if len(slots) != len(values):
                given = f"{len(slots)} and {len(values)}"
                raise ValueError(f"Agent: arms and rewards must have the same length, got {given}")
            for slot, value in zip(slots, values, strict=True):
                self._learn(slot, value, bool(selected))

    def _learn(self, slot: int, reward: float, selected: bool, propensity: float | None = None) -> None:
        if self._pools:
            self._make_room()
        if selected:
            self._awaited.take(slot, self._pending.awaited, propensity)
        elif self._pending.awaited is not None:
            self._pending.awaited[slot] = 0.0  # nobody drew the arm for this reward
        self._learn_from(self._bare, self._located, slot, reward, selected)
        if self._ledger is not None:
            self._ledger.learn(str(self._labels[slot]), reward)
        self._pulls[slot] += 1
        self._seen += 1
        if self._better is not None:
            self._change_over()

    @renamed(chance="propensity")
    def cancel(self, arm: Arm, *, propensity: float | None = None) -> None:
        """Give up a pending decision for the arm, whose reward will never come.

        Decisions that stay pending make the agent select the arm less often, so cancel those that take too long.
        ``propensity`` is as in :meth:`update`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.cancel(agent.select())
        >>> agent.cancel(0)
        Traceback (most recent call last):
            ...
        ValueError: Agent: arm must have a pending decision to be cancelled, got 0 without one
        """
        if propensity is not None:
            in_range("Agent", "propensity", propensity, 0, 1)
        with self._lock:
            slot = self._slot(arm)
            if self._awaited.counts[slot] == 0:
                raise ValueError(f"Agent: arm must have a pending decision to be cancelled, got {arm!r} without one")
            self._awaited.take(slot, None, propensity)
            give_up(self._pending, slot)

    @property
    def can_correct(self) -> bool:
        """Whether the policy can unlearn a reward, so that :meth:`correct` works."""
        return hasattr(self.policy, "forget")

    def correct(self, arm: Arm, learned: float, reward: float | None) -> None:
        """Replace a reward that was learned provisionally; None if there is no reward in its place.

        So a decision that may bring an order within a week can count as a zero at once, and as the order once that
        comes: see ``docs/late-rewards.md``.  ``learned`` must be the amount that the arm's decision counts as now.
        Policies whose state is made of sums can do this: ``auto-mean`` and ``thompson-beta``.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.make("auto-mean"), arms=["red", "green"])
        >>> for _ in range(4):
        ...     agent.update(agent.select(), 0.0)
        >>> agent.correct("green", 0.0, 20.0)
        >>> agent.correct("red", 0.0, None)
        >>> agent.pulls, agent.rows()[1].estimate
        ({'red': 1, 'green': 2}, 10.0)
        """
        learned, reward = reward_of(learned), None if reward is None else reward_of(reward)
        if not self.can_correct:
            raise TypeError(f"Agent: {type(self.policy).__name__} cannot unlearn a reward; let it wait for its reward")
        if self._ledger is not None:
            raise ValueError("Agent: evidence must be False for rewards to be corrected: it is about final rewards")
        with self._lock:
            slot = self._slot(arm)
            if self._pulls[slot] == 0:
                raise ValueError(f"Agent: arm must have a reward to be corrected, got {arm!r} without one")
            interpreted(self.policy.forget)(self._state, slot, learned)
            if reward is not None:
                self._learn_from(self._bare, self._located, slot, reward, False)
                return
            self._pulls[slot] -= 1
            interpreted(note)(self._pending, slot, 0, 1)

    @property
    def arms(self) -> list[Any]:
        """Names of the arms, in order.

        Examples
        --------
        >>> import heavybandits as hb
        >>> hb.Agent(hb.UCB(), n_arms=3).arms
        [0, 1, 2]
        """
        return list(self._labels)

    @property
    def pulls(self) -> dict[Any, int]:
        """Number of rewards seen per arm.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.update("green", 1.0)
        >>> agent.pulls
        {'red': 0, 'green': 1}
        """
        with self._lock:
            return dict(zip(self._labels, self._pulls, strict=True))

    @property
    def pending(self) -> dict[Any, int]:
        """Number of decisions per arm whose rewards have not come.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.select()
        'red'
        >>> agent.pending
        {'red': 1, 'green': 0}
        """
        with self._lock:
            return dict(zip(self._labels, self._awaited.counts, strict=True))

    def evidence(self, control: Arm | None = None, *, delta: float = 0.05, eps: float | None = None) -> Evidence:
        """Return what the rewards so far show about the arms, for an agent that was made with ``evidence=True``.

        It holds however often you look and however the policy chose; see :func:`compare`.  It is about all rewards of a
        name: an arm that is removed and added again goes on with those it had.

        Parameters
        ----------
        control
            The arm over which lifts are measured.
        delta
            How often a verdict may be wrong: in this share of experiments.
        eps
            A difference that does not matter: say so if no arm is better than the leader by more.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.make("auto-mean"), arms=["blue", "green"], evidence=True)
        >>> agent.update_many(["blue", "green"] * 200, [0.0, 1.0, 1.0, 1.0] * 100)
        >>> agent.evidence().winner, agent.winner
        ('green', 'green')
        """
        if self._ledger is None:
            raise ValueError("Agent: evidence must be True when the agent is made, for it to keep any, got False")
        if control is not None:
            self._slot(control)
        delta = in_range("Agent", "delta", delta, 0, 1, "()")
        eps = None if eps is None else positive("Agent", "eps", eps)
        with self._lock:
            ledger, arms = self._ledger.copied(), [str(label) for label in self._labels]
        return ledger.evidence(arms, None if control is None else str(control), delta, eps)

    @property
    def winner(self) -> Any:
        """The arm that is shown to be better than every other one, or None; see :meth:`evidence`."""
        found = self.evidence().winner
        return next((label for label in self._labels if str(label) == found), None)

    def add_arm(self, name: Arm | None = None) -> Any:
        """Add an arm without any rewards, and return its name, by default the first number never used.

        From the 65th arm on, other code is faster, which an agent with 48 arms or more compiles in the background.
        Until then, the agent decides as well with the code it has.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update_many([0, 1], [1.0, 3.0])
        >>> agent.add_arm()
        2
        >>> agent.select()
        2
        """
        with self._lock:
            names = ArmNames([*self._labels, self._names.unused if name is None else name], self._names.unused)
            text = str(names.labels[-1])
            if self._ledger is not None and text in map(str, self._labels):
                raise ValueError(f"Agent: arms with evidence must have different names as text, got {text!r} twice")
            self._resize(names, np.arange(len(self._labels)))
            if self._ledger is not None:
                self._ledger.add_arm(text)
            return names.labels[-1]

    def remove_arm(self, arm: Arm) -> None:
        """Forget an arm; the others keep their names and what is known about them.  Its late rewards are refused.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.remove_arm(1)
        >>> agent.arms
        [0, 2]
        """
        with self._lock:
            slot = self._slot(arm)
            if len(self._labels) == 1:
                raise ValueError(f"Agent: arm must not be the only one left, got {arm!r}")
            kept = np.delete(np.arange(len(self._labels)), slot)
            self._resize(ArmNames([self._labels[i] for i in kept], self._names.unused), kept)

    def _resize(self, names: ArmNames, kept: IntArray) -> None:
        """Use these arms, the first of which are now in the slots ``kept``."""
        n_arms = len(names.labels)
        same, fresh = (fresh_state(self.policy, len(labels), self.horizon) for labels in (self._labels, names.labels))
        pulls = [self._pulls[slot] for slot in kept] + [0] * (n_arms - len(kept))
        awaited = self._awaited.resized(kept.tolist(), n_arms)
        with np.errstate(all="ignore"):  # as silent as compiled code
            state = carried(without_propensities(self._state), same, fresh, kept)
        self._adopt(state)
        self._name_arms(names, pulls, awaited)

    @property
    def estimates(self) -> pd.DataFrame:
        """What is known about the arms, one row per arm.

        ``pulls`` is the number of rewards seen, and ``share`` its share of all arms' pulls.  ``pending`` is the number
        of decisions whose rewards have not come.  ``estimate`` and ``index`` are missing (NaN) if the policy has none.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.update_many(["red", "red", "red", "green"], [1.0, 2.0, 3.0, 3.0])
        >>> agent.estimates[["arm", "pulls", "estimate", "share"]]
             arm  pulls  estimate  share
        0    red      3       2.0   0.75
        1  green      1       3.0   0.25
        """
        return as_frame(self.rows())

    def rows(self) -> list[ArmEstimate]:
        """Return what is known about each arm: :attr:`estimates` without a data frame.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.update_many(["red", "green"], [1.0, 3.0])
        >>> {row.arm: row.estimate for row in agent.rows()}
        {'red': 1.0, 'green': 3.0}
        """
        with self._lock:
            return self._estimates(range(len(self._labels)))

    def _estimates(self, slots: Sequence[int]) -> list[ArmEstimate]:
        """Return what is known about some arms; needs the lock."""
        known = self._known()
        return [
            ArmEstimate(self._labels[slot], self._pulls[slot], self._awaited.counts[slot], value, index)
            for slot, value, index in zip(slots, known.values(slots), known.indices(slots), strict=True)
        ]

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self._labels)} arms, {self._seen} rewards)"

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return a title for all arms, and a table of those that were pulled most."""
        with self._lock:
            n_arms = len(self._labels)
            rows = self._estimates(sorted(heapq.nlargest(MOST_PRINTED_ROWS, range(n_arms), self._pulls.__getitem__)))
            goal = f", arms compared by {self.policy.goal(self._state)}" if hasattr(self.policy, "goal") else ""
            if goal.endswith("location"):
                goal += ", as if their noise had one shape"
            more = f"; the {MOST_PRINTED_ROWS} most pulled of {n_arms} arms" if n_arms > MOST_PRINTED_ROWS else ""
            return f"{plural(self._seen, 'reward')}{goal}{more}", as_text(rows)
