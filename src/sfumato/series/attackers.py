"""What an attacker on a series knows of the people: everybody, one person, or of nobody whether they are there.

The first is the attacker of Xiao & Tao 2007, the second that of chapter 2 of Pereira 2014; both know quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from sfumato.core.cells import column_text
from sfumato.core.progress import tell
from sfumato.schema import Attribute
from sfumato.series.cells import ABSENT, Cells, ClassCounts, Integers, Places
from sfumato.series.possible import PossibleValues
from sfumato.series.published import PublishedClasses
from sfumato.series.signatures import exchangeable
from sfumato.series.space import counts_of
from sfumato.series.whereabouts import possible_classes

Attacker = Literal["everyone", "one-person", "nobody"]
ENTANGLED = 2_000  # pairs of a cell and a class that it may be in; from here on exchanges are looked for first
KNOWS: Mapping[str, str] = {
    "everyone": "knows everybody's quasi-identifiers and in which releases each person is",
    "one-person": "knows one person's quasi-identifiers and in which releases that person is, and nobody else",
    "nobody": "knows everybody's quasi-identifiers, and of nobody in which releases they are",
}


@dataclass(frozen=True, eq=False)
class Known:
    """The people whom an attacker knows: a name for each, and for each release the classes that each may be in.

    `there` counts those who were in each original table and fit a class. A person with several rows is one name for
    each of them (`unlinked` counts such persons), since nobody says which row of one release is which of another.
    `nobody` counts the rows of each release that its card says belong to nobody. `own` are the values that everybody
    has in truth, by column, where the tables tell: no attacker knows them, but they save the audit much work.
    """

    attacker: Attacker
    names: Sequence[str]
    places: Sequence[Places]
    there: Sequence[int]
    unlinked: int = 0
    nobody: Sequence[int] = ()
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        attacker: Attacker,
        people: Sequence[pl.DataFrame],
        person: str,
        releases: Sequence[PublishedClasses],
        columns: Mapping[str, Attribute],
        *,
        nobody: Sequence[int] = (),
        sensitive: Sequence[str] = (),
    ) -> Known:
        """Return the people of original tables, one for each release, and the classes whose cells they fit.

        `columns` are the quasi-identifiers in the order of the published ones.
        """
        units, unlinked = _units(people, person)
        names = units if attacker != "nobody" else [pl.concat(units).unique(maintain_order=True)] * len(units)
        everybody = pl.concat(names).unique(maintain_order=True).to_list()
        found: list[Places] = []
        there = []
        for number, release in enumerate(releases):
            tell(0.02, f"finding {len(names[number])} people in release {number + 1}")
            rows = _rows(people, units, number, names[number], list(columns))
            places = dict(zip(names[number].to_list(), possible_classes(rows, release, columns), strict=True))
            there.append(sum(bool(places[name]) for name in units[number].to_list()))
            found.append([places.get(name, ABSENT) for name in everybody])
        own = {name: _own(people, units, everybody, name) for name in sensitive}
        told = {name: values for name, values in own.items() if values is not None}
        return cls(attacker, everybody, found, there, unlinked, nobody or [0] * len(releases), told)

    def cells(self, counts: Sequence[Integers]) -> Cells:
        """Return the cells of people as the attacker sees them, given the published counts of each release."""
        shown = [int(one.sum()) - none for one, none in zip(counts, self.nobody, strict=True)]
        added = any(rows > fit for rows, fit in zip(shown, self.there, strict=True))  # more of nobody than told
        known = self.attacker == "everyone" and not added
        releases = [
            ClassCounts(one, self.attacker == "one-person" or (known and rows == fit), not (added or none))
            for one, rows, fit, none in zip(counts, shown, self.there, self.nobody, strict=True)
        ]
        return Cells.of(releases, self.places)


def _units(people: Sequence[pl.DataFrame], person: str) -> tuple[list[pl.Series], int]:
    """Return a name for every row, the person's own where one row of each table has it, and the number of others."""
    named = [frame.get_column(person).cast(pl.String).fill_null("") for frame in people]
    twice = pl.concat([names.filter(names.is_duplicated()) for names in named]).unique()
    units = []
    for number, names in enumerate(named):
        rows = pl.Series([f" (release {number + 1}, row {row + 1})" for row in range(len(names))], dtype=pl.String)
        units.append(pl.select(pl.when(names.is_in(twice.implode())).then(names + rows).otherwise(names)).to_series())
    return units, len(twice)


def _rows(
    people: Sequence[pl.DataFrame], units: Sequence[pl.Series], number: int, names: pl.Series, columns: Sequence[str]
) -> pl.DataFrame:
    """Return a row for each name: the one in a table of that number, else the person's in any other."""
    order = [number, *(other for other in range(len(people)) if other != number)]
    texts = [people[one].select(pl.col(columns).cast(pl.String)).with_columns(unit=units[one]) for one in order]
    known = pl.concat(texts).unique("unit", keep="first", maintain_order=True)
    return names.alias("unit").to_frame().join(known, on="unit", how="left", maintain_order="left")


def _own(
    people: Sequence[pl.DataFrame], units: Sequence[pl.Series], everybody: Sequence[str], name: str
) -> list[str] | None:
    """Return everybody's value of a column, or None where a table does not tell or somebody has two."""
    if not all(name in frame.columns for frame in people):
        return None
    pairs = zip(people, units, strict=True)
    told = pl.concat([pl.DataFrame({"unit": unit, "value": column_text(frame, name)}) for frame, unit in pairs])
    values = dict(told.unique().iter_rows())
    return [values[one] for one in everybody] if len(told.unique()) == len(values) else None


def possible_for(
    known: Known, releases: Sequence[PublishedClasses], name: str = "", least: int = 2, records: int | None = None
) -> PossibleValues:
    """Return the values that a series leaves the people whom an attacker knows.

    Where classes overlap much, values of column `name` that people can exchange are found first; whoever has `least` of
    them (and `records`) is not asked about further.

    >>> from sfumato.schema import Role
    >>> first = pl.DataFrame({"age": ["[20-30]"] * 2, "ill": ["a", "b"]})
    >>> second = pl.DataFrame({"age": ["25"], "ill": ["b"]})
    >>> people = [pl.DataFrame({"id": ["p", "q"], "age": [20, 25]}), pl.DataFrame({"id": ["q"], "age": [25]})]
    >>> published = [PublishedClasses.of(table, ["age"], "ill") for table in (first, second)]
    >>> known = Known.of("one-person", people, "id", published, {"age": Attribute("age", Role.QUASI)})
    >>> possible_for(known, published).possible.sum(axis=1).tolist()
    [2, 1]
    >>> known = Known.of("everyone", people, "id", published, {"age": Attribute("age", Role.QUASI)})
    >>> possible_for(known, published).possible.sum(axis=1).tolist()
    [1, 1]
    """
    words, counts = counts_of(releases)
    cells = known.cells(counts)
    if known.attacker == "one-person":
        return PossibleValues.alone(cells, words)
    own = _own_counts(known, cells, words, name)
    if own is None:
        return PossibleValues.of(cells, words)
    proven = exchangeable(cells, own, least)
    candidates = PossibleValues(cells, words).records(proven)
    enough = (proven.sum(axis=1) >= least) & (candidates >= (records or 0))
    found = PossibleValues.of(cells, words, known=proven | enough[:, None])
    found.left = np.where(enough, proven.sum(axis=1), found.left)
    found.candidates = np.where(enough, candidates, found.candidates)
    return found


def _own_counts(known: Known, cells: Cells, words: Sequence[str], name: str) -> Integers | None:
    """Return how many people of each cell have each value, where it helps: everybody is there, classes overlap."""
    entangled = sum(len(place) for places in cells.places for place in places if len(place) > 1)
    own, places = known.own.get(name), {word: place for place, word in enumerate(words)}
    if own is None or entangled < ENTANGLED or not all(release.certain for release in cells.releases):
        return None
    if not places.keys() >= set(own):
        return None
    counts = np.zeros((cells.count, len(words)), dtype=np.int64)
    np.add.at(counts, (cells.members, np.array([places[word] for word in own], dtype=np.int64)), 1)
    return counts
