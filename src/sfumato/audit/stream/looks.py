"""What can be looked at in a stream's release: which values are equal, how large groups are, when they leave, values.

Members of a DOCA cluster (Leal, Vidal & Machado 2018) share one value and leave together, which is what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from sfumato.audit.stream.inequality import Floats, Integers
from sfumato.random import Source


class Streaming(Protocol):
    """A publisher as an attacker meets it: records go in, rows with values, group, size and maybe position come out."""

    def push_many(self, batch: Any) -> Any:
        """Return what leaves when a batch comes."""

    def flush(self) -> Any:
        """Return all that is still held."""


Factory = Callable[[Source], Streaming]


class StreamRows(NamedTuple):
    """All rows of a stream: one number for each, its group's size, the record it belongs to, and when it left."""

    numbers: Floats
    size: Integers
    group: Integers
    position: Any
    time: Integers


def run_stream(publisher: Factory, records: Floats, source: Source, *, one_by_one: bool = False) -> StreamRows:
    """Return all rows of one stream; pushed one by one, `time` is the number of records that had come.

    >>> from types import SimpleNamespace
    >>> from sfumato.random import SeededSource
    >>> class Echo:
    ...     def push_many(self, batch):
    ...         ones = np.ones(len(batch), dtype=int)
    ...         return SimpleNamespace(values=batch, group=ones.cumsum(), size=ones, position=None)
    ...     def flush(self):
    ...         return self.push_many(np.empty(0))
    >>> run_stream(lambda rng: Echo(), np.array([5.0, 7.0]), SeededSource(1), one_by_one=True).time.tolist()
    [0, 1]
    """
    made = publisher(source)
    batches = np.array_split(records, len(records)) if one_by_one else [records]
    calls = [made.push_many(batch) for batch in batches]
    calls.append(made.flush())
    shown = [_numbers(call) for call in calls]
    linked = calls[0].position is not None
    return StreamRows(
        np.concatenate(shown),
        np.concatenate([call.size for call in calls]),
        np.concatenate([call.group for call in calls]),
        np.concatenate([call.position for call in calls]) if linked else None,
        np.repeat(np.arange(len(calls)), [len(call.size) for call in calls]),
    )


def _numbers(call: Any) -> Floats:
    """Return one number for each row; of several columns, their sum."""
    values = np.asarray(call.values, dtype=np.float64)
    return values if values.ndim == 1 else values.sum(axis=1)


@dataclass(frozen=True)
class Look:
    """A way to look at a release: a few numbers, each with its name."""

    name: str
    words: str
    entries: tuple[str, ...]
    measure: Callable[[StreamRows], list[float]]
    one_by_one: bool = False

    def at(self, publisher: Factory, records: Floats, source: Source) -> Floats:
        """Return what is seen of one release of the records."""
        return np.array(self.measure(run_stream(publisher, records, source, one_by_one=self.one_by_one)))

    def name_entries(self, evidence: dict[str, Any]) -> dict[str, Any]:
        """Return the evidence with entries called by their names."""
        named = dict(evidence)
        for key in ("event", "reason"):
            for place, entry in enumerate(self.entries):
                named[key] = named[key].replace(f"entry {place + 1} of the output", entry)
        return named


def _equal_values(rows: StreamRows) -> list[float]:
    if len(rows.numbers) == 0:
        return [0.0] * 3
    _, places, counts = np.unique(rows.numbers, return_inverse=True, return_counts=True)
    together = -1.0
    if rows.position is not None and len(places) > 1:
        last = np.argsort(rows.position)[-2:]
        together = float(places[last[0]] == places[last[1]])
    return [float(len(counts)), float(counts.max()), together]


def _sizes_and_times(rows: StreamRows) -> list[float]:
    if len(rows.numbers) == 0:
        return [0.0] * 5
    groups = np.unique(rows.group)
    return [
        float(len(rows.numbers)),
        float(len(groups)),
        float(rows.size.max()),
        float(rows.time[0]),
        float((rows.time * np.arange(1, len(rows.time) + 1)).sum()),
    ]


def _values(rows: StreamRows) -> list[float]:
    told = ~np.isnan(rows.numbers)  # a suppressed row has no number
    if not told.any():
        return [0.0] * 4
    numbers = rows.numbers[told]
    last = numbers[-1] if rows.position is None else numbers[np.argmax(rows.position[told])]
    return [float(numbers.sum()), float(numbers.max()), float(numbers.min()), float(last)]


LOOKS = (
    Look(
        "equal values",
        "who shares a value",
        (
            "the number of different values",
            "the largest number of equal values",
            "whether the last two records are equal",
        ),
        _equal_values,
    ),
    Look(
        "sizes and times",
        "sizes and times",
        ("the number of rows", "the number of groups", "the largest group", "the time of the first row", "the times"),
        _sizes_and_times,
        one_by_one=True,
    ),
    Look(
        "values",
        "the values",
        ("the sum of the values", "the largest value", "the smallest value", "the last record's value"),
        _values,
    ),
)
