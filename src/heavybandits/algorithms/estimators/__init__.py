r"""One streaming optimiser or robust mean per file.

An *estimator* of each arm's location has ``init(n_arms, horizon)``, which returns a fresh state, ``observe(state, arm,
reward)``, which buffers rewards if one step needs several, and ``value(state, arm)``, the current estimate.

The templates :class:`.FOUCB` and :class:`.ZOUCB` make a policy of an estimator with a convergence rate, ``bound(state,
arm, delta)``: it promises :math:`P\{f(x_k) - f^* \le g(k, \delta)\} \ge 1 - \delta` after the arm's k steps, and is
infinite before the first, where :math:`f(x) = (x - \mu)^2/2` in FO-UCB and :math:`f(x) = |x - \mu|` in ZO-UCB.

:class:`.RobustUCB` makes a policy of a *robust mean*, whose estimate and radius depend on :math:`L = \ln(1/\delta)`.
L never decreases.  It has

- ``initial_pulls()``: how many pulls each arm gets before its index counts;
- ``refresh(state, arm, log_term)``: brings the estimate up to date and returns it, infinite if L needs more rewards;
- ``until(state, arm, log_term)``: the L up to which that estimate stays as it is if no reward comes;
- ``width(n)`` and ``factor(log_term)``: the radius after n rewards is their product, and the factor never decreases.
"""
