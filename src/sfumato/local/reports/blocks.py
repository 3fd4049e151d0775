"""Packed blocks of reports: fingerprints, number, length and checksum, then the payloads without a gap.

A single report is a block of one, so that blocks from many devices can be appended to one file, and whole files too.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, TYPE_CHECKING

import numpy as np

from sfumato.local.reports.report import MALFORMED, OTHER_DOMAIN, OTHER_PROTOCOL, TRUNCATED, Reports

if TYPE_CHECKING:
    from sfumato.local.collector.tally import Tally

MAGIC = b"SFLR\x01"
HEAD = struct.Struct("<8s8sIII")  # design, domain, number of reports, bytes, CRC-32
LARGEST_BLOCK = 2**24
LARGEST_HEADER = 2**28


def write_block(file: IO[bytes], reports: Reports) -> None:
    """Write packed reports as one block.

    >>> import io
    >>> from sfumato.local import WarnerResponse
    >>> file, protocol = io.BytesIO(), WarnerResponse(["no", "yes"], 1)
    >>> write_block(file, protocol.packed(np.array([[0], [1]], dtype=np.uint8)))
    >>> len(file.getvalue()) == HEAD.size + 2
    True
    """
    content = reports.payload.tobytes()
    marks = bytes.fromhex(reports.design), bytes.fromhex(reports.domain)
    file.write(HEAD.pack(*marks, len(reports), len(content), zlib.crc32(content)))
    file.write(content)


def read_blocks(file: IO[bytes], tally: Tally) -> None:
    """Add all blocks of an open file to a tally; damaged and foreign ones are rejected, report by report.

    >>> import io
    >>> from sfumato.local import WarnerResponse
    >>> tally = WarnerResponse(["no", "yes"], 1).aggregate([])
    >>> read_blocks(io.BytesIO(b"too short"), tally)
    >>> tally.rejected
    {'truncated': 1}
    """
    while head := _read(file, HEAD.size):
        if len(head) < HEAD.size:
            tally.reject(TRUNCATED)
            return
        if head.startswith(MAGIC):  # another file was appended; its blocks say themselves whether they belong
            if not _skip_header(file, head, tally):
                return
            continue
        design, domain, number, length, checksum = HEAD.unpack(head)
        if length > LARGEST_BLOCK:  # the frame is lost, and with it where the next block begins
            tally.reject(MALFORMED)
            return
        content = _read(file, length)
        claimed = max(1, min(number, length))
        if len(content) < length:
            tally.reject(TRUNCATED, claimed)
            return
        _add_block(tally, (design.hex(), domain.hex()), number, content, intact=zlib.crc32(content) == checksum)


def _skip_header(file: IO[bytes], head: bytes, tally: Tally) -> bool:
    """Read on to the first block of an appended file; False where its header makes no sense or is cut."""
    rest = len(MAGIC) + 4 + int.from_bytes(head[len(MAGIC) : len(MAGIC) + 4], "little") - len(head)
    if not 0 <= rest <= LARGEST_HEADER:
        tally.reject(MALFORMED)
        return False
    if len(_read(file, rest)) < rest:
        tally.reject(TRUNCATED)
        return False
    return True


def _add_block(tally: Tally, marks: tuple[str, str], number: int, content: bytes, *, intact: bool) -> None:
    protocol = tally.protocol
    claimed = max(1, min(number, len(content)))
    if marks[0] != protocol.design_hash:
        tally.reject(OTHER_PROTOCOL, claimed)
    elif marks[1] != protocol.domain_hash:
        tally.reject(OTHER_DOMAIN, claimed)
    elif not intact or number * protocol.report_bytes != len(content):
        tally.reject(MALFORMED, claimed)
    elif number:
        tally.add(protocol.packed(np.frombuffer(content, dtype=np.uint8).reshape(number, -1)))


def _read(file: IO[bytes], count: int) -> bytes:
    """As many of `count` bytes as there are, also from a pipe that gives them in pieces."""
    parts = []
    while count and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
