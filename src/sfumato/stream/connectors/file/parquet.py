"""Parquet records by the wanted columns alone, in slices; the offset of a Parquet file counts records.

Columns are read from the file's own column chunks (the record shredding of Melnik et al. 2010), so the others cost
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import InputError, suggestion
from sfumato.stream.runtime.batch import Batch, Columns, Numbers, number

SLICE = 1 << 17


def batches(path: Path, columns: Columns, offset: int) -> Iterator[Batch]:
    """Yield the records from number `offset` on.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.parquet"
    >>> pl.DataFrame({"hours": [5, None, 7]}).write_parquet(file)
    >>> [batch.numbers["hours"].tolist() for batch in batches(file, Columns(("hours",)), 1)]
    [[nan, 7.0]]
    """
    try:
        table = pl.scan_parquet(path)
        names = table.collect_schema().names()
        for column in columns.names:
            if column not in names:
                raise InputError(f"file '{path}' has no column '{column}'{suggestion(column, names)}")
        wanted = table.select(list(dict.fromkeys(columns.names)))
        while not (piece := wanted.slice(offset, SLICE).collect()).is_empty():
            yield _batch(piece, columns)
            offset += piece.height
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"file '{path}' cannot be read as Parquet: {reason}") from error


def _batch(piece: pl.DataFrame, columns: Columns) -> Batch:
    numbers = {name: _numbers(piece[name]) for name in columns.numbers}
    texts = {name: piece[name].cast(pl.String, strict=False).to_list() for name in columns.texts}
    return Batch(piece.height, numbers, texts, lambda place: json.dumps(piece.row(place, named=True), default=str))


def _numbers(series: pl.Series) -> Numbers:
    if not (series.dtype.is_numeric() or series.dtype.is_decimal()):
        return np.array([number(value) for value in series.cast(pl.String, strict=False).to_list()])
    found = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return found if np.isfinite(found).all() else np.where(np.isfinite(found), found, np.nan)
