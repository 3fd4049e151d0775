"""Which values of an identified list a published cell may stand for, as runs over the list's values in their order.

The attacker of Sweeney (2002) holds exact values and a table of generalised ones; a cell that tells nothing, or whose
value was missing when the table was made, may stand for anybody's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.calendar import EPOCH, MICROSECOND, day_of, time_of, times_of
from sfumato.core.cells import MISSING_MARKS, Cell, Number, is_under_mask, number, read
from sfumato.errors import SchemaError, suggestion
from sfumato.schema import Attribute, Kind
from sfumato.table.coding import listed_texts

Integers = npt.NDArray[np.int64]
Runs = list[tuple[int, int]]
WORDED = frozenset({Kind.CATEGORY, Kind.ORDINAL, Kind.TEXT})
LAST = "\U0010ffff"  # sorts after any letter


@dataclass(frozen=True, eq=False)
class Fits:
    """A column of a list as codes, and for text t of a release the codes it may stand for: runs `starts[t]` and on.

    >>> ages = fit(["[20-29]", "35", "*"], pl.Series(["21", "35", "29"]))
    >>> ages.codes.tolist(), ages.runs(0), ages.runs(1), ages.runs(2)
    ([0, 2, 1], [(0, 1)], [(2, 2)], [(0, 2)])
    """

    codes: Integers
    size: int
    starts: Integers
    low: Integers
    high: Integers

    def runs(self, text: int) -> Runs:
        """The runs of codes that a text covers."""
        part = slice(self.starts[text], self.starts[text + 1])
        return list(zip(self.low[part].tolist(), self.high[part].tolist(), strict=True))

    def texts_covering(self, code: int) -> npt.NDArray[np.bool_]:
        """Which texts may stand for a code."""
        owners = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        found = np.zeros(len(self.starts) - 1, dtype=np.bool_)
        found[owners[(self.low <= code) & (code <= self.high)]] = True
        return found


def fit(texts: Sequence[str], values: pl.Series, attribute: Attribute | None = None) -> Fits:
    """Return how the texts of a released column fit the values of a list; labels are read through a hierarchy.

    A person without a value fits every cell.

    >>> fit(["47***", "{47110, 80331}"], pl.Series(["47110", "", "80331"])).runs(0)
    [(0, 0), (2, 2)]
    """
    marks = MISSING_MARKS if attribute is None else (*MISSING_MARKS, *attribute.missing)
    values = values if attribute is None else listed_texts(values, attribute)
    words = [word for word in values.unique().to_list() if word not in marks]
    timed = _timed(texts, words, attribute)
    cells = _cells(texts, words, marks, attribute, timed=timed)
    if _numeric(cells, attribute):
        line: _Numbers | _Words = _Numbers(words, timed=timed)
    else:
        line = _Words(words, attribute)
    runs = [_runs_of(line, text, cell) for text, cell in zip(texts, cells, strict=True)]
    size = len(words)
    order = {word: code for code, word in enumerate(line.order)} | dict.fromkeys(marks, size)
    codes = values.replace_strict(order, return_dtype=pl.Int64).to_numpy()
    if (codes == size).any():
        runs, size = [_join_runs([*found, (size, size)]) for found in runs], size + 1
    flat = np.array([run for found in runs for run in found], dtype=np.int64).reshape(-1, 2)
    starts = np.cumsum([0, *(len(found) for found in runs)])
    return Fits(codes, size, starts, flat[:, 0].copy(), flat[:, 1].copy())


def _timed(texts: Sequence[str], words: Sequence[str], attribute: Attribute | None) -> bool:
    """Return whether the column holds times, declared or to be seen; a day is then all of its times."""
    if attribute is not None and attribute.kind is not None:
        return attribute.kind is Kind.TIMESTAMP
    ends = (word for text in texts for word in (*read(text).words, *(read(text).ends or ())))
    return any(map(time_of, (*ends, *words)))


def _cells(
    texts: Sequence[str], words: Sequence[str], marks: Sequence[str], attribute: Attribute | None, *, timed: bool
) -> list[Cell]:
    """Return the texts read; where the column holds days, a month or a year is all of its days."""
    cells = [read(text, marks, None if attribute is None else attribute.categories) for text in texts]
    if attribute is not None and attribute.hierarchy is not None:
        return cells
    if timed:
        return [cell.on_clock() for cell in cells]
    shown = (word for cell in cells for word in (*cell.words, *(cell.ends or ())))
    dated = (attribute is not None and attribute.kind is Kind.DATE) or any(map(day_of, (*shown, *words)))
    return [cell.on_calendar() for cell in cells] if dated else cells


def _numeric(cells: Iterable[Cell], attribute: Attribute | None) -> bool:
    """Return whether every cell is a number or a range of numbers, and nothing says that they are names."""
    named = attribute is not None and (attribute.hierarchy is not None or attribute.kind in WORDED)
    return not named and all(cell.limits is not None for cell in cells if cell.named)


def _runs_of(line: _Numbers | _Words, text: str, cell: Cell) -> Runs:
    if cell.everything or cell.missing:
        return [(0, len(line.order) - 1)] if line.order else []
    return line.runs(text, cell)


def _join_runs(runs: Iterable[tuple[int, int]]) -> Runs:
    """Return runs in order, neighbours made one."""
    joined: Runs = []
    for low, high in sorted(runs):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


class _Numbers:
    """A list's values on the line of numbers, days or times; what is none stands after them and is in no range."""

    def __init__(self, words: Sequence[str], *, timed: bool) -> None:
        read_word = _time_number if timed else number
        numbers = {word: found for word in words if (found := read_word(word)) is not None}
        told = sorted(numbers, key=lambda word: (numbers[word], word))
        self.order = [*told, *sorted(set(words) - set(told))]
        self._numbers = np.array([numbers[word] for word in told], dtype=np.float64)

    def runs(self, text: str, cell: Cell) -> Runs:
        """The one run of values within the limits, if there are any."""
        del text
        if cell.limits is None:
            return []
        low = int(np.searchsorted(self._numbers, cell.limits[0], "left"))
        high = int(np.searchsorted(self._numbers, cell.limits[1], "right")) - 1
        return [(low, high)] if low <= high else []


def _time_number(word: str) -> Number | None:
    """Return a time's place on the line of times; a day stands at its midnight."""
    times = times_of(word)
    return None if times is None else (times[0] - EPOCH) // MICROSECOND


class _Words:
    """A list's values in the order of the hierarchy's leaves or the declared categories, else by length and letters.

    So a node of the hierarchy, a range of categories and a masked prefix (`47***`) are one run each.
    """

    def __init__(self, words: Sequence[str], attribute: Attribute | None) -> None:
        self._attribute = attribute
        self._tree = None if attribute is None else attribute.hierarchy
        listed = self._tree.leaves if self._tree is not None else ()
        if attribute is not None and attribute.categories is not None:
            listed = attribute.categories
        self._listed = {word: place for place, word in enumerate(listed)}
        self.order = sorted(words, key=self._key)
        self._places = {word: place for place, word in enumerate(self.order)}

    def _key(self, word: str) -> tuple[int, int, str]:
        return self._listed.get(word, len(self._listed)), len(word), word

    def _stretch(self, first: tuple[int, int, str], after: tuple[int, int, str]) -> Runs:
        """The values from one key up to another."""
        low, high = (bisect_left(self.order, key, key=self._key) for key in (first, after))
        return [(low, high - 1)] if low < high else []

    def runs(self, text: str, cell: Cell) -> Runs:
        """The runs of all values that one of the cell's words may stand for."""
        if text in self._nodes or (cell.ends is not None and text in self._places):
            return _join_runs(self._under(text))
        if cell.ends is not None:
            return _join_runs(self._runs_in_range(text, cell))
        masked = (run for mask in cell.masks for run in self._under_mask(mask))
        return _join_runs([*masked, *(run for word in cell.words for run in self._under(word))])

    @cached_property
    def _nodes(self) -> dict[str, Runs]:
        """Every label of the hierarchy with its first and last leaf."""
        nodes: dict[str, Runs] = {}
        for label, _, start, end in () if self._tree is None else self._tree.nodes():
            nodes.setdefault(label, []).append((start, end - 1))
        return nodes

    def _under(self, word: str) -> Iterator[tuple[int, int]]:
        """The values under a label, or the word itself."""
        for first, last in self._nodes.get(word, []):
            yield from self._stretch((first, 0, ""), (last + 1, 0, ""))
        if word in self._nodes:
            return
        if word in self._places:
            yield self._places[word], self._places[word]
        elif self._tree is not None and self._attribute is not None:
            near = suggestion(word, self._nodes)
            raise SchemaError(f"column '{self._attribute.name}': '{word}' is not in the hierarchy{near}")

    def _under_mask(self, mask: str) -> Iterator[tuple[int, int]]:
        """The values that a masked code may stand for; a label of the hierarchy stands for its leaves."""
        if mask in self._nodes or mask in self._places:
            yield from self._under(mask)
            return
        prefix, rest = mask.rstrip("*"), len(self._listed)
        yield from self._stretch((rest, len(mask), prefix), (rest, len(mask), prefix + LAST))
        alike = (known for known in self._listed if is_under_mask(mask, known))
        yield from ((self._places[known], self._places[known]) for known in alike if known in self._places)

    def _runs_in_range(self, text: str, cell: Cell) -> Runs:
        """The values in a range of ordered words, or of numbers among words."""
        low, high = cell.ends or ("", "")
        if low in self._listed and high in self._listed and self._tree is None:
            return self._stretch((self._listed[low], 0, ""), (self._listed[high] + 1, 0, ""))
        if cell.limits is None:
            raise SchemaError(f"the range '{text}' has no known order; declare the column's categories in their order")
        inside = (cell.limits[0] <= self._numbers) & (self._numbers <= cell.limits[1])
        return [(place, place) for place in np.flatnonzero(inside).tolist()]

    @cached_property
    def _numbers(self) -> npt.NDArray[np.float64]:
        """The values that are numbers; no other lies in any range."""
        return np.array([np.nan if (found := number(word)) is None else found for word in self.order])
