"""What an audit found: a claim, a verdict that never says more than was shown, and the evidence.

The verdicts follow the auditing literature (Ding et al. 2018; Kong et al. 2023): a claim is refuted,
or it is not; it is never proven by a test. What is not audited is said in one sentence and is no refutation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from sfumato.core.display import as_html, one_line
from sfumato.core.files import sha256_of

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

    def _facts(self) -> dict[str, object]:
        reason = self.evidence.get("reason") or self.evidence.get("not audited")
        reached = {} if self.bound is None else {"bound": f"{self.bound:g}"}
        why = {"reason": reason} if reason else {}
        return {"verdict": self.verdict.replace("_", " "), "claim": self.claim, **reached, **why}

    def __repr__(self) -> str:
        return one_line("Finding", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Finding", self._facts())

    @property
    def refuted(self) -> bool:
        """Whether the claim is known to be false."""
        return self.verdict == REFUTED


def evidence_of(
    findings: Sequence[Finding], audit: str, inputs: Sequence[Path], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all that is needed to repeat an audit: the hashes of the files it read, how, and what it found.

    >>> evidence_of([], "release", [Path("-")], {"trials": 10})["inputs"]
    [{'file': '-', 'sha256': None}]
    """
    return {
        "audit": audit,
        "inputs": [
            {"file": path.name, "sha256": None if str(path) == "-" else sha256_of(path)}  # a pipe is read once only
            for path in inputs
        ],
        "parameters": dict(parameters),
        "findings": msgspec.to_builtins(findings),
    }


def compare_stated(
    claim: str, wrong: Mapping[str, tuple[str, str]], evidence: Mapping[str, Any], bound: float | None = None
) -> Finding:
    """Return the finding of a comparison: `wrong` names what differs, with what was found and what was stated.

    >>> compare_stated("the file has 3 rows", {"rows": ("2", "3")}, {}).evidence["reason"]
    'rows: found 2, stated 3'
    """
    told = dict(evidence)
    if wrong:
        parts = (
            f"{name}: found {found}{f', stated {stated}' * bool(stated)}" for name, (found, stated) in wrong.items()
        )
        told["reason"] = "; ".join(parts)
    return Finding(claim=claim, verdict=REFUTED if wrong else NOT_REFUTED, bound=bound, evidence=told)


def leave_unaudited(claim: str, why: str) -> Finding:
    """Return the entry for a claim that was not attacked.

    >>> leave_unaudited("ε-differential privacy", "the mechanism is unknown").evidence
    {'not audited': 'the mechanism is unknown'}
    """
    return Finding(claim=claim, verdict=NOT_REFUTED, evidence={"not audited": why})
