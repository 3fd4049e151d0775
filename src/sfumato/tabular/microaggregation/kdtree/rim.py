"""The records of a set sorted from the outside in, as seen from a fixed reference point.

Serves the farthest-from-the-centroid step of Domingo-Ferrer & Torra (2005).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Rim(NamedTuple):
    """Records by falling distance to ``reference``; dead ones are skipped by the reader."""

    records: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float64]  # not squared
    reference: npt.NDArray[np.float64]
    start: npt.NDArray[np.int64]  # (1,): everything before it is dead
