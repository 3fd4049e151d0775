"""Every writer of published cells goes through one grammar: what it wrote reads back as its classes' true extents."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import cells
from sfumato.evaluate.regions import code_original, read_regions
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream.publishers.castle.columns import TupleColumn
from sfumato.table import Table
from sfumato.table.coding import Column, code
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.microaggregation.centroids import centroid
from sfumato.tabular.private.mondrian import side_text
from sfumato.tabular.private.public_columns import PublicColumn
from sfumato.tabular.recode import recode

WORDS = ("F", "M", "a, b", 'say "x"', " lead", "{F, M}", "{x}", "*", "?", "[1-2]", "[F..M]", "A*", "31?", '"F"', "x\ny")
GRADES = ("low", "mid..dle", "high", "high.", "who?", "[low..high]", "*", '"low"', "5")
TREE = Hierarchy.from_rows(
    [(word, "words" if place < 7 else "[other..words]", "*") for place, word in enumerate(WORDS) if word != "*"]
)
COLUMNS: dict[str, tuple[Attribute, st.SearchStrategy[Any], Any]] = {
    "age": (Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(-9, 12)), st.integers(-9, 12), pl.Int64),
    "cost": (Attribute("cost", Role.QUASI, Kind.NUMBER), st.sampled_from([-1.5, 0.0, 1e-7, 2.25, 1e17]), pl.Float64),
    "born": (
        Attribute("born", Role.QUASI, Kind.DATE, bounds=(dt.date(1969, 12, 25), dt.date(1970, 1, 8))),
        st.dates(dt.date(1969, 12, 25), dt.date(1970, 1, 8)),
        pl.Date,
    ),
    "word": (Attribute("word", Role.QUASI, Kind.CATEGORY, missing=("N/A",)), st.sampled_from(WORDS), pl.String),
    "mark": (Attribute("mark", Role.QUASI, Kind.CATEGORY, missing=("*", "{F}")), st.sampled_from("FM"), pl.String),
    "grade": (Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=GRADES), st.sampled_from(GRADES), pl.String),
    "ill": (Attribute("ill", Role.QUASI, Kind.CATEGORY, hierarchy=TREE), st.sampled_from(TREE.leaves), pl.String),
    "note": (Attribute("note", Role.QUASI, Kind.TEXT), st.sampled_from(WORDS), pl.String),
}
SCHEMA = Schema({name: attribute for name, (attribute, _, _) in COLUMNS.items()})
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, (_, values, _) in COLUMNS.items()}),
    min_size=4,
    max_size=20,
)


def people(rows: list[dict[str, Any]]) -> Table:
    return Table(pl.DataFrame(rows, schema={name: dtype for name, (_, _, dtype) in COLUMNS.items()}))


def region(column: Column, text: str | None) -> tuple[list[tuple[float, float]], bool]:
    """The runs that a text reads back to, and whether a missing value is among them."""
    found = read_regions(column, Table(pl.DataFrame({column.name: pl.Series([text], dtype=pl.String)})))
    return list(zip(found.low.tolist(), found.high.tolist(), strict=True)), bool(found.missing[0])


def points(runs: list[tuple[float, float]]) -> set[float]:
    return {float(point) for low, high in runs for point in range(int(low), int(high) + 1)}


def scale(column: Column) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Where each code but the missing one lies."""
    ranged = column.kind.numeric and column.attribute.hierarchy is None
    return np.asarray(column.levels if ranged else range(len(column.levels)), dtype=np.float64)


def true_extent(column: Column, codes: set[int], text: str | None) -> tuple[list[tuple[float, float]], bool]:
    """What the class's own values say its cell must be."""
    missing = column.has_missing and 0 in codes
    values = sorted(scale(column)[code - column.has_missing] for code in codes if code or not column.has_missing)
    if text == cells.SUPPRESSED:
        return [(scale(column)[0], scale(column)[-1])], column.has_missing
    if not values:
        return [], True
    if column.attribute.hierarchy is not None and len(values) > 1:
        leaves = {place for label, _, first, end in TREE.nodes() if label == text for place in range(first, end)}
        assert set(values) <= leaves
        values = sorted(float(leaf) for leaf in leaves)
    if column.kind.ordered:
        return [(values[0], values[-1])], missing
    return [(value, value) for value in values], missing


def check_extents(column: Column, classes: list[int], shown: list[str | None]) -> None:
    for number in set(classes):
        codes = {int(code) for code, own in zip(column.codes, classes, strict=True) if own == number}
        text = shown[classes.index(number)]
        runs, missing = region(column, text)
        wanted, gone = true_extent(column, codes, text)
        assert missing == gone, (column.name, text)
        if column.kind.ordered and column.attribute.hierarchy is None:
            assert runs == wanted or text == cells.SUPPRESSED, (column.name, text)
        else:
            assert points(runs) == points(wanted), (column.name, text)


@given(ROWS, st.data())
def test_recoded_classes(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    table = people(rows)
    classes = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    numbers = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    for name in COLUMNS:
        column = code_original(table, SCHEMA.settled(table), name)
        part = recode(column, column.codes, numbers, int(numbers.max()) + 1, "text")[0]
        shown = part.rows(numbers).cast(pl.String).to_list()
        check_extents(column, numbers.tolist(), shown)


@given(ROWS)
@settings(max_examples=25)
def test_mondrian(rows: list[dict[str, Any]]) -> None:
    table = people(rows)
    release = sf.Mondrian(keep_order=True).anonymize(table, SCHEMA, [sf.KAnonymity(2)]).table
    classes = release.frame.select(pl.struct(pl.all()).rank("dense")).to_series().to_list()
    for name in COLUMNS:
        check_extents(
            code_original(table, SCHEMA.settled(table), name), classes, release.column(name).cast(pl.String).to_list()
        )


@pytest.mark.parametrize("name", COLUMNS)
@given(st.data())
@settings(max_examples=25)
def test_every_label_of_a_ladder_holds_its_values(name: str, data: st.DataObject) -> None:
    """Datafly, Incognito, Optimal and SafePub release these labels."""
    attribute, values, dtype = COLUMNS[name]
    drawn = [data.draw(values), *data.draw(st.lists(st.none() | values, max_size=8))]
    series = pl.Series(name, drawn, dtype=dtype)
    column = code(series, SCHEMA.settled(people([dict.fromkeys(COLUMNS)])).columns[name])
    ladder = Ladder.of(column)
    for level, labels in zip(ladder.nodes, ladder.labels, strict=True):
        for node, label in enumerate(labels):
            codes = np.flatnonzero(level == node)
            runs, missing = region(column, label)
            inside = [scale(column)[code - column.has_missing] for code in codes if code or not column.has_missing]
            assert all(any(low <= value <= high for low, high in runs) for value in inside), label
            assert missing or not (column.has_missing and 0 in codes), label
            if not attribute.kind or not attribute.kind.numeric:
                assert points(runs) == set(inside) or attribute.hierarchy, label


@pytest.mark.parametrize("algorithm", [sf.Datafly(suppress=0.5), sf.Optimal(suppress=0.5)])
@given(rows=ROWS)
@settings(max_examples=10, deadline=None)
def test_full_domain_releases_read_back(algorithm: Any, rows: list[dict[str, Any]]) -> None:
    names = ["age", "word", "grade", "ill"]
    table, schema = Table(people(rows).frame.select(names)), Schema({name: COLUMNS[name][0] for name in names})
    release = algorithm.anonymize(table, schema, [sf.KAnonymity(2)]).table
    for name in names:
        if table.column(name).count():  # where a column holds no value at all, `*` has no extent
            read_regions(code_original(table, schema.settled(table), name), release)


@given(st.data())
def test_castle_bounds(data: st.DataObject) -> None:
    for name in ("age", "born", "grade", "ill"):
        attribute = COLUMNS[name][0]
        column = TupleColumn(attribute)
        low, high = sorted(data.draw(st.tuples(*[st.integers(*map(int, column.limits))] * 2)))
        text = column.range_text(float(low), float(high))
        levels = column.values or np.arange(int(column.limits[0]), int(column.limits[1]) + 1)
        runs, missing = region(Column(attribute, np.empty(0, dtype=np.int32), levels, has_missing=False), text)
        assert not missing
        if attribute.hierarchy is None or low == high:
            assert points(runs) == set(range(low, high + 1)), text
        else:
            assert points(runs) >= set(range(low, high + 1)), text
    words = TupleColumn(Attribute("word", Role.QUASI, Kind.CATEGORY, categories=WORDS))
    place = data.draw(st.integers(0, len(WORDS) - 1))
    assert cells.read(words.range_text(place, place)).words == (WORDS[place],) or WORDS[place] == "?"
    assert words.range_text(0.0, 1.0) == words.range_text(math.nan, math.nan) == cells.SUPPRESSED


@given(st.data())
def test_sides_of_private_boxes(data: st.DataObject) -> None:
    cost = Attribute("cost", Role.QUASI, Kind.NUMBER, bounds=(-2, 2))
    word = Attribute("word", Role.QUASI, Kind.CATEGORY, categories=WORDS)
    for attribute in (*(COLUMNS[name][0] for name in ("age", "born", "grade")), cost, word):
        public = PublicColumn.of(pl.Series([], dtype=pl.String), attribute)
        low, high = sorted(data.draw(st.tuples(*[st.integers(0, public.size - 1)] * 2)))
        text = side_text(public, low, high)
        levels = attribute.categories or np.zeros(1)
        runs, missing = region(Column(attribute, np.empty(0, dtype=np.int32), levels, has_missing=False), text)
        first = 0
        if attribute.bounds is not None and attribute.kind is not Kind.NUMBER:
            first = -9 if attribute.kind is Kind.INTEGER else -7
        if attribute.kind is Kind.NUMBER:
            step = 4 / public.size
            assert runs == [(-2 + low * step, -2 + (high + 1) * step)]
        else:
            assert points(runs) == set(range(first + low, first + high + 1)), text
        assert not missing


@given(ROWS)
def test_centroids(rows: list[dict[str, Any]]) -> None:
    table = people(rows)
    for name in COLUMNS:
        column = code_original(table, SCHEMA.settled(table), name)
        shown = centroid(column, np.zeros(len(rows), dtype=np.int64), 1).values.cast(pl.String)[0]
        runs, missing = region(column, shown)
        absent = column.codes == 0 if column.has_missing else np.zeros(len(rows), dtype=np.bool_)
        if column.kind.ordered and column.attribute.hierarchy is None:
            assert missing == absent.any()
            assert bool(runs) == (not absent.all())
        values = scale(column)
        assert all(values[0] <= low <= high <= values[-1] for low, high in runs) or len(values) == 0
