"""The level-set policies: sets against a fine grid, what arms share, invariances, robustness, regret."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from playing import seeds

import heavybandits as hb
from heavybandits.algorithms.kit.level_set import KEPT, minimiser, total, upper_end
from heavybandits.algorithms.kit.loss_tables import BINS, TwoPiece, at, footing, shift_of, tabulate, weigh
from heavybandits.algorithms.kit.shown import index_of
from heavybandits.algorithms.policies.level_set_ucb import DOUBT, LAWS
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

CAUCHY, LEARNED = tabulate((hb.Cauchy(),)), tabulate(LAWS, DOUBT)
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


# Tables.


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(-1e6, 1e6) | st.floats(-10, 10))
def test_a_table_is_the_loss_up_to_interpolation(z: float) -> None:
    exact = math.log(math.pi * (1 + z * z))
    error = 0.001 if abs(z) < 2 else 0.008 if abs(z) < 10 else 0.4
    assert at(CAUCHY.rho[0], z, 2.0) == pytest.approx(exact, abs=error)


def test_no_residual_is_too_large() -> None:
    assert at(CAUCHY.rho[0], math.inf, 2.0) == at(CAUCHY.rho[0], -math.inf, 2.0) < math.inf
    assert abs(at(CAUCHY.score[0], 1e308, 0.0)) < 0.1


def test_no_residual_counts_as_far() -> None:
    """Zero over a scale without an inverse is NaN, which would otherwise be looked up outside the table."""
    losses = tabulate((hb.Cauchy(), hb.Gaussian()))
    assert at(losses.rho[0], math.nan, 2.0) == at(losses.rho[0], math.inf, 2.0) == at(losses.rho[0], 1e300, 2.0)
    by_nan, by_far = np.zeros(2), np.zeros(2)
    weigh(by_nan, losses.beside, math.nan)
    weigh(by_far, losses.beside, math.inf)
    assert_array_equal(by_nan, by_far)


@pytest.mark.parametrize("name", ["auto", "adaptive-level-set-ucb"])
def test_the_smallest_numbers_are_rewards_too(name: str) -> None:
    smallest = hb.Empirical([0.0, 5e-324, 1e-323])
    result = hb.simulate(hb.Instance(laws=[smallest, smallest]), {"it": hb.make(name)}, horizon=300, replications=20)
    assert (result.pulls > 0).all()


@pytest.mark.parametrize(
    ("noise", "information"),
    [(hb.Cauchy(scale=3.0), 0.5), (hb.Gaussian(), 0.6744897501960817**2), (hb.StudentT(3.0), 0.39)],
)
def test_information_and_divergence_are_the_laws(noise: Any, information: float) -> None:
    """In units of the median absolute deviation: the information of t with 3 degrees of freedom is 4/6."""
    losses, unit = tabulate((noise,)), footing(noise)[1]
    assert losses.information[0] == pytest.approx(information, rel=0.01)
    for shift in (0.05, 0.4, 1.0, 3.0):
        assert shift_of(losses.divergence[0], noise.kl_shift(shift * unit)) == pytest.approx(shift, rel=0.03)


def test_laws_are_put_on_a_common_footing() -> None:
    """Shifted and scaled, a law makes the same table, and its centre is where Cauchy's loss is least."""
    narrow, wide = tabulate((hb.LogNormal(0.5),)), tabulate((hb.ScipyNoise(_shifted_log_normal()),))
    inside = narrow.rho < 600
    np.testing.assert_allclose(narrow.rho[inside], wide.rho[inside], rtol=1e-4, atol=1e-6)
    centre, unit = footing(hb.Frechet(1.0))
    draws = hb.Frechet(1.0).quantile((np.arange(20_000) + 0.5) / 20_000)
    assert np.median(np.abs(draws - centre)) == pytest.approx(unit, rel=1e-2)
    z = (draws - centre) / unit
    assert np.mean(2 * z / (1 + z * z)) == pytest.approx(0, abs=2e-3)


def _shifted_log_normal() -> Any:
    import scipy.stats

    return scipy.stats.lognorm(s=0.5, loc=-7.0, scale=30.0)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_two_pieces_make_a_density(law: TwoPiece) -> None:
    levels = np.linspace(0.01, 0.99, 99)
    x = law.quantile(levels)
    grid = np.linspace(x[0], x[-1], 200_001)
    density = np.exp(law.log_pdf(grid))
    mass = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(grid))))
    np.testing.assert_allclose(0.01 + np.interp(x, grid, mass), levels, atol=2e-4)


def test_levels_are_corrected_for_heavy_lower_tails_alone() -> None:
    slack = tabulate(LAWS).slack
    assert slack.tolist() == pytest.approx([0.75, 0.375, 0.0, 0.0, 0.75, 0.375, 0.75], abs=1e-3)
    assert tabulate((hb.Frechet(1.0), hb.SymmetricStable(0.5))).slack.tolist() == [0.0, 0.75]


# Level sets.


def slow_set(rewards: FloatArray, scale: float, level: float) -> tuple[float, float]:
    """Return the minimiser and the upper end of the level set of Cauchy's loss, on a fine grid."""
    grid = np.linspace(rewards.min() - 5 * scale, rewards.max() + 60 * scale, 100_001)
    total = np.zeros_like(grid)
    for reward in rewards:
        total += np.log1p(((reward - grid) / scale) ** 2)
    return float(grid[total.argmin()]), float(grid[total <= total.min() + level].max())


def upper_end_at(rewards: FloatArray, scale: float, x: float, level: float) -> float:
    """Return the upper end of the level set of Cauchy's loss whose minimiser is x."""
    rho, score, mode, n = CAUCHY.rho[0], CAUCHY.score[0], float(CAUCHY.mode[0]), len(rewards)
    return upper_end(rho, score, mode, rewards, n, scale, x, level)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.floats(-4, 4), min_size=1, max_size=KEPT), st.floats(0.3, 3.0), st.floats(0.3, 6.0))
def test_upper_end_against_a_grid(rewards: list[float], scale: float, level: float) -> None:
    ordered = np.sort(np.array(rewards))
    x, upper = slow_set(ordered, scale, level)
    found = upper_end_at(ordered, scale, x, level)
    total = [np.log1p(((ordered - theta) / scale) ** 2).sum() for theta in (x, upper, found)]
    assert total[2] - total[0] == pytest.approx(level, abs=0.05)
    assert found == pytest.approx(upper, abs=0.5 * scale)  # the table is not exact where the loss is flat


def test_a_set_with_a_gap_keeps_the_far_mode() -> None:
    """Two very low rewards do not hide that the third is high; an estimate plus a bonus would hide it."""
    rewards = np.array([-60.0, -50.0, 9.0])
    x, upper = slow_set(rewards, 1.0, 4.5)
    assert x < -40
    assert upper > 9
    assert upper_end_at(rewards, 1.0, x, 4.5) == pytest.approx(upper, abs=0.4)
    assert upper_end_at(np.array([-0.4, 0.1, 0.3]), 1.0, 0.05, 4.5) < 3


def test_a_far_reward_does_not_blur_the_end() -> None:
    near = np.array([0.9, 1.0, 1.1, 1.2])
    far = np.append(near, 1e9)
    ends = [upper_end_at(rewards, 0.2, 1.05, 2.0) for rewards in (near, far)]
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


def tabulated(law: int, rewards: FloatArray, thetas: FloatArray) -> FloatArray:
    """Return F by a law's table at many thetas, in units of the scale."""
    z = rewards[:, None] - thetas
    bins = (z / (1.0 + np.abs(z)) + 1.0) * (BINS / 2) - 0.5
    beyond = 2.0 * np.log((1.0 + np.abs(z)) / BINS)
    inside = np.interp(bins, np.arange(BINS), LEARNED.rho[law])
    sums: FloatArray = np.where((bins <= 0) | (bins >= BINS - 1), inside + beyond, inside).sum(axis=0)
    return sums


@pytest.mark.slow
@pytest.mark.parametrize("law", range(len(LAWS)))
def test_the_set_of_a_young_arm_is_that_of_a_dense_grid(law: int) -> None:
    """Whatever the rewards, the minimum is the global one, and no gap hides the upper end."""
    rng = np.random.default_rng(law)
    rho, score, mode = LEARNED.rho[law], LEARNED.score[law], float(LEARNED.mode[law])
    for _ in range(75):
        n, level = int(rng.integers(1, KEPT + 1)), float(rng.uniform(0.5, 8.0))
        rewards = np.sort(rng.choice([1.0, 5.0]) * rng.standard_t(rng.choice([1.0, 2.0]), n))
        grid = np.sort(np.concatenate([np.arange(-8.0, 100.0, 0.02) + reward for reward in rewards]))
        losses = tabulated(law, rewards, grid)
        x = minimiser(rho, score, mode, rewards, n, 1.0, float(rng.choice(rewards)))
        assert total(rho, rewards, n, 1.0, x) <= losses.min() + 0.05
        upper = grid[losses <= losses.min() + level].max()
        assert upper_end(rho, score, mode, rewards, n, 1.0, x, level) == pytest.approx(upper, abs=0.1)


def test_indices_follow_the_formula() -> None:
    """For a known scale and Cauchy's loss, they are exact for sixteen rewards, then from the divergence ln(1 + d²/4).

    At first they are wider if the last exact set was.
    """
    policy = hb.LevelSetUCB(hb.Cauchy(), scale=2.0, c=3.0)
    rewards = (2.0 * np.random.default_rng(1).standard_cauchy(30)).tolist()
    state, stretch = policy.init(2, None), 0.0
    for n, reward in enumerate(rewards, 1):
        policy.update(state, 0, reward)
        share = state.shared.clock[0] / (2 * n)
        level = math.log(1 + 3 / 2 * (1 + share * (1 + 0.5 * math.log(1 + share) ** 2))) * n / (n - 0.75)
        smooth, x = 2 * 2.0 * math.sqrt(math.exp(level / n) - 1), policy.value(state, 0)
        if n <= KEPT:
            least, upper = slow_set(np.array(rewards[:n]), 2.0, level)
            if abs(x - least) < 0.1:
                assert index_of(policy, state, 0, n) == pytest.approx(upper, abs=0.2)
            stretch = max(1.0, (index_of(policy, state, 0, n) - x) / smooth)
        else:
            upper = x + smooth * (1 + (stretch - 1) * KEPT / n)
            assert index_of(policy, state, 0, n) == pytest.approx(upper, abs=0.05)
    assert stretch > 1.0
    assert state.shared.scale[0] == 2.0


def test_all_indices_are_refreshed_from_time_to_time() -> None:
    policy = hb.LevelSetUCB(scale=1.0)
    state = fed(policy, [[0.0] * 3, [1.0] * 3])
    before = index_of(policy, state, 0, 6)
    for _ in range(200):
        policy.update(state, 1, 1.0)
    assert index_of(policy, state, 0, 206) > before + 1.0


@pytest.mark.slow
def test_location_after_many_rewards() -> None:
    """Stochastic approximation with the right score has the least possible variance: 2/n for Cauchy noise."""
    policy = hb.LevelSetUCB(scale=1.0)
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
    state = fed(hb.LevelSetUCB(), [[*quiet, *loud]])
    assert state.shared.scale[0] == pytest.approx(1e6, rel=0.3)
    assert math.isfinite(index_of(hb.LevelSetUCB(), state, 0, 14_000))


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
@pytest.mark.parametrize("policy", [AUTO, ADAPTIVE, hb.LevelSetUCB()], ids=["auto", "adaptive", "fixed"])
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seeds, st.sampled_from(["cauchy", "coins", "integers"]), st.integers(-200, 200))
def test_powers_of_two_change_nothing(policy: Any, seed: int, kind: str, exponent: int) -> None:
    rewards = streams(seed, kind)
    assert arms_played(policy, rewards) == arms_played(policy, rewards * 2.0**exponent)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seeds, st.integers(-100, 100))
def test_shifts_change_nothing(seed: int, shift: int) -> None:
    """Shifts are whole numbers and rewards have few digits, so that sums are exact."""
    rewards = np.round(streams(seed, "cauchy") * 64) / 64
    rewards = np.clip(rewards, -1e6, 1e6)
    same = np.mean(np.array(arms_played(AUTO, rewards)) == arms_played(AUTO, rewards + shift))
    assert same > 0.9  # rounding may turn near ties


# Robustness.


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
    policies = {"oracle": hb.make("oracle-ucb", noise=noise), "fixed": hb.LevelSetUCB()}
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
        hb.LevelSetUCB(wrong)


def test_tables_cover_the_line() -> None:
    assert CAUCHY.rho.shape == (1, BINS)
    assert at(CAUCHY.rho[0], 127.0, 2.0) == pytest.approx(math.log(math.pi * (1 + 127**2)), abs=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_law_is_judged_by_a_thousand_residuals(scale: float) -> None:
    policy, rng = hb.LevelSetUCB(None, scale), np.random.default_rng(0)
    state, after = policy.init(1, None), {}
    for t in range(2000):
        policy.update(state, 0, rng.standard_normal())
        after[t] = state.shared.evidence.tolist()
    assert after[900] != after[800]
    assert after[1999] == after[1100]
