"""Multi-armed bandits for heavy-tailed rewards: robust policies, a compiled simulator, an online agent.

Start with :func:`simulate` (many policies on one :class:`Instance`, on the same noise) or with :class:`Agent` (one
decision at a time).  :func:`make` makes a policy by name; ``list(policies())``, ``list(noises())``,
``list(estimators())`` and ``list(instances())`` say what there is.  The docstring of a policy says what it assumes and
what happens when that fails: ``help(UCB)``.  For policies and noises of your own there are :func:`check_policy` and
:func:`check_noise`; for rewards that were logged, :func:`diagnose`; the regret bounds of the theory are in
:mod:`heavybandits.theory`.
"""

from .agent import Agent
from .diagnose import diagnose
from .estimators.catoni import Catoni, CatoniInfiniteVariance
from .estimators.clipped_sgd import ClippedSGD
from .estimators.clipped_sstm import ClippedSSTM
from .estimators.median_of_means import MedianOfMeans
from .estimators.order_statistic import OrderStatistic
from .estimators.truncated_mean import TruncatedMean
from .estimators.two_point import TwoPoint
from .instances import (
    Instance,
    delta_cauchy,
    delta_gaussian,
    env1,
    env2,
    env3,
    gaussian_env1,
    gaussian_env2,
    gaussian_env3,
    instances,
)
from .noises import (
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Frechet,
    Gaussian,
    Laplace,
    LogNormal,
    Mixture,
    Noise,
    Pareto,
    ScipyNoise,
    StudentT,
    SymmetricStable,
    make_noise,
    noises,
)
from .policies.ada_tinf import AdaTINF
from .policies.adar_ucb import AdarUCB
from .policies.ape2 import APE2
from .policies.clipped_sgd_ucb import ClippedSGDUCB
from .policies.exp3 import Exp3
from .policies.fo_ucb import FOUCB
from .policies.force_mom import ForceMOM
from .policies.htinf import HTINF
from .policies.inf_clip import INFClip
from .policies.kl_ucb import KLUCB
from .policies.klinf_ucb import KLinfUCB
from .policies.level_set_ucb import LevelSetUCB
from .policies.mean_of_medians import MeanOfMedians
from .policies.median_inf import MedianINF
from .policies.mr_ape import MRAPE
from .policies.mr_ucb import MRUCB
from .policies.robust_ucb import RobustUCB
from .policies.student_thompson import StudentThompson
from .policies.thompson_gaussian import ThompsonGaussian
from .policies.tsallis_inf import TsallisINF
from .policies.ucb import UCB
from .policies.uni_inf import UniINF
from .policies.zo_ucb import ZOUCB
from .protocols import compilable
from .registry import estimators, make, policies
from .results import Result
from .simulate import simulate
from .testing import check_noise, check_policy

__version__ = "0.1.0"

__all__ = [
    "APE2", "FOUCB", "HTINF", "KLUCB", "MRAPE", "MRUCB", "UCB", "ZOUCB", "AdaTINF", "AdarUCB", "Agent", "Catoni",
    "CatoniInfiniteVariance", "Cauchy", "CauchyExponential", "CauchyPareto", "ClippedSGD", "ClippedSGDUCB",
    "ClippedSSTM", "Exp3", "ForceMOM", "Frechet", "Gaussian", "INFClip", "Instance", "KLinfUCB", "Laplace",
    "LevelSetUCB", "LogNormal", "MeanOfMedians", "MedianINF", "MedianOfMeans", "Mixture", "Noise", "OrderStatistic",
    "Pareto", "Result", "RobustUCB", "ScipyNoise", "StudentT", "StudentThompson", "SymmetricStable", "ThompsonGaussian",
    "TruncatedMean", "TsallisINF", "TwoPoint", "UniINF", "check_noise", "check_policy", "compilable", "delta_cauchy",
    "delta_gaussian", "diagnose", "env1", "env2", "env3", "estimators", "gaussian_env1", "gaussian_env2",
    "gaussian_env3", "instances", "make", "make_noise", "noises", "policies", "simulate",
]  # fmt: skip
