"""Mondrian: cut the widest quasi-identifier at its median for as long as every model still holds.

LeFevre, DeWitt & Ramakrishnan 2006, strict and relaxed, on distinct rows counted once; where the paper
leaves the choice open we take the most balanced allowable cut, and try further cuts for models beyond k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import OneOf, Option
from sfumato.table.distinct import Numbering, distinct
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.mondrian.python_cuts import PythonCuts
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    from sfumato.tabular.class_test_kernel import Members

Int64s = npt.NDArray[np.int64]
WORD_BITS = 63


@dataclass(frozen=True)
class Mondrian(PartitionAnonymizer):
    """Multidimensional k-anonymity by recursive median cuts (LeFevre, DeWitt & Ramakrishnan 2006).

    `relaxed` may put rows with the same value on both sides of a cut, which balances classes better.
    `ranges="columns"` writes numeric ranges as two columns; `keep_order` leaves the rows where they were.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80]}))
    >>> release = sf.Mondrian(keep_order=True).anonymize(
    ...     people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    >>> release.frame["age"].to_list()
    ['[20-25]', '[20-25]', '[70-80]', '[70-80]']
    """

    relaxed: bool = False
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "relaxed": OneOf((False, True)),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "relaxed": Option("Let equal values fall on both sides of a cut."),
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
    }
    algorithm: ClassVar = "mondrian"
    reads_counts: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(), cls(relaxed=True), cls(keep_order=True))

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of Mondrian's cuts."""
        from sfumato.tabular.class_test_kernel import WEIGHT
        from sfumato.tabular.mondrian.kernel import mondrian

        points = _each_row(problem) if self.relaxed else problem.points
        if problem.uncompiled:
            return Partition(points, *PythonCuts(problem, points, self.relaxed).labels())
        examples = points.examples
        labels, count = mondrian(
            _pack(problem, examples),
            (points.counts << WEIGHT) + np.arange(points.count),
            np.concatenate([column.positions for column in problem.quasi]),
            np.concatenate([column.shared for column in problem.quasi]),
            _facts(problem),
            members(problem, examples),
            problem.criteria(),
            problem.least_units,
            self.relaxed,
        )
        return Partition(points, labels, count)


class BitPlace(NamedTuple):
    """Where a column's codes lie: which word, how far from its low end, and how many bits."""

    word: int
    shift: int
    bits: int


def _places(problem: Problem) -> list[BitPlace]:
    """Return a place for every column, as many columns to a 64-bit word as fit."""
    places: list[BitPlace] = []
    word, shift = 0, 0
    for column in problem.quasi:
        bits = max(1, (column.size - 1).bit_length())
        if shift + bits > WORD_BITS:
            word, shift = word + 1, 0
        places.append(BitPlace(word, shift, bits))
        shift += bits
    return places


def _pack(problem: Problem, examples: Int64s) -> Int64s:
    places = _places(problem)
    words = np.zeros((places[-1].word + 1, len(examples)), dtype=np.int64)
    for place, column in zip(places, problem.quasi, strict=True):
        words[place.word] |= column.codes[examples].astype(np.int64) << place.shift
    return words


def _facts(problem: Problem) -> Int64s:
    """Return what the kernel must know of each column, with room for what it finds out."""
    from sfumato.tabular.mondrian.kernel import FACTS, MASK, SHIFT, START, TREE, WORD

    places = _places(problem)
    facts = np.zeros((len(places), FACTS), dtype=np.int64)
    facts[:, WORD] = [place.word for place in places]
    facts[:, SHIFT] = [place.shift for place in places]
    facts[:, MASK] = [(1 << place.bits) - 1 for place in places]
    facts[:, START] = np.cumsum([0, *(column.size for column in problem.quasi[:-1])])
    facts[:, TREE] = [column.attribute.hierarchy is not None for column in problem.quasi]
    return facts


def _each_row(problem: Problem) -> Numbering:
    """Return every row as a point of its own, since a relaxed cut may part equal rows."""
    rows = problem.table.rows
    return Numbering(np.arange(rows), np.ones(rows, dtype=np.int64))


def members(problem: Problem, examples: Int64s) -> Members:
    """Return the sensitive codes and persons of the points that `examples` shows, for the compiled test of a class."""
    from sfumato.tabular.class_test_kernel import Members

    columns = list(problem.sensitive.values())
    sensitive = np.zeros((len(columns), len(examples)), dtype=np.int32)
    for row, column in enumerate(columns):
        sensitive[row] = column.codes[examples]
    person, pairs, stamps = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64), 0
    if problem.person is not None:
        person = problem.person[examples]
        stamps = int(person.max()) + 1
        pairs = np.zeros((len(columns), len(examples)), dtype=np.int64)
        for row, column in enumerate(columns):
            pairs[row] = distinct([person, sensitive[row]], [stamps, column.size]).ids
        stamps = max(stamps, len(examples))
    values = max((column.size for column in columns), default=1)
    seen = np.full(stamps + 1, -1, dtype=np.int64)
    return Members(sensitive, person, pairs, np.zeros(values, dtype=np.int64), np.zeros(values + 1), seen)
