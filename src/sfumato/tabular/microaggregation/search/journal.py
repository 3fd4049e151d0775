"""What a local search remembers besides the partition: old groups to return to, records to visit.

Lourenço, Martin & Stützle, "Iterated local search" (2003).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.tabular.microaggregation.search.partition import Partition


class Journal(NamedTuple):
    """Groups as they were when first touched, and a queue of records whose surroundings changed."""

    touched: npt.NDArray[np.int64]  # (slots + 1,): groups saved; the last entry counts them
    saved_at: npt.NDArray[np.int64]  # (slots,): row of the copy, or -1
    members: npt.NDArray[np.int64]  # (slots, 2k): copies of the members
    size: npt.NDArray[np.int64]  # (slots,): copies of the sizes
    error: npt.NDArray[np.float64]  # (slots,): copies of the errors
    queue: npt.NDArray[np.int64]  # (n,): ring of records to visit
    span: npt.NDArray[np.int64]  # (2,): start and length of the ring's content
    queued: npt.NDArray[np.bool_]  # (n,)
    pool: npt.NDArray[np.int64]  # (10k,): records of the groups being rebuilt


def open_journal(p: Partition, k: int) -> Journal:
    """Return an empty journal for a partition, with every record queued for a first visit."""
    n, slots = len(p.label), len(p.size)
    return Journal(
        touched=np.zeros(slots + 1, np.int64),
        saved_at=np.full(slots, -1, np.int64),
        members=np.zeros((slots, 2 * k), np.int64),
        size=np.zeros(slots, np.int64),
        error=np.zeros(slots),
        queue=np.arange(n),
        span=np.array([0, n]),
        queued=np.ones(n, np.bool_),
        pool=np.zeros(10 * k, np.int64),
    )
