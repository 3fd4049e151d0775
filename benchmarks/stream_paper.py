"""DOCA and CASTLE as published, beside plain Python versions of themselves; the error of DOCA as in its paper."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, best, data_folder

import sfumato as sf
from sfumato.stream import CASTLE, DOCA, NaiveLaplace, Publisher

TWINS = Path(__file__).parent.parent / "tests" / "stream" / "publishers"
READINGS = "backblaze_smart9_201609.parquet"
SENSITIVITY = 1.5 * (63848 - 1)
PLAIN_READINGS = 40_000
PLAIN_TUPLES = 4_000
SCHEMA = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 100)) for name in "abc"})

Numbers = npt.NDArray[np.float64]


def readings(rows: int) -> Numbers:
    """Return made-up hours of use: whole numbers, skewed as the paper's."""
    return np.round(np.random.default_rng(1).gamma(2.0, 8000.0, rows))


def tuples(rows: int, columns: int = 3) -> Numbers:
    """Return tuples of whole numbers, uniform and independent."""
    return np.random.default_rng(1).integers(0, 101, (rows, columns)).astype(np.float64)


def twin(name: str) -> ModuleType:
    """Return the plain Python version that the tests compare with."""
    spec = importlib.util.spec_from_file_location(name, TWINS / f"{name}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(TWINS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def at_least(name: str, seconds: float, rows: int, goal: float) -> Row:
    """Return a row of millions of records a second."""
    rate = rows / seconds / 1e6
    return Row(name, f"{rate:.2f} M/s", f"{goal:g} M/s", rate, goal, at_most=False)


def times_faster(name: str, ours: float, theirs: float, goal: float) -> Row:
    """Return a row of two times per record in seconds."""
    return Row(name, f"{ours * 1e6:.3f} µs", f"{theirs * 1e6:.1f} µs", theirs / ours, goal, at_most=False)


def doca() -> list[Row]:
    """Return DOCA from an array, against the plain version, and record by record."""
    values = readings(1_000_000)
    whole = best(lambda: DOCA(sensitivity=SENSITIVITY).push_many(values))
    plain = twin("doca_twin")
    few = values[:PLAIN_READINGS].tolist()
    slow = best(lambda: plain.groups_of(few, 1000, 50, 100), 2)

    def singly() -> None:
        push = DOCA(sensitivity=SENSITIVITY).push
        for value in few:
            push(value)

    return [
        at_least("DOCA, 1M readings from an array, M records/s", whole, len(values), 3),
        times_faster("DOCA, times faster than plain Python", whole / len(values), slow / len(few), 40),
        at_least("DOCA, pushed one by one, M records/s", best(singly), len(few), 0.3),
    ]


def castle() -> Row:
    """Return CASTLE with k=10 on three attributes against the plain version."""
    rows = tuples(200_000)
    ours = best(lambda: CASTLE(SCHEMA, k=10).push_many(rows), 3)
    plain = twin("castle_twin")
    few = rows[:PLAIN_TUPLES].tolist()

    def slowly() -> None:
        publisher = plain.Twin([(0.0, 100.0)] * 3, lambda _: 0, k=10, delay=1000, beta=50, mu=100)
        for record in few:
            publisher.push(record)

    slow = best(slowly, 1)
    return times_faster(
        "CASTLE, k=10, 3 attributes, times faster than plain Python", ours / len(rows), slow / len(few), 100
    )


def error(publisher: Publisher, values: Numbers) -> float:
    """Return the mean squared error of a linked publisher's rows."""
    parts = [publisher.push_many(values), publisher.flush()]
    return sum(float(((part.values - values[part.position]) ** 2).sum()) for part in parts) / len(values)


def as_in_the_paper() -> Iterator[Row]:
    """Yield how much smaller DOCA's error is than the naive one's, in percent; five random orders."""
    file = data_folder() / READINGS
    column = pl.read_parquet(file, columns=["smart_9_raw"]).get_column("smart_9_raw").cast(pl.Float64).to_numpy()
    ours, naive = [], []
    for order in range(5):
        values = np.random.default_rng(order).permutation(column)
        ours.append(error(DOCA(sensitivity=SENSITIVITY), values))
        naive.append(error(NaiveLaplace(sensitivity=SENSITIVITY), values))
    less = 100 * (1 - float(np.mean(ours) / np.mean(naive)))
    yield Row(
        "DOCA, 2.07M SMART 9 readings, error less than naive in %",
        f"{np.mean(ours):.3e}",
        f"{np.mean(naive):.3e}",
        less,
        99.26,
        at_most=False,
    )


PARTS = (
    Part("DOCA beside plain Python", doca),
    Part("CASTLE beside plain Python", lambda: [castle()]),
    Part("DOCA's error on the SMART 9 readings", as_in_the_paper),
)
