"""Named rewards of an experiment: they are compared and guarded, but the policy does not learn them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...evidence.ab_test.guardrails import Guardrail, GuardrailState, read_guardrail
from ...evidence.ledger import Ledger
from ..spec import Experiment

Kept = tuple[str, float | None]  # the name, and the level of the quantile that a guardrail is about
FOR_LATER = 0.1  # of the level, for arms that are added and for controls that are chosen after the creation


def guardrails_of(spec: Experiment) -> list[Guardrail]:
    """Return the guardrails of an experiment.

    Examples
    --------
    >>> guardrails_of(Experiment(arms=[], guardrails=["latency <= +20"]))[0].column
    'latency'
    """
    return [read_guardrail("guardrails", text) for text in spec.guardrails]


def share_of(number: int, created: int) -> float:
    """Return an arm's share of a level, of which all arms that may ever come have at most the whole.

    Those of the creation share most of it equally; of the rest, the n-th one that is added has 1 / (n (n + 1)).

    Examples
    --------
    >>> [round(share_of(number, created=2), 3) for number in range(5)]
    [0.45, 0.45, 0.05, 0.017, 0.008]
    """
    if number < created:
        return (1.0 - FOR_LATER) / created
    n = number - created + 1
    return FOR_LATER / (n * (n + 1))


class NamedRewards:
    """What was reported under each name, by arm.

    Parameters
    ----------
    spec
        The experiment when it was made.
    arms
        The names of its arms.
    stored
        What :meth:`dumps` returned, to go on from there.
    """

    def __init__(self, spec: Experiment, arms: Sequence[str], stored: Iterable[bytes] | None = None) -> None:
        self._spec, self.guardrails = spec, guardrails_of(spec)
        self.names = list(dict.fromkeys([*spec.named_rewards, *(rail.column for rail in self.guardrails)]))
        kept: list[Kept] = [(name, None) for name in self.names]
        kept += dict.fromkeys((rail.column, rail.tau) for rail in self.guardrails if rail.tau is not None)
        ledgers = map(Ledger.loads, stored) if stored is not None else (Ledger(arms, tau or "mean") for _, tau in kept)
        self._ledgers: dict[Kept, Ledger] = dict(zip(kept, ledgers, strict=True))

    def of(self, name: str) -> Ledger:
        """Return the rewards with this name."""
        return self._ledgers[name, None]

    def learn(self, name: str, arm: str, value: float) -> None:
        """Take in a reward."""
        for (kept, _), ledger in self._ledgers.items():
            if kept == name:
                ledger.learn(arm, value)

    def add_arm(self, arm: str) -> None:
        """Add an arm."""
        for ledger in self._ledgers.values():
            ledger.add_arm(arm)

    def guarded(self, arm: str, control: str, delta: float, name: str | None = None) -> list[GuardrailState]:
        """Return how an arm stands with each guardrail, or with those about one name.

        Of all experiments, a share of at most ``delta`` ever says anything wrong.
        """
        level = self.level(arm, control, delta)
        about = [rail for rail in self.guardrails if name in (None, rail.column)]
        return [self._ledgers[rail.column, rail.tau].guarded(rail, arm, control, level) for rail in about]

    def level(self, arm: str, control: str, delta: float) -> float:
        """Return how often a guardrail may be wrong about an arm and a control.

        It never changes, and with all guardrails, arms and controls that may ever come it adds up to at most ``delta``.
        """
        first = self._spec.first_control
        of_control = 1.0 - FOR_LATER if control == first else FOR_LATER * self._share(control, first)
        return delta * of_control * self._share(arm, control) / max(len(self.guardrails), 1)

    def _share(self, arm: str, besides: str) -> float:
        """Return the share of an arm among all but one."""
        others = [name for name in next(iter(self._ledgers.values())).arms if name != besides]
        return share_of(others.index(arm), sum(one.name != besides for one in self._spec.arms))

    def copied(self) -> NamedRewards:
        """Return a copy that later rewards do not change."""
        fresh = NamedRewards.__new__(NamedRewards)
        fresh._spec, fresh.guardrails, fresh.names = self._spec, self.guardrails, self.names
        fresh._ledgers = {kept: ledger.copied() for kept, ledger in self._ledgers.items()}
        return fresh

    def dumps(self) -> list[bytes]:
        """Return all of it as bytes: the same for equal rewards."""
        return [ledger.dumps() for ledger in self._ledgers.values()]
