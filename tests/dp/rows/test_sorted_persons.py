"""Persons counted by sorting, from the pieces of an engine's stream, against a counter."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.dp.rows.arrow_stream import whole_blocks
from sfumato.dp.rows.collect import UNREADABLE
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.dp.rows.eager import Prepared
from sfumato.dp.rows.joins import whole_bounds
from sfumato.dp.rows.placed_persons import count_in_places, has_places
from sfumato.dp.rows.sorted_persons import count_persons
from sfumato.errors import InputError
from sfumato.schema import Attribute, Kind, Role, Schema

persons_of = st.lists(st.lists(st.sampled_from([-(2**63), -1, 0, 1, 2, 2**63 - 1]), max_size=20), max_size=4)


@given(blocks=persons_of, more_than=st.integers(0, 3), frozen=st.booleans())
def test_sorting_counts_as_a_counter_does(blocks: list[list[int]], more_than: int, *, frozen: bool) -> None:
    arrays = [np.array(block, dtype=np.int64) for block in blocks]
    for array in arrays:
        array.flags.writeable = not frozen
    found = count_persons(arrays, more_than)
    counted = Counter(person for block in blocks for person in block)
    assert found["person"].tolist() == sorted(person for person, number in counted.items() if number > more_than)
    assert found["n"].tolist() == [counted[person] for person in found["person"].tolist()]
    assert found["person"].dtype == found["n"].dtype == np.int64


@given(
    blocks=persons_of,
    more_than=st.integers(0, 3),
    bounds=st.sampled_from([(0, 1), (-1, 2), (-(2**63), 5 - 2**63), (2**63 - 4, 2**63 - 1), (2, 2)]),
)
def test_places_count_as_sorting_does(blocks: list[list[int]], more_than: int, bounds: tuple[int, int]) -> None:
    """Also persons beyond what was declared: nobody is clamped, and nobody is lost."""
    placed = count_in_places([np.array(block, dtype=np.int64) for block in blocks], bounds, more_than)
    ordered = count_persons([np.array(block, dtype=np.int64) for block in blocks], more_than)
    for name in ("person", "n"):
        assert placed[name].tolist() == ordered[name].tolist()
        assert placed[name].dtype == np.int64


def test_wide_bounds_have_no_places() -> None:
    assert has_places((5, 5 + 2**24 - 1))
    assert not has_places((5, 5 + 2**24))
    assert not has_places((-(2**63), 2**63 - 1))


def test_bounds_that_were_read_from_the_rows_give_no_places() -> None:
    """How many places there are shows in time and memory, so that only what is public may say it."""
    declared = Attribute("rider", Role.IDENTIFIER, Kind.INTEGER, bounds=(1, 9))
    assert whole_bounds(declared) == (1, 9)
    assert whole_bounds(replace(declared, public=False)) is None


@pytest.mark.parametrize("most", [1, 7, 2048, 100_000])
@pytest.mark.parametrize("rows", [0, 1, 2048, 5000])
def test_blocks_hold_all_rows_of_the_stream_in_order(rows: int, most: int) -> None:
    with duckdb.connect() as base:
        numbers = base.sql(f"SELECT range - 3 AS x FROM range({rows})")  # noqa: S608  # a test's own words
        blocks = [block.copy() for block in whole_blocks(numbers, most)]
    assert [number for block in blocks for number in block.tolist()] == list(range(-3, rows - 3))
    assert [block.size for block in blocks[:-1]] == [most] * (len(blocks) - 1)


def test_a_stream_that_ends_early_is_an_error() -> None:
    """What the engine says of it may quote a cell."""
    with duckdb.connect() as base:
        failing = base.sql(
            "SELECT CASE WHEN range = 900000 THEN CAST(error('p7') AS BIGINT) ELSE range END FROM range(1000000)"
        )
        with pytest.raises((OSError, duckdb.Error)):
            list(whole_blocks(failing))
    rows = DuckRows.of_frame(pl.DataFrame({"age": [1]}), Schema())
    table = Prepared("persons0", "SELECT CAST(error('p7') AS BIGINT) AS person FROM range(5)", {})
    with pytest.raises(InputError, match=UNREADABLE) as caught:
        rows._hold_counts({}, table)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert rows._execute("SELECT 1", {}) == [(1,)]
