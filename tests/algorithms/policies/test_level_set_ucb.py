"""The level-set policies: indices, what arms share, invariances, robustness, regret."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from level_set_reference import slow_set
from playing import seeds

import heavybandits as hb
from heavybandits.algorithms.level_sets.level_set import EXACT_REWARDS
from heavybandits.algorithms.level_sets.loss_tables import footing, tabulate
from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.algorithms.policies.level_set_ucb import DOUBT, LEARNED_LAWS, LevelSetUCB, learned_losses
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

AUTO, ADAPTIVE = hb.make("auto"), hb.make("adaptive-level-set-ucb")


def fed(policy: Any, columns: list[Any]) -> Any:
    """Return the state after these rewards of each arm, one arm after the other."""
    state = policy.init(len(columns), None)
    for arm, rewards in enumerate(columns):
        for reward in rewards:
            policy.update(state, arm, reward)
    return state


def arms_played(policy: Any, rewards: FloatArray) -> list[int]:
    """Return the arms that the interpreted policy chooses; round t pays ``rewards[t, arm]``."""
    state, arms = policy.init(rewards.shape[1], None), []
    for t, row in enumerate(rewards):
        arms.append(policy.select(state, t, None))
        policy.update(state, arms[-1], float(row[arms[-1]]))
    return arms


# Indices.


def test_indices_follow_the_formula() -> None:
    """For a known scale and Cauchy's loss, they are exact for sixteen rewards, then from the divergence ln(1 + d²/4).

    At first they are wider if the last exact set was.
    """
    policy = LevelSetUCB(hb.Cauchy(), scale=2.0, c=3.0)
    rewards = (2.0 * np.random.default_rng(1).standard_cauchy(30)).tolist()
    state, stretch = policy.init(2, None), 0.0
    for n, reward in enumerate(rewards, 1):
        policy.update(state, 0, reward)
        share = state.shared.clock[0] / (2 * n)
        level = math.log(1 + 3 / 2 * (1 + share * (1 + 0.5 * math.log(1 + share) ** 2))) * n / (n - 0.75)
        smooth, x = 2 * 2.0 * math.sqrt(math.exp(level / n) - 1), policy.value(state, 0)
        if n <= EXACT_REWARDS:
            least, upper = slow_set(np.array(rewards[:n]), 2.0, level)
            if abs(x - least) < 0.1:
                assert index_of(policy, state, 0, n) == pytest.approx(upper, abs=0.2)
            stretch = max(1.0, (index_of(policy, state, 0, n) - x) / smooth)
        else:
            upper = x + smooth * (1 + (stretch - 1) * EXACT_REWARDS / n)
            assert index_of(policy, state, 0, n) == pytest.approx(upper, abs=0.05)
    assert stretch > 1.0
    assert state.shared.scale[0] == 2.0


def test_all_indices_are_refreshed_from_time_to_time() -> None:
    policy = LevelSetUCB(scale=1.0)
    state = fed(policy, [[0.0] * 3, [1.0] * 3])
    before = index_of(policy, state, 0, 6)
    for _ in range(200):
        policy.update(state, 1, 1.0)
    assert index_of(policy, state, 0, 206) > before + 1.0


@pytest.mark.slow
def test_the_tables_on_disk_are_those_that_are_computed() -> None:
    for name, computed in tabulate(LEARNED_LAWS, DOUBT)._asdict().items():
        table = getattr(learned_losses(), name)
        assert (table.dtype, table.shape, table.flags.c_contiguous) == (computed.dtype, computed.shape, True)
        np.testing.assert_allclose(table, computed, rtol=1e-12, err_msg=name)
    learned_losses().rho[:] = 0.0
    assert learned_losses().rho.any()  # each state has tables of its own


def test_location_after_many_rewards() -> None:
    """Stochastic approximation with the right score has the least possible variance: 2/n for Cauchy noise."""
    policy = LevelSetUCB(scale=1.0)
    rng = np.random.default_rng(2)
    errors = [policy.value(fed(policy, [rng.standard_cauchy(400)]), 0) for _ in range(60)]
    assert np.mean(np.square(errors)) == pytest.approx(2 / 400, rel=0.5)


# What arms share.


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_the_scale_is_learned(scale: float) -> None:
    rewards = scale * np.random.default_rng(3).standard_cauchy((4, 500)) + 10 * scale
    state = fed(ADAPTIVE, list(rewards))
    assert state.shared.scale[0] == pytest.approx(scale, rel=0.2)


def test_the_scale_follows_a_change() -> None:
    rng = np.random.default_rng(4)
    quiet, loud = rng.standard_cauchy(2000), 1e6 * rng.standard_cauchy(12_000)
    state = fed(LevelSetUCB(), [[*quiet, *loud]])
    assert state.shared.scale[0] == pytest.approx(1e6, rel=0.3)
    assert math.isfinite(index_of(LevelSetUCB(), state, 0, 14_000))


@pytest.mark.parametrize(
    ("noise", "law"),
    [(hb.Cauchy(), (0,)), (hb.Gaussian(), (2,)), (hb.Frechet(1.0), (3, 5)), (hb.StudentT(3.0), (1,))],
    ids=repr,
)
def test_the_law_is_learned(noise: Any, law: tuple[int, ...]) -> None:
    rewards = noise.sample(np.random.default_rng(5), 1500).reshape(3, 500)
    assert int(fed(ADAPTIVE, list(rewards)).shared.law[0]) in law


# Invariances.


def streams(seed: int, kind: str) -> FloatArray:
    rng = np.random.default_rng(seed)
    shape = (150, 3)
    if kind == "coins":
        return (rng.random(shape) < [0.2, 0.5, 0.7]).astype(float)
    if kind == "integers":
        return np.round(3 * rng.standard_cauchy(shape))
    return np.array([0.0, 1.0, 2.0]) + rng.standard_cauchy(shape)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [AUTO, ADAPTIVE, LevelSetUCB()], ids=["auto", "adaptive", "fixed"])
@settings(max_examples=8, derandomize=True)
@given(seeds, st.sampled_from(["cauchy", "coins", "integers"]), st.integers(-200, 200))
def test_powers_of_two_change_nothing(policy: Any, seed: int, kind: str, exponent: int) -> None:
    rewards = streams(seed, kind)
    assert arms_played(policy, rewards) == arms_played(policy, rewards * 2.0**exponent)


@pytest.mark.slow
@settings(max_examples=8, derandomize=True)
@given(seeds, st.integers(-100, 100))
def test_shifts_change_nothing(seed: int, shift: int) -> None:
    """Shifts are whole numbers and rewards have few digits, so that sums are exact."""
    rewards = np.round(streams(seed, "cauchy") * 64) / 64
    rewards = np.clip(rewards, -1e6, 1e6)
    same = np.mean(np.array(arms_played(AUTO, rewards)) == arms_played(AUTO, rewards + shift))
    assert same > 0.9  # rounding may turn near ties


# Robustness.


@pytest.mark.parametrize("name", ["auto", "adaptive-level-set-ucb"])
def test_the_smallest_numbers_are_rewards_too(name: str) -> None:
    smallest = hb.Empirical([0.0, 5e-324, 1e-323])
    result = hb.simulate(hb.Instance(laws=[smallest, smallest]), {"it": hb.make(name)}, horizon=300, replications=20)
    assert (result.pulls > 0).all()


@pytest.mark.parametrize("value", [0.0, 7.5, -1e308])
def test_constant_rewards(value: float) -> None:
    arms = arms_played(AUTO, np.full((60, 3), value))
    assert set(arms) == {0, 1, 2} or arms[3:] == [0] * 57


def test_constant_arms_that_differ() -> None:
    arms = arms_played(AUTO, np.tile([1.0, 3.0, 2.0], (200, 1)))
    assert arms.count(1) > 150


def test_coins() -> None:
    """For two-valued rewards the scale is that of the difference, and locations lie between the values."""
    arms = arms_played(AUTO, (np.random.default_rng(6).random((1500, 2)) < [0.2, 0.8]).astype(float))
    assert arms.count(1) > 1200


@pytest.mark.slow
@pytest.mark.parametrize("when", [0, 100])
@pytest.mark.parametrize("outlier", [(0, 1e6), (9, -1e6), (0, math.inf), (9, -math.inf), (9, -1e308)], ids=str)
def test_one_wild_reward_changes_little(outlier: tuple[int, float], when: int) -> None:
    """It favours the worst arm or harms the best, before anything else is known or later."""
    noise = np.random.default_rng(7).standard_cauchy((30, 2000))
    calm = np.mean([best_share(row, []) for row in noise])
    assert np.mean([best_share(row, [(when, *outlier)]) for row in noise]) > calm - 0.05


def best_share(noise: FloatArray, unasked: list[tuple[int, int, float]]) -> float:
    """Return the share of pulls of the best of ten arms, one apart; in some rounds an arm gets a reward unasked."""
    agent, best = hb.Agent(AUTO, n_arms=10), 0
    for t, draw in enumerate(noise.tolist()):
        for when, arm, reward in unasked:
            if t == when:
                agent.update(arm, reward)
        chosen = agent.select()
        best += chosen == 9
        agent.update(chosen, chosen + draw)
    return best / len(noise)


# Regret.


@pytest.mark.slow
@pytest.mark.parametrize("noise", [hb.Cauchy(), hb.Frechet(1.0), hb.Gaussian(), hb.SymmetricStable(0.8)], ids=repr)
def test_regret_is_small_where_nothing_is_known(noise: Any) -> None:
    """It is at most that of 60 random pulls, in 3000, and nearly all replications find the best arm."""
    result = hb.simulate(hb.env1(noise), {"auto": AUTO}, horizon=3000, replications=40)
    assert result.regret[0, :, -1].median() < 60 * 4.5
    assert result.failed.mean() <= 0.05


def test_the_oracle_gains_from_what_it_is_told() -> None:
    noise = hb.Frechet(1.0)
    policies = {"oracle": hb.make("oracle-ucb", noise=noise), "fixed": LevelSetUCB()}
    result = hb.simulate(hb.env1(noise), policies, horizon=3000, replications=40)
    oracle, fixed = result.regret[:, :, -1].mean("replication")
    assert oracle < 0.6 * fixed


# Parameters.


def test_a_noise_is_kept_as_text_and_survives_saving(tmp_path: Any) -> None:
    import scipy.stats

    mixture = hb.Mixture([0.5, 0.5], [hb.Gaussian(), hb.ScipyNoise(scipy.stats.t(df=2.5))])
    policy = hb.make("oracle-ucb", noise=mixture)
    assert json.loads(policy.noise)["kind"] == "mixture"
    assert policy.scale == footing(mixture)[1]
    agent = hb.Agent(policy, n_arms=2)
    agent.update(0, 1.0)
    agent.save(tmp_path / "agent.hb")
    assert hb.Agent.load(tmp_path / "agent.hb").policy == policy


@pytest.mark.parametrize("wrong", [3, "cauchi", '{"kind": "cauchi"}', {"alpha": 1.0}])
def test_what_is_no_noise_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="LevelSetUCB: noise must be a noise with a density"):
        LevelSetUCB(wrong)


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_law_is_judged_by_a_thousand_residuals(scale: float) -> None:
    policy, rng = LevelSetUCB(None, scale), np.random.default_rng(0)
    state, after = policy.init(1, None), {}
    for t in range(2000):
        policy.update(state, 0, rng.standard_normal())
        after[t] = state.shared.evidence.tolist()
    assert after[900] != after[800]
    assert after[1999] == after[1100]
