"""A random number generator that is part of a state."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....protocols import FloatArray, IntArray, compilable, rarely_called

SEED = 1234567890123456789  # of a generator that has not been seeded; any number between 0 and the modulus will do
_MULTIPLIER, _WORD = 1253407776, (1 << 31) - 1
STREAM_MODULUS = _MULTIPLIER * (_WORD + 1) - 1


class Stream(NamedTuple):
    """A random number generator in a state; whoever plays the policy seeds it with :func:`.reseed`."""

    number: IntArray  # array of length one: more than 0 and less than the modulus

    def check(self, fresh: Stream, n_arms: int) -> None:
        """Refuse a number from which the generator could not continue."""
        require_within("number", self.number, 1, STREAM_MODULUS - 1)

    def reseed(self, seed: int) -> None:
        """Restart from any whole number.

        Examples
        --------
        >>> stream = init_stream()
        >>> stream.reseed(2**64 - 1)
        >>> bool(0 < stream.number[0] < STREAM_MODULUS)
        True
        """
        self.number[0] = 1 + seed % (STREAM_MODULUS - 1)


def init_stream() -> Stream:
    """Return a generator that has not been seeded."""
    return Stream(np.array([SEED]))


@compilable
def next_number(stream: Stream) -> int:
    """Return the next whole number of a generator, from 0 to 2147483647.

    This is Marsaglia's multiply-with-carry: the lower 31 bits of the state are the number, the upper bits the carry.
    The modulus 1253407776 * 2^31 - 1 is a safe prime, so the period is half of it, 1.3e18.  Nothing exceeds 63 bits, so
    plain Python and compiled code agree exactly.  As part of a state, the generator is saved with an agent, and is
    available to estimators, which have no other.

    Examples
    --------
    >>> stream = init_stream()
    >>> [int(next_number(stream)) for _ in range(3)]
    [1339256968, 244676074, 1758822581]
    """
    state: int = stream.number[0]
    stream.number[0] = _MULTIPLIER * (state & _WORD) + (state >> 31)
    return int(stream.number[0] & _WORD)


# Marsaglia and Tsang (2000): the bell curve is covered by layers of equal area, the lowest of which includes the tails
# beyond an edge.  Positions in a layer are the odd numbers between -2^24 and 2^24.  Stored for each layer are the width
# of one position, and the first position that may be above the curve.
_LAYERS, _POSITIONS, _EDGE, _AREA = 128, 1 << 24, 3.442619855899, 9.91256303526217e-3


def _layers() -> tuple[FloatArray, IntArray]:
    widths = [_AREA * math.exp(0.5 * _EDGE * _EDGE), _EDGE]
    while len(widths) < _LAYERS:
        density = _AREA / widths[-1] + math.exp(-0.5 * widths[-1] * widths[-1])
        widths.append(math.sqrt(-2.0 * math.log(density)))
    shares = np.array([*widths[1:], 0.0]) / widths
    return np.array(widths) / _POSITIONS, np.floor(_POSITIONS * shares).astype(np.int64)


_WIDTHS, _BELOW = _layers()


@compilable
def next_normal(stream: Stream) -> float:
    """Return the next standard normal number, by the ziggurat method: 97 in 100 need one whole number only.

    Examples
    --------
    >>> stream = init_stream()
    >>> [round(next_normal(stream), 3) for _ in range(3)]
    [0.669, -0.719, 1.076]
    """
    number = next_number(stream)
    layer, position = number & (_LAYERS - 1), (number >> 6 | 1) - _POSITIONS  # its lower 7 bits, and the upper 24
    if abs(position) < _BELOW[layer]:
        return float(position * _WIDTHS[layer])
    return next_from_rim(stream, layer, position)


@rarely_called
def next_from_rim(stream: Stream, layer: int, position: int) -> float:
    """Return the next normal number if the first position may be above the curve, or belongs to the tail."""
    x = position * _WIDTHS[layer]
    while abs(position) >= _BELOW[layer]:
        share = (next_number(stream) + 0.5) / (_WORD + 1)
        if layer == 0:
            x = -math.log(share) / _EDGE
            share = (next_number(stream) + 0.5) / (_WORD + 1)
            if -2.0 * math.log(share) > x * x:
                return math.copysign(_EDGE + x, position)
        else:
            outer, inner = _POSITIONS * _WIDTHS[layer], _BELOW[layer] * _WIDTHS[layer]
            low, high = math.exp(0.5 * (x - outer) * (x + outer)), math.exp(0.5 * (x - inner) * (x + inner))
            if low + share * (high - low) < 1.0:  # in units of the density at x
                break
            number = next_number(stream)
            layer, position = number & (_LAYERS - 1), (number >> 6 | 1) - _POSITIONS
            x = position * _WIDTHS[layer]
    return float(x)
