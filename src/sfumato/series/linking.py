"""The linking attack: where releases carry a person's pseudonym, the person's boxes shrink to what they share.

The generalised rows of one pseudonym are cut with each other, and people who were not in the same releases
fall away; both follow from the candidate-set argument of Xiao & Tao 2007.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from sfumato.series.space import Box, Exposure, ExposureSearch, Space, cut, find_uncovered


@dataclass
class Linked:
    """The people whose linked rows share one box and the same releases: their pseudonyms, values and classes."""

    classes: tuple[int, ...]
    persons: list[str] = field(default_factory=list)
    values: int = 0


def linkings(space: Space, persons: Sequence[pl.Series], values: Sequence[pl.Series], search: ExposureSearch) -> None:
    """Record what people lose whose pseudonyms are published, row by row."""
    for present, boxes in _patterns(space, persons, values).items():
        by_class: dict[int, list[tuple[int, Box, int]]] = defaultdict(list)
        for box, linked in boxes.items():
            by_class[linked.classes[0]].append((0, box, linked.values))
        for box, linked in boxes.items():
            if linked.values.bit_count() >= search.least or not _safe_alone(space, present, linked, search.least):
                continue
            near = space.overlap(present[0], present[0])[linked.classes[0]].nonzero()[0].tolist()
            found = find_uncovered(box, [0], [entry for number in near for entry in by_class[number]], search)
            if found is not None:
                absent = tuple(release for release in range(len(persons)) if release not in present)
                search.exposures.append(
                    Exposure("linking", present, absent, linked.classes, *found, persons=tuple(linked.persons))
                )


def _patterns(
    space: Space, persons: Sequence[pl.Series], values: Sequence[pl.Series]
) -> Mapping[tuple[int, ...], dict[Box, Linked]]:
    """Return people by the releases they are in and the box that their linked rows share."""
    bits = {value: 1 << place for place, value in enumerate(space.values)}
    classes: dict[str, dict[int, int]] = defaultdict(dict)
    holds: dict[str, int] = defaultdict(int)
    for release, (names, shown) in enumerate(zip(persons, values, strict=True)):
        numbers = space.releases[release].rows.tolist()
        for name, value, number in zip(names.to_list(), shown.to_list(), numbers, strict=True):
            classes[name][release] = number
            holds[name] |= bits[value]
    patterns: dict[tuple[int, ...], dict[Box, Linked]] = defaultdict(dict)
    for name, numbers in classes.items():
        box: Box | None = space.boxes[next(iter(numbers))][next(iter(numbers.values()))]
        for release, number in numbers.items():
            box = None if box is None else cut(box, space.boxes[release][number])
        if box is not None:
            linked = patterns[tuple(numbers)].setdefault(box, Linked(tuple(numbers.values())))
            linked.persons.append(name)
            linked.values |= holds[name]
    return patterns


def _safe_alone(space: Space, present: tuple[int, ...], linked: Linked, least: int) -> bool:
    pairs = zip(present, linked.classes, strict=True)
    return all(space.holds[release][number].bit_count() >= least for release, number in pairs)
