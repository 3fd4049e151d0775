"""Random small tables of every kind of column, for checks: nothing here needs a test framework."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl

from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

JOBS = Hierarchy.from_rows(
    [
        ("cook", "food", "*"),
        ("baker", "food", "*"),
        ("nurse", "care", "*"),
        ("doctor", "care", "*"),
        ("clerk", "office", "*"),
    ]
)
GRADES = ("low", "middle", "high")


def random_table(seed: int, rows: int) -> Table:
    """Return made-up people with numbers, dates, categories, a hierarchy, and missing values.

    >>> random_table(1, 3).names
    ('id', 'age', 'weight', 'born', 'sex', 'job', 'grade', 'disease', 'income')
    """
    draw = np.random.default_rng(seed)
    ages = draw.integers(18, 60, rows).astype(object)
    ages[draw.random(rows) < 0.1] = None
    day = dt.date(1990, 1, 1)
    return Table(
        pl.DataFrame(
            {
                "id": [f"p{number}" for number in draw.integers(0, max(1, rows * 2 // 3), rows)],
                "age": pl.Series(list(ages), dtype=pl.Int64),
                "weight": np.round(draw.normal(70, 12, rows), 1),
                "born": [day + dt.timedelta(days=int(days)) for days in draw.integers(0, 4000, rows)],
                "sex": draw.choice(["F", "M", "?"], p=[0.5, 0.45, 0.05], size=rows),
                "job": draw.choice(list(JOBS.leaves), size=rows),
                "grade": draw.choice(GRADES, size=rows),
                "disease": draw.choice(["flu", "gout", "asthma", "ulcer"], p=[0.4, 0.3, 0.2, 0.1], size=rows),
                "income": draw.integers(10, 40, rows) * 100,
            }
        )
    )


def random_schema(*, person: bool = False) -> Schema:
    """Return the schema of `random_table`; with `person`, rows with the same id are one person.

    >>> random_schema().names(Role.SENSITIVE)
    ('disease', 'income')
    """
    quasi = [
        Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)),
        Attribute("weight", Role.QUASI, Kind.NUMBER),
        Attribute("born", Role.QUASI, Kind.DATE),
        Attribute("sex", Role.QUASI, Kind.CATEGORY, missing=("?",)),
        Attribute("job", Role.QUASI, Kind.CATEGORY, hierarchy=JOBS),
        Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=GRADES),
    ]
    others = [
        Attribute("id", Role.IDENTIFIER),
        Attribute("disease", Role.SENSITIVE, Kind.CATEGORY),
        Attribute("income", Role.SENSITIVE, Kind.INTEGER),
    ]
    columns = {attribute.name: attribute for attribute in (*quasi, *others)}
    return Schema(columns, person="id" if person else None)
