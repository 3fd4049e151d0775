"""Mondrian's cuts in plain Python, for models that have no compiled test: the kernel's cuts, only slower.

LeFevre, DeWitt & Ramakrishnan 2006; every class is tested by the models' own slow criterion.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.table.coding import Column
from sfumato.table.distinct import Numbering
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

    targets: ClassVar[Sequence[int]] = SIXTEENTHS  # where a column is cut, in sixteenths of the rows

    def labels(self) -> tuple[Int64s, int]:
        """Return the class of every point and the number of classes."""
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

    def _halves(self, members: Int64s) -> list[Int64s]:
        """Return both sides of the first cut that keeps every model, or nothing."""
        weights = self.points.counts[members]
        if weights.sum() < 2 * self.problem.least_units:
            return []
        tried: set[tuple[int, bytes]] = set()
        for part in self.targets:
            target = weights.sum() * part / 16
            for place, codes in self._by_width(members):
                left = self._left_side(self.problem.quasi[place], codes, weights, target)
                if left is None or (place, left.tobytes()) in tried:
                    continue
                tried.add((place, left.tobytes()))
                if self._allows(members, left):
                    return [members[left], members[~left]]
        return []

    def _by_width(self, members: Int64s) -> Iterator[tuple[int, Int64s]]:
        """Yield the columns that still vary, the widest on its scale first, each with the members' codes."""
        rows = self.points.examples[members]
        codes = [column.codes[rows].astype(np.int64) for column in self.problem.quasi]
        widths = [
            column.positions[found.max()] - column.positions[found.min()]
            for column, found in zip(self.problem.quasi, codes, strict=True)
        ]
        for place in sorted(range(len(codes)), key=lambda place: (-widths[place], place)):
            if codes[place].max() > codes[place].min():
                yield place, codes[place]

    def _left_side(self, column: Column, codes: Int64s, weights: Int64s, target: float) -> Bools | None:
        """Return which members lie left of the allowable cut nearest to `target`, or None."""
        least = self.problem.least_units
        if self.relaxed and column.attribute.hierarchy is None:
            order = np.argsort(codes, kind="stable")
            quota = int(np.floor(target))
            if quota < least or len(codes) - quota < least:
                return None
            left = np.zeros(len(codes), dtype=np.bool_)
            left[order[:quota]] = True
            return left
        values, running = _weight_up_to(codes, weights)
        allowable = (running >= least) & (weights.sum() - running >= least)
        if column.attribute.hierarchy is not None:
            shared = [int(column.shared[low + 1 : high + 1].min()) for low, high in itertools.pairwise(values)]
            allowable &= np.array(shared) == min(shared)  # only between the children of the node at hand
        if not allowable.any():
            return None
        nearest = np.where(allowable, np.abs(running - target), np.inf).argmin()
        return np.asarray(codes <= values[nearest])

    def _allows(self, members: Int64s, left: Bools) -> bool:
        """Return whether both sides of a cut may be classes."""
        return self._holds(members[left]) and self._holds(members[~left])

    def _holds(self, members: Int64s) -> bool:
        return self.problem.admits(self.points.examples[members], self.points.counts[members])


def _weight_up_to(codes: Int64s, weights: Int64s) -> tuple[Int64s, Int64s]:
    """Return the distinct codes, and the weight up to each of them but the last."""
    values, places = np.unique(codes, return_inverse=True)
    return values, np.cumsum(np.bincount(places, weights=weights)).astype(np.int64)[:-1]
