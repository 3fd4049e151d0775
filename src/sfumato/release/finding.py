"""What an audit found: a claim, a verdict that never says more than was shown, and the evidence.

The verdicts follow the auditing literature (Ding et al. 2018; Kong et al. 2023): a claim is refuted,
or it is not; it is never proven by a test.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

REFUTED: Literal["REFUTED"] = "REFUTED"
NOT_REFUTED: Literal["NOT_REFUTED"] = "NOT_REFUTED"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One claim put to the test; `bound` is the value reached, `evidence` lets anyone repeat it.

    >>> finding = Finding(claim="k-anonymity with k=3", verdict=REFUTED, bound=2, evidence={"classes below": 4})
    >>> finding.refuted
    True
    """

    claim: str
    verdict: Literal["REFUTED", "NOT_REFUTED"]
    bound: float | None = None
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def refuted(self) -> bool:
        """Whether the claim is known to be false."""
        return self.verdict == REFUTED
