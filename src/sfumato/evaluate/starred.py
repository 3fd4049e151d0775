"""Rows of which every quasi-identifier is suppressed, and the words that say how risks count them.

Tools differ here: ARX leaves such rows out of its risks, and in sdcMicro a missing value agrees with every value. Here
a cell is what is written, so that `*` is a value like any other, in all measures alike (Samarati & Sweeney 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import SUPPRESSED
from sfumato.table import Table
from sfumato.table.coded import spread

WORDS = (
    "Rows with * in every quasi-identifier: {rows:,}. They count as one class, so each of them has the risk of that "
    "class; ARX leaves such rows out of its risks."
)


def starred_cells(table: Table, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which rows have `*` in all of some columns.

    >>> starred_cells(Table(pl.DataFrame({"age": ["*", "3"], "zip": ["*", "*"]})), ["age", "zip"]).tolist()
    [True, False]
    """
    masks = [spread(table.held(name), _is_star) for name in columns]
    every: npt.NDArray[np.bool_] = np.logical_and.reduce(masks).astype(bool)
    return every


def starred_words(rows: int) -> str:
    """Return the sentence that says how starred rows are counted; nothing where there are none.

    >>> starred_words(0), starred_words(12)[:42]
    ('', 'Rows with * in every quasi-identifier: 12.')
    """
    return WORDS.format(rows=rows) if rows else ""


def _is_star(cells: pl.Series) -> npt.NDArray[np.int64]:
    return (cells.cast(pl.String) == SUPPRESSED).fill_null(value=False).to_numpy().astype(np.int64)
