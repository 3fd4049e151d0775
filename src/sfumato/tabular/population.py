"""The people of a population who fit the labels of a class: what k-map, marketer's risk and δ-presence ask for.

Sweeney 2002 (k-map); Nergiz, Atzori & Clifton 2007 (δ-presence). Both tables are coded together, so that a label is the
same values in both, and a person fits a class if every value of theirs is under its label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.progress import tell
from sfumato.errors import InputError, ParameterError
from sfumato.models.base import Model
from sfumato.models.population import Population
from sfumato.schema import Kind, Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column, code
from sfumato.table.distinct import distinct
from sfumato.table.parse_report import take_in

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
SOME = 256  # classes between two words about progress
Masks = Callable[[int], Sequence[Bools]]  # of a class: which codes of each quasi-identifier its label stands for


@dataclass(frozen=True, eq=False)
class CodedPeople:
    """The distinct people of a population: a row of codes each, by quasi-identifier, and how many are alike."""

    codes: npt.NDArray[np.int32]
    counts: Int64s

    @property
    def total(self) -> int:
        """How many people there are."""
        return int(self.counts.sum())

    def fitting(self, masks: Sequence[Bools]) -> Int64s:
        """Return the distinct people whose every code is allowed."""
        fits = np.arange(len(self.counts))
        for place, mask in enumerate(masks):
            fits = fits[mask[self.codes[fits, place]]]
        return fits

    def count(self, masks: Masks, classes: int) -> tuple[Int64s, int]:
        """Return how many people fit each class, and how many fit none."""
        found, alone = np.zeros(classes, dtype=np.int64), np.ones(len(self.counts), dtype=np.bool_)
        for number in range(classes):
            fits = self.fitting(masks(number))
            found[number] = self.counts[fits].sum()
            alone[fits] = False
            if number % SOME == SOME - 1:
                tell(number / classes, f"the population is counted in {number} of {classes} classes")
        return found, int(self.counts[alone].sum())


def people_of(models: Sequence[Model]) -> Population | None:
    """Return the one population that models speak of, if any does.

    >>> from sfumato.models import KMap
    >>> people_of([KMap(2, Population("voters", 9, "ab")), KMap(2, Population("patients", 9, "cd"))])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: models speak of two populations, voters (9 rows, SHA-256 ab) and patients (9 rows, \
SHA-256 cd); give one
    """
    named = {model.people: None for model in models if model.people is not None}
    if len(named) > 1:
        first, second = (people.words for people in list(named)[:2])
        raise ParameterError(f"models speak of two populations, {first} and {second}; give one")
    return next(iter(named), None)


def code_together(table: Table, schema: Schema, population: Population) -> tuple[list[Column], CodedPeople]:
    """Return the quasi-identifiers of a table, coded together with those of its population, and the population's.

    >>> from sfumato.schema import Attribute
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER)})
    >>> voters = Population.of(Table(pl.DataFrame({"age": [30, 31, 31]})), "voters")
    >>> columns, people = code_together(Table(pl.DataFrame({"age": [31, 32]})), schema, voters)
    >>> columns[0].codes.tolist(), people.codes.tolist(), people.counts.tolist()
    ([1, 2], [[0], [1]], [1, 2])
    """
    names = schema.names(Role.QUASI)
    everybody = read_people(population, schema)
    joined = [code(_joined(table.column(name), everybody.column(name)), schema.columns[name]) for name in names]
    others = [column.codes[table.rows :] for column in joined]
    alike = distinct(others, [column.size for column in joined])
    people = CodedPeople(np.stack(others, axis=1)[alike.examples], alike.counts)
    return [replace(column, codes=column.codes[: table.rows]) for column in joined], people


def population_notes(population: Population, schema: Schema) -> list[str]:
    """Return what the steward must know of how a population was read.

    >>> from sfumato.schema import Attribute
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER)}, failed=0.5)
    >>> population_notes(Population.of(Table(pl.DataFrame({"age": ["31", "x"]})), "voters"), schema)
    ["population 'voters': 1 cell cannot be read and counts as missing"]
    """
    taken = read_people(population, schema)
    failed = 0 if taken.intake is None else taken.intake.failed_cells
    cells = "1 cell cannot be read and counts" if failed == 1 else f"{failed} cells cannot be read and count"
    told = [f"{cells} as missing"] if failed else []
    told += [] if population.table is None else [f"read as {guess}" for guess in population.table.guesses]
    return [f"population '{population.name}': {text}" for text in told]


def read_people(population: Population, schema: Schema) -> Table:
    """Return the population's quasi-identifiers, read as the schema declares them.

    >>> from sfumato.schema import Attribute
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER)})
    >>> read_people(Population("voters", 9, "ab12"), schema)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the rows of the population voters (9 rows, SHA-256 ab12) are not at hand; give its \
file
    """
    if population.table is None:
        raise ParameterError(f"the rows of the population {population.words} are not at hand; give its file")
    names = schema.names(Role.QUASI)
    lacking = [name for name in names if name not in population.table.names]
    if lacking:
        raise InputError(
            f"population '{population.name}' has no column '{lacking[0]}'; it needs every quasi-identifier under its "
            "own name"
        )
    if population.table.rows == 0:
        raise InputError(f"population '{population.name}' has no rows; give the people whom the table was taken from")
    people = replace(schema, columns={name: schema.columns[name] for name in names}, person=None)
    try:
        taken = take_in(Table(population.table.frame.select(names)), people)
        for name in names:
            code(taken.column(name), schema.columns[name])
    except InputError as error:
        raise InputError(f"population '{population.name}': {error}") from error
    return taken


def _joined(first: pl.Series, second: pl.Series) -> pl.Series:
    if first.dtype != second.dtype:
        first, second = first.cast(pl.String), second.cast(pl.String)
    return pl.concat([first, second.alias(first.name)])


class TightLabels:
    """The labels that are tight around the rows of each class, as `recode` writes them.

    >>> from sfumato.schema import Attribute
    >>> age = code(pl.Series("age", [20, 21, 23]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> TightLabels([age], np.array([0, 1, 1]))(1)[0].tolist()
    [False, True, True, True]
    """

    def __init__(self, columns: Sequence[Column], classes: Int64s) -> None:
        self.columns = columns
        order = np.argsort(classes, kind="stable")
        self.rows = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)

    def __call__(self, number: int) -> list[Bools]:
        return [tight_mask(column, column.codes[self.rows[number]]) for column in self.columns]


def tight_mask(column: Column, codes: npt.NDArray[np.int32]) -> Bools:
    """Return which codes the tight label of some codes stands for: a set, a range, a node, or everything.

    >>> from sfumato.schema import Attribute
    >>> sex = code(pl.Series("sex", ["F", "M", "X"]), Attribute("sex", Role.QUASI, Kind.CATEGORY))
    >>> tight_mask(sex, np.array([0, 2], dtype=np.int32)).tolist()
    [True, False, True]
    """
    mask = np.zeros(column.size, dtype=np.bool_)
    mask[codes] = True
    shift = int(column.has_missing)
    known = codes[codes >= shift]
    missing = bool(column.has_missing and len(known) < len(codes))
    hierarchy = column.attribute.hierarchy
    if not len(known) or (hierarchy is None and column.kind is Kind.CATEGORY):
        return mask
    low, high = int(known.min()), int(known.max())
    if hierarchy is not None and not missing:
        low, high = (end + shift for end in _node(column, low - shift, high - shift))
    elif missing if hierarchy is not None else column.kind is Kind.TEXT and (low < high or missing):
        return np.ones(column.size, dtype=np.bool_)
    mask[low : high + 1] = True
    return mask


def _node(column: Column, low: int, high: int) -> tuple[int, int]:
    """Return the first and last leaf of the smallest node that has both leaves under it."""
    if low == high or column.attribute.hierarchy is None:
        return low, high
    around = (
        (last - first, first, last - 1)
        for _, _, first, last in column.attribute.hierarchy.nodes()
        if first <= low and high < last
    )
    _, first, last = min(around)
    return first, last
