"""Published rows as text: CSV, JSON lines, or CSV that waits to become Parquet.

Value columns, group, size, seq and, where linked, position. A window of which no row left has one without value and
number, of size 0.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.stream.base import Published, Publisher
from sfumato.table.formats.formulas import neutralise

CSV, TSV, JSON, PARQUET = "csv", "tsv", "json", "parquet"


class RowWriter:
    r"""Writes the rows of one publisher under the names of its columns.

    >>> from sfumato.stream import NaiveLaplace
    >>> write = RowWriter(NaiveLaplace(bounds=(0, 1)), ["hours"], "json")
    >>> one = np.array([0])
    >>> write(Published(np.array([2.5]), one, one + 1, one, one))
    b'{"hours":2.5,"group":0,"size":1,"seq":0,"position":0}\n'
    """

    def __init__(self, publisher: Publisher, names: Sequence[str], form: str) -> None:
        self._publisher, self._names, self._form = publisher, list(names), form
        empty = np.empty((0, len(self._names)) if len(self._names) > 1 else 0)
        self._nothing = self._frame(publisher.push_many(empty))

    @property
    def schema(self) -> pl.Schema:
        """The columns as they are written, and their types."""
        return self._nothing.schema

    @property
    def header(self) -> bytes:
        """What stands before the first row; nothing in JSON."""
        return b"" if self._form == JSON else self._write(self._nothing, header=True)

    def __call__(self, published: Published) -> bytes:
        """The rows as they are written."""
        if not len(published) and not len(published.vacant):
            return b""
        return self._write(self._with_vacant(published), header=False)

    def _with_vacant(self, published: Published) -> pl.DataFrame:
        """Return the rows, and a row without a value for each window that has none, in the windows' order."""
        rows, vacant = self._frame(published), published.vacant
        if not len(vacant):
            return rows
        zeros = np.zeros_like(vacant)
        markers = self._frame(Published(np.full(len(vacant), np.nan), vacant, zeros, zeros))
        blank = [pl.lit(None, dtype=rows.schema[name]).alias(name) for name in (*self._names, "seq")]
        return pl.concat([rows, markers.with_columns(blank)]).sort("group", maintain_order=True)

    def _frame(self, published: Published) -> pl.DataFrame:
        values = self._publisher.columns(published, self._names)
        texts = {
            name: pl.Series(column, dtype=pl.String) for name, column in values.items() if isinstance(column, list)
        }
        counts = {"group": published.group, "size": published.size, "seq": published.seq}
        places = {} if published.position is None else {"position": published.position}
        frame = pl.DataFrame({**values, **texts, **counts, **places})
        return frame.fill_nan(None)  # an interval that nobody tells

    def _write(self, frame: pl.DataFrame, *, header: bool) -> bytes:
        buffer = io.BytesIO()
        if self._form == JSON:
            frame.write_ndjson(buffer)
        else:
            safe = frame if self._form == PARQUET else neutralise(frame).frame  # what waits for Parquet is read back
            safe.write_csv(buffer, include_header=header, separator="\t" if self._form == TSV else ",")
        return buffer.getvalue()
