"""A table of people: named columns, as read, from any dataframe or file.

Any eager dataframe comes in through narwhals, and a release goes out as the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.display import as_html, listed, one_line
from sfumato.errors import InputError, suggestion
from sfumato.schema.reading import Reading
from sfumato.table.coded import Held, Rows, cells, take
from sfumato.table.fresh import fresh_frame

if TYPE_CHECKING:
    from sfumato.table.parse_report import ParseReport

SLICE = 1 << 18  # rows that are written at a time


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of raw values, and where they came from so that a release can go back the same way.

    `reading` is how a file was read, and `guesses` says in sentences what of it nobody had declared.

    >>> table = Table.from_frame(pl.DataFrame({"age": [31, 47], "sex": ["F", "M"]}))
    >>> table.rows, table.names
    (2, ('age', 'sex'))
    """

    frame: pl.DataFrame
    backend: str = "polars"
    delimiter: str = ","
    reading: Reading = field(default_factory=Reading)
    guesses: tuple[str, ...] = ()
    intake: ParseReport | None = None  # what became of the cells, once they were read as a schema declares them
    fresh: bool = field(default=False, init=False)  # whether the frame's memory holds its cells and nothing else

    @classmethod
    def from_frame(cls, frame: Any) -> Table:
        """Return the table in any dataframe that narwhals knows: polars, pandas, PyArrow or Modin.

        >>> import pandas as pd
        >>> Table.from_frame(pd.DataFrame({"age": [31, None]})).column("age").null_count()
        1
        """
        if isinstance(frame, pl.DataFrame):
            return cls(plain_columns(frame))
        if isinstance(frame, pl.LazyFrame):
            return cls(plain_columns(frame.collect()), backend="lazy")
        import narwhals as nw

        try:
            wrapped = nw.from_native(frame, eager_only=True)
        except TypeError as error:
            raise InputError(
                f"a {type(frame).__name__} is not a dataframe held in memory; collect it first, or give a file"
            ) from error
        except nw.exceptions.DuplicateError as error:
            raise InputError("the dataframe has two columns of the same name; rename one") from error
        names = [str(name) for name in wrapped.columns]
        if len(set(names)) != len(names):
            raise InputError("the dataframe has two columns of the same name; rename one")
        columns = {str(name): _as_polars(str(name), wrapped.get_column(name)) for name in wrapped.columns}
        return cls(plain_columns(pl.DataFrame(columns)), backend=str(wrapped.implementation.value))

    def _facts(self) -> dict[str, object]:
        """What may be shown of raw rows: how many there are, and what their columns are called."""
        return {"rows": self.rows, "columns": listed(self.names)}

    def __repr__(self) -> str:
        return one_line("Table", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Table", self._facts())

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.frame.height

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.frame.columns)

    def column(self, name: str) -> pl.Series:
        """Return one column, or say which name was probably meant.

        >>> Table(pl.DataFrame({"age": [1]})).column("aeg")
        Traceback (most recent call last):
        sfumato.errors.InputError: there is no column 'aeg'; did you mean 'age'?
        """
        if name not in self.frame.columns:
            raise InputError(f"there is no column '{name}'{suggestion(name, self.names)}")
        return self.frame.get_column(name)

    def held(self, name: str) -> Held:
        """Return one column as it is held in memory.

        >>> Table(pl.DataFrame({"age": [1]})).held("age").to_list()
        [1]
        """
        return self.column(name)

    def counted(self, name: str) -> tuple[pl.Series, npt.NDArray[np.int64] | None]:
        """Return the different cells of a column and how often each occurs, where they are held so; else all, and None.

        >>> Table(pl.DataFrame({"age": [1, 1]})).counted("age")[1] is None
        True
        """
        return self.column(name), None

    def select(self, names: Iterable[str]) -> pl.DataFrame:
        """Return some columns.

        >>> Table(pl.DataFrame({"age": [1], "sex": ["F"]})).select(["sex"]).columns
        ['sex']
        """
        return self.frame.select(names)

    def slices(self, rows: int = SLICE) -> Iterator[pl.DataFrame]:
        """Yield the rows, so many at a time; a table without any is one slice of none.

        >>> [part.height for part in Table(pl.DataFrame({"age": [1, 2, 3]})).slices(2)]
        [2, 1]
        """
        for start in range(0, max(self.rows, 1), rows):
            yield pl.DataFrame([cells(self.held(name).slice(start, rows)) for name in self.names])

    def take(self, rows: Rows) -> Table:
        """Return some of the rows, by their numbers or by which are wanted.

        >>> import numpy as np
        >>> Table(pl.DataFrame({"age": [1, 2]})).take(np.array([False, True])).column("age").to_list()
        [2]
        """
        return replace(self, frame=pl.DataFrame([take(column, rows) for column in self.frame]))

    def with_columns(self, columns: Iterable[pl.Series]) -> Table:
        """Return the table with other columns in the place of those of their names.

        >>> Table(pl.DataFrame({"age": [1]})).with_columns([pl.Series("age", [2])]).column("age").to_list()
        [2]
        """
        return replace(self, frame=self.frame.with_columns(columns))

    def with_intake(self, report: ParseReport) -> Table:
        """Return the table with what became of its cells."""
        table = copy(self)
        object.__setattr__(table, "intake", report)
        return table

    def made_of(self, columns: Iterable[Held]) -> Table:
        """Return a table of other columns, that leaves as this one came.

        >>> Table(pl.DataFrame({"age": [1]}), delimiter=";").made_of([pl.Series("sex", ["F"])]).delimiter
        ';'
        """
        return Table(pl.DataFrame([cells(column) for column in columns]), self.backend, self.delimiter)

    def freshened(self) -> Table:
        """Return the same cells in memory of their own, so that nothing of rows that were left out goes with them.

        >>> Table(pl.DataFrame({"age": [31]})).freshened().fresh
        True
        """
        if self.fresh:
            return self
        table = replace(self, frame=fresh_frame(self.frame))
        object.__setattr__(table, "fresh", True)
        return table

    def restore(self, frame: pl.DataFrame) -> Any:
        """Return `frame` as the kind of dataframe this table was made from.

        >>> import pandas as pd
        >>> type(Table.from_frame(pd.DataFrame({"a": [1]})).restore(pl.DataFrame({"a": ["*"]}))).__name__
        'DataFrame'
        """
        if self.backend == "polars":
            return frame
        if self.backend == "lazy":
            return frame.lazy()
        if self.backend == "pyarrow":
            return frame.to_arrow()
        import narwhals as nw

        columns = {name: frame.get_column(name).to_list() for name in frame.columns}
        return nw.from_dict(columns, backend=self.backend).to_native()  # type: ignore[arg-type]  # a name narwhals gave us


def backend_of(data: Any) -> str:
    """Return the kind of dataframe that some data are; polars for everything that is none.

    >>> import pandas as pd
    >>> backend_of(pd.DataFrame()), backend_of("rides.csv")
    ('pandas', 'polars')
    """
    if data is None or isinstance(data, pl.DataFrame | str):
        return "polars"
    import narwhals as nw

    wrapped = nw.from_native(data, eager_only=True, pass_through=True)
    return str(wrapped.implementation.value) if isinstance(wrapped, nw.DataFrame) else "polars"


def _as_polars(name: str, column: Any) -> pl.Series:
    try:
        series: pl.Series = column.to_polars()
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InputError(f"column '{name}' mixes types: {error}; give it one type") from error
    return series


def plain_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the types it has, refusing nested and nameless columns.

    >>> plain_columns(pl.DataFrame({"tags": [["a", "b"]]}))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'tags' holds List(String), which is not a plain value; flatten or drop it
    """
    for position, (name, dtype) in enumerate(frame.schema.items(), start=1):
        if not name.strip():
            raise InputError(f"column {position} has no name; name every column")
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
            raise InputError(f"column '{name}' holds {dtype}, which is not a plain value; flatten or drop it")
    return frame


def text_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with truth values, categories and times of day as text, for SQL that compares words.

    >>> text_columns(pl.DataFrame({"smokes": [True, None]}))["smokes"].to_list()
    ['true', None]
    """
    texts = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Time)]
    return frame.with_columns(pl.col(texts).cast(pl.String)) if texts else frame
