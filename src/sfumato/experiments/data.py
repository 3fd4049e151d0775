"""Where an experiment's data are: real files in a folder, or stand-ins made by a seed where a file is not at hand.

A stand-in has the columns, size and rough shape of the real set and none of its rows; a page made from one says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, suggestion

MADE = Path(__file__).with_name("stand_ins.py")


@dataclass(frozen=True)
class Data:
    """The data of experiments; `folder` is None where there are none.

    >>> data = Data(None)
    >>> data.real("census.csv"), data.frame("census.csv").width
    (False, 13)
    """

    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.folder is not None and not self.folder.is_dir():
            raise InputError(
                f"folder '{self.folder}' does not exist; give --data (or SFUMATO_DATA) a folder of data sets"
            )

    def real(self, file: str) -> bool:
        """Whether a file is there; otherwise a stand-in is used."""
        return self.folder is not None and (self.folder / file).exists()

    def stand_ins(self, files: Iterable[str]) -> list[str]:
        """Return which of the files are stand-ins."""
        return [file for file in files if not self.real(file)]

    def frame(self, file: str) -> pl.DataFrame:
        """Return a data set, every cell as the file has it and numbers as numbers, or its stand-in."""
        return _read(self.folder / file) if self.folder is not None and self.real(file) else _make_stand_in(file)

    def check(self, files: Iterable[str]) -> None:
        """Refuse a real file that cannot be read, or lacks columns, numbers or rows that its stand-in has.

        >>> Data(None).check(["census.csv"])
        """
        for file in files:
            if self.folder is not None and self.real(file):
                _compare(f"data set '{self.folder / file}'", self.frame(file), _make_stand_in(file))

    def fingerprint(self, files: Iterable[str]) -> str:
        """Return a hash of the files' content; a stand-in counts by the code that makes it."""
        digest = hashlib.sha256()
        for file in files:
            there = self.folder / file if self.folder is not None and self.real(file) else None
            digest.update(file.encode() + b"\0" + _content(MADE if there is None else there))
        return digest.hexdigest()


@lru_cache(maxsize=2)
def _read(path: Path) -> pl.DataFrame:
    try:
        content = path.read_bytes()
        if path.suffix == ".parquet":
            return pl.read_parquet(content)
        return pl.read_csv(content, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        why = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise InputError(
            f"data set '{path}' cannot be read ({why}); repair it, or take it away to use a stand-in"
        ) from error


def _compare(name: str, found: pl.DataFrame, known: pl.DataFrame) -> None:
    """Refuse a table with less in it than the stand-in of its shape."""
    lacking = [column for column in known.columns if column not in found.columns]
    if lacking:
        raise InputError(f"{name} has no column '{lacking[0]}'{suggestion(lacking[0], found.columns)}")
    for column in known.columns:
        if known[column].dtype.is_numeric() and not found[column].dtype.is_numeric():
            raise InputError(f"column '{column}' of {name} holds text; every cell must be a number")
        if found[column].null_count() and not known[column].null_count():
            raise InputError(f"column '{column}' of {name} has empty cells; every row needs a value")
        if found[column].dtype.is_float() and not found[column].is_finite().all():
            raise InputError(f"column '{column}' of {name} has infinite values; every number must be finite")
    if found.height < known.height:
        raise InputError(f"{name} has {found.height:,} rows; the experiment needs at least {known.height:,}")


@lru_cache(maxsize=2)
def _make_stand_in(file: str) -> pl.DataFrame:
    from sfumato.experiments.stand_ins import stand_in

    return stand_in(file)


@lru_cache(maxsize=64)
def _content(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
