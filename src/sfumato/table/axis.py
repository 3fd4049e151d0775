"""One published column as a line of atoms, so that cells of different releases can be cut with each other.

Between two published limits nothing else is told apart, so the limits and the gaps between them are atoms
enough; labels are read through the column's hierarchy (level-per-column form, Prasser & Kohlmayer 2015).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import cached_property

from sfumato.core.calendar import day_of, days_of, time_of, times_of
from sfumato.core.cells import (
    MISSING_MARKS,
    SUPPRESSED,
    Cell,
    Number,
    is_under_mask,
    number,
    range_text,
    read,
    set_text,
)
from sfumato.errors import SchemaError, suggestion
from sfumato.schema import Attribute, Kind
from sfumato.schema.times import time_text


class CellAxis:
    """All published cells of one column on a common line; each covers a set of atoms, held as bits.

    The two highest atoms stand for a missing value and for values that no cell names.

    >>> axis = CellAxis(["[20-25]", "[25-30]", "[26-30]", "*"])
    >>> bool(axis["[20-25]"] & axis["[25-30]"]), bool(axis["[20-25]"] & axis["[26-30]"])
    (True, False)
    >>> axis.text(axis["[20-25]"] & ~axis["[25-30]"]), axis.text(axis["*"])
    ('[20-24]', '*')
    """

    def __init__(self, texts: Iterable[str | None], attribute: Attribute | None = None) -> None:
        marks = MISSING_MARKS if attribute is None else (*MISSING_MARKS, *attribute.missing)
        self.attribute = attribute
        order = None if attribute is None else attribute.categories
        self.cells = {text: read(text, marks, order) for text in dict.fromkeys(texts)}
        if attribute is None or attribute.hierarchy is None:
            if self._timed:
                self.cells = {text: cell.on_clock() for text, cell in self.cells.items()}
            elif self._dated:
                self.cells = {text: cell.on_calendar() for text, cell in self.cells.items()}
        told = all(cell.limits is not None for cell in self.cells.values() if cell.named)
        self.numeric = told and not self._named_by_numbers()
        self._masks = self._numeric_masks() if self.numeric else self._word_masks()

    def __getitem__(self, text: str | None) -> int:
        """The atoms that a published text covers, as bits."""
        return self._masks[text]

    def _named_by_numbers(self) -> bool:
        """Whether a number stands for others in the hierarchy, as 1 for the codes 10 and 11."""
        tree = None if self.attribute is None else self.attribute.hierarchy
        if tree is None:
            return False
        for label, level, start, end in tree.nodes():
            shown = self.cells[label].limits if level and label in self.cells else None
            below = [number(leaf) for leaf in tree.leaves[start:end]] if shown is not None else []
            if shown and any(leaf is None or leaf < shown[0] or leaf > shown[1] for leaf in below):
                return True
        return False

    @property
    def size(self) -> int:
        """The number of atoms, the two that stand for missing and unnamed values included."""
        return self._named + 2

    @cached_property
    def _limits(self) -> list[Number]:
        return sorted({limit for cell in self.cells.values() if cell.limits is not None for limit in cell.limits})

    @cached_property
    def _covers(self) -> dict[str | None, set[str]]:
        return {text: self._words(text, cell) for text, cell in self.cells.items()}

    @cached_property
    def _names(self) -> list[str]:
        return sorted(set().union(*self._covers.values()))

    @cached_property
    def _named(self) -> int:
        return max(0, 2 * len(self._limits) - 1) if self.numeric else len(self._names)

    @cached_property
    def _empty(self) -> int:
        """The gaps in which nothing can lie: those between neighbouring integers."""
        if not self.numeric or not all(isinstance(limit, int) for limit in self._limits):
            return 0
        pairs = enumerate(zip(self._limits, self._limits[1:], strict=False))
        return sum(1 << (2 * place + 1) for place, (low, high) in pairs if high - low == 1)

    def _numeric_masks(self) -> dict[str | None, int]:
        places = {limit: 2 * place for place, limit in enumerate(self._limits)}
        masks: dict[str | None, int] = {}
        for text, cell in self.cells.items():
            mask = 0
            if cell.limits is not None:
                low, high = sorted(places[limit] for limit in cell.limits)  # somebody may write a range backwards
                mask = (1 << (high + 1)) - (1 << low)
            masks[text] = self._complete_mask(cell, mask)
        return masks

    def _word_masks(self) -> dict[str | None, int]:
        places = {name: place for place, name in enumerate(self._names)}
        return {
            text: self._complete_mask(cell, sum(1 << places[word] for word in self._covers[text]))
            for text, cell in self.cells.items()
        }

    def _complete_mask(self, cell: Cell, mask: int) -> int:
        whole = (1 << self.size) - 1 if cell.everything else mask | (cell.missing << self._named)
        return whole & ~self._empty

    @cached_property
    def _masked(self) -> set[str]:
        return {mask for cell in self.cells.values() for mask in cell.masks}

    @cached_property
    def _nodes(self) -> dict[str, set[str]]:
        """Every label of the hierarchy with the leaves under it."""
        tree = None if self.attribute is None else self.attribute.hierarchy
        nodes: dict[str, set[str]] = {}
        for label, _, start, end in () if tree is None else tree.nodes():
            nodes.setdefault(label, set()).update(tree.leaves[start:end] if tree is not None else ())
        return nodes

    def _words(self, text: str | None, cell: Cell) -> set[str]:
        """Return the words a cell may stand for: leaves under a label, ordered words in a range, itself."""
        if cell.everything:
            return set()
        if text is not None and text in self._nodes:
            return self._nodes[text]
        if cell.ends is not None and text is not None:
            return self._under(text) if self._nodes else self._words_between(text, *cell.ends)
        return set().union(*(self._under(word) for word in (*cell.words, *cell.masks)))

    def _under(self, word: str) -> set[str]:
        """Return the leaves under a label, the named words under a masked prefix, or the word alone."""
        if word in self._nodes:
            return self._nodes[word]
        if word in self._masked:
            named = {name for cell in self.cells.values() for name in (*cell.words, *cell.masks)}
            return {other for other in named if is_under_mask(word, other)}
        if self.attribute is not None and self._nodes:
            near = suggestion(word, self._nodes)
            raise SchemaError(f"column '{self.attribute.name}': '{word}' is not in the hierarchy{near}")
        return {word}

    def _words_between(self, text: str, low: str, high: str) -> set[str]:
        words = () if self.attribute is None or self.attribute.categories is None else self.attribute.categories
        if low not in words or high not in words:
            raise SchemaError(f"the range '{text}' has no known order; declare the column's categories in their order")
        return set(words[words.index(low) : words.index(high) + 1])

    def text(self, mask: int) -> str:
        """Return a set of atoms as text: ranges or words joined by `or`, `*` where unnamed values are among them."""
        if mask >> (self._named + 1) & 1:
            return SUPPRESSED
        inside = mask & ((1 << self._named) - 1)
        if self.numeric:
            parts = [self._range(first, last) for first, last in self._runs(inside)]
        else:
            names = [name for place, name in enumerate(self._names) if inside >> place & 1]
            parts = [set_text(names)] if names else []
        return " or ".join([*parts, *(["missing"] if mask >> self._named & 1 else [])])

    def _runs(self, mask: int) -> list[tuple[int, int]]:
        """Return the first and last atom of every run, gaps where nothing can lie not counting as breaks."""
        runs: list[tuple[int, int]] = []
        for place in (place for place in range(self._named) if mask >> place & 1):
            if runs and (runs[-1][1] == place - 1 or (runs[-1][1] == place - 2 and self._empty >> (place - 1) & 1)):
                runs[-1] = (runs[-1][0], place)
            else:
                runs.append((place, place))
        return runs

    def _range(self, first: int, last: int) -> str:
        low, high = self._limits[first // 2], self._limits[(last + 1) // 2]
        whole = isinstance(low, int) and isinstance(high, int)
        if whole:
            low, high = low + first % 2, high - last % 2
        if self._timed:
            return range_text(time_text(low), time_text(high), whole=False)
        if self._dated:
            low_day, high_day = (dt.date.fromordinal(int(limit)).isoformat() for limit in (low, high))
            return range_text(low_day, high_day, whole=False)
        return range_text(str(low), str(high), whole=whole)

    @cached_property
    def _shown(self) -> list[str]:
        """The single values and ends of ranges that are published."""
        return [word for cell in self.cells.values() for word in (*cell.words, *(cell.ends or ()))]

    @cached_property
    def _timed(self) -> bool:
        """Whether the column holds times, declared or to be seen; a day is then all of its times."""
        if self.attribute is not None and self.attribute.kind is not None:
            return self.attribute.kind is Kind.TIMESTAMP
        return any(time_of(word) or (times_of(word) and word.endswith("h")) for word in self._shown)

    @cached_property
    def _dated(self) -> bool:
        """Whether the column holds days, declared or to be seen; 2025 is then a year."""
        if self.attribute is not None and self.attribute.kind is Kind.DATE:
            return True
        return any(day_of(word) or (days_of(word) and not word.isdigit()) for word in self._shown)
