"""Random whole questions in SQL over the schema of random expressions: keys, conditions, aggregates, inner SELECTs."""

from __future__ import annotations

from random import Random
from typing import Any

from random_expressions import COLUMNS, nasty_rows, random_condition, random_text
from random_expressions import SCHEMA as CELLS

from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.sql import parse_sql
from sfumato.errors import SfumatoError
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.schema import Attribute, Role, Schema

PERSONS = ("p1", "p2", "p3", "p4", "1:p", "é", None)
SCHEMA = Schema({**CELLS.columns, "person": Attribute("person", Role.IDENTIFIER)})
UNITS: tuple[Unit, ...] = (ProtectRows(), ProtectPersons("person", 2, 2), ProtectPersons("person", 1, 3))
KEYS = (
    "sex",
    "name",
    "EXTRACT(HOUR FROM start)",
    "EXTRACT(DOW FROM born)",
    "DATE_TRUNC('month', start)",
    "DATE_TRUNC('year', born)",
    "LEFT(sex, 1)",
    "LOWER(sex)",
    "SUBSTR(name, 1, 2)",
    "HISTOGRAM(age, 4)",
    "HISTOGRAM(fare * 2, 3)",
    "CASE WHEN age < 18 THEN 'young' WHEN age < 60 THEN 'grown' ELSE 'old' END",
    "FLOOR(age / 25)",
    "COALESCE(sex, 'none')",
    "born - DATE '1970-01-01' > 0",
)
FUNCTIONS = ("SUM", "AVG", "VAR_POP", "MIN", "MAX", "MEDIAN", "COUNT", "COUNT")


def people(random: Random, many: int) -> list[dict[str, Any]]:
    """Return nasty rows, each of a person or of nobody."""
    return [{**row, "person": random.choice(PERSONS)} for row in nasty_rows(random, many)]


def random_sql(random: Random, table: str) -> str:
    """Return a question as SQL; many are refused when they are compiled."""
    keys = random.sample(KEYS, random.choice((0, 0, 1, 1, 1, 2)))
    nested = random.random() < 0.3
    selected = [f"{_aggregate(random, nested=nested)} AS a{place}" for place in range(random.randint(1, 3))]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    where = f" WHERE {random_condition(random, 2)}" if random.random() < 0.5 else ""
    source = table
    if nested:
        inner = f" WHERE {random_condition(random, 1)}" if random.random() < 0.7 else ""
        source = f"(SELECT *, {random_text(random, 2, 'number')} AS made FROM {table}{inner}) AS t"  # noqa: S608
    return f"SELECT {', '.join([*keys, *selected])} FROM {source}{where}{group}"  # noqa: S608  # our own words


def _aggregate(random: Random, *, nested: bool) -> str:
    if nested and random.random() < 0.5:
        return f"{random.choice(FUNCTIONS)}(made)"
    form = random.random()
    if form < 0.2:
        return "COUNT(*)"
    if form < 0.35:
        kind = random.choice(sorted(COLUMNS))
        return f"COUNT(DISTINCT {random_text(random, 1, kind)})"
    kind = "number" if form < 0.85 else random.choice(("date", "timestamp"))
    function = random.choice(FUNCTIONS if kind == "number" else FUNCTIONS[3:])
    return f"{function}({random_text(random, random.randint(0, 2), kind)})"


def random_question(random: Random, table: str) -> tuple[str, Compiled]:
    """Return a question that is covered, as SQL and compiled."""
    while True:
        text, unit = random_sql(random, table), random.choice(UNITS)
        neighbours = random.choice(tuple(Neighbours))
        try:
            compiled = compile_query(parse_sql(text, table, list(SCHEMA.columns)), SCHEMA, unit, neighbours)
        except SfumatoError:
            continue
        if sum(getattr(getattr(one, "line", None), "grid", None) is not None for one in compiled.estimators) > 4:
            continue
        return text, compiled
