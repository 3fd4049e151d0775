"""Small spaces laid out cell by cell: at every point, the values each release leaves possible, painted class by class.

Points that no published cell tells apart are one; what is left after cutting releases with each other is
the candidate set of Xiao & Tao 2007, here for all points at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.series.space import Box, Integers, Layer, Space, Truths, atoms

Bits = npt.NDArray[np.uint64]
LARGEST = 4_000_000


class PointGrid:
    """All points of a space that published cells tell apart, and which of them each class covers.

    >>> import polars as pl
    >>> from sfumato.series.published import PublishedClasses
    >>> table = pl.DataFrame({"age": ["[20-25]", "[20-25]", "[25-30]"], "ill": ["flu", "gout", "flu"]})
    >>> grid = PointGrid(Space(["age"], [PublishedClasses.of(table, ["age"], "ill")]))
    >>> grid.shape, grid.paint(Layer(0, grid.space.holds[0])).ravel().tolist()
    ((3,), [3, 3, 1])
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.words = (len(space.values) + 63) // 64
        self.masks: list[list[int]] = []
        self.members: list[list[Truths]] = []
        for place, axis in enumerate(space.axes):
            texts = list(axis.cells)
            covered = atoms(axis, texts)
            alike = _alike(covered)
            self.masks.append([sum(1 << atom for atom in group) for group in alike])
            kinds = covered[:, [group[0] for group in alike]]
            rows = {text: row for row, text in enumerate(texts)}
            self.members.append(
                [
                    kinds[[rows[text] for text in release.texts[place]]][release.cells[:, place]]
                    for release in space.releases
                ]
            )
        self.shape = tuple(len(masks) for masks in self.masks)

    @property
    def fits(self) -> bool:
        """Whether the points are few enough to be painted."""
        size = self.words
        for side in self.shape:
            size *= side
        return size <= LARGEST

    def paint(self, layer: Layer) -> Bits:
        """Return the values that a layer leaves possible at every point, as words of 64 bits."""
        painted = np.zeros((*self.shape, self.words), dtype=np.uint64)
        for number, values in enumerate(layer.holds):
            sides = [np.flatnonzero(members[layer.release][number]) for members in self.members]
            painted[np.ix_(*sides)] |= self._pack_values(values)
        return painted.reshape(-1, self.words)

    def boxes(self, cells: Integers, left: Bits) -> Iterator[tuple[Box, int, tuple[int, ...]]]:
        """Yield boxes that together hold the given points, each of points with the same values left.

        With each come the values and one of its points.
        """
        kinds, kind = np.unique(left, axis=0, return_inverse=True)
        waiting = np.full(int(np.prod(self.shape)), -1, dtype=np.int64)
        waiting[cells] = kind.ravel()
        open_ = waiting.reshape(self.shape).copy()
        for cell in cells.tolist():
            point = tuple(int(place) for place in np.unravel_index(cell, self.shape))
            number = int(open_[point])
            if number < 0:
                continue
            sides: list[Integers] = [np.array([place]) for place in point]
            for axis in range(len(sides)):
                slab = [*sides[:axis], np.arange(self.shape[axis]), *sides[axis + 1 :]]
                same = (open_[np.ix_(*slab)] == number).all(
                    axis=tuple(other for other in range(len(sides)) if other != axis)
                )
                sides[axis] = np.flatnonzero(same)
            open_[np.ix_(*sides)] = -1
            box = tuple(
                sum(masks[place] for place in side.tolist()) for masks, side in zip(self.masks, sides, strict=True)
            )
            yield box, self._unpack_values(kinds[number]), point

    def holder(self, layer: Layer, point: Sequence[int], values: int, least: int) -> int | None:
        """Return a class at a point that has one of the values and, over all, at least `least` of them."""
        covers = np.logical_and.reduce(
            [members[layer.release][:, place] for members, place in zip(self.members, point, strict=True)]
        )
        shown = self.space.holds[layer.release]
        for number in np.flatnonzero(covers).tolist():
            if layer.holds[number] & values and shown[number].bit_count() >= least:
                return int(number)
        return None

    @staticmethod
    @lru_cache(maxsize=1)
    def of(space: Space) -> PointGrid:
        """Return the grid of a space, made once."""
        return PointGrid(space)

    def _pack_values(self, values: int) -> Bits:
        return np.frombuffer(values.to_bytes(8 * self.words, "little"), dtype=np.uint64)

    def _unpack_values(self, words: Bits) -> int:
        return int.from_bytes(words.tobytes(), "little")


def _alike(covered: Truths) -> list[list[int]]:
    """Return groups of atoms that the same texts cover; atoms that no text covers are left out."""
    groups: dict[bytes, list[int]] = {}
    for atom, column in enumerate(np.packbits(covered, axis=0).T.copy()):
        groups.setdefault(column.tobytes(), []).append(atom)
    return [group for group in groups.values() if covered[:, group[0]].any()]
