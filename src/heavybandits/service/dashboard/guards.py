"""Rewards beside the one that is learned: what arms pay in them, and whether arms keep their guardrails."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._format import number
from ..replicas.report import Taken
from ..replicas.standing import LIFTS


class OtherReward(NamedTuple):
    """A named reward, with what each arm pays in it."""

    name: str
    counted: str  # between what rewards count
    rows: list[tuple[str, str]]


class Guarded(NamedTuple):
    """What is shown of named rewards and guardrails."""

    broken: list[str]  # sentences about guardrails that arms break
    others: list[str]  # and about those that they keep, or that are open
    rewards: list[OtherReward]


def guarded(of: Taken, ranked: list[str]) -> Guarded | None:
    """Return how the best arms stand in rewards beside the one that is learned; None if there are none."""
    named, control, delta = of.named_rewards, of.view.control, of.spec.stop.delta
    if not named.names:
        return None
    here = {arm.name for arm in of.view.arms if arm.state != "retired"}
    best = {control, *[name for name in ranked if name in here and name != control][:LIFTS]}
    arms = [arm.name for arm in of.view.arms if arm.name in best]
    states = [one for arm in arms if arm != control and named.guardrails for one in named.guarded(arm, control, delta)]
    rewards = []
    for name in named.names:
        found = named.of(name).evidence(arms, None, delta, closest=1)
        about = [found.about(arm, lift=False) for arm in arms]
        rows = [(one.arm, f"{number(one.estimate)} ({number(one.low)} to {number(one.high)})" if not math.isnan(one.low)
                 else f"{one.n} so far") for one in about]  # fmt: skip
        rewards.append(OtherReward(name, found.counted, rows))
    broken, others = ([one.sentence for one in states if (one.state == "broken") == is_broken]
                      for is_broken in (True, False))  # fmt: skip
    return Guarded(broken, others, rewards)
