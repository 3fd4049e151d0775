"""Rows that follow the whole stream, compiled: where too few were handed out so far a window gives a little more.

A window's own posterior is drawn towards the long run and errs alike for many windows; the sum of unprojected counts
does not. Carrying the difference forward is error diffusion (Floyd & Steinberg 1976), over windows instead of pixels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
MOST = 2.0  # the ratio of due to given beyond which nothing more is made up at once


@kernel
def followed(cells: Numbers, due: Numbers, given: Numbers, calm: float) -> Numbers:
    """Return a window's cells, more where more is due than was given, in all as many; `calm` rows count as agreed on.

    The factor is the cube of due over given (this window included), so that what is missing is made up soon; a cell
    that the window has left empty stays empty.
    """
    found = np.empty(cells.size)
    before, after = 0.0, 0.0
    for cell in range(cells.size):
        ratio = (max(due[cell], 0.0) + calm) / (given[cell] + cells[cell] + calm)
        ratio = min(max(ratio, 1 / MOST), MOST)
        found[cell] = cells[cell] * ratio * ratio * ratio
        before += cells[cell]
        after += found[cell]
    return found * (before / after)


@kernel
def hand_out(rows: Numbers, given: Numbers) -> None:
    """Add rows, in cells, to what was given before."""
    for row in rows:
        given[min(int(row), given.size - 1)] += 1
