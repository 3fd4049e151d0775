"""The parse report against a plain loop over the cells, whole and in batches."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.table.parse_report import ParseReport

MARKS = ("", "?")
DECLARED = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 99), missing=MARKS),
        "cost": Attribute("cost", Role.SENSITIVE, Kind.NUMBER, bounds=(0.0, 9.5), missing=MARKS),
        "day": Attribute("day", Role.QUASI, Kind.DATE, bounds=(dt.date(2026, 1, 1), dt.date(2026, 1, 31))),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M"), missing=MARKS),
        "zip": Attribute("zip", Role.QUASI, hierarchy=Hierarchy((("10", "1*"), ("11", "1*"), ("?", "?")))),
        "note": Attribute("note", Role.OTHER),
    }
)
CELLS = {
    "age": ["31", "0", "99", "100", "-1", "x", "1.5", "", "?", None],
    "cost": ["1.5", "9.5", "9.6", "2", "1,5", "inf", "nan", "", "?", None],
    "day": ["2026-01-31", "2026-02-01", "31.01.2026", "2026-01-02 08:00:00", "?", "", None],
    "sex": ["F", "M", "f", "", "?", None],
    "zip": ["10", "11", "12", "?", "", None],
    "note": ["anything", "", "?", None],
}
READ: dict[Kind, Callable[[str], Any]] = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.DATE: dt.date.fromisoformat}


def sort_of(name: str, cell: str | None) -> str:
    """What a cell is, by a plain reading of it: read, missing, failed or outside."""
    attribute = DECLARED.columns[name]
    leaves = attribute.hierarchy.leaves if attribute.hierarchy else attribute.categories
    if cell is None or (cell in attribute.missing and not (attribute.hierarchy and cell in (leaves or ()))):
        return "missing"
    if leaves is not None:
        return "read" if cell in leaves else "outside"
    if attribute.kind is None:
        return "read"
    try:
        value = READ[attribute.kind](cell)
    except ValueError:
        return "failed"
    if isinstance(value, float) and not abs(value) < float("inf"):
        return "failed"
    low, high = attribute.bounds or (value, value)
    return "read" if low <= value <= high else "outside"


def slow_report(frame: pl.DataFrame) -> dict[str, dict[str, tuple[int, list[int]]]]:
    """Counts and first rows by a loop over every cell."""
    found = {}
    for name in frame.columns:
        sorts = [sort_of(name, cell) for cell in frame[name].to_list()]
        rows = {
            sort: [row for row, own in enumerate(sorts, start=1) if own == sort]
            for sort in ("missing", "failed", "outside")
        }
        found[name] = {sort: (len(places), places[:5]) for sort, places in rows.items()}
    return found


def told(report: ParseReport) -> dict[str, dict[str, tuple[int, list[int]]]]:
    return {
        name: {
            sort: (getattr(entry, sort).cells, list(getattr(entry, sort).rows))
            for sort in ("missing", "failed", "outside")
        }
        for name, entry in report.columns.items()
    }


rows = st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()})


@settings(max_examples=60, deadline=None)
@given(st.lists(rows, min_size=1, max_size=40), st.integers(0, 40))
def test_the_counts_are_those_of_a_loop_over_the_cells_whole_and_in_batches(
    people: list[dict[str, str | None]], cut: int
) -> None:
    frame = pl.DataFrame(people, schema=dict.fromkeys(CELLS, pl.String))
    whole = ParseReport.of(Table(frame), DECLARED)
    assert told(whole) == slow_report(frame)
    first, second = (ParseReport.of(Table(part), DECLARED) for part in (frame[:cut], frame[cut:]))
    assert told(first.add(second)) == told(whole)
    assert json.loads(json.dumps(whole.as_json()))["columns"][0]["cells"] == len(people)


def test_columns_that_hold_types_are_read_by_them() -> None:
    frame = pl.DataFrame({"age": [31, 500, None], "cost": [1.0, float("nan"), 20.0], "day": [dt.date(2026, 1, 1)] * 3})
    report = ParseReport.of(Table(frame), DECLARED)
    assert list(report.columns) == ["age", "cost", "day"]
    assert [entry.outside.rows for entry in report.columns.values()] == [(2,), (3,), ()]
    assert report.columns["cost"].failed.rows == (2,)


def test_the_share_counts_filled_cells_and_what_is_at_it_passes() -> None:
    frame = pl.DataFrame({"age": ["1"] * 99 + ["x"] + [""] * 900})
    report = ParseReport.of(Table(frame), DECLARED)
    report.refuse_failed()
    report.refuse_failed(0.01)
    with pytest.raises(InputError, match="1 of 100 filled cells is no integer, the first is 'x' in row 100"):
        report.refuse_failed(0.0)
    cleaned = report.without_failed(Table(frame), DECLARED)
    assert cleaned.column("age").null_count() == 1
    assert ParseReport.of(cleaned, DECLARED).failed_cells == 0


def test_the_share_that_a_refusal_proposes_is_enough() -> None:
    report = ParseReport.of(Table(pl.DataFrame({"age": ["1"] * 2 + ["x"]})), DECLARED)
    with pytest.raises(InputError) as refused:
        report.refuse_failed()
    report.refuse_failed(float(str(refused.value).partition("--max-failed ")[2].partition(" ")[0]))
