"""What keyed noise costs a stream: records a second with it over those without, in memory and from file to file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import Part, Row

from sfumato.random import KeyedSource, Source, new_key
from sfumato.stream import AdaptiveHistogram, CategoryWindows, CellHistogram, LinkedResponse, NaiveLaplace, RankWindows
from sfumato.stream.base import Publisher
from sfumato.stream.runtime.job import Job
from sfumato.stream.screens.base import NumberScreen

Numbers = npt.NDArray[np.float64]
Make = Callable[[Source | None], Publisher]
BOUNDS = (0.0, 99618.0)
RECORDS = 200_000
ROUNDS = 25
LEAST = 0.9  # of the records a second without a key
COLOURS = ("red", "green", "blue", "grey", "black")
NUMBERS: dict[str, Make] = {
    "rank": lambda source: RankWindows(BOUNDS, rng=source),
    "adaptive": lambda source: AdaptiveHistogram(BOUNDS, rng=source),
    "linked": lambda source: LinkedResponse(BOUNDS, rng=source),
    "laplace": lambda source: NaiveLaplace(bounds=BOUNDS, rng=source),
}
COUNTS: dict[str, Make] = {
    "counts of categories": lambda source: CategoryWindows(COLOURS, rng=source),
    "counts of cells": lambda source: CellHistogram((BOUNDS,), cells=16, rng=source),
}


def drawn() -> Numbers:
    """Return whole numbers between the bounds, skewed as hours of use are."""
    return np.rint(np.clip(np.random.default_rng(1).gamma(2.0, 7700.0, RECORDS), *BOUNDS))


def alone() -> Iterator[Row]:
    """Yield the ratio for publishers that are given whole batches.

    Laplace stands in the next part alone: each record is a group with words of its own, which costs 30 ns a record.
    That is much beside the 70 ns of a record in memory, and little beside what reading and writing one takes.
    """
    values = drawn()
    streams = {"counts of categories": values % len(COLOURS), "counts of cells": values[:, None]}
    for name, make in {**NUMBERS, **COUNTS}.items():
        if name != "laplace":
            records = streams.get(name, values)
            yield _ratio(name, partial(_push, make, records))


def from_file_to_file() -> Iterator[Row]:
    """Yield the ratio for whole streams: a CSV file read, screened, published and written."""
    with tempfile.TemporaryDirectory() as place:
        feed = Path(place) / "in.csv"
        feed.write_text("hours\n" + "".join(f"{value:g}\n" for value in drawn().tolist()))
        for name, make in NUMBERS.items():
            yield _ratio(f"{name}, file to file", partial(_publish, make, feed))


def _push(make: Make, records: Numbers, source: Source | None) -> None:
    make(source).push_many(records)


def _publish(make: Make, feed: Path, source: Source | None) -> None:
    with tempfile.TemporaryDirectory() as place:
        Job(feed, Path(place) / "out.csv", make(source), NumberScreen({"hours": BOUNDS})).run()


def _spent(work: Callable[[Source | None], object], source: Source | None) -> float:
    start = time.process_time()
    work(source)
    return time.process_time() - start


def _ratio(name: str, work: Callable[[Source | None], object]) -> Row:
    """Return the row of a stream in seconds of the processor: both ways in turn, and the best of each.

    A busy machine would hit one of the two by chance, and they differ by little.
    """
    key = KeyedSource(new_key(), "bench")
    times = [(_spent(work, None), _spent(work, key)) for _ in range(ROUNDS + 1)][1:]
    secure, keyed = (RECORDS / min(each) / 1e6 for each in zip(*times, strict=True))
    return Row(
        f"{name}: records/s, keyed noise / secure noise",
        f"{keyed:.3g} M/s",
        f"secure, {secure:.3g} M/s",
        keyed / secure,
        LEAST,
        at_most=False,
    )


PARTS = (
    Part("keyed noise against secure noise, publishers alone", alone),
    Part("keyed noise against secure noise, file to file", from_file_to_file),
)
