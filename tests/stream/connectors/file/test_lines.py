"""Lines of pieces: the same lines however they come, each byte looked at once, and nothing kept without a limit."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.stream.connectors.file import inlet, lines
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.inlet import Recoded, Unzipped
from sfumato.stream.connectors.file.lines import FirstLine, WholeLines
from sfumato.stream.runtime.batch import WantedColumns

TEXT = st.text(alphabet="ab,\r\n {\0\ufeff", max_size=60).map(str.encode)


def pieces_of(text: bytes, size: int) -> Iterator[bytes]:
    return (text[place : place + size] for place in range(0, len(text), size))


@given(TEXT, st.integers(1, 7))
def test_whole_lines_are_the_lines(text: bytes, size: int) -> None:
    splitter = WholeLines("a")
    found = b"".join(splitter.take(piece) for piece in pieces_of(text, size))
    assert found == text[: text.rfind(b"\n") + 1]
    assert found + splitter.rest == text


@given(TEXT, st.integers(1, 7))
def test_the_first_line_is_the_same_in_any_pieces(text: bytes, size: int) -> None:
    def found(size: int) -> tuple[object, ...]:
        line, came = FirstLine("a"), 0
        try:
            for piece in pieces_of(text, size):
                came += len(piece)
                line.take(piece)
                if line.whole:
                    break
        except InputError:
            return ("refused",)  # in which words depends on what is seen first
        return line.before, line.text, line.behind + text[came:]

    assert found(size) == found(1)
    if len(found(size)) == 3:
        assert b"".join(map(bytes, found(size))) == text  # type: ignore[arg-type]


class Scanned(bytes):
    """Bytes that count how many of them a search looks at, at most."""

    looked = 0

    def rfind(self, *arguments: object) -> int:
        Scanned.looked += len(self)
        return super().rfind(*arguments)  # type: ignore[arg-type]


def test_a_long_record_is_looked_at_once() -> None:
    for count in (1000, 2000, 4000):  # twice the pieces, twice the bytes
        Scanned.looked, splitter = 0, WholeLines("a")
        for _ in range(count):
            assert splitter.take(Scanned(b"x" * 10)) == b""
        assert Scanned.looked == 10 * count


class Watched(bytearray):
    """What a first line has come to, which counts how many bytes searches look at."""

    looked = 0

    def find(self, what: object, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        Watched.looked += (len(self) if end is None else end) - start
        return super().find(what, start, len(self) if end is None else end)  # type: ignore[arg-type]

    def __getitem__(self, place: object) -> object:  # type: ignore[override]
        found = super().__getitem__(place)  # type: ignore[call-overload]
        Watched.looked += len(found) if isinstance(found, bytearray) else 1
        return found


@pytest.mark.parametrize("piece", [b"x" * 10, b" " * 10, b"\r" * 10, b"\n" * 10, b'"' * 10])
def test_a_long_header_is_looked_at_once(piece: bytes) -> None:
    for count in (1000, 2000, 4000):
        line = FirstLine("a")
        Watched.looked, line._data = 0, Watched()  # what is counted
        for _ in range(count):
            line.take(piece)
        assert Watched.looked <= 4 * len(piece) * count


LONG = {
    "a header without an end": (b"v" * 3000, "the header has more than 1000 bytes"),
    "an open quote": (b'"v' + b"x\n" * 3000, "check its quotes"),
    "blanks": (b" " * 3000, "begins with more than 1000 blanks"),
    "blank lines": (b"\r\n" * 3000, "begins with more than 1000 blanks"),
    "a line of JSON": (b'{"v": 1' + b"0" * 9000, "a record of more than 4 MiB"),
    "a record": (b"v\n1\n" + b"2" * 9000, "a record of more than 4 MiB"),
    "zeros": (b"\0" * 3000, "has zero bytes"),
    "a name with a zero": (b"v,w\0\n1,2\n", "has zero bytes"),
    "old line ends": (b"v\r1\r2\r", "carriage returns alone"),
    "old line ends of two columns": (b"v,w\r1,2\r", "carriage returns alone"),
    "old line ends of JSON": (b'{"v": 1}\r{"v": 2}\r', "carriage returns alone"),
}


@pytest.mark.parametrize("way", ["file", "gz", "pipe"])
@pytest.mark.parametrize("case", LONG)
def test_what_is_no_feed_is_refused_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, way: str
) -> None:
    content, said = LONG[case]
    monkeypatch.setattr(lines, "LONGEST_HEADER", 1000)
    monkeypatch.setattr(lines, "LONGEST_RECORD", 5000)
    monkeypatch.setattr(inlet, "PIECE", 100)
    path = tmp_path / "in"
    if way == "pipe":
        os.mkfifo(path)
        end = os.open(path, os.O_RDWR)
        os.write(end, content)  # and does not end
    else:
        path.write_bytes(gzip.compress(content) if way == "gz" else content)
    with pytest.raises(InputError, match=said):
        list(Feed(path, WantedColumns(("v",))).batches())


def test_a_pipe_that_nobody_writes_to_is_waited_for_in_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlet, "PATIENCE", 0.001)
    os.mkfifo(tmp_path / "in")
    batches = Feed(tmp_path / "in", WantedColumns(("v",))).batches()
    assert [next(batches).count for _ in range(3)] == [0, 0, 0]
    with (tmp_path / "in").open("wb") as pipe:
        pipe.write(b"v\n1\n2\n")
    assert sum(batch.count for batch in batches) == 2


@pytest.mark.parametrize("line", [b"v" * 50, b"v\n" + b"1" * 50, b'{"v": ' + b"1" * 50])
def test_whoever_reads_may_stop_while_a_line_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(inlet, "PIECE", 1)
    (tmp_path / "in").write_bytes(line)
    batches = Feed(tmp_path / "in", WantedColumns(("v",))).batches()
    assert sum(batch.count == 0 for batch, _ in zip(batches, range(40), strict=False)) == 40


class Pieces:
    def __init__(self, text: bytes) -> None:
        self.left = list(pieces_of(text, 20))

    def read(self) -> bytes | None:
        return self.left.pop(0) if self.left else b""


def test_whoever_reads_may_stop_while_much_is_skipped() -> None:
    packed = b"".join(gzip.compress(b"x" * 10) for _ in range(50))
    for inlet_of_much in (
        Unzipped(Pieces(packed), "a", skip=495),
        Recoded(Pieces(b"x" * 500), "latin-1", "a", skip=495),
    ):
        came = []
        while (piece := inlet_of_much.read()) != b"":
            came.append(piece)
        assert b"".join(piece or b"" for piece in came) == b"x" * 5
        assert came.count(None) > 20
