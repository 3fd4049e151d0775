"""The two forms of reports in a file: lines of JSON, one report a line, and packed blocks.

A block has fingerprints, number, length and checksum, then the payloads without a gap. A single report is a block of
one, so that blocks from many devices can be appended to one file, and whole files too.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from sfumato.local.base import CHUNK_REPORTS
from sfumato.local.reports.report import (
    MALFORMED,
    OTHER_DOMAIN,
    OTHER_PROTOCOL,
    TRUNCATED,
    Report,
    Reports,
    UnreadableReportError,
)

if TYPE_CHECKING:
    from sfumato.local.collector.tally import Tally

FRONT = b'{"format":"sfumato-local-reports",'
TAIL = b'"}\n'
SPARE = 4096
MAGIC = b"SFLR\x01"
HEAD = struct.Struct("<8s8sIII")  # design, domain, number of reports, bytes, CRC-32
LARGEST_BLOCK = 2**24
LARGEST_HEADER = 2**28


def report_lines(reports: Reports) -> Iterator[bytes]:
    r"""Yield the line of every report, as the device itself would write it.

    >>> from sfumato.local import WarnerResponse
    >>> reports = next(WarnerResponse(["no", "yes"], 1).report_many([0]))
    >>> next(report_lines(reports)).decode() == next(iter(reports)).to_json() + "\n"
    True
    """
    front, width = _line_start(reports), reports.payload.shape[1]
    content = reports.payload.tobytes()
    for start in range(0, len(content), width):
        yield front + binascii.b2a_base64(content[start : start + width], newline=False) + TAIL


def read_lines(file: IO[bytes], tally: Tally) -> None:
    r"""Add all lines of an open file to a tally; what is no report of its protocol is rejected, line by line.

    >>> import io
    >>> from sfumato.local import WarnerResponse
    >>> tally = WarnerResponse(["no", "yes"], 1).aggregate([])
    >>> read_lines(io.BytesIO(b'{"protocol": 1}\n{"prot'), tally)
    >>> tally.rejected
    {'malformed': 1, 'truncated': 1}
    """
    protocol = tally.protocol
    width = protocol.report_bytes
    front = _line_start(Report(protocol.name, protocol.design_hash, protocol.domain_hash, b""))
    longest = 2 * width + len(front) + SPARE
    waiting: list[bytes] = []
    while line := file.readline(longest):
        payload = _plain_payload(front, line)
        if payload is not None and len(payload) == width:
            waiting.append(payload)
        elif line.strip():
            _add_other_line(file, tally, line, longest)
        if len(waiting) == CHUNK_REPORTS:
            _add_payloads(tally, waiting)
    _add_payloads(tally, waiting)


def _plain_payload(front: bytes, line: bytes) -> bytes | None:
    """The payload of a line exactly as this protocol's devices write it, without parsing JSON."""
    if not (line.startswith(front) and line.endswith(TAIL)):
        return None
    try:
        return binascii.a2b_base64(line[len(front) : -len(TAIL)], strict_mode=True)
    except ValueError:
        return None


def _add_other_line(file: IO[bytes], tally: Tally, line: bytes, longest: int) -> None:
    """Parse any other line; one that is longer than a report can be is skipped without being held."""
    complete, header = line.endswith(b"\n"), line.startswith(FRONT)
    if len(line) == longest and not complete:
        while (part := file.readline(longest)) and not part.endswith(b"\n"):
            pass
        tally.reject(MALFORMED, 0 if header else 1)
        return
    if header and complete:  # another file was appended; its reports say themselves whether they belong
        return
    try:
        report = Report.from_json(line)
    except UnreadableReportError as error:
        tally.reject(str(error) if complete else TRUNCATED)
        return
    tally.add([report])


def _add_payloads(tally: Tally, waiting: list[bytes]) -> None:
    import numpy as np

    if waiting:
        tally.add(tally.protocol.packed(np.frombuffer(b"".join(waiting), dtype=np.uint8).reshape(len(waiting), -1)))
        waiting.clear()


def _line_start(reports: Report | Reports) -> bytes:
    marks = f'"design":"{reports.design}","domain":"{reports.domain}"'
    return f'{{"protocol":"{reports.protocol}",{marks},"report":"'.encode("ascii")


def write_block(file: IO[bytes], reports: Reports) -> None:
    """Write packed reports as one block.

    >>> import io
    >>> import numpy as np
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
    while head := _read_bytes(file, HEAD.size):
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
        content = _read_bytes(file, length)
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
    if len(_read_bytes(file, rest)) < rest:
        tally.reject(TRUNCATED)
        return False
    return True


def _add_block(tally: Tally, marks: tuple[str, str], number: int, content: bytes, *, intact: bool) -> None:
    import numpy as np

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


def _read_bytes(file: IO[bytes], count: int) -> bytes:
    """As many of `count` bytes as there are, also from a pipe that gives them in pieces."""
    parts = []
    while count and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
