"""Mondrian: cut the widest quasi-identifier at its median for as long as every model still holds.

LeFevre, DeWitt & Ramakrishnan 2006, strict and relaxed, on distinct rows counted once; where the paper
leaves the choice open we take the most balanced allowable cut, and try further cuts for models beyond k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import OneOf, Option
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.class_test import class_test
from sfumato.tabular.mondrian.memory import FACTS, MASK, NODES, ROWS, SHIFT, START, TREE, WORD
from sfumato.tabular.mondrian.nodes import stacked
from sfumato.tabular.mondrian.python_cuts import PythonCuts
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, recode

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
    top_down: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(), cls(relaxed=True), cls(keep_order=True))

    @property
    def fits_people(self) -> Literal["labels"]:
        """People of a population fit the labels of classes, whose gaps hold others."""
        return "labels"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of Mondrian's cuts."""
        from sfumato.tabular.mondrian.kernel import ATTEMPTS, mondrian

        points = _each_row(problem) if self.relaxed else problem.points
        if problem.uncompiled:
            return self._joined(problem, Partition(points, *PythonCuts(problem, points, self.relaxed).labels()))
        test = class_test(problem, points.examples)
        words, labels = _pack(problem, points), np.empty(points.count, dtype=np.int64)
        nodes, starts = stacked(problem.quasi)
        columns, least = _facts(problem, starts), problem.least_units
        count = mondrian(
            words,
            words[-1],
            np.concatenate([column.positions for column in problem.quasi]),
            nodes,
            columns,
            np.empty(len(columns)),
            _scratch(columns, points.count),
            np.empty((len(columns), ATTEMPTS), dtype=np.int64),
            np.empty((int(points.counts.sum()) // least + 2, 2), dtype=np.int64),
            labels,
            test if test.ties is not None or len(test.criteria.kind) else None,
            least,
            self.relaxed,
        )
        return self._joined(problem, Partition(points, labels, count))

    def _joined(self, problem: Problem, found: Partition) -> Partition:
        """Return the classes, those that are shown alike joined where persons could make that break a model."""
        from sfumato.tabular.microaggregation.repair import join_alike

        rows, every = found.rows, problem.table.rows

        def show(labels: Int64s, count: int) -> list[Coarse]:
            return [
                part for column in problem.quasi for part in recode(column, column.codes, labels, count, self.ranges)
            ]

        joined = join_alike(problem, rows, show)
        if joined is rows:
            return found
        numbering = Numbering(np.arange(every), np.ones(every, dtype=np.int64)).with_weights(problem.weights)
        return Partition(numbering, joined, int(joined.max()) + 1)


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


def _pack(problem: Problem, points: Numbering) -> Int64s:
    """Return the words of every point, and its tag in the last row, so that all of them move in one way."""
    from sfumato.tabular.class_test_kernel import WEIGHT

    places = _places(problem)
    words = np.zeros((places[-1].word + 2, points.count), dtype=np.int64)
    for place, column in zip(places, problem.quasi, strict=True):
        words[place.word] |= column.codes[points.examples].astype(np.int64) << place.shift
    words[-1] = (points.counts << WEIGHT) + np.arange(points.count)
    return words


def _facts(problem: Problem, nodes: list[int]) -> Int64s:
    """Return what the kernel must know of each column, with room for what it finds out."""
    places = _places(problem)
    facts = np.zeros((len(places), FACTS), dtype=np.int64)
    facts[:, WORD] = [place.word for place in places]
    facts[:, SHIFT] = [place.shift for place in places]
    facts[:, MASK] = [(1 << place.bits) - 1 for place in places]
    facts[:, START] = np.cumsum([0, *(column.size for column in problem.quasi[:-1])])
    facts[:, NODES] = nodes
    facts[:, TREE] = [column.attribute.hierarchy is not None for column in problem.quasi]
    return facts


def _scratch(columns: Int64s, size: int) -> Int64s:
    """Return the kernel's scratch memory: it holds every point, every code of a column, or every digit."""
    from sfumato.tabular.mondrian.kernel import DIGITS

    return np.empty((ROWS, max(size, DIGITS, int(columns[:, MASK].max()) + 1)), dtype=np.int64)


def _each_row(problem: Problem) -> Numbering:
    """Return every row as a point of its own, since a relaxed cut may part equal rows."""
    rows = problem.table.rows
    return Numbering(np.arange(rows), np.ones(rows, dtype=np.int64))
