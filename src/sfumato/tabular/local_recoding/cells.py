"""Rows that agree on all quasi-identifiers as one cell, and the near cells of each.

Searches look at cells, since equal rows cost nothing together; classes hold rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.core.threads import most_threads
from sfumato.table.distinct import distinct
from sfumato.tabular.local_recoding.penalties import Penalties
from sfumato.tabular.problem import Problem

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
ROWS = 500  # cells whose near ones a core looks for at a time


@dataclass(frozen=True, eq=False)
class Cells:
    """The codes of every cell, the cell of each row, and the rows of each cell from `first` of it on.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "F"]}))
    >>> cells = Cells.of(Problem.of(table, sf.Schema.from_roles(quasi=["sex"]), [sf.KAnonymity(2)]))
    >>> cells.codes.tolist(), cells.of_row.tolist(), cells.rows.tolist(), cells.first.tolist()
    ([[0], [1]], [0, 1, 0], [0, 2, 1], [0, 2, 3])
    """

    codes: Int32s
    of_row: Int64s
    rows: Int64s
    first: Int64s

    @classmethod
    def apart(cls, problem: Problem) -> Cells:
        """Return each row as a cell of its own, for classes that must choose among equal rows."""
        rows = np.arange(problem.table.rows)
        codes = np.stack([column.codes for column in problem.quasi], axis=1)
        return cls(np.ascontiguousarray(codes, dtype=np.int32), rows, rows, np.arange(len(rows) + 1))

    @classmethod
    def of(cls, problem: Problem) -> Cells:
        """Return the cells of a problem's rows, in the order of their codes."""
        numbering = distinct([column.codes for column in problem.quasi], [column.size for column in problem.quasi])
        codes = np.stack([column.codes[numbering.examples] for column in problem.quasi], axis=1)
        rows = np.argsort(numbering.ids, kind="stable")
        first = np.concatenate([[0], np.cumsum(numbering.counts)])
        return cls(np.ascontiguousarray(codes, dtype=np.int32), numbering.ids, rows, first)

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.codes)

    def near(self, penalties: Penalties, places: Int64s, reach: int, until: float | None = None) -> Int32s:
        """Return the `reach` cells among `places` that cost least together with each of them; -1 where there are fewer.

        Each cell's search stands alone, so all cores share them and the result is the same. If that is not done at the
        moment `until` (by `working_time`), it raises a TimeoutError.
        """
        from sfumato.tabular.local_recoding.nearest_kernel import build_tree, fill_nearest

        facts, nodes, costs, _ = penalties
        near = np.empty((len(places), reach), dtype=np.int32)
        tree = build_tree(facts, nodes, costs, self.codes, places)
        fill = partial(fill_nearest, facts, nodes, costs, self.codes, tree, places, near)

        def look(start: int) -> bool:
            if until is not None and working_time() >= until:
                return False
            fill(start, min(start + ROWS, len(places)))
            return True

        with ThreadPoolExecutor(most_threads()) as cores:
            found = list(cores.map(look, range(0, len(places), ROWS)))
        if not all(found):
            raise TimeoutError
        return near
