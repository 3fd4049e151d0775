"""Random expressions as SQL, with a schema and nasty rows: for this suite, and for random whole questions."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

from sfumato.dp.questions.expression import Predicate, Value
from sfumato.dp.questions.predicate import parse_predicate, parse_value
from sfumato.errors import InputError
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    {
        "id": Attribute("id", Role.OTHER, Kind.INTEGER, bounds=(0, 999)),
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 99)),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(-20.5, 80.25)),
        "weight": Attribute("weight", Role.OTHER, Kind.NUMBER),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("Female", "Male", "Été %_'x")),
        "name": Attribute("name", Role.OTHER, Kind.TEXT),
        "born": Attribute("born", Role.QUASI, Kind.DATE, bounds=(dt.date(1960, 2, 29), dt.date(2020, 12, 30))),
        "joined": Attribute("joined", Role.OTHER, Kind.DATE),
        "start": Attribute(
            "start", Role.OTHER, Kind.TIMESTAMP, bounds=(dt.datetime(1969, 6, 1, 7), dt.datetime(1971, 6, 30, 18, 30))
        ),
        "stop": Attribute("stop", Role.OTHER, Kind.TIMESTAMP),
    }
)
NUMBERS = {
    "age": (None, 0.0, 1.0, 17.0, 50.0, 98.0, 99.0, 100.0, -5.0, 9e18),
    "fare": (None, -20.5, -0.5, 0.0, 1e-200, 0.5, 2.5, 2.675, 80.25, 1e240, -1e240, 33.333333333333336),
    "weight": (None, 0.0, -0.5, 1.5, 70.25, 123456.789, 1e200, -1e15),
}
TEXTS = {
    "sex": (None, "Female", "Male", "Été %_'x", "other", "a word that is too long"),
    "name": (None, "a", "  Ab ", "it's", "50%", "É_Ωж", "ςσ ẞß", "🙂é🙂", "12", "-7.5", "2020-02-29", "İıſ", 'q"\\'),
}
DAYS = (
    None,
    *(dt.date(*day) for day in ((1, 1, 1), (1, 12, 31), (1600, 2, 29), (1900, 2, 28), (1960, 2, 29), (1969, 12, 31))),
    *(
        dt.date(*day)
        for day in ((1970, 1, 1), (2000, 2, 29), (2004, 12, 31), (2009, 1, 1), (2020, 12, 31), (2021, 1, 3))
    ),
    *(dt.date(*day) for day in ((2100, 2, 28), (9999, 1, 31), (9999, 12, 31))),
)
NEAR = (
    None,
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1),
    dt.datetime(1970, 1, 31, 12, 30, 0, 123456),
    dt.datetime(1971, 6, 30, 18, 30, 0, 1),
    dt.datetime(2016, 2, 29, 0, 0, 59, 500000),
    dt.datetime(2024, 12, 31, 23, 0),
)
FAR = (dt.datetime(1, 1, 1), dt.datetime(1, 12, 31, 23, 59, 59), dt.datetime(9999, 12, 31, 23, 59, 59), None)
PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", "EPOCH")
CLOCK = ("HOUR", "MINUTE", "SECOND")
PERIODS = ("week", "month", "quarter", "year")
LENGTHS = ("'1 month'", "'13 months'", "'1 year'", "'3 days'", "'-2 weeks'", "'90 minutes'", "'1 year 1 day 1 second'")


def seeded(seed: int) -> Random:
    """Return a source of expressions that gives the same ones again."""
    return Random(seed)  # noqa: S311  # nothing here is secret


def nasty_rows(random: Random, many: int) -> list[dict[str, Any]]:
    """Return rows of Python values: missing, out of bounds, leap days, first and last years, strange texts.

    Times of one row are either near, with microseconds, or far, in whole seconds: a double holds no more.
    """
    rows = []
    for place in range(many):
        row: dict[str, Any] = {"id": float(place)}
        row |= {name: random.choice(pool) for name, pool in (NUMBERS | TEXTS).items()}
        row |= {name: random.choice(DAYS) for name in ("born", "joined")}
        times = random.choice((NEAR, NEAR, FAR))
        rows.append(row | {name: random.choice(times) for name in ("start", "stop")})
    return rows


def random_text(random: Random, depth: int, kind: str | None = None) -> str:
    """Return an expression of a kind (number, text, date, timestamp) as SQL; a few are refused when they are read."""
    kind = kind or random.choice(("number", "number", "text", "date", "timestamp"))
    if depth <= 0 or random.random() < 0.15:
        return random.choice(LEAVES[kind])
    if random.random() < 0.25:
        return _choice(random, depth, kind)
    return {"number": _number, "text": _text, "date": _date, "timestamp": _timestamp}[kind](random, depth - 1)


def random_condition(random: Random, depth: int) -> str:  # noqa: PLR0911  # one for each form
    """Return a condition as SQL; a few are refused when they are read."""
    form = random.choice(("compare", "compare", "in", "null", "like", "and", "or", "not", "between"))
    if form in {"and", "or"} and depth > 0:
        return f"({random_condition(random, depth - 1)} {form} {random_condition(random, depth - 1)})"
    if form == "not" and depth > 0:
        return f"NOT ({random_condition(random, depth - 1)})"
    kind = random.choice(("number", "text", "date", "timestamp"))
    value = random_text(random, depth - 1, kind)
    if form == "null":
        return f"{value} IS {random.choice(('', 'NOT '))}NULL"
    if form == "like" and kind == "text":
        return f"{value} LIKE {random.choice(_QUOTED)}"
    if form == "in":
        return f"{value} IN ({', '.join(random.choice(CONSTANTS[kind]) for _ in range(3))})"
    if form == "between":
        return f"{value} BETWEEN {random.choice(CONSTANTS[kind])} AND {random_text(random, depth - 1, kind)}"
    return f"{value} {random.choice(('<', '<=', '>', '>=', '=', '<>'))} {random_text(random, depth - 1, kind)}"


def random_value(random: Random, schema: Schema = SCHEMA, depth: int = 4) -> Value:
    """Return an expression that is covered, read against a schema with the columns of this one."""
    while True:
        try:
            return parse_value(random_text(random, depth), schema)
        except InputError:
            continue


def random_predicate(random: Random, schema: Schema = SCHEMA, depth: int = 3) -> Predicate:
    """Return a condition that is covered."""
    while True:
        try:
            return parse_predicate(random_condition(random, depth), schema)
        except InputError:
            continue


_QUOTED = ("'a%'", "'%e'", "'_'", "'%''%'", "'é%'", "'F%'", "''")
CONSTANTS = {
    "number": ("0", "1", "2.5", "-3", "17", "0.1", "1e6", "23"),
    "text": ("'Male'", "'female'", "'x'", "''", "'it''s'", "'É%'", "'50%'", "'12'", "'2020-02-29'"),
    "date": ("DATE '1970-01-01'", "DATE '2000-02-29'", "DATE '1999-12-31'", "DATE '2004-12-31'"),
    "timestamp": ("TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1971-01-31 23:59:59'"),
}
COLUMNS = {
    "number": ("age", "fare", "weight"),
    "text": ("sex", "name"),
    "date": ("born", "joined"),
    "timestamp": ("start", "stop"),
}
LEAVES = {kind: (*COLUMNS[kind], *COLUMNS[kind], *COLUMNS[kind], *CONSTANTS[kind]) for kind in COLUMNS}


def _choice(random: Random, depth: int, kind: str) -> str:
    def inner() -> str:
        return random_text(random, depth - 1, kind)

    functions = ["COALESCE", "NULLIF", "CASE", "IF", *(["LEAST", "GREATEST"] if kind != "text" else [])]
    form = random.choice(functions)
    if form == "CASE":
        tests = [f"WHEN {random_condition(random, depth - 2)} THEN {inner()}" for _ in range(random.randint(1, 2))]
        return f"CASE {' '.join(tests)}{random.choice(('', ' ELSE NULL', f' ELSE {inner()}'))} END"
    if form == "IF":
        return f"CASE {inner()} WHEN {random.choice(CONSTANTS[kind])} THEN {inner()} ELSE {inner()} END"
    return f"{form}({inner()}, {inner()})"


def _number(random: Random, depth: int) -> str:  # noqa: PLR0911  # one for each form
    form = random.choice(("sign", "sign", "function", "round", "mod", "part", "part", "clock", "between", "text"))
    if form == "sign":
        one, other = random_text(random, depth, "number"), random_text(random, depth, "number")
        return f"({one} {random.choice('+-*/')} {other})"
    if form == "function":
        return f"{random.choice(('ABS', 'FLOOR', 'CEIL', '-'))}({random_text(random, depth, 'number')})"
    if form == "round":
        return f"ROUND({random_text(random, depth, 'number')}, {random.choice((-1, 0, 1, 2))})"
    if form == "mod":
        return f"MOD({random_text(random, depth, 'number')}, {random.choice((2, 7, -3))})"
    if form == "part":
        kind = random.choice(("date", "timestamp"))
        return f"EXTRACT({random.choice(PARTS)} FROM {random_text(random, depth, kind)})"
    if form == "clock":
        return f"EXTRACT({random.choice(CLOCK)} FROM {random_text(random, depth, 'timestamp')})"
    if form == "between":
        kind = random.choice(("date", "timestamp"))
        return f"({random_text(random, depth, kind)} - {random_text(random, depth, kind)})"
    text = random_text(random, depth, "text")
    return random.choice((f"LENGTH({text})", f"CAST({text} AS INTEGER)", f"CAST({text} AS DOUBLE PRECISION)"))


def _text(random: Random, depth: int) -> str:
    inner = random_text(random, depth, "text")
    first, second = random.randint(1, 3), random.randint(0, 4)
    return random.choice(
        (
            f"LOWER({inner})",
            f"UPPER({inner})",
            f"TRIM({inner})",
            f"LEFT({inner}, {second})",
            f"RIGHT({inner}, {second})",
            f"SUBSTR({inner}, {first})",
            f"SUBSTRING({inner} FROM {first} FOR {second})",
            f"(LEFT({inner}, 5) || {random_text(random, depth, 'text')})",
            f"CONCAT(sex, LEFT({inner}, 3))",
        )
    )


def _date(random: Random, depth: int) -> str:
    inner, sign = random_text(random, depth, "date"), random.choice("+-")
    return random.choice(
        (
            f"DATE_TRUNC('{random.choice(PERIODS)}', {inner})",
            f"({inner} {sign} INTERVAL {random.choice(LENGTHS[:5])})",
            f"({inner} {sign} {random.randint(0, 400)})",
            f"({inner} {sign} FLOOR({random_text(random, depth, 'number')}))",
            f"CAST({random_text(random, depth, 'timestamp')} AS DATE)",
            f"CAST({random_text(random, depth, 'text')} AS DATE)",
        )
    )


def _timestamp(random: Random, depth: int) -> str:
    inner, sign = random_text(random, depth, "timestamp"), random.choice("+-")
    return random.choice(
        (
            f"DATE_TRUNC('{random.choice((*PERIODS, 'minute', 'hour', 'day'))}', {inner})",
            f"({inner} {sign} INTERVAL {random.choice(LENGTHS)})",
            f"({random_text(random, depth, 'date')} {sign} INTERVAL '7 hours')",
            f"CAST({random_text(random, depth, 'date')} AS TIMESTAMP)",
        )
    )
