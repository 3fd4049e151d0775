"""Published rows out as CSV, JSON lines or Parquet: value columns, group, size, seq and, where linked, position.

Rows leave as soon as they may and stand in the file at once. Parquet has its index at the end (Melnik et al. 2010), so
its rows wait in `OUT.part` and become `OUT` when the stream ends.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.file.outlet import STDOUT, Appended, Nowhere, Outlet, Piped, Place

CSV, TSV, JSON, PARQUET = "csv", "tsv", "json", "parquet"
ENDINGS = {".jsonl": JSON, ".ndjson": JSON, ".parquet": PARQUET, ".pq": PARQUET, ".tsv": TSV}
ROW_GROUP = 1 << 18


class Sink:
    r"""Where the rows of one publisher go, under the names of its columns.

    >>> import tempfile, numpy as np
    >>> from sfumato.stream import NaiveLaplace
    >>> sink = Sink(Path(tempfile.mkdtemp()) / "out.csv", NaiveLaplace(bounds=(0, 1)), ["hours"])
    >>> sink.header
    b'hours,group,size,seq,position\n'
    >>> one = np.array([0])
    >>> sink.rendered(Published(np.array([2.5]), one, one + 1, one, one))
    b'2.5,0,1,0,0\n'
    """

    def __init__(self, path: str | Path, publisher: Publisher, names: Sequence[str]) -> None:
        self.path, self._publisher, self._names = Path(path), publisher, list(names)
        endings = [ending.casefold() for ending in self.path.suffixes]
        self._packed = endings[-1:] == [".gz"]
        self.form = ENDINGS.get(next((ending for ending in reversed(endings) if ending != ".gz"), ""), CSV)
        self._file = self.path.with_name(self.path.name + ".part") if self.form == PARQUET else self.path
        empty = np.empty((0, len(self._names)) if len(self._names) > 1 else 0)
        self._nothing = self._frame(publisher.push_many(empty))
        if self.form == PARQUET and self._packed:
            raise InputError(f"output '{path}': Parquet is compressed already; leave .gz out")

    @property
    def header(self) -> bytes:
        """What stands before the first row."""
        return b"" if self.form == JSON else self._written(self._nothing, header=True)

    def rendered(self, published: Published) -> bytes:
        """The rows as they are written."""
        return self._written(self._frame(published), header=False) if len(published) else b""

    def refuse_existing(self) -> None:
        """Refuse an output that is there already, or has no folder to be in."""
        if self.path == STDOUT:
            return
        if self.path.exists() or self._file.exists():
            raise InputError(f"output '{self.path}' exists; remove it or choose another name")
        if not self.path.parent.is_dir():
            raise InputError(f"output '{self.path}' cannot be written: there is no folder '{self.path.parent}'")

    def open(self, place: Place) -> Outlet:
        """Return where the rows are appended, cut back to `place`; nowhere, once a Parquet file is complete."""
        if self.path == STDOUT:
            return Piped()
        return Nowhere() if self._finished else Appended(self._file, place)

    @property
    def _finished(self) -> bool:
        return self.form == PARQUET and self.path.exists() and not self._file.exists()

    def finish(self) -> None:
        """Make the Parquet file of the rows that wait for it; other files are complete as they are."""
        if self.form != PARQUET or self._finished:
            return
        fresh = self.path.with_name(f".{self.path.name}.partial")
        try:
            pl.scan_csv(self._file, schema=self._nothing.schema).sink_parquet(fresh, row_group_size=ROW_GROUP)
            fresh.replace(self.path)
            self._file.unlink()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"output '{self.path}' cannot be made of '{self._file}': {error}") from error

    def _frame(self, published: Published) -> pl.DataFrame:
        values = self._publisher.columns(published, self._names)
        texts = {
            name: pl.Series(column, dtype=pl.String) for name, column in values.items() if isinstance(column, list)
        }
        counts = {"group": published.group, "size": published.size, "seq": published.seq}
        places = {} if published.position is None else {"position": published.position}
        return pl.DataFrame({**values, **texts, **counts, **places})

    def _written(self, frame: pl.DataFrame, *, header: bool) -> bytes:
        buffer = io.BytesIO()
        if self.form == JSON:
            frame.write_ndjson(buffer)
        else:
            frame.write_csv(buffer, include_header=header, separator="\t" if self.form == TSV else ",")
        return gzip.compress(buffer.getvalue(), 6, mtime=0) if self._packed else buffer.getvalue()
