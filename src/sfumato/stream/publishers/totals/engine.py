"""Totals so far, or over the last windows, of a stream as long as it likes: prefixes, one stretch after the other.

A stretch is as long as is declared; without a declaration, each is twice as long as the one before (Chan, Shi & Song
2011). The last w windows lie in two stretches of w: what is left of the former one, and what has come of this one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from sfumato.errors import ParameterError
from sfumato.promise import Disjoint, LinearNoise, Neighbours
from sfumato.random.random_words import WordRun
from sfumato.stream.base import Integers, Numbers
from sfumato.stream.noise import add_gaussian_to_rows, add_noise_to_rows, noise_scale
from sfumato.stream.publishers.totals.factor import UNIT, root_plan
from sfumato.stream.publishers.totals.prefix import RootPrefixes, TreePrefixes
from sfumato.stream.state import Array

FIRST = 2**10  # windows of the first stretch where none is declared
DOUBLINGS = 40  # stretches that are priced: no stream lives to see the next one
LARGEST_SIGMA = 2**40


@dataclass(frozen=True)
class Noise:
    """How totals are made private: at ε, by Laplace noise, or at ρ, by Gaussian noise; `tree` says by which matrix.

    >>> from decimal import Decimal
    >>> Noise(1.0, Decimal(0), False).stretch(8, (1, 1)).reach
    4
    """

    epsilon: float
    rho: Decimal
    endless: bool

    @property
    def tree(self) -> bool:
        """Whether totals are by the tree: the root's columns are long in L1, and an endless stream has no root."""
        return self.endless or not self.rho

    def stretch(self, windows: int, moves: tuple[int, int], neighbours: Neighbours = Neighbours.VALUE) -> LinearNoise:
        """Return the noise on a stretch of some windows that a record moves so far in L1 and, squared, in L2."""
        levels = windows.bit_length()
        if not self.rho:
            reach = levels * moves[0]
            return LinearNoise(reach, noise_scale(reach, self.epsilon), gaussian=False, neighbours=neighbours)
        reach = moves[1] * (UNIT**2 * levels if self.tree else root_plan(windows).reach)
        least = Fraction(reach) / (2 * Fraction(self.rho))
        sigma = math.isqrt(math.ceil(least) - 1) + 1
        if sigma > LARGEST_SIGMA:
            raise ParameterError(
                f"rho is {self.rho}, for which noise is too large to be drawn exactly; give a larger ε"
            )
        return LinearNoise(reach, Fraction(sigma) ** 2, gaussian=True, neighbours=neighbours)


class RunningSums:
    """Noisy totals of rows of whole numbers: over all of them, or over the last ones.

    `declared` is how many windows a stretch has, None where nobody says; `sliding` says that totals are over that many.

    >>> from decimal import Decimal
    >>> from sfumato.random import SeededSource
    >>> run, noise = WordRun(SeededSource(1), "x"), Noise(1e6, Decimal(0), endless=False)
    >>> sums = RunningSums(run, noise, 1, (1, 1), declared=2, sliding=True)
    >>> sums.extend(np.array([[5], [7], [1], [2], [4]])).tolist()
    [[5.0], [12.0], [8.0], [3.0], [6.0]]
    """

    def __init__(
        self, run: WordRun, noise: Noise, width: int, moves: tuple[int, int], declared: int | None, *, sliding: bool
    ) -> None:
        self._run, self._noise, self._moves, self._declared = run, noise, moves, declared
        self._stretch = np.zeros(1, dtype=np.int64)
        self._base = np.zeros(width)
        shape = (declared or 0) if sliding else 0
        self._former, self._current = np.zeros((shape, width)), np.zeros((shape, width))
        self._width = width
        self._prefixes = self._begin_stretch()

    @property
    def sliding(self) -> bool:
        """Whether totals are over the last windows only."""
        return len(self._current) > 0

    def promise(self, neighbours: Neighbours) -> Disjoint:
        """Return what the noise costs a record, which is in one stretch."""
        stretches = range(1 if self._declared else DOUBLINGS)
        return Disjoint(tuple(self._noise.stretch(self._span(at)[1], self._moves, neighbours) for at in stretches))

    def _span(self, stretch: int) -> tuple[int, int]:
        """Return the windows before a stretch, and those in it."""
        if self._declared:
            return stretch * self._declared, self._declared
        return FIRST * (2**stretch - 1), FIRST * 2**stretch

    def _begin_stretch(self) -> RootPrefixes | TreePrefixes:
        self._before, windows = self._span(int(self._stretch[0]))
        self._drawn = self._noise.stretch(windows, self._moves)
        if not self._noise.tree:
            return RootPrefixes(root_plan(windows), self._width, self._add_noise)
        return TreePrefixes(windows, self._width, UNIT if self._noise.rho else 1, self._add_noise)

    def _add_noise(self, exact: Integers, first: int, what: str) -> Integers:
        """Return rows with noise; their numbers go on from stretch to stretch, so that no two rows share one."""
        number, scale = self._before + first, self._drawn.scale
        if not self._drawn.gaussian:
            noisy: Integers = add_noise_to_rows(self._run, exact, scale, number, what)
            return noisy
        return add_gaussian_to_rows(self._run, exact, math.isqrt(int(scale)), number, what)

    def extend(self, rows: Integers) -> Numbers:
        """Return the noisy totals behind some windows."""
        found = np.empty(rows.shape)
        done = 0
        while done < len(rows):
            first = self._prefixes.done
            end = min(done + self._prefixes.room, len(rows))
            totals = self._prefixes.extend(rows[done:end])
            found[done:end] = self._placed(totals, first)
            if self._prefixes.room == 0:
                self._end_stretch(totals[-1])
            done = end
        return found

    def _placed(self, totals: Numbers, first: int) -> Numbers:
        """Return what totals of this stretch are in all, the first of them behind `first` of its windows."""
        if not self.sliding:
            return self._base + totals
        here = slice(first, first + len(totals))
        self._current[here] = totals
        left: Numbers = self._former[-1] - self._former[here]
        return totals + left

    def _end_stretch(self, total: Numbers) -> None:
        if self.sliding:
            self._former[:] = self._current
        else:
            self._base += total
        self._stretch[0] += 1
        self._prefixes = self._begin_stretch()

    def arrays(self) -> dict[str, Array]:
        """What is held, as it stands in a state."""
        own = {"stretch": self._stretch, "base": self._base}
        spans = {"former": self._former, "current": self._current} if self.sliding else {}
        return {**own, **spans, **self._prefixes.arrays()}

    def resume(self, arrays: Mapping[str, Array]) -> None:
        """Go on with what a state holds."""
        self._stretch[:] = arrays["stretch"]
        self._prefixes = self._begin_stretch()
        for name, array in self.arrays().items():
            array[:] = arrays[name]
