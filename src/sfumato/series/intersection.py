"""The intersection attack: a person in several releases has a value that all of the person's classes share.

Chapter 2 of Pereira 2014 (the case of Mário); Xiao & Tao 2007 call what is left the person's candidate values.
Every pair of releases is compared, then ever longer combinations, as far as the effort of a search goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.series.grid import Bits, PointGrid
from sfumato.series.space import Box, Exposure, ExposureSearch, Integers, Layer, Space, cut

POINTS_AT_ONCE = 1000


def intersections(space: Space, first: int, others: Sequence[int], search: ExposureSearch) -> None:
    """Record what people in release `first` and any of the `others` lose.

    A class that shows too few values by itself is left to the audit of single releases.
    """
    grid = PointGrid.of(space)
    if not grid.fits:
        _by_chains(space, first, others, search)
        return
    painted = {release: grid.paint(_layer(space, release)) for release in (first, *others)}
    cells = np.flatnonzero(painted[first].any(axis=1))
    _by_points(grid, painted, _Points((first,), cells, painted[first][cells]), others, search)


def _layer(space: Space, release: int) -> Layer:
    return Layer(release, space.holds[release])


@dataclass(frozen=True, eq=False)
class _Points:
    """Points of a grid at which people of some releases may be, and the values that are left to them."""

    releases: tuple[int, ...]
    cells: Integers
    left: Bits


def _by_points(
    grid: PointGrid, painted: dict[int, Bits], points: _Points, others: Sequence[int], search: ExposureSearch
) -> None:
    """Record exposures one release further, and go on from the points that are still safe."""
    for place, other in enumerate(others):
        if len(points.cells) == 0 or not search.complete:
            return
        search.effort -= 1 + len(points.cells) // POINTS_AT_ONCE
        left = points.left & painted[other][points.cells]
        sizes = np.bitwise_count(left).sum(axis=1)
        releases = (*points.releases, other)
        few = (sizes > 0) & (sizes < search.least)
        for box, values, point in grid.boxes(points.cells[few], left[few]):
            _record(grid, releases, box, values, point, search)
        safe = sizes >= search.least
        _by_points(grid, painted, _Points(releases, points.cells[safe], left[safe]), others[place + 1 :], search)


def _record(
    grid: PointGrid, releases: tuple[int, ...], box: Box, values: int, point: Sequence[int], search: ExposureSearch
) -> None:
    present = tuple(sorted(releases))
    classes = [grid.holder(_layer(grid.space, release), point, values, search.least) for release in present]
    named = tuple(number for number in classes if number is not None)
    if len(named) == len(classes):
        search.exposures.append(Exposure("intersection", present, (), named, box, values))


@dataclass(frozen=True)
class _Chain:
    """One class of each of several releases, the box they share and the values they share."""

    releases: tuple[int, ...]
    classes: tuple[int, ...]
    box: Box
    values: int


def _by_chains(space: Space, first: int, others: Sequence[int], search: ExposureSearch) -> None:
    chains = []
    for other in others:
        chains += _pairs(space, first, other, search)
    while chains and search.complete:
        chains = [longer for chain in chains for longer in _longer(space, chain, others, search)]


def _pairs(space: Space, first: int, other: int, search: ExposureSearch) -> list[_Chain]:
    """Record exposures between two releases; return the pairs of classes that are still safe."""
    common = space.common(first, other)
    fit = (_sizes(space, first) >= search.least)[:, None] & (_sizes(space, other) >= search.least)[None, :]
    meeting = np.argwhere(fit & (common > 0) & space.overlap(first, other))
    few = common[meeting[:, 0], meeting[:, 1]] < search.least
    for one, two in meeting[few].tolist():
        _judge(space, _start(space, (first, other), (one, two)), search)
    return [_start(space, (first, other), (one, two)) for one, two in meeting[~few].tolist()]


def _sizes(space: Space, release: int) -> Integers:
    sizes: Integers = (space.counts[release] > 0).sum(axis=1)
    return sizes


def _start(space: Space, releases: tuple[int, int], classes: tuple[int, int]) -> _Chain:
    box = cut(*(space.boxes[release][number] for release, number in zip(releases, classes, strict=True)))
    values = space.holds[releases[0]][classes[0]] & space.holds[releases[1]][classes[1]]
    return _Chain(releases, classes, box or (), values)


def _longer(space: Space, chain: _Chain, others: Sequence[int], search: ExposureSearch) -> list[_Chain]:
    """Record exposures one release further; return the combinations that are still safe."""
    safe = []
    for other in (release for release in others if others.index(release) > others.index(chain.releases[-1])):
        pairs = zip(chain.releases, chain.classes, strict=True)
        near = np.logical_and.reduce([space.overlap(release, other)[number] for release, number in pairs])
        for number in np.flatnonzero(near & (_sizes(space, other) >= search.least)).tolist():
            values = chain.values & space.holds[other][number]
            box = cut(chain.box, space.boxes[other][number])
            if not values or box is None or not search.complete:
                continue
            search.effort -= 1
            longer = _Chain((*chain.releases, other), (*chain.classes, number), box, values)
            if values.bit_count() >= search.least:
                safe.append(longer)
            else:
                _judge(space, longer, search)
    return safe


def _judge(space: Space, chain: _Chain, search: ExposureSearch) -> None:
    """Record an exposure if some point of the chain's box has no other class to hide in."""
    found = space.narrow([_layer(space, release) for release in chain.releases], chain.classes, chain.box, search)
    if found is not None:
        order = np.argsort(chain.releases).tolist()
        present, classes = (tuple(part[place] for place in order) for part in (chain.releases, chain.classes))
        search.exposures.append(Exposure("intersection", present, (), classes, *found))
