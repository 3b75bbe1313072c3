"""The policy of an experiment: its own, or the default for its goal."""

from __future__ import annotations

from typing import Any

from ....algorithms.registry import all_policies, estimators, kinds_in, make, policies
from ...spec import Experiment, QuantileGoal

DEFAULT_POLICIES = {("arms", "mean"): "auto-mean", ("arms", "location"): "auto",
            ("linear", "mean"): "linear-auto-mean", ("linear", "location"): "linear-auto",
            ("lipschitz", "mean"): "smooth-auto", ("lipschitz", "location"): "smooth-auto"}  # fmt: skip
WANTED = {"arms": "without features unless there is a context", "linear": "for features, such as 'lin-ucb'",
          "lipschitz": "for points, such as 'lipschitz-auto'"}  # fmt: skip
IS_FOR = {"arms": "arms without features", "linear": "features", "lipschitz": "points"}
RESTARTING = {"arms": "restarting", "linear": "linear-restarting"}  # what looks for changes
EXPLORED_FOR_QUANTILES = 0.25  # measured by docs/quantile_goals.py


def experiment_policy(spec: Experiment) -> Any:
    """Return the policy of an experiment: its own, or the default for its goal, which needs no prior knowledge.

    Only registered policies and estimators are made, so a request cannot name code to run.

    Examples
    --------
    >>> experiment_policy(Experiment(arms=[], policy="ucb"))
    UCB(c=1.0)
    >>> experiment_policy(Experiment(arms=[], policy="ucb", drift=True))
    Restarting(policy=UCB(c=1.0), every=0)
    >>> experiment_policy(Experiment(arms=[], policy="mine.py:Mine"))
    Traceback (most recent call last):
        ...
    ValueError: policy must be made of registered policies and estimators, got 'mine.py:Mine'
    """
    kind, description = spec.kind, described_policy(spec)
    for name in kinds_in(description):
        if name not in all_policies() and name not in estimators():
            raise ValueError(f"policy must be made of registered policies and estimators, got {name!r}")
    name = description["kind"]
    if spec.drift and name in RESTARTING.values():
        raise ValueError(f"drift must not be given with the policy {name!r}, which looks for changes by itself")
    if name in estimators():
        raise ValueError(f"policy must be a policy, got {name!r}, which is an estimator")
    if name not in policies(kind):
        its = next(IS_FOR[other] for other in IS_FOR if name in policies(other))
        raise ValueError(f"policy must be one {WANTED[kind]}, got {name!r}, which is for {its}")
    if spec.drift:
        return make(RESTARTING[kind], policy=description)
    return make(**description)


def described_policy(spec: Experiment) -> dict[str, Any]:
    """Return what the policy of an experiment is made from: the name that people know it by, and its parameters.

    Examples
    --------
    >>> described_policy(Experiment(arms=[])), described_policy(Experiment(arms=[], policy="ucb", drift=True))
    ({'kind': 'auto-mean'}, {'kind': 'ucb'})
    """
    given = _default_policy(spec.kind, spec) if spec.policy is None else spec.policy
    return {"kind": given} if isinstance(given, str) else given


def _default_policy(kind: str, spec: Experiment) -> str | dict[str, Any]:
    """Return the policy of an experiment that names none."""
    if not isinstance(spec.goal, QuantileGoal):
        return DEFAULT_POLICIES[kind, spec.goal]
    if kind != "arms":
        what = "a context" if kind == "linear" else "points"
        raise ValueError(f"goal must be 'mean' or 'location' with {what}: no policy there looks for a {spec.goal}")
    level = spec.goal.quantile  # costs are learned as negative rewards, so that the highest of them are the lowest
    return {"kind": "order-statistic-ucb", "c": EXPLORED_FOR_QUANTILES, "bound": "mixture",
            "quantile": 1.0 - level if spec.minimise else level}  # fmt: skip


def can_correct(spec: Experiment) -> bool:
    """Return whether the policy of an experiment can unlearn a reward.

    Examples
    --------
    >>> can_correct(Experiment(arms=[])), can_correct(Experiment(arms=[], goal="location"))
    (True, False)
    """
    return hasattr(experiment_policy(spec), "forget")
