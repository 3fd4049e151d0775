"""Which counts can reach one person: linear programmes over what bounds leave open, all parts of a series at once.

A value is excluded when the largest count is below one. The solver (HiGHS, Huangfu & Hall 2018) works in floating
point, so its dual weights are rounded to fractions and add up exactly before they count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.series.bounds import Bounds, Weights
from sfumato.series.cells import Integers
from sfumato.series.equations import Truths

Floats = npt.NDArray[np.float64]
DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840, 27720)
NEARLY = 1 - 1e-6
INFEASIBLE = 2
SECONDS = 60.0  # for all programmes of a series; what they do not settle is left undecided


@dataclass(eq=False)
class Verdicts:
    """What linear programmes say of unknowns: excluded ones with their weights on rows, and those left undecided."""

    excluded: dict[int, Weights] = field(default_factory=dict)
    undecided: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)  # rows of parts whose counts contradict each other


def decide(bounds: Bounds, targets: Integers, largest: int, patience: int | None = None) -> Verdicts:
    """Return which targets cannot reach one; a part of the series with more than `largest` unknowns is left undecided.

    With `patience`, so many rounds look for targets that reach one together, and one more for those that do not.

    >>> from sfumato.series.cells import Cells, ClassCounts
    >>> from sfumato.series.equations import Equations
    >>> release = ClassCounts(np.array([[1, 1], [1, 1]]))
    >>> cells = Cells.of([release, release], [[(0,), (0,), (1,), (1,)], [(0,), (1,), (0,), (1,)]])
    >>> bounds = Bounds.of(Equations.of(cells))
    >>> decide(bounds, np.arange(8), 100).excluded
    {}
    """
    verdicts = Verdicts()
    part = Part.of(bounds)
    if part is None or len(targets) == 0:
        return verdicts
    place = np.full(bounds.equations.unknowns, -1, dtype=np.int64)
    place[part.unknowns] = np.arange(len(part.unknowns))
    open_ = place[targets]
    open_ = open_[open_ >= 0]
    sizes = np.bincount(part.label)
    big = sizes[part.label[open_]] > largest
    verdicts.undecided += part.unknowns[open_[big]].tolist()
    Rounds(part, verdicts, open_[~big], patience).run()
    return verdicts


@dataclass(eq=False)
class Part:
    """Rows and unknowns that bounds left open, in parts that share no unknown; right sides without what is fixed."""

    unknowns: Integers
    rows: Integers
    matrix: Any
    right: Integers
    equal: Truths
    lower: Integers
    upper: Integers
    label: Integers
    row_label: Integers

    @classmethod
    def of(cls, bounds: Bounds) -> Part | None:
        """Return what bounds left open, or None if they fixed everything."""
        free = bounds.upper > bounds.lower
        if not free.any():
            return None
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        equations = bounds.equations
        fixed = np.where(free[equations.unknown], 0, equations.sign * bounds.lower[equations.unknown])
        right = equations.right - np.bincount(equations.row, weights=fixed, minlength=equations.rows).astype(np.int64)
        entry = np.flatnonzero(free[equations.unknown])
        rows, row = np.unique(equations.row[entry], return_inverse=True)
        unknowns = np.flatnonzero(free)
        place = np.cumsum(free) - 1
        shape = (len(rows), len(unknowns))
        column = place[equations.unknown[entry]]
        matrix = coo_array((equations.sign[entry].astype(np.float64), (row, column)), shape=shape).tocsc()
        graph = coo_array((np.ones(len(row)), (row, column + len(rows))), shape=(sum(shape), sum(shape)))
        label = connected_components(graph, directed=False)[1]
        return cls(unknowns, rows, matrix, right[rows], equations.equal[rows], bounds.lower[unknowns],
                   bounds.upper[unknowns], label[len(rows) :], label[: len(rows)])  # fmt: skip

    def only(self, labels: Integers) -> tuple[Part, Truths]:
        """Return some of the parts, and which of the unknowns they hold."""
        keep, keep_row = np.isin(self.label, labels), np.isin(self.row_label, labels)
        matrix = self.matrix[:, np.flatnonzero(keep)].tocsr()[np.flatnonzero(keep_row)].tocsc()
        return Part(self.unknowns[keep], self.rows[keep_row], matrix, self.right[keep_row], self.equal[keep_row],
                    self.lower[keep], self.upper[keep], self.label[keep], self.row_label[keep_row]), keep  # fmt: skip

    def solve(self, gains: Integers, *, capped: bool, seconds: float = SECONDS) -> tuple[int, Floats, Floats]:
        """Return status, solution and row weights of the largest sum of some unknowns.

        Where `capped`, one person of each counts, and no more. What takes longer than `seconds` has status 1.
        """
        from scipy.optimize import linprog
        from scipy.sparse import hstack

        cost = np.zeros(len(self.unknowns))
        matrix, lower, upper = self.matrix, self.lower.astype(float), self.upper.astype(float)
        if capped:  # each such unknown is split in its first person, which counts, and the others
            matrix = hstack([matrix, matrix[:, gains]]).tocsc()
            upper[gains] -= 1
            lower, upper = np.append(lower, np.zeros(len(gains))), np.append(upper, np.ones(len(gains)))
            cost = np.append(cost, -np.ones(len(gains)))
        else:
            cost[gains] = -1
        rows = matrix.tocsr()
        bound, exact = ~self.equal, self.equal
        found = linprog(
            cost,
            A_ub=rows[np.flatnonzero(bound)] if bound.any() else None,
            b_ub=self.right[bound] if bound.any() else None,
            A_eq=rows[np.flatnonzero(exact)] if exact.any() else None,
            b_eq=self.right[exact] if exact.any() else None,
            bounds=np.stack([lower, upper], axis=1),
            method="highs",
            options={"time_limit": max(seconds, 0.0)},
        )
        if found.status:
            return int(found.status), np.zeros(0), np.zeros(0)
        weights = np.zeros(len(self.right))
        weights[exact], weights[bound] = -found.eqlin.marginals, -found.ineqlin.marginals
        solution = found.x[: len(self.unknowns)].copy()
        if capped:
            solution[gains] += found.x[len(self.unknowns) :]
        return 0, solution, weights


@dataclass(eq=False)
class Rounds:
    """Rounds of programmes: first as many targets as possible reach one together, then sums of the rest."""

    part: Part
    verdicts: Verdicts
    open: Integers
    patience: int | None = None
    reached: Floats = field(init=False)
    end: float = field(init=False)

    def __post_init__(self) -> None:
        self.end = time.monotonic() + SECONDS
        self.reached = np.zeros(len(self.part.unknowns))

    def run(self) -> None:
        """Decide all targets."""
        whole, rounds = len(self.open), 0
        while len(self.open) and rounds != self.patience:
            rounds += 1
            part, keep = self.part.only(np.unique(self.part.label[self.open]))
            inside = np.cumsum(keep) - 1
            status, solution, _ = part.solve(inside[self.open], capped=True, seconds=self.end - time.monotonic())
            if status == INFEASIBLE:
                self._drop_broken()
                continue
            if status:
                self.verdicts.undecided += self.part.unknowns[self.open].tolist()
                return
            left = self.open[solution[inside[self.open]] < NEARLY]
            tell(0.3 + 0.6 * (1 - len(left) / whole), f"{whole - len(left)} of {whole} counts decided")
            if len(left) == len(self.open):
                break
            self.open = left
        self._by_groups(whole)

    def _drop_broken(self) -> None:
        """Set aside the parts whose counts contradict each other."""
        for label in np.unique(self.part.label[self.open]).tolist():
            part, _ = self.part.only(np.array([label]))
            if part.solve(np.zeros(0, dtype=np.int64), capped=False)[0]:
                self.verdicts.broken.append(int(part.rows[0]))
                self.open = self.open[self.part.label[self.open] != label]

    def _by_groups(self, whole: int) -> None:
        """Ask for the sum of all that is left of a part: below one it excludes them all, else for halves of them."""
        waiting = [self.open[self.part.label[self.open] == label] for label in np.unique(self.part.label[self.open])]
        while waiting:
            _, first = np.unique([self.part.label[group[0]] for group in waiting], return_index=True)
            asked = [waiting[place] for place in first.tolist()]
            waiting = [group for place, group in enumerate(waiting) if place not in set(first.tolist())]
            waiting += self._ask(asked)
            waiting = [group for group in (group[self.reached[group] < NEARLY] for group in waiting) if len(group)]
            left = sum(len(group) for group in waiting)
            tell(0.3 + 0.6 * (1 - left / whole), f"{whole - left} of {whole} counts decided")

    def _ask(self, groups: list[Integers]) -> list[Integers]:
        """Ask for the sums of groups, one of each part; return the groups that are still to be asked for."""
        together = np.concatenate(groups)
        part, keep = self.part.only(np.unique(self.part.label[together]))
        inside = np.cumsum(keep) - 1
        status, solution, weights = part.solve(inside[together], capped=False, seconds=self.end - time.monotonic())
        if status:
            self.verdicts.undecided += self.part.unknowns[together].tolist()
            return []
        self.reached[keep] = np.maximum(self.reached[keep], solution)
        low = [group for group in groups if (self.reached[group] < NEARLY).all()]
        proven = exact_weights(part, [inside[group] for group in low], weights)
        again = [group for group in groups if (self.reached[group] >= NEARLY).any()]
        if self.patience is not None:  # what this round did not reach, nobody knows
            rest = [self.part.unknowns[group[self.reached[group] < NEARLY]] for group in again]
            self.verdicts.undecided += [int(one) for some in rest for one in some]
            again = []
        for group, found in zip(low, proven, strict=True):
            if found is not None:
                self.verdicts.excluded.update(dict.fromkeys(self.part.unknowns[group].tolist(), found))
            elif len(group) > 1 and self.patience is None:
                again += [group[: len(group) // 2], group[len(group) // 2 :]]
            else:
                self.verdicts.undecided += self.part.unknowns[group].tolist()
        return again


def exact_weights(part: Part, groups: Sequence[Integers], weights: Floats) -> list[Weights | None]:
    """Return for groups, one of each part, the rounded weights on rows that keep their sums below one, or None."""
    found: list[Weights | None] = [None] * len(groups)
    for denominator in DENOMINATORS:
        waiting = [place for place, one in enumerate(found) if one is None]
        if not waiting:
            break
        rounded = np.rint(weights * denominator).astype(np.int64)
        rounded[~part.equal] = np.maximum(rounded[~part.equal], 0)
        factor = np.rint(part.matrix.T @ rounded.astype(np.float64)).astype(np.int64)
        factor[np.concatenate([groups[place] for place in waiting])] -= denominator
        more = np.where(factor < 0, -factor * part.upper, -factor * part.lower)
        size = int(part.label.max()) + 1
        total = np.bincount(part.row_label, weights=rounded * part.right, minlength=size)
        total += np.bincount(part.label, weights=more, minlength=size)
        for place in waiting:
            label = part.label[groups[place][0]]
            if total[label] < denominator:
                mine = np.flatnonzero((part.row_label == label) & (rounded != 0)).tolist()
                found[place] = {int(part.rows[row]): Fraction(int(rounded[row]), denominator) for row in mine}
    return found
