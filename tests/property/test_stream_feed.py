"""Feeds give the same records however the bytes come, and go on from any offset they tell."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.stream.connectors.file import inlet
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.runtime.batch import WantedColumns, number

CELLS = st.one_of(
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=True).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
    st.sampled_from(["", " 7 ", "-", ".", "+.5", "5.", "1e3", "1_000", "0x10", "x", "12,5", 'say "hi"', "a;b", "é"]),
)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=30)
Record = tuple[str, str | None]


def twin(text: str) -> list[tuple[float, str | None]]:
    """Return the number in column b and the text in column c of every record, by the slow and obvious way."""
    rows = list(csv.reader(io.StringIO(text, newline="")))[1:]
    return [(number(row[1]) if len(row) > 1 else math.nan, row[2] if len(row) > 2 else None) for row in rows if row]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("feeds")


def records(feed: Feed, offset: int = 0) -> list[tuple[float, str | None]]:
    found: list[tuple[float, str | None]] = []
    for batch in feed.batches(offset):
        if batch.count:
            found += zip(batch.numbers["b"].tolist(), batch.texts["c"], strict=True)
    return found


def same(one: list[tuple[float, str | None]], other: list[tuple[float, str | None]]) -> bool:
    first, second = (np.array([value for value, _ in side]) for side in (one, other))
    return np.array_equal(first, second, equal_nan=True) and [text for _, text in one] == [text for _, text in other]


def written(rows: list[tuple[str, str, str]], end: str) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end)
    writer.writerows([("a", "b", "c"), *rows])
    return out.getvalue()


@given(
    rows=ROWS, end=st.sampled_from(["\n", "\r\n"]), piece=st.integers(1, 60), packed=st.booleans(), cut=st.booleans()
)
def test_csv_is_read_as_the_standard_library_reads_it(
    folder: Path,
    rows: list[tuple[str, str, str]],
    end: str,
    piece: int,
    packed: bool,
    cut: bool,
) -> None:
    text = written(rows, end)
    if cut:
        text = text.removesuffix(end)  # a last line without a line break is a record too
    path = folder / "in.csv"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inlet, "PIECE", piece)
        assert same(records(Feed(path, WantedColumns(("b",), ("c",)))), twin(text))


@given(rows=ROWS, piece=st.integers(1, 60), form=st.sampled_from(["csv", "gz", "jsonl"]))
def test_every_offset_that_is_told_leads_to_the_rest(
    folder: Path, rows: list[tuple[str, str, str]], piece: int, form: str
) -> None:
    path = folder / f"in.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps({"b": b, "x": a, "c": c}) + "\n" for a, b, c in rows))
    else:
        text = written(rows, "\n").encode()
        path.write_bytes(gzip.compress(text) if form == "gz" else text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inlet, "PIECE", piece)
        whole = records(Feed(path, WantedColumns(("b",), ("c",))))
        feed, done = Feed(path, WantedColumns(("b",), ("c",))), 0
        for batch in feed.batches():
            done += batch.count
            assert same(records(Feed(path, WantedColumns(("b",), ("c",))), feed.offset), whole[done:])
    assert len(whole) == len(rows)


LINE = st.characters(exclude_characters="\r\n\0", codec="utf-8")


@given(st.one_of(CELLS, st.text(LINE, max_size=8), st.from_regex(r"[+-]?\d{0,18}\.?\d{0,8}", fullmatch=True)))
def test_a_number_in_a_cell_is_what_python_reads(folder: Path, cell: str) -> None:
    path = folder / "in.csv"
    text = written([("", cell, "c")], "\n")
    path.write_text(text, encoding="utf-8", newline="")
    found = records(Feed(path, WantedColumns(("b",), ("c",))))
    assert same(found, [(number(cell), "c")])


def test_parquet_goes_on_from_any_record(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pl.DataFrame({"a": [0] * 5, "b": [1.5, None, math.inf, -2.0, 3.0], "c": ["x", None, "y", "z", "w"]}).write_parquet(
        path
    )
    whole = records(Feed(path, WantedColumns(("b",), ("c",))))
    assert same(whole, [(1.5, "x"), (math.nan, None), (math.nan, "y"), (-2.0, "z"), (3.0, "w")])
    for offset in range(6):
        assert same(records(Feed(path, WantedColumns(("b",), ("c",))), offset), whole[offset:])


def test_a_pipe_gives_what_has_come_and_waits_without_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    out, into = os.pipe()
    monkeypatch.setattr(inlet, "PATIENCE", 0.01)
    os.write(into, b"b,c\n1,x\n2,")
    with os.fdopen(out, "rb") as pipe:
        monkeypatch.setattr(inlet, "STANDARD_INPUT", pipe.fileno())
        batches = Feed("-", WantedColumns(("b",))).batches()
        assert next(batches).numbers["b"].tolist() == [1.0]
        assert next(batches).count == 0
        os.write(into, b"y\n")
        assert next(batch for batch in batches if batch.count).numbers["b"].tolist() == [2.0]
        os.close(into)
        assert [batch.count for batch in batches if batch.count] == []
