"""The engine: the same streams for all policies, whatever the order, the workers and the chunks."""

import json
import math
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.engine.arms_game import BLOCK_DRAWS, BLOCK_ROUNDS, ArmsGame, block_length, draw_noise
from heavybandits.engine.checkpoints import checkpoint_rounds
from heavybandits.engine.loop import Run, play_chunk
from heavybandits.engine.streams import generator, stream_key

POLICIES = {
    "ucb": hb.UCB(c=0.5),
    "median": hb.make("sgd-ucb-median", clip=2.0),
    "thompson": hb.make("thompson-gaussian"),
}
INSTANCE = hb.Instance([0.0, 0.5, 1.0], hb.Cauchy())


def slow_regret(instance: hb.Instance, policy: Any, horizon: int, seed: int, replication: int) -> np.ndarray:
    """Return cumulative regret after every round, by the plainest loop there is."""
    rng = generator(stream_key(seed, instance.key), replication)
    block = block_length(instance)
    noise = np.concatenate(
        [draw_noise(instance, rng, min(block, horizon - start)) for start in range(0, horizon, block)]
    )
    own = generator(Run(ArmsGame(instance), policy, horizon, checkpoint_rounds(horizon), seed).key, replication)
    state = policy.init(instance.n_arms, horizon)
    regret, total = [], 0.0
    for t in range(horizon):
        arm = policy.select(state, t, own)
        policy.update(state, arm, instance.means[arm] + noise[t, arm])
        total += instance.gaps[arm]
        regret.append(total)
    return np.array(regret)


@pytest.mark.parametrize("label", POLICIES)
def test_compiled_loop_equals_a_plain_one_bit_for_bit(label: str) -> None:
    result = hb.simulate(INSTANCE, {label: POLICIES[label]}, horizon=700, replications=3, seed=5, checkpoints="all")
    for replication in range(3):
        expected = slow_regret(INSTANCE, POLICIES[label], 700, 5, replication)
        assert np.array_equal(result.regret.values[0, replication], expected)


@pytest.mark.slow
def test_a_horizon_of_several_noise_blocks() -> None:
    horizon = BLOCK_ROUNDS + 100
    result = hb.simulate(INSTANCE, {"ucb": hb.UCB()}, horizon=horizon, replications=1, seed=2, checkpoints="all")
    assert np.array_equal(result.regret.values[0, 0], slow_regret(INSTANCE, hb.UCB(), horizon, 2, 0))
    assert result.pulls.sum() == horizon


def test_many_laws_are_drawn_in_shorter_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    many = hb.Instance(range(1000), [hb.Cauchy(scale) for scale in range(1, 1001)])
    assert BLOCK_DRAWS - 1000 < block_length(many) * many.n_arms <= BLOCK_DRAWS
    assert block_length(hb.Instance(range(1000), hb.Cauchy())) == BLOCK_ROUNDS  # one number serves all arms
    few = hb.Instance([0.0, 0.5, 1.0], [hb.Cauchy(1.0), hb.Gaussian(), hb.Cauchy(2.0)])
    assert block_length(few) == BLOCK_ROUNDS

    monkeypatch.setitem(block_length.__globals__, "BLOCK_DRAWS", 200)
    result = hb.simulate(few, {"ucb": hb.UCB()}, horizon=300, replications=1, seed=2, checkpoints="all")
    assert np.array_equal(result.regret.values[0, 0], slow_regret(few, hb.UCB(), 300, 2, 0))
    monkeypatch.setitem(block_length.__globals__, "BLOCK_DRAWS", 2)
    assert block_length(few) == 1


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    one = hb.simulate(INSTANCE, POLICIES, horizon=300, replications=11, seed=1, workers=1)
    many = hb.simulate(INSTANCE, POLICIES, horizon=300, replications=11, seed=1, workers=workers)
    assert np.array_equal(one.regret, many.regret)
    assert np.array_equal(one.pulls, many.pulls)


def test_results_do_not_depend_on_chunks_order_or_company() -> None:
    rounds = checkpoint_rounds(300)
    game = ArmsGame(INSTANCE)
    runs = [Run(game, policy, 300, rounds, 1) for policy in POLICIES.values()]
    whole = play_chunk(game, runs, 300, 1, range(6))
    with ThreadPoolExecutor(2) as executor:
        chunks = [range(4, 6), range(1), range(1, 4)]
        parts = dict(zip(chunks, executor.map(lambda c: play_chunk(game, runs[::-1], 300, 1, c), chunks), strict=True))
    for chunk, (regret, pulls, _) in parts.items():
        assert np.array_equal(regret[::-1], whole[0][:, chunk.start : chunk.stop])
        assert np.array_equal(pulls[::-1], whole[1][:, chunk.start : chunk.stop])
    alone = play_chunk(game, runs[2:], 300, 1, range(6))
    assert np.array_equal(alone[0][0], whole[0][2])


def test_seeds_instances_and_replications_have_streams_of_their_own() -> None:
    def final(instance: hb.Instance, seed: int) -> np.ndarray:
        return hb.simulate(instance, {"m": POLICIES["median"]}, horizon=400, replications=4, seed=seed).regret.values[
            0, :, -1
        ]

    base = final(INSTANCE, 1)
    assert np.array_equal(base, final(hb.Instance([0.0, 0.5, 1.0], hb.Cauchy()), 1))
    assert not np.array_equal(base, final(INSTANCE, 2))
    assert len(set(base.tolist())) == 4
    others = [hb.Instance([0.0, 0.5, 1.1], hb.Cauchy()), hb.Instance([0.0, 0.5, 1.0], hb.Cauchy(2.0))]
    draws = {draw_noise(i, generator(stream_key(1, i.key), 0), 5)[:, 0].tobytes() for i in (INSTANCE, *others)}
    assert len(draws) == 3


def test_all_policies_meet_the_same_noise() -> None:
    """Two policies that always play the same arms collect the same regret; the noise is drawn once for both."""
    same = hb.simulate(INSTANCE, {"a": hb.UCB(c=0.5), "b": hb.UCB(c=0.5)}, horizon=500, replications=3)
    assert np.array_equal(same.regret[0], same.regret[1])


def test_noise_may_come_in_whole_numbers_or_in_pieces_of_memory() -> None:
    class Steps:
        def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
            return rng.integers(-5, 6, 2 * size)[::2]

    drawn = draw_noise(hb.Instance([0.0, 0.5, 1.0], Steps()), np.random.default_rng(0), 7)
    expected = np.random.default_rng(0).integers(-5, 6, 14)[::2]
    np.testing.assert_array_equal(drawn, np.tile(expected[:, None], 3))
    assert drawn.dtype == float


def test_arms_with_laws_of_their_own() -> None:
    instance = hb.Instance([0.0, 3.0], [hb.Cauchy(5.0), hb.Gaussian(0.1)])
    result = hb.simulate(instance, {"median": POLICIES["median"]}, horizon=2000, replications=20, seed=0)
    assert result.pulls.sel(arm=1).mean() > 1500
    noise = draw_noise(instance, np.random.default_rng(0), 5000)
    assert np.quantile(np.abs(noise[:, 0]), 0.5) == pytest.approx(5.0, rel=0.15)
    assert noise[:, 1].std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("horizon", [1, 2, 7, 1000, 12345])
def test_default_checkpoints_are_increasing_and_end_at_the_horizon(horizon: int) -> None:
    rounds = checkpoint_rounds(horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert np.all(np.diff(rounds) > 0)
    assert len(rounds) <= 110


def test_checkpoints_pick_rounds_out_of_the_full_record() -> None:
    every = hb.simulate(INSTANCE, {"ucb": hb.UCB()}, horizon=200, replications=2, checkpoints="all").regret
    some = hb.simulate(INSTANCE, {"ucb": hb.UCB()}, horizon=200, replications=2, checkpoints=[3, 50]).regret
    assert some["round"].values.tolist() == [3, 50, 200]
    assert np.array_equal(some, every.sel(round=[3, 50, 200]))


@pytest.mark.parametrize("name", ["sgd-ucb", "sgd-ucb-median", "sgd-ucb-smom", "ucb"])
@pytest.mark.parametrize("horizon", [1, 4, 31])
def test_horizon_shorter_than_the_initial_pulls_or_cutting_a_batch(name: str, horizon: int) -> None:
    result = hb.simulate(hb.env2(hb.Cauchy()), {name: hb.make(name)}, horizon=horizon, replications=2)
    assert result.pulls.sum("arm").values.tolist() == [[horizon, horizon]]


def test_one_arm_and_equal_means_have_no_regret() -> None:
    one = hb.simulate(hb.Instance([2.0], hb.Cauchy()), POLICIES, horizon=50, replications=2)
    equal = hb.simulate(hb.Instance([1.0, 1.0, 1.0], hb.Cauchy()), POLICIES, horizon=50, replications=2)
    assert not one.regret.values.any()
    assert not equal.regret.values.any()
    assert math.isnan(one.summary()["ratio to Lai-Robbins"].iloc[0])


def test_summary_is_what_it_says() -> None:
    result = hb.simulate(INSTANCE, POLICIES, horizon=1000, replications=30, seed=3)
    final, table = result.regret.values[:, :, -1], result.summary()
    assert list(table.index) == list(POLICIES)
    assert table["mean"].to_numpy() == pytest.approx(final.mean(axis=1))
    assert table["std"].to_numpy() == pytest.approx(final.std(axis=1, ddof=1))
    assert table["worst"].to_numpy() == pytest.approx(final.max(axis=1))
    assert table["ratio to Lai-Robbins"].to_numpy() == pytest.approx(final.mean(axis=1) / INSTANCE.lai_robbins(1000))
    late = result.regret.values[:, :, -1] - result.regret.sel(round=900).values
    assert table["failures"].to_numpy() == pytest.approx((late / 100 > 0.1).mean(axis=1))


def test_figure_names_every_policy() -> None:
    axes = hb.simulate(INSTANCE, POLICIES, horizon=200, replications=3).plot().axes[0]
    assert {text.get_text().partition(" ↑")[0] for text in axes.texts} == set(POLICIES)


class Broken:
    """A noise that is NaN now and then."""

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.full(size, math.nan)


class Counted:
    """A noise that fails at its fifth draw."""

    def __init__(self) -> None:
        self.draws = 0

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        self.draws += 1
        if self.draws == 5:
            raise RuntimeError("the fifth draw")
        return rng.standard_normal(size)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_an_error_ends_the_work_of_all(workers: int) -> None:
    noise = Counted()
    with pytest.raises(RuntimeError, match="the fifth draw"):
        hb.simulate(hb.Instance([0, 1], noise), {"ucb": hb.UCB()}, horizon=10, replications=100_000, workers=workers)
    assert 5 <= noise.draws < 20_000  # others may be quick before they learn of it


@pytest.mark.slow
def test_ctrl_c_ends_the_work_of_all() -> None:
    script = """
import signal
import heavybandits as hb
signal.signal(signal.SIGINT, signal.default_int_handler)
class Loud:
    def sample(self, rng, size):
        print("drawn", flush=True)
        return rng.standard_normal(size)
hb.simulate(hb.Instance([0, 1], Loud()), {"ucb": hb.UCB()}, horizon=100_000, replications=100_000, workers=2,
            checkpoints="end")
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert "drawn" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert errors.endswith("KeyboardInterrupt\n")
    assert process.returncode not in (0, -signal.SIGKILL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "simulate: horizon must be .*, got 0"),
        ({"horizon": 2.5}, "simulate: horizon must be .*, got 2.5"),
        ({"horizon": 10**30}, "simulate: horizon must be at most 9007199254740992, got 10{30}$"),
        ({"replications": -1}, "simulate: replications must be .*, got -1"),
        ({"seed": -1}, "simulate: seed must be .*, got -1"),
        ({"workers": 0}, "simulate: workers must be .*, got 0"),
        ({"checkpoints": "linear"}, "checkpoints must be .*'linear'"),
        ({"checkpoints": [5, 5]}, "checkpoints must be .*"),
        ({"checkpoints": [5, 500]}, "checkpoints must be .* to 50"),
        ({"policies": {}}, "policies must be a mapping"),
        ({"policies": {"ucb": hb.UCB}}, "policies must be policies"),
        ({"policies": {"x": 3}}, "policies must be policies such as hb.UCB\\(\\), got 3"),
        ({"instance": [0, 1]}, "instance must be one of Instance, LinearInstance, LipschitzInstance, got .0, 1."),
        ({"instance": hb.Instance([0, 1], Broken())}, "NaN"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    arguments = {"instance": INSTANCE, "policies": {"ucb": hb.UCB()}, "horizon": 50, "replications": 2, **change}
    with pytest.raises((TypeError, ValueError), match=message):
        hb.simulate(arguments.pop("instance"), arguments.pop("policies"), **arguments)


@pytest.mark.slow
def test_interpreted_equals_compiled_bit_for_bit() -> None:
    """The same simulation runs in two processes, one with compilation switched off."""
    script = """
import json, sys
import numpy as np, numba
import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.kl_ucb import KLUCB
from heavybandits.algorithms.policies.zo_ucb import ZOUCB
policies = {"ucb": hb.UCB(), "kl": KLUCB(-5, 5), "thompson": hb.make("thompson-gaussian"),
            "sgd": hb.make("sgd-ucb"), "smom": hb.make("sgd-ucb-smom", clip=2), "zo": ZOUCB(TwoPoint()),
            "fo": FOUCB(ClippedSGD(m=1, theta=0.1)), "rucb": hb.make("rucb-median", eps=1, v=1)}
out = {"jit": not numba.config.DISABLE_JIT}
for k in (3, 80):
    result = hb.simulate(hb.Instance(np.arange(k) / k, hb.Cauchy()), policies, horizon=400, replications=2, workers=2)
    out[str(k)] = [x.hex() for x in result.regret.values.ravel().tolist()]
json.dump(out, sys.stdout)
"""

    def run(disabled: str) -> dict[str, Any]:
        env = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    interpreted, compiled = run("1"), run("0")
    assert interpreted.pop("jit") is False
    assert compiled.pop("jit") is True
    assert interpreted == compiled
