"""How a table was sampled: a declared fraction for all rows, or a column with each row's weight.

The weights of a key's rows add up to an estimate of how many people of the population have the key (Benedetti &
Franconi 1998). Nothing here is guessed: without a fraction or weights nobody knows the population.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.parameters import Real
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.population.sampled import Floats, Int64s
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.kinds import is_missing
from sfumato.schema.values import parse_cells
from sfumato.table import Table

FRACTION = Real(0, 1, above=True)
NEITHER = (
    "nobody said how the table was sampled; give --fraction, the share of the population that it holds, or --weights, "
    "the column of sampling weights"
)
UNEQUAL = (
    "The weights differ from row to row. They give each key its own share of people drawn; the estimators of "
    "population uniques, Pitman's risk and the chance of a right match take all people as equally likely to be drawn."
)
LIGHT = "Rows whose keys weigh less than they have rows: {rows:,}. All people with these keys are taken as drawn."


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """The size of the population, and for each class the share of its people who were drawn.

    >>> design = SamplingDesign.of(np.array([0, 0, 1]), weights=np.array([10.0, 30.0, 20.0]))
    >>> design.population, design.shares.tolist()
    (60.0, [0.05, 0.05])
    """

    population: float
    shares: Floats
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, classes: Int64s, fraction: float | None = None, weights: Floats | None = None) -> SamplingDesign:
        """Return the design of rows with these class numbers, by exactly one of a fraction and weights."""
        sizes = np.bincount(classes)
        if fraction is not None and weights is not None:
            raise ParameterError("a fraction and weights both say how the table was sampled; give one of them")
        if weights is None:
            if fraction is None:
                raise ParameterError(NEITHER)
            if not FRACTION.accepts(fraction):
                raise ParameterError(f"the sampling fraction must be {FRACTION.wanted}; got {fraction!r}")
            return cls(len(classes) / fraction, np.full(len(sizes), float(fraction)))
        return cls(float(weights.sum()), *_weighed(classes, sizes, weights))


def _weighed(classes: Int64s, sizes: Int64s, weights: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Return the share drawn of each class's people by its rows' weights, and what the steward must know of them."""
    total = float(weights.sum())
    if total < len(weights):
        raise InputError(
            f"the weights add up to {total:g}, fewer people than the {len(weights)} rows; a row's weight is the number "
            "of people it stands for"
        )
    shares = sizes / np.bincount(classes, weights=weights)
    light = int(sizes[shares > 1].sum())
    notes = [UNEQUAL] if np.ptp(weights) > 0 else []
    return np.minimum(shares, 1.0), (*notes, *([LIGHT.format(rows=light)] if light else []))


def read_weights(table: Table, name: str, schema: Schema | None = None) -> Floats:
    """Return a column of sampling weights; each must be a number above 0.

    >>> import polars as pl
    >>> read_weights(Table(pl.DataFrame({"w": ["12.5", "x"]})), "w")
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'w' row 2: 'x' is no sampling weight; every row needs a number above 0
    """
    declared = Attribute(name, Role.OTHER, Kind.NUMBER) if schema is None else schema.columns.get(name)
    attribute = declared if declared is not None and declared.kind is not None else None
    series = table.column(name)
    cells = parse_cells(series, attribute or Attribute(name, Role.OTHER, Kind.NUMBER))
    values = cells.values.cast(float).fill_null(0.0).to_numpy()
    wrong = np.flatnonzero(~(values > 0))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"column '{name}' row {row + 1}: {str(series[row])!r} is no sampling weight; every row needs a number "
            "above 0"
        )
    found: Floats = values.astype(np.float64)
    return found


def number_households(table: Table, name: str, schema: Schema | None = None) -> Int64s:
    """Return a number for each row's household; a row without one is a household of its own.

    >>> import polars as pl
    >>> number_households(Table(pl.DataFrame({"home": ["a", None, "a", None]})), "home").tolist()
    [0, 1, 0, 2]
    """
    series = table.column(name)
    declared = None if schema is None else schema.columns.get(name)
    alone = is_missing(series, () if declared is None else declared.missing).to_numpy()
    words = series.cast(str).fill_null("").to_numpy()
    _, homes = np.unique(words[~alone].astype(str), return_inverse=True)
    numbers = np.empty(len(words), dtype=np.int64)
    numbers[~alone] = homes
    numbers[alone] = int(homes.max(initial=-1)) + 1 + np.arange(int(alone.sum()))
    return numbers
