"""Tables with one row less or one more, anonymised again, and the classes that did not survive it.

Pereira 2014, chapter 3 and tables 12, 13 and 18: one record can make whole classes vanish and others appear. The coding
of the columns is that of the full table throughout, so that only the rows differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.models.base import Model
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import Partition, PartitionAnonymizer
from sfumato.tabular.problem import Problem

Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A table with rows that could be added to it, coded together: `rows` of its own, then the others.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80]}))
    >>> around = Neighbourhood.of(people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)], additions=3, seed=1)
    >>> [around.problem(around.with_one(place)).table.rows for place in range(3)]
    [5, 5, 5]
    """

    coded: Problem
    rows: int

    @classmethod
    def of(cls, table: Table, schema: Schema, models: Sequence[Model], *, additions: int, seed: int) -> Neighbourhood:
        """Return the neighbourhood with random rows, each of their values drawn on its own from its column."""
        draw = np.random.default_rng(seed)
        drawn = [column.gather(draw.integers(0, table.rows, additions)) for column in table.frame]
        together = replace(table, frame=pl.concat([table.frame, pl.DataFrame(drawn)]))
        return cls(Problem.of(together, schema, list(models)), table.rows)

    @property
    def additions(self) -> int:
        """How many rows could be added."""
        return self.coded.table.rows - self.rows

    @property
    def whole(self) -> Flags:
        """The table's own rows."""
        return np.arange(self.coded.table.rows) < self.rows

    def without(self, row: int, kept: Flags | None = None) -> Flags:
        """The table's own rows, or those `kept`, but for one."""
        fewer = self.whole if kept is None else kept.copy()
        fewer[row] = False
        return fewer

    def with_one(self, place: int) -> Flags:
        """The table's own rows and one that was drawn."""
        more = self.whole
        more[self.rows + place] = True
        return more

    def problem(self, kept: Flags) -> Problem:
        """The problem of anonymising the rows that are kept."""
        return self.coded.only(kept)

    def classes(self, anonymizer: PartitionAnonymizer, kept: Flags) -> Classes | None:
        """The classes of the rows that are kept; None where the models cannot hold on them."""
        problem = self.problem(kept)
        if not all(model.holds(model.measure(problem.whole)) for model in problem.models):
            return None
        partition = anonymizer.partition(problem)
        labels = np.full(len(kept), -1, dtype=np.int64)
        labels[kept] = partition.rows
        return Classes(problem, partition, labels)


@dataclass(frozen=True, eq=False)
class Classes:
    """What an anonymizer made of some rows; `labels` has the class of every row of the neighbourhood, -1 for none."""

    problem: Problem
    partition: Partition
    labels: Index

    @property
    def sizes(self) -> Index:
        """The number of rows in each class."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.partition.count)


@dataclass(frozen=True, eq=False)
class Change:
    """Which classes are gone and which are new, by their numbers, and how many rows the gone ones had.

    A class that only lost or gained the one row is neither.
    """

    gone: Index
    new: Index
    rows: int

    @property
    def count(self) -> int:
        """Classes gone and new together, as the dissertation counts them."""
        return len(self.gone) + len(self.new)


def change(before: Classes, after: Classes) -> Change:
    """Return what changed between two anonymisations, over the rows that both hold.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80]}))
    >>> around = Neighbourhood.of(people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)], additions=1, seed=1)
    >>> before, after = (around.classes(sf.Mondrian(), kept) for kept in (around.whole, around.without(0)))
    >>> found = change(before, after)
    >>> len(found.gone), len(found.new), found.rows
    (2, 1, 3)
    """
    shared = (before.labels >= 0) & (after.labels >= 0)
    old, new = before.labels[shared], after.labels[shared]
    sizes = [np.bincount(old, minlength=before.partition.count), np.bincount(new, minlength=after.partition.count)]
    pairs, held = np.unique(old * after.partition.count + new, return_counts=True)
    owner, follower = np.divmod(pairs, after.partition.count)
    same = (held == sizes[0][owner]) & (held == sizes[1][follower])
    gone = np.setdiff1d(np.flatnonzero(sizes[0]), owner[same])
    fresh = np.setdiff1d(np.flatnonzero(sizes[1]), follower[same])
    return Change(gone, fresh, int(sizes[0][gone].sum()))


def tabulate_changes(changes: Sequence[Change]) -> dict[str, object]:
    """Return how often how many classes changed, as in tables 12 and 13, with the most classes and rows.

    >>> none = Change(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 0)
    >>> tabulate_changes([none, none])["share changed"]
    0.0
    """
    counts = Counter(found.count for found in changes)
    return {
        "trials": len(changes),
        "share changed": 1 - counts[0] / max(1, len(changes)),
        "most classes": max(counts, default=0),
        "most rows": max((found.rows for found in changes), default=0),
        "classes changed": {str(number): counts[number] for number in sorted(counts)},
    }
