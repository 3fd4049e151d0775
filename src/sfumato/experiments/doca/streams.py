"""The streams of numbers that are released: disk hours as in the source, a household's power, and bicycle trips.

Leal, Vidal & Machado (2018) used a month of SMART 9 readings in five random orders. Bounds are public numbers, chosen
without a look at the records, and as wide as the sensitivity that noise is scaled by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.errors import ParameterError
from sfumato.experiments.data import Data
from sfumato.stream.base import Numbers

PAPER_SENSITIVITY = 99_618.0


@dataclass(frozen=True)
class Stream:
    """One column of a data file as a stream, with its public bounds.

    >>> STREAMS["smart"].width
    99618.0
    """

    file: str
    column: str
    bounds: tuple[float, float]

    @property
    def width(self) -> float:
        """The width of the public bounds: how far one record can move a sum."""
        return self.bounds[1] - self.bounds[0]

    def arrivals(self, data: Data) -> Numbers:
        """Return the values in the file's order, clamped to the bounds; a missing one is the one before."""
        column = data.frame(self.file).get_column(self.column).cast(pl.Float64).fill_null(strategy="forward")
        clamped: Numbers = np.clip(column.to_numpy(), *self.bounds)
        return clamped


STREAMS = {
    "smart": Stream("backblaze_smart9_201609.parquet", "smart_9_raw", (0.0, PAPER_SENSITIVITY)),
    "power": Stream("household_power_20061216_20061230.csv", "Global_active_power", (0.0, 12.0)),
    "trips": Stream("citibike_jersey_city_201509_201607.csv.gz", "tripduration", (0.0, 7200.0)),
}


def records(data: Data, name: str, order: str, readings: int | None, seed: int) -> Numbers:
    """Return the first `readings` values in the file's order or a random one, or drawn with replacement.

    >>> first = records(Data(None), "power", "arrival", 5, seed=0)
    >>> len(first), bool((records(Data(None), "power", "random", 5, seed=0) != first).any())
    (5, True)
    """
    values = STREAMS[name].arrivals(data)
    draw = np.random.default_rng(seed)
    match order:
        case "arrival":
            return values[:readings]
        case "random":
            return draw.permutation(values)[:readings]
        case "drawn":
            return draw.choice(values, readings or len(values))
    raise ParameterError(f"the order of a stream is '{order}'; give arrival, random or drawn")
