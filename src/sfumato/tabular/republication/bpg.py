"""Classes of a new release repaired until no attack on the whole series finds anybody in it.

The layer of Barbosa, Pinto & Gomes 2012 (BPG), as chapter 2 of Pereira 2014 describes it: compare with all
earlier releases, merge the classes that would expose somebody, leave out what merging cannot repair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from sfumato.schema import Role, Schema
from sfumato.series.difference import differences, newcomers
from sfumato.series.intersection import intersections
from sfumato.series.published import PublishedClasses
from sfumato.series.space import Exposure, ExposureSearch, Space, supports
from sfumato.tabular.republication.draft import Draft, Integers, coded_values


@dataclass(frozen=True, eq=False)
class Series:
    """The earlier releases by sensitive column, and how many values of it every person must be left with."""

    schema: Schema
    least: Mapping[str, int]
    earlier: Mapping[str, Sequence[PublishedClasses]]
    releases: int

    @classmethod
    def of(cls, tables: Sequence[pl.DataFrame], schema: Schema, least: Mapping[str, int]) -> Series:
        """Return the series of earlier released tables."""
        quasi = schema.names(Role.QUASI)
        earlier = {name: [PublishedClasses.of(table, quasi, name) for table in tables] for name in least}
        return cls(schema, least, earlier, len(tables))

    def space(self, name: str, new: PublishedClasses) -> Space:
        """Return all releases with one sensitive column, the new one last."""
        return Space(self.schema.names(Role.QUASI), [*self.earlier[name], new], self.schema.columns)

    def find_exposures(self, name: str, frame: pl.DataFrame) -> ExposureSearch:
        """Return what the attacks find when a finished table is laid beside the earlier ones."""
        new = PublishedClasses.of(frame, self.schema.names(Role.QUASI), name)
        return exposures(self.space(name, new), self.least[name])


def exposures(space: Space, least: int) -> ExposureSearch:
    """Return what the last release of a space gives away together with the ones before it."""
    last = len(space.releases) - 1
    search = ExposureSearch(least)
    intersections(space, last, range(last), search)
    for other in range(last):
        differences(space, last, other, search)
        differences(space, other, last, search)
    return search


def repair(draft: Draft, series: Series, *, whole: bool) -> Draft:
    """Return a draft whose release exposes nobody; with `whole`, classes are left out whole or not at all.

    Every round merges two classes or leaves out a row at least, so there is a last one.
    """
    coded = {name: coded_values(draft.problem.table.column(name)) for name in series.least}
    draft = merge_failing(draft)
    while draft.count:
        round_ = Round(draft, whole=whole)
        for name, least in series.least.items():
            space = series.space(name, draft.published_classes(coded[name]))
            for exposure in exposures(space, least).exposures:
                round_.answer(space, exposure, coded[name][1], least)
        if not round_.touched:
            return draft
        draft = round_.result()
    return draft


def merge_failing(draft: Draft) -> Draft:
    """Return a draft whose classes satisfy every model: groups that were made for m alone may not."""
    if not draft.problem.uncompiled:
        return draft
    failing = {number for number in range(draft.count) if not draft.satisfies(np.flatnonzero(draft.classes == number))}
    return Round(draft, whole=True, touched=failing).result() if failing else draft


@dataclass(eq=False)
class Round:
    """One round of repairs: each class is merged or thinned at most once, then all are looked at again."""

    draft: Draft
    whole: bool
    touched: set[int] = field(default_factory=set)
    classes: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.classes = self.draft.classes.copy()

    def answer(self, space: Space, exposure: Exposure, codes: Integers, least: int) -> None:
        """Merge or thin the class of the new release that an exposure was drawn from."""
        last = len(space.releases) - 1
        if exposure.attack == "intersection":
            self._widen(space, exposure, codes)
        elif exposure.present == (last,):
            self._hide_newcomers(space, exposure, codes)
        else:
            self._hide_leavers(space, exposure, codes, least)

    def _widen(self, space: Space, exposure: Exposure, codes: Integers) -> None:
        """Merge with the nearest class that has further values of the earlier classes; else leave the values out."""
        number, last = exposure.classes[-1], len(space.releases) - 1
        possible = -1
        for release, other in zip(exposure.present[:-1], exposure.classes[:-1], strict=True):
            possible &= space.holds[release][other]
        wanted = possible & ~exposure.values
        partners = [other for other, holds in enumerate(space.holds[last]) if holds & wanted]
        shown = self._places(space, last, possible & space.holds[last][number])
        self._merge_or_thin(number, partners, [(value, None) for value in shown], codes)

    def _hide_newcomers(self, space: Space, exposure: Exposure, codes: Integers) -> None:
        """Merge with the nearest class that has other newcomers; else leave the newcomers out for now."""
        number, last = exposure.classes[0], len(space.releases) - 1
        new = newcomers(space, last, exposure.absent[0])
        left = supports(new)
        partners = [other for other, values in enumerate(left) if values & ~left[number]]
        counts = {place: int(new[number, place]) for place in np.flatnonzero(new[number]).tolist()}
        places = dict(zip(counts, self._places(space, last, left[number]), strict=True))
        self._merge_or_thin(number, partners, [(places[place], counts[place]) for place in counts], codes)

    def _hide_leavers(self, space: Space, exposure: Exposure, codes: Integers, least: int) -> None:
        """Leave out one row more of other values, so that those who left are not the only ones gone.

        The row must come from a class that surely holds people of the exposed one, if there is such a class.
        """
        last = len(space.releases) - 1
        overlap = space.overlap(exposure.present[0], last)
        near = np.flatnonzero(overlap[exposure.classes[0]])
        surely = near[overlap[:, near].sum(axis=0) == 1]
        numbers = (surely if len(surely) else near).tolist()
        if self.touched.intersection(numbers):
            return  # look again in the next round
        for number in numbers:
            others = self._places(space, last, space.holds[last][number] & ~exposure.values)
            if others:
                chosen = others[: max(1, least - exposure.size)]
                self._merge_or_thin(number, [], [(value, 1) for value in chosen], codes)
                return
        for number in numbers:
            self._merge_or_thin(number, [], [], codes)

    def _places(self, space: Space, last: int, values: int) -> list[int]:
        """Return the new release's own numbers of sensitive values given as bits."""
        own = {word: place for place, word in enumerate(space.releases[last].values)}
        return [own[word] for word in space.words(values) if word in own]

    def _merge_or_thin(
        self, number: int, partners: list[int], shown: list[tuple[int, int | None]], codes: Integers
    ) -> None:
        if number in self.touched:
            return
        partner = self.draft.nearest(number, partners)
        self.touched.add(number)
        if partner is not None:
            self.touched.add(partner)
            self._merge(number, partner)
            return
        rows = np.flatnonzero(self.draft.classes == number)
        out = [] if self.whole else [rows[codes[rows] == value][-(count or 0) :] for value, count in shown]
        self.classes[np.concatenate(out) if out else rows] = -1

    def _merge(self, number: int, partner: int) -> None:
        """Give two classes, with all that was merged into them, one number."""
        numbers = [self.classes[(self.draft.classes == one) & (self.classes >= 0)][:1] for one in (number, partner)]
        if all(len(found) for found in numbers):
            self.classes[self.classes == numbers[0][0]] = numbers[1][0]

    def result(self) -> Draft:
        """Return the next draft: a class that no longer satisfies a model joins its nearest one, or goes."""
        self.draft.join_failing(self.classes, self.touched)
        return Draft.of(self.draft.problem, self.classes)
