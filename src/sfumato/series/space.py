"""The releases of a series in one space: boxes of atoms, sensitive values as bits, and which classes overlap.

Boxes are products of cells, as generalisation makes them (LeFevre, DeWitt & Ramakrishnan 2006). The attacker knows a
person's quasi-identifiers and which releases the person is in, as in chapter 2 of Pereira 2014 and in Xiao & Tao 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.schema import Attribute
from sfumato.series.published import PublishedClasses
from sfumato.table.axis import CellAxis

Truths = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Box = tuple[int, ...]
Attack = Literal["intersection", "difference", "linking"]
LIMIT = 1_000_000


@dataclass(frozen=True)
class Exposure:
    """People in `box` who are in the releases `present` and not in `absent` have one of `values` (as bits).

    `classes` are the classes, one for each release present, that the conclusion was drawn from.

    >>> Exposure("intersection", (0, 1), (), (4, 2), (7, 1), 0b100).size
    1
    """

    attack: Attack
    present: tuple[int, ...]
    absent: tuple[int, ...]
    classes: tuple[int, ...]
    box: Box
    values: int
    persons: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many sensitive values remain possible."""
        return self.values.bit_count()


@dataclass
class ExposureSearch:
    """The exposures found so far (fewer than `least` values left), and the effort that may still be spent.

    >>> ExposureSearch(2).complete
    True
    """

    least: int
    exposures: list[Exposure] = field(default_factory=list)
    effort: int = LIMIT

    @property
    def complete(self) -> bool:
        """Whether nothing was left out for want of effort."""
        return self.effort > 0


@dataclass(frozen=True)
class Layer:
    """The classes of one release and the values that each leaves possible for the people in question."""

    release: int
    holds: Sequence[int]


class Space:
    """PublishedClasses tables over the same quasi-identifiers and one sensitive column, ready to be compared.

    >>> import polars as pl
    >>> first = PublishedClasses.of(pl.DataFrame({"age": ["[20-25]", "30"], "ill": ["flu", "flu"]}), ["age"], "ill")
    >>> second = PublishedClasses.of(pl.DataFrame({"age": ["[25-30]"], "ill": ["gout"]}), ["age"], "ill")
    >>> space = Space(["age"], [first, second])
    >>> space.overlap(0, 1).tolist(), space.words(space.holds[1][0])
    ([[True], [True]], ['gout'])
    """

    def __init__(
        self,
        quasi: Sequence[str],
        releases: Sequence[PublishedClasses],
        attributes: Mapping[str, Attribute] | None = None,
        nobody: Sequence[int] = (),
    ) -> None:
        known = attributes or {}
        self.nobody = nobody or [0] * len(releases)  # rows of each release that belong to nobody
        self.quasi = tuple(quasi)
        self.releases = releases
        self.axes = [
            CellAxis((text for release in releases for text in release.texts[place]), known.get(name))
            for place, name in enumerate(self.quasi)
        ]
        self.values, self.counts = counts_of(releases)
        self.boxes = [self._boxes(release) for release in releases]
        self.holds = [supports(counts) for counts in self.counts]
        self._overlaps: dict[tuple[int, int], Truths] = {}

    def _boxes(self, release: PublishedClasses) -> list[Box]:
        masks = [[axis[text] for text in texts] for axis, texts in zip(self.axes, release.texts, strict=True)]
        return [tuple(mask[cell] for mask, cell in zip(masks, row, strict=True)) for row in release.cells.tolist()]

    def overlap(self, first: int, second: int) -> Truths:
        """Return which classes of one release share at least one point with which of another."""
        if (first, second) not in self._overlaps:
            table = np.ones((len(self.boxes[first]), len(self.boxes[second])), dtype=np.bool_)
            for place, axis in enumerate(self.axes):
                one, other = self.releases[first], self.releases[second]
                meets = _meets(axis, one.texts[place], other.texts[place])
                table &= meets[np.ix_(one.cells[:, place], other.cells[:, place])]
            self._overlaps[first, second] = table
        return self._overlaps[first, second]

    def common(self, first: int, second: int) -> Integers:
        """Return how many sensitive values each class of one release shares with each of another."""
        one, other = ((self.counts[release] > 0).astype(np.float32) for release in (first, second))
        shared: Integers = (one @ other.T).astype(np.int64)
        return shared

    def words(self, values: int) -> list[str]:
        """Return the sensitive values behind bits."""
        return [word for place, word in enumerate(self.values) if values >> place & 1]

    def describe(self, box: Box) -> dict[str, str]:
        """Return a box as text by column."""
        return {name: axis.text(mask) for name, axis, mask in zip(self.quasi, self.axes, box, strict=True)}

    def narrow(
        self, layers: Sequence[Layer], near: Sequence[int], box: Box, search: ExposureSearch
    ) -> tuple[Box, int] | None:
        """Return a part of `box` where too few values remain possible, and those values, if there is one.

        Where classes of one release overlap, a person in the overlap may be in either, so their values add up;
        `near` names a class of each layer that holds the whole box.
        """
        others = [
            (place, self.boxes[layer.release][number], layer.holds[number])
            for place, (layer, own) in enumerate(zip(layers, near, strict=True))
            for number in np.flatnonzero(self.overlap(layer.release, layer.release)[own]).tolist()
        ]
        return find_uncovered(box, [0] * len(layers), others, search)


def counts_of(releases: Sequence[PublishedClasses]) -> tuple[list[str], list[Integers]]:
    """Return all sensitive values of a series, and how often each class of each release shows each of them."""
    values = sorted({value for release in releases for value in release.values})
    places = {value: place for place, value in enumerate(values)}
    found = []
    for release in releases:
        counts = np.zeros((len(release.counts), len(values)), dtype=np.int64)
        counts[:, [places[value] for value in release.values]] = release.counts
        found.append(counts)
    return values, found


def supports(counts: Integers) -> list[int]:
    """Return the values that occur in each class as bits.

    >>> supports(np.array([[2, 0, 1]]))
    [5]
    """
    packed = np.packbits(counts > 0, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def cut(box: Box, other: Box) -> Box | None:
    """Return what two boxes share, or None.

    >>> cut((0b11, 0b1), (0b10, 0b1)), cut((0b11, 0b1), (0b10, 0b10))
    ((2, 1), None)
    """
    shared = tuple(one & two for one, two in zip(box, other, strict=True))
    return shared if all(shared) else None


def without(box: Box, other: Box) -> Iterator[Box]:
    """Yield disjoint boxes that make up `box` without `other`.

    >>> list(without((0b11, 0b11), (0b01, 0b01)))
    [(2, 3), (1, 2)]
    """
    done: Box = ()
    for place, (one, two) in enumerate(zip(box, other, strict=True)):
        if one & ~two:
            yield (*done, one & ~two, *box[place + 1 :])
        done = (*done, one & two)


def find_uncovered(
    box: Box, unions: Sequence[int], others: Sequence[tuple[int, Box, int]], search: ExposureSearch
) -> tuple[Box, int] | None:
    """Return the first part of a box where the layers' unions leave too few values in common, and those values.

    `others` are classes as (layer, box, values); one that covers part of the box splits it.
    """
    search.effort -= 1
    whole, partial = list(unions), []
    for place, other, holds in others:
        shared = cut(box, other)
        if shared == box:
            whole[place] |= holds
        elif shared is not None:
            partial.append((place, other, holds))
    left = whole[0]
    for union in whole[1:]:
        left &= union
    if left.bit_count() >= search.least or not search.complete:
        return None
    if not partial:
        return (box, left) if left else None
    for piece in (*without(box, partial[0][1]), cut(box, partial[0][1])):
        found = None if piece is None else find_uncovered(piece, whole, partial, search)
        if found is not None:
            return found
    return None


def _meets(axis: CellAxis, one: Sequence[str], other: Sequence[str]) -> Truths:
    """Return which texts of one list share an atom with which of another."""
    first, second = atoms(axis, one), atoms(axis, other)
    if not axis.numeric:
        return (first.astype(np.float32) @ second.astype(np.float32).T) > 0
    named = axis.size - 2
    special = (first[:, None, named:] & second[None, :, named:]).any(axis=2)
    (low, high), (start, end) = _extent(first[:, :named]), _extent(second[:, :named])
    ranges: Truths = (low[:, None] <= end[None, :]) & (start[None, :] <= high[:, None])
    return ranges | special


def atoms(axis: CellAxis, texts: Sequence[str | None]) -> Truths:
    """Return which atoms of an axis each text covers.

    >>> atoms(CellAxis(["[1-2]", "2"]), ["2"]).tolist()
    [[False, False, True, False, False]]
    """
    width = (axis.size + 7) // 8
    data = b"".join(axis[text].to_bytes(width, "little") for text in texts)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8).reshape(-1, width), axis=1, bitorder="little")
    return bits[:, : axis.size].astype(np.bool_)


def _extent(atoms: Truths) -> tuple[Integers, Integers]:
    """Return the first and last atom of each row; an empty row begins after it ends."""
    size = atoms.shape[1]
    if size == 0:
        return np.ones(len(atoms), dtype=np.int64), np.zeros(len(atoms), dtype=np.int64)
    some = atoms.any(axis=1)
    first = np.where(some, atoms.argmax(axis=1), size)
    last = np.where(some, size - 1 - atoms[:, ::-1].argmax(axis=1), -1)
    return first, last
