"""Tables and queries of the composition experiment, and the errors of counts: k-anonymous, noisy, and both.

Pereira 2014, sections 4.1 and 4.3, figures 2 to 13, and section 5.3, figures 16 and 17. The dissertation's rows are not
public: its census is drawn again, and the IPUMS extract of 1980 stands for SAL-50k. Salaries are even in paper mode,
since its errors of noise alone, about 10/1080 at ε=0.1, are those of counts of 10,000·0.6·0.5·0.6·0.6 rows; the
library's own census has skewed ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from sfumato.evaluate.calibration import Calibration
from sfumato.evaluate.workload import WAYS, Floats, Workload
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.hierarchy.builders import custom_intervals
from sfumato.models.k_anonymity import KAnonymity
from sfumato.random import SeededSource
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.table.samples import census_10k
from sfumato.tabular.mondrian import Mondrian

CENSUS, SKEWED = "census-10k", "census-10k, skewed salaries"
IPUMS, IPUMS_QUASI = "IPUMS", "IPUMS, quasi-identifiers"
EXTRACT = "ipums_1980_extract.csv"
SALARIES, INCOMES, BANDS = (10_009, 300_057), (-9_995, 75_000), 50
QUASI = {
    CENSUS: {"age": (20, 69), "sex": (1, 2), "zip": (20_000, 69_000)},
    IPUMS: {"age": (15, 90), "sex": (1, 2), "marstat": (1, 5), "educrec": (1, 9)},
}
STEPS = {"age": (5, 10, 20), "sex": (), "zip": (5_000, 10_000, 20_000), "marstat": (2,), "educrec": (2, 4)}
SALARY_STEPS = {CENSUS: (29_005, 145_025), IPUMS: (5, 10, 20)}
EPSILONS = (0.1, 0.05, 0.01, 0.005, 0.001)
ONE = Calibration("one row", 1, "One person moves a count by one; true on exact rows alone.")


@dataclass(frozen=True, eq=False)
class KnownTable:
    """A table with its public schema.

    >>> people = known_table(Data(None), CENSUS, 2014)
    >>> people.table.rows, people.schema.names(Role.QUASI)
    (10000, ('age', 'sex', 'zip'))
    """

    table: Table
    schema: Schema


@lru_cache(maxsize=8)
def known_table(data: Data, name: str, seed: int) -> KnownTable:
    """Return a table by its name; the census is drawn from the seed.

    >>> known_table(Data(None), SKEWED, 2014).table.frame.equals(census_10k())
    True
    """
    columns = {
        column: Attribute(column, _role(column), Kind.INTEGER, bounds=ends) for column, ends in bounds(name).items()
    }
    frame = _extract(data) if base_table(name) == IPUMS else _census(seed, even=name == CENSUS)
    return KnownTable(Table(frame.select(list(columns))), Schema(columns))


def base_table(name: str) -> str:
    """Return which of the two tables a name is a variant of.

    >>> base_table(IPUMS_QUASI), base_table(SKEWED)
    ('IPUMS', 'census-10k')
    """
    return IPUMS if name.startswith(IPUMS) else CENSUS


def bounds(name: str) -> dict[str, tuple[int, int]]:
    """Return the public bounds of a table's columns.

    >>> bounds(IPUMS)["salary"], "salary" in bounds(IPUMS_QUASI)
    ((1, 50), False)
    """
    salary = {} if name == IPUMS_QUASI else {"salary": SALARIES if base_table(name) == CENSUS else (1, BANDS)}
    return QUASI[base_table(name)] | salary


@lru_cache(maxsize=4)
def with_levels(name: str) -> Schema:
    """Return a table's schema with public steps of generalisation on every column, for full-domain recoding.

    >>> with_levels(IPUMS_QUASI).columns["marstat"].hierarchy.paths[4]
    ('5', '5', '*')
    """
    return Schema({column: _with_steps(column, ends, base_table(name)) for column, ends in bounds(name).items()})


@lru_cache(maxsize=16)
def workload(data: Data, name: str, range_ratio: float, queries: int, seed: int) -> Workload:
    """Return the queries on a table, their truth counted once.

    >>> workload(Data(None), CENSUS, 0.6, 20, 2014).count
    20
    """
    people = known_table(data, name, seed)
    return Workload.draw(people.table, people.schema, count=queries, range_ratio=range_ratio, seed=seed)


@lru_cache(maxsize=8)
def anonymous(data: Data, name: str, k: int, seed: int) -> Table:
    """Return the table k-anonymised by Mondrian.

    >>> anonymous(Data(None), CENSUS, 10, 2014).rows
    10000
    """
    people = known_table(data, name, seed)
    return Mondrian().anonymize(people.table, people.schema, [KAnonymity(k)]).table


def _role(column: str) -> Role:
    return Role.SENSITIVE if column == "salary" else Role.QUASI


def _census(seed: int, *, even: bool) -> pl.DataFrame:
    frame = census_10k(seed=seed)
    if not even:
        return frame
    draw = np.random.default_rng([seed, 1])
    return frame.with_columns(salary=pl.Series(draw.integers(*SALARIES, frame.height, endpoint=True)))


def _extract(data: Data) -> pl.DataFrame:
    """Return the extract with incomes in fifty bands of the same width, as SAL-50k has its salaries."""
    low, high = INCOMES
    width = -(-(high - low + 1) // BANDS)
    return data.frame(EXTRACT).with_columns(salary=(pl.col("inctot") - low) // width + 1)


def _with_steps(column: str, ends: tuple[int, int], table: str) -> Attribute:
    low, high = ends
    steps = SALARY_STEPS[table] if column == "salary" else STEPS[column]
    if not steps:
        return Attribute(column, _role(column), Kind.INTEGER, bounds=ends)
    values = range(low, high + 1, 1000 if column == "zip" else 1)
    hierarchy = custom_intervals(list(values), [list(range(low, high + 1, step)) for step in steps])
    return Attribute(column, _role(column), Kind.INTEGER, hierarchy=hierarchy)


def anonymity(data: Data, *, table: str, k: int, range_ratio: float, queries: int, seed: int) -> Iterable[Row]:
    """Return the errors of a k-anonymous table in three ways of counting, without noise and with it.

    >>> rows = list(anonymity(Data(None), table="census-10k", k=10, range_ratio=0.6, queries=50, seed=2014))
    >>> len(rows), rows[0]["counting"], rows[0]["error"] < 0.2
    (18, 'inclusion', True)
    """
    asked, released = workload(data, table, range_ratio, queries, seed), anonymous(data, table, k, seed)
    for counting in WAYS:
        answers = asked.answers(released, counting)
        yield {"counting": counting, "epsilon": None, **_error_measures(asked, answers)}
        yield from ({"counting": counting, **row} for row in _noisy_errors(asked, answers, seed))


def noise(data: Data, *, table: str, range_ratio: float, queries: int, seed: int) -> Iterable[Row]:
    """Return the errors of true counts with Laplace noise of scale 1/ε, each query charged ε of its own.

    >>> rows = list(noise(Data(None), table="census-10k", range_ratio=0.6, queries=50, seed=2014))
    >>> [row["epsilon"] for row in rows] == list(EPSILONS)
    True
    """
    asked = workload(data, table, range_ratio, queries, seed)
    return _noisy_errors(asked, asked.truth, seed)


def distribution(
    data: Data, *, table: str, k: int, counting: str, range_ratio: float, queries: int, seed: int
) -> Iterable[Row]:
    """Return how many queries err by how many per cent, rounded down.

    >>> case = {"table": "census-10k", "k": 10, "counting": "expected", "range_ratio": 0.6, "queries": 50, "seed": 2014}
    >>> sum(row["queries counted"] for row in distribution(Data(None), **case))
    50
    """
    asked = workload(data, table, range_ratio, queries, seed)
    way = next(way for way in WAYS if way == counting)
    errors = asked.relative_errors(asked.answers(anonymous(data, table, k, seed), way))
    counts = np.bincount((100 * errors).astype(np.int64))
    return [{"per cent": place, "queries counted": int(count)} for place, count in enumerate(counts)]


def _noisy_errors(asked: Workload, answers: Floats, seed: int) -> Iterator[dict[str, Any]]:
    for place, epsilon in enumerate(EPSILONS):
        noisy = ONE.noisy(answers, epsilon, SeededSource(1000 * seed + place))
        yield {"epsilon": epsilon, **_error_measures(asked, noisy)}


def _error_measures(asked: Workload, answers: Floats) -> dict[str, float]:
    errors = asked.relative_errors(answers)
    return {"error": float(errors.mean()), "sd": float(errors.std()), "largest": float(errors.max())}
