"""Send each request to the quickest of four servers, of which every one stalls now and then.

A reward is a latency with a minus sign.  Stalls follow Pareto's law with index 0.9, so that the latency has no mean: an
average says more about the last stall than about the server.
"""

import numpy as np

import heavybandits as hb

TYPICAL = {"oslo": 30.0, "lima": 45.0, "rome": 24.0, "pune": 60.0}  # milliseconds
REQUESTS, RUNS = 3000, 10
POLICIES = {"UCB": hb.UCB(c=10.0), "auto": hb.make("auto")}


def latency(server, rng):
    stalled = rng.random() < 0.1
    return TYPICAL[server] * rng.lognormal(0.0, 0.3) + (100.0 * (1 + rng.pareto(0.9)) if stalled else 0.0)


def serve(choose, learn, rng):
    """Latencies of all requests, and how often each server got one."""
    latencies, served = [], dict.fromkeys(TYPICAL, 0)
    for _ in range(REQUESTS):
        server = choose()
        latencies.append(latency(server, rng))
        learn(server, -latencies[-1])
        served[server] += 1
    return latencies, served


def runs(policy):
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        if policy is None:
            yield serve(lambda rng=rng: str(rng.choice(list(TYPICAL))), lambda server, reward: None, rng)
        else:
            agent = hb.Agent(policy, arms=TYPICAL, horizon=REQUESTS, seed=seed)
            yield serve(agent.select, agent.update, rng)


print(f"latency in milliseconds, and share of requests; {RUNS} runs of {REQUESTS} requests\n")
print("policy     median  90%  99%    " + "  ".join(f"{server:>5}" for server in TYPICAL))
for label, policy in {"at random": None, **POLICIES}.items():
    done = list(runs(policy))
    middle, high, highest = np.quantile([latencies for latencies, _ in done], (0.5, 0.9, 0.99))
    shares = [np.mean([served[server] for _, served in done]) / REQUESTS for server in TYPICAL]
    print(f"{label:10} {middle:6.1f} {high:4.0f} {highest:4.0f}    " + "  ".join(f"{share:5.0%}" for share in shares))
