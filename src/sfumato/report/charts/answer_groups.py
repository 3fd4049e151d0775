"""The groups of an answer in the order in which a picture shows them, and those for which it has no room.

Categories without an order are sorted by value, so that the eye compares neighbours (Cleveland 1994, section 3.3);
numbers, dates, ordinal categories and bins keep their own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.dp.questions.presentation import SORTED
from sfumato.dp.stored_answer import AnswerColumn, KeyColumn, StoredAnswer
from sfumato.report.charts.axis import Value, are_times, number_of

MOST_ROWS = 50
MOST_COLUMNS = 120
FEW = 24  # groups of an ordered key that are shown in rows


@dataclass(frozen=True)
class Mark:
    """One group in a picture: its heading (of its first keys), its name, its numbers, and the truth if it is known.

    >>> Mark("F", "", 3.0, 1.0, 5.0).told
    'F: 3 (95 %: 1 to 5)'
    """

    name: str
    heading: str
    value: float
    low: float | None
    high: float | None
    truth: float | None = None
    shown: tuple[Value, Value, Value] | None = None
    edges: tuple[float, float] | None = None

    @property
    def told(self) -> str:
        """The group and its numbers in words."""
        value, low, high = (_words(number) for number in self.shown or (self.value, self.low, self.high))
        group = ", ".join(part for part in (self.heading, self.name) if part)
        named = value if group == value else f"{group}: {value}"
        return named + ("" if self.low is None else f" (95 %: {low} to {high})")

    @property
    def reach(self) -> list[float]:
        """All numbers that the picture must have room for."""
        return [number for number in (self.value, self.low, self.high, self.truth) if number is not None]


def marks_of(stored: StoredAnswer, column: AnswerColumn, truth: Sequence[float] | None = None) -> list[Mark]:
    """Return the groups that have a number, in the order of a picture, or of the question where it sorts them.

    >>> column = AnswerColumn(name="n", mechanism="", values=[3, 9], low=[1, 7], high=[5, 11], scale=[1.0])
    >>> cells = [["F"], ["M"]]
    >>> stored = StoredAnswer(question="q", keys=["sex"], cells=cells, columns=[column], epsilon="1")
    >>> [mark.name for mark in marks_of(stored, column)]
    ['M', 'F']
    """
    keys = key_columns(stored)
    spans = _bin_spans(keys[-1]) if keys else {}
    made = []
    for place, cells in enumerate(stored.cells):
        value = number_of(column.values[place])
        if value is None:
            continue
        low, high = number_of(column.low[place]), number_of(column.high[place])
        heading = ", ".join(str(cell) for cell in cells[:-1])
        span = spans.get(cells[-1]) if cells else None
        name = _bin_name(keys[-1], cells[-1]) if cells else _words(column.values[place])
        shown = (column.values[place], column.low[place], column.high[place])
        true = None if truth is None else truth[place]
        made.append(Mark(name, heading, value, low, high, true, shown, span))
    asked = any(words.startswith(SORTED) for words in stored.arranged)  # rows stand as the question sorted them
    return made if asked and not in_columns(stored, made) else _sorted(made, keys)


def key_columns(stored: StoredAnswer) -> list[KeyColumn]:
    """Return the keys; those of earlier ledgers have an order if their values are numbers, dates or times."""
    if stored.key_columns:
        return stored.key_columns
    columns = [[cells[place] for cells in stored.cells] for place in range(len(stored.keys))]
    return [
        KeyColumn(name=name, declared=True, ordered=are_times(cells) or not any(isinstance(one, str) for one in cells))
        for name, cells in zip(stored.keys, columns, strict=True)
    ]


def in_columns(stored: StoredAnswer, marks: Sequence[Mark]) -> bool:
    """Return whether the groups stand side by side: bins, and many values of one key that have an order."""
    keys = key_columns(stored)
    return len(keys) == 1 and keys[0].ordered and (keys[0].edges is not None or len(marks) > FEW)


def largest(marks: Sequence[Mark]) -> list[Mark]:
    """Return the groups with the largest numbers for which there is room in rows, in the order given."""
    kept = sorted(range(len(marks)), key=lambda place: -marks[place].value)[:MOST_ROWS]
    return [marks[place] for place in sorted(kept)]


def _sorted(marks: list[Mark], keys: Sequence[KeyColumn]) -> list[Mark]:
    if not keys:
        return marks
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.heading, []).append(mark)
    blocks = list(found.items())
    if not keys[-1].ordered:
        blocks = [(heading, sorted(block, key=lambda mark: -mark.value)) for heading, block in blocks]
    if not all(key.ordered for key in keys[:-1]):
        blocks.sort(key=lambda entry: -max(mark.value for mark in entry[1]))
    return [mark for _, block in blocks for mark in block]


def _bin_spans(key: KeyColumn) -> dict[Value, tuple[float, float]]:
    numbers = [number_of(edge) for edge in key.edges or ()]
    pairs = pairwise(numbers)
    return {
        edge: (low, high)
        for edge, (low, high) in zip(key.edges or (), pairs, strict=False)
        if low is not None and high is not None
    }


def _bin_name(key: KeyColumn, cell: float | str) -> str:
    if key.edges is None or cell not in key.edges[:-1]:
        return str(cell)
    return f"{_words(cell)} to {_words(key.edges[key.edges.index(cell) + 1])}"


def _words(value: Value) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
