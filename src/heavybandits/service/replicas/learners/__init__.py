"""What learns in an experiment: a learner for each kind of experiment, made from its policy."""

from ...spec import Experiment
from .arms import ArmsLearner
from .attributes import AttributeLearner
from .learner import Learner
from .linear import LinearLearner
from .points import PointsLearner


def learner_of(spec: Experiment) -> type[Learner]:
    """Return the class of an experiment's learner."""
    if spec.kind == "linear":
        return AttributeLearner if spec.context is not None and spec.context.attributes else LinearLearner
    return ArmsLearner if spec.kind == "arms" else PointsLearner
