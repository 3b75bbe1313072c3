"""The public names of heavybandits and where they live; ``__init__.py`` imports each when it is first used."""

from .algorithms.estimators.catoni import Catoni
from .algorithms.estimators.catoni_infinite_variance import CatoniInfiniteVariance
from .algorithms.estimators.clipped_sgd import ClippedSGD
from .algorithms.estimators.clipped_sstm import ClippedSSTM
from .algorithms.estimators.median_of_means import MedianOfMeans
from .algorithms.estimators.mixture_order_statistic import MixtureOrderStatistic
from .algorithms.estimators.order_statistic import OrderStatistic
from .algorithms.estimators.truncated_mean import TruncatedMean
from .algorithms.estimators.two_point import TwoPoint
from .algorithms.linear.ada_oful import AdaOFUL
from .algorithms.linear.bmm import BMM
from .algorithms.linear.crt import CRT
from .algorithms.linear.heavy_oful import HeavyOFUL
from .algorithms.linear.huber_bandit import HuberBandit
from .algorithms.linear.hvt_ucb import HvtUCB
from .algorithms.linear.lin_ts import LinTS
from .algorithms.linear.lin_ucb import LinUCB
from .algorithms.linear.linear_clipped_sgd_ucb import LinearClippedSGDUCB
from .algorithms.linear.linear_level_set_ucb import LinearAuto, LinearAutoMean
from .algorithms.linear.median_of import MedianOf
from .algorithms.linear.menu import MENU
from .algorithms.linear.mom_lin import MomLin
from .algorithms.linear.oful import OFUL
from .algorithms.linear.tofu import TOFU
from .algorithms.lipschitz.admm import ADMM
from .algorithms.lipschitz.adtm import ADTM
from .algorithms.lipschitz.hoo import HOO
from .algorithms.lipschitz.lipschitz_auto import LipschitzAuto
from .algorithms.lipschitz.sdtm import SDTM
from .algorithms.lipschitz.zooming import Zooming
from .algorithms.policies.ada_tinf import AdaTINF
from .algorithms.policies.adar_ucb import AdarUCB
from .algorithms.policies.ape2 import APE2
from .algorithms.policies.auto import Auto
from .algorithms.policies.auto_mean import AutoMean
from .algorithms.policies.betting_ucb import BettingUCB
from .algorithms.policies.clipped_sgd_ucb import ClippedSGDUCB
from .algorithms.policies.discounted_ucb import DiscountedUCB
from .algorithms.policies.epsilon_greedy import EpsilonGreedy
from .algorithms.policies.exp3 import Exp3
from .algorithms.policies.fo_ucb import FOUCB
from .algorithms.policies.force_mom import ForceMOM
from .algorithms.policies.htinf import HTINF
from .algorithms.policies.inf_clip import INFClip
from .algorithms.policies.kl_ucb import KLUCB
from .algorithms.policies.klinf_ucb import KLinfUCB
from .algorithms.policies.lb_sda import LBSDA
from .algorithms.policies.level_set_ucb import LevelSetUCB
from .algorithms.policies.mean_of_medians import MeanOfMedians
from .algorithms.policies.median_inf import MedianINF
from .algorithms.policies.moss import MOSS
from .algorithms.policies.mr_ape import MRAPE
from .algorithms.policies.mr_ucb import MRUCB
from .algorithms.policies.restarting import Restarting
from .algorithms.policies.robust_ucb import RobustUCB
from .algorithms.policies.sliding_window_ucb import SlidingWindowUCB
from .algorithms.policies.student_thompson import StudentThompson
from .algorithms.policies.thompson_beta import ThompsonBeta
from .algorithms.policies.thompson_gaussian import ThompsonGaussian
from .algorithms.policies.thompson_normal_gamma import ThompsonNormalGamma
from .algorithms.policies.tsallis_inf import TsallisINF
from .algorithms.policies.ucb import UCB
from .algorithms.policies.ucb_tuned import UCBTuned
from .algorithms.policies.uni_inf import UniINF
from .algorithms.policies.zo_ucb import ZOUCB
from .algorithms.registry import estimators, make, policies
from .diagnosis import diagnose
from .engine.loop import simulate
from .evidence.comparison import compare
from .evidence.report import Evidence
from .online.agent import Agent
from .online.linear_agent import LinearAgent
from .online.lipschitz_agent import LipschitzAgent
from .protocols import compilable, policy
from .report.page import write_report
from .results.result import Result
from .results.study_result import StudyResult
from .service.client import Client, ServiceError
from .service.client.asynchronous import AsyncClient
from .studies.run import run_study
from .studies.store import load_study
from .studies.study import read_study
from .testing import check_noise, check_policy
from .world.contexts import Cube, Disjoint, Frozen, Held, Logged, Sphere, blocks
from .world.delays import Batches
from .world.environments import (
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
from .world.instances import Instance
from .world.linear_instances import LinearInstance
from .world.lipschitz_instances import LipschitzInstance
from .world.noises import (
    Bernoulli,
    Beta,
    Cauchy,
    CauchyExponential,
    CauchyPareto,
    Empirical,
    Exponential,
    Frechet,
    Gaussian,
    Laplace,
    LogNormal,
    Mixture,
    Negative,
    NegativeBinomial,
    Noise,
    Pareto,
    Poisson,
    ScipyNoise,
    Shifted,
    StudentT,
    SymmetricStable,
    ZeroInflated,
    make_noise,
    noises,
)

__version__: str

__all__ = [
    "ADMM", "ADTM", "APE2", "BMM", "CRT", "FOUCB", "HOO", "HTINF", "KLUCB", "LBSDA", "MENU", "MOSS", "MRAPE", "MRUCB",
    "OFUL", "SDTM", "TOFU", "UCB", "ZOUCB", "AdaOFUL", "AdaTINF", "AdarUCB", "Agent", "AsyncClient", "Auto", "AutoMean",
    "Batches", "Bernoulli", "Beta", "BettingUCB", "Catoni", "CatoniInfiniteVariance", "Cauchy", "CauchyExponential",
    "CauchyPareto", "Client", "ClippedSGD", "ClippedSGDUCB", "ClippedSSTM", "Cube", "DiscountedUCB", "Disjoint",
    "Empirical", "EpsilonGreedy", "Evidence", "Exp3", "Exponential", "ForceMOM", "Frechet", "Frozen", "Gaussian",
    "HeavyOFUL", "Held", "HuberBandit", "HvtUCB", "INFClip", "Instance", "KLinfUCB", "Laplace", "LevelSetUCB", "LinTS",
    "LinUCB", "LinearAgent", "LinearAuto", "LinearAutoMean", "LinearClippedSGDUCB", "LinearInstance", "LipschitzAgent",
    "LipschitzAuto", "LipschitzInstance", "LogNormal", "Logged", "MeanOfMedians", "MedianINF", "MedianOf",
    "MedianOfMeans", "Mixture", "MixtureOrderStatistic", "MomLin", "Negative", "NegativeBinomial", "Noise",
    "OrderStatistic", "Pareto", "Poisson", "Restarting", "Result", "RobustUCB", "ScipyNoise", "ServiceError", "Shifted",
    "SlidingWindowUCB", "Sphere", "StudentT", "StudentThompson", "StudyResult", "SymmetricStable", "ThompsonBeta",
    "ThompsonGaussian", "ThompsonNormalGamma", "TruncatedMean", "TsallisINF", "TwoPoint", "UCBTuned", "UniINF",
    "ZeroInflated", "Zooming", "blocks", "check_noise", "check_policy", "compare", "compilable", "delta_cauchy",
    "delta_gaussian", "diagnose", "env1", "env2", "env3", "estimators", "gaussian_env1", "gaussian_env2",
    "gaussian_env3", "instances", "load_study", "make", "make_noise", "noises", "policies", "policy", "read_study",
    "run_study", "simulate", "write_report",
]  # fmt: skip
