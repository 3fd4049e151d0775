"""Files in and out: every format, every delimiter, and no row lost without a word."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import read
from sfumato.errors import InputError
from sfumato.table.io import write

FRAME = pl.DataFrame({"zip": ["02139", "10115", None], "note": ["a,b;c", 'say "hi"\nthere', "x\ty|z"]})
CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@pytest.fixture
def give(tmp_path: Path) -> Callable[[bytes], Path]:
    """Return a function that puts bytes into a file and returns its path."""

    def put(content: bytes) -> Path:
        path = tmp_path / "people.csv"
        path.write_bytes(content)
        return path

    return put


def csv_bytes(rows: list[list[str]], delimiter: str, line_end: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return text.getvalue().encode()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("opening", [b"", b"\xef\xbb\xbf", b"\n"])
@pytest.mark.parametrize("closing", [b"", b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("squeeze", [bytes, gzip.compress])
def test_every_dialect_of_csv_reads_alike(
    give: Callable[[bytes], Path],
    delimiter: str,
    line_end: str,
    opening: bytes,
    closing: bytes,
    squeeze: Callable[[bytes], bytes],
) -> None:
    rows = [["zip", "a, b; c|d\te"], ["02139", 'say "hi"'], ["", "two\nlines"], ["-1", "é"]]
    table = read(give(squeeze(opening + csv_bytes(rows, delimiter, line_end) + closing)))
    assert table.delimiter == delimiter
    assert list(table.names) == rows[0]
    assert [list(row) for row in table.frame.fill_null("").rows()] == rows[1:]


@given(
    header=st.lists(CELLS.filter(lambda name: bool(name.strip())), min_size=2, max_size=4, unique=True),
    rows=st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=6),
)
def test_whatever_python_quotes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, header: list[str], rows: list[list[str]]
) -> None:
    body = [row[: len(header)] for row in rows]
    path = tmp_path_factory.getbasetemp() / "quoted.csv"
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([header, *body])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    table = read(path)
    assert list(table.names) == header
    assert [list(row) for row in table.frame.rows()] == body


@given(body=st.text(st.sampled_from('ab,"\n'), min_size=1, max_size=30))
def test_no_row_is_lost_silently(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    path = tmp_path_factory.getbasetemp() / "stray.csv"
    path.write_text(f"x,y\n{body}", encoding="utf-8")
    try:
        rows = read(path).rows
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017  # either outcome is right
        return
    lines = f"x,y\n{body}".rstrip("\n") + "\n"
    assert rows == len(list(csv.reader(io.StringIO(lines, newline="")))) - 1


def test_an_empty_cell_is_null_and_an_empty_text_is_text(give: Callable[[bytes], Path]) -> None:
    assert read(give(b'a,b\n"",1\n,2\n')).column("a").to_list() == ["", None]


def test_in_a_single_column_a_blank_line_is_a_missing_value(give: Callable[[bytes], Path]) -> None:
    assert read(give(b"age\n1\n\n3\n\n")).column("age").to_list() == [1, None, 3, None]


@pytest.mark.parametrize("rows", [1, 1500])
@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize(
    "cell", ["007", "00", "+5", "-0", " 5", " 007", "5 ", "1_000", "5.0", "1e3", "0x1", "9223372036854775808", "-", "x"]
)
def test_a_cell_that_is_no_plain_integer_stays_the_text_it_was(
    give: Callable[[bytes], Path], cell: str, delimiter: str, rows: int
) -> None:
    for written in (cell, f'"{cell}"'):
        content = "age,sex\n" + "31,F\n" * rows + f"{written},M\n" + "47,F\n" * rows
        column = read(give(content.replace(",", delimiter).encode())).column("age")
        assert column.to_list() == ["31"] * rows + [cell] + ["47"] * rows


@pytest.mark.parametrize("rows", [1, 1500])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_plain_integers_are_integers(give: Callable[[bytes], Path], line_end: str, rows: int) -> None:
    cells: list[int | None] = [0, -5, 10, -(2**63), 2**63 - 1, None] * rows
    lines = ["age,sex", *(f"{'' if cell is None else cell},F" for cell in cells)]
    assert read(give((line_end.join(lines) + line_end).encode())).column("age").to_list() == cells


def test_line_ends_of_old_macs(give: Callable[[bytes], Path]) -> None:
    assert read(give(b"a,b\r1,2\r3,4\r")).frame.rows() == [(1, 2), (3, 4)]


def test_a_long_cell_is_no_error(give: Callable[[bytes], Path]) -> None:
    assert read(give(b'a,b\n"' + b"x" * 200_000 + b'",\n1,2\n')).rows == 2


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.CSV.GZ", "t.tsv", "t", "t.gz.csv", "t.jsonl", "t.ndjson.gz"])
def test_text_formats_round_trip(tmp_path: Path, name: str) -> None:
    write(FRAME, tmp_path / name)
    assert read(tmp_path / name).frame.equals(FRAME)
    squeezed = (tmp_path / name).read_bytes()[:2] == b"\x1f\x8b"
    assert squeezed == name.casefold().endswith(".gz")


@pytest.mark.parametrize("name", ["t.parquet", "t.PQ", "t.arrow", "t.ipc", "t.feather"])
def test_typed_formats_round_trip(tmp_path: Path, name: str) -> None:
    frame = FRAME.with_columns(pl.Series("age", [1, -(2**63), None]), pl.Series("cost", [1e300, -0.5, None]))
    write(frame, tmp_path / name)
    assert read(tmp_path / name).frame.equals(frame)
    assert (tmp_path / name).read_bytes()[:4] in {b"PAR1", b"ARRO"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_kept(tmp_path: Path, delimiter: str) -> None:
    write(FRAME, tmp_path / "t.csv", delimiter)
    again = read(tmp_path / "t.csv")
    assert (again.delimiter, again.frame.rows()) == (delimiter, FRAME.rows())


def test_a_wrong_ending_does_no_harm(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "really_parquet.csv")
    assert read(tmp_path / "really_parquet.csv").frame.equals(FRAME)


def test_json_lines_fill_absent_keys_and_skip_blank_lines(give: Callable[[bytes], Path]) -> None:
    table = read(give(b'\xef\xbb\xbf{"age": 1, "sex": "F"}\n\n{"age": 2.5}\n'))
    assert table.frame.rows() == [(1.0, "F"), (2.5, None)]


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch) -> None:
    given_bytes, taken = io.BytesIO(gzip.compress(b"a;b\n1;2\n")), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given_bytes))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken))
    table = read("-")
    write(table.frame, "-", table.delimiter)
    assert taken.getvalue() == b"a;b\n1;2\n"


def test_empty_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="'standard input' is empty"):
        read("-")


def parquet() -> bytes:
    stream = io.BytesIO()
    FRAME.write_parquet(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "is empty"),
        (b" \n\r\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b,a\n1,2,3\n", "two columns are called 'a'"),
        (b"a,,b\n1,2,3\n", "column 2 has no name"),
        (b"a,b,\n1,2,\n", "column 3 has no name"),
        ("ä,b\n1,2\n".encode() + b"3,\xff\n", "line 3: byte 0xFF is no UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "zero bytes"),
        (b"a,b,c\n1,2,3\n1,2\n", "line 3: found 2 fields; the header has 3"),
        (b"a,b,c\n1,2,3\n1\n", "line 3: found 1 field; the header has 3"),
        (b"a,b\n1,2\n1,2,3\n", "line 3: found 3 fields; the header has 2"),
        (b"a,b\n1,2\n\n3,4\n", "line 3: found 0 fields"),
        (b"a,b,c\n1,2,\n1,2\n1,2,3,4\n", "line 3: found 2 fields"),
        (b'a,b\n1,"x\ny"\n3,"4"\n5\n', "line 5: found 1 field"),
        (b'a,b\n1,"x\ny",3\n', "line 2: found 3 fields"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote opens here and is never closed"),
        (b'"a,b\n' + b"1,2\n" * 50_000, "line 1: the header cannot be read"),
        (b'a,b\n5" pipe,2\n3,4\n', "a quote stands inside a cell"),
        (gzip.compress(b"a,b\n1,2\n" * 50, mtime=0)[:20], "damaged gzip"),
        (gzip.compress(b"a,b\n1,2\n" * 50, mtime=0)[:12] + b"\xff" * 20, "damaged gzip"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-8] + b"\0" * 8, "damaged gzip"),
        (b"PAR1", "cannot be read as a table"),
        (parquet()[:-9], "cannot be read as a table"),
        (b"ARROW1\0\0", "cannot be read as a table"),
        (b'{"a": 1}\n{"a":\n', "cannot be read as a table"),
        (b'{"a": {"b": 1}}\n', "column 'a' holds Struct"),
        (b'{"a": "\xff"}\n', "cannot be read as a table"),
        (b'[{"a": 1}]', "has a header and no rows"),
    ],
)
def test_bad_files_are_refused_in_one_line(give: Callable[[bytes], Path], content: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        read(give(content))
    assert len(str(caught.value).splitlines()) == 1


def test_a_panic_of_the_reader_is_an_input_error(
    give: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic(_source: object) -> None:
        raise pl.exceptions.PanicException("index out of range\nin some thread")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError, match=r"cannot be read as a table: index out of range$"):
        read(give(parquet()))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*no\.csv' does not exist"):
        read(tmp_path / "no.csv")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        read(tmp_path / "file" / "below.csv")


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2"],
        ["0", "10"],
        ["-3", "7"],
        ["01", "2"],
        ["+1", "2"],
        ["-0", "2"],
        ["1", "02139"],
        ["", "5"],
        ["1.0", "2"],
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_integers_are_held_as_numbers_only_where_their_text_survives(
    give: Callable[[bytes], Path], cells: list[str], late: bool
) -> None:
    padding = ["7"] * 1500 if late else []
    column = read(give(("x,y\n" + "".join(f"{cell},a\n" for cell in padding + cells)).encode())).column("x")
    assert column.cast(pl.String).fill_null("").to_list() == padding + cells
    plain = all(cell == "" or str(int(float(cell))) == cell for cell in cells)
    assert (column.dtype == pl.Int64) == plain


def test_a_zero_at_the_very_end_is_seen(give: Callable[[bytes], Path]) -> None:
    assert read(give(b"x\n00")).column("x").to_list() == ["00"]
