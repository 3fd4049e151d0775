"""The extent of every class on one coded column, in one pass over the points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel


@kernel
def extents(
    codes: npt.NDArray[np.int32], classes: npt.NDArray[np.int64], count: int, has_missing: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Return each class's lowest and highest code, missing values apart, and whether it has a missing one."""
    low = np.full(count, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(count, -1, dtype=np.int32)
    missing = np.zeros(count, dtype=np.bool_)
    for point in range(len(codes)):
        group = classes[point]
        value = codes[point]
        if has_missing and value == 0:
            missing[group] = True
            continue
        low[group] = min(low[group], value)
        high[group] = max(high[group], value)
    return low, high, missing
