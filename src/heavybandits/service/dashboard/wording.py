"""What an experiment does and what was changed, in words."""

from __future__ import annotations

import functools
from typing import NamedTuple

import msgspec

from ..._format import in_time, number, plural
from ...algorithms.registry import all_policies, make
from ...evidence.words import listed_names, shown
from ..events import Config
from ..forms import Change
from ..replicas.learners.policy import described_policy
from ..spec import Experiment


class ChangeInWords(NamedTuple):
    """A change as the page shows it."""

    time: str
    what: str
    by: str


def change_in_words(change: Change) -> ChangeInWords:
    """Return what was changed, and by whom."""
    config = msgspec.json.decode(bytes(change.change), type=Config)
    time = change.time[:19].replace("T", " ")
    return ChangeInWords(time, _what(config), "by itself" if config.why else f"token {config.by}" if config.by else "")


def _what(config: Config) -> str:
    if config.create is not None:
        made = config.create
        return (
            f"Created with {listed_names([arm.name for arm in made.arms]) if made.points is None else _ranges(made)}."
        )
    if config.finish is not None:
        why = f" {config.why[0].upper()}{config.why[1:].rstrip('.')}." if config.why else ""
        return f"Finished: all new decisions are for {config.finish}.{why}"
    if config.state is not None:
        return {"running": "Resumed.", "paused": "Paused: decisions are for the control.",
                "stopped": "Stopped: decisions are for the control."}.get(config.state, f"{config.state}.")  # fmt: skip
    if config.control is not None:
        return f"{config.control} became the control."
    if config.add is not None:
        return f"{config.add} was added."
    if config.retire is not None:
        return f"{config.retire} was retired for good."
    if config.pause is not None:
        return f"{config.pause} was paused" + ("." if config.why is None else f": {config.why}")
    return (
        f"{config.resume} was resumed." if config.resume is not None else "Something that this version does not know."
    )


def rules(spec: Experiment, control: str) -> list[str]:
    """Return how an experiment decides, one sentence for each rule.

    Examples
    --------
    >>> from heavybandits.service.spec import Arm
    >>> spec = Experiment(arms=[Arm("blue"), Arm("green")], floor={"blue": 0.05}, policy="identify")
    >>> print("\\n".join(rules(spec, "blue")))
    It looks for the arm with the highest mean.
    The policy identify decides. Identify: find the best arm with a promise, then play it.
    blue is the control, which others are compared with and which everybody gets while the experiment is paused.
    At least 5% of decisions are for blue, whatever the policy prefers.
    A decision waits for its reward as long as it takes.
    It goes on until somebody finishes it.
    """
    best = "lowest" if spec.minimise else "highest"
    what, gets = "arm", f"{control} is the control, which others are compared with and which everybody gets"
    if spec.points is not None:
        what = _ranges(spec)
        gets = "Everybody gets the best point so far"
    said = [
        f"It looks for the {what} with the {best} {spec.goal}{_by_context(spec)}.",
        f"The policy {_policy(spec)}",
        f"{gets} while the experiment is paused.",
    ]
    if spec.floor:
        said.append(_floor(spec.floor))
    if spec.drift:
        said.append("If the rewards of an arm show that it has changed, the policy starts afresh.")
        said.append("A season that all arms share, such as the hours of a day, makes it do so again and again.")
    said += [f"An arm is paused once it is shown to break {text} against {control}." for text in spec.guardrails]
    if spec.sticky:
        said.append(f"Whoever comes again gets the same {'arm' if spec.points is None else 'point'} again.")
    said.append(_waiting(spec))
    said.append(_end(spec))
    return said


def _ranges(spec: Experiment) -> str:
    return listed_names([f"{name} from {low:g} to {high:g}" for name, (low, high) in (spec.points or {}).items()])


def _by_context(spec: Experiment) -> str:
    if spec.context is None:
        return ""
    if spec.context.attributes:
        return ", given attributes of the visitor"
    return ", given features that arms share" if spec.context.shared else ", given features of each arm"


def _policy(spec: Experiment) -> str:
    described = described_policy(spec)
    factory = all_policies()[described["kind"]]
    about = type(make(**described)) if isinstance(factory, functools.partial) else factory  # which has no words
    first = (about.__doc__ or "").strip().partition("\n")[0].removeprefix("Make ")
    return f"{described['kind']} decides. {first[:1].upper()}{first[1:]}"


def _floor(floor: dict[str, float]) -> str:
    shares = set(floor.values())
    if len(shares) == 1:
        (share,) = shares
        each = "each of " if len(floor) > 1 else ""
        arms = f"{each}{listed_names(list(floor))}"
        return f"At least {100 * share:.3g}% of decisions are for {arms}, whatever the policy prefers."
    named = ", ".join(f"{100 * share:.3g}% for {arm}" for arm, share in floor.items())
    return f"Whatever the policy prefers, so many decisions at least: {named}."


def _waiting(spec: Experiment) -> str:
    rule = spec.reward
    if rule.window is None:
        return "A decision waits for its reward as long as it takes."
    time = in_time(rule.window / 86_400.0)
    sums = " Its rewards until then add up." if rule.combine == "sum" else ""
    if rule.default is None:
        return f"A decision waits {time} for its reward; if none comes, it is given up.{sums}"
    default = shown(float(rule.default))
    if rule.provisional:
        return f"A decision counts as {default} at once, and as its reward if that comes within {time}.{sums}"
    return f"A decision waits {time} for its reward; if none comes, it counts as {default}.{sums}"


def _end(spec: Experiment) -> str:
    stop = spec.stop
    if spec.context is not None or stop.then == "ask":
        return "It goes on until somebody finishes it."
    wrong = f"wrong in at most {100 * stop.delta:g}% of experiments"
    when = [f"once an arm is shown to be better than every other one ({wrong})"]
    if stop.eps is not None:
        when.append(f"once no arm is better than the leader by more than {number(stop.eps)}")
    if stop.budget is not None:
        when.append(f"after {plural(stop.budget, 'decision')}")
    return f"It finishes by itself {', or '.join(when)}."
