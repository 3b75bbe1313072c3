"""Regret where theta changes halfway, and where it does not, with and without restarts.

Run from the repository: ``python benchmarks/contextual_drift.py``.  Takes about two minutes.  Streams are those of
``contextual.py``, other sizes of them, with 8 replications of 4,000 rounds.  The column *told* is twice what
`linear-auto` loses in the first half: what it would lose if it were told when to start afresh.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from contextual import REPLICATIONS, SEED, Drawn, Rng, Stream, StreamGame, clicks, dense, offers, positive, users

import heavybandits as hb
from heavybandits.engine.loop import Run, play_chunk

HORIZON = 4000
STREAMS = {
    "dense 20, Gaussian": dense(10, 20, "Gaussian", HORIZON),
    "dense 15, t1.5": dense(12, 15, "t1.5", HORIZON),
    "dense 25, Cauchy": dense(10, 25, "Cauchy", HORIZON),
    "dense 5, t3": dense(10, 5, "t3", HORIZON),
    "one-hot 4 x 8, Gaussian": offers(10, 4, 8, "Gaussian", 1.0, HORIZON),
    "one-hot 3 x 8, clicks": clicks(10, 3, 8, HORIZON),
    "4 arms x 8, log-normal": users(4, 8, "log-normal", HORIZON),
    "fixed 10, Gaussian": dense(20, 10, "Gaussian", HORIZON, fixed=True),
    "positive 10, t2": positive(15, 10, "t2", HORIZON),
}


def halved(stream: Stream) -> Stream:
    """Return a stream that draws everything anew halfway, theta included."""

    def draw(rng: Rng, size: int) -> Drawn:
        first, second = stream.draw(rng, size // 2), stream.draw(rng, size - size // 2)
        return Drawn(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))

    return stream._replace(draw=draw)


def main() -> None:
    """Print a table of both."""
    auto = hb.make("linear-auto")
    policies = (auto, hb.make("linear-restarting", policy=auto))
    print("| stream | changes: `linear-auto` | restarting | told | stays: `linear-auto` | restarting | alarms |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    for name, stream in STREAMS.items():
        cells = [name]
        for each in (halved(stream), stream):
            game, rounds = StreamGame(name, each), np.array([HORIZON // 2, HORIZON])
            runs = [Run(game, policy, HORIZON, rounds, SEED) for policy in policies]
            alarms: list[int] = []

            def note(row: int, number: int, state: Any, alarms: list[int] = alarms) -> None:
                alarms += [int(state.restarts[0])] if row == 1 else []

            regret = play_chunk(game, runs, HORIZON, SEED, range(REPLICATIONS), ended=note).regret.mean(axis=1)
            cells += [f"{regret[0, 1]:,.0f}", f"{regret[1, 1]:,.0f}"]
            cells += [f"{2 * regret[0, 0]:,.0f}"] if each is not stream else [f"{np.mean(alarms):.2f}"]
        ratios.append(regret[1, 1] / regret[0, 1])
        print("| " + " | ".join(cells) + " |", flush=True)
    mean, most = np.exp(np.mean(np.log(ratios))), max(ratios)
    print(f"\nWhere theta stays, regret is {mean:.2f} times that without restarts, at most {most:.2f} times.")


if __name__ == "__main__":
    main()
