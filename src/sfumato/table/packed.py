"""A table that holds its texts as small numbers, for commands that read many rows and show none of them to anybody.

Whoever asks for its frame, or for a column, gets texts as from any other table, made on the spot. What works column by
column on such a table needs a fraction of the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError, suggestion
from sfumato.table.coded import Coded, Held, Rows, cells, hold, take
from sfumato.table.fresh import fresh_column
from sfumato.table.table import Table

Counts = npt.NDArray[np.int64]


class PackedTable(Table):
    """The same table in less memory; `frame` and `column` make the texts anew each time.

    >>> people = PackedTable.of(Table(pl.DataFrame({"age": [31, 47], "sex": ["F", "M"]})))
    >>> people.column("sex").to_list(), people.held("sex").places.itemsize
    (['F', 'M'], 1)
    """

    _columns: Mapping[str, Held]

    @classmethod
    def of(cls, table: Table) -> PackedTable:
        """Return a table with its texts held as numbers where few of them differ."""
        if isinstance(table, PackedTable):
            return table
        return cls(table.frame, table.backend, table.delimiter, table.reading, table.guesses, table.intake)

    @property
    def frame(self) -> pl.DataFrame:
        """All columns, cell by cell."""
        return pl.DataFrame([cells(column) for column in self._columns.values()])

    @frame.setter
    def frame(self, frame: pl.DataFrame) -> None:
        object.__setattr__(self, "_columns", {column.name: hold(column) for column in frame})

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values()), ()))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self._columns)

    def held(self, name: str) -> Held:
        """Return one column as it is held, or say which name was probably meant."""
        if name not in self._columns:
            raise InputError(f"there is no column '{name}'{suggestion(name, self.names)}")
        return self._columns[name]

    def column(self, name: str) -> pl.Series:
        """Return one column, cell by cell."""
        return cells(self.held(name))

    def counted(self, name: str) -> tuple[pl.Series, Counts | None]:
        """Return the different cells of a column of few texts and how often each occurs, else all cells and None."""
        held = self.held(name)
        return (held.words, held.times) if isinstance(held, Coded) else (held, None)

    def select(self, names: Iterable[str]) -> pl.DataFrame:
        """Return some columns, cell by cell."""
        return pl.DataFrame([self.column(name) for name in names])

    def take(self, rows: Rows) -> PackedTable:
        """Return some of the rows, by their numbers or by which are wanted."""
        return self._with({name: take(column, rows) for name, column in self._columns.items()})

    def with_columns(self, columns: Iterable[pl.Series]) -> PackedTable:
        """Return the table with other columns in the place of those of their names."""
        return self._with({**self._columns, **{column.name: hold(column) for column in columns}})

    def freshened(self) -> PackedTable:
        """Return the same cells in memory of their own: no words but theirs, in their order."""
        if self.fresh:
            return self
        columns = {name: _fresh(column) for name, column in self._columns.items()}
        table = self._with(columns)
        object.__setattr__(table, "fresh", True)
        return table

    def made_of(self, columns: Iterable[Held]) -> PackedTable:
        """Return a table of other columns, that leaves as this one came."""
        made = PackedTable(pl.DataFrame(), self.backend, self.delimiter)
        return made._with({column.name: column for column in columns})

    def _with(self, columns: Mapping[str, Held]) -> PackedTable:
        table = copy(self)
        object.__setattr__(table, "_columns", columns)
        object.__setattr__(table, "fresh", False)
        return table


def _fresh(column: Held) -> Held:
    return column.fresh() if isinstance(column, Coded) else fresh_column(column)
