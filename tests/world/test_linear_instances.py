"""Linear instances: what they are compared by, averages over rounds, and what is refused."""

import pickle
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.world.linear_instances import draw_rounds

ROWS = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]


class Mine:
    """A user's own contexts."""

    def __init__(self, value: float = 1.0, shape: tuple[int, ...] = (2, 2)) -> None:
        self.value, self.shape = value, shape

    def __repr__(self) -> str:
        return "Mine()"

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.full((size, *self.shape), self.value)


def test_fixed_rows() -> None:
    instance = hb.LinearInstance([1, 2], ROWS, hb.Gaussian())
    assert (instance.n_arms, instance.n_features) == (3, 2)
    assert np.allclose(instance.means, [1.0, 2.0, 2.2])
    assert np.allclose(instance.gaps, [1.2, 0.2, 0.0])
    assert instance.theta_norm == pytest.approx(np.sqrt(5))
    assert not instance.contexts.flags.writeable


def test_averages_over_fresh_rows() -> None:
    instance = hb.LinearInstance([1.0, 0.0, 0.0], hb.Sphere(2, 3), hb.Gaussian())
    assert np.abs(instance.means).max() < 0.05
    assert np.allclose(
        instance.gaps, 1 / 3, atol=0.03
    )  # of two uniform numbers in [-1, 1] the larger is 1/3 on average
    drawn = hb.LinearInstance(hb.Sphere(3, 2), hb.Disjoint(3, hb.Sphere(1, 2)), hb.Gaussian())
    assert drawn.theta_norm == pytest.approx(np.sqrt(3))


def test_theta_may_be_drawn_for_each_replication() -> None:
    instance = hb.LinearInstance(hb.Sphere(1, 3), hb.Sphere(2, 3), hb.Gaussian())
    rng = np.random.default_rng(0)
    one, two = instance.theta_and_rows(rng), instance.theta_and_rows(rng)
    assert one.theta is not None
    assert two.theta is not None
    assert one.theta.shape == (3,)
    assert not np.array_equal(one.theta, two.theta)
    assert one.rows is None
    frozen = hb.LinearInstance([1.0, 0.0, 0.0], hb.Frozen(hb.Sphere(2, 3)), hb.Gaussian())
    assert frozen.theta_and_rows(rng).rows.shape == (2, 3)  # type: ignore[union-attr]
    with pytest.warns(DeprecationWarning, match="problem is called theta_and_rows now"):
        assert frozen.problem(rng).rows.shape == (2, 3)  # type: ignore[union-attr]


def test_instances_are_equal_if_all_their_parts_are() -> None:
    def made(theta: Any = (1, 2), contexts: Any = ROWS, noise: Any = None) -> hb.LinearInstance:
        return hb.LinearInstance(theta, contexts, noise or hb.Cauchy())

    one = made()
    assert one == made([1.0, 2.0], np.array(ROWS))
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(made())
    tiny = np.array(ROWS)
    tiny[0, 0] += 2e-16
    others = [made((1, 2 + 1e-15)), made(contexts=tiny), made(noise=hb.Cauchy(2.0)), made(contexts=hb.Sphere(3, 2)),
              made(contexts=hb.Cube(3, 2)), made(contexts=hb.Logged([ROWS])), made(contexts=hb.Frozen(hb.Sphere(3, 2))),
              made(theta=hb.Sphere(1, 2))]  # fmt: skip
    assert len({other.key for other in (one, *others)}) == len(others) + 1
    assert made(contexts=hb.Sphere(3, 2)) == made(contexts=hb.Sphere(3, 2))
    assert made([0.0, 1.0]) == made([-0.0, 1.0])


def test_objects_of_your_own_are_never_taken_for_equal() -> None:
    one, two = (hb.LinearInstance([1, 2], Mine(value), hb.Cauchy()) for value in (1.0, 2.0))
    assert one.key == two.key  # they read alike
    assert one != two
    assert one == hb.LinearInstance([1, 2], one.contexts, hb.Cauchy())


def test_data_start_afresh_in_each_replication() -> None:
    instance = hb.LinearInstance([1.0], [[1.0], [2.0]], hb.Empirical([1.0, 2.0], replace=False))
    assert instance.begin().noises[0] is not instance.begin().noises[0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2, 3], ROWS, hb.Cauchy()), ValueError, "theta must have one number per feature, got 3 numbers for"),
        (([[1, 2]], ROWS, hb.Cauchy()), ValueError, "theta must be d numbers, or a sampler, got shape"),
        (([1, 2], [1.0, 2.0], hb.Cauchy()), ValueError, r"contexts must be rows of features, an array of shape \(K, d"),
        (([1, np.nan], ROWS, hb.Cauchy()), ValueError, "LinearInstance: theta must be finite"),
        (([1, 2], "rows", hb.Cauchy()), TypeError, "LinearInstance: contexts must be an array of numbers, got 'rows'"),
        (([1, 2], hb.Sphere, hb.Cauchy()), TypeError, "contexts must be contexts with a method sample"),
        (([1, 2], ROWS, [hb.Cauchy()] * 2), ValueError, "LinearInstance: needs one noise per arm, got 2 for 3 arms"),
        (([1, 2], ROWS, 1.0), TypeError, "LinearInstance: noise must be an object with a method sample"),
        (([1, 2], Mine(np.inf), hb.Cauchy()), ValueError, r"contexts Mine\(\): sample\(rng, 1\) must return finite"),
        (([1, 2], Mine(shape=(2,)), hb.Cauchy()), ValueError, r"must return shape \(1, K, d\), got \(1, 2\)"),
    ],
)
def test_what_is_wrong_is_named(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hb.LinearInstance(*arguments)


def test_the_loss_of_a_learner_is_that_of_least_squares_on_random_rows() -> None:
    contexts, theta, rounds, repeats = hb.Cube(4, 3), np.array([0.5, 0.5, 0.7]), 300, 400
    rng, lost, random = np.random.default_rng(5), 0.0, 0.0
    for _ in range(repeats):
        played = contexts.sample(rng, rounds)[:, 0]
        rewards = played @ theta + 0.5 * rng.standard_normal(rounds)
        slope = np.linalg.lstsq(np.c_[np.ones(rounds), played], rewards, rcond=None)[0][1:]
        rows = contexts.sample(rng, 50)
        means, chosen = rows @ theta, (rows @ slope).argmax(axis=1)
        lost += np.mean(means.max(axis=1) - means[np.arange(50), chosen]) / repeats
        random += np.mean(means.max(axis=1) - means.mean(axis=1)) / repeats
    instance = hb.LinearInstance(theta, contexts, hb.Gaussian(0.5))
    assert 0.1 * random < lost < 0.9 * random  # neither everything is learned, nor nothing
    assert instance.learning_loss(rounds) == pytest.approx(lost, rel=0.1)


def test_what_a_learner_loses_is_known_of_fresh_rows_with_one_noise() -> None:
    def loss(contexts: Any, noise: Any) -> float | None:
        return hb.LinearInstance([1.0, 2.0], contexts, noise).learning_loss(100)

    fresh = hb.Sphere(3, 2)
    light, heavy = loss(fresh, hb.Gaussian()), loss(fresh, hb.Cauchy())
    assert light is not None
    assert heavy is not None
    assert 0.0 < light < heavy  # Cauchy noise has half the information
    assert loss(fresh, hb.Pareto(1.5)) == 0.0  # its lowest draws reveal the shift
    assert loss(Mine(), hb.Gaussian()) == 0.0  # rows are all the same
    assert loss(ROWS, hb.Gaussian()) is None
    assert loss(hb.Frozen(fresh), hb.Gaussian()) is None
    assert loss(fresh, [hb.Gaussian(), hb.Gaussian(), hb.Cauchy()]) is None
    assert hb.Instance([0, 1], hb.Gaussian()).learning_loss(100) is None
    assert hb.LipschitzInstance("peak", hb.Gaussian()).learning_loss(100) is None
    with pytest.raises(ValueError, match="learning_loss: rounds must be"):
        hb.LinearInstance([1.0, 2.0], fresh, hb.Gaussian()).learning_loss(0)


class Paid(Mine):
    """Contexts that tell what their rows pay: the square of their first number, or whatever is given."""

    def __init__(self, given: Any = None) -> None:
        super().__init__()
        self.given = given

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.standard_normal((size, 3, 2))

    def sample_paid(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, Any]:
        rows = self.sample(rng, size)
        return rows, rows[:, :, 0] ** 2 if self.given is None else self.given


def test_contexts_may_tell_what_rows_pay() -> None:
    instance = hb.LinearInstance(None, Paid(), hb.Gaussian(0.1))
    assert np.allclose(instance.means, 1.0, atol=0.15)
    assert instance.learning_loss(100) is None
    assert instance.theta_and_rows(np.random.default_rng(0)) == (None, None)
    with pytest.raises(ValueError, match="theta_norm: there is no theta"):
        _ = instance.theta_norm
    blind = hb.simulate(instance, {"any": hb.make("epsilon-greedy-ridge", epsilon=1.0)}, horizon=2000, replications=2)
    assert blind.regret.to_numpy()[:, :, -1].mean() / 2000 == pytest.approx(instance.gaps.mean(), abs=0.15)


def test_what_contexts_tell_is_checked() -> None:
    with pytest.raises(
        ValueError, match=r"without theta, contexts must have a method sample_paid\(rng, size\), got Mine"
    ):
        hb.LinearInstance(None, Mine(), hb.Gaussian())
    for given, message in ((np.zeros((1, 2)), r"shapes \(1, K, d\) and \(1, K\), got \(1, 3, 2\) and \(1, 2\)"),
                           (np.full((1, 3), np.nan), "must return finite numbers")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            draw_rounds(Paid(given), None, np.random.default_rng(0), 1)
