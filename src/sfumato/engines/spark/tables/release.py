"""A release that lies on the cluster: classes brought back to the rows, the rows with their card, both saved together.

Rows are dealt to files by a hash of what is released and sorted by it within a file, so that the folder is a function
of the released rows as a set: neither order nor file tells where a row came from (on order as a channel see Ciriani et
al. 2007). What classes cost is the share of each column's scale that they cover (Xu et al. 2006).
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.files import Staging, sha256_of
from sfumato.engines.spark.folders import quote_name, remove_marks, spark_address
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.tables.counting import ROWS, to_arrow
from sfumato.errors import BrokenPromiseError
from sfumato.release import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.schema import Role, Schema
from sfumato.table import ParseReport
from sfumato.tabular.base import Settled, released_names
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, Extent

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLASS = "__sfumato_class"
KEY = "__sfumato_key_"
PIECE = "__sfumato_piece"
LONGEST_RUN = 100_000  # equal rows that are written out at once
FILE_ROWS = 1_000_000  # rows of an output file, on average
MOST_BROADCAST = 1_000_000  # distinct rows up to which the classes are sent to every executor


@dataclass(frozen=True, eq=False)
class SparkRelease:
    """Public rows on a cluster with their card; `steward` is what only the steward may know.

    `frame` is computed when it is used; `save` writes it as a folder of Parquet with the card beside it and frees
    what the cluster `held` of it until then.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[])
    >>> SparkRelease(None, card_on_spark(card)).card.released.order
    'sorted'
    """

    frame: DataFrame
    card: Card
    steward: Mapping[str, float] = field(default_factory=dict)
    held: Sequence[DataFrame] = ()
    intake: ParseReport | None = None  # what became of the cells: for the steward

    def save(self, path: str | Path, *, card: str | Path | None = None, naming: Naming = UNNAMED) -> Card:
        """Write the folder, the card (`PATH.card.json` unless named) and its statement; return the final card."""
        target = Path(path)
        with Staging() as staging:
            rows = staging.place_folder(target)
            card_files = CardFiles.place(staging, card or target.with_name(f"{target.name}.card.json"))
            final = naming.name(self.write(rows, target.name))
            card_files.write(final)
        return final

    def write(self, folder: Path, name: str) -> Card:
        """Write the rows alone as a folder of Parquet; return the card with its name and the hash of its files."""
        with spark_sentences(f"output '{name}' cannot be written"):
            self.frame.write.parquet(spark_address(folder))
        for cached in self.held:
            cached.unpersist()
        remove_marks(folder)
        files = sorted(folder.glob("*.parquet"))
        self._refuse_other_rows(files)
        return self.card.for_file(name, folder_digest(files))

    def _refuse_other_rows(self, files: list[Path]) -> None:
        """Withhold the release if other rows were written than were checked: the input changed between two readings."""
        import pyarrow.parquet

        found = sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)
        if found != self.card.released.rows:
            raise BrokenPromiseError(
                f"the release was withheld: {self.card.released.rows} rows were checked and {found} written; the input "
                "changed meanwhile, so start again"
            )


def folder_digest(files: list[Path]) -> str:
    """Return the hash of a folder's files: that of the list that `sha256sum *.parquet` prints."""
    lines = []
    for file in files:
        with file.open("rb") as content:
            lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {file.name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def digest_of(place: Path) -> str:
    """Return the hash that a card names for a released file or folder.

    >>> import tempfile
    >>> digest_of(Path(tempfile.mkdtemp()))[:8]
    'e3b0c442'
    """
    return sha256_of(place) if place.is_file() else folder_digest(sorted(place.glob("*.parquet")))


def card_on_spark(card: Card) -> Card:
    """Return the card with the engine among the settings, and the order that rows have there."""
    settings = {**card.released.settings, "engine": "spark"}
    return msgspec.structs.replace(
        card, released=msgspec.structs.replace(card.released, settings=settings, order="sorted")
    )


@dataclass(frozen=True, eq=False)
class ReleasedLabels:
    """The released values of every class, each set of values once, numbered in their own order."""

    frame: pl.DataFrame
    number: npt.NDArray[np.int64]

    @classmethod
    def of(cls, coarse: Mapping[str, list[Coarse]], count: int) -> ReleasedLabels:
        """Return the labels of classes 0…count-1; `number` is the label of each class."""
        every = np.arange(count)
        shown = pl.DataFrame([column.rows(every) for columns in coarse.values() for column in columns])
        shown = shown.with_columns(pl.col(pl.Null).cast(pl.String))
        names = shown.columns
        unique = shown.unique().sort(names).with_row_index(CLASS).with_columns(pl.col(CLASS).cast(pl.Int64))
        numbered = shown.join(unique, on=names, how="left", nulls_equal=True, maintain_order="left")
        return cls(unique, numbered[CLASS].to_numpy())


def recode_rows(rows: DataFrame, entries: pl.DataFrame, labels: ReleasedLabels, found: Settled) -> DataFrame:
    """Return the released rows: `entries` gives the class of each distinct row of quasi-identifiers.

    Rows may be counted before; what is released of equal rows is then sorted once and written as often as it occurs.
    """
    from pyspark.sql import functions

    schema = found.problem.schema
    kept = kept_names(schema)
    quasi = list(schema.names(Role.QUASI))
    small = len(entries) <= MOST_BROADCAST
    lookup = entries if small else entries.join(labels.frame, on=CLASS)
    keys = _on_cluster(rows, lookup.rename({name: f"{KEY}{place}" for place, name in enumerate(quasi)}), quasi)
    present = {name for name in quasi if not entries[name].null_count()}
    joined = rows.join(functions.broadcast(keys) if small else keys, join_condition(rows, quasi, present))
    counted = [ROWS] if ROWS in rows.columns else []
    wanted = [CLASS, *kept, *counted] if small else [CLASS, *kept, *counted, *labels.frame.columns[1:]]
    crowd = int(found.groups.sizes.max()) * 4 > max(found.groups.rows, FILE_ROWS)
    by = [CLASS, *kept] if crowd else [CLASS]
    placed = deal_to_files(joined.select(*map(quote_name, wanted)), found.groups.rows, by)
    if small:  # labels join late, so that numbers travel and not words; but before the sort, which a join would undo
        shown = rows.sparkSession.createDataFrame(to_arrow(labels.frame))
        placed = placed.join(functions.broadcast(shown), CLASS)
    placed = placed.sortWithinPartitions(*map(quote_name, [CLASS, *kept]))
    return (repeat_rows(placed) if counted else placed).select(*map(quote_name, released_names(schema, found.coarse)))


def kept_names(schema: Schema) -> list[str]:
    """Return the columns that are released as they are.

    >>> kept_names(Schema.from_roles(quasi=["age"], sensitive=["disease"], identifier=["name"]))
    ['disease']
    """
    return [name for name, part in schema.columns.items() if part.role in {Role.SENSITIVE, Role.OTHER}]


def repeat_rows(frame: DataFrame) -> DataFrame:
    """Return every counted row as often as it occurs, in its place; long runs are made piece by piece."""
    from pyspark.sql import functions

    count, run, piece = functions.col(ROWS), functions.lit(LONGEST_RUN), functions.col(PIECE)
    pieces = functions.explode(functions.sequence(functions.lit(0), functions.floor((count - 1) / run).cast("int")))
    left = functions.least(run, count - piece * run).cast("int")
    cut = frame.withColumn(PIECE, pieces).withColumn(ROWS, left)
    return cut.withColumn(PIECE, functions.explode(functions.array_repeat(functions.lit(0), functions.col(ROWS))))


def deal_to_files(frame: DataFrame, rows: int, by: Sequence[str]) -> DataFrame:
    """Return the rows dealt to files by a hash of some released columns."""
    return frame.repartition(max(1, -(-rows // FILE_ROWS)), *map(quote_name, by))


def join_condition(rows: DataFrame, quasi: Sequence[str], present: Container[str] = ()) -> Column:
    """Return the condition that joins rows to their class by keys; columns in `present` have no missing value.

    Telling missing values alike costs time, so only a column that may have one pays for it.
    """
    from pyspark.sql import functions

    keys = [functions.col(f"{KEY}{place}") for place in range(len(quasi))]
    cells = [rows[quote_name(name)] for name in quasi]
    pairs = zip(quasi, cells, keys, strict=True)
    return reduce(and_, (cell == key if name in present else cell.eqNullSafe(key) for name, cell, key in pairs))


def _on_cluster(rows: DataFrame, lookup: pl.DataFrame, quasi: Sequence[str]) -> DataFrame:
    """Return the lookup as a Spark frame whose keys have the very types of the columns they stand for."""
    made = rows.sparkSession.createDataFrame(to_arrow(lookup))
    kinds = {f"{KEY}{place}": rows.schema[name].dataType for place, name in enumerate(quasi)}
    return made.withColumns({key: made[key].cast(kind) for key, kind in kinds.items()})


def certainty_lost(problem: Problem, classes: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.float64]:
    """Return the certainty that each row loses in its class, 0 to 1, over all quasi-identifiers alike."""
    lost = np.zeros(len(classes))
    for column in problem.quasi:
        extent = Extent.of(column, column.codes, classes, count)
        empty = extent.low > extent.high
        low, high = np.where(empty, 0, extent.low), np.where(empty, 0, extent.high)
        share = np.where(extent.missing & ~empty, 1.0, column.positions[high] - column.positions[low])
        lost += share[classes]
    return lost / len(problem.quasi)


def average_lost(lost: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | None) -> float:
    """Return the average over rows, each counted as often as it occurs.

    >>> average_lost(np.array([0.0, 1.0]), np.array([3, 1]))
    0.25
    """
    return float(np.average(lost, weights=weights))
