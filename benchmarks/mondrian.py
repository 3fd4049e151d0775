"""Mondrian beside numpy.lexsort, a plain strict Mondrian, and polars' own reading and writing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, best

import sfumato as sf
from sfumato.evaluate.utility import utility

NAMES = ("age", "sex", "education", "birthplace")
LIMITS = ((16, 95), (1, 3), (1, 18), (1, 58))
SCHEMA = sf.Schema.from_roles(quasi=NAMES)
MODELS = [sf.KAnonymity(10)]
HERE = Path(__file__).parent


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    """Return the four integer columns of the benchmark, uniform and independent."""
    draw = np.random.default_rng(seed)
    return pl.DataFrame({name: draw.integers(*limits, rows) for name, limits in zip(NAMES, LIMITS, strict=True)})


def seconds(rows: int, repeat: int = 5) -> float:
    """Return the time of a whole `anonymize`: coding, cuts, recoding, check of the output, secure shuffle."""
    table = sf.Table(people(rows))
    return best(lambda: sf.Mondrian().anonymize(table, SCHEMA, MODELS), repeat)


def against_lexsort() -> Row:
    columns = [column.to_numpy() for column in people(1_000_000).get_columns()]
    reference = best(lambda: np.lexsort(columns[::-1]))
    ours = seconds(1_000_000)
    return Row(
        "Mondrian, 1M rows, against numpy.lexsort",
        f"{ours:.3f} s",
        f"{reference:.3f} s",
        ours / reference,
        1.5,
        at_most=True,
    )


def growth() -> list[Row]:
    """Return how time grows from 1M to 10M rows, and the memory a process needs for the latter."""
    small = seconds(1_000_000)
    code = "import measure, mondrian; print(mondrian.seconds(10_000_000, 2), measure.peak_kib())"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True)
    large, peak = (float(word) for word in done.stdout.split())
    gib = peak / 2**20
    return [
        Row("Mondrian, 10M rows, against 1M rows", f"{large:.2f} s", f"{small:.3f} s", large / small, 12, at_most=True),
        Row("Mondrian, 10M rows, peak memory in GiB", f"{gib:.2f} GiB", "4 GiB", gib, 4, at_most=True),
    ]


def plain_mondrian(columns: list[npt.NDArray[np.int64]], k: int) -> list[npt.NDArray[np.int64]]:
    """Return the classes of LeFevre's strict Mondrian as it is usually written: widest column, median, or next."""
    spans = [float(column.max() - column.min()) for column in columns]
    pending, finished = [np.arange(len(columns[0]))], []
    while pending:
        rows = pending.pop()
        widths = [np.ptp(column[rows]) / span for column, span in zip(columns, spans, strict=True)]
        for number in sorted(range(len(widths)), key=lambda column: -widths[column]):
            values = columns[number][rows]
            left = values <= np.sort(values)[(len(values) - 1) // 2]
            if k <= left.sum() <= len(rows) - k:
                pending += [rows[left], rows[~left]]
                break
        else:
            finished.append(rows)
    return finished


def against_plain() -> list[Row]:
    """Return classes and loss beside a plain strict Mondrian on the same 50,000 rows."""
    frame = people(50_000)
    columns = [column.to_numpy() for column in frame.get_columns()]
    classes = plain_mondrian(columns, 10)
    spans = [float(column.max() - column.min()) for column in columns]
    loss = sum(
        len(rows) * np.mean([np.ptp(column[rows]) / span for column, span in zip(columns, spans, strict=True)])
        for rows in classes
    ) / len(frame)
    table = sf.Table(frame)
    release = sf.Mondrian().anonymize(table, SCHEMA, MODELS)
    ours = utility(table, SCHEMA, release.table)
    return [
        Row(
            "classes, 50k rows, against plain Mondrian",
            str(ours.classes),
            str(len(classes)),
            ours.classes / len(classes),
            1,
            at_most=False,
        ),
        Row(
            "NCP, 50k rows, against plain Mondrian",
            f"{ours.gcp:.4%}",
            f"{loss:.4%}",
            ours.gcp / float(loss),
            1,
            at_most=True,
        ),
    ]


def csv_to_csv() -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people(1_000_000).write_csv(folder / "in.csv")
        reference = best(lambda: pl.read_csv(folder / "in.csv").write_csv(folder / "copy.csv"))

        def ours() -> None:
            for file in folder.glob("out.csv*"):
                file.unlink()
            sf.Mondrian().anonymize(sf.read(folder / "in.csv"), SCHEMA, MODELS).save(folder / "out.csv")

        taken = best(ours)
    return Row(
        "CSV to CSV, 1M rows, against polars alone",
        f"{taken:.3f} s",
        f"{reference:.3f} s",
        taken / reference,
        4,
        at_most=True,
    )


PARTS = (
    Part("Mondrian beside numpy.lexsort", lambda: [against_lexsort()]),
    Part("Mondrian, from 1M to 10M rows", growth),
    Part("Mondrian beside a plain one", against_plain),
    Part("CSV to CSV beside polars", lambda: [csv_to_csv()]),
)
