"""Provable stream publishers: records a second on one core, noise included, and how near the released windows are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, best, data_folder

from sfumato.evaluate.stream import histogram_intersection, squared_error, window_distance
from sfumato.random import SeededSource
from sfumato.stream import Publisher
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows

Numbers = npt.NDArray[np.float64]
BOUNDS = (0, 99618)
RECORDS = 1_000_000
SINGLE = 100_000
MEASURED = 300_000


def drawn() -> Numbers:
    """Return whole numbers between the bounds, skewed as hours of use are."""
    draw = np.random.default_rng(1)
    return np.rint(np.clip(draw.gamma(2.0, 7700.0, RECORDS), *BOUNDS))


def speed_rows() -> Iterator[Row]:
    """Yield the speed of each publisher over batches, and over single pushes."""
    values = drawn()
    makers: list[tuple[Callable[[], Publisher], float]] = [
        (lambda: RankWindows(BOUNDS), 10.0),
        (lambda: AdaptiveHistogram(BOUNDS), 3.0),
        (lambda: LinkedResponse(BOUNDS), 0.5),
    ]
    for make, goal in makers:
        seconds = best(partial(_whole, make, values), 3)
        yield _speed(f"{make().name}, windows of 1000", RECORDS / seconds, goal)
        yield _speed(f"{make().name}, one by one", SINGLE / _one_by_one(make(), values[:SINGLE].tolist()), 0.3)


def _whole(make: Callable[[], Publisher], values: Numbers) -> None:
    make().push_many(values)


def _one_by_one(publisher: Publisher, values: list[float]) -> float:
    start = time.perf_counter()
    for value in values:
        publisher.push(value)
    return time.perf_counter() - start


def _speed(name: str, rate: float, goal: float) -> Row:
    return Row(f"{name}: million records/s", f"{rate / 1e6:.2f} M/s", "limit 1 M/s", rate / 1e6, goal, at_most=False)


def quality_rows() -> Iterator[Row]:
    """Yield how near each release comes on the SMART 9 readings, in random order and in the file's."""
    column = pl.read_parquet(data_folder() / "backblaze_smart9_201609.parquet")["smart_9_raw"]
    readings = column.to_numpy().astype(np.float64)
    shuffled = readings[np.random.default_rng(0).permutation(len(readings))[:MEASURED]]
    for order, values, far, overlap in (
        ("random order", shuffled, 4e5, 0.99),
        ("file order", readings[:MEASURED], 6e5, 0.98),
    ):
        rows = AdaptiveHistogram(BOUNDS, rng=SeededSource(1)).push_many(values).values
        distance, shared = window_distance(values, rows, 1000), histogram_intersection(values, rows)
        yield Row(f"adaptive, {order}: W₂² / goal", f"{distance:.3g}", f"{far:g}", distance / far, 1, at_most=True)
        yield Row(f"adaptive, {order}: intersection", f"{shared:.4f}", "1", shared, overlap, at_most=False)
    rows = RankWindows(BOUNDS, rng=SeededSource(1)).push_many(shuffled).values
    distance = window_distance(shuffled, rows, 1000)
    yield Row("rank, random order: W₂² / goal", f"{distance:.3g}", "3.8e6", distance / 3.8e6, 1, at_most=True)
    out = LinkedResponse(BOUNDS, rng=SeededSource(1)).push_many(shuffled)
    error = squared_error(shuffled, out)
    yield Row(
        "linked, random order: MSE / variance",
        f"{error:.4g}",
        "Var",
        float(error / shuffled.var()),
        0.865,
        at_most=True,
    )


PARTS = (
    Part("rank, adaptive and linked publishers, speed", speed_rows),
    Part("rank, adaptive and linked publishers on the SMART 9 readings", quality_rows),
)
