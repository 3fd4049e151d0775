"""Files hold the cells of a table and nothing else: no row that was left out, no value under a null, no other order."""

from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unpacked import contains, parts_of

import sfumato as sf
from sfumato.release import Release
from sfumato.table.fresh import fresh_frame
from sfumato.table.io import write

ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".jsonl", ".jsonl.gz", ".xlsx")
CANARY = "a canary that no reader may ever find"
NUMBER = 7_315_926_884_016_733
DOUBLE = 48_213.015625
MOMENT = dt.datetime(1987, 6, 5, 4, 3, 2)
NEEDLES = (CANARY.encode(), struct.pack("<q", NUMBER), struct.pack("<d", DOUBLE))
COUNT = 40


def people() -> pl.DataFrame:
    """Rows of every type, of which the last and those that `hidden` sets to null must never be seen."""
    names = [f"a person with number {number} and a name" for number in range(COUNT)]
    return pl.DataFrame(
        {
            "place": range(COUNT + 1),
            "name": [*names, CANARY],
            "word": pl.Series([*names, CANARY], dtype=pl.Categorical),
            "listed": pl.Series([*names, CANARY], dtype=pl.Enum([*names, CANARY])),
            "whole": [*range(COUNT), NUMBER],
            "double": [*(number / 8 for number in range(COUNT)), DOUBLE],
            "flag": [number % 3 == 0 for number in range(COUNT + 1)],
            "day": [*(dt.date(2024, 1, 1) + dt.timedelta(days=number) for number in range(COUNT)), MOMENT.date()],
            "time": [*(dt.datetime(2024, 1, 1) + dt.timedelta(hours=number) for number in range(COUNT)), MOMENT],
            "price": [*(Decimal(number) / 4 for number in range(COUNT)), Decimal("7.25")],
        }
    )


def shuffled(seed: int) -> pl.DataFrame:
    """The same rows in another order, as if they were read from a file."""
    frame = people().sample(fraction=1, shuffle=True, seed=seed)
    return pl.DataFrame([pl.Series(column.name, column.to_list(), dtype=column.dtype) for column in frame])


def left_out(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("place") < COUNT).sort("place")


def set_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    hidden = frame["place"] >= COUNT
    columns = [column if column.name == "place" else column.set(hidden, None) for column in frame]
    return pl.DataFrame([column for column in columns if column.dtype != pl.Decimal]).sort("place")


def sliced(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("place").slice(3, COUNT - 3)


WAYS = {"left out": left_out, "set to null": set_to_null, "sliced": sliced}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", list(WAYS))
def test_no_byte_of_a_hidden_row_is_written(way: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out{ending}"
    write(WAYS[way](people()), path)
    for needle in NEEDLES:
        assert not contains(path.read_bytes(), needle)


@pytest.mark.parametrize("way", list(WAYS))
def test_no_byte_of_a_hidden_row_is_in_the_memory_of_a_release(way: str) -> None:
    card = sf.Mondrian().anonymize(
        sf.Table(pl.DataFrame({"age": [1, 2]})), sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)]
    )
    release = Release(sf.Table(WAYS[way](people())), card.card)
    buffer = io.BytesIO()
    release.frame.write_ipc(buffer)
    for chunk in (chunk for column in release.frame.to_arrow().columns for chunk in column.chunks):
        for held in (held for held in chunk.buffers() if held is not None):
            assert not any(needle in held.to_pybytes() for needle in NEEDLES)
    assert not any(needle in buffer.getvalue() for needle in NEEDLES)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", list(WAYS))
def test_the_order_of_the_input_cannot_be_read_back(way: str, ending: str, tmp_path: Path) -> None:
    """The same released table, made from two orders of the input, is the same bytes."""
    written = []
    for seed in (1, 2):
        path = tmp_path / f"out-{seed}{ending}"
        write(WAYS[way](shuffled(seed)), path)
        written.append(path.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("ending", ENDINGS)
def test_chunks_of_the_input_leave_no_trace(ending: str, tmp_path: Path) -> None:
    frame = people()
    parts = pl.concat([frame.slice(0, 11), frame.slice(11, 3), frame.slice(14)], rechunk=False)
    write(left_out(frame), tmp_path / f"whole{ending}")
    write(left_out(parts), tmp_path / f"parts{ending}")
    assert (tmp_path / f"whole{ending}").read_bytes() == (tmp_path / f"parts{ending}").read_bytes()


cells = st.lists(st.none() | st.text(max_size=20), max_size=12)


@given(cells, st.lists(st.none() | st.floats(allow_nan=False), max_size=12))
def test_a_fresh_frame_has_the_same_cells(texts: list[str | None], numbers: list[float | None]) -> None:
    longest = max(len(texts), len(numbers))
    frame = pl.DataFrame(
        {
            "text": pl.Series([*texts, *[None] * (longest - len(texts))], dtype=pl.String),
            "number": pl.Series([*numbers, *[None] * (longest - len(numbers))], dtype=pl.Float64),
        }
    )
    assert fresh_frame(frame).equals(frame)
    assert fresh_frame(frame).schema == frame.schema


def test_every_type_stays_but_categories() -> None:
    fresh = fresh_frame(people())
    for name, dtype in people().schema.items():
        assert fresh.schema[name] == (pl.String if name in {"word", "listed"} else dtype)
    assert fresh.rows() == people().rows()


def test_the_search_would_find_a_canary(tmp_path: Path) -> None:
    """What looks for canaries finds them in every format, packed or not."""
    for ending in ENDINGS:
        path = tmp_path / f"out{ending}"
        write(people().select("name", "whole"), path)
        assert contains(path.read_bytes(), CANARY.encode()), ending
        assert len(parts_of(path.read_bytes())) >= 1
