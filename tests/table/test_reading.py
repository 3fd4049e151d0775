"""A file read as it is written: delimiter, quote and encoding, declared or guessed and said, and its broken rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato import Reading, read
from sfumato.errors import InputError, SchemaError

PEOPLE = "name;city\nJörg;Köln\nAnaïs;Orléans\n"


@pytest.fixture
def give(tmp_path: Path) -> Callable[[bytes], Path]:
    """Return a function that puts bytes into a file and returns its path."""

    def put(content: bytes) -> Path:
        path = tmp_path / "people.csv"
        path.write_bytes(content)
        return path

    return put


@pytest.mark.parametrize(
    "encoding, said",
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", "encoding utf-16 (found: the file begins with its byte order mark)"),
        ("latin-1", "encoding windows-1252 (guessed: byte 0xF6 in line 2 is no UTF-8)"),
        ("windows-1252", "encoding windows-1252 (guessed: byte 0xF6 in line 2 is no UTF-8)"),
    ],
)
def test_an_encoding_is_guessed_and_said(give: Callable[[bytes], Path], encoding: str, said: str) -> None:
    table = read(give(PEOPLE.encode(encoding)))
    assert table.frame.rows() == [("Jörg", "Köln"), ("Anaïs", "Orléans")]
    expected = [said] if said else []
    assert list(table.guesses) == [*expected, "delimiter ';' (guessed from the header)"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-16", "latin-1", "windows-1252", "cp850"])
def test_a_declared_encoding_is_not_guessed(give: Callable[[bytes], Path], encoding: str) -> None:
    table = read(give(PEOPLE.encode(encoding)), reading=Reading(encoding=encoding, delimiter=";"))
    assert table.column("city").to_list() == ["Köln", "Orléans"]
    assert table.guesses == ()
    assert table.reading == Reading(encoding=encoding, delimiter=";", quote='"')


def test_the_euro_of_windows_and_bytes_that_it_lacks(give: Callable[[bytes], Path]) -> None:
    assert read(give(b"cost,x\n5 \x80,1\n")).column("cost").to_list() == ["5 €"]
    table = read(give(b"cost,x\n\x81\xe4,1\n"))
    assert table.reading.encoding == "latin-1"
    assert table.column("cost").to_list() == ["\x81ä"]


def test_a_damaged_utf_8_file_is_not_read_as_something_else(give: Callable[[bytes], Path]) -> None:
    with pytest.raises(InputError, match=r"line 3: byte 0xE4 is no UTF-8, though other letters of the file are"):
        read(give("name,x\nJörg,1\n".encode() + b"K\xe4the,2\n"))
    with pytest.raises(InputError, match=r"line 2: byte 0xF6 is not utf-8; give the encoding"):
        read(give(PEOPLE.encode("latin-1")), reading=Reading(encoding="utf-8"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":", "^", " "])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_any_delimiter_and_quote_can_be_declared(give: Callable[[bytes], Path], delimiter: str, quote: str) -> None:
    text = f"id{delimiter}note\n007{delimiter}{quote}a{delimiter}b {quote}{quote}c{quote}{quote}{quote}\n"
    table = read(give(text.encode()), reading=Reading(delimiter=delimiter, quote=quote))
    assert table.frame.rows() == [("007", f"a{delimiter}b {quote}c{quote}")]
    assert (table.reading.delimiter, table.guesses) == (delimiter, ())
    assert table.delimiter == (delimiter if delimiter in ",;\t|" else ",")  # a release is for readers who must guess


def test_a_delimiter_is_guessed_by_what_cuts_the_lines_alike(give: Callable[[bytes], Path]) -> None:
    table = read(give(b"a, b, c, d|e|f\n1|2|3\n4|5|6\n"))
    assert table.names == ("a, b, c, d", "e", "f")
    assert table.guesses == ("delimiter '|' (guessed from the header)",)
    assert read(give(b"a\tb\n1\t2\n")).guesses == ("delimiter tab (guessed from the header)",)


def test_single_quotes_are_guessed_where_all_names_have_them(give: Callable[[bytes], Path]) -> None:
    table = read(give(b"'name','note'\n'O''Brien','a,b'\n"))
    assert table.frame.rows() == [("O'Brien", "a,b")]
    assert table.guesses == ("quote ' (guessed from the header)",)


def test_without_quotes_a_quote_is_a_letter(give: Callable[[bytes], Path]) -> None:
    content = b'id,size\n1,5" pipe\n2,"half\n'
    assert read(give(content), reading=Reading(quote="none")).column("size").to_list() == ['5" pipe', '"half']
    with pytest.raises(InputError, match=r"line 3: a quote opens here and is never closed.*quote none"):
        read(give(content))


@pytest.mark.parametrize(
    "body, sentence",
    [
        ('1,x\n2,"oops\n3,y\n4,"z"\n', "line 3: a quote opens here and is closed in line 5, before other letters"),
        ('1,x\n2,"oops\n3,y\n', "line 3: a quote opens here and is never closed"),
        ('1,"two\nlines"\n"2\n3",x"\n4,"oops\n5,y\n', "line 6: a quote opens here and is never closed"),
        ('"1","a"\n"2","oops\n"3","b"\n', "line 3: a quote opens here and is closed in line 4"),
        ('1,x\n"oops,2\n3,y"\n4,z\n', "line 3: found 1 field; the header has 2"),
        ("1,x\n2\n", "line 3: found 1 field; the header has 2"),
        ("1,x\n2,y,z\n", "line 3: found 3 fields; the header has 2"),
    ],
)
@pytest.mark.parametrize("more", [0, 3000])
def test_a_broken_row_is_named_by_its_line(give: Callable[[bytes], Path], body: str, sentence: str, more: int) -> None:
    with pytest.raises(InputError) as error:
        read(give(("id,note\n" + body + "8,w\n" * more).encode()))
    assert sentence in str(error.value)


def test_a_line_inside_a_quoted_cell_that_looks_like_a_row_is_told(give: Callable[[bytes], Path]) -> None:
    table = read(give(b'id,note\n1,"oops\n2,x\n3,y"\n4,z\n'))
    assert table.rows == 2
    assert table.guesses == (
        "line 3 stands inside a quoted cell though it has as many fields as a row (check the quotes before it)",
    )
    assert read(give(b'id,note\n1,"dear\nsir"\n4,z\n')).guesses == ()


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"delimiter": ""}, "delimiter must be one ASCII character"),
        ({"delimiter": "§"}, "delimiter must be one ASCII character"),
        ({"delimiter": "\n"}, "delimiter must be one ASCII character"),
        ({"quote": "''"}, "quote must be one ASCII character"),
        ({"quote": ";", "delimiter": ";"}, "other than the delimiter"),
        ({"encoding": "utf-9"}, "encoding must be one like utf-8"),
        ({"encoding": "base64"}, "encoding must be one like utf-8"),
        ({"decimal": "0"}, "decimal must be '.' or ','"),
        ({"date_format": "%d.%m"}, "format must have a day, a month and a year"),
        ({"zone": "Berlin"}, "zone must be a time zone"),
        ({"decimal": ",", "thousands": ","}, "give two different marks"),
    ],
)
def test_a_reading_that_cannot_be_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        Reading(**given)
