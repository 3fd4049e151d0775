r"""Lines out of pieces of bytes, each byte looked at once: the first line of a text, and whole lines from then on.

A text whose first line has no end is refused at a limit, so that it costs neither memory nor time (a parser must bound
what it keeps, Postel's RFC 793 notwithstanding; RFC 4180 bounds nothing).
"""

from __future__ import annotations

import re

from sfumato.errors import InputError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_HEADER = 1_000_000
LONGEST_RECORD = 4 << 20
BARE_RETURN = re.compile(rb"\r[^\r\n]")
OBJECT = b"{"


class FirstLine:
    r"""The blanks before the first line of a text, and the line, as pieces come; what cannot be one is refused.

    >>> line = FirstLine("a.csv")
    >>> line.take(b"\n hou")
    >>> line.whole
    False
    >>> line.take(b"rs\n5\n")
    >>> line.whole, line.begin, line.text, line.behind
    (True, 2, b'hours\n', b'5\n')
    """

    def __init__(self, name: str) -> None:
        self._name, self._data, self._blank = name, bytearray(), 0
        self._begin: int | None = None
        self._end: int | None = None

    def take(self, piece: bytes) -> None:
        """Take the next piece; only its own bytes are looked at."""
        before = len(self._data)
        self._data += piece
        if self._begin is None:
            self._find_begin()
        if self._begin is not None and self._end is None:
            start = max(before, self._begin)
            found = self._data.find(b"\n", start)
            self._end = found + 1 or None
            self._refuse(start)
        elif self._blank > LONGEST_HEADER:
            raise InputError(f"file '{self._name}' begins with more than {LONGEST_HEADER} blanks; check the file")

    def _find_begin(self) -> None:
        if len(self._data) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(self._data):
            return
        if self._blank == 0 and self._data.startswith(BYTE_ORDER_MARK):
            self._blank = len(BYTE_ORDER_MARK)
        rest = self._data[self._blank :].lstrip()
        self._blank = len(self._data) - len(rest)
        self._begin = self._blank if rest else None

    def _refuse(self, start: int) -> None:
        """Refuse a line that is too long, has zero bytes, or goes on behind a carriage return; look from `start` on."""
        end = self._end or len(self._data)
        if BARE_RETURN.search(self._data, max(start - 1, self.begin), end):
            raise InputError(f"file '{self._name}' ends its lines with carriage returns alone; write line breaks")
        if self.is_object:
            if end - self.begin > LONGEST_RECORD:
                raise InputError(f"file '{self._name}' has a record of more than 4 MiB; check its line breaks")
            return
        if self._data.find(b"\0", start, end) >= 0:
            raise InputError(
                f"file '{self._name}' line 1: the header has zero bytes; give the text's encoding, as UTF-16, or check "
                "the file"
            )
        if end - self.begin > LONGEST_HEADER:
            raise InputError(
                f"file '{self._name}' line 1: the header has more than {LONGEST_HEADER} bytes; check its line breaks"
            )

    @property
    def whole(self) -> bool:
        """Whether the end of the line has come."""
        return self._end is not None

    @property
    def blank(self) -> bool:
        """Whether nothing but blanks has come."""
        return self._begin is None

    @property
    def is_object(self) -> bool:
        """Whether the line begins as one of JSON."""
        return self._data[self.begin : self.begin + 1] == OBJECT

    @property
    def begin(self) -> int:
        """How many bytes stand before the line."""
        return self._blank if self._begin is None else self._begin

    @property
    def text(self) -> bytes:
        """The line with its end, as far as it has come."""
        return bytes(self._data[self.begin : self._end])

    @property
    def behind(self) -> bytes:
        """What came behind the line."""
        return b"" if self._end is None else bytes(self._data[self._end :])

    @property
    def before(self) -> bytes:
        """What stands before the line."""
        return bytes(self._data[: self.begin])


class WholeLines:
    r"""Whole lines of pieces; what has no end yet waits for it, and is refused when it is too long.

    >>> lines = WholeLines("a.csv")
    >>> lines.take(b"1\n2"), lines.take(b"3"), lines.take(b"\n4"), lines.rest
    (b'1\n', b'', b'23\n', b'4')
    """

    def __init__(self, name: str) -> None:
        self._name, self._rest = name, bytearray()

    def take(self, piece: bytes) -> bytes:
        """Return the lines that are whole with this piece; only its own bytes are looked at."""
        cut = piece.rfind(b"\n") + 1
        if not cut:
            self._rest += piece
            whole = b""
        else:
            whole = bytes(self._rest) + piece[:cut]
            self._rest = bytearray(piece[cut:])
        if len(self._rest) > LONGEST_RECORD:
            raise InputError(f"file '{self._name}' has a record of more than 4 MiB; check its line breaks")
        return whole

    @property
    def rest(self) -> bytes:
        """The line without an end."""
        return bytes(self._rest)
