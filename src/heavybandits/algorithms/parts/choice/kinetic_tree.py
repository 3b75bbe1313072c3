r"""The highest of many lines at a level that only rises: a scan of few arms, a kinetic tournament of many.

The tournament is a binary tree.  Each node holds the winner among the arms below it, and the level at which that may
change.  A new line expires the nodes on the path to the root; a choice replays only the expired matches, so it costs
O(log K) amortised.  Node i has children 2i and 2i + 1, and the last K nodes are leaves.  A node has a copy of its
winner's line, because memory elsewhere is slow to reach.  Scan and tournament find the same arm, near ties included.
"""

from __future__ import annotations

import math

import numpy as np

from ....protocols import BoolArray, FloatArray, IntArray, compilable, rarely_called

SCAN = 64  # up to this many arms, a scan is quicker than the tree
VALUE, WIDTH, WINNER, EXPIRY = range(4)  # columns of the tree; lines have the first two
INDEX_ROUNDING = 2.0**-48  # indices are rounded by less than this fraction of their parts


def new_tree(line: FloatArray, open: BoolArray) -> FloatArray:
    """Return a tournament that all arms have entered."""
    tree = np.empty((2 * len(line), 4))
    plant(tree, line, open)
    return tree


def plant(tree: FloatArray, line: FloatArray, open: BoolArray) -> None:
    """Enter all arms into the tournament anew."""
    tree[:] = 0.0, 0.0, 0.0, -math.inf
    known = line[:, WIDTH] < math.inf
    tree[len(line) :, VALUE] = np.where(open, np.where(known, line[:, VALUE], math.inf), -math.inf)
    tree[len(line) :, WIDTH] = np.where(open & known, line[:, WIDTH], 0.0)
    tree[len(line) :, WINNER] = np.arange(len(line))


@compilable
def height(line: FloatArray, open: BoolArray, arm: int, level: float) -> float:
    """Return the arm's index: infinite before its first estimate, minus infinity while it may not be chosen."""
    if not open[arm]:
        return -math.inf
    if line[arm, WIDTH] == math.inf:
        return math.inf
    return float(line[arm, VALUE] + level * line[arm, WIDTH])


@compilable
def enter(tree: FloatArray | None, line: FloatArray, open: BoolArray, arm: int) -> None:
    """Copy the arm's line to its leaf, and expire all its matches."""
    if tree is None:
        return
    node, known = arm + len(line), line[arm, WIDTH] < math.inf
    if open[arm]:
        tree[node, VALUE] = line[arm, VALUE] if known else math.inf
        tree[node, WIDTH] = line[arm, WIDTH] if known else 0.0
    while node > 0 and tree[node, EXPIRY] > -math.inf:  # all nodes above an expired one have expired
        tree[node, EXPIRY] = -math.inf
        node //= 2


@compilable
def goes_first(pulls: IntArray, arm: int, other: int) -> bool:
    """Return whether an arm wins a tie: it has fewer pulls, or as many pulls and the lower number."""
    return bool(pulls[arm] < pulls[other] or (pulls[arm] == pulls[other] and arm < other))


@compilable
def last_level(tree: FloatArray, winner: int, loser: int, level: float, lead: float) -> float:
    """Return a level up to which the winner is certain to stay above the loser, given its lead at this level.

    Rounding must not delay a crossing, so it is announced early: at worst the match is replayed in vain.
    """
    if tree[winner, VALUE] == tree[loser, VALUE] and tree[winner, WIDTH] == tree[loser, WIDTH]:
        return math.inf  # pulls decide, and a new pull expires the match
    widths = tree[winner, WIDTH] + tree[loser, WIDTH]
    lead -= (
        INDEX_ROUNDING * abs(tree[winner, VALUE])
        + INDEX_ROUNDING * abs(tree[loser, VALUE])
        + INDEX_ROUNDING * abs(level) * widths
    )
    closing = tree[loser, WIDTH] - tree[winner, WIDTH] + INDEX_ROUNDING * widths
    if not lead > 0.0:
        return level
    return float(level + lead / closing) if closing > 0.0 else math.inf


@rarely_called
def replay(tree: FloatArray, pulls: IntArray, node: int, level: float) -> None:
    """Decide the match at a node whose children are up to date, and how long the result holds."""
    winner, loser = 2 * node, 2 * node + 1
    holds = min(tree[winner, EXPIRY], tree[loser, EXPIRY])
    high, low = tree[winner, VALUE] + level * tree[winner, WIDTH], tree[loser, VALUE] + level * tree[loser, WIDTH]
    if low > high or (low == high and goes_first(pulls, int(tree[loser, WINNER]), int(tree[winner, WINNER]))):
        winner, loser, high, low = loser, winner, low, high
    if high < math.inf and low > -math.inf:
        holds = min(holds, last_level(tree, winner, loser, level, high - low))
    tree[node, VALUE] = tree[winner, VALUE]
    tree[node, WIDTH] = tree[winner, WIDTH]
    tree[node, WINNER] = tree[winner, WINNER]
    tree[node, EXPIRY] = holds


@rarely_called
def highest(line: FloatArray, open: BoolArray, tree: FloatArray | None, pulls: IntArray, level: float) -> int:
    """Return the arm with the highest index at a level that is never below that of the last call."""
    n_arms = len(line)
    if tree is None:
        best, best_height = 0, -math.inf
        for arm in range(n_arms):
            arm_height = height(line, open, arm, level)
            if arm_height > best_height or (arm_height == best_height and goes_first(pulls, arm, best)):
                best, best_height = arm, arm_height
        return best
    node = 1
    while node > 0:
        if node >= n_arms:  # a leaf has no match to replay
            tree[node, EXPIRY] = math.inf
            node //= 2
        elif tree[2 * node, EXPIRY] < level:
            node = 2 * node
        elif tree[2 * node + 1, EXPIRY] < level:
            node = 2 * node + 1
        else:
            if tree[node, EXPIRY] < level:
                replay(tree, pulls, node, level)
            node //= 2
    return int(tree[1, WINNER])


@rarely_called
def foresee(
    line: FloatArray, open: BoolArray, tree: FloatArray | None, leader: int, last: float
) -> tuple[float, float]:
    """Return a level that is at most ``last``, and the highest index that a rival of the leader has up to there."""
    highest_rival = -math.inf
    if tree is None:
        for arm in range(len(line)):
            index = height(line, open, arm, last)
            if arm != leader and index > highest_rival:
                highest_rival = index
    else:  # its rivals are the winners next to its path to the root, as long as they win
        node = leader + len(line)
        while node > 1:
            last = min(last, tree[node ^ 1, EXPIRY])
            node //= 2
        node = leader + len(line)
        while node > 1:
            highest_rival = max(highest_rival, tree[node ^ 1, VALUE] + last * tree[node ^ 1, WIDTH])
            node //= 2
    return last, highest_rival
