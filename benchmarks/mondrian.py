"""Mondrian beside numpy.lexsort, a plain strict Mondrian, and polars' own reading and writing; cuts along hierarchies.

`python benchmarks/mondrian.py` writes the table of losses into `docs/algorithms/mondrian.md`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, best, data_folder

import sfumato as sf
from sfumato.evaluate.utility import utility
from sfumato.hierarchy import builders as build
from sfumato.models import Model
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import recode

NAMES = ("age", "sex", "education", "birthplace")
LIMITS = ((16, 95), (1, 3), (1, 18), (1, 58))
SCHEMA = sf.Schema.from_roles(quasi=NAMES)
MODELS = [sf.KAnonymity(10)]
HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "algorithms" / "mondrian.md"
BLOCK = re.compile(r"(<!-- loss -->\n).*?(<!-- /loss -->\n)", re.DOTALL)
Trees = Mapping[str, sf.Hierarchy]


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


class Wooded(NamedTuple):
    """A table, the hierarchies of its quasi-identifiers, those of them that are numbers, and a sensitive column."""

    name: str
    table: sf.Table
    trees: Trees
    numbers: tuple[str, ...]
    sensitive: str

    def schema(self, *, plain: bool, secret: bool) -> sf.Schema:
        """Return the roles: `plain` numbers go without their hierarchies, `secret` declares the sensitive column."""
        columns = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in self.trees.items()}
        for name in self.numbers if plain else ():
            columns[name] = sf.Attribute(name, sf.Role.QUASI, sf.Kind.INTEGER)
        if secret:
            columns[self.sensitive] = sf.Attribute(self.sensitive, sf.Role.SENSITIVE, sf.Kind.CATEGORY)
        return sf.Schema(columns, other="drop")


def grouped(values: pl.Series, group: Callable[[str], str]) -> sf.Hierarchy:
    """Return a column's values under groups."""
    return sf.Hierarchy.from_rows([(value, group(value), "*") for value in sorted(set(values.to_list()))])


def adult() -> Wooded:
    """Return Adult's training rows without missing values, and its eight hierarchies."""
    names = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    frame = pl.read_csv(data_folder() / "adult_train.csv.gz", infer_schema=False)
    trees = {name: sf.Hierarchy.from_csv(data_folder() / "adult_hierarchies" / f"{name}.csv") for name in names}
    kept = frame.filter(~pl.any_horizontal(pl.all() == "?"))
    return Wooded("Adult", sf.Table.from_frame(kept), trees, ("age",), "occupation")


def ipums() -> Wooded:
    """Return the census of 1980 with eight hierarchies by rule."""
    frame = pl.read_csv(data_folder() / "ipums_1980_extract.csv", infer_schema=False)
    flat = ("sex", "race", "labforce")
    trees = {
        "age": build.intervals(range(100), [5, 10, 20]),
        **{name: build.flat(sorted(set(frame[name].to_list()))) for name in flat},
        "hispanic": grouped(frame["hispanic"], lambda value: "no" if value == "0" else "yes"),
        "marstat": grouped(frame["marstat"], lambda value: "married" if value in "12" else "single"),
        "educrec": grouped(frame["educrec"], lambda value: f"level {(int(value) - 1) // 3}"),
        "classwk": grouped(frame["classwk"], lambda value: f"class {int(value) // 10}"),
    }
    return Wooded("IPUMS", sf.Table.from_frame(frame), trees, ("age",), "marstat")


def bicycles() -> Wooded:
    """Return rides in Jersey City: who rides, when, and from where to where; stations by bands of longitude."""
    needed = ("birth year", "gender", "usertype", "start station name", "end station name")
    frame = pl.read_csv(data_folder() / "citibike_jersey_city_201509_201607.csv.gz", infer_schema=False)
    when = pl.col("starttime").str.to_datetime()
    frame = frame.drop_nulls(needed).with_columns(
        pl.col("birth year").cast(pl.Float64).cast(pl.Int64).cast(pl.String),
        hour=when.dt.hour().cast(pl.String),
        day=when.dt.weekday().cast(pl.String),
    )
    trees = {
        "birth year": build.intervals(range(1880, 2005), [5, 10, 20]),
        "gender": build.flat(["0", "1", "2"]),
        "usertype": build.flat(sorted(set(frame["usertype"].to_list()))),
        "hour": build.intervals(range(24), [3, 6, 12]),
        "day": grouped(frame["day"], lambda value: "weekend" if value in "67" else "week"),
        "start station name": stations(frame, "start"),
        "end station name": stations(frame, "end"),
    }
    return Wooded("Citi Bike", sf.Table.from_frame(frame), trees, ("birth year", "hour"), "day")


def stations(frame: pl.DataFrame, end: str) -> sf.Hierarchy:
    """Return stations under blocks of four along the latitude, in four bands of longitude."""
    name, places = f"{end} station name", [f"{end} station longitude", f"{end} station latitude"]
    found = frame.group_by(name).agg(pl.col(places).first().cast(pl.Float64)).sort(places[0])
    bands = found.with_row_index("band").with_columns(pl.col("band") * 4 // found.height).sort("band", places[1])
    rows = bands.with_row_index("block").select(name, "block", "band").rows()
    return sf.Hierarchy.from_rows(
        [(station, f"block {band}.{row // 4}", f"band {band}", "*") for station, row, band in rows]
    )


def loss_by_nodes(data: Wooded, models: list[Model], *, plain: bool) -> float:
    """Return the NCP of Mondrian's classes with every column shown by its smallest node, however it was cut."""
    secret = len(models) > 1
    labels = sf.Mondrian().partition(Problem.of(data.table, data.schema(plain=plain, secret=secret), models)).rows
    schema = data.schema(plain=False, secret=secret)
    count = int(labels.max()) + 1
    quasi = Problem.of(data.table, schema, models).quasi
    shown = [recode(column, column.codes, labels, count, "text")[0].rows(labels) for column in quasi]
    return utility(data.table, schema, sf.Table.from_frame(pl.DataFrame(shown))).gcp


def asked(data: Wooded) -> Iterator[tuple[str, list[Model]]]:
    """Yield the models that losses are compared under."""
    for k in (5, 10, 50):
        yield f"k = {k}", [sf.KAnonymity(k)]
    yield "k = 5, l = 3", [sf.KAnonymity(5), sf.LDiversity(3, data.sensitive)]
    yield "k = 5, t = 0.2", [sf.KAnonymity(5), sf.TCloseness(0.2, data.sensitive)]


def losses() -> Iterator[tuple[str, str, float, float]]:
    """Yield a table's name, the models, and what is lost with hierarchies and with the numbers cut as plain ones."""
    for data in (adult(), ipums(), bicycles()):
        for words, models in asked(data):
            ours, theirs = (loss_by_nodes(data, models, plain=plain) for plain in (False, True))
            yield data.name, words, ours, theirs


def along_hierarchies() -> list[Row]:
    """Return what cuts along hierarchies lose beside cuts of numbers anywhere, both shown by the same nodes."""
    return [
        Row(
            f"NCP of Mondrian on {name}, {words}, with hierarchies, against plain numbers",
            f"{ours:.2%}",
            f"{theirs:.2%}",
            ours / theirs,
            1,
            at_most=True,
        )
        for name, words, ours, theirs in losses()
    ]


def cuts_of_trees() -> Row:
    """Return the time of the cuts alone along hierarchies, beside those of the same million rows as plain numbers."""
    widths: tuple[list[int], ...] = ([5, 10, 20, 40], [], [3, 6], [5, 10, 20])
    trees = {
        name: build.intervals(range(low, high), steps, origin=low) if steps else build.flat(["1", "2"])
        for name, (low, high), steps in zip(NAMES, LIMITS, widths, strict=True)
    }
    wooded = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in trees.items()})
    table = sf.Table(people(1_000_000))
    taken = []
    for schema in (wooded, SCHEMA):
        problem = Problem.of(table, schema, MODELS)
        taken.append(best(partial(sf.Mondrian().partition, problem), 9))
    return Row(
        "Mondrian, cuts of 1M rows along hierarchies, against plain numbers",
        f"{taken[0]:.3f} s",
        f"{taken[1]:.3f} s",
        taken[0] / taken[1],
        2,
        at_most=True,
    )


def markdown() -> str:
    """Return the table of losses."""
    lines = ["| table | asked | hierarchies | plain numbers | ratio |", "|---|---|---|---|---|"]
    for name, words, ours, theirs in losses():
        lines.append(f"| {name} | {words} | {ours:.1%} | {theirs:.1%} | {ours / theirs:.2f} |")
    return "\n".join(lines) + "\n"


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
    Part("Mondrian along hierarchies", along_hierarchies),
    Part("cuts along hierarchies beside plain ones", lambda: [cuts_of_trees()]),
)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda marks: f"{marks[1]}{markdown()}{marks[2]}", text), encoding="utf-8")
