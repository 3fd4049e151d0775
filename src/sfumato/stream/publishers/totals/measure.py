"""What is counted of a window: whole numbers on a public grid, and how far one record moves them.

A record is rounded and clamped by itself, so a window's numbers are exact sums of integers (Mironov 2012); norms are
those of Dwork, McSherry, Nissim & Smith (2006) for Laplace and of Bun & Steinke (2016) for Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from sfumato.errors import ParameterError
from sfumato.promise import Neighbours
from sfumato.stream.base import Integers, Numbers, PublicBounds
from sfumato.stream.noise import grid_steps, step_for

Kind = Literal["sum", "count", "mean", "histogram"]
KINDS: tuple[Kind, ...] = ("sum", "count", "mean", "histogram")
STEPS = 2**16  # of the public grid between the bounds, or up to twice as many
FARTHEST = 2**38  # steps from 0: a large batch of records further away could leave 64 bits


@dataclass(frozen=True)
class Measure:
    """What totals are made of: `kind`, of values within public `bounds`, between neighbours of a kind.

    A sum is of steps from the middle where the number of records is public, else from 0. A mean is read from the number
    of records and the sum of steps from the middle, where the number of records is no secret from that sum alone; both
    are scaled to move alike, so that they share the noise.

    >>> measure = Measure("histogram", (0, 4), 2, Neighbours.PRESENCE)
    >>> measure.of_windows(np.array([[1.0, 3.5, 9.0, np.nan]])).tolist(), measure.moves
    ([[1, 3]], (1, 1))
    """

    kind: Kind
    bounds: PublicBounds
    bins: int
    neighbours: Neighbours

    @cached_property
    def _step(self) -> float:
        return step_for(Fraction(self.bounds[1]) - Fraction(self.bounds[0]), STEPS)

    @cached_property
    def _limits(self) -> tuple[int, int, int]:
        low, high = (grid_steps(bound, self._step) for bound in self.bounds)
        return low, (low + high) // 2, high

    @property
    def _half(self) -> int:
        low, middle, high = self._limits
        return max(middle - low, high - middle)

    @property
    def _present(self) -> bool:
        return self.neighbours is Neighbours.PRESENCE

    @property
    def width(self) -> int:
        """How many whole numbers a window has."""
        return self.bins if self.kind == "histogram" else (2 if self.kind == "mean" and self._present else 1)

    @property
    def moves(self) -> tuple[int, int]:
        """How far one record moves them at most, in L1 and, squared, in L2."""
        if self.kind == "count":
            return 1, 1
        if self.kind == "histogram":
            return (1, 1) if self._present else (2, 2)
        low, _, high = self._limits
        if not self._present:
            return high - low, (high - low) ** 2
        if self.kind == "sum":
            most = max(abs(low), abs(high))
            if most > FARTHEST:
                raise ParameterError(
                    f"the bounds {self.bounds[0]!r} and {self.bounds[1]!r} are too far from 0 for sums of records "
                    "whose number is secret; subtract a public number from the values"
                )
            return most, most**2
        return 2 * self._half, 2 * self._half**2

    def of_windows(self, windows: Numbers) -> Integers:
        """Return the whole numbers of windows of equally many records; what is no number counts as the middle."""
        count = windows.shape[1]
        if self.kind == "count":
            return np.full((len(windows), 1), count)
        if self.kind == "histogram":
            codes = self._bins_of(windows) + self.bins * np.arange(len(windows))[:, None]
            counts = np.bincount(codes.ravel(), minlength=self.bins * len(windows))
            return np.asarray(counts.reshape(-1, self.bins), dtype=np.int64)
        low, middle, high = self._limits
        steps = np.nan_to_num(np.rint(windows / self._step), nan=middle, posinf=high, neginf=low)
        whole = np.clip(steps, low, high).astype(np.int64)
        if self.kind == "sum" and self._present:
            return np.asarray(whole.sum(axis=1, keepdims=True), dtype=np.int64)
        centred = (whole - middle).sum(axis=1, keepdims=True)
        return np.insert(centred, 0, self._half * count, axis=1) if self._present else centred

    def _bins_of(self, values: Numbers) -> Integers:
        low, high = self.bounds
        places = np.nan_to_num((values - low) / (high - low) * self.bins, nan=self.bins // 2)
        codes: Integers = np.clip(np.floor(places), 0, self.bins - 1).astype(np.int64)
        return codes

    def rows(self, totals: Numbers, counted: Integers) -> Numbers:
        """Return what is published of noisy totals; `counted` are the records behind each, where they are public.

        >>> Measure("mean", (0, 8), 1, Neighbours.VALUE).rows(np.array([[0.0]]), np.array([5])).tolist()
        [[4.0]]
        """
        if self.kind in {"count", "histogram"}:
            return np.rint(totals)
        middle = self._limits[1] * self._step
        if self.kind == "sum":
            return totals * self._step + (0.0 if self._present else middle * counted[:, None])
        centred = totals[:, -1] * self._step
        count = totals[:, 0] / self._half if self._present else counted.astype(np.float64)
        mean = np.clip(middle + centred / np.maximum(count, 1.0), *self.bounds)
        if not self._present:
            return mean[:, None]
        return np.column_stack([np.rint(count), centred + middle * count, mean])

    def names(self, column: str) -> list[str]:
        """Return the names of what is published of a column.

        >>> Measure("histogram", (0, 4), 2, Neighbours.VALUE).names("hours")
        ['hours_0_to_2', 'hours_2_to_4']
        """
        if self.kind == "histogram":
            edges = edge_texts(np.linspace(*self.bounds, self.bins + 1).tolist())
            return [f"{column}_{low}_to_{high}" for low, high in pairwise(edges)]
        parts: Sequence[str] = ("count", "sum", "mean") if self.kind == "mean" and self._present else (self.kind,)
        return [f"{column}_{part}" for part in parts]


def edge_texts(edges: Sequence[float]) -> list[str]:
    """Return the edges of bins as texts, short ones where these differ; edges that are one number are refused.

    >>> edge_texts([0.0, 1 / 3, 1.0]), edge_texts([1e12, 1e12 + 0.5])
    (['0', '0.333333333333', '1'], ['1000000000000.0', '1000000000000.5'])
    """
    for texts in ([f"{edge:.12g}" for edge in edges], list(map(repr, edges))):
        if len(set(texts)) == len(texts):
            return texts
    raise ParameterError(
        f"{len(edges) - 1} bins do not fit between the bounds {edges[0]:g} and {edges[-1]:g}; give fewer bins"
    )
