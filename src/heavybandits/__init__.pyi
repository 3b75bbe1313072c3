"""The public names of heavybandits and where they live; ``__init__.py`` imports each when it is first used.

Written by ``python docs/generate.py``.
"""

from .algorithms.linear.linear_level_set_ucb import LinearAuto, LinearAutoMean
from .algorithms.lipschitz.lipschitz_auto import LipschitzAuto
from .algorithms.policies.auto import Auto
from .algorithms.policies.auto_mean import AutoMean
from .algorithms.policies.betting_ucb import BettingUCB
from .algorithms.policies.clipped_sgd_ucb import ClippedSGDUCB
from .algorithms.policies.kl_ucb import KLUCB
from .algorithms.policies.mean_of_medians import MeanOfMedians
from .algorithms.policies.restarting import Restarting
from .algorithms.policies.thompson_gaussian import ThompsonGaussian
from .algorithms.policies.tsallis_inf import TsallisINF
from .algorithms.policies.ucb import UCB
from .algorithms.registry import estimators, make, policies
from .diagnosis import diagnose
from .engine.loop import simulate
from .evaluation import evaluate
from .evidence.ab_test.analysis import LogEvidence
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
from .world.environments import env1, env2, env3, instances
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
    "KLUCB", "UCB", "Agent", "AsyncClient", "Auto", "AutoMean", "Batches", "Bernoulli", "Beta", "BettingUCB", "Cauchy",
    "CauchyExponential", "CauchyPareto", "Client", "ClippedSGDUCB", "Cube", "Disjoint", "Empirical", "Evidence",
    "Exponential", "Frechet", "Frozen", "Gaussian", "Held", "Instance", "Laplace", "LinearAgent", "LinearAuto",
    "LinearAutoMean", "LinearInstance", "LipschitzAgent", "LipschitzAuto", "LipschitzInstance", "LogEvidence",
    "LogNormal", "Logged", "MeanOfMedians", "Mixture", "Negative", "NegativeBinomial", "Noise", "Pareto", "Poisson",
    "Restarting", "Result", "ScipyNoise", "ServiceError", "Shifted", "Sphere", "StudentT", "StudyResult",
    "SymmetricStable", "ThompsonGaussian", "TsallisINF", "ZeroInflated", "blocks", "check_noise", "check_policy",
    "compare", "compilable", "diagnose", "env1", "env2", "env3", "estimators", "evaluate", "instances", "load_study",
    "make", "make_noise", "noises", "policies", "policy", "read_study", "run_study", "simulate", "write_report",
]  # fmt: skip
