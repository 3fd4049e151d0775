"""All risks of a table in the population it was sampled from, for the steward alone.

The measures are those that statistical offices publish by (Hundepool et al. 2012, *Statistical Disclosure Control*,
chapter 3): the risk of each row, how many rows are found again, population uniques, special uniques, households. They
are computed from raw or released rows as the cells are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import polars as pl

from sfumato.core.display import as_html, one_line
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.check import as_written, class_columns
from sfumato.evaluate.population.design import SamplingDesign, number_households, read_weights
from sfumato.evaluate.population.household import HouseholdRisk, household_risks, summarise_households
from sfumato.evaluate.population.intrusion import chance_of_correct_match, match_interval
from sfumato.evaluate.population.reidentified import (
    RowsFoundAgain,
    classic_risks,
    classic_total,
    unseen_risks,
    unseen_total,
)
from sfumato.evaluate.population.sampled import Floats, Int64s, SampledClasses
from sfumato.evaluate.population.suda import (
    SpecialUniques,
    UniqueSets,
    dis_suda,
    largest_size,
    suda_scores,
    summarise,
)
from sfumato.evaluate.population.uniques import PopulationUniques, estimate_uniques
from sfumato.evaluate.starred import starred_cells, starred_words
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.coded import spread
from sfumato.table.distinct import distinct

STEWARD_ONLY = "for the steward only: do not publish"


class CorrectMatch(msgspec.Struct, frozen=True):
    """The chance that a match with a unique row is right, with its 95 % interval (Skinner & Elliot 2002).

    >>> CorrectMatch(0.2, 0.15, 0.26).chance
    0.2
    """

    chance: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class PopulationRisk:
    """The risks of a table in its population; `each` has those of every row, in the table's order.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> found = population_risk(people, ["age", "sex", "zip"], fraction=0.05)
    >>> found.population, found.each.columns
    (4000.0, ['class_size', 'population_size', 'risk', 'pitman_risk', 'suda', 'dis_suda'])
    """

    rows: int
    classes: int
    uniques: int
    starred: int
    population: float
    found_again: list[RowsFoundAgain]
    population_uniques: PopulationUniques
    correct_match: CorrectMatch
    special_uniques: SpecialUniques
    household: HouseholdRisk | None
    notes: list[str]
    each: pl.DataFrame = field(repr=False)

    @property
    def fraction(self) -> float:
        """The share of the population that the table holds."""
        return self.rows / self.population

    def _facts(self) -> dict[str, object]:
        classic, choice = self.found_again[0], self.population_uniques.choice
        return {
            "rows": self.rows,
            "population": f"{self.population:,.0f}",
            "unique rows": self.uniques,
            "expected to be found again": f"{classic.expected:,.1f}",
            "population uniques": f"{choice.value:,.0f} ({choice.estimator})",
            "keep": STEWARD_ONLY,
        }

    def __repr__(self) -> str:
        return one_line("PopulationRisk", self._facts())

    def _repr_html_(self) -> str:
        return as_html("PopulationRisk", self._facts())

    def as_json(self) -> dict[str, Any]:
        """Return everything but the risks of single rows as plain data."""
        names = [name for name in self.__dataclass_fields__ if name != "each"]
        plain = {name: msgspec.to_builtins(getattr(self, name)) for name in names}
        return {"keep": STEWARD_ONLY, **plain, "fraction": self.fraction}


def population_risk(
    table: Table,
    quasi: Sequence[str],
    *,
    fraction: float | None = None,
    weights: str | None = None,
    household: str | None = None,
    largest: int | None = None,
    schema: Schema | None = None,
) -> PopulationRisk:
    """Return the risks of a table that is a sample, given by its `fraction` or by a column of `weights`.

    Rows share a key when their quasi-identifiers are written alike; `*` is a value like any other. `household` names
    the column that tells households apart, and `largest` bounds the sets of columns that are tried for special uniques.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> found = population_risk(people, ["sex"], fraction=0.05)
    >>> found.uniques, found.population_uniques.choice.value, round(found.found_again[0].expected, 2)
    (0, 0.0, 0.1)
    """
    keys = _Keys.of(table, quasi)
    stated = None if weights is None else read_weights(table, weights, schema)
    design = SamplingDesign.of(keys.classes, fraction, stated)
    sizes = np.bincount(keys.classes).astype(np.float64)
    sample = SampledClasses.of(sizes.astype(np.int64), design.population)
    match = CorrectMatch(chance_of_correct_match(sample), *(match_interval(sample) or (None, None)))
    special, scored = keys.special_uniques(match.chance, largest)
    each = _row_risks(keys.classes, sizes, design, sample)
    homes = None if household is None else _households(each, number_households(table, household, schema))
    starred = int(starred_cells(table, keys.written).sum())
    return PopulationRisk(
        rows=table.rows,
        classes=len(sizes),
        uniques=int(sample.uniques),
        starred=starred,
        population=design.population,
        found_again=[classic_total(sizes, design.shares), unseen_total(sizes, design.shares, sample)],
        population_uniques=estimate_uniques(sample),
        correct_match=match,
        special_uniques=special,
        household=homes,
        notes=[note for note in (*design.notes, starred_words(starred)) if note],
        each=pl.DataFrame({**each, **scored}),
    )


def _row_risks(classes: Int64s, sizes: Floats, design: SamplingDesign, sample: SampledClasses) -> dict[str, Any]:
    """Return the columns of every row's class and risks; nulls where Pitman's formula cannot be fitted."""
    unseen = unseen_risks(sizes, design.shares, sample)
    return {
        "class_size": sizes[classes].astype(np.int64),
        "population_size": (sizes / design.shares)[classes],
        "risk": classic_risks(sizes, design.shares)[classes],
        "pitman_risk": pl.repeat(None, len(classes), dtype=pl.Float64, eager=True)
        if unseen is None
        else unseen[classes],
    }


def _households(each: dict[str, Any], households: Int64s) -> HouseholdRisk:
    """Return the summary of the households' risks, and add them to the columns of every row."""
    classic = household_risks(each["risk"], households)
    unseen = each["pitman_risk"]
    fitted = household_risks(unseen, households) if isinstance(unseen, np.ndarray) else None
    each["household_risk"] = classic
    each["household_pitman_risk"] = unseen if fitted is None else fitted
    return summarise_households(classic, households, fitted)


@dataclass(frozen=True, eq=False)
class _Keys:
    """The quasi-identifiers of a table as codes, and the class of each row."""

    names: Sequence[str]
    codes: list[Int64s]
    stars: list[Any]
    classes: Int64s
    written: list[str]

    @classmethod
    def of(cls, table: Table, quasi: Sequence[str]) -> _Keys:
        if table.rows == 0:
            raise InputError("the table has no rows; there is nothing to measure")
        if not quasi:
            raise ParameterError("no quasi-identifier was named; give the columns an attacker may know with --quasi")
        parts = [class_columns(table, name) for name in quasi]
        codes = [_codes(table, part) for part in parts]
        classes = distinct(codes, [int(column.max()) + 1 for column in codes]).ids
        stars = [starred_cells(table, part) for part in parts]
        return cls(quasi, codes, stars, classes, [name for part in parts for name in part])

    def special_uniques(self, chance: float | None, largest: int | None) -> tuple[SpecialUniques, dict[str, Any]]:
        """Return the summary of special uniques, and the columns of every row's score and chance of a right match."""
        found = UniqueSets.of(self.codes, largest_size(len(self.codes), largest, len(self.classes)), self.stars)
        scores = suda_scores(found)
        chances = dis_suda(scores, len(self.codes), chance)
        uniques = int((np.bincount(self.classes) == 1).sum())
        told = summarise(found, scores, chances, self.names, uniques)
        return told, {"suda": scores, "dis_suda": chances}


def _codes(table: Table, columns: Sequence[str]) -> Int64s:
    """Return a code for each way in which one quasi-identifier is written."""
    codes = [spread(table.held(name), as_written) for name in columns]
    return distinct(codes, [int(column.max()) + 1 for column in codes]).ids
