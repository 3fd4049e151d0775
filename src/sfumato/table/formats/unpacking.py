"""Limits on what a packed file may become: a few kilobytes must not fill the memory.

Fifield (2019), "A better zip bomb", shows how far deflate goes (1032 to 1); what a file says about its own size is not
believed, its bytes are counted.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib

from sfumato.errors import InputError

FREE = 64 * 2**20  # bytes that any file may become
TIMES = 100  # and how many times its size beyond
DEFLATE = 1032  # the most bytes that one byte becomes
PIECE = 2**20
MOST_CELLS = 20_000_000  # of a sheet, filled or not: a reader holds them all
CELL = re.compile(rb'<c [^>]*?r="([A-Z]{1,3})([0-9]{1,7})"')


def most_unpacked(size: int) -> int:
    """Return how many bytes a packed file of a size may become.

    >>> most_unpacked(10), most_unpacked(10**7)
    (67108864, 1000000000)
    """
    return max(FREE, TIMES * size)


def unpack_gzip(data: bytes, name: str) -> bytes:
    """Return what a gzip file holds; a damaged one, and one that becomes too large, is refused.

    >>> unpack_gzip(gzip.compress(b"age"), "people.csv.gz")
    b'age'
    """
    most = most_unpacked(len(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"file '{name}' is a damaged gzip file: {error}") from error
    if len(found) > most:
        raise InputError(_too_large(name, len(data), most))
    return found


def refuse_large_workbook(data: bytes, name: str) -> None:
    """Refuse a workbook that unpacks to too many bytes, or spans more cells than it could hold.

    >>> refuse_large_workbook(b"no workbook", "t.xlsx")
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            packed = [(entry.filename, _packed(data, entry)) for entry in book.infolist()]
    except (zipfile.BadZipFile, ValueError, OverflowError, EOFError, OSError, NotImplementedError):
        return  # whoever reads it says so
    left = most_unpacked(len(data))
    for part, content in packed:
        left -= _count(content, name, len(data), left, sheet=part.startswith("xl/worksheets/"))


def _packed(data: bytes, entry: zipfile.ZipInfo) -> bytes:
    """Return the packed bytes of an entry, wherever its header ends."""
    start = entry.header_offset
    names = int.from_bytes(data[start + 26 : start + 28], "little") + int.from_bytes(
        data[start + 28 : start + 30], "little"
    )
    begin = start + 30 + names
    return data[begin : begin + entry.compress_size] if entry.compress_type == zipfile.ZIP_DEFLATED else b""


def _count(content: bytes, name: str, size: int, most: int, *, sheet: bool) -> int:
    """Return how many bytes an entry becomes, and look at the places of a sheet's cells on the way."""
    unpacker, total, rest, rows, columns = zlib.decompressobj(-zlib.MAX_WBITS), 0, b"", 0, 0
    try:
        while content and not unpacker.eof:
            piece = unpacker.decompress(content, PIECE)
            content = unpacker.unconsumed_tail
            total += len(piece)
            if total > most:
                raise InputError(_too_large(name, size, most_unpacked(size)))
            if sheet:
                places = CELL.findall(rest + piece)
                rest = piece[-100:]
                rows = max([rows, *(int(row) for _, row in places)])
                columns = max([columns, *(_column(letters) for letters in {letters for letters, _ in places})])
                if rows * columns > MOST_CELLS:
                    raise InputError(
                        f"file '{name}' has a sheet of {rows} rows and {columns} columns; at most {MOST_CELLS} cells "
                        "can be read, so delete what lies far from the table, or save it as .csv"
                    )
    except zlib.error:
        return total
    return total


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _too_large(name: str, size: int, most: int) -> str:
    return (
        f"file '{name}' has {size} bytes and becomes more than {most} when it is unpacked, as files made to fill a "
        "memory do; if you trust it, unpack it yourself and give that file"
    )
