"""The stream door on Spark: each key, or each bucket of persons, is a publisher with its state in Spark's state store.

Structured Streaming (Armbrust et al. 2018) gives every micro-batch the same records and states when it runs again, and
keyed noise gives it the same rows (`keyed noise` on `docs/guides/spark.md`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.streams.keys import Keys, refuse_missing
from sfumato.engines.spark.streams.task import BROKEN, KEY, NUMBER, ORDER, STATE, TEXT, Task, read_batch
from sfumato.errors import ParameterError
from sfumato.promise import OrderBy, Promise
from sfumato.random import KeyedSource
from sfumato.release import Card
from sfumato.stream.base import Publisher
from sfumato.stream.runtime.batch import Batch
from sfumato.stream.runtime.noise_key import FILE
from sfumato.stream.screens.base import NumberScreen, Screen

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNTS = {"group", "size", "seq", "position", "batch"}
ENGINE = "spark"
ORDERED = (
    "Within a key, the records of a micro-batch come in the order of {}, which is public: no published value decides "
    "it, nor may it be made of one."
)


@dataclass(frozen=True, eq=False)
class SparkStream:
    """Many publishers with the parameters of one: which columns they read, what tells them apart, and the order.

    `order` names columns that put the records of a key in order, `ARRIVAL` for a folder that `read_growing` reads. They
    must be public, as arrival is, and leave no ties: where a window ends depends on them.

    >>> from sfumato.engines.spark.streams.keys import ByKey
    >>> from sfumato.stream import RankWindows
    >>> stream = SparkStream(RankWindows((0, 9)), NumberScreen({"wait": (0, 9)}), ByKey("stop"), order=("second",))
    >>> stream.card().guarantee.parameters, [column.name for column in stream.card().released.columns]
    ({'epsilon': 1.0}, ['wait', 'stop'])
    """

    publisher: Publisher
    screen: Screen
    keys: Keys
    order: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.publisher.needs_clock:
            raise ParameterError(
                "windows that end by the clock need one clock, which many keys have not: a silent one would show; "
                "leave --every out"
            )
        if self.screen.on_bad.file is not None:
            raise ParameterError("many machines cannot put records aside in one file; give --on-bad clamp or default")
        if isinstance(self.screen, NumberScreen) and None in self.screen.bounds.values():
            raise ParameterError(
                f"{self.publisher.name} on Spark needs --bounds LOW HIGH, whose middle stands for what is no number"
            )
        told = {column.name for column in self.publisher.card(*self.screen.released).released.columns}
        if self.keys.name in {*self.screen.released, *told, *COUNTS}:
            raise ParameterError(f"column '{self.keys.name}' cannot be the key of a release that has it already")
        published = next((name for name in self.order if name in self.screen.released), None)
        if published is not None:
            raise ParameterError(
                f"column '{published}' is published and cannot order the records: one changed value would move others "
                "into another window; order them by a column that is public"
            )
        if not self.order:
            raise ParameterError("records need an order that does not change when a task runs again; name its column")

    def published(self, records: DataFrame, folder: Path, stream: str) -> DataFrame:
        """Return the rows that leave for a streaming frame, as a streaming frame: values, key, group, size and seq.

        Their noise is that of the key in `folder` and the id `stream`; write them through a sink that writes a
        micro-batch once, as `run_stream` does.
        """
        task = self.task(folder, stream)
        fields = ", ".join(f"{quote_name(name)} {kind}" for name, kind in task.fields.items())
        grouped = self._select_columns(records).groupBy(KEY)
        rows = grouped.applyInPandasWithState(task, f"{KEY} string, {fields}", STATE, "append", "NoTimeout")
        return self.name_key(rows, self.keys.kind(records))

    def first_records(self, records: DataFrame, count: int) -> Batch:
        """Return some records of a frame that is no stream, read as a task reads them."""
        return read_batch(self.wanted_cells(records).limit(count).toPandas(), self.screen.wanted)

    def wanted_cells(self, records: DataFrame) -> DataFrame:
        """Return the wanted columns of a frame that is no stream, under the names that a task knows them by."""
        from pyspark.sql import functions

        wanted = self.screen.wanted
        for name in wanted.names:
            refuse_missing(records, name)
        columns = [_as_number(records, name).alias(NUMBER.format(at)) for at, name in enumerate(wanted.numbers)]
        for at, name in enumerate(wanted.texts):
            columns.append(functions.col(quote_name(name)).cast("string").alias(TEXT.format(at)))
        return records.select(*columns, *_broken(records))

    def task(self, folder: Path, stream: str) -> Task:
        """Return what executors run, told where the key lies."""
        return Task(self.publisher, self.screen, folder.resolve() / FILE, stream, len(self.order))

    def name_key(self, rows: DataFrame, kind: str) -> DataFrame:
        """Return the rows of tasks with the key behind the values, under its name and of its type."""
        from pyspark.sql import functions

        names = [name for name in rows.columns if name != KEY]
        values = [functions.col(quote_name(name)) for name in names]
        width = names.index("group")  # a publisher may release several columns of one
        return rows.select(*values[:width], functions.col(KEY).cast(kind).alias(self.keys.name), *values[width:])

    def promise(self) -> Promise | None:
        """Return what is promised by the publishers together, whose records are in a public order."""
        own = self.publisher.promise()
        if own is None:
            return None
        order = [OrderBy(name, protected=name in self.screen.released) for name in self.order]
        return self.keys.together(own.before(*order, metric=own.metric))

    def card(self) -> Card:
        """Return the card of the release before a row has left."""
        keyed = replace(self.publisher, rng=KeyedSource(bytes(32)))  # type: ignore[type-var]  # for what its card says
        card = self.keys.extend_card(keyed.card(*self.screen.released), self.promise())
        settings = {**card.released.settings, "engine": ENGINE, **self.keys.settings}
        order = " and then ".join(f"'{name}'" for name in self.order if not name.startswith("_sfumato")) or "arrival"
        released = msgspec.structs.replace(card.released, settings=settings)
        assumptions = [*card.assumptions, ORDERED.format(order)]
        return msgspec.structs.replace(card, assumptions=assumptions, released=released)

    def question(self) -> dict[str, Any]:
        """Return what must be the same for a checkpoint to be gone on with."""
        return {
            "engine": ENGINE,
            "publisher": self.publisher.name,
            "columns": self.screen.wanted.names,
            **self.publisher.parameters(),
            "on-bad": self.screen.on_bad.action,
            **self.keys.settings,
            "order": self.order,
        }

    def _select_columns(self, records: DataFrame) -> DataFrame:
        """Return the wanted columns alone, under the names that a task knows them by."""
        from pyspark.sql import functions

        wanted = self.screen.wanted
        for name in (*wanted.names, *self.order):
            refuse_missing(records, name)
        columns: list[Column] = [self.keys.value(records).alias(KEY)]
        for form, names in ((ORDER, self.order), (NUMBER, wanted.numbers), (TEXT, wanted.texts)):
            for place, name in enumerate(names):
                column = functions.col(quote_name(name))
                column = _as_number(records, name) if form == NUMBER else column
                columns.append((column.cast("string") if form == TEXT else column).alias(form.format(place)))
        return records.select(*columns, *_broken(records))


def _broken(records: DataFrame) -> list[str]:
    """Return the column that says which records are broken, where there is one."""
    return [BROKEN] if BROKEN in records.columns else []


def _as_number(records: DataFrame, name: str) -> Column:
    """Return a column of numbers as such, and any other as text that may tell numbers."""
    from pyspark.sql import functions, types

    numeric = isinstance(records.schema[name].dataType, types.NumericType)
    return functions.col(quote_name(name)).cast("double" if numeric else "string")
