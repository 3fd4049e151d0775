"""A bounded heap that keeps the nearest candidates seen, the lowest record winning ties.

Williams, "Algorithm 232: Heapsort" (1964).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel


@kernel
def offer(
    near: npt.NDArray[np.float64],
    records: npt.NDArray[np.int64],
    found: int,
    distance: float,
    record: int,
) -> int:
    """Put a candidate into the heap (worst on top) if it belongs there; return the new size."""
    if found < near.size:
        i = found
        while i > 0:
            above = (i - 1) // 2
            if not (distance > near[above] or (distance == near[above] and record > records[above])):
                break
            near[i], records[i] = near[above], records[above]
            i = above
        near[i], records[i] = distance, record
        return found + 1
    if distance > near[0] or (distance == near[0] and record > records[0]):
        return found
    i = 0
    while 2 * i + 1 < found:
        below = 2 * i + 1
        other = below + 1
        if other < found and (
            near[other] > near[below] or (near[other] == near[below] and records[other] > records[below])
        ):
            below = other
        if not (near[below] > distance or (near[below] == distance and records[below] > record)):
            break
        near[i], records[i] = near[below], records[below]
        i = below
    near[i], records[i] = distance, record
    return found
