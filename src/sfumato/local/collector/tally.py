"""A tally: what a collector keeps of the reports, whole counters that add up across files and machines.

Counts of supporting reports are all that the estimator of Wang et al. (2017) needs; single reports can be forgotten.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
import numpy as np

from sfumato.core.arrays import Integers
from sfumato.core.files import Staging, fill
from sfumato.core.progress import tell
from sfumato.errors import InputError
from sfumato.local.base import CHUNK_REPORTS, LocalProtocol
from sfumato.local.reports.files import from_header, to_header
from sfumato.local.reports.report import (
    MALFORMED,
    OTHER_DOMAIN,
    OTHER_PROTOCOL,
    Report,
    Reports,
    UnreadableReportError,
)

FORMAT = "sfumato-local-tally"
NO_FILE = "there is no report file; name one or more"
Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # what every reader of JSON keeps exactly


class TallyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tally as it is saved: the header of its protocol, and its counters.

    >>> TallyFile(format=FORMAT, header={}, users=0, rejected={}, counts=[0, 0]).users
    0
    """

    format: str
    header: dict[str, Any]
    users: Number
    rejected: dict[str, Number]
    counts: list[Number]


@dataclass(eq=False)
class Tally:
    """Counters of one protocol, the number of reports behind them, and the rejected ones by reason.

    >>> from sfumato.local import GeneralizedResponse
    >>> protocol = GeneralizedResponse(["red", "green", "blue"], 1.5)
    >>> tally = protocol.aggregate(protocol.report_many(protocol.encode_many(["red", "blue"])))
    >>> tally += protocol.aggregate(["not a report"])
    >>> tally.users, int(tally.counts.sum()), tally.rejected
    (2, 2, {'malformed': 1})
    """

    protocol: LocalProtocol
    counts: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    users: int = 0
    rejected: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.counts.size == 0:
            self.counts = np.zeros(self.protocol.cells, dtype=np.int64)

    def add(self, reports: Iterable[Reports | Report | str | bytes] | Reports) -> None:
        """Count reports of any form; what is not this protocol's is rejected with its reason."""
        if isinstance(reports, Reports):
            self._add_packed(reports)
            return
        waiting: list[bytes] = []
        for report in reports:
            if isinstance(report, Reports):
                self._add_packed(report)
            elif (payload := self._admit(report)) is not None:
                waiting.append(payload)
            if len(waiting) == CHUNK_REPORTS:
                self._add_payloads(waiting)
                waiting = []
        self._add_payloads(waiting)

    def reject(self, reason: str, count: int = 1) -> None:
        """Count reports that were not used."""
        if count:
            self.rejected[reason] = self.rejected.get(reason, 0) + count

    def _admit(self, report: Report | str | bytes) -> bytes | None:
        """The payload of a report that is this protocol's, or None when it was rejected."""
        try:
            read = report if isinstance(report, Report) else Report.from_json(report)
        except UnreadableReportError as error:
            self.reject(str(error))
            return None
        reason = self._reason_to_reject(read)
        if reason is None and len(read.payload) != self.protocol.report_bytes:
            reason = MALFORMED
        if reason is not None:
            self.reject(reason)
        return None if reason else read.payload

    def _reason_to_reject(self, reports: Report | Reports) -> str | None:
        if reports.protocol != self.protocol.name or reports.design != self.protocol.design_hash:
            return OTHER_PROTOCOL
        return OTHER_DOMAIN if reports.domain != self.protocol.domain_hash else None

    def _add_payloads(self, payloads: list[bytes]) -> None:
        if payloads:
            rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
            self._add_packed(self.protocol.packed(rows))

    def _add_packed(self, reports: Reports) -> None:
        reason = self._reason_to_reject(reports)
        if reason is None and reports.payload.shape[1] != self.protocol.report_bytes:
            reason = MALFORMED
        if reason is not None:
            self.reject(reason, len(reports))
            return
        good = self.protocol.well_formed(reports.payload)
        used = int(np.count_nonzero(good))
        self.reject(MALFORMED, len(reports) - used)
        self.counts += self.protocol.count(reports.payload if used == len(reports) else reports.payload[good])
        self.users += used

    def __iadd__(self, other: Tally) -> Self:
        if self.protocol != other.protocol:
            raise InputError(
                f"a tally of {other.protocol.name} with ε={other.protocol.epsilon:g} over {len(other.protocol.domain)} "
                f"values cannot join one of {self.protocol.name} with ε={self.protocol.epsilon:g} over "
                f"{len(self.protocol.domain)} values; add up tallies of one protocol and one domain"
            )
        self.counts = self.counts + other.counts
        self.users += other.users
        for reason, count in other.rejected.items():
            self.reject(reason, count)
        return self

    def __add__(self, other: Tally) -> Tally:
        total = Tally(self.protocol, self.counts, self.users, dict(self.rejected))
        total += other
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        same = self.protocol == other.protocol and self.users == other.users and self.rejected == other.rejected
        return same and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]  # a tally changes

    def save(self, path: str | Path) -> None:
        """Write the tally as JSON, with the header of its protocol; an existing file is not replaced."""
        content = TallyFile(
            format=FORMAT,
            header=to_header(self.protocol),
            users=self.users,
            rejected=self.rejected,
            counts=self.counts.tolist(),
        )
        with Staging() as staging:
            fill(staging.place(path), msgspec.json.encode(content) + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Tally:
        """The tally in a file, with its protocol; a file that contradicts itself is refused.

        >>> import pathlib, tempfile
        >>> from sfumato.local import GeneralizedResponse
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "tally.json"
        >>> tally = GeneralizedResponse(["red", "green"], 1).aggregate([])
        >>> tally.save(file)
        >>> Tally.load(file) == tally
        True
        """
        try:
            content = msgspec.json.decode(Path(path).read_bytes(), type=TallyFile)
        except OSError as error:
            raise InputError(f"tally '{path}' cannot be read: {error.strerror or error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"file '{path}' is not a tally: {error}") from error
        if content.format != FORMAT:
            raise InputError(f"file '{path}' is not a tally: its format is '{content.format}', not '{FORMAT}'")
        protocol = from_header(content.header, where=f"tally '{path}'")
        if len(content.counts) != protocol.cells:
            raise InputError(f"tally '{path}' has {len(content.counts)} counters; its protocol has {protocol.cells}")
        if max(content.counts) > content.users:
            raise InputError(f"tally '{path}' counts {max(content.counts)} reports of {content.users} users")
        return cls(protocol, np.array(content.counts, dtype=np.int64), content.users, content.rejected)


def tally_report_files(paths: Sequence[str | Path]) -> Tally:
    """Return the tally of report files of one protocol and one domain together; `-` is standard input.

    A report that does not belong is rejected and counted; files without any usable report are refused.

    >>> tally_report_files([])
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no report file; name one or more
    """
    from sfumato.local.reports.files import aggregate_file, aggregate_stream

    if not paths:
        raise InputError(NO_FILE)
    total: Tally | None = None
    resolved = [Path(path).resolve() for path in paths]
    for place, path in enumerate(paths):
        if resolved[place] in resolved[:place]:
            raise InputError(f"report file '{path}' is named twice; its reports would count twice")
        tell(place / len(paths), f"counting {Path(path).name}")
        stdin = str(path) == "-"
        found = aggregate_stream(sys.stdin.buffer, where="standard input") if stdin else aggregate_file(path)
        total = found if total is None else total + found
    return require_reports(total)


def require_reports(tally: Tally | None) -> Tally:
    """Return the tally if any report could be used, and refuse it with the reasons otherwise.

    >>> from sfumato.local import WarnerResponse
    >>> require_reports(WarnerResponse(["no", "yes"], 1).aggregate(["nonsense"]))
    Traceback (most recent call last):
    sfumato.errors.InputError: no report could be used: 1 malformed
    """
    if tally is None or tally.users == 0:
        reasons = ", ".join(f"{count} {reason}" for reason, count in (tally.rejected if tally else {}).items())
        raise InputError(f"no report could be used{f': {reasons}' if reasons else ''}")
    return tally
