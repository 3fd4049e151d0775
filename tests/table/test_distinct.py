from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.distinct import distinct

rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 99)), min_size=1, max_size=60)
wide = st.lists(st.tuples(*[st.integers(0, 2**31 - 1)] * 4), min_size=1, max_size=40)


def check_numbering(table: list[tuple[int, ...]], sizes: list[int]) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*table, strict=True)]
    numbering = distinct(columns, sizes)
    ordered = sorted(set(table))
    assert numbering.ids.tolist() == [ordered.index(row) for row in table]
    assert numbering.counts.tolist() == [table.count(row) for row in ordered]
    assert [table[row] for row in numbering.examples] == ordered


@given(rows)
def test_small_spans_are_counted(table: list[tuple[int, ...]]) -> None:
    check_numbering(table, [5, 3, 100])


@given(wide)
def test_spans_beyond_64_bits_are_packed(table: list[tuple[int, ...]]) -> None:
    check_numbering(table, [2**31] * 4)


def test_the_input_is_left_alone() -> None:
    column = np.array([3, 1, 2])
    distinct([column, column], [4, 4])
    assert column.tolist() == [3, 1, 2]
