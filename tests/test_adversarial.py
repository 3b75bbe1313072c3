"""The randomised policies: published numbers, slow references, invariances, draws, and what is proved of them."""

import copy
import itertools
import math
import re
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import heavybandits as hb
from heavybandits.draws import charge, draw, init_draws, probability, tsallis
from heavybandits.numerics import clip, power, saturate
from heavybandits.policies.htinf import skipping_factor
from heavybandits.protocols import FloatArray
from heavybandits.state import carried

WILD = [0.0, 0.0, 1.0, -1.0, 1e300, -1e300, math.inf, -math.inf]
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _silent() -> Any:
    """Interpreted code as silent as compiled code when numbers overflow."""
    with np.errstate(all="ignore"):
        yield


def rewards_table(kind: str, seed: int, horizon: int, n_arms: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    table = np.linspace(0.0, 1.0, n_arms) + rng.standard_t(1.5, (horizon, n_arms))
    if kind == "coins":
        return (rng.random(table.shape) < np.linspace(0.3, 0.7, n_arms)).astype(float)
    if kind == "constant":
        return np.ones(table.shape)
    if kind == "wild":
        return np.where(rng.random(table.shape) < 0.2, rng.choice(WILD, table.shape), table)
    return table


def play(policy: Any, table: FloatArray, seed: int = 0) -> tuple[list[int], Any]:
    """Arms that the interpreted policy draws, and its state; round t pays row t."""
    horizon, n_arms = table.shape
    state, rng, arms = policy.init(n_arms, horizon), np.random.default_rng(seed), []
    for t in range(horizon):
        arms.append(int(policy.select(state, t, rng)))
        policy.update(state, arms[-1], float(table[t, arms[-1]]))
    return arms, state


def choose(policy: Any, state: Any, t: int) -> FloatArray:
    """Probabilities of round t + 1; whatever is drawn is forgotten, so that any arm may get a reward."""
    policy.select(state, t, np.random.default_rng(0))
    state.draws.awaited[:] = 0.0
    return state.draws.chance.copy()


def takes_in(policy: Any, state: Any, arm: int, loss: float) -> bool:
    """Whether a loss would count, for a policy without offset."""
    trial = copy.deepcopy(state)
    policy.update(trial, arm, -loss)
    return bool(trial.draws.loss[arm] != state.draws.loss[arm])


def assert_threshold(policy: Any, state: Any, arm: int, threshold: float) -> None:
    for sign in (1.0, -1.0):
        assert takes_in(policy, state, arm, sign * threshold * (1 - 1e-8))
        assert not takes_in(policy, state, arm, sign * threshold * (1 + 1e-8))


# Probabilities.


def solved(loss: FloatArray, rate: float, q: float) -> FloatArray:
    """The same by a bracketing solver."""
    y = rate * (loss - loss.min())
    if len(y) == 1:
        return np.ones(1)

    def excess(nu: float) -> float:
        return math.fsum((y + nu) ** -q) - 1.0

    return np.asarray((y + optimize.brentq(excess, 1.0, 2.0 * len(y) ** (1 / q), xtol=1e-15, rtol=1e-15)) ** -q)


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
        assert draws.root[0] == pytest.approx(nu, abs=1e-11)


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


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0, 13 / 3, 21.0])
@pytest.mark.parametrize("n_arms", [1, 2, 10, 1000])
def test_newton_needs_few_steps_and_finds_the_root(n_arms: int, q: float) -> None:
    """From the root of other losses, from the least possible one, and from far too large a one."""
    rng = np.random.default_rng(n_arms)
    draws = init_draws(n_arms, 1.0)
    for loss in hard_losses(n_arms, rng):
        draws.loss[:] = loss
        for rate in (1e-5, 0.1, 30.0):
            expected = solved(loss, rate, q)
            for start in (draws.root[0], 1.0, float(n_arms)):
                draws.rate[0], draws.root[0] = rate, start
                assert tsallis(draws, q) <= 8
                assert np.allclose(draws.chance, expected, rtol=1e-10, atol=1e-14)
                assert math.fsum(draws.chance) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("q", [1.0, 2.0, 3.5])
def test_the_root_is_foreseen(q: float) -> None:
    """While losses come one by one and the rate falls, one pass over the arms is mostly enough."""
    draws, rng, passes = init_draws(20, 1.0), np.random.default_rng(0), []
    for t in range(1, 600):
        draws.rate[0] = 1.0 / math.sqrt(t)
        passes.append(tsallis(draws, q))
        expected = solved(draws.loss, draws.rate[0], q)
        assert np.allclose(draws.chance, expected, rtol=1e-10, atol=1e-14)
        arm = int(rng.choice(20, p=expected / expected.sum()))
        charge(draws, arm, 0.1 * rng.standard_t(3) / expected[arm])
    assert np.mean(passes[50:]) < 1.4


@pytest.mark.parametrize("q", [1.0, 2.0, 3.5, 1001.0])
def test_what_is_foreseen_may_be_wrong(q: float) -> None:
    """Whatever happens between two choices, and whatever the memory of the last one is, the root is found."""
    draws, rng = init_draws(300, 1.0), np.random.default_rng(1)
    for _ in range(100):
        for _ in range(int(rng.integers(4))):
            charge(draws, int(rng.integers(3)), float(rng.choice([1e-3, 3.0, -3.0, 1e300, -1e300, math.inf])))
        draws.root[:4] = draws.root[:4] if rng.random() < 0.5 else rng.choice([1e-9, 2.0, 250.0, 1e300], 4)
        draws.rate[0] = 10.0 ** rng.uniform(-6, 2)
        tsallis(draws, q)
        assert np.allclose(draws.chance, solved(draws.loss, draws.rate[0], q), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    "policy",
    [
        hb.HTINF(eps=1.0, scale=1e308, offset=0.0),
        hb.HTINF(eps=1.0, scale=1e-310, offset=0.0),
        hb.HTINF(eps=5e-324, scale=1.0, offset=0.0),
        hb.INFClip(eps=1.0, scale=1e-310, offset=0.0),
        hb.INFClip(eps=1e-200, scale=1e-300, offset=0.0),
        hb.MedianINF(m=1, scale=1e-310, offset=0.0),
        hb.UniINF(offset=0.0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
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
    policy = hb.Exp3()
    state = policy.init(3, 1000)
    assert state.draws.rate[0] == pytest.approx(0.043796121811, abs=1e-12)
    assert choose(policy, state, 0).tolist() == pytest.approx([1 / 3] * 3)
    policy.update(state, 1, 0.7)
    assert math.exp(-state.draws.rate[0] / 3 * state.draws.loss[1]) == pytest.approx(1.031132059, abs=1e-9)
    assert choose(policy, state, 1).tolist() == pytest.approx([0.330059683, 0.339880633, 0.330059683], abs=1e-9)


def test_exp3_explores_all_the_time_if_time_is_short() -> None:
    policy = hb.Exp3()
    for n_arms, horizon, gamma in [(3, 1, 1.0), (1, 1000, math.sqrt(2 * math.log(2) / ((math.e - 1) * 1000)))]:
        assert policy.init(n_arms, horizon).draws.rate[0] == pytest.approx(gamma)  # one arm: as if there were two
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
    policy = hb.HTINF(eps=0.5, scale=1, offset=0)
    state = policy.init(3, None)
    state.draws.loss[:] = 0.0, 1.0, 2.0
    assert choose(policy, state, 3).tolist() == pytest.approx([0.612971322, 0.256411452, 0.130617227], abs=1e-9)
    assert state.draws.rate[0] == pytest.approx(0.396850263, abs=1e-9)
    for arm, threshold in enumerate((0.289298865, 0.161812315, 0.103209640)):
        assert_threshold(policy, state, arm, threshold)


def test_trace_of_htinf() -> None:
    for policy in (hb.HTINF(eps=1, scale=1, offset=0), hb.make("opt-tinf", offset=0)):
        state = policy.init(2, None)
        trace = [(0, 0.3, 0.145875757), (1, 5.0, 0.206299474), (0, -0.2, 0.252664223), (1, 0.1, 0.270607816)]
        for t, (arm, loss, threshold) in enumerate(trace):
            chance = choose(policy, state, t)
            assert_threshold(policy, state, arm, threshold)
            policy.update(state, arm, -loss)
        assert chance.tolist() == pytest.approx([0.569845531, 0.430154469], abs=1e-9)
        assert state.draws.loss.tolist() == pytest.approx([-0.4, 0.232474628], abs=1e-9)


def test_trace_of_ada_tinf() -> None:
    policy = hb.AdaTINF(offset=0)
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
    policy = hb.UniINF(offset=0)
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
    policy = hb.INFClip(eps=0.5, scale=2, offset=0)
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
    state = hb.INFClip(eps=eps, scale=scale, offset=0).init(n_arms, horizon)

    def bound(logs: FloatArray) -> float:
        rate, level = np.exp(logs)
        spread = rate * horizon * math.sqrt(n_arms) * scale ** (1 + eps) * level ** (1 - eps)
        return float(2 * math.sqrt(n_arms) / rate + spread + horizon * scale ** (1 + eps) * level**-eps)

    found = optimize.minimize(bound, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert np.exp(found.x).tolist() == pytest.approx([state.draws.rate[0], state.level[0]], rel=1e-5)
    finite = hb.INFClip(eps=1, scale=scale, offset=0).init(n_arms, horizon)
    assert finite.level[0] == math.inf
    assert finite.draws.rate[0] == pytest.approx(math.sqrt(2 / horizon) / scale)


# Slow references: each is its formula, on lists.


def reference_exp3(policy: hb.Exp3, n_arms: int, horizon: int) -> Any:
    gamma = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * horizon)))

    def chances(loss: list[float], t: int) -> list[float]:
        weights = [math.exp(gamma / n_arms * (min(loss) - own)) for own in loss]
        return [(1 - gamma) * weight / sum(weights) + gamma / n_arms for weight in weights]

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        loss[arm] -= (min(max(reward, policy.low), policy.high) - policy.low) / (policy.high - policy.low) / x[arm]

    return chances, learn


def reference_tsallis_inf(policy: hb.TsallisINF, n_arms: int, horizon: int) -> Any:
    """In the scaling of the paper: w = 4/(eta (L - z))^2."""
    reduced = policy.estimator == "reduced-variance"

    def eta(t: int) -> float:
        return (4 if reduced else 2) / math.sqrt(t)

    def chances(loss: list[float], t: int) -> list[float]:
        top = min(loss) - 2 / eta(t)
        bottom = min(loss) - 2 * math.sqrt(n_arms) / eta(t)
        z = optimize.brentq(lambda z: sum(4 / (eta(t) * (own - z)) ** 2 for own in loss) - 1, bottom, top, rtol=1e-15)
        return [4 / (eta(t) * (own - z)) ** 2 for own in loss]

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        own = (policy.high - min(max(reward, policy.low), policy.high)) / (policy.high - policy.low)
        for i in range(n_arms):
            baseline = 0.5 if reduced and x[i] >= eta(t) ** 2 else 0.0
            loss[i] += baseline + ((own - baseline) / x[i] if i == arm else 0.0)

    return chances, learn


def reference_htinf(policy: hb.HTINF, n_arms: int, horizon: int) -> Any:
    alpha = 1 + policy.eps

    def eta(t: int) -> float:
        return 1 / (policy.scale * t ** (1 / alpha))

    def chances(loss: list[float], t: int) -> list[float]:
        return solved(np.array(loss), eta(t), alpha / (alpha - 1)).tolist()

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        own = policy.offset - reward
        if abs(own) <= (1 - 2 ** (-(alpha - 1) / (2 * alpha - 1))) / eta(t) * x[arm] ** (1 / alpha):
            loss[arm] += own / x[arm]

    return chances, learn


def reference_ada_tinf(policy: hb.AdaTINF, n_arms: int, horizon: int) -> Any:
    doublings, costs, unit = 0, 0.0, math.sqrt(n_arms * (horizon + 1))

    def chances(loss: list[float], t: int) -> list[float]:
        return solved(np.array(loss), 1 / (2.0**doublings * math.sqrt(t)), 2).tolist()

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        nonlocal doublings, costs
        own = saturate(policy.offset - reward)
        cost = own
        if abs(own) <= 2.0**doublings * (1 - 2 ** (-1 / 3)) * math.sqrt(t * x[arm]):
            loss[arm] += own / x[arm]
            cost = own * (2 / (2.0**doublings * math.sqrt(t)) * own / math.sqrt(x[arm]))
        costs = saturate(costs + cost)
        if costs > 2.0**doublings * unit:
            doublings = min(1000, max(doublings + 1, math.ceil(math.log2(cost / unit)) + 1))
            costs = cost

    return chances, learn


def reference_inf_clip(policy: hb.INFClip, n_arms: int, horizon: int) -> Any:
    a, scale = policy.eps, policy.scale
    level = scale * (2 * a / (1 - a)) ** (2 / (1 + a)) * (horizon / (8 * n_arms)) ** (1 / (1 + a))
    rate = math.sqrt(2 / (horizon * level ** (1 - a) * scale ** (1 + a)))

    def chances(loss: list[float], t: int) -> list[float]:
        return solved(np.array(loss), rate, 2).tolist()

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        loss[arm] += clip(policy.offset - reward, level) / x[arm]

    return chances, learn


def reference_uni_inf(policy: hb.UniINF, n_arms: int, horizon: int) -> Any:
    barrier = 4.0

    def chances(loss: list[float], t: int) -> list[float]:
        return solved(np.array(loss), 1 / barrier, 1).tolist()

    def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
        nonlocal barrier
        own, limit = policy.offset - reward, barrier / (4 * (1 - x[arm]))
        if abs(own) < limit:
            loss[arm] += own / x[arm]
        barrier = math.sqrt(barrier**2 + (clip(own, limit) * (1 - x[arm])) ** 2 / (n_arms * math.log(horizon)))

    return chances, learn


def reference_play(reference: Any, policy: Any, table: FloatArray, seed: int, batch: int = 1) -> Any:
    """Arms drawn by the cumulative probabilities, each played ``batch`` times; then the median reward is learned."""
    horizon, n_arms = table.shape
    chances, learn = reference(policy, n_arms, horizon)
    loss, arms, rng = [0.0] * n_arms, [], np.random.default_rng(seed)
    for t in range(0, horizon, batch):
        x = chances(loss, t + 1)
        u = rng.random()
        arm = next(i for i, total in enumerate(itertools.accumulate(x)) if u < total)
        arms += [arm] * batch
        rewards = [saturate(float(reward)) for reward in table[t : t + batch, arm]]
        learn(loss, x, t + 1, arm, statistics.median(rewards))
    return arms[:horizon], loss


REFERENCES: list[tuple[Any, Any]] = [
    (hb.Exp3(low=-1, high=2), reference_exp3),
    (hb.TsallisINF(low=-1, high=2), reference_tsallis_inf),
    (hb.TsallisINF(low=-1, high=2, estimator="reduced-variance"), reference_tsallis_inf),
    (hb.HTINF(eps=0.5, scale=2, offset=1), reference_htinf),
    (hb.HTINF(eps=0.3, scale=2, offset=1), reference_htinf),
    (hb.make("opt-tinf", offset=1), reference_htinf),
    (hb.AdaTINF(offset=1), reference_ada_tinf),
    (hb.INFClip(eps=0.5, scale=2, offset=1), reference_inf_clip),
    (hb.UniINF(offset=1), reference_uni_inf),
]


@pytest.mark.parametrize("kind", ["heavy", "coins", "constant", "wild"])
@pytest.mark.parametrize(("policy", "reference"), REFERENCES, ids=[repr(policy) for policy, _ in REFERENCES])
def test_plays_as_its_reference(policy: Any, reference: Any, kind: str) -> None:
    for n_arms in (2, 7):
        table = rewards_table(kind, n_arms, 100, n_arms)
        arms, state = play(policy, table, seed=5)
        expected, loss = reference_play(reference, policy, table, seed=5)
        assert arms == expected
        assert state.draws.loss == pytest.approx(np.array(loss), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["heavy", "coins", "constant", "wild"])
@pytest.mark.parametrize("m", [0, 2])
def test_median_inf_plays_as_inf_on_medians(kind: str, m: int) -> None:
    def reference(policy: hb.MedianINF, n_arms: int, horizon: int) -> Any:
        n_draws = horizon / (2 * m + 1)

        def chances(loss: list[float], t: int) -> list[float]:
            return solved(np.array(loss), math.sqrt(2 / n_draws) / policy.scale, 2).tolist()

        def learn(loss: list[float], x: list[float], t: int, arm: int, reward: float) -> None:
            loss[arm] += clip(policy.offset - reward, policy.scale * math.sqrt(n_draws)) / x[arm]

        return chances, learn

    policy = hb.MedianINF(m=m, scale=2, offset=1)
    table = rewards_table(kind, m, 300, 3)
    arms, state = play(policy, table)
    expected, loss = reference_play(reference, policy, table, 0, 2 * m + 1)
    assert arms == expected
    assert state.draws.loss == pytest.approx(np.array(loss), rel=1e-9)


# Invariances.

FAMILY: list[Any] = [policy for policy, _ in REFERENCES] + [hb.MedianINF(m=1, scale=2, offset=1)]


def moved(policy: Any, shift: float) -> Any:
    return policy._replace(**{name: getattr(policy, name) + shift
                              for name in ("low", "high", "offset") if name in policy._fields})  # fmt: skip


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seeds, st.floats(-50, 50))
def test_a_common_shift_of_rewards_and_offset_changes_nothing(seed: int, shift: float) -> None:
    table = rewards_table("heavy", seed, 60, 4)
    for policy in FAMILY:
        assert play(policy, table)[0] == play(moved(policy, shift), table + shift)[0]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seeds, st.integers(-30, 30), st.sampled_from(["heavy", "coins", "wild"]))
def test_scaling_by_a_power_of_two_is_exact(seed: int, power_of_two: int, kind: str) -> None:
    """But for the policies whose scale is fixed at the start."""
    a = 2.0**power_of_two
    table = rewards_table(kind, seed, 60, 4)
    for policy in FAMILY:
        if "low" in policy._fields or "scale" in policy._fields:
            fields = {name: a * getattr(policy, name)
                      for name in ("low", "high", "offset", "scale") if name in policy._fields}  # fmt: skip
            (one, state), (two, scaled) = play(policy, table), play(policy._replace(**fields), a * table)
            assert one == two
            unit = 1.0 if "low" in policy._fields else a
            assert (unit * state.draws.loss).tolist() == scaled.draws.loss.tolist()
            assert state.draws.chance.tolist() == scaled.draws.chance.tolist()


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seeds, st.permutations(range(5)))
def test_permuted_arms_have_permuted_probabilities(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    table, arms = rewards_table("heavy", seed, 40, 5), rng.integers(5, size=40)
    for policy in FAMILY:
        one, two = policy.init(5, 40), policy.init(5, 40)
        for t, arm in enumerate(arms):
            chance, permuted = choose(policy, one, t), choose(policy, two, t)
            assert np.allclose(chance[order], permuted, rtol=1e-9, atol=0.0)
            policy.update(one, arm, table[t, arm])
            policy.update(two, order.index(arm), table[t, arm])


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seeds)
def test_probabilities_sum_to_one_whatever_the_rewards(seed: int) -> None:
    table = rewards_table("wild", seed, 80, 5)
    for policy in FAMILY:
        _, state = play(policy, table, seed)
        chance = choose(policy, state, 80)
        assert math.fsum(chance) == pytest.approx(1.0, abs=1e-13)
        assert chance.min() >= 0.0


# Draws.


class Fixed:
    """A generator of one number."""

    def __init__(self, u: float) -> None:
        self.u = u

    def random(self) -> float:
        return self.u


def test_draws_follow_the_cumulative_probabilities() -> None:
    draws = init_draws(5, 1.0)
    draws.chance[:] = 0.0, 0.25, 0.0, 0.75, 0.0
    for u, arm in [(0.0, 1), (0.249, 1), (0.25, 3), (1.0 - 2.0**-53, 3)]:
        assert draw(draws, Fixed(u)) == arm
    draws.chance[3] = 0.75 - 1e-15  # a sum below one, as rounding may leave it, must not lead to the last arm
    assert draw(draws, Fixed(1.0 - 2.0**-53)) == 3
    draws.open[3] = False
    assert {draw(draws, Fixed(u)) for u in (0.0, 0.5, 0.99)} == {1}
    assert draws.awaited[1] == 1.0
    draws.open[1] = False  # what is left has no probability at all
    assert draw(draws, Fixed(0.5)) == 0
    assert draws.awaited[0] == 1.0


def test_open_arms_keep_their_proportions() -> None:
    policy = hb.HTINF(eps=0.5, scale=1, offset=0)
    state = policy.init(4, None)
    state.draws.loss[:] = 0.0, 2.0, 1.0, 4.0
    chance = choose(policy, state, 3)
    state.draws.open[:] = False, True, True, False
    rng = np.random.default_rng(0)
    drawn = [policy.select(state, 3, rng) for _ in range(4000)]
    share = chance[1] / (chance[1] + chance[2])
    assert set(drawn) == {1, 2}
    assert drawn.count(1) / 4000 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 4000))
    assert state.draws.awaited.tolist() == pytest.approx([0.0, share, 1 - share, 0.0])


def test_a_late_reward_counts_by_the_probability_of_its_draw() -> None:
    policy = hb.INFClip(eps=0.5, scale=10, offset=0)
    state, rng = policy.init(3, 100), np.random.default_rng(0)
    state.draws.loss[:] = 0.0, 30.0, 60.0
    arm = policy.select(state, 0, rng)
    drawn = state.draws.chance[arm]
    for other in {0, 1, 2} - {arm}:
        policy.update(state, other, 40.0)
    state.draws.open[arm] = False
    policy.select(state, 2, rng)  # another arm, at other probabilities
    now, before = state.draws.chance[arm], state.draws.loss[arm]
    assert abs(now - drawn) > 0.05
    policy.update(state, arm, -1.0)
    assert state.draws.loss[arm] - before == pytest.approx(1 / drawn)
    policy.update(state, arm, -1.0)  # unasked
    assert state.draws.loss[arm] - before == pytest.approx(1 / drawn + 1 / now)


def test_a_reward_for_an_arm_without_probability_is_a_number() -> None:
    draws = init_draws(2, 1.0)
    draws.chance[:] = 0.0, 1.0
    assert 0.0 < probability(draws, 0) <= 1e-300


def test_a_new_arm_is_as_likely_as_the_best() -> None:
    for policy in FAMILY:
        state = policy.init(3, 100)
        state.draws.loss[:] = 5.0, -3.0, 7.0
        grown = carried(state, policy.init(3, 100), policy.init(4, 100), np.array([0, 1, 2]))
        assert grown.draws.loss.tolist() == [5.0, -3.0, 7.0, -3.0]
        chance = choose(policy, grown, 50)
        assert chance[3] == chance[1] == chance.max() > chance[0]


def test_a_batch_ends_when_its_arm_closes() -> None:
    policy = hb.MedianINF(m=2, scale=1, offset=0)
    state, rng = policy.init(2, 100), np.random.default_rng(0)
    arm = policy.select(state, 0, rng)
    assert [policy.select(state, 0, rng) for _ in range(2)] == [arm] * 2
    state.draws.open[arm] = False
    assert [policy.select(state, 0, rng) for _ in range(5)] == [1 - arm] * 5
    state.draws.open[arm] = True
    later = [policy.select(state, 0, rng) for _ in range(500)]
    assert all(len(set(later[i : i + 5])) == 1 for i in range(0, 500, 5))
    assert set(later) == {0, 1}


def test_a_batch_ends_when_its_arm_is_removed() -> None:
    policy = hb.MedianINF(m=2, scale=1, offset=0)
    state, rng = policy.init(3, 100), np.random.default_rng(0)
    state.draws.loss[:2] = 1e9
    assert policy.select(state, 0, rng) == 2
    state = carried(state, policy.init(3, 100), policy.init(2, 100), np.array([0, 1]))
    drawn = [policy.select(state, 0, rng) for _ in range(500)]
    assert set(drawn) == {0, 1}
    assert all(len(set(drawn[i : i + 5])) == 1 for i in range(0, 500, 5))


# Heavy tails.


@pytest.mark.parametrize("reward", [math.inf, -math.inf, 1e300, -1e300])
@pytest.mark.parametrize("policy", [hb.HTINF(eps=0.5, scale=1, offset=1), hb.UniINF(offset=1)])
def test_huge_rewards_are_skipped(policy: Any, reward: float) -> None:
    for n_arms in (1, 2):
        state = policy.init(n_arms, 100)
        choose(policy, state, 0)
        policy.update(state, 0, reward)
        assert state.draws.loss[0] == 0.0


def test_the_scale_of_ada_tinf_is_bounded() -> None:
    policy = hb.AdaTINF(offset=0)
    state = policy.init(2, 100)
    for t in range(3):
        choose(policy, state, t)
        policy.update(state, 0, -math.inf)
    assert state.scale[0] == 2.0**1000
    assert choose(policy, state, 3).tolist() == pytest.approx([0.5, 0.5])
    state = policy.init(2, 100)
    policy.update(state, 0, math.inf)
    policy.update(state, 1, -1e9)
    assert state.scale[0] == 1.0  # the sign of the gap counts, as published


@pytest.mark.parametrize(
    ("policy", "noise"),
    [
        *((policy, hb.StudentT(1.8)) for policy in FAMILY),
        (hb.MedianINF(m=2, scale=2, offset=2), hb.Cauchy(0.5)),
    ],
    ids=repr,
)
def test_the_best_arm_is_found(policy: Any, noise: Any) -> None:
    """A uniform choice pulls it in a third of the rounds."""
    policy = policy._replace(offset=2.0) if "offset" in policy._fields else policy._replace(low=-8.0, high=8.0)
    rng = np.random.default_rng(1)
    table = np.array([0.0, 2.0, 0.0]) + noise.sample(rng, 3 * 2000).reshape(2000, 3)
    arms, _ = play(policy, table)
    assert arms[1000:].count(1) > 600


# What is proved for any rewards.


@pytest.mark.parametrize("policy", FAMILY[:3], ids=repr)
def test_regret_is_within_the_bound_where_arms_lure(policy: Any) -> None:
    """All arms but one are perfect for a quarter of the time, and worthless from then on; random choice loses 825."""
    policy, n_arms, horizon = policy._replace(low=0.0, high=1.0), 4, 2000
    table = np.zeros((horizon, n_arms))
    table[: horizon // 4] = 1.0
    table[:, 2] = 0.8
    best = table.sum(axis=0).max()
    regrets = [best - table[range(horizon), play(policy, table, seed)[0]].sum() for seed in range(3)]
    if isinstance(policy, hb.Exp3):
        assert np.mean(regrets) < 2 * math.sqrt((math.e - 1) * horizon * n_arms * math.log(n_arms))
    else:
        assert np.mean(regrets) < 4 * math.sqrt(n_arms * horizon) + 1


# Bad input.


@pytest.mark.parametrize("policy", [hb.Exp3(), *FAMILY[6:]], ids=repr)
def test_a_missing_horizon_is_named(policy: Any) -> None:
    with pytest.raises(
        ValueError, match=r"\A[a-z3-]+: its \w+ is tuned to a horizon, so horizon must be given, got None\Z"
    ):
        policy.init(2, None)


@pytest.mark.parametrize("kind", ["exp3", "tsallis-inf"])
def test_an_empty_range_is_named(kind: str) -> None:
    message = "high must be above low by a finite amount, got low=2.0, high=2.0"
    with pytest.raises(ValueError, match=re.escape(message)):
        hb.make(kind, low=2, high=2)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("htinf", {"eps": 0, "scale": 1, "offset": 0}, "HTINF: eps must be a number in (0, 1], got 0"),
        ("htinf", {"eps": 1, "scale": 0, "offset": 0}, "HTINF: scale must be a positive finite number, got 0"),
        ("htinf", {"eps": 1, "scale": 1}, "htinf: needs offset, which has no default"),
        ("inf-clip", {"eps": 2, "scale": 1, "offset": 0}, "INFClip: eps must be a number in (0, 1], got 2"),
        ("median-inf", {"m": -1, "scale": 1, "offset": 0}, "MedianINF: m must be a non-negative whole number, got -1"),
        ("opt-tinf", {"offset": math.inf}, "HTINF: offset must be a finite number, got inf"),
        ("tsallis-inf", {"estimator": "best"}, "TsallisINF: estimator must be one of 'importance-weighted', 'reduced-"),
    ],
)
def test_bad_values_are_named(kind: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        hb.make(kind, **parameters)
