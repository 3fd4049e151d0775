"""Mondrian's cuts in plain Python, for models that have no compiled test: the kernel's cuts, only slower.

LeFevre, DeWitt & Ramakrishnan 2006; every class is tested by the models' own slow criterion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.errors import UnsatisfiableError
from sfumato.table.distinct import Numbering
from sfumato.tabular.mondrian.nodes import Nodes
from sfumato.tabular.mondrian.tree_cuts import NO_CUT, Cut, tree_cuts
from sfumato.tabular.problem import Problem

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
SIXTEENTHS = sorted(range(1, 16), key=lambda part: (abs(part - 8), part < 8))  # the middle first, then around it


@dataclass(frozen=True, eq=False)
class PythonCuts:
    """A problem's points, cut as long as every model holds on both sides."""

    problem: Problem
    points: Numbering
    relaxed: bool

    targets: ClassVar[Sequence[int]] = SIXTEENTHS  # where a column without a hierarchy is cut, in sixteenths of rows

    def labels(self) -> tuple[Int64s, int]:
        """Return the class of every point and the number of classes."""
        self._refuse_unfitting()
        labels = np.empty(self.points.count, dtype=np.int64)
        pending, count, done = [np.arange(self.points.count)], 0, 0
        while pending:
            members = pending.pop()
            halves = self._halves(members)
            pending += halves
            if not halves:
                labels[members] = count
                count, done = count + 1, done + len(members)
                tell(done / self.points.count, f"{count} classes")
        return labels, count

    def _refuse_unfitting(self) -> None:
        """Refuse a population that does not even fit the labels around the whole table as it should."""
        if self.problem.population is None or self._holds(np.arange(self.points.count)):
            return
        whole = self.problem.class_of(self.points.examples, self.points.counts)
        fits = 0 if whole.population is None else int(whole.population[0])
        raise UnsatisfiableError(
            f"only {fits} of {self.problem.population.total} people in the population fit labels around the whole "
            "table; ask for less, or generalise by hierarchies with optimal"
        )

    def _halves(self, members: Int64s) -> list[Int64s]:
        """Return both sides of the first cut that keeps every model, or nothing."""
        if self.points.counts[members].sum() < 2 * self.problem.least_units:
            return []
        tried: set[tuple[int, bytes]] = set()
        ranked = self._by_worth(members)
        for attempt in range(len(SIXTEENTHS)):
            for place, cuts in ranked:
                left = self._left_side(place, members, cuts, attempt)
                if left is None or (place, left.tobytes()) in tried:
                    continue
                if self._allows(members, left):
                    return [members[left], members[~left]]
                if self.relaxed:  # whose next cut depends on the order that this one leaves, as in the kernel
                    members = np.concatenate([members[left], members[~left]])
                else:
                    tried.add((place, left.tobytes()))
        return []

    def _by_worth(self, members: Int64s) -> list[tuple[int, list[Cut]]]:
        """Return the columns that still vary, each with its cuts if it has a hierarchy.

        First comes the column of the greatest normalised width, or of the cut along its hierarchy that is worth most.
        """
        weights, least = self.points.counts[members], self.problem.least_units
        found = []
        for place, column in enumerate(self.problem.quasi):
            codes = self._codes(place, members)
            low, high = codes.min(), codes.max()
            cuts, worth = list[Cut](), float(column.positions[high] - column.positions[low])
            if place in self._nodes:
                cuts = tree_cuts(self._nodes[place], codes, weights, least)
                worth = cuts[0].worth if cuts else NO_CUT
            if low < high:
                found.append((-worth, place, cuts))
        return [(place, cuts) for _, place, cuts in sorted(found, key=lambda one: one[:2])]

    def _codes(self, place: int, members: Int64s) -> Int64s:
        """Return the members' codes in one of the columns."""
        return self.problem.quasi[place].codes[self.points.examples[members]].astype(np.int64)

    @cached_property
    def _nodes(self) -> dict[int, Nodes]:
        """The nodes of every column that has a hierarchy."""
        quasi = self.problem.quasi
        return {
            place: Nodes.of(quasi[place]) for place in range(len(quasi)) if quasi[place].attribute.hierarchy is not None
        }

    def _left_side(self, place: int, members: Int64s, cuts: list[Cut], attempt: int) -> Bools | None:
        """Return which members lie left of the cut that is due in an attempt, or None."""
        codes, weights = self._codes(place, members), self.points.counts[members]
        if place in self._nodes:
            return cuts[attempt].left(codes) if attempt < len(cuts) else None
        if attempt >= len(self.targets):
            return None
        target = weights.sum() * self.targets[attempt] / 16
        least = self.problem.least_units
        if self.relaxed:
            return _first_rows(codes, int(np.floor(target)), least)
        values, running = _weight_up_to(codes, weights)
        allowable = (running >= least) & (weights.sum() - running >= least)
        if not allowable.any():
            return None
        nearest = np.where(allowable, np.abs(running - target), np.inf).argmin()
        return np.asarray(codes <= values[nearest])

    def _allows(self, members: Int64s, left: Bools) -> bool:
        """Return whether both sides of a cut may be classes."""
        return self._holds(members[left]) and self._holds(members[~left])

    def _holds(self, members: Int64s) -> bool:
        return self.problem.admits(self.points.examples[members], self.points.counts[members])


def _first_rows(codes: Int64s, quota: int, least: int) -> Bools | None:
    """Return which members are the first `quota` in the order of their codes, or None where a side is too small."""
    if quota < least or len(codes) - quota < least:
        return None
    left = np.zeros(len(codes), dtype=np.bool_)
    left[np.argsort(codes, kind="stable")[:quota]] = True
    return left


def _weight_up_to(codes: Int64s, weights: Int64s) -> tuple[Int64s, Int64s]:
    """Return the distinct codes, and the weight up to each of them but the last."""
    values, places = np.unique(codes, return_inverse=True)
    return values, np.cumsum(np.bincount(places, weights=weights)).astype(np.int64)[:-1]
