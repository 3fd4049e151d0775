"""What is measured of a release: the source's squared error and histogram intersection, and distances of windows.

EQM and intersection in 100 bins are Leal, Vidal & Machado (2018); what a guess of a record leaves of the variance is
limited for every ε-private release (`docs/algorithms/audit-streams.md`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np

from sfumato.audit.stream.inequality import Distribution, Predictor, epsilon_from
from sfumato.evaluate.stream import histogram_intersection, window_distance
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row, Scalar
from sfumato.experiments.doca.releases import Release, Setting, release
from sfumato.experiments.doca.streams import STREAMS
from sfumato.stream.base import Numbers

BINS = 100
OTHER_STREAM = 10_000  # added to a seed, so that guesses are fixed on a stream that is not the measured one


def measure(data: Data, **case: Scalar) -> Iterator[Row]:
    """Yield one row: how far a release lies from its stream, by every measure.

    >>> next(measure(Data(None), publisher="mean", stream="power", readings=2000))["groups"]
    2
    """
    setting = _setting(case)
    values = setting.values(data)
    out = release(values, setting)
    yield {
        **_told(setting),
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
    out = release(values, setting)
    edges = np.linspace(values.min(), values.max(), BINS + 1)
    shares = [np.histogram(column, edges)[0] / len(values) for column in (values, out.values)]
    for place in range(BINS):
        yield {
            **_told(setting),
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
    there, out = release(before, known), release(values, setting)
    guess = Predictor.fit(there.values, there.sizes, before).guess(out.values, out.sizes)
    left = float(np.mean((guess - values) ** 2)) / law.variance
    yield {
        **_told(setting),
        "left": left,
        "allowed": 1 / math.cosh(setting.epsilon / 2) ** 2,
        "shown": epsilon_from(law, left),
    }


def _setting(case: dict[str, Scalar]) -> Setting:
    return Setting(**case)  # type: ignore[arg-type]  # cases are declared beside it


def _told(setting: Setting) -> dict[str, Scalar]:
    """Return all parameters of a row."""
    return {**asdict(setting), "sensitivity": setting.span}


def _common(values: Numbers, out: Release) -> float:
    """Return the intersection in bins over the range of true and released values together."""
    edges = np.linspace(min(values.min(), out.values.min()), max(values.max(), out.values.max()), BINS + 1)
    shares = [np.histogram(column, edges)[0] / len(values) for column in (values, out.values)]
    return float(np.minimum(*shares).sum())
