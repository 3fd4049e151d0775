"""The canonical text of a question: ledgers know answers by it, so that it must never change."""

from __future__ import annotations

from dataclasses import replace

from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.query import count, count_distinct, mean, median, sum, variance  # noqa: A004
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows
from sfumato.schema import Schema

SCHEMA = Schema.from_text(
    """
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 3]
[columns.minutes]
role = "other"
type = "number"
bounds = [0, 120]
[columns.rider]
role = "identifier"
"""
)


def test_the_text_of_counts_sums_and_quantiles_is_that_of_the_first_ledgers() -> None:
    asked = count().also(count_distinct("rider")).also(sum("minutes")).also(median("hour"))
    asked = asked.where("hour in (1,2) and not minutes < 3").by("hour")
    text = compile_query(asked, SCHEMA, ProtectPersons("rider", 2, 3), Neighbours.PRESENCE).text
    grid = "Grid(column='minutes', low=0.0, high=120.0, steps=1966080)"
    assert text == (
        '{"aggregates":["count(*)","count distinct(rider)","sum(minutes)","quantile(hour, 1/2)"],'
        '"where":"(\\"hour\\" IN (1, 2)) AND (\\"minutes\\" >= 3)",'
        '"by":["hour:cells:[0, 1, 2, 3]"],'
        f'"grids":["Count()","Persons()","Total(grid={grid}, origin=0, power=1)",'
        "\"Ladder(grid=Grid(column='hour', low=0.0, high=3.0, steps=3))\"],"
        '"unit":"person:rider:2:3","neighbours":"presence"}'
    )


def test_the_text_of_means_and_variances_in_bins_is_that_of_the_first_ledgers() -> None:
    asked = replace(variance("minutes").also(mean("hour")), keys=(HistogramKey("minutes", 3),))
    text = compile_query(asked, SCHEMA, ProtectRows(2), Neighbours.VALUE).text
    minutes = "Grid(column='minutes', low=0.0, high=120.0, steps=1966080)"
    hour = "Grid(column='hour', low=0.0, high=3.0, steps=3)"
    assert text == (
        '{"aggregates":["variance(minutes)","mean(hour)"],"where":null,'
        '"by":["minutes:edges:[0.0, 40.0, 80.0, 120.0]"],'
        f'"grids":["Present(grid={minutes})","Total(grid={minutes}, origin=983040, power=1)",'
        f'"Total(grid={minutes}, origin=983040, power=2)",'
        f'"Present(grid={hour})","Total(grid={hour}, origin=1, power=1)"],'
        '"unit":"rows:2","neighbours":"value"}'
    )
