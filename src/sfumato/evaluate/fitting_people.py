"""How many people of a population fit the labels of each class, read from the released texts alone.

The anonymizers count them by codes, so this is a second opinion (El Emam & Dankar 2008 call such a match a link).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.evaluate.regions import Regions, exact_regions, read_regions
from sfumato.models.population import Population
from sfumato.schema import Attribute, Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column, code
from sfumato.table.distinct import distinct
from sfumato.tabular.population import CodedPeople, read_people

Bools = npt.NDArray[np.bool_]


def people_fitting(
    classes: Table, quasi: Sequence[str], schema: Schema | None, population: Population
) -> tuple[npt.NDArray[np.int64], int]:
    """Return how many people fit each row of `classes`, one for each class, and how many fit none.

    >>> import polars as pl
    >>> town = Population.of(Table(pl.DataFrame({"age": [20, 31, 35, 70]})), "town")
    >>> counts, alone = people_fitting(Table(pl.DataFrame({"age": ["[30-39]", "70"]})), ["age"], None, town)
    >>> counts.tolist(), alone
    ([2, 1], 1)
    """
    declared = {} if schema is None else schema.columns
    plain = Schema({name: declared.get(name, Attribute(name, Role.QUASI)) for name in quasi}, other="drop")
    known = population.table if population.table is None else Table(population.table.frame)
    settled = plain if known is None else plain.settled(known)
    people = read_people(population, settled)
    columns = [code(people.column(name), settled.columns[name]) for name in quasi]
    alike = distinct([column.codes for column in columns], [column.size for column in columns])
    crowd = CodedPeople(np.stack([column.codes[alike.examples] for column in columns], axis=1), alike.counts)
    shown = [_read_labels(column, classes, plain.columns[column.name], population) for column in columns]
    places = [exact_regions(column) for column in columns]
    masks = [
        [_under(regions, number, place) for number in range(regions.count)]
        for regions, place in zip(shown, places, strict=True)
    ]
    return crowd.count(
        lambda row: [found[int(regions.index[row])] for found, regions in zip(masks, shown, strict=True)], classes.rows
    )


def _read_labels(column: Column, classes: Table, declared: Attribute, population: Population) -> Regions:
    """Return what a column of the release stands for among the values of the population's."""
    try:
        return read_regions(column, classes)
    except InputError as error:
        if declared.kind is not None or declared.hierarchy is not None:
            raise
        raise InputError(
            f"{error}, as in column '{column.name}' of population '{population.name}', whose type "
            f"({column.kind.value}) was guessed; declare the column with --schema"
        ) from error


def _under(regions: Regions, number: int, places: Regions) -> Bools:
    """Return which codes of a column, given as regions of one place each, lie in a region."""
    inside: Bools = places.missing & regions.missing[number]
    known = np.flatnonzero(~places.missing)
    for run in range(regions.starts[number], regions.starts[number + 1]):
        inside[known] |= (places.low >= regions.low[run]) & (places.high <= regions.high[run])
    return inside
