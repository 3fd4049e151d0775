"""Enumerate all groups of k to 2k-1 records with their error and reduced cost.

Aloise, Hansen, Rocha & Santi, "Column generation bounds for numerical microaggregation"
(2014), with pricing by plain enumeration: the sets are small.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def pair_distances(x: Floats) -> Floats:
    """Return the squared distances between all records."""
    n = x.shape[0]
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = 0.0
            for column in range(x.shape[1]):
                total += (x[i, column] - x[j, column]) ** 2
            result[i, j] = result[j, i] = total
    return result


@kernel
def cheap_groups(pairs: Floats, k: int, prices: Floats, limit: float, groups: Integers, errors: Floats) -> int:
    """Write groups whose error less the prices of their records is below ``limit``.

    Return how many there are; only as many as ``groups`` holds are written. The error of a
    group is the sum of its pair distances over its size, so that it grows record by record.
    """
    n, most, count, depth = pairs.shape[0], 2 * k - 1, 0, 0
    member = np.full(most, -1, np.int64)
    spread, price = np.zeros(most + 1), np.zeros(most + 1)
    while depth >= 0:
        member[depth] += 1
        if member[depth] >= n:
            depth -= 1
            continue
        record = member[depth]
        total = spread[depth]
        for i in range(depth):
            total += pairs[record, member[i]]
        spread[depth + 1], price[depth + 1] = total, price[depth] + prices[record]
        size = depth + 1
        if size >= k and total / size - price[size] < limit:
            if count < errors.size:
                groups[count, :size] = member[:size]
                groups[count, size:] = -1
                errors[count] = total / size
            count += 1
        if size < most:
            depth = size
            member[depth] = record
    return count
