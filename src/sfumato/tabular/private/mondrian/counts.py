"""Noisy counts made consistent: a box is the sum of its sides, none is below 0, and cuts that noise alone explains go.

Weighted least squares up and down the tree (Hay, Rastogi, Miklau & Suciu 2010, for unequal variances as in Cormode et
al. 2012). All of it works on noisy counts, so it costs nothing.
"""

from __future__ import annotations

from sfumato.tabular.private.mondrian.tree import Box


def consistent(box: Box) -> None:
    """Replace every count by its best estimate from the box itself and from all boxes inside it.

    >>> whole = Box((0,), (9,), 100.0, 2.0, (Box((0,), (4,), 60.0, 1.0), Box((5,), (9,), 60.0, 1.0)))
    >>> consistent(whole)
    >>> whole.count, whole.variance
    (110.0, 1.0)
    """
    if box.sides is None:
        return
    left, right = box.sides
    consistent(left)
    consistent(right)
    added, variance = left.count + right.count, left.variance + right.variance
    weight = 1.0 / (1.0 / box.variance + 1.0 / variance)
    box.count, box.variance = weight * (box.count / box.variance + added / variance), weight


def merged(box: Box, penalty: float) -> float:
    """Merge sides again where their counts do not differ from an even spread by more than noise; return the evidence.

    The evidence for a cut is the squared deviation of its sides from their shares, in variances, less `penalty`; a cut
    without evidence stays where cuts inside it have enough for both.

    >>> even = Box((0,), (9,), 120.0, 1.0, (Box((0,), (4,), 60.0, 1.0), Box((5,), (9,), 60.0, 1.0)))
    >>> merged(even, penalty=1.0), even.sides
    (0.0, None)
    """
    if box.sides is None:
        return 0.0
    left, right = box.sides
    deviation = (1 - box.share) * left.count - box.share * right.count
    variance = (1 - box.share) ** 2 * left.variance + box.share**2 * right.variance
    evidence = deviation**2 / variance - penalty + merged(left, penalty) + merged(right, penalty)
    if evidence <= 0:
        box.sides = None
    return max(0.0, evidence)


def shared_out(box: Box, total: int) -> list[tuple[Box, int]]:
    """Return the smallest boxes with whole counts that are not negative and add up to `total`.

    What a box has more or less than its two sides is shared between them by their variances.

    >>> whole = Box((0,), (9,), 110.0, 1.0, (Box((0,), (4,), 70.0, 1.0), Box((5,), (9,), 50.0, 1.0)))
    >>> [count for _, count in shared_out(whole, 110)]
    [65, 45]
    """
    if box.sides is None:
        return [(box, total)]
    left, right = box.sides
    rest = total - left.count - right.count
    wanted = left.count + rest * left.variance / (left.variance + right.variance)
    part = min(max(round(wanted), 0), total)
    return [*shared_out(left, part), *shared_out(right, total - part)]
