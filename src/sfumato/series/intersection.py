"""The intersection attack: a person in several releases has a value that all of the person's classes share.

Chapter 2 of Pereira 2014 (the case of Mário); Xiao & Tao 2007 call what is left the person's candidate values.
Every pair of releases is compared, then ever longer combinations, up to a limit that the answer reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.series.exposure import Box, Exposure
from sfumato.series.space import Integers, Layer, Space, cut

LIMIT = 200_000


@dataclass(frozen=True)
class Chain:
    """One class of each of several releases, the box they share and the values they share."""

    releases: tuple[int, ...]
    classes: tuple[int, ...]
    box: Box
    values: int


@dataclass
class Search:
    """The exposures found and whether all combinations were looked at.

    >>> Search(2).complete
    True
    """

    least: int
    exposures: list[Exposure] = field(default_factory=list)
    seen: int = 0

    @property
    def complete(self) -> bool:
        """Whether no combination was left out."""
        return self.seen < LIMIT


def intersections(space: Space, first: int, others: Sequence[int], least: int) -> Search:
    """Return what people in release `first` and any of the `others` lose: fewer than `least` values left.

    A class that shows fewer than `least` values by itself is left to the audit of single releases.
    """
    search = Search(least)
    chains = []
    for other in others:
        chains += _pairs(space, first, other, search)
    while chains and search.complete:
        chains = [longer for chain in chains for longer in _longer(space, chain, others, search)]
    return search


def _pairs(space: Space, first: int, other: int, search: Search) -> list[Chain]:
    """Record exposures between two releases; return the pairs of classes that are still safe."""
    common = space.common(first, other)
    sizes = [_sizes(space, release) for release in (first, other)]
    fit = (sizes[0] >= search.least)[:, None] & (sizes[1] >= search.least)[None, :]
    meeting = np.argwhere(fit & (common > 0) & space.overlap(first, other))
    few = common[meeting[:, 0], meeting[:, 1]] < search.least
    for one, two in meeting[few].tolist():
        _judge(space, _start(space, (first, other), (one, two)), search)
    return [_start(space, (first, other), (one, two)) for one, two in meeting[~few].tolist()]


def _sizes(space: Space, release: int) -> Integers:
    sizes: Integers = (space.counts[release] > 0).sum(axis=1)
    return sizes


def _start(space: Space, releases: tuple[int, int], classes: tuple[int, int]) -> Chain:
    box = cut(*(space.boxes[release][number] for release, number in zip(releases, classes, strict=True)))
    values = space.holds[releases[0]][classes[0]] & space.holds[releases[1]][classes[1]]
    return Chain(releases, classes, box or (), values)


def _longer(space: Space, chain: Chain, others: Sequence[int], search: Search) -> list[Chain]:
    """Record exposures one release further; return the combinations that are still safe."""
    safe = []
    for other in (release for release in others if others.index(release) > others.index(chain.releases[-1])):
        near = np.logical_and.reduce(
            [
                space.overlap(release, other)[number]
                for release, number in zip(chain.releases, chain.classes, strict=True)
            ]
        )
        for number in np.flatnonzero(near & (_sizes(space, other) >= search.least)).tolist():
            values = chain.values & space.holds[other][number]
            box = cut(chain.box, space.boxes[other][number])
            if not values or box is None or not search.complete:
                continue
            search.seen += 1
            longer = Chain((*chain.releases, other), (*chain.classes, number), box, values)
            if values.bit_count() >= search.least:
                safe.append(longer)
            else:
                _judge(space, longer, search)
    return safe


def _judge(space: Space, chain: Chain, search: Search) -> None:
    """Record an exposure if some point of the chain's box has no other class to hide in."""
    layers = [Layer(release, space.holds[release]) for release in chain.releases]
    found = space.narrow(layers, chain.classes, chain.box, search.least)
    if found is not None:
        order = np.argsort(chain.releases).tolist()
        search.exposures.append(
            Exposure(
                "intersection",
                present=tuple(chain.releases[place] for place in order),
                absent=(),
                classes=tuple(chain.classes[place] for place in order),
                box=found[0],
                values=found[1],
            )
        )
