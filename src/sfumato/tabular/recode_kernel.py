"""The extent of every class on one coded column, in one pass over the points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel


@kernel
def extents(
    codes: npt.NDArray[np.int32],
    classes: npt.NDArray[np.int64],
    low: npt.NDArray[np.int32],
    high: npt.NDArray[np.int32],
    missing: npt.NDArray[np.bool_],
    has_missing: bool,
) -> None:
    """Extend each class's lowest and highest code, missing values apart, and note whether it has a missing one."""
    for point in range(len(codes)):
        group = classes[point]
        value = codes[point]
        if has_missing and value == 0:
            missing[group] = True
            continue
        low[group] = min(low[group], value)
        high[group] = max(high[group], value)
