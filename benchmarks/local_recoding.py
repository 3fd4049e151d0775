"""Local recoding: the loss of released labels beside Mondrian, Optimal, ARX and a proven bound; a million rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import arx
import numpy as np
import polars as pl
from label_loss import label_loss
from lattice import QUASI, census
from measure import NotMeasuredError, Part, Row, data_folder

import sfumato as sf
from sfumato.evaluate.check import written_groups
from sfumato.evaluate.utility import utility
from sfumato.hierarchy import builders as build
from sfumato.models.base import Model
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.local_recoding.bound import by_leaves, cover_bound, pair_bound
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import penalties
from sfumato.tabular.local_recoding.prices import price_bound
from sfumato.tabular.problem import Problem

ABOVE = 1.1  # where prices aim: above the lowest loss that a search has found
WHOLE, FINEST = 100, 10_000  # ARX's iterations: as its own interface sets them, and as many as help


@dataclass(frozen=True, eq=False)
class Case:
    """A table with a hierarchy for every quasi-identifier, and the models that are asked for."""

    name: str
    table: sf.Table
    trees: Mapping[str, sf.Hierarchy]
    models: tuple[Model, ...]
    words: tuple[str, ...]  # the models as ARX's driver reads them
    sensitive: str | None = None

    @property
    def schema(self) -> sf.Schema:
        """The declaration of the columns."""
        columns = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in self.trees.items()}
        if self.sensitive is not None:
            columns[self.sensitive] = sf.Attribute(self.sensitive, sf.Role.SENSITIVE)
        return sf.Schema(columns, other="drop")


@dataclass(frozen=True)
class Outcome:
    """What a release lost by its labels and by our measure, the CPU seconds that it took, the models that it breaks."""

    loss: float
    ours: float
    seconds: float
    broken: str = ""

    def __str__(self) -> str:
        return f"{self.loss:.4f} (our NCP {self.ours:.4f}), {self.seconds:.1f} CPU s{self.broken}"


def adult(k: int) -> Case:
    """Return Adult's rows without missing values under k-anonymity."""
    table, trees = _adult()
    return Case(f"Adult, 8 columns, k={k}", table, trees, (sf.KAnonymity(k),), (f"k={k}",))


def adult_models(model: Model, word: str) -> Case:
    """Return Adult with occupation as the sensitive column, under k = 5 and one model more."""
    table, trees = _adult()
    del trees["occupation"]
    models, words = (sf.KAnonymity(5), model), ("k=5", word, "sensitive=occupation")
    return Case(f"Adult, 7 columns, k=5, {word}", table, trees, models, words, "occupation")


def ipums() -> Case:
    """Return the census of 1980 with eight columns of whole numbers."""
    frame = pl.read_csv(data_folder() / "ipums_1980_extract.csv")
    names = ("age", "sex", "race", "hispanic", "marstat", "educrec", "classwk", "vetstat")
    return _numbers("IPUMS, 8 columns, k=5", frame.select(names), {"age": [5, 10, 20], "educrec": [3]})


def bikes() -> Case:
    """Return the trips of Jersey City whose rider told a year of birth."""
    frame = pl.read_csv(data_folder() / "citibike_jersey_city_201509_201607.csv.gz", try_parse_dates=True)
    chosen = frame.drop_nulls("birth year").select(
        start=pl.col("start station id"),
        end=pl.col("end station id"),
        born=pl.col("birth year").cast(pl.Int64),
        gender=pl.col("gender"),
        hour=pl.col("starttime").dt.hour().cast(pl.Int64),
        day=pl.col("starttime").dt.weekday().cast(pl.Int64),
    )
    return _numbers("Citi Bike, 6 columns, k=5", chosen, {"born": [5, 10, 20], "hour": [3, 6, 12]})


def _adult() -> tuple[sf.Table, dict[str, sf.Hierarchy]]:
    folder = data_folder()
    frame = pl.read_csv(folder / "adult_train.csv.gz").select(QUASI)
    known = frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    paths = {name: folder / "adult_hierarchies" / f"{name}.csv" for name in QUASI}
    return sf.Table.from_frame(known), {name: sf.Hierarchy.from_csv(path) for name, path in paths.items()}


def _numbers(name: str, frame: pl.DataFrame, widths: Mapping[str, list[int]]) -> Case:
    """Return a case of whole numbers: intervals where widths are given, else single values."""
    trees = {}
    for column in frame.columns:
        values = frame[column].unique().sort().to_list()
        plain = build.flat([str(value) for value in values])
        trees[column] = build.intervals(values, widths[column]) if column in widths else plain
    return Case(name, sf.Table.from_frame(frame), trees, (sf.KAnonymity(5),), ("k=5",))


def released(case: Case, algorithm: PartitionAnonymizer) -> Outcome:
    """Return what an algorithm of ours loses, after one run on few rows that compiles it."""
    few = case.table.take(np.arange(case.table.rows) % 40 == 0)
    searches = isinstance(algorithm, sf.LocalRecoding)
    quick = sf.LocalRecoding(iterations=2_000, seconds=None) if searches else algorithm
    quick.anonymize(few, case.schema, list(case.models))
    start = time.process_time()
    release = algorithm.anonymize(case.table, case.schema, list(case.models))
    seconds = time.process_time() - start
    measured = utility(case.table, case.schema, release.table)
    return Outcome(label_loss(release.frame, case.trees), measured.gcp, seconds)


def by_arx(case: Case, iterations: int) -> Outcome:
    """Return what ARX loses, and whether its file keeps the models."""
    secret = [] if case.sensitive is None else [case.sensitive]
    frame, seconds = arx.recode(case.table.frame.select([*case.trees, *secret]), case.trees, iterations, *case.words)
    schema = sf.Schema(
        {name: column for name, column in case.schema.columns.items() if name in case.trees}, other="drop"
    )
    groups = written_groups(sf.Table(frame), list(case.trees), secret)
    reached = {model.name: model.measure(groups) for model in case.models if not model.holds(model.measure(groups))}
    broken = "".join(f"; its file breaks {name}, which is {value:.4g}" for name, value in reached.items())
    ncp = utility(case.table, schema, sf.Table(frame)).gcp
    return Outcome(label_loss(frame, case.trees), ncp, seconds, broken)


def less(name: str, ours: Outcome, others: str, theirs: Outcome) -> Row:
    """Return our loss as a share of another one; no goal where the other one breaks what was asked."""
    goal = None if theirs.broken else 1.0
    return Row(name, str(ours), f"{others}, {theirs}", ours.loss / theirs.loss, goal, at_most=True)


def beside_others(make: Callable[[], Case]) -> Iterator[Row]:
    """Yield the loss after 5 and after 60 seconds beside all others, and beside what is proven."""
    case = make()
    searched = {seconds: released(case, sf.LocalRecoding(seconds=seconds)) for seconds in (5, 60)}
    mondrian = released(case, sf.Mondrian())
    optimal = released(case, sf.Optimal(suppress=0.1, local=True))
    for seconds, found in searched.items():
        name = f"local recoding, {case.name}, {seconds} s"
        yield less(f"{name}, beside Mondrian", found, "Mondrian", mondrian)
        yield less(f"{name}, beside optimal --local", found, "optimal --local", optimal)
    for iterations in (WHOLE, FINEST):
        name = f"local recoding, {case.name}, 60 s, beside ARX in {iterations:,} steps"
        try:
            yield less(name, searched[60], "ARX", by_arx(case, iterations))
        except NotMeasuredError as problem:
            yield Row.missing(name, str(problem))
    yield from proven(case, searched[60])


def proven(case: Case, found: Outcome) -> Iterator[Row]:
    """Yield how far a loss is above what is proven, by pairs, by covers and by prices."""
    problem = Problem.of(case.table, case.schema, list(case.models))
    cells, least = Cells.of(problem), problem.least_units
    costs = by_leaves(penalties(problem.quasi), [len(column.levels) for column in problem.quasi])
    bounds = {
        "pairs": partial(pair_bound, cells, costs, least),
        "covers": partial(cover_bound, cells, costs, least),
        "prices": partial(price_bound, cells, costs, least, ABOVE * found.loss),
    }
    for name, bound in bounds.items():
        start = time.process_time()
        lowest = bound()
        text = f"proven by {name}, {lowest:.4f}, {time.process_time() - start:.0f} CPU s"
        title = f"local recoding, {case.name}, 60 s, above what is proven by {name}"
        yield Row(title, str(found), text, found.loss / lowest, None, at_most=True)


def million_rows() -> Iterator[Row]:
    """Yield time and loss on a million made-up rows, with hierarchies built by rule."""
    table, schema = census(1_000_000)
    trees = {name: column.hierarchy for name, column in schema.columns.items() if column.hierarchy is not None}
    case = Case("1,000,000 made-up rows, 4 columns, k=5", table, trees, (sf.KAnonymity(5),), ("k=5",))
    mondrian = released(case, sf.Mondrian())
    for seconds in (5, 60):
        found = released(case, sf.LocalRecoding(seconds=seconds))
        name = f"local recoding, {case.name}, {seconds} s"
        yield less(f"{name}, loss beside Mondrian", found, "Mondrian", mondrian)
        times = f"{found.seconds:.1f} CPU s", f"Mondrian, {mondrian.seconds:.1f} CPU s"
        yield Row(f"{name}, CPU seconds beside Mondrian", *times, found.seconds / mondrian.seconds, None, at_most=True)


CASES: tuple[Callable[[], Case], ...] = (
    *(partial(adult, k) for k in (5, 10, 50)),
    partial(adult_models, sf.LDiversity(3, "occupation"), "l=3"),
    partial(adult_models, sf.TCloseness(0.2, "occupation"), "t=0.2"),
    ipums,
    bikes,
)
PARTS = (
    *(Part(f"local recoding {number}", partial(beside_others, case)) for number, case in enumerate(CASES, start=1)),
    Part("local recoding on a million rows", million_rows),
)
