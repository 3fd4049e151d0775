"""Generalisation trees: which wider label may stand for a value.

Trees are read from level-per-column CSV, the form ARX uses (Prasser & Kohlmayer 2015): the raw value
first, then ever wider labels, the last one usually `*`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sfumato.core.cells import SUPPRESSED, literal
from sfumato.errors import SchemaError, reason
from sfumato.hierarchy.limits import MOST_LEVELS

Tree: TypeAlias = "dict[str, Tree]"


@dataclass(frozen=True)
class Hierarchy:
    """A tree of labels with its leaves in tree order, so that every node is an interval of leaves.

    `paths` holds one tuple per leaf: the leaf, its parent, and so on up to the root. `public` is false where the leaves
    were taken from rows, so that they tell which values occur.

    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*")])
    >>> tree.leaves
    ('flu', 'asthma', 'ulcer')
    >>> tree.label(0, 1), tree.label(0, 2), tree.label(2, 2)
    ('lung', '*', 'ulcer')
    """

    paths: tuple[tuple[str, ...], ...]
    public: bool = True

    @classmethod
    def from_csv(cls, path: str | Path) -> Hierarchy:
        r"""Return the tree in a level-per-column file; comma or semicolon, header `level0,…` optional.

        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "sex.csv"
        >>> _ = file.write_text("level0,level1\nF,*\nM,*\n")
        >>> Hierarchy.from_csv(file).leaves
        ('F', 'M')
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(f"hierarchy '{path}' cannot be read: {reason(error)}") from error
        first = text.partition("\n")[0]
        delimiter = max(",;\t", key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            rows = [tuple(row) for row in reader if row]
        except csv.Error as error:
            raise SchemaError(f"hierarchy '{path}' line {reader.line_num}: {error}; check the quotes") from None
        if rows and rows[0][0].casefold() == "level0":
            rows = rows[1:]
        return cls.from_rows(rows, name=str(path))

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], name: str = "hierarchy") -> Hierarchy:
        """Return the tree given by rows of labels from the leaf to the root.

        >>> Hierarchy.from_rows([("1", "low"), ("2", "high")]).label(0, 1)
        '*'
        """
        paths = [tuple(row) for row in rows]
        if not paths:
            raise SchemaError(f"{name} has no rows; give one row of labels per value")
        _refuse_inconsistent(paths, name)
        tree: Tree = {}
        for path in paths:
            node = tree
            for label in reversed(path):
                node = node.setdefault(label, {})
        return cls(tuple(_walk(tree, ())))

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, in tree order."""
        return tuple(path[0] for path in self.paths)

    @property
    def height(self) -> int:
        """The number of steps from a leaf to the root."""
        single_root = len({path[-1] for path in self.paths}) == 1
        return max(1, self._levels - single_root)

    @property
    def _levels(self) -> int:
        return len(self.paths[0]) if self.paths else 0  # a tree pruned to what occurs may have no leaf left

    @cached_property
    def shared(self) -> npt.NDArray[np.int32]:
        """How many labels, counted from the root, leaf i shares with leaf i-1 (0 for the first)."""
        counts = [0] * len(self.paths)
        for index, (before, here) in enumerate(pairwise(self.paths), start=1):
            depth = 0
            while before[-depth - 1] == here[-depth - 1]:
                depth += 1
            counts[index] = depth
        return np.array(counts, dtype=np.int32)

    def label(self, first: int, last: int) -> str:
        """Return the label of the lowest node that covers leaves `first` to `last`, as a published cell."""
        if first == last:
            return literal(self.paths[first][0])
        depth = int(self.shared[first + 1 : last + 1].min())
        return self.paths[first][-depth] if depth else SUPPRESSED

    def nodes(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield every node as (label, steps above the leaves, first leaf, one past the last leaf)."""
        shared = [*self.shared.tolist(), -1]
        for level in range(self._levels):
            start = 0
            for index in range(1, len(self.paths) + 1):
                if shared[index] < self._levels - level:  # the node differs from the one before, or the leaves end
                    yield self.paths[start][level], level, start, index
                    start = index


def _walk(tree: Tree, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for label, below in tree.items():
        path = (label, *above)
        if below:
            yield from _walk(below, path)
        else:
            yield path


def _refuse_inconsistent(paths: list[tuple[str, ...]], name: str) -> None:
    width = len(paths[0])
    if width > MOST_LEVELS + 1:
        raise SchemaError(f"{name} row 1: found {width} levels; give at most {MOST_LEVELS + 1}")
    parents: dict[tuple[int, str], str] = {}
    seen: set[str] = set()
    for number, path in enumerate(paths, start=1):
        if len(path) != width:
            raise SchemaError(f"{name} row {number}: found {len(path)} levels; wanted {width} as in row 1")
        if path[0] in seen:
            raise SchemaError(f"{name} row {number}: value '{path[0]}' stands twice; give each value one row")
        seen.add(path[0])
        if "" in path[1:]:
            raise SchemaError(
                f"{name} row {number}: level {path.index('', 1)} of '{path[0]}' is empty; give it a label"
            )
        for level in range(1, width - 1):
            parent = parents.setdefault((level, path[level]), path[level + 1])
            if parent != path[level + 1]:
                raise SchemaError(
                    f"{name} row {number}: '{path[level]}' lies under '{path[level + 1]}' and, in an earlier "
                    f"row, under '{parent}'; give it one parent"
                )
