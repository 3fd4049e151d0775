"""Bicycle rides as the experiments need them: start station, hour of day, whether the rider is a woman.

The files are Citi Bike's published trip data in their old format, with gender (2 is female), as source 002 (Pedro 2022,
Universidade Estadual de Londrina) used them. Stations, their coordinates and the hours are public; riders are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.arrays import Codes, Mask, Reals
from sfumato.experiments.data import Data
from sfumato.local.surveys.survey import Axis, Crossing

FILES = {
    "New York": "citibike_nyc_sample_2013_2014.csv.gz",
    "Jersey City": "citibike_jersey_city_201509_201607.csv.gz",
}
HOURS = 24
BANDS = 4  # districts are four bands of latitude, each cut into four by longitude, of equally many stations
PERIODS = ("night",) * 6 + ("morning",) * 4 + ("midday",) * 6 + ("evening",) * 4 + ("late",) * 4
FEMALE = 2


@dataclass(frozen=True, eq=False)
class Rides:
    """Rides of one file, in its order, over a public list of stations.

    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0, 0]), np.array([8, 9]), np.array([True, False]))
    >>> rides.number, rides.women()[0, 8], rides.everybody().sum()
    (2, np.float64(1.0), np.float64(2.0))
    """

    name: str
    stations: tuple[str, ...]
    places: Reals
    station: Codes
    hour: Codes
    woman: Mask

    @property
    def number(self) -> int:
        """The number of rides."""
        return len(self.station)

    @property
    def cell(self) -> Codes:
        """For each ride the number of its station and hour, the hour turning fastest."""
        return self.station * HOURS + self.hour

    def first(self, number: int) -> Rides:
        """The first rides of the file, under a name that says so; the public stations stay as they are."""
        name = f"{self.name}, first {number:,} rides"
        return replace(
            self, name=name, station=self.station[:number], hour=self.hour[:number], woman=self.woman[:number]
        )

    def women(self) -> Reals:
        """Women per station and hour."""
        return self._table(self.cell[self.woman])

    def everybody(self) -> Reals:
        """Riders per station and hour."""
        return self._table(self.cell)

    def _table(self, cells: Codes) -> Reals:
        counts: Reals = np.bincount(cells, minlength=len(self.stations) * HOURS).astype(np.float64)
        return counts.reshape(len(self.stations), HOURS)

    def crossing(self) -> Crossing:
        """Woman or not, station and hour, with the public groups of stations by place and of hours by time of day."""
        hours = tuple(str(hour) for hour in range(HOURS))
        station = Axis("station", self.stations, {"district": districts(self.places)})
        return Crossing([Axis("woman", ("yes", "no")), station, Axis("hour", hours, {"period": PERIODS})])


def districts(places: Reals) -> tuple[str, ...]:
    """Return a district for each place: bands of latitude cut by longitude, as many places in each.

    >>> districts(np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]]))
    ('0-0', '1-0', '2-0', '3-0')
    """
    labels = np.empty(len(places), dtype=object)
    by_latitude = np.argsort(places[:, 0], kind="stable")
    for band, members in enumerate(np.array_split(by_latitude, BANDS)):
        by_longitude = members[np.argsort(places[members, 1], kind="stable")]
        for part, district in enumerate(np.array_split(by_longitude, BANDS)):
            labels[district] = f"{band}-{part}"
    return tuple(labels.tolist())


@lru_cache(maxsize=4)
def rides_of(data: Data, name: str) -> Rides:
    """Return the rides of a city by its name in `FILES`, and the first ones of it where the name says so.

    >>> rides_of(Data(None), "Jersey City, first 1,000 rides").number
    1000
    """
    city, _, part = name.partition(", first ")
    if part:
        return rides_of(data, city).first(int(part.removesuffix(" rides").replace(",", "")))
    station, latitude, longitude = (f"start station {part}" for part in ("id", "latitude", "longitude"))
    frame = data.frame(FILES[city]).select(station, latitude, longitude, "starttime", "gender")
    known = frame.group_by(station).agg(pl.col(latitude, longitude).median()).sort(pl.col(station).cast(pl.String))
    stations = known.get_column(station).to_list()
    code = {entry: number for number, entry in enumerate(stations)}
    return Rides(
        name=name,
        stations=tuple(map(str, stations)),
        places=known.select(latitude, longitude).to_numpy(),
        station=frame.get_column(station).replace_strict(code, return_dtype=pl.Int64).to_numpy(),
        hour=frame.get_column("starttime").str.slice(11, 2).cast(pl.Int64).to_numpy(),
        woman=_equals(frame.get_column("gender"), FEMALE),
    )


def _equals(column: pl.Series, value: int) -> npt.NDArray[np.bool_]:
    return column.cast(pl.Int64).eq(value).to_numpy()
