"""Report files: a header with the protocol and the whole domain, then reports as JSON lines or as packed blocks.

The header is enough to read the file alone; one whose thresholds are not those of its own parameters is refused, since
then nobody knows what was promised. Reading holds one block or one batch of lines at a time. Whatever is malformed, cut
off, or another protocol's or domain's is rejected and counted by its reason; no byte of it reaches a count.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from sfumato.core.files import Staging
from sfumato.errors import InputError, ParameterError
from sfumato.local.base import LocalProtocol
from sfumato.local.protocol_choice import protocol_class
from sfumato.local.reports.forms import LARGEST_HEADER, MAGIC, read_blocks, read_lines, report_lines, write_block
from sfumato.local.reports.report import Report, Reports
from sfumato.table.formats.unpacking import most_unpacked

if TYPE_CHECKING:
    from sfumato.local.collector.tally import Tally

FORMAT = "sfumato-local-reports"
FORMS = ("lines", "packed")
VERSION = 1
COPIES = 4  # of a header that is being read, about


def to_header(protocol: LocalProtocol) -> dict[str, Any]:
    """Return the header of a protocol, as JSON values; probabilities are texts, since JSON readers round large numbers.

    >>> from sfumato.local import SymmetricUnary
    >>> to_header(SymmetricUnary(["a", "b"], 1))["protocol"]
    'sue'
    """
    return {
        "version": VERSION,
        "protocol": protocol.name,
        "parameters": protocol.parameters(),
        "chances": {name: str(number) for name, number in protocol.thresholds.items()},
        "epsilon": protocol.spent,
        "domain_hash": protocol.domain_hash,
        "domain": list(protocol.domain),
    }


def from_header(header: object, *, where: str) -> LocalProtocol:
    """Return the protocol of a header; one that is incomplete or contradicts itself is refused.

    >>> from sfumato.local import SymmetricUnary
    >>> protocol = SymmetricUnary(["a", "b"], 1)
    >>> from_header(to_header(protocol), where="here") == protocol
    True
    """
    if not isinstance(header, Mapping) or header.get("version") != VERSION:
        raise InputError(f"{where}: the header is not one of version {VERSION}")
    name, parameters, domain = (header.get(key) for key in ("protocol", "parameters", "domain"))
    if not isinstance(name, str) or not isinstance(parameters, Mapping) or not isinstance(domain, list):
        raise InputError(f"{where}: the header needs a protocol, parameters and a domain")
    try:
        kind = protocol_class(name)
    except ParameterError as error:
        raise InputError(f"{where}: {error}") from error
    if set(parameters) - {entry.name for entry in fields(kind)} or "domain" in parameters:
        raise InputError(f"{where}: the header's parameters are not those of {name}")
    try:
        protocol = kind(domain=tuple(domain), **parameters)
    except (ParameterError, TypeError, OverflowError) as error:
        raise InputError(f"{where}: the header is not usable: {error}") from error
    if to_header(protocol) != dict(header):
        raise InputError(f"{where}: the header's chances, ε or domain hash are not those of its own parameters")
    return protocol


def write_reports(
    path: str | Path, protocol: LocalProtocol, reports: Iterable[Reports | Report], *, form: str = "packed"
) -> int:
    """Write a file of reports, `packed` or as JSON `lines`; return how many there are. No file is replaced.

    A name that ends in .gz makes a compressed file; reading knows one by its first bytes.

    >>> import pathlib, tempfile
    >>> from sfumato.local import OptimizedUnary
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "reports.bin"
    >>> protocol = OptimizedUnary(["red", "green", "blue"], 2)
    >>> write_reports(file, protocol, protocol.report_many(protocol.encode_many(["red", "red", "blue"])))
    3
    >>> aggregate_file(file).users
    3
    """
    with Staging() as staging, open_reports(staging.place(path)) as file:
        return write_stream(file, protocol, reports, form=form)


def open_reports(path: Path) -> IO[bytes]:
    """Return a new file to write reports to, compressed if its name ends in .gz.

    >>> import pathlib, tempfile
    >>> with open_reports(pathlib.Path(tempfile.mkdtemp()) / "reports.jsonl.gz") as file:
    ...     type(file).__name__
    'PlainGzip'
    """
    file = path.open("wb")
    if path.suffix.casefold() == ".gz":
        return cast("IO[bytes]", PlainGzip(file))
    return file


class PlainGzip(gzip.GzipFile):
    """A gzip file that tells neither a name nor a time, and closes the file it is written to."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(filename="", mode="wb", fileobj=file, mtime=0)
        self._to = file

    def close(self) -> None:
        """Write the end and close both."""
        try:
            super().close()
        finally:
            self._to.close()


def write_stream(
    file: IO[bytes], protocol: LocalProtocol, reports: Iterable[Reports | Report], *, form: str = "packed"
) -> int:
    """Write header and reports to an open binary file; return how many reports there are.

    >>> import io
    >>> from sfumato.local import WarnerResponse
    >>> protocol = WarnerResponse(["no", "yes"], 1)
    >>> write_stream(io.BytesIO(), protocol, [protocol.perturb(1)], form="lines")
    1
    """
    if form not in FORMS:
        raise ParameterError(f"The 'form' parameter of a report file must be one of 'lines', 'packed'. Got {form!r}.")
    header = header_line(protocol)
    written = 0
    if form == "lines":
        file.write(header + b"\n")
    else:
        file.write(MAGIC + len(header).to_bytes(4, "little") + header)
    for batch in _batches(protocol, reports):
        if form == "lines":
            file.writelines(report_lines(batch))
        else:
            write_block(file, batch)
        written += len(batch)
    return written


def header_line(protocol: LocalProtocol) -> bytes:
    """Return the header of a report file: JSON, in one line without its end.

    >>> from sfumato.local import WarnerResponse
    >>> header_line(WarnerResponse(["no", "yes"], 1))[:33]
    b'{"format":"sfumato-local-reports"'
    """
    return json.dumps({"format": FORMAT, **to_header(protocol)}, separators=(",", ":")).encode("ascii")


def read_header(path: str | Path) -> LocalProtocol:
    """Return the protocol of a report file.

    >>> read_header("no such file")
    Traceback (most recent call last):
    sfumato.errors.InputError: report file 'no such file' cannot be read: No such file or directory
    """
    where = f"report file '{path}'"
    with _open_existing(path) as file:
        try:
            return _read_header(_inflate(file), where)[0]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{where} is a damaged gzip file: {error}") from error


def aggregate_file(path: str | Path, protocol: LocalProtocol | None = None) -> Tally:
    """Return the tally of a report file, for the protocol of its header or for another one that is expected.

    >>> aggregate_file("no such file")
    Traceback (most recent call last):
    sfumato.errors.InputError: report file 'no such file' cannot be read: No such file or directory
    """
    with _open_existing(path) as file:
        return aggregate_stream(file, protocol, where=f"report file '{path}'")


def aggregate_stream(file: IO[bytes], protocol: LocalProtocol | None = None, *, where: str = "reports") -> Tally:
    """Return the tally of an open binary file of reports.

    >>> import io
    >>> from sfumato.local import WarnerResponse
    >>> protocol, file = WarnerResponse(["no", "yes"], 1), io.BytesIO()
    >>> _ = write_stream(file, protocol, [protocol.perturb(1)], form="lines")
    >>> _ = file.seek(0)
    >>> aggregate_stream(file).users
    1
    """
    from sfumato.local.collector.tally import Tally

    plain = _inflate(file)
    try:
        written_by, packed = _read_header(plain, where)
        tally = Tally(written_by if protocol is None else protocol)
        (read_blocks if packed else read_lines)(plain, tally)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{where} is a damaged gzip file: {error}") from error
    return tally


def _inflate(file: IO[bytes]) -> IO[bytes]:
    """The file itself, or what a compressed one holds."""
    buffered = file if hasattr(file, "peek") else io.BufferedReader(cast("io.RawIOBase", file))
    compressed = buffered.peek(2)[:2] == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.GzipFile(fileobj=buffered) if compressed else buffered)


def _batches(protocol: LocalProtocol, reports: Iterable[Reports | Report]) -> Iterator[Reports]:
    """The reports in packed batches; a report of something else must not get under this header."""
    import numpy as np

    for batch in reports:
        if (batch.protocol, batch.design, batch.domain) != (protocol.name, protocol.design_hash, protocol.domain_hash):
            raise InputError(f"a report of another protocol or domain cannot be written to a file of {protocol.name}")
        if isinstance(batch, Reports):
            yield batch
        else:
            yield protocol.packed(np.frombuffer(batch.payload, dtype=np.uint8).reshape(1, -1))


def _open_existing(path: str | Path) -> IO[bytes]:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"report file '{path}' cannot be read: {error.strerror or error}") from error


def _largest_header(file: object) -> int:
    """Return how long a header may be; what is packed must not become far more than it is."""
    if not isinstance(file, gzip.GzipFile):
        return LARGEST_HEADER
    try:
        size = os.fstat(file.fileno()).st_size  # of a pipe, 0
    except OSError:  # in memory
        size = 0
    return min(LARGEST_HEADER, most_unpacked(size) // COPIES)


def _read_header(file: IO[bytes], where: str) -> tuple[LocalProtocol, bool]:
    """The protocol, and whether packed blocks follow."""
    start, largest = file.read(len(MAGIC)), _largest_header(file)
    packed = start == MAGIC
    if packed:
        length = int.from_bytes(file.read(4), "little")
        text = file.read(length) if length <= largest else b""
    else:
        text = start + file.readline(largest) if b"\n" not in start else b""
    try:
        header: Any = json.loads(text)
        stated = header.pop("format")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{where} does not begin with the header of a report file") from error
    if stated != FORMAT:
        raise InputError(f"{where}: the header's format is {stated!r}, not '{FORMAT}'")
    return from_header(header, where=where), packed
