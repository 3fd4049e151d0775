"""Published rows out as CSV, JSON lines or Parquet, to a file that only grows or to a pipe.

Rows leave as soon as they may and stand in the file at once: value columns, group, size, seq and, where linked,
position. A window of which no row left has one without value and number, of size 0. Parquet has its index at the end
(Melnik et al. 2010), so its rows wait in `OUT.part` and become `OUT` when the stream ends.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sfumato.core.files import flush_file, flush_folder, sha256_of
from sfumato.errors import InputError
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.file.outlet import Appended, Nowhere, Outlet, OutputMark, Piped, claimed, refuse_there
from sfumato.stream.connectors.rows import CSV, JSON, PARQUET, TSV, RowWriter

STDOUT = Path("-")
GZIP = ".gz"
ENDINGS = {".jsonl": JSON, ".ndjson": JSON, ".parquet": PARQUET, ".pq": PARQUET, ".tsv": TSV}
ROW_GROUP = 1 << 18


def waiting_file(path: Path) -> Path | None:
    """Return where the rows of a Parquet file wait until the stream ends; None for other files.

    >>> waiting_file(Path("out.parquet")), waiting_file(Path("out.csv"))
    (PosixPath('out.parquet.part'), None)
    """
    return path.with_name(path.name + ".part") if _form(path) == PARQUET else None


def _form(path: Path) -> str:
    endings = [ending.casefold() for ending in path.suffixes]
    return ENDINGS.get(next((ending for ending in reversed(endings) if ending != GZIP), ""), CSV)


class Sink:
    r"""Where the rows of one publisher go, under the names of its columns.

    >>> import tempfile, numpy as np
    >>> from sfumato.stream import NaiveLaplace
    >>> sink = Sink(Path(tempfile.mkdtemp()) / "out.csv", NaiveLaplace(bounds=(0, 1)), ["hours"])
    >>> sink.header
    b'hours,group,size,seq,position\n'
    >>> one = np.array([0])
    >>> sink.render(Published(np.array([2.5]), one, one + 1, one, one))
    b'2.5,0,1,0,0\n'
    """

    def __init__(self, path: str | Path, publisher: Publisher, names: Sequence[str]) -> None:
        self.path, self._names = Path(path), tuple(names)
        self._packed, self.form = self.path.suffix.casefold() == GZIP, _form(self.path)
        self._file = waiting_file(self.path) or self.path
        self._rows = RowWriter(publisher, names, self.form)
        if self.form == PARQUET and self._packed:
            raise InputError(f"output '{path}': Parquet is compressed already; leave .gz out")

    @property
    def header(self) -> bytes:
        """What stands before the first row."""
        return self._pack(self._rows.header)

    def render(self, published: Published) -> bytes:
        """The rows as they are written."""
        return self._pack(self._rows(published))

    def further(self, stream: str, place: OutputMark, due: bytes) -> bool:
        """Return whether more lies in the file than a checkpoint can have left."""
        del stream
        length = self._file.stat().st_size if self.path != STDOUT and self._file.is_file() else 0
        return length > place.length + len(due)

    def refuse_existing(self) -> None:
        """Refuse an output that is there already, or has no folder to be in."""
        if self.path == STDOUT:
            return
        refuse_there("output", self.path, shown=self.path)
        refuse_there("output", self._file, shown=self.path)
        if not self.path.parent.is_dir():
            raise InputError(f"output '{self.path}' cannot be written: there is no folder '{self.path.parent}'")

    @property
    def names(self) -> tuple[str, ...]:
        """The released columns."""
        return self._names

    def open(
        self,
        stream: str,
        place: OutputMark,
        due: bytes = b"",
        left: str = "the checkpoint",
        *,
        ended: bool = False,
        fresh: bool = False,
    ) -> Outlet:
        """Return where the rows are appended, from `place` on; nowhere, once a Parquet file is complete.

        A `fresh` output must not be there yet. One that another process writes is refused, and so is one that is
        further than its checkpoint and whose bytes say nothing about single rows.
        """
        del stream  # the checkpoint that names this file says whose rows it has
        if self.path == STDOUT:
            return Piped()
        if self._is_finished and ended:
            return Nowhere()
        outlet = None
        if not self._is_finished:
            with claimed(self._file, "output", fresh=fresh) as descriptor:
                outlet = Appended(self._file, place, len(due), left, descriptor)
        if outlet is None or (outlet.further and self._packed):
            if outlet is not None:
                outlet.close()
            raise InputError(
                f"output '{self.path}' is further than {left}, and its rows cannot be compared in this format; restore "
                "what belongs together"
            )
        return outlet

    @property
    def _is_finished(self) -> bool:
        return self.form == PARQUET and self.path.exists() and not self._file.exists()

    def finish(self) -> None:
        """Make the Parquet file of the rows that wait for it; other files are complete as they are."""
        if self.form != PARQUET or self._is_finished:
            return
        fresh = self.path.with_name(f".{self.path.name}.partial")
        try:
            pl.scan_csv(self._file, schema=self._rows.schema).sink_parquet(fresh, row_group_size=ROW_GROUP)
            if os.path.lexists(self.path) and sha256_of(self.path) != sha256_of(fresh):
                fresh.unlink()
                raise InputError(f"output '{self.path}' appeared meanwhile; its rows are in '{self._file}'")
            flush_file(fresh)
            fresh.replace(self.path)
            flush_folder(self.path.parent)
            self._file.unlink()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"output '{self.path}' cannot be made of '{self._file}': {error}") from error

    def _pack(self, text: bytes) -> bytes:
        return gzip.compress(text, 6, mtime=0) if self._packed and text else text
