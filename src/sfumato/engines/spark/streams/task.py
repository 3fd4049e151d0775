"""What an executor does with the records of one key: restore its publisher, push them in order, and keep its state.

A task that Spark runs again, or twice at once, sees the same records and the same state and draws keyed noise, so it
publishes the same rows (deterministic replay, Zaharia et al. 2013, "Discretized Streams").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.random import KeyedSource
from sfumato.stream.base import Published, Publisher
from sfumato.stream.runtime.batch import Batch, CellMarks, Flags, Numbers, WantedColumns
from sfumato.stream.runtime.noise_key import read_key
from sfumato.stream.screens.base import Screen
from sfumato.stream.screens.times import seconds

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState

KEY, ORDER, NUMBER, TEXT = "key", "order{}", "number{}", "text{}"
BROKEN = "_sfumato_broken"  # whether a record is broken as a whole, where whoever reads the records can tell
STATE = "state binary, held bigint"
NO_KEY = "no key"


@dataclass(frozen=True, eq=False)
class Task:
    """One publisher for each key: `publisher` holds the parameters, a key's own records lie in Spark's state.

    >>> from sfumato.random import KeyedSource, new_key
    >>> from sfumato.stream import RankWindows
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> task = Task(RankWindows((0, 9)), NumberScreen({"x": (0, 9)}), Path(".key"), "id", orders=1)
    >>> task.fields
    {'x': 'double', 'group': 'bigint', 'size': 'bigint', 'seq': 'bigint'}
    """

    publisher: Publisher
    screen: Screen
    secret: Path
    stream: str
    orders: int

    @property
    def fields(self) -> dict[str, str]:
        """The columns that leave beside the key, with their types."""
        columns = self._columns(self.publisher.push_many(self._nothing))
        texts = {name: "string" if isinstance(values, list) else "double" for name, values in columns.items()}
        counts = ("group", "size", "seq", *(["position"] if self.publisher.linked else []))
        return {name: texts.get(name, "bigint") for name in (*columns, *counts)}

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[Any]:
        """Yield the rows that leave when a micro-batch brings a key its records."""
        publisher = self.for_key(key[0])
        if state.exists:
            publisher.restore(bytes(state.get[0]))
        published = publisher.push_many(self.screen(self._batch(frames), 0).values)
        state.update((publisher.state(), publisher.held))
        yield self._frame(key[0], published)

    def flush(self, frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        """Yield what is held for each key of a frame of keys and states, when the stream is over."""
        for frame in frames:
            for key, state in zip(frame[KEY], frame["state"], strict=True):
                publisher = self.for_key(key)
                publisher.restore(bytes(state))
                yield self._frame(key, publisher.flush())

    def for_key(self, key: str | None) -> Publisher:
        """Return the publisher of a key before its first record, with the noise of that key."""
        named = (NO_KEY,) if key is None else (KEY, str(key))
        source = KeyedSource(_kept_key(self.secret), "stream", self.stream, *self.screen.released, *named)
        return replace(self.publisher, rng=source)  # type: ignore[type-var]

    @property
    def _nothing(self) -> Numbers:
        """No records, as the publisher takes them."""
        width = len(self.screen.released)
        return np.empty((0, width) if width > 1 else 0)

    def _batch(self, frames: Iterator[pd.DataFrame]) -> Batch:
        """Return the records of a key in their order."""
        import pandas as pd

        records = pd.concat(list(frames), ignore_index=True)
        order = [rank for place in range(self.orders) for rank in _ranks(records[ORDER.format(place)])]
        return read_batch(records.iloc[np.lexsort(order[::-1])], self.screen.wanted)

    def _columns(self, published: Published) -> dict[str, Any]:
        return dict(self.publisher.columns(published, self.screen.released))

    def _frame(self, key: str | None, published: Published) -> pd.DataFrame:
        import pandas as pd

        columns = self._columns(published)
        columns |= {"group": published.group, "size": published.size, "seq": published.seq}
        if published.position is not None:
            columns["position"] = published.position
        return pd.DataFrame({KEY: pd.Series([key] * len(published), dtype=object), **columns})


def read_batch(records: pd.DataFrame, wanted: WantedColumns) -> Batch:
    """Return the records of a frame whose columns are the wanted ones, numbered."""
    read = {name: _numbers(records[NUMBER.format(at)], wanted.marks_of(name)) for at, name in enumerate(wanted.numbers)}
    texts = {name: _texts(records[TEXT.format(place)]) for place, name in enumerate(wanted.texts)}
    numbers, failed = {name: pair[0] for name, pair in read.items()}, {name: pair[1] for name, pair in read.items()}
    broken = records[BROKEN].to_numpy(dtype=np.bool_) if BROKEN in records else None
    return Batch(len(records), numbers, texts, lambda _: "a record", failed, broken)  # none comes into Spark's logs


@lru_cache(maxsize=16)
def _kept_key(path: Path) -> bytes:
    """Return the key, read once by each process; a stream's key never changes."""
    return read_key(path)


def _ranks(column: pd.Series[Any]) -> list[Any]:
    """Return where each cell of a column stands, texts by the number or time they tell and then as texts."""
    columns = [column]
    if column.dtype == object:
        texts = column.map(str, na_action="ignore")
        columns = [texts.map(seconds, na_action="ignore").astype(float), texts]
    return [entry.rank(method="dense", na_option="bottom").to_numpy() for entry in columns]


def _numbers(column: pd.Series[Any], marks: CellMarks) -> tuple[Numbers, Flags]:
    """Return the numbers of a column, and which of its cells hold something that is no number."""
    from sfumato.stream.connectors.file.parsers import read_numbers

    if column.dtype == object:
        cells = [cell if cell == cell else None for cell in column]  # noqa: PLR0124  # NaN
        found, failed = read_numbers(cells, marks)
        return found + 0.0, failed  # minus zero would be other bytes
    values: Numbers = column.to_numpy(dtype=np.float64) + 0.0
    return np.where(np.isfinite(values), values, np.nan), np.isinf(values)


def _texts(column: pd.Series[Any]) -> list[str | None]:
    return [cell if isinstance(cell, str) else None for cell in column]
