"""Reports as lines of JSON: one report a line, each with the fingerprints of its protocol and its domain."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from sfumato.local.base import CHUNK_REPORTS
from sfumato.local.reports.report import MALFORMED, TRUNCATED, Report, Reports, UnreadableReportError

if TYPE_CHECKING:
    from sfumato.local.collector.tally import Tally

TAIL = b'"}\n'
HEADER = b'{"format":"sfumato-local-reports",'
SPARE = 4096


def report_lines(reports: Reports) -> Iterator[bytes]:
    r"""Yield the line of every report, as the device itself would write it.

    >>> from sfumato.local import WarnerResponse
    >>> reports = next(WarnerResponse(["no", "yes"], 1).report_many([0]))
    >>> next(report_lines(reports)).decode() == next(iter(reports)).to_json() + "\n"
    True
    """
    front, width = _front(reports), reports.payload.shape[1]
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
    front = _front(Report(protocol.name, protocol.design_hash, protocol.domain_hash, b""))
    longest = 2 * width + len(front) + SPARE
    waiting: list[bytes] = []
    while line := file.readline(longest):
        payload = _payload(front, line)
        if payload is not None and len(payload) == width:
            waiting.append(payload)
        elif line.strip():
            _add_slowly(file, tally, line, longest)
        if len(waiting) == CHUNK_REPORTS:
            _flush(tally, waiting)
    _flush(tally, waiting)


def _payload(front: bytes, line: bytes) -> bytes | None:
    """The payload of a line exactly as this protocol's devices write it, without parsing JSON."""
    if not (line.startswith(front) and line.endswith(TAIL)):
        return None
    try:
        return binascii.a2b_base64(line[len(front) : -len(TAIL)], strict_mode=True)
    except ValueError:
        return None


def _add_slowly(file: IO[bytes], tally: Tally, line: bytes, longest: int) -> None:
    """Parse any other line; one that is longer than a report can be is skipped without being held."""
    complete, header = line.endswith(b"\n"), line.startswith(HEADER)
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


def _flush(tally: Tally, waiting: list[bytes]) -> None:
    import numpy as np

    if waiting:
        tally.add(tally.protocol.packed(np.frombuffer(b"".join(waiting), dtype=np.uint8).reshape(len(waiting), -1)))
        waiting.clear()


def _front(reports: Report | Reports) -> bytes:
    marks = f'"design":"{reports.design}","domain":"{reports.domain}"'
    return f'{{"protocol":"{reports.protocol}",{marks},"report":"'.encode("ascii")
