"""Noisy totals behind each of many windows, by the square root of the prefix sums or by the binary tree.

What leaves is a function of noisy whole numbers alone, so that no rounding tells two inputs apart: the exact sums never
meet a fraction (Henzinger, Upadhyay & Upadhyay 2023; Chan, Shi & Song 2011; Mironov 2012 on why roundings matter).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.stream.base import Integers, Numbers
from sfumato.stream.publishers.totals.factor import ROOM, RootFactor, RootPlan
from sfumato.stream.state import Array

DEPTH = 64  # more nodes than a total is ever the sum of

AddNoise = Callable[[Integers, int, str], Integers]  # rows, the number of the first one, and what they are


class Factored:
    """The totals of one factor: `extend` takes rows, adds noise to their image under R and returns their totals."""

    def __init__(self, factor: RootFactor, width: int, name: str, add_noise: AddNoise) -> None:
        self.factor, self.name, self._add_noise = factor, name, add_noise
        self._kept = np.zeros((factor.size, width), dtype=np.int64)
        self._noisy = np.zeros((factor.size, width), dtype=np.int64)
        self._at = np.zeros(2, dtype=np.int64)  # the rows that came since it was emptied, and before

    @property
    def done(self) -> int:
        """How many rows have come."""
        return int(self._at[0])

    @property
    def total(self) -> Integers:
        """The exact total of its rows."""
        total: Integers = self._kept.sum(axis=0)
        return total

    def extend(self, rows: Integers) -> Numbers:
        """Return the noisy total behind each of some rows."""
        from sfumato.stream.publishers.totals.kernel import unweigh, weigh

        first, before = self._at.tolist()
        last = first + len(rows)
        self._kept[first:last] = np.clip(rows, -self.factor.limit, self.factor.limit)
        image, totals = np.empty_like(rows), np.empty(rows.shape)
        weigh(self.factor.weights, self._kept, first, image)
        self._noisy[first:last] = self._add_noise(image, before + first, self.name)
        unweigh(self.factor.inverse, self._noisy, first, totals)
        self._at[0] = last
        return totals

    def empty(self) -> None:
        """Begin again; rows go on being numbered."""
        self._at[:] = 0, self._at.sum()
        self._kept[:] = self._noisy[:] = 0

    def arrays(self) -> dict[str, Array]:
        """What it holds, as it stands in a state."""
        return {f"{self.name}_kept": self._kept, f"{self.name}_noisy": self._noisy, f"{self.name}_at": self._at}


class RootPrefixes:
    """Totals by the square root: whole blocks by one factor, what has come of a block by another.

    >>> totals = RootPrefixes(RootPlan(4), 1, lambda rows, first, what: rows)
    >>> totals.extend(np.array([[5], [7]])).round(9).tolist()
    [[5.0], [12.0]]
    """

    def __init__(self, plan: RootPlan, width: int, add_noise: AddNoise) -> None:
        self._plan = plan
        self._top = Factored(plan.top, width, "top", add_noise)
        self._inside = None if plan.inside is None else Factored(plan.inside, width, "inside", add_noise)
        self._base = np.zeros(width)

    @property
    def done(self) -> int:
        """How many windows have come."""
        return self._top.done * self._plan.block + (0 if self._inside is None else self._inside.done)

    @property
    def room(self) -> int:
        """How many windows more it takes."""
        return self._plan.horizon - self.done

    def extend(self, windows: Integers) -> Numbers:
        """Return the noisy totals behind some windows, for which there must be room."""
        if self._inside is None:
            return self._top.extend(windows)
        found = np.empty(windows.shape)
        done = 0
        while done < len(windows):
            end = min(done + self._plan.block - 1 - self._inside.done, len(windows))
            found[done:end] = self._base + self._inside.extend(windows[done:end])
            done = end
            if done < len(windows):  # the last window of a block
                self._base[:] = self._top.extend((self._inside.total + windows[done])[None])[0]
                self._inside.empty()
                found[done] = self._base
                done += 1
        return found

    def arrays(self) -> dict[str, Array]:
        """What it holds, as it stands in a state."""
        inside = {} if self._inside is None else self._inside.arrays()
        return {**self._top.arrays(), **inside, "top_total": self._base}


class TreePrefixes:
    """Totals by the binary tree: a window belongs to one node of each level, and a total is a sum of few nodes.

    >>> totals = TreePrefixes(4, 1, 1, lambda rows, first, what: rows)
    >>> totals.extend(np.array([[5], [7]])).tolist()
    [[5.0], [12.0]]
    """

    def __init__(self, windows: int, width: int, unit: int, add_noise: AddNoise) -> None:
        levels = windows.bit_length()
        self._windows, self._unit, self._add_noise = windows, unit, add_noise
        self._open = np.zeros((levels, width), dtype=np.int64)
        self._nodes = np.zeros((levels, width), dtype=np.int64)
        self._at = np.zeros(1, dtype=np.int64)

    @property
    def done(self) -> int:
        """How many windows have come."""
        return int(self._at[0])

    @property
    def room(self) -> int:
        """How many windows more it takes."""
        return self._windows - self.done

    def extend(self, windows: Integers) -> Numbers:
        """Return the noisy totals behind some windows, for which there must be room."""
        from sfumato.stream.publishers.totals.kernel import close_nodes, sum_nodes

        begun = self.done
        exact, totals = np.empty_like(windows), np.empty_like(windows)
        close_nodes(windows, begun, self._open, ROOM // (DEPTH * self._unit), exact)
        sum_nodes(self._add_noise(exact * self._unit, begun, "node"), begun, self._nodes, totals)
        self._at[0] += len(windows)
        return totals / self._unit

    def arrays(self) -> dict[str, Array]:
        """What it holds, as it stands in a state."""
        return {"tree_open": self._open, "tree_nodes": self._nodes, "tree_at": self._at}


def tree_variances(windows: int) -> Numbers:
    """Return the variance of the total behind each window by the tree, for noise of variance 1 on every node.

    >>> tree_variances(7).tolist()
    [1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 3.0]
    """
    return np.bitwise_count(np.arange(1, windows + 1)).astype(np.float64)
