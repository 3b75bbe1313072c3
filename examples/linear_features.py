"""
Linear bandits
==============

Each round offers twenty new arms with five features each, and pays a reward that is linear in the features.  LinUCB
fits least squares, which a single large reward can overturn.  ``linear-auto`` fits the same model robustly.
"""

import matplotlib.pyplot as plt

import heavybandits as hb

NOISES = {"Gaussian": hb.Gaussian(), "Student t 1.5": hb.StudentT(1.5), "Cauchy": hb.Cauchy()}
POLICIES = {"lin-ucb": hb.make("lin-ucb"), "linear-auto": hb.make("linear-auto")}

figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
for axes, (name, noise) in zip(panels, NOISES.items(), strict=True):
    instance = hb.LinearInstance(hb.Sphere(1, 5), hb.Sphere(n_arms=20, n_features=5), noise)  # theta is drawn, too
    result = hb.simulate(instance, POLICIES, horizon=2000, replications=20)
    result.plot(axes, band=["linear-auto"])
    axes.set_title(f"{name} noise")
    print(name, *(f"{policy} {mean:.0f}" for policy, mean in result.summary()["mean"].items()))
plt.show()
