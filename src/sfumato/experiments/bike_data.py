"""Bicycle rides as the experiments need them: start station, hour of day, whether the rider is a woman.

The files are Citi Bike's published trip data in their old format, with gender (2 is female), as source 002 (Pedro 2022,
Universidade Estadual de Londrina) used them. Stations, their coordinates and the hours are public; riders are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError
from sfumato.local.arrays import Codes, Mask, Reals
from sfumato.local.crossing import Axis, Crossing

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


def read_rides(path: Path, name: str) -> Rides:
    """Return the rides in a trip data file, which may be compressed.

    >>> read_rides(Path("no-such-file.csv.gz"), "nowhere")
    Traceback (most recent call last):
    sfumato.errors.InputError: file 'no-such-file.csv.gz' does not exist; it is the Citi Bike trip data of nowhere
    """
    if not path.exists():
        raise InputError(f"file '{path}' does not exist; it is the Citi Bike trip data of {name}")
    station, latitude, longitude = (f"start station {part}" for part in ("id", "latitude", "longitude"))
    wanted = [station, latitude, longitude, "starttime", "gender"]
    frame = pl.read_csv(path, columns=wanted, infer_schema=False)
    known = frame.group_by(station).agg(pl.col(latitude, longitude).cast(pl.Float64).median()).sort(station)
    stations = known.get_column(station).to_list()
    code = {entry: number for number, entry in enumerate(stations)}
    return Rides(
        name=name,
        stations=tuple(stations),
        places=known.select(latitude, longitude).to_numpy(),
        station=frame.get_column(station).replace_strict(code, return_dtype=pl.Int64).to_numpy(),
        hour=frame.get_column("starttime").str.slice(11, 2).cast(pl.Int64).to_numpy(),
        woman=_equals(frame.get_column("gender"), FEMALE),
    )


def _equals(column: pl.Series, value: int) -> npt.NDArray[np.bool_]:
    return column.cast(pl.Int64).eq(value).to_numpy()
