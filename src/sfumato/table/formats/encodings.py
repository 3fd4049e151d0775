"""Bytes of a text file as UTF-8: by the encoding that is declared, by a byte order mark, or by a guess that is said.

Windows-1252 is what browsers read where no encoding is declared and the bytes are no UTF-8 (WHATWG, "Encoding", section
4.2); a file that is UTF-8 for the most part is damaged, and refused.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from sfumato.errors import InputError

UTF_8 = "utf-8"
WINDOWS = "windows-1252"
MARKS = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


class Text(NamedTuple):
    """The text of a file as UTF-8 without a byte order mark, how it was encoded, and what was guessed of it.

    >>> Text(b"a,b", "utf-8").guesses
    ()
    """

    data: bytes
    encoding: str
    guesses: tuple[str, ...] = ()


def as_utf_8(data: bytes, name: str, encoding: str | None = None) -> Text:
    """Return the text of a file; without an encoding, it is found from the bytes.

    >>> as_utf_8("Köln".encode("utf-16"), "t.csv").encoding
    'utf-16'
    >>> as_utf_8("name;Köln".encode("latin-1"), "t.csv").guesses
    ('encoding windows-1252 (guessed: byte 0xF6 in line 1 is no UTF-8)',)
    """
    if encoding is not None:
        return Text(_decode(data, name, encoding), encoding)
    for mark, found in MARKS.items():
        if data.startswith(mark):
            said = () if found == UTF_8 else (f"encoding {found} (found: the file begins with its byte order mark)",)
            return Text(_decode(data, name, found), found, said)
    if b"\0" in data:
        raise InputError(
            f"file '{name}' is not a text file (it holds zero bytes); give a table, or its encoding (utf-16-le)"
        )
    if data.isascii():
        return Text(data, UTF_8)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return _guessed(data, name, error.start)
    return Text(data, UTF_8)


def is_utf_8(encoding: str | None) -> bool:
    """Return whether an encoding is UTF-8, by whichever name.

    >>> is_utf_8("UTF8"), is_utf_8("utf-8-sig"), is_utf_8("latin-1")
    (True, True, False)
    """
    return encoding is None or codecs.lookup(encoding).name in {"utf-8", "utf-8-sig", "ascii"}


def _guessed(data: bytes, name: str, first: int) -> Text:
    """Return a text whose bytes are no UTF-8 from `first` on; a broken letter among whole ones is refused."""
    line = data.count(b"\n", 0, first) + 1
    wrong = f"byte 0x{data[first]:02X}"
    if LETTER.search(data):
        raise InputError(
            f"file '{name}' line {line}: {wrong} is no UTF-8, though other letters of the file are; correct the line, "
            f"or give the file's encoding ({WINDOWS})"
        )
    try:
        found, text = WINDOWS, data.decode(WINDOWS)
    except UnicodeDecodeError:  # five bytes mean nothing there
        found, text = "latin-1", data.decode("latin-1")
    return Text(text.encode(), found, (f"encoding {found} (guessed: {wrong} in line {line} is no UTF-8)",))


def _decode(data: bytes, name: str, encoding: str) -> bytes:
    """Return the text as UTF-8; a byte that the encoding does not have is named by its line."""
    if is_utf_8(encoding):
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, start) + 1
        found = f"byte 0x{data[start]:02X}" if start < len(data) else "the end"
        raise InputError(
            f"file '{name}' line {line}: {found} is not {encoding}; give the encoding the file was saved with"
        ) from None
    if "\0" in text:
        raise InputError(f"file '{name}' is not a text file in {encoding} (it holds zero bytes); give its encoding")
    return text.removeprefix("\ufeff").encode()
