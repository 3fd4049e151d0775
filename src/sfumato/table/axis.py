"""One published column as a line of atoms, so that cells of different releases can be cut with each other.

Between two published limits nothing else is told apart, so the limits and the gaps between them are atoms
enough; labels are read through the column's hierarchy (level-per-column form, Prasser & Kohlmayer 2015).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from sfumato.errors import SchemaError, suggestion
from sfumato.hierarchy import SUPPRESSED
from sfumato.hierarchy.calendar import days_of
from sfumato.schema import Attribute, Kind
from sfumato.table.cells import MISSING_MARKS, RANGE, Cell, Number

MASKED = re.compile(r"(?P<prefix>[^*]+)\*+")
DAY = re.compile(r"\[?\d{4}-\d\d-\d\d")


class Axis:
    """All published cells of one column on a common line; each covers a set of atoms, held as bits.

    The two highest atoms stand for a missing value and for values that no cell names.

    >>> axis = Axis(["[20-25]", "[25-30]", "[26-30]", "*"])
    >>> bool(axis["[20-25]"] & axis["[25-30]"]), bool(axis["[20-25]"] & axis["[26-30]"])
    (True, False)
    >>> axis.text(axis["[20-25]"] & ~axis["[25-30]"]), axis.text(axis["*"])
    ('[20-24]', '*')
    """

    def __init__(self, texts: Iterable[str | None], attribute: Attribute | None = None) -> None:
        marks = MISSING_MARKS if attribute is None else (*MISSING_MARKS, *attribute.missing)
        self.attribute = attribute
        self.cells = {text: Cell.of(text, marks) for text in dict.fromkeys(texts)}
        if self._dated and (attribute is None or attribute.hierarchy is None):
            self.cells = {text: _on_the_calendar(cell) for text, cell in self.cells.items()}
        told = all(cell.limits is not None for cell in self.cells.values() if cell.words)
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
            below = [Cell.of(leaf).limits for leaf in tree.leaves[start:end]] if shown is not None else []
            if shown and any(leaf is None or leaf[0] < shown[0] or leaf[1] > shown[1] for leaf in below):
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
                mask = (1 << (places[cell.limits[1]] + 1)) - (1 << places[cell.limits[0]])
            masks[text] = self._completed(cell, mask)
        return masks

    def _word_masks(self) -> dict[str | None, int]:
        places = {name: place for place, name in enumerate(self._names)}
        return {
            text: self._completed(cell, sum(1 << places[word] for word in self._covers[text]))
            for text, cell in self.cells.items()
        }

    def _completed(self, cell: Cell, mask: int) -> int:
        whole = (1 << self.size) - 1 if cell.everything else mask | (cell.missing << self._named)
        return whole & ~self._empty

    def _words(self, text: str | None, cell: Cell) -> set[str]:
        """Return the words a cell may stand for: leaves under a label, ordered words in a range, itself."""
        labelled = self.attribute is not None and self.attribute.hierarchy is not None
        if text is not None and cell.limits is None and RANGE.fullmatch(text) and not labelled:
            return self._ordered(text)
        return set().union(*(self._under(word) for word in cell.words))

    def _under(self, word: str) -> set[str]:
        """Return the leaves under a label, the named words under a masked prefix, or the word alone."""
        tree = None if self.attribute is None else self.attribute.hierarchy
        nodes = [] if tree is None else list(tree.nodes())
        leaves = {leaf for label, _, start, end in nodes if tree and label == word for leaf in tree.leaves[start:end]}
        if leaves:
            return leaves
        masked = MASKED.fullmatch(word)
        if masked is not None:
            named: set[str] = set().union(*(cell.words for cell in self.cells.values()))
            return {other for other in named if len(other) == len(word) and other.startswith(masked["prefix"])}
        if self.attribute is not None and nodes:
            near = suggestion(word, [label for label, *_ in nodes])
            raise SchemaError(f"column '{self.attribute.name}': '{word}' is not in the hierarchy{near}")
        return {word}

    def _ordered(self, text: str) -> set[str]:
        words = () if self.attribute is None or self.attribute.categories is None else self.attribute.categories
        low, _, high = text.rstrip("?")[1:-1].partition("..")
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
            parts = ["{" + ", ".join(names) + "}"] if len(names) > 1 else names
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
        if isinstance(low, int) and isinstance(high, int):
            low, high = low + first % 2, high - last % 2
            joint = "-"
        else:
            joint = ".."
        if self._dated:
            first_day, last_day = (dt.date.fromordinal(int(limit)).isoformat() for limit in (low, high))
            return first_day if low == high else f"[{first_day}..{last_day}]"
        return str(low) if low == high else f"[{low}{joint}{high}]"

    @cached_property
    def _dated(self) -> bool:
        """Whether the column holds days, declared or to be seen; 2025 is then a year."""
        if self.attribute is not None and self.attribute.kind is Kind.DATE:
            return True
        words = [word for cell in self.cells.values() for word in cell.words]
        return any(DAY.match(word) or (days_of(word) and not word.isdigit()) for word in words)


def _on_the_calendar(cell: Cell) -> Cell:
    """Return a cell that is a month, quarter, year or decade as its days; any other as it is."""
    days = days_of(next(iter(cell.words))) if len(cell.words) == 1 else None
    return cell if days is None else replace(cell, limits=(days[0].toordinal(), days[1].toordinal()))
