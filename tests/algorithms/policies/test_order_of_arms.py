"""The order in which arms are listed does not matter: regret with the arms reversed is the same, up to noise."""

import math

import pytest

import heavybandits as hb
from heavybandits.algorithms.registry import examples

LAWS: dict[str, list[hb.Noise]] = {
    "coins": [hb.Bernoulli(0.05), hb.Bernoulli(0.1), hb.Bernoulli(0.3)],
    "revenue": [hb.ZeroInflated(share, hb.LogNormal(1.0)) for share in (0.02, 0.05, 0.3)],
}
HORIZON, REPLICATIONS = 400, 80
SURE = 4.5  # standard errors: exceeded by chance once in 150,000 comparisons


@pytest.mark.slow
@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize("name", sorted(hb.policies("arms")))
def test_regret_is_the_same_if_arms_are_reversed(name: str, laws: str) -> None:
    policy = hb.make(name, **examples()[name])
    means, variances = [], []
    for order in (1, -1):
        instance = hb.Instance(laws=LAWS[laws][::order])
        result = hb.simulate(instance, {"": policy}, horizon=HORIZON, replications=REPLICATIONS, checkpoints="end")
        final = result.regret.to_numpy()[0, :, -1]
        means.append(final.mean())
        variances.append(final.var(ddof=1) / REPLICATIONS)
    last = 2 * instance.gaps.max()  # if arms are played in turn, perhaps in pairs, the first may be played once more
    assert abs(means[0] - means[1]) <= SURE * math.sqrt(sum(variances)) + 1.01 * last
