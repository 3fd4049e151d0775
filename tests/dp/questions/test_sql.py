"""Questions in SQL: what is read, and what is refused by the name of its clause."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.dp.questions.query import HistogramKey
from sfumato.dp.questions.sql import parse_sql
from sfumato.errors import InputError

REFUSED = {
    "SELECT COUNT(*) FROM rides ORDER BY 1": "ORDER BY",
    "SELECT COUNT(*) FROM rides LIMIT 3": "LIMIT",
    "SELECT hour, COUNT(*) FROM rides GROUP BY hour HAVING COUNT(*) > 3": "HAVING",
    "SELECT DISTINCT COUNT(*) FROM rides": "SELECT DISTINCT",
    "SELECT COUNT(*) FROM rides JOIN b USING (x)": "JOIN",
    "SELECT COUNT(*) FROM rides, b": "JOIN",
    "WITH a AS (SELECT 1) SELECT COUNT(*) FROM rides": "WITH",
    "SELECT COUNT(*) FROM rides UNION SELECT 1": "UNION",
    "SELECT COUNT(*) FROM (SELECT 1)": "SUBQUERY",
    "SELECT COUNT(*) FROM rides TABLESAMPLE (10)": "TABLESAMPLE",
    "SELECT COUNT(*) FROM other": "'other'",
    "SELECT COUNT(*) FROM rides AS r": "AS r",
    "SELECT COUNT(*) OVER () FROM rides": "OVER",
    "SELECT COUNT(*) FILTER (WHERE x > 1) FROM rides": "FILTER",
    "SELECT COUNT(*) FROM rides GROUP BY ROLLUP (x)": "ROLLUP",
    "SELECT COUNT(*) FROM rides GROUP BY 1": "GROUP BY has 1",
    "SELECT COUNT(*) FROM rides GROUP BY a, a": "twice",
    "SELECT COUNT(*) + 1 FROM rides": "COUNT(*) + 1",
    "SELECT SUM(x + 1) FROM rides": "x + 1",
    "SELECT SUM(DISTINCT x) FROM rides": "DISTINCT",
    "SELECT STDDEV(x) FROM rides": "VAR_POP",
    "SELECT VARIANCE(x) FROM rides": "VAR_POP",
    "SELECT COUNT(DISTINCT a, b) FROM rides": "DISTINCT a, b",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM rides": "DESC",
    "SELECT QUANTILE(x, 'a') FROM rides": "level",
    "SELECT * FROM rides": "*",
    "SELECT x, COUNT(*) FROM rides": "GROUP BY x",
    "SELECT x FROM rides GROUP BY x": "no aggregate",
    "SELECT COUNT(*)": "no table",
    "SELECT COUNT(* FROM rides": "not SQL",
    "DELETE FROM rides": "DELETE",
    "SELECT 1; SELECT 2": "SELECT, SELECT",
    "": "nothing",
    "(" * 3000: "not SQL",
    "SELECT " + "COUNT(*), " * 3000 + "COUNT(*) FROM rides": "long",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_covered_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_sql(text, "rides")
    assert REFUSED[text] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("SELECT COUNT(*) FROM rides", sf.count()),
        ("select count(*) from RIDES", sf.count()),
        ("SELECT COUNT(DISTINCT rider) FROM rides", sf.count_distinct("rider")),
        ("SELECT SUM(fare) FROM rides", sf.sum("fare")),
        ("SELECT AVG(fare) FROM rides", sf.mean("fare")),
        ("SELECT VAR_POP(fare) FROM rides", sf.variance("fare")),
        ("SELECT MIN(fare) FROM rides", sf.min("fare")),
        ("SELECT MAX(fare) FROM rides", sf.max("fare")),
        ("SELECT MEDIAN(fare) FROM rides", sf.median("fare")),
        ("SELECT QUANTILE(fare, 0.9) FROM rides", sf.quantile("fare", 0.9)),
        ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY fare) FROM rides", sf.quantile("fare", Fraction(1, 4))),
        ("SELECT hour, COUNT(*) FROM rides GROUP BY hour", sf.count().by("hour")),
        ("SELECT HISTOGRAM(age, 8), COUNT(*) FROM rides GROUP BY HISTOGRAM(age, 8)", sf.histogram("age", 8)),
        ("SELECT COUNT(*), AVG(fare) FROM rides", sf.count().also(sf.mean("fare"))),
        ('SELECT "a b", COUNT(*) FROM rides GROUP BY "a b"', sf.count().by("a b")),
    ],
)
def test_sql_reads_into_the_same_data_as_python(text: str, wanted: object) -> None:
    assert parse_sql(text, "rides") == wanted


def test_an_alias_names_the_column_and_changes_nothing_else() -> None:
    plain = parse_sql("SELECT COUNT(*) FROM rides", "rides")
    named = parse_sql("SELECT COUNT(*) AS n FROM rides", "rides")
    assert named.aggregates[0].label == "n"
    assert named.aggregates[0].text == plain.aggregates[0].text


def test_a_condition_is_kept_as_text() -> None:
    read = parse_sql("SELECT COUNT(*) FROM rides WHERE gender = 2 AND age < 30 -- young", "rides")
    assert read.condition == "gender = 2 AND age < 30"


def test_bins_are_checked() -> None:
    assert HistogramKey("age", (0.0, 5.0)).text == "age/(0.0, 5.0)"
    for wrong in (0, -1, (1.0,), (2.0, 1.0), (1.0, 1.0)):
        with pytest.raises(Exception, match="bins of 'age'"):
            HistogramKey("age", wrong)
