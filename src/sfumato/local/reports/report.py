"""Reports: one, as it leaves a device, and many of one protocol, packed for a file or a tally.

The payload is packed bits or little-endian integers; the two fingerprints say which protocol and which domain it
belongs to, so that a collector can refuse what is not for it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.core.arrays import Payload

MALFORMED = "malformed"
OTHER_PROTOCOL = "other protocol"
OTHER_DOMAIN = "other domain"
TRUNCATED = "truncated"


class UnreadableReportError(ValueError):
    """Text that is no report; its one argument is the reason under which it is counted.

    >>> UnreadableReportError(MALFORMED).args
    ('malformed',)
    """


@dataclass(frozen=True, slots=True)
class Report:
    """What a device sends: protocol name, fingerprints of its probabilities and of the domain, and the payload.

    >>> report = Report("grr", "0f" * 8, "a0" * 8, bytes([2]))
    >>> Report.from_json(report.to_json()) == report
    True
    """

    protocol: str
    design: str
    domain: str
    payload: bytes

    def to_json(self) -> str:
        """The report as one line of JSON, without its end."""
        payload = base64.b64encode(self.payload).decode("ascii")
        fields = {"protocol": self.protocol, "design": self.design, "domain": self.domain, "report": payload}
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str | bytes) -> Report:
        """The report in a line of JSON; anything else raises `UnreadableReportError`."""
        try:
            fields: Any = json.loads(line)
            texts = [fields[name] for name in ("protocol", "design", "domain", "report")]
            payload = base64.b64decode(texts[3].encode("ascii"), validate=True)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UnreadableReportError(MALFORMED) from error
        if len(fields) != 4 or not all(isinstance(text, str) for text in texts):
            raise UnreadableReportError(MALFORMED)
        return cls(texts[0], texts[1], texts[2], payload)


@dataclass(frozen=True, eq=False)
class Reports:
    """Many reports of one protocol, a row of bytes each; iterating gives them one by one.

    >>> import numpy as np
    >>> many = Reports("grr", "0f" * 8, "a0" * 8, np.array([[65], [66]], dtype=np.uint8))
    >>> len(many), next(iter(many)).payload
    (2, b'A')
    """

    protocol: str
    design: str
    domain: str
    payload: Payload

    def __len__(self) -> int:
        return len(self.payload)

    def __iter__(self) -> Iterator[Report]:
        for row in self.payload:
            yield Report(self.protocol, self.design, self.domain, row.tobytes())
