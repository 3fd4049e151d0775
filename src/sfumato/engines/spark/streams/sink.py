"""A folder to which micro-batches are added, each all or nothing and once, however often Spark runs it.

A batch is written beside its place and renamed, under its number (idempotent output, Armbrust et al. 2018, "Structured
Streaming"). One that was published before is compared and not published again.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def located(path: Path) -> str:
    """Return a path as Spark takes it, whatever its letters and whatever file system is the default.

    >>> located(Path("/data/batch=3"))
    'file:///data/batch=3'
    """
    return f"file://{path.resolve()}"


@dataclass(frozen=True)
class BatchFolders:
    """The folder `target` with a folder of Parquet files for each micro-batch of which rows left.

    >>> import tempfile
    >>> BatchFolders(Path(tempfile.mkdtemp())).totals()
    (0, 0)
    """

    target: Path

    def put(self, rows: DataFrame, batch: int) -> None:
        """Publish the rows of a micro-batch under its number; evaluates them once."""
        place, beside = self.target / f"batch={batch}", self.target / f".batch-{batch}.partial"
        shutil.rmtree(beside, ignore_errors=True)
        rows.write.parquet(located(beside))
        for mark in (*beside.glob("_*"), *beside.glob(".*")):
            mark.unlink()  # Spark's own marks and checksums, which name the job
        if place.exists():
            _refuse_other(place, beside)
        elif _count(beside):
            beside.rename(place)
        shutil.rmtree(beside, ignore_errors=True)

    def totals(self) -> tuple[int, int]:
        """Return how many rows and how many groups have left."""
        files = str(self.target / "batch=*" / "*.parquet")
        if not any(self.target.glob("batch=*")):
            return 0, 0
        sizes = pl.scan_parquet(files, hive_partitioning=False).group_by("size").len().collect()
        return int(sizes["len"].sum()), sum(count // size for size, count in sizes.iter_rows())


def _refuse_other(place: Path, beside: Path) -> None:
    """Refuse a micro-batch that was published with other rows: the first ones stay the only ones."""
    if _content(place) != _content(beside):
        shutil.rmtree(beside)
        raise InputError(
            f"batch '{place}' was published before with other rows, so the files it was made of have changed; restore "
            "them"
        )


def _content(folder: Path) -> tuple[int, ...]:
    """Return how many rows a folder has and a hash of them that does not depend on their order."""
    rows = pl.struct(pl.all())
    sums = ((rows.hash(seed) // 2**24).sum().alias(str(seed)) for seed in range(2))  # sums must not wrap
    return tuple(_scan(folder).select(pl.len(), *sums).collect().row(0))


def _count(folder: Path) -> int:
    return int(_scan(folder).select(pl.len()).collect().item())


def _scan(folder: Path) -> pl.LazyFrame:
    return pl.scan_parquet(str(folder / "*.parquet"), hive_partitioning=False)
