"""The arrays that pass between the collector's parts, by name; a device never loads this module."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Payload = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Words64 = npt.NDArray[np.uint64]
