"""The randomised policies: probabilities against a slow solver, and published numbers."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from randomised import choose, solved
from scipy import optimize

import heavybandits as hb
from heavybandits.algorithms.parts.choice.ftrl import charge, init_draws, tsallis
from heavybandits.algorithms.policies.ada_tinf import AdaTINF
from heavybandits.algorithms.policies.exp3 import Exp3
from heavybandits.algorithms.policies.htinf import HTINF, skipping_factor
from heavybandits.algorithms.policies.inf_clip import INFClip
from heavybandits.algorithms.policies.median_inf import MedianINF
from heavybandits.algorithms.policies.uni_inf import UniINF
from heavybandits.numerics import power
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def takes_in(policy: Any, state: Any, arm: int, loss: float) -> bool:
    """Return whether a loss would count, for a policy with offset 0."""
    trial = copy.deepcopy(state)
    policy.update(trial, arm, -loss)
    return bool(trial.draws.loss[arm] != state.draws.loss[arm])


def assert_threshold(policy: Any, state: Any, arm: int, threshold: float) -> None:
    for sign in (1.0, -1.0):
        assert takes_in(policy, state, arm, sign * threshold * (1 - 1e-8))
        assert not takes_in(policy, state, arm, sign * threshold * (1 + 1e-8))


# Probabilities.


@pytest.mark.parametrize(
    ("rate", "q", "nu", "expected"),
    [
        (1 / 2, 2.0, 1.367409144429, (0.534814336, 0.286761628, 0.178424036)),
        (0.396850262992, 3.0, 1.177208207407, (0.612971322, 0.256411452, 0.130617227)),
        (1 / 4, 1.0, None, (0.361813244, 0.331800766, 0.306385990)),
    ],
)
def test_probabilities_of_given_losses(rate: float, q: float, nu: float | None, expected: tuple[float, ...]) -> None:
    draws = init_draws(3, rate)
    draws.loss[:] = 7.0, 8.0, 9.0  # only differences count
    tsallis(draws, q)
    assert draws.chance.tolist() == pytest.approx(expected, abs=1e-9)
    if nu is not None:
        assert draws.root.nu[0] == pytest.approx(nu, abs=1e-11)


def hard_losses(n_arms: int, rng: np.random.Generator) -> list[FloatArray]:
    return [
        np.zeros(n_arms),
        np.arange(n_arms, dtype=float),
        10.0 ** rng.uniform(-6, 6, n_arms),
        rng.standard_cauchy(n_arms),
        np.where(rng.random(n_arms) < 0.5, 1e300, 0.0),
        np.where(rng.random(n_arms) < 0.5, 1.7e308, -1.7e308),
        np.where(np.arange(n_arms) == 0, 0.0, 10020.0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0, 13 / 3, 21.0])
@pytest.mark.parametrize("n_arms", [1, 2, 10, 1000])
def test_newton_needs_few_steps_and_finds_the_root(n_arms: int, q: float) -> None:
    """It may start at the root for other losses, at the least possible root, or far above."""
    rng = np.random.default_rng(n_arms)
    draws = init_draws(n_arms, 1.0)
    for loss in hard_losses(n_arms, rng):
        draws.loss[:] = loss
        for rate in (1e-5, 0.1, 30.0):
            expected = solved(loss, rate, q)
            for start in (draws.root.nu[0], 1.0, float(n_arms)):
                draws.rate[0], draws.root.nu[0] = rate, start
                assert tsallis(draws, q) <= 8
                assert np.allclose(draws.chance, expected, rtol=1e-10, atol=1e-14)
                assert math.fsum(draws.chance) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 2.0, 3.5])
def test_the_root_is_foreseen(q: float) -> None:
    """While losses come one by one and the rate falls, one pass over the arms is usually enough."""
    draws, rng, passes = init_draws(20, 1.0), np.random.default_rng(0), []
    for t in range(1, 600):
        draws.rate[0] = 1.0 / math.sqrt(t)
        passes.append(tsallis(draws, q))
        expected = solved(draws.loss, draws.rate[0], q)
        assert np.allclose(draws.chance, expected, rtol=1e-10, atol=1e-14)
        arm = int(rng.choice(20, p=expected / expected.sum()))
        charge(draws, arm, 0.1 * rng.standard_t(3) / expected[arm])
    assert np.mean(passes[50:]) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 2.0, 3.5, 1001.0])
def test_what_is_foreseen_may_be_wrong(q: float) -> None:
    """The root is found whatever happens between two choices, and whatever is remembered of the last one."""
    draws, rng = init_draws(300, 1.0), np.random.default_rng(1)
    for _ in range(100):
        for _ in range(int(rng.integers(4))):
            charge(draws, int(rng.integers(3)), float(rng.choice([1e-3, 3.0, -3.0, 1e300, -1e300, math.inf])))
        if rng.random() < 0.5:
            for known in (draws.root.nu, draws.root.low, draws.root.rate, draws.root.slope):
                known[0] = rng.choice([1e-9, 2.0, 250.0, 1e300])
        draws.rate[0] = 10.0 ** rng.uniform(-6, 2)
        tsallis(draws, q)
        assert np.allclose(draws.chance, solved(draws.loss, draws.rate[0], q), rtol=1e-9, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        HTINF(eps=1.0, scale=1e308, offset=0.0),
        HTINF(eps=1.0, scale=1e-310, offset=0.0),
        HTINF(eps=5e-324, scale=1.0, offset=0.0),
        INFClip(eps=1.0, scale=1e-310, offset=0.0),
        INFClip(eps=1e-200, scale=1e-300, offset=0.0),
        MedianINF(m=1, scale=1e-310, offset=0.0),
        UniINF(offset=0.0),
    ],
    ids=repr,
)
def test_no_parameter_and_no_reward_makes_nan(policy: Any) -> None:
    rng, state = np.random.default_rng(0), policy.init(3, 2)
    for t in range(300):
        arm = policy.select(state, t, rng)
        policy.update(state, arm, rng.choice([0.0, 1.0, -1e308, 1e308, math.inf, -math.inf]))
        assert math.fsum(state.draws.chance) == pytest.approx(1.0, abs=1e-3)
    for _ in range(16_100):
        policy.update(state, 0, -math.inf)
    policy.select(state, 300, rng)
    assert math.fsum(state.draws.chance) == pytest.approx(1.0, abs=1e-3)


def test_powers_agree_with_the_operator() -> None:
    for exponent in (0.5, 1.0, 2.0, 3.0, 11.0, 32.0, 33.0, 34.0, 2.5, 1e6):
        for x in (0.0, 0.3, 0.999999, 1.0):
            assert power(x, exponent) == pytest.approx(x**exponent, rel=1e-14)


# Published numbers.


def test_exp3_numbers() -> None:
    policy = Exp3()
    state = policy.init(3, 1000)
    assert state.draws.rate[0] == pytest.approx(0.043796121811, abs=1e-12)
    assert choose(policy, state, 0).tolist() == pytest.approx([1 / 3] * 3)
    policy.update(state, 1, 0.7)
    assert math.exp(-state.draws.rate[0] / 3 * state.draws.loss[1]) == pytest.approx(1.031132059, abs=1e-9)
    assert choose(policy, state, 1).tolist() == pytest.approx([0.330059683, 0.339880633, 0.330059683], abs=1e-9)


def test_exp3_explores_all_the_time_if_time_is_short() -> None:
    policy = Exp3()
    for n_arms, horizon, gamma in [(3, 1, 1.0), (1, 1000, math.sqrt(2 * math.log(2) / ((math.e - 1) * 1000)))]:
        assert policy.init(n_arms, horizon).draws.rate[0] == pytest.approx(gamma)  # one arm counts as two
    state = policy.init(3, 1)
    policy.update(state, 1, 1.0)
    assert choose(policy, state, 1).tolist() == pytest.approx([1 / 3] * 3)


def test_tsallis_inf_numbers() -> None:
    policy = hb.TsallisINF()
    state = policy.init(3, None)
    state.draws.loss[:] = 0.0, 1.0, 2.0
    assert choose(policy, state, 3).tolist() == pytest.approx([0.534814336, 0.286761628, 0.178424036], abs=1e-9)


def test_skipping_factors() -> None:
    for alpha, factor in [(1.05, 0.031015526), (1.1, 0.056125687), (1.25, 0.109101282), (1.5, 0.159103585),
                          (1.75, 0.187747604), (2.0, 0.206299474)]:  # fmt: skip
        assert skipping_factor(alpha - 1.0) == pytest.approx(factor, abs=1e-9)
        other = (2 - 2 / alpha) ** (1 / (2 - alpha)) if alpha < 2 else math.exp(-0.5)
        assert skipping_factor(alpha - 1.0) < other  # the paper takes the smaller of the two


def test_htinf_thresholds() -> None:
    policy = HTINF(eps=0.5, scale=1, offset=0)
    state = policy.init(3, None)
    state.draws.loss[:] = 0.0, 1.0, 2.0
    assert choose(policy, state, 3).tolist() == pytest.approx([0.612971322, 0.256411452, 0.130617227], abs=1e-9)
    assert state.draws.rate[0] == pytest.approx(0.396850263, abs=1e-9)
    for arm, threshold in enumerate((0.289298865, 0.161812315, 0.103209640)):
        assert_threshold(policy, state, arm, threshold)


def test_trace_of_htinf() -> None:
    for policy in (HTINF(eps=1, scale=1, offset=0), hb.make("opt-tinf", offset=0)):
        state = policy.init(2, None)
        trace = [(0, 0.3, 0.145875757), (1, 5.0, 0.206299474), (0, -0.2, 0.252664223), (1, 0.1, 0.270607816)]
        for t, (arm, loss, threshold) in enumerate(trace):
            chance = choose(policy, state, t)
            assert_threshold(policy, state, arm, threshold)
            policy.update(state, arm, -loss)
        assert chance.tolist() == pytest.approx([0.569845531, 0.430154469], abs=1e-9)
        assert state.draws.loss.tolist() == pytest.approx([-0.4, 0.232474628], abs=1e-9)


def test_trace_of_ada_tinf() -> None:
    policy = AdaTINF(offset=0)
    state = policy.init(2, 8)
    assert state.budget[0] == pytest.approx(4.242640687, abs=1e-9)
    trace = [  # arm, loss, threshold, costs and scale afterwards
        (0, 0.1, 0.145875757, 0.028284271, 1),
        (1, 3.0, 0.216307897, 3.028284271, 1),
        (0, 2.0, 0.242174157, 2.0, 2),
        (1, 40.0, 0.593720497, 40.0, 32),
        (0, -0.5, 10.427699438, 40.009891898, 32),
        (1, 0.8, 11.392841703, 40.009891898 + 0.023178004, 32),
    ]
    for t, (arm, loss, threshold, costs, scale) in enumerate(trace):
        chance = choose(policy, state, t)
        assert_threshold(policy, state, arm, threshold)
        policy.update(state, arm, -loss)
        assert state.costs[0] == pytest.approx(costs, abs=2e-9)
        assert state.scale[0] == scale
    assert chance.tolist() == pytest.approx([0.503617253, 0.496382747], abs=1e-9)
    assert state.draws.loss.tolist() == pytest.approx([-0.801980333, 1.611659562], abs=1e-9)


def test_trace_of_uni_inf() -> None:
    policy = UniINF(offset=0)
    state = policy.init(2, 100)
    trace = [  # arm, loss, threshold, barrier afterwards
        (0, 1.0, 2.0, 4.003391488),
        (1, 5.0, 2.282446855, 4.016951732),
        (0, -0.5, 1.789126249, 4.018016050),
        (1, 0.2, 2.122280791, 4.018137119),
    ]
    for t, (arm, loss, threshold, barrier) in enumerate(trace):
        choose(policy, state, t)
        assert_threshold(policy, state, arm, threshold)
        policy.update(state, arm, -loss)
        assert state.barrier[0] == pytest.approx(barrier, abs=1e-9)
    assert state.draws.loss.tolist() == pytest.approx([0.860266988, 0.379732489], abs=1e-9)


def test_inf_clip_numbers() -> None:
    policy = INFClip(eps=0.5, scale=2, offset=0)
    state = policy.init(2, 1000)
    assert state.level[0] == pytest.approx(79.370052598, abs=1e-9)
    assert state.draws.rate[0] == pytest.approx(0.008908987181, abs=1e-12)
    policy.update(state, 0, -5.0)
    assert choose(policy, state, 1).tolist() == pytest.approx([0.468579763, 0.531420237], abs=1e-9)
    for reward in (math.inf, 1e300):
        state = policy.init(2, 1000)
        policy.update(state, 1, reward)
        assert state.draws.loss[1] == pytest.approx(-2 * 79.370052598, abs=1e-8)


def test_inf_clip_minimises_its_bound() -> None:
    n_arms, horizon, eps, scale = 3, 5000, 0.6, 1.7
    state = INFClip(eps=eps, scale=scale, offset=0).init(n_arms, horizon)

    def bound(logs: FloatArray) -> float:
        rate, level = np.exp(logs)
        spread = rate * horizon * math.sqrt(n_arms) * scale ** (1 + eps) * level ** (1 - eps)
        return float(2 * math.sqrt(n_arms) / rate + spread + horizon * scale ** (1 + eps) * level**-eps)

    found = optimize.minimize(bound, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert np.exp(found.x).tolist() == pytest.approx([state.draws.rate[0], state.level[0]], rel=1e-5)
    finite = INFClip(eps=1, scale=scale, offset=0).init(n_arms, horizon)
    assert finite.level[0] == math.inf
    assert finite.draws.rate[0] == pytest.approx(math.sqrt(2 / horizon) / scale)
