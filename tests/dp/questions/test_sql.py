"""Questions in SQL: what is read, and what is refused by the name of its clause."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.presentation import Ordering, Presentation
from sfumato.dp.questions.query import key_labels
from sfumato.dp.questions.sql import parse_sql
from sfumato.errors import InputError
from sfumato.promise.unit import Neighbours
from sfumato.schema import Attribute, Kind, Role, Schema

REFUSED = {
    "SELECT COUNT(*) FROM rides ORDER BY 2": "which has 1",
    "SELECT COUNT(*) FROM rides ORDER BY x": "no column of the answer; it has count",
    "SELECT COUNT(*) FROM rides ORDER BY SUM(x)": "SUM(x), which is not selected",
    "SELECT COUNT(*) FROM rides ORDER BY COUNT(*) + 1": "COUNT(*) + 1",
    "SELECT COUNT(*) FROM rides LIMIT -3": "LIMIT -3",
    "SELECT COUNT(*) FROM rides LIMIT ALL": "LIMIT",
    "SELECT COUNT(*) FROM rides LIMIT 1 + 1": "1 + 1",
    "SELECT COUNT(*) FROM rides LIMIT 1" + "0" * 18: "18 digits",
    "SELECT COUNT(*) FROM rides LIMIT 3 OFFSET x": "OFFSET",
    "SELECT COUNT(*) FROM rides FETCH FIRST 3 ROWS WITH TIES": "TIES",
    "SELECT hour, COUNT(*) FROM rides GROUP BY hour HAVING SUM(x) > 3": "SUM(x), which is not selected",
    "SELECT hour, COUNT(*) FROM rides GROUP BY hour HAVING age > 3": "age, which is no column of the answer",
    "SELECT COUNT(*) FROM rides HAVING count > 1" + " + 1" * 600: "HAVING has more than 500",
    "SELECT DISTINCT COUNT(*) FROM rides": "SELECT DISTINCT",
    "SELECT COUNT(*) FROM rides JOIN b USING (x)": "joins 'b'",
    "SELECT COUNT(*) FROM rides, b": "joins 'b'",
    "WITH a AS (SELECT 1) SELECT COUNT(*) FROM a": "no table",
    "WITH a AS (SELECT x FROM rides) SELECT COUNT(*) FROM rides": "'a'",
    "WITH a AS (SELECT x FROM rides), a AS (SELECT x FROM rides) SELECT COUNT(*) FROM a": "twice",
    "WITH RECURSIVE a AS (SELECT x FROM a) SELECT COUNT(*) FROM a": "RECURSIVE",
    "WITH a (y) AS (SELECT x FROM rides) SELECT COUNT(*) FROM a": "columns beside 'a'",
    "WITH a AS (SELECT x FROM b), b AS (SELECT x FROM rides) SELECT COUNT(*) FROM a": "'b'",
    "SELECT COUNT(*) FROM rides UNION SELECT 1": "UNION",
    "SELECT COUNT(*) FROM (SELECT x + 1 FROM rides)": "without a name",
    "SELECT COUNT(*) FROM (SELECT 1 AS x)": "no table",
    "SELECT COUNT(*) FROM (SELECT x FROM rides UNION SELECT y FROM rides) AS t": "an inner SELECT may",
    "SELECT COUNT(*) FROM (SELECT DISTINCT x FROM rides) AS t": "SELECT DISTINCT",
    "SELECT COUNT(*) FROM (SELECT x FROM rides ORDER BY x) AS t": "ORDER BY",
    "SELECT COUNT(*) FROM (SELECT x FROM rides LIMIT 3) AS t": "LIMIT",
    "SELECT COUNT(*) FROM (SELECT SUM(x) AS s FROM rides) AS t": "SUM(x)",
    "SELECT COUNT(*) FROM (SELECT x, ROW_NUMBER() OVER () AS n FROM rides) AS t": "ROW_NUMBER",
    "SELECT COUNT(*) FROM (SELECT x, y, COUNT(*) AS n FROM rides GROUP BY x, y) AS t": "group by the person alone",
    "SELECT COUNT(*) FROM (SELECT x, y AS x FROM rides) AS t": "two columns 'x'",
    "SELECT COUNT(*) FROM (SELECT x + 1 FROM rides) AS t": "AS x_plus_1",
    "SELECT COUNT(y) FROM (SELECT x FROM rides) AS t": "'y'",
    "SELECT COUNT(*) FROM (SELECT x FROM rides) AS t WHERE rides.x > 1": "t.x",
    "SELECT COUNT(*) FROM (SELECT b.* FROM rides) AS t": "b.*",
    "SELECT COUNT(*) FROM rides WHERE x IN (SELECT x FROM rides)": "SELECT x",
    "SELECT COUNT(*) FROM rides WHERE COUNT(*) > 1": "COUNT(*)",
    "SELECT COUNT(*) FROM rides TABLESAMPLE (10)": "TABLESAMPLE",
    "SELECT COUNT(*) FROM other": "'other'",
    "SELECT COUNT(*) FROM public.rides": "public.rides",
    "SELECT COUNT(*) FROM rides AS r WHERE rides.x > 1": "r.x",
    "SELECT COUNT(*) FROM rides WHERE s.rides.x > 1": "s.rides.x",
    "SELECT COUNT(*) OVER () FROM rides": "OVER",
    "SELECT COUNT(*) FILTER (WHERE x > 1) FROM rides": "FILTER",
    "SELECT COUNT(*) FROM rides GROUP BY ROLLUP (x)": "ROLLUP",
    "SELECT COUNT(*) FROM rides GROUP BY ALL": "ALL",
    "SELECT COUNT(*) FROM rides GROUP BY 1": "GROUP BY has 1",
    "SELECT x, COUNT(*) FROM rides GROUP BY 3": "GROUP BY has 3",
    "SELECT COUNT(*) AS n FROM rides GROUP BY n": "an aggregate",
    "SELECT COUNT(*) FROM rides GROUP BY a, a": "twice",
    "SELECT COUNT(*) FROM rides GROUP BY a + 1, (a+1)": "twice",
    "SELECT x AS a, x AS b, COUNT(*) FROM rides GROUP BY x": "select it once",
    "SELECT COUNT(*) + 1 FROM rides": "COUNT(*) + 1",
    "SELECT SUM(AVG(x)) FROM rides": "AVG(x) inside",
    "SELECT SUM(DISTINCT x) FROM rides": "DISTINCT",
    "SELECT STDDEV(x) FROM rides": "VAR_POP",
    "SELECT VARIANCE(x) FROM rides": "VAR_POP",
    "SELECT COUNT(DISTINCT a, b) FROM rides": "DISTINCT a, b",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM rides": "DESC",
    "SELECT QUANTILE(x, 'a') FROM rides": "level",
    "SELECT HISTOGRAM(x) FROM rides": "HISTOGRAM(column, bins)",
    "SELECT * FROM rides": "*",
    "SELECT x, COUNT(*) FROM rides": "GROUP BY x",
    "SELECT x + 1, COUNT(*) FROM rides GROUP BY x": "GROUP BY x + 1",
    "SELECT x FROM rides GROUP BY x": "no aggregate",
    "SELECT COUNT(*)": "no table",
    "SELECT COUNT(* FROM rides": "not SQL",
    "DELETE FROM rides": "DELETE",
    "SELECT 1; SELECT 2": "SELECT, SELECT",
    "": "nothing",
    "(" * 3000: "not SQL",
    "SELECT " + "COUNT(*), " * 3000 + "COUNT(*) FROM rides": "long",
    "SELECT COUNT(*) FROM " + "(SELECT x FROM " * 12 + "rides" + ") AS t" * 12: "deep",
    "SELECT SUM(x" + " + 1" * 3000 + ") FROM rides": "parts",
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


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("SELECT SUM(fare * 2) FROM rides", ["fare * 2"]),
        ("SELECT SUM((fare*2)), AVG(fare * 2), MEDIAN(rides.fare * 2) FROM rides", ["fare * 2"]),
        ("SELECT SUM(d) FROM (SELECT fare * 2 AS d FROM rides) AS t", ["fare * 2"]),
        ("WITH t AS (SELECT fare * 2 AS d FROM rides) SELECT SUM(D) FROM T", ["fare * 2"]),
        ("SELECT CAST(start AS DATE) AS day, COUNT(*) FROM rides GROUP BY day", ["CAST(start AS DATE)"]),
        ("SELECT start::date AS day, COUNT(*) FROM rides GROUP BY 1", ["CAST(start AS DATE)"]),
        ("SELECT COUNT(*) FROM rides GROUP BY CAST(start AS DATE)", ["CAST(start AS DATE)"]),
        ("SELECT HISTOGRAM(fare * 2, 8), COUNT(*) FROM rides GROUP BY 1", ["fare * 2"]),
        ("SELECT SUM(e + 1) FROM (SELECT d AS e FROM (SELECT fare * 2 AS d FROM rides) AS t) AS u", ["(fare * 2) + 1"]),
        ("SELECT SUM(fare) FROM rides WHERE fare * 2 > 3", []),
        ("SELECT SUM(f) FROM (SELECT fare AS f FROM rides) AS t", []),
    ],
)
def test_what_is_computed_is_one_column_named_by_its_own_sql(text: str, wanted: list[str]) -> None:
    assert [column.name for column in parse_sql(text, "rides").derived] == wanted


def test_names_given_with_as_are_no_part_of_the_question() -> None:
    text = "SELECT CAST(start AS DATE) AS {0}, SUM(fare * 2) AS {1} FROM rides GROUP BY {0}"
    first, second = (parse_sql(text.format(*names), "rides") for names in (("day", "money"), ("d", "m")))
    assert (first.keys, first.derived) == (second.keys, second.derived)
    assert [entry.text for entry in first.aggregates] == ["sum(fare * 2)"] == [one.text for one in second.aggregates]
    assert key_labels(first) == ["day"]
    assert first.aggregates[0].label == "money"


def test_computed_columns_without_a_name_are_called_by_their_words() -> None:
    read = parse_sql("SELECT AVG(fare * 2), COUNT(*) FROM rides GROUP BY CAST(start AS DATE)", "rides")
    assert key_labels(read) == ["start_as_date"]
    assert [entry.label for entry in read.aggregates] == ["mean_fare_times_2", "count"]


@pytest.mark.parametrize("name", ["order", "group", "select", "Größe", "日", 'a "b" c', "a.b", "from", "1st", "x;--"])
def test_any_name_can_stand_in_quotes_in_every_place(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    text = f"SELECT {quoted}, AVG({quoted} * 2) FROM rides r WHERE r.{quoted} > 3 GROUP BY {quoted}"  # noqa: S608
    read = parse_sql(text, "rides", [name, "other"])
    schema = Schema({name: Attribute(name, Role.OTHER, Kind.INTEGER, bounds=(0, 9))})
    compiled = compile_query(read, schema, sf.ProtectRows(), Neighbours.PRESENCE)
    assert read.keys == (name,)
    assert compiled.predicate is not None
    assert compiled.predicate.columns == (name,)
    assert compiled.stages[0].uses == (name,)


def test_words_of_sql_may_name_columns_without_quotes() -> None:
    read = parse_sql("SELECT order, COUNT(*) FROM rides WHERE order > 3 GROUP BY order", "rides")
    assert (read.keys, read.condition) == (("order",), '"order" > 3')


def test_names_without_quotes_are_spelled_as_declared_everywhere() -> None:
    declared = ["Hour", "fare", "FARE2"]
    read = parse_sql("SELECT HOUR, SUM(FARE + fare2) FROM RIDES R WHERE r.hour > 3 GROUP BY hour", "rides", declared)
    assert read.keys == ("Hour",)
    assert read.derived[0].name == 'fare + "FARE2"'
    assert read.condition == '"Hour" > 3'
    two = parse_sql("SELECT COUNT(*) FROM rides GROUP BY X", "rides", ["x", "X"])
    assert two.keys == ("X",)


def test_a_column_of_the_table_comes_before_a_name_of_the_list() -> None:
    text = "SELECT city AS fare, COUNT(*) FROM rides GROUP BY fare"
    assert parse_sql(text, "rides").keys == ("city",)
    with pytest.raises(InputError, match="'city' is selected but not grouped by"):
        parse_sql(text, "rides", ["city", "fare"])


@pytest.mark.parametrize(
    "clause, wanted",
    [
        ("HAVING COUNT(*) > 3", Presentation(having="count > 3")),
        ("HAVING count > 3 AND hour <> 2", Presentation(having="count > 3 AND h <> 2")),
        ("HAVING AVG(fare * 2) / COUNT(*) > 3", Presentation(having='"the mean" / count > 3')),
        ("ORDER BY 2 DESC", Presentation(order=(Ordering("count", descending=True, missing_first=True),))),
        ("ORDER BY COUNT(*), H", Presentation(order=(Ordering("count"), Ordering("h")))),
        ("ORDER BY (fare * 2) NULLS FIRST", None),
        ("ORDER BY AVG((fare*2)) NULLS FIRST", Presentation(order=(Ordering("the mean", missing_first=True),))),
        ("ORDER BY count_low DESC NULLS LAST", Presentation(order=(Ordering("count_low", descending=True),))),
        ("LIMIT 3", Presentation(limit=3)),
        ("LIMIT 3 OFFSET 2", Presentation(limit=3, offset=2)),
        ("OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY", Presentation(limit=3, offset=2)),
        ("LIMIT 1" + "0" * 17, Presentation(limit=10**17)),
    ],
)
def test_having_order_and_limit_are_about_the_columns_of_the_answer(clause: str, wanted: Presentation | None) -> None:
    text = 'SELECT hour AS h, COUNT(*), AVG(fare * 2) AS "the mean" FROM rides GROUP BY h '
    if wanted is None:
        with pytest.raises(InputError, match="no column of the answer"):
            parse_sql(text + clause, "rides")
        return
    read = parse_sql(text + clause, "rides")
    assert read.presentation == replace(wanted, names=(("hour", "h"),))
    plain = parse_sql(text, "rides")
    assert replace(read, presentation=plain.presentation) == plain


def test_an_inner_select_keeps_its_rows_and_hides_its_other_columns() -> None:
    text = "SELECT COUNT(*) FROM (SELECT *, fare * 2 AS d FROM rides WHERE age > 3) AS t WHERE d < 5 AND fare > 1"
    assert parse_sql(text, "rides").condition == "(age > 3) AND ((fare * 2) < 5 AND fare > 1)"
    with pytest.raises(InputError, match="'t' has no column 'age'"):
        parse_sql("SELECT AVG(age) FROM (SELECT fare FROM rides) AS t", "rides", ["age", "fare"])


def test_bins_are_checked() -> None:
    assert HistogramKey("age", (0.0, 5.0)).text == "age/(0.0, 5.0)"
    for wrong in (0, -1, (1.0,), (2.0, 1.0), (1.0, 1.0)):
        with pytest.raises(Exception, match="bins of 'age'"):
            HistogramKey("age", wrong)
