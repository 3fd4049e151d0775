"""Columns of few different values: each value once, and for every row a number of one byte or two.

A text costs polars 16 bytes a cell however short it is (Apache Arrow columnar format, "variable-size binary view
layout"); this is Arrow's dictionary encoding, with the smallest numbers that do, and for values of any type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

MOST_WORDS = 1 << 16  # different texts beyond which a column stays as it is
Places = npt.NDArray[Any]  # unsigned integers of some width
Rows = npt.NDArray[np.int64] | npt.NDArray[np.bool_]  # numbers of rows, or which of them

Code = TypeVar("Code", np.int32, np.int64)


@dataclass(frozen=True, eq=False)
class Coded:
    """The different values of a column, a null among them, and which of them each row has.

    In a table every value occurs; what is made of classes that are shown may have further ones until it is `fresh`.

    >>> column = Coded.of(pl.Series("sex", ["M", "F", None, "M"]))
    >>> column.series().to_list(), column.places.dtype.name
    (['M', 'F', None, 'M'], 'uint8')
    """

    words: pl.Series
    places: Places

    @classmethod
    def of(cls, texts: pl.Series) -> Coded:
        """Return a column of texts as numbers."""
        words = texts.drop_nulls().unique(maintain_order=True)
        places = texts.cast(pl.Enum(words)).to_physical()
        if places.null_count():
            places = places.cast(pl.UInt32).fill_null(len(words))
            words = words.extend_constant(None, 1)
        return cls.at(words, places.to_numpy())

    @classmethod
    def at(cls, words: pl.Series, places: Places) -> Coded:
        """Return the column that has the word at each place, in as few bytes as the number of words takes."""
        return cls(words, places.astype(smallest_type(len(words)), copy=False))

    @property
    def name(self) -> str:
        """The column's name."""
        return self.words.name

    @cached_property
    def times(self) -> npt.NDArray[np.int64]:
        """How many rows have each value."""
        return np.bincount(self.places, minlength=len(self.words))

    def __len__(self) -> int:
        return len(self.places)

    def alias(self, name: str) -> Coded:
        """Return the column under another name."""
        return Coded(self.words.alias(name), self.places)

    def slice(self, start: int, length: int) -> Coded:
        """Return so many rows from a place on."""
        return Coded(self.words, self.places[start : start + length])

    def series(self) -> pl.Series:
        """Return the column cell by cell."""
        return self.words.gather(pl.Series(self.places))

    def fresh(self) -> Coded:
        """Return the same cells, with the words that they have and no others, in the order in which they first appear.

        >>> Coded(pl.Series("sex", ["F", "M"]), np.array([1, 1], dtype=np.uint8)).fresh().words.to_list()
        ['M']
        """
        present = pl.Series(self.places).unique(maintain_order=True).to_numpy()
        renumber = np.zeros(len(self.words), dtype=smallest_type(len(present)))
        renumber[present] = np.arange(len(present))
        words = pl.Series(self.name, self.words.gather(present).to_list(), dtype=self.words.dtype)
        return Coded(words, renumber[self.places])


Held = pl.Series | Coded


def hold(column: pl.Series) -> Held:
    """Return a column of texts as numbers, if it has few enough different ones; other columns as they are.

    >>> type(hold(pl.Series(["F", "M"]))).__name__, type(hold(pl.Series([1, 2]))).__name__
    ('Coded', 'Series')
    """
    few = column.dtype == pl.String and int(column.to_frame().select(pl.first().approx_n_unique()).item()) <= MOST_WORDS
    return Coded.of(column) if few else column


def cells(column: Held) -> pl.Series:
    """Return a column cell by cell.

    >>> cells(hold(pl.Series(["F", "M"]))).to_list()
    ['F', 'M']
    """
    return column.series() if isinstance(column, Coded) else column


def spread(column: Held, codes_of: Callable[[pl.Series], npt.NDArray[Code]]) -> npt.NDArray[Code]:
    """Return a code for each cell, by a function that gives equal cells equal codes and looks at each text once.

    >>> spread(hold(pl.Series(["F", "M", "F"])), lambda texts: texts.str.len_bytes().to_numpy()).tolist()
    [1, 1, 1]
    """
    return codes_of(column.words)[column.places] if isinstance(column, Coded) else codes_of(column)


def take(column: Held, rows: Rows) -> Held:
    """Return some rows of a column, by their numbers or by which are wanted, with none of the words of others.

    >>> cells(take(hold(pl.Series(["F", "M"])), np.array([1]))).to_list()
    ['M']
    """
    if isinstance(column, Coded):
        return Coded(column.words, column.places[rows]).fresh()
    return column.filter(pl.Series(rows)) if rows.dtype == np.bool_ else column.gather(rows)


def smallest_type(count: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that can number so many things.

    >>> smallest_type(256).name, smallest_type(257).name
    ('uint8', 'uint16')
    """
    return np.min_scalar_type(max(count - 1, 0))
