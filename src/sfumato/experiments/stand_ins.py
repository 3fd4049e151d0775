"""Made-up data sets with the columns, size and rough shape of the real ones, from a fixed seed.

They let every experiment run where the real files may not be passed on; numbers from them are not the sources' numbers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from sfumato.errors import InputError

SEED = 20_190_412
CENSUS = (
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL", "FICA",
    "WSALVAL", "ERNVAL",
)  # fmt: skip
TARRAGONA = (
    "FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "UNCOMMITTED.FUNDS", "PAID.UP.CAPITAL", "SHORT.TERM.DEBT", "SALES",
    "LABOR.COSTS", "DEPRECIATION", "OPERATING.PROFIT", "FINANCIAL.OUTCOME", "GROSS.PROFIT", "NET.PROFIT",
)  # fmt: skip
EIA = (
    "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE", "OTHRSALES",
    "TOTREVENUE", "TOTSALES",
)  # fmt: skip
IPUMS = {  # the coded columns, each with its smallest code and the largest
    "stratum": (1, 9), "psu": (1, 90), "sex": (1, 2), "race": (1, 5), "hispanic": (0, 1), "marstat": (1, 5),
    "ownershg": (0, 2), "yrsusa": (0, 5), "school": (1, 2), "educrec": (1, 9), "labforce": (0, 2), "classwk": (0, 29),
    "vetstat": (0, 2),
}  # fmt: skip
DRIVES, DAYS, RIDES, STATIONS = 20_000, 15, 20_000, 60
MISSED = (6000, 18_000)  # minutes in which the meter said nothing
START = dt.datetime(2014, 1, 1, tzinfo=dt.UTC)


def stand_in(file: str) -> pl.DataFrame:
    """Return the stand-in for a data file.

    >>> stand_in("tarragona.csv").shape, stand_in("tarragona.csv").equals(stand_in("tarragona.csv"))
    ((834, 13), True)
    >>> stand_in("nobody.csv")
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no stand-in for 'nobody.csv'; give --data the folder that has it
    """
    if file not in MAKERS:
        raise InputError(f"there is no stand-in for '{file}'; give --data the folder that has it")
    return MAKERS[file](np.random.default_rng(SEED))


def _skewed_columns(rows: int, names: Sequence[str], groups: int) -> Callable[[np.random.Generator], pl.DataFrame]:
    """Return a maker of correlated columns with long right tails around some centres, as money has."""

    def make(draw: np.random.Generator) -> pl.DataFrame:
        width = len(names)
        centres = draw.normal(0, 1, (groups, width))
        near = centres[draw.integers(0, groups, rows)] + draw.normal(0, 0.4, (rows, width))
        together = near @ (np.eye(width) + 0.3 * draw.normal(0, 1, (width, width)) / np.sqrt(width))
        return pl.DataFrame(np.exp(9 + 0.8 * together).round(), schema=list(names)).cast(pl.Int64)

    return make


def _eia(draw: np.random.Generator) -> pl.DataFrame:
    money = _skewed_columns(4092, EIA, 40)(draw)
    utility = pl.Series("UTILITYID", np.sort(draw.integers(0, 22_000, 4092)))
    fixed = {"UTILNAME": "nobody", "STATE": "XX", "YEAR": 96}
    labels = pl.DataFrame({"UTILITYID": utility}).with_columns(**{name: pl.lit(value) for name, value in fixed.items()})
    return labels.with_columns(MONTH=pl.Series(np.arange(4092) % 12 + 1)).hstack(money)


def _ipums(draw: np.random.Generator) -> pl.DataFrame:
    rows = 53_461
    age = np.clip(draw.gamma(3.2, 9.0, rows) + 15, 15, 90).astype(np.int64)
    earned = draw.lognormal(8.6, 1.0, rows) * (draw.random(rows) < 0.85)
    columns: dict[str, object] = {"inctot": np.clip(earned // 10 * 10 + 5, -9995, 75_000).astype(np.int64), "age": age}
    for name, (low, high) in IPUMS.items():
        columns[name] = np.clip(draw.geometric(0.45, rows) + low - 1, low, high)
    order = ["stratum", "psu", "inctot", "age", *list(IPUMS)[2:]]
    return pl.DataFrame(columns).select(order)


def _smart(draw: np.random.Generator) -> pl.DataFrame:
    hours = np.sort(np.concatenate([draw.gamma(3, 4500, DRIVES // 2), draw.normal(13_000, 2500, DRIVES // 2)]))
    start = np.clip(hours[draw.permutation(DRIVES)], 1, 60_000).astype(np.int32)
    days = pl.date_range(dt.date(2016, 9, 1), dt.date(2016, 9, DAYS), eager=True)
    frames = [
        pl.DataFrame({"drive": np.arange(DRIVES, dtype=np.int32), "smart_9_raw": start + 24 * place}).select(
            pl.lit(day).alias("day"), "drive", pl.col("smart_9_raw").cast(pl.Int32)
        )
        for place, day in enumerate(days)
    ]
    return pl.concat(frames)


def _power(draw: np.random.Generator) -> pl.DataFrame:
    minutes = np.arange(19_446)
    day = 1.2 + 0.8 * np.sin(2 * np.pi * (minutes / 1440 - 0.3))
    used = np.clip(day * draw.lognormal(0, 0.5, len(minutes)), 0.1, 9).round(3)
    begin = dt.datetime(2006, 12, 16, 17, 24, tzinfo=dt.UTC)
    stamps = [(begin + dt.timedelta(minutes=int(minute))).strftime("%Y-%m-%d %H:%M:%S") for minute in minutes]
    names = ("Global_reactive_power", "Sub_metering_1", "Sub_metering_2", "Sub_metering_3")
    rest = {name: np.clip(draw.normal(1, 1, len(minutes)), 0, None).round(1) for name in names}
    return pl.DataFrame(
        {
            "Datetime": stamps,
            "Global_active_power": used,
            "Voltage": draw.normal(240, 3, len(minutes)).round(2),
            "Global_intensity": (used * 4.2).round(1),
            **rest,
        }
    ).with_columns(pl.when(~pl.int_range(pl.len()).is_in(MISSED)).then(pl.exclude("Datetime")))


def _rides(draw: np.random.Generator) -> pl.DataFrame:
    share = draw.dirichlet(np.full(STATIONS, 0.6))
    station = draw.choice(STATIONS, RIDES, p=share)
    hour = np.clip(
        np.where(draw.random(RIDES) < 0.45, draw.normal(8.5, 1.5, RIDES), draw.normal(17.5, 3, RIDES)), 0, 23
    )
    offsets = np.sort(draw.integers(0, 300, RIDES)) * 86_400 + hour.astype(int) * 3600 + draw.integers(0, 3600, RIDES)
    stamps = [(START + dt.timedelta(seconds=int(offset))).strftime("%Y-%m-%d %H:%M:%S") for offset in offsets]
    place = np.array([40.7, -74.05]) + draw.normal(0, 0.02, (STATIONS, 2))
    return pl.DataFrame(
        {
            "tripduration": np.clip(draw.lognormal(6.4, 0.7, RIDES), 60, 20_000).astype(np.int64),
            "starttime": stamps,
            "start station id": 3000 + station,
            "start station latitude": place[station, 0],
            "start station longitude": place[station, 1],
            "gender": draw.choice([0, 1, 2], RIDES, p=[0.12, 0.66, 0.22]),
        }
    )


MAKERS: dict[str, Callable[[np.random.Generator], pl.DataFrame]] = {
    "census.csv": _skewed_columns(1080, CENSUS, 12),
    "tarragona.csv": _skewed_columns(834, TARRAGONA, 8),
    "eia.csv": _eia,
    "cloud1.csv": _skewed_columns(1024, [f"v{place}" for place in range(1, 11)], 20),
    "cloud2.csv": _skewed_columns(1024, [f"v{place}" for place in range(1, 11)], 30),
    "ipums_1980_extract.csv": _ipums,
    "backblaze_smart9_201609.parquet": _smart,
    "household_power_20061216_20061230.csv": _power,
    "citibike_nyc_sample_2013_2014.csv.gz": _rides,
    "citibike_jersey_city_201509_201607.csv.gz": _rides,
}
