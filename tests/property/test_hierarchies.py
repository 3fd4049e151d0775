"""Built and suggested hierarchies: every value has its place, levels nest, and the printed file gives the same tree."""

from __future__ import annotations

import csv
import datetime as dt
import io
import tomllib
from dataclasses import replace

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy import builders as build
from sfumato.hierarchy.file import hierarchy_from_mapping
from sfumato.schema.hierarchy_text import levels_csv, nested_toml
from sfumato.schema.propose import suggest

COLUMNS = st.one_of(
    st.lists(st.integers(-300, 300), min_size=1, max_size=30),
    st.lists(st.floats(-50, 50, width=16), min_size=1, max_size=30),
    st.lists(st.dates(dt.date(1990, 1, 1), dt.date(1993, 1, 1)), min_size=1, max_size=20),
    st.lists(st.text("01234", min_size=5, max_size=5), min_size=1, max_size=20),
    st.lists(st.text('aé"\\ ,', min_size=1, max_size=4), min_size=1, max_size=20),
)


def _nests(tree: Hierarchy) -> bool:
    """Whether values with the same label on a level share all labels above it."""
    width = len(tree.paths[0])
    return all(
        len({path[level:] for path in tree.paths}) == len({path[level] for path in tree.paths})
        for level in range(width)
    )


@given(COLUMNS)
@settings(deadline=None)  # a wide range of whole numbers has many leaves
def test_a_suggestion_covers_the_column_and_its_text_is_the_same_hierarchy(values: list[object]) -> None:
    series = pl.Series("column", values)
    proposed = suggest(series)
    assert set(series.cast(pl.String)) <= set(proposed.hierarchy.leaves)
    assert hierarchy_from_mapping(tomllib.loads(proposed.text)) == proposed.hierarchy
    assert _nests(proposed.hierarchy)
    assert {path[-1] for path in proposed.hierarchy.paths} == {"*"}


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=30), st.integers(2, 7), st.integers(-5, 5))
def test_an_interval_label_holds_its_values(values: list[int], width: int, origin: int) -> None:
    tree = build.intervals(values, [width, 3 * width], origin)
    assert [int(leaf) for leaf in tree.leaves] == sorted(set(values))
    for path in tree.paths:
        for label, span in ((path[1], width), (path[2], 3 * width)):
            low = int(label[1 : label.index("-", 2)])
            assert label == f"[{low}-{low + span - 1}]"
            assert low <= int(path[0]) <= low + span - 1
            assert (low - origin) % span == 0


@st.composite
def _worded(draw: st.DrawFn) -> Hierarchy:
    """Return a tree whose labels are hard to write."""
    word = st.text('aé"\\ ,;.=[]\n', min_size=1, max_size=4)
    leaves = draw(st.lists(word, min_size=1, max_size=12, unique=True))
    names = draw(st.lists(word, min_size=4, max_size=4))
    levels = range(1, draw(st.integers(1, 4)))
    return Hierarchy.from_rows(
        (leaf, *(f"{names[level]}{place // 3**level}" for level in levels)) for place, leaf in enumerate(leaves)
    )


@given(_worded(), st.booleans())
def test_a_tree_is_the_same_in_every_form_of_text(tree: Hierarchy, public: bool) -> None:
    marked = replace(tree, public=public)
    nested = hierarchy_from_mapping(tomllib.loads(nested_toml(marked)))
    assert nested.public is public
    assert nested.leaves == tree.leaves
    if len(tree.paths[0]) > 1:
        assert nested == marked
    rows = list(csv.reader(io.StringIO(levels_csv(marked), newline="")))
    assert [tuple(row) for row in rows[1:]] == list(tree.paths)
