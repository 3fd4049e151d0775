"""What the experiment computes: streams of numbers through publishers, and how far each release lies from its stream.

Leal, Vidal & Machado (2018) used a month of SMART 9 readings in five random orders; DOCA, naive noise, EQM and the
intersection in 100 bins are theirs. Bounds are public numbers, chosen without a look at the records, and as wide as the
sensitivity that noise is scaled by. The window mean is a rank window of one block, whose rows are all the same and can
therefore be tied to records. What a guess of a record leaves of the variance is limited for every ε-private release
(`docs/algorithms/audit-streams.md`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl

from sfumato.audit.stream.inequality import Distribution, Predictor, epsilon_from
from sfumato.errors import ParameterError
from sfumato.evaluate.stream import histogram_intersection, window_distance
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row, Scalar
from sfumato.random import SeededSource
from sfumato.stream import DOCA, AdaptiveHistogram, LinkedResponse, NaiveLaplace, Publisher, RankWindows
from sfumato.stream.base import Integers, Numbers

PAPER_SENSITIVITY = 99_618.0
LINKED = ("doca", "laplace", "mean", "linked")
PUBLISHERS = (*LINKED[:3], "rank", "adaptive", "linked")
BINS = 100
OTHER_STREAM = 10_000  # added to a seed, so that guesses are fixed on a stream that is not the measured one


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


@dataclass(frozen=True)
class Setting:
    """All that decides a release; the defaults are the source's parameters and the publishers' own.

    `sensitivity` is Δf of DOCA and of naive noise; None stands for the width of the stream's public bounds.

    >>> Setting("rank").make_publisher().name
    'rank'
    """

    publisher: str
    stream: str = "smart"
    order: str = "random"
    readings: int | None = None
    delay: int = 1000
    beta: int = 50
    m: int = 100
    epsilon: float = 1.0
    sensitivity: float | None = None
    block: int = 50
    bins: int = 160
    seed: int = 0

    def values(self, data: Data) -> Numbers:
        """Return the stream's true values in the order of their arrival."""
        return records(data, self.stream, self.order, self.readings, self.seed)

    @property
    def span(self) -> float:
        """The sensitivity Δf."""
        return self.sensitivity or STREAMS[self.stream].width

    def make_publisher(self) -> Publisher:
        """Return the publisher, its noise drawn from the seed."""
        bounds, span, rng = STREAMS[self.stream].bounds, self.span, SeededSource(self.seed)
        match self.publisher:
            case "doca":
                return DOCA(span, self.delay, self.beta, self.m, self.epsilon, rng=rng)
            case "laplace":
                return NaiveLaplace(span, self.epsilon, rng=rng)
            case "mean":
                return RankWindows(bounds, self.delay, self.epsilon, block=self.delay, rng=rng)
            case "rank":
                return RankWindows(bounds, self.delay, self.epsilon, self.block, rng=rng)
            case "adaptive":
                return AdaptiveHistogram(bounds, self.delay, self.epsilon, self.bins, rng=rng)
            case "linked":
                return LinkedResponse(bounds, self.delay, self.epsilon, rng=rng)
        raise ParameterError(f"the publisher is '{self.publisher}'; give one of {', '.join(PUBLISHERS)}")


@dataclass(frozen=True, eq=False)
class ReleasedStream:
    """What left: values in the order of their records where they are tied to any, and the size of each one's group.

    >>> release_stream(np.zeros(2000), Setting("mean")).groups
    2
    """

    values: Numbers
    sizes: Integers
    groups: int
    linked: bool


def release_stream(values: Numbers, setting: Setting) -> ReleasedStream:
    """Return what a publisher makes of a whole stream."""
    publisher = setting.make_publisher()
    parts = [publisher.push_many(values), publisher.flush()]
    rows, sizes, groups = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "size", "group")
    )
    count = 1 + int(groups[-1]) if len(groups) else 0
    if publisher.linked:
        order = np.argsort(np.concatenate([part.position for part in parts if part.position is not None]))
        rows, sizes = rows[order], sizes[order]
    return ReleasedStream(rows, sizes, count, setting.publisher in LINKED)


def measure(data: Data, **case: Scalar) -> Iterator[Row]:
    """Yield one row: how far a release lies from its stream, by every measure.

    >>> next(measure(Data(None), publisher="mean", stream="power", readings=2000))["groups"]
    2
    """
    setting = _setting(case)
    values = setting.values(data)
    out = release_stream(values, setting)
    yield {
        **_parameters(setting),
        "records": len(values),
        "groups": out.groups,
        "variance": float(values.var()),
        "error": float(np.mean((out.values - values) ** 2)) if out.linked else None,
        "distance": window_distance(values, out.values, setting.delay),
        "whole": window_distance(values, out.values, len(values)),
        "intersection": histogram_intersection(values, out.values, BINS),
        "intersection_common": _common(values, out),
    }


def histograms(data: Data, **case: Scalar) -> Iterator[Row]:
    """Yield a row for each of 100 bins over the range of the true values: its share of them and of the released ones.

    >>> rows = list(histograms(Data(None), publisher="mean", stream="power", readings=2000))
    >>> len(rows), round(sum(row["original"] for row in rows), 6)
    (100, 1.0)
    """
    setting = _setting(case)
    values = setting.values(data)
    out = release_stream(values, setting)
    edges = np.linspace(values.min(), values.max(), BINS + 1)
    shares = [np.histogram(column, edges)[0] / len(values) for column in (values, out.values)]
    for place in range(BINS):
        yield {
            **_parameters(setting),
            "low": float(edges[place]),
            "high": float(edges[place + 1]),
            "original": float(shares[0][place]),
            "released": float(shares[1][place]),
        }


def describe(data: Data, **case: Scalar) -> Iterator[Row]:
    """Yield one row: the size, range, skew and variance of a stream.

    >>> next(describe(Data(None), stream="power", seed=0))["records"]
    19446
    """
    values = STREAMS[str(case["stream"])].arrivals(data)
    centred = values - values.mean()
    yield {
        "records": len(values),
        "distinct": len(np.unique(values)),
        "least": float(values.min()),
        "most": float(values.max()),
        "skew": float(np.mean(centred**3) / values.std() ** 3),
        "variance": float(values.var()),
    }


def guesses(data: Data, **case: Scalar) -> Iterator[Row]:
    """Yield one row: the share of the variance that a guess from the release leaves, and the ε that this shows.

    Records are drawn with replacement, so that they are independent; the guess is a line on the published value for
    every size of group, fixed on another stream.

    >>> row = next(guesses(Data(None), publisher="doca", stream="power", order="drawn", readings=2000))
    >>> row["left"] < row["allowed"]
    True
    """
    setting = _setting(case)
    law = Distribution.of(STREAMS[setting.stream].arrivals(data))
    known = replace(setting, seed=setting.seed + OTHER_STREAM)
    before, values = known.values(data), setting.values(data)
    there, out = release_stream(before, known), release_stream(values, setting)
    guess = Predictor.fit(there.values, there.sizes, before).guess(out.values, out.sizes)
    left = float(np.mean((guess - values) ** 2)) / law.variance
    yield {
        **_parameters(setting),
        "left": left,
        "allowed": 1 / math.cosh(setting.epsilon / 2) ** 2,
        "shown": epsilon_from(law, left),
    }


def _setting(case: dict[str, Scalar]) -> Setting:
    return Setting(**case)  # type: ignore[arg-type]  # cases are declared beside it


def _parameters(setting: Setting) -> dict[str, Scalar]:
    """Return all parameters of a row."""
    return {**asdict(setting), "sensitivity": setting.span}


def _common(values: Numbers, out: ReleasedStream) -> float:
    """Return the intersection in bins over the range of true and released values together."""
    edges = np.linspace(min(values.min(), out.values.min()), max(values.max(), out.values.max()), BINS + 1)
    shares = [np.histogram(column, edges)[0] / len(values) for column in (values, out.values)]
    return float(np.minimum(*shares).sum())
