"""Worlds that give the same release: the sensitive values of each class in another order, the algorithm run again.

Random worlds: every order of a class's values is as likely as any other until the algorithm is known (Wong, Fu, Wang &
Pei 2007, after Martin et al. 2007).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsatisfiableError
from sfumato.models import KAnonymity
from sfumato.table.distinct import Numbering, distinct
from sfumato.tabular.base import Partition, PartitionAnonymizer
from sfumato.tabular.problem import Problem, refuse_impossible

Int64s = npt.NDArray[np.int64]
Shown = tuple[bytes, tuple[tuple[object, ...], ...]]


@dataclass(frozen=True, eq=False)
class Scene:
    """Rows that are anonymised by themselves, who shares a class there, and what partitions their worlds.

    `rows` are their numbers in the whole table. Class -1 was left out of the release: its values are unknown.
    """

    problem: Problem
    rows: Int64s
    partition: Callable[[Problem], Partition]

    @classmethod
    def whole(cls, problem: Problem, anonymizer: PartitionAnonymizer) -> Scene:
        """Return the scene of a whole table."""
        return cls(problem, np.arange(problem.table.rows), anonymizer.partition_worlds(problem))

    def of_rows(self, members: Int64s) -> Scene:
        """Return the scene of a class's rows: a top-down algorithm, given them alone, does with them what it did."""
        within = np.zeros(len(self.rows), dtype=np.bool_)
        within[members] = True
        part = replace(self.problem.only(within), references=self.problem.shares)
        return Scene(part, self.rows[members], self.partition)

    @cached_property
    def first(self) -> Partition:
        """The partition of the true world."""
        return self.partition(self.problem)

    @cached_property
    def classes(self) -> Int64s:
        """The class of each row in the true world."""
        return self.first.rows

    @cached_property
    def shown(self) -> Shown:
        """What the release shows of the true world beside the values in each class."""
        return shown_by(self.first)

    @cached_property
    def tuples(self) -> Numbering:
        """Which combination of sensitive values each row has."""
        columns = list(self.problem.sensitive.values())
        return distinct([column.codes for column in columns], [column.size for column in columns])

    @cached_property
    def members(self) -> list[Int64s]:
        """The rows of each released class."""
        numbers = np.unique(self.classes[self.classes >= 0])
        return [np.flatnonzero(self.classes == number) for number in numbers.tolist()]

    @cached_property
    def left_out(self) -> Int64s:
        """The rows that were not released."""
        return np.flatnonzero(self.classes < 0)

    @cached_property
    def log_worlds(self) -> float:
        """The logarithm of how many worlds agree with the values that the release shows."""
        orders = sum(_log_orders(np.bincount(self.tuples.ids[rows])) for rows in self.members)
        return orders + len(self.left_out) * math.log(self.tuples.count)

    def has_at_most(self, limit: int) -> bool:
        """Return whether there are no more than so many worlds."""
        return self.log_worlds <= math.log(limit) + 1e-9

    @property
    def stopped_by_values(self) -> bool:
        """Whether a class would be cut further if its size alone mattered; otherwise its being whole tells nothing."""
        least = self.problem.least_units
        if least < 2:
            return len(self.rows) > 1
        return self.partition(replace(self.problem, models=[KAnonymity(least)], sensitive={})).count > 1

    def every_world(self) -> Iterator[Int64s]:
        """Yield every world once: which combination of values each row has."""
        orders: list[Sequence[Sequence[int]]] = [list(arrangements(self.tuples.ids[rows])) for rows in self.members]
        orders += [[(value,) for value in range(self.tuples.count)]] * len(self.left_out)
        places = np.concatenate([*self.members, self.left_out])
        for chosen in itertools.product(*orders):
            world = np.empty(len(self.rows), dtype=np.int64)
            world[places] = list(itertools.chain.from_iterable(chosen))
            yield world

    def drawn_worlds(self, count: int, draw: np.random.Generator) -> Iterator[Int64s]:
        """Yield worlds drawn at random."""
        for _ in range(count):
            world = self.tuples.ids.copy()
            for rows in self.members:
                world[rows] = draw.permutation(world[rows])
            world[self.left_out] = draw.integers(0, self.tuples.count, len(self.left_out))
            yield world

    def gives_same_release(self, world: Int64s) -> bool:
        """Return whether the algorithm shows of a world what it has shown of the true one."""
        values = self.tuples.examples[world]
        sensitive = {name: replace(one, codes=one.codes[values]) for name, one in self.problem.sensitive.items()}
        problem = replace(self.problem, sensitive=sensitive)
        if len(self.left_out):
            try:
                refuse_impossible(problem.models, problem.whole, "rows")
            except UnsatisfiableError:
                return False
        return shown_by(self.partition(problem)) == self.shown


def shown_by(partition: Partition) -> Shown:
    """Return what a release shows of who shares a class and, where the algorithm chose them, of each class's labels.

    >>> each = Numbering(np.arange(3), np.ones(3, dtype=np.int64))
    >>> first, second = (Partition(each, np.array(classes), 2) for classes in ([1, 0, 0], [0, 1, 1]))
    >>> shown_by(first) == shown_by(second)
    True
    """
    rows = partition.rows
    numbers, examples, places = np.unique(rows, return_index=True, return_inverse=True)
    classes = np.where(rows < 0, -1, examples[places])
    if partition.coarse is None:
        return classes.tobytes(), ()
    kept = rows[np.sort(examples[numbers >= 0])]
    columns = [column for parts in partition.coarse.values() for column in parts]
    return classes.tobytes(), tuple(tuple(column.values[column.index[kept]].to_list()) for column in columns)


def arrangements(values: Int64s) -> Iterator[list[int]]:
    """Yield every order of values once, equal ones not told apart (Knuth, TAOCP 7.2.1.2, algorithm L).

    >>> [order for order in arrangements(np.array([7, 5, 7]))]
    [[5, 7, 7], [7, 5, 7], [7, 7, 5]]
    """
    order = sorted(values.tolist())
    while True:
        yield order.copy()
        falls = len(order) - 2
        while falls >= 0 and order[falls] >= order[falls + 1]:
            falls -= 1
        if falls < 0:
            return
        larger = max(place for place in range(falls + 1, len(order)) if order[place] > order[falls])
        order[falls], order[larger] = order[larger], order[falls]
        order[falls + 1 :] = reversed(order[falls + 1 :])


def _log_orders(counts: Int64s) -> float:
    """Return the logarithm of the number of orders in which values with these counts can be written."""
    return math.lgamma(int(counts.sum()) + 1) - sum(math.lgamma(count + 1) for count in counts.tolist())
