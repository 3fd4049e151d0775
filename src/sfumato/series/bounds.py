"""Exact bounds on the counts of cells, found by adding and subtracting published counts until nothing moves.

Every bound follows from one row and earlier bounds (the shuttle algorithm of Dobra & Fienberg 2000), in whole numbers,
so that each can be unrolled into weights on rows: a certificate that needs no solver.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.series.cells import Integers
from sfumato.series.equations import Equations, Truths

OPEN = 1 << 31  # no upper bound yet
SWEEPS = 300
Weights = dict[int, Fraction]


@dataclass(frozen=True, eq=False)
class Steps:
    """All times that a kind of bound moved: of which unknown, in which sweep, by which row."""

    unknown: Integers
    sweep: Integers
    row: Integers

    @classmethod
    def of(cls, found: list[tuple[Integers, int, Integers]]) -> Steps:
        """Return the steps in the order of unknowns and sweeps."""
        unknown = np.concatenate([np.zeros(0, np.int64), *(one for one, _, _ in found)])
        sweep = np.concatenate([np.zeros(0, np.int64), *(np.full(len(one), when) for one, when, _ in found)])
        row = np.concatenate([np.zeros(0, np.int64), *(by for _, _, by in found)])
        order = np.lexsort((sweep, unknown))
        return cls(unknown[order], sweep[order], row[order])

    def last(self, unknown: int, before: int) -> tuple[int, int] | None:
        """Return sweep and row of an unknown's last step before a sweep, or None without any."""
        start, end = np.searchsorted(self.unknown, [unknown, unknown + 1]).tolist()
        place = start + int(np.searchsorted(self.sweep[start:end], before)) - 1
        return None if place < start else (int(self.sweep[place]), int(self.row[place]))


@dataclass(eq=False)
class Bounds:
    """Lower and upper bounds of all unknowns; `broken` marks rows that no counts can satisfy.

    >>> from sfumato.series.cells import Cells, ClassCounts
    >>> releases = [ClassCounts(np.array([[1, 2]])), ClassCounts(np.array([[1, 1]]))]
    >>> bounds = Bounds.of(Equations.of(Cells.of(releases, [[(0,)] * 3, [(), (0,), (0,)]])))
    >>> bounds.upper.tolist(), bounds.broken.any().item()
    ([0, 1, 1, 1], False)
    """

    equations: Equations
    lower: Integers
    upper: Integers
    broken: Truths
    sweeps: int = 0
    rises: list[tuple[Integers, int, Integers]] = field(default_factory=list)
    falls: list[tuple[Integers, int, Integers]] = field(default_factory=list)

    @classmethod
    def of(cls, equations: Equations) -> Bounds:
        """Return the bounds that follow from the rows one at a time, again and again until none moves."""
        zeros = np.zeros(equations.unknowns, dtype=np.int64)
        bounds = cls(equations, zeros, zeros + OPEN, np.zeros(equations.rows, dtype=np.bool_))
        sweeper = Sweeper.of(equations)
        while bounds.sweeps < SWEEPS and sweeper.sweep(bounds):
            if bounds.sweeps % 10 == 0:
                tell(0.1, f"bounds of counts, sweep {bounds.sweeps}")
        return bounds

    def unroll(self) -> Unrolled:
        """Return the bounds as weights on rows."""
        return Unrolled(self.equations, Steps.of(self.rises), Steps.of(self.falls))


@dataclass(frozen=True, eq=False)
class Sweeper:
    """The entries of rows in the order of unknowns, for one pass over all of them at a time."""

    equations: Equations
    row: Integers
    unknown: Integers
    positive: Truths
    starts: Integers
    present: Integers

    @classmethod
    def of(cls, equations: Equations) -> Sweeper:
        """Return the sweeper of some equations."""
        order = np.argsort(equations.unknown, kind="stable")
        unknown = equations.unknown[order]
        present, starts = np.unique(unknown, return_index=True)
        return cls(equations, equations.row[order], unknown, equations.sign[order] > 0, starts, present)

    def sweep(self, bounds: Bounds) -> bool:
        """Move all bounds that one row each can move; return whether any moved."""
        right, equal = self.equations.right[self.row], self.equations.equal
        lower, upper = bounds.lower[self.unknown], bounds.upper[self.unknown]
        low, high = np.where(self.positive, lower, -upper), np.where(self.positive, upper, -lower)
        least, most = self._totals(low), self._totals(high)
        bounds.broken |= (least > self.equations.right) | (equal & (most < self.equations.right))
        cap = right - (least[self.row] - low)
        floor = np.where(equal[self.row], right - (most[self.row] - high), -OPEN)
        bounds.sweeps += 1
        falls = self._move(bounds.upper, np.where(self.positive, cap, -floor), bounds, fall=True)
        rises = self._move(bounds.lower, np.where(self.positive, floor, -cap), bounds, fall=False)
        return falls or rises

    def _totals(self, parts: Integers) -> Integers:
        """Return the sum of each row's parts; exact, since they are far below 2^53."""
        return np.bincount(self.row, weights=parts, minlength=self.equations.rows).astype(np.int64)

    def _move(self, old: Integers, new: Integers, bounds: Bounds, *, fall: bool) -> bool:
        """Tighten one side's bounds where an entry allows it, and note by which row."""
        pick = np.minimum if fall else np.maximum
        if len(new) == 0:
            return False
        best = pick.reduceat(new, self.starts)
        moved = (best < old[self.present]) & (best < OPEN // 2) if fall else best > old[self.present]
        moved &= (bounds.lower <= bounds.upper)[
            self.present
        ]  # where counts contradict each other, bounds would run away
        if not moved.any():
            return False
        wanted = old.copy()
        wanted[self.present[moved]] = best[moved]
        hit = (new == wanted[self.unknown]) & (wanted != old)[self.unknown]
        by = np.full(len(old), -1, dtype=np.int64)
        by[self.unknown[hit]] = self.row[hit]
        changed = np.flatnonzero(wanted != old)
        (bounds.falls if fall else bounds.rises).append((changed, bounds.sweeps, by[changed]))
        old[changed] = wanted[changed]
        return True


@dataclass(eq=False)
class Unrolled:
    """Bounds as sums of rows: weights w with `unknown ≤ w·rows` (falls) or `unknown ≥ -w·rows` (rises)."""

    equations: Equations
    rises: Steps
    falls: Steps
    _entries: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    _known: dict[tuple[int, bool, int], Weights] = field(default_factory=dict)
    _order: npt.NDArray[np.int64] | None = None

    def entries(self, row: int) -> list[tuple[int, int]]:
        """Return the unknowns of a row with their signs."""
        if self._order is None:
            self._order = np.argsort(self.equations.row, kind="stable")
            self._sorted = self.equations.row[self._order]
        if row not in self._entries:
            start, end = np.searchsorted(self._sorted, [row, row + 1]).tolist()
            places = self._order[start:end]
            unknowns, signs = self.equations.unknown[places].tolist(), self.equations.sign[places].tolist()
            self._entries[row] = list(zip(unknowns, signs, strict=True))
        return self._entries[row]

    def bound(self, unknown: int, *, fall: bool, before: int = 1 << 60) -> Weights:
        """Return the weights that give an upper bound (`fall`), or the negative of a lower one."""
        step = (self.falls if fall else self.rises).last(unknown, before)
        if step is None:
            if fall:
                raise ValueError("an unknown without an upper bound has no certificate")
            return {}
        sweep, row = step
        key = (unknown, fall, sweep)
        if key not in self._known:
            self._known[key] = self._derive(unknown, fall=fall, sweep=sweep, row=row)
        return self._known[key]

    def _derive(self, unknown: int, *, fall: bool, sweep: int, row: int) -> Weights:
        """Return a step as its row and the bounds of the row's other unknowns before it."""
        sign = dict(self.entries(row))[unknown]
        weight = Fraction(sign if fall else -sign)
        total: defaultdict[int, Fraction] = defaultdict(Fraction)
        total[row] += weight
        for other, its_sign in self.entries(row):
            part = weight * its_sign  # the other unknown stands with this factor beside ours
            if other != unknown and part:
                for fact, amount in self.bound(other, fall=part < 0, before=sweep).items():
                    total[fact] += abs(part) * amount
        return {fact: amount for fact, amount in total.items() if amount}
