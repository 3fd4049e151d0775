"""Small random series of releases, and everything that agrees with them, by trying all assignments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from sfumato.series.cells import Cells, ClassCounts, Integers

Place = tuple[int, ...]


@dataclass(frozen=True)
class SmallSeries:
    """What is published of a few people: the counts of each release, and where each person may be."""

    counts: list[Integers]
    places: list[list[Place]]
    certain: bool = True
    nobody: tuple[int, ...] = ()  # rows of each release that belong to nobody

    @property
    def people(self) -> int:
        return len(self.places[0])

    @property
    def values(self) -> int:
        return int(self.counts[0].shape[1])

    @property
    def cells(self) -> Cells:
        whole = [not rows for rows in self.nobody] or [True] * len(self.counts)
        pairs = zip(self.counts, whole, strict=True)
        return Cells.of([ClassCounts(one, self.certain, none) for one, none in pairs], self.places)

    def placements(self, release: int) -> Iterator[tuple[int | None, ...]]:
        """Yield every way in which the people may be in the classes of a release; None is absent."""
        ways = [
            [*place, *([] if self.certain and place else [None])] if place else [None] for place in self.places[release]
        ]
        yield from product(*ways)

    def shows(self, release: int, placement: tuple[int | None, ...], values: tuple[int, ...]) -> bool:
        """Return whether people with these values in these classes make the published counts."""
        counts = np.zeros_like(self.counts[release])
        for place, value in zip(placement, values, strict=True):
            if place is not None:
                counts[place, value] += 1
        rest = self.counts[release] - counts
        return bool((rest >= 0).all()) and int(rest.sum()) == (self.nobody[release] if self.nobody else 0)


def random_series(rng: np.random.Generator, *, overlapping: bool = False, certain: bool = True) -> SmallSeries:
    """Return a series of releases in which nobody's value changes."""
    people, values, releases = rng.integers(2, [6, 4, 4]).tolist()
    own = [int(rng.integers(values)) for _ in range(people)]
    counts, places = [], []
    for _ in range(releases):
        classes = int(rng.integers(1, 4))
        true = [int(rng.integers(classes)) if rng.random() < 0.8 else None for _ in range(people)]
        counts.append(count(true, own, classes, values))
        shown: list[Place] = [() if place is None else (place,) for place in true]
        if overlapping:
            shown = [tuple(sorted({*place, int(rng.integers(classes))})) if place else place for place in shown]
        if not certain:
            shown = [place or (int(rng.integers(classes)),) for place in shown]
        places.append(shown)
    return SmallSeries(counts, places, certain)


def counterfeit_series(rng: np.random.Generator, *, overlapping: bool = False) -> SmallSeries:
    """Return a series with up to two rows of nobody in each release, in any class and of any value."""
    series = random_series(rng, overlapping=overlapping)
    nobody = tuple(rng.integers(3, size=len(series.counts)).tolist())
    for counts, rows in zip(series.counts, nobody, strict=True):
        for _ in range(rows):
            counts[rng.integers(len(counts)), rng.integers(series.values)] += 1
    return replace(series, nobody=nobody)


def changing_series(rng: np.random.Generator) -> SmallSeries:
    """Return a series in which one value changes: one person's, from one release on."""
    people, values = rng.integers(2, [5, 4]).tolist()
    own = [int(rng.integers(values)) for _ in range(people)]
    counts, places = [], []
    for release in range(2):
        classes = int(rng.integers(1, 3))
        if release:
            own[0] = (own[0] + 1) % values
        true = [int(rng.integers(classes)) if rng.random() < 0.9 else None for _ in range(people)]
        counts.append(count(true, own, classes, values))
        shown: list[Place] = [() if place is None else (place,) for place in true]
        places.append(shown)
    return SmallSeries(counts, places)


def count(places: list[int | None], own: list[int], classes: int, values: int) -> Integers:
    counts = np.zeros((classes, values), dtype=np.int64)
    for place, value in zip(places, own, strict=True):
        if place is not None:
            counts[place, value] += 1
    return counts


def worlds(series: SmallSeries) -> list[set[int]]:
    """Return the values that each person has in some assignment of unchanging values that agrees with all releases."""
    found: list[set[int]] = [set() for _ in range(series.people)]
    for values in product(range(series.values), repeat=series.people):
        agreeing = [
            [way for way in series.placements(release) if series.shows(release, way, values)]
            for release in range(len(series.counts))
        ]
        if all(agreeing):
            for person, value in enumerate(values):
                if any(way[person] is not None for ways in agreeing for way in ways):
                    found[person].add(value)
    return found


def changed_worlds(series: SmallSeries) -> list[set[int]]:
    """Return the values that people show in assignments with the fewest changes, one value for each release."""
    each = [
        [values for values in product(range(series.values), repeat=series.people) if series.shows(release, way, values)]
        for release in range(len(series.counts))
        for way in series.placements(release)
    ]
    least, found = 10**9, [set[int]() for _ in range(series.people)]
    for world in product(*each):
        shown = [
            [values[person] for release, values in enumerate(world) if series.places[release][person]]
            for person in range(series.people)
        ]
        changes = sum(len(one) - max((one.count(value) for value in one), default=0) for one in shown)
        if changes < least:
            least, found = changes, [set() for _ in range(series.people)]
        if changes == least:
            for person, values in enumerate(shown):
                found[person] |= set(values)
    return found
