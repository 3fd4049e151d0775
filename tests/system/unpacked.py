"""Every byte of a file, packed ones unpacked: zip members, gzip and zlib streams, zstd frames inside of Parquet."""

from __future__ import annotations

import base64
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

GZIP, ZSTD, ZLIB = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", re.compile(rb"\x78[\x01\x5e\x9c\xda]")
BASE64 = re.compile(rb"[A-Za-z0-9+/]{40,}={0,2}")
DEEPEST = 3


def parts_of(data: bytes, depth: int = 0) -> list[bytes]:
    """Return the data and everything packed inside of them."""
    found = [data]
    if depth < DEEPEST:
        for part in _unpacked(data):
            found += parts_of(part, depth + 1)
    return found


def _unpacked(data: bytes) -> Iterator[bytes]:
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    for start in _places(data, GZIP):
        yield from _inflate(data[start:], zlib.MAX_WBITS | 16)
    for match in ZLIB.finditer(data):
        yield from _inflate(data[match.start() :], zlib.MAX_WBITS)
    for start in _places(data, ZSTD):
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[start:])
        except zstandard.ZstdError:
            continue
    for text in BASE64.findall(data):
        yield base64.b64decode(text[: len(text) // 4 * 4])


def _places(data: bytes, mark: bytes) -> Iterator[int]:
    start = data.find(mark)
    while start >= 0:
        yield start
        start = data.find(mark, start + 1)


def _inflate(data: bytes, bits: int) -> Iterator[bytes]:
    try:
        found = zlib.decompressobj(bits).decompress(data)
    except zlib.error:
        return
    if found:
        yield found


def contains(data: bytes, needle: bytes) -> bool:
    """Return whether a needle, text in UTF-8 or plain bytes, is anywhere in the data, also as UTF-16."""
    needles = [needle]
    try:
        text = needle.decode()
        needles += [text.encode("utf-16-le"), text.encode("utf-16-be"), needle[::-1]]
    except UnicodeDecodeError:
        pass
    return any(one in part for part in parts_of(data) for one in needles)


def files_with(folder: Path, needle: bytes) -> list[str]:
    """Return the names of the files below a folder that hold a needle."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if contains(path.read_bytes(), needle)]
