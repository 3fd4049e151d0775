"""A partition that a local search can change in place, group by group.

Ward, "Hierarchical grouping to optimize an objective function" (1963), for the error terms.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.tabular.microaggregation.kdtree.lanes_kernel import LANES


class Partition(NamedTuple):
    """Groups of k to 2k-1 records with their means, errors and near records."""

    x: npt.NDArray[np.float64]  # (n, width): columns padded with zeros to a multiple of four
    near: npt.NDArray[np.int32]  # (n, reach): nearest records of each record
    label: npt.NDArray[np.int64]  # (n,): group of each record
    place: npt.NDArray[np.int64]  # (n,): its position in the group
    own: npt.NDArray[np.float64]  # (n,): its squared distance to the mean of the group
    members: npt.NDArray[np.int64]  # (slots, 2k)
    size: npt.NDArray[np.int64]  # (slots,): 0 for a slot not in use
    centre: npt.NDArray[np.float64]  # (slots, width)
    error: npt.NDArray[np.float64]  # (slots,)
    spare: npt.NDArray[np.int64]  # (slots + 1,): slots not in use; the last entry counts them
    seen: npt.NDArray[np.int64]  # (slots + 1,): last visit to a group; the last entry counts them


def open_partition(x: npt.NDArray[np.float64], k: int, near: npt.NDArray[np.int32]) -> Partition:
    """Return a partition of the records of ``x`` without any groups yet."""
    n, d = x.shape
    slots, width = n // k + 1, -(-d // LANES) * LANES
    padded = np.zeros((n, width))
    padded[:, :d] = x
    return Partition(
        x=padded,
        near=near,
        label=np.full(n, -1, np.int64),
        place=np.zeros(n, np.int64),
        own=np.zeros(n),
        members=np.zeros((slots, 2 * k), np.int64),
        size=np.zeros(slots, np.int64),
        centre=np.zeros((slots, width)),
        error=np.zeros(slots),
        spare=np.zeros(slots + 1, np.int64),
        seen=np.zeros(slots + 1, np.int64),
    )
