"""The size of the SQL of a question: engines take what is short."""

from __future__ import annotations

import datetime as dt

import pytest

import sfumato as sf
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.rows.dialect import DUCKDB, StorageType
from sfumato.dp.rows.statement import SqlTable, Statement
from sfumato.errors import SchemaError
from sfumato.promise.unit import Neighbours, ProtectRows


def size_of(unit: str, first: dt.datetime, last: dt.datetime) -> int:
    """Return the characters of the SQL that groups times by their periods."""
    schema = sf.Schema({"start": sf.Attribute("start", sf.Role.OTHER, sf.Kind.TIMESTAMP, bounds=(first, last))})
    query = sf.count().by(sf.col("start").truncate(unit))
    request = compile_query(query, schema, ProtectRows(), Neighbours.PRESENCE).request(b"")
    return len(Statement(request, schema, SqlTable("rides", {"start": StorageType.MOMENT}), DUCKDB).sql)


def test_many_periods_make_no_long_statement() -> None:
    """A search among half a million minutes was so long that the engine took all memory."""
    for unit, days in (("minute", 30), ("hour", 9_000), ("day", 99_999), ("week", 99_999)):
        assert size_of(unit, dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1) + dt.timedelta(days=days)) < 1_000
    assert size_of("month", dt.datetime(2000, 1, 1), dt.datetime(2800, 1, 1)) < 2_000_000
    with pytest.raises(SchemaError, match="more than 10000 MONTHs between its bounds"):
        size_of("month", dt.datetime(1000, 1, 1), dt.datetime(2800, 1, 1))
