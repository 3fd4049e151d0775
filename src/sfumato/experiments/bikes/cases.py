"""What the experiment computes: central and local answers on bicycle rides, and the errors of both.

Pedro (2022), "Privacidade diferencial para proteger dados sobre utilização de bicicletas compartilhadas", Universidade
Estadual de Londrina. The files are Citi Bike's published trip data in their old format, with gender (2 is female), as
Pedro used them. Stations, their coordinates and the hours are public; riders are not. Local answers are of three
designs: only women report, as in Pedro 2022 (which tells that they are women); all riders report one cell, with "not a
woman" as a value of its own; all riders report one view (`sfumato.local.surveys.survey`). Noise comes from seeds: these
are measurements, not releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.arrays import Codes, Mask, Reals
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.local.base import LocalProtocol
from sfumato.local.protocol_choice import choose
from sfumato.local.protocols.unary import SymmetricUnary
from sfumato.local.surveys.structure import likeliest_middle
from sfumato.local.surveys.survey import Axis, Crossing, Survey, View
from sfumato.random import SeededSource, Source, discrete_laplace

FILES = {
    "New York": "citibike_nyc_sample_2013_2014.csv.gz",
    "Jersey City": "citibike_jersey_city_201509_201607.csv.gz",
}
HOURS = 24
BANDS = 4  # districts are four bands of latitude, each cut into four by longitude, of equally many stations
PERIODS = ("night",) * 6 + ("morning",) * 4 + ("midday",) * 6 + ("evening",) * 4 + ("late",) * 4
FEMALE = 2
VIEWS = (  # kept after a comparison of sets on the very files they are measured on; PLAIN was not
    View(("woman",), 0.07),
    View(("hour",), 0.23),
    View(("district",), 0.23),
    View(("station",), 0.23),
    View(("station", "period"), 0.24),
)
PLAIN = (View(("woman",), 1 / 3), View(("hour",), 1 / 3), View(("station",), 1 / 3))  # every axis once, equal shares
FINE = 2**16
EPSILONS = (0.008, 2.251, 13.814)
MIDDLE = 2.251
BUSIEST = 24
FIRST = "Jersey City, first 41,000 rides"  # as many as the source's first experiment has
SECOND = "Jersey City, first 100,000 rides"  # as many as its second


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


def zeros(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return no women anywhere: what any useful answer has to beat.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> zeros(rides, 1.0, SeededSource(1)).sum()
    np.float64(0.0)
    """
    del epsilon, source
    return np.zeros((len(rides.stations), HOURS))


def central_raw(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the counts with discrete Laplace noise for a ride more or less.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> central_raw(rides, 13.814, SeededSource(1)).shape
    (2, 24)
    """
    true = rides.women()
    return true + discrete_laplace(true.size, 1 / Fraction(str(epsilon)), source).reshape(true.shape)


def central_continuous(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the source's central answer: Laplace noise on a fine grid, rounded, negative counts set to 0.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> central_continuous(rides, 0.1, SeededSource(1)).min() >= 0
    np.True_
    """
    true = rides.women()
    noise = discrete_laplace(true.size, FINE / Fraction(str(epsilon)), source) / FINE
    return np.maximum(np.rint(true + noise.reshape(true.shape)), 0.0)


def central(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the same, negative counts set to 0; they are whole numbers already.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> central(rides, 0.1, SeededSource(1)).min() >= 0
    np.True_
    """
    return np.maximum(central_raw(rides, epsilon, source), 0.0)


def symmetric(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the source's local answer: women report by symmetric unary encoding; rounded, negative counts set to 0."""
    protocol = SymmetricUnary(_cells(rides), epsilon)
    return _estimate_cells(protocol, rides.cell[rides.woman], rides, source, consistent="rounded")


def symmetric_raw(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the same without rounding."""
    protocol = SymmetricUnary(_cells(rides), epsilon)
    return _estimate_cells(protocol, rides.cell[rides.woman], rides, source, consistent=False)


def lowest_variance(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the counts of the protocol of lowest variance, women reporting, made consistent by Norm-Sub."""
    protocol = choose(_cells(rides), epsilon, int(rides.woman.sum()))
    return _estimate_cells(protocol, rides.cell[rides.woman], rides, source, consistent=True)


def symmetric_private(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the source's local answer with gender inside the domain: all riders report."""
    protocol = SymmetricUnary((*_cells(rides), "not a woman"), epsilon)
    codes = np.where(rides.woman, rides.cell, len(protocol.domain) - 1)
    return _estimate_cells(protocol, codes, rides, source, consistent="rounded")


def plain_views(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the answer from the views anybody would start with: every axis once, equal shares."""
    return _estimate_by_views(rides, epsilon, source, PLAIN)


def views(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return our answer: all riders report one of the views that were kept."""
    return _estimate_by_views(rides, epsilon, source, VIEWS)


def _estimate_by_views(rides: Rides, epsilon: float, source: Source, shown: tuple[View, ...]) -> Reals:
    """All riders report a view, gender private; the median of the count each cell then expects."""
    survey = Survey(rides.crossing(), shown, epsilon, rides.number)
    cells = np.where(rides.woman, 0, len(rides.stations) * HOURS) + rides.cell
    expected = survey.estimate(survey.aggregate(survey.report_many(cells, source)))
    return likeliest_middle(expected[0]).astype(np.float64)


ANSWERS: dict[str, Callable[[Rides, float, Source], Reals]] = {
    "all zeros": zeros,
    "central, Laplace, rounded and clamped": central_continuous,
    "central, discrete Laplace, raw": central_raw,
    "central, discrete Laplace, clamped": central,
    "local, women report, symmetric unary, raw": symmetric_raw,
    "local, women report, symmetric unary, clamped": symmetric,
    "local, women report, lowest variance, Norm-Sub": lowest_variance,
    "local, all report, symmetric unary, clamped": symmetric_private,
    "local, all report, plain views": plain_views,
    "local, all report, views": views,
}


def hourly(rides: Rides, protocol: LocalProtocol, source: Source, *, consistent: bool | str) -> Reals:
    """Return the estimated rides per hour of day when every rider reports the hour."""
    tally = protocol.aggregate(protocol.report_many(rides.hour, source))
    return protocol.estimate(tally, consistent=consistent).counts


def _cells(rides: Rides) -> tuple[str, ...]:
    return tuple(f"{station} | {hour}" for station in rides.stations for hour in range(HOURS))


def _estimate_cells(
    protocol: LocalProtocol, codes: Codes, rides: Rides, source: Source, *, consistent: bool | str
) -> Reals:
    tally = protocol.aggregate(protocol.report_many(codes, source))
    counts = protocol.estimate(tally, consistent=consistent).counts
    return counts[: len(rides.stations) * HOURS].reshape(len(rides.stations), HOURS)


def absolute_error(data: Data, rides: str, epsilon: float, answer: str, seed: int) -> Iterator[Row]:
    """Give the mean absolute error of an answer over all declared cells, and over those that are not empty.

    >>> row = next(absolute_error(Data(None), "New York", 2.251, "all zeros", 1))
    >>> row["mae"] < row["mae_nonempty"]
    True
    """
    known = rides_of(data, rides)
    true = known.women()
    error = np.abs(ANSWERS[answer](known, epsilon, SeededSource(seed)) - true)
    yield {"mae": float(error.mean()), "mae_nonempty": float(error[true > 0].mean())}


def hourly_error(data: Data, rides: str, epsilon: float, seed: int) -> Iterator[Row]:
    """Give the adjusted percentage error of the rides per hour of day, central and local.

    >>> next(hourly_error(Data(None), "New York", 13.814, 1))["answer"]
    'central'
    """
    known, hours, source = rides_of(data, rides), tuple(range(HOURS)), SeededSource(seed)
    true = known.everybody().sum(axis=0)
    paper, best = SymmetricUnary(hours, epsilon), choose(hours, epsilon, known.number)
    noise = discrete_laplace(HOURS, 1 / Fraction(str(epsilon)), source)
    answers = {
        "central": np.maximum(true + noise, 0.0),
        "local, symmetric unary, clamped": hourly(known, paper, source, consistent="rounded"),
        "local, lowest variance, Norm-Sub": hourly(known, best, source, consistent=True),
    }
    for name, counts in answers.items():
        errors = adjusted_error(true, counts)
        for hour in hours:
            yield {"answer": name, "hour": hour, "error": float(errors[hour])}


def station_error(data: Data, rides: str, epsilon: float, seed: int) -> Iterator[Row]:
    """Give the same error of the central answer for every hour of the busiest stations.

    >>> next(station_error(Data(None), "New York", 2.251, 1))["rank"]
    1
    """
    known = rides_of(data, rides)
    true = known.everybody()
    noise = discrete_laplace(true.size, 1 / Fraction(str(epsilon)), SeededSource(seed)).reshape(true.shape)
    errors = adjusted_error(true, np.maximum(true + noise, 0.0))
    for rank, station in enumerate(np.argsort(-true.sum(axis=1), kind="stable")[:BUSIEST], start=1):
        for hour in range(HOURS):
            found = {"rides_there": float(true[station, hour]), "error": float(errors[station, hour])}
            yield {"rank": rank, "station": known.stations[station], "hour": hour, **found}


def adjusted_error(true: Reals, answer: Reals) -> Reals:
    """Return 100·|y − ŷ| / ((|y| + |ŷ|)/2) per cent for each count: 0 to 200, and 0 where both are 0.

    >>> adjusted_error(np.array([0.0, 0.0, 100.0]), np.array([0.0, 3.0, 50.0])).round(1).tolist()
    [0.0, 200.0, 66.7]
    """
    middle = (np.abs(true) + np.abs(answer)) / 2
    return 100 * np.divide(np.abs(true - answer), middle, out=np.zeros(true.shape), where=middle > 0)
