"""Subset selection in bulk: a packed set for each user, drawn exactly."""

from __future__ import annotations

import numpy as np

from sfumato.local.arrays import Codes, Mask, Payload
from sfumato.local.packing import within
from sfumato.random import Source

LARGEST_ROUND = 2**20


def random_subsets(codes: Codes, domain: int, size: int, held: int, source: Source) -> Payload:
    """Return a packed set of `size` values for each code, which holds the code with chance held/2^64.

    >>> from sfumato.random import SeededSource
    >>> random_subsets(np.array([2, 0]), 3, 1, 2**64 - 1, SeededSource(1)).tolist()
    [[4], [1]]
    """
    from sfumato.local.subset_kernel import fill_subsets

    rows = np.zeros((len(codes), -(-domain // 8)), dtype=np.uint8)
    most = 2 * size + 64  # a user reads two words and about one for each member; too few only costs another round
    done, unread = 0, np.empty(0, dtype=np.uint32)
    while done < len(codes):
        fresh = source.words(max(most, min((size + 4) * (len(codes) - done), LARGEST_ROUND)))
        words = np.concatenate([unread, fresh])
        done, place = fill_subsets(rows, done, codes, domain, size, np.uint64(held), words)
        unread = words[place:]
    return rows


def valid_subsets(payload: Payload, domain: int, size: int) -> Mask:
    """Return which rows are sets of `size` values of the domain.

    >>> valid_subsets(np.array([[3], [1], [9]], dtype=np.uint8), 3, 2).tolist()
    [True, False, False]
    """
    members = np.bitwise_count(payload).sum(axis=1, dtype=np.int64)
    valid: Mask = within(payload, domain) & (members == size)
    return valid
