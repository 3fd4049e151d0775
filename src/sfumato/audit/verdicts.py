"""Findings in the forms that several audits share: a comparison that found differences or none, and a claim left alone.

What is not audited is said in one sentence and never counts as a refutation (Kong et al. 2023 on honest auditors).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding


def compared(
    claim: str, wrong: Mapping[str, tuple[str, str]], evidence: Mapping[str, Any], bound: float | None = None
) -> Finding:
    """Return the finding of a comparison: `wrong` names what differs, with what was found and what was stated.

    >>> compared("the file has 3 rows", {"rows": ("2", "3")}, {}).evidence["reason"]
    'rows: found 2, stated 3'
    """
    told = dict(evidence)
    if wrong:
        parts = (
            f"{name}: found {found}{f', stated {stated}' * bool(stated)}" for name, (found, stated) in wrong.items()
        )
        told["reason"] = "; ".join(parts)
    return Finding(claim=claim, verdict=REFUTED if wrong else NOT_REFUTED, bound=bound, evidence=told)


def unaudited(claim: str, why: str) -> Finding:
    """Return the entry for a claim that was not attacked.

    >>> unaudited("ε-differential privacy", "the mechanism is unknown").evidence
    {'not audited': 'the mechanism is unknown'}
    """
    return Finding(claim=claim, verdict=NOT_REFUTED, evidence={"not audited": why})
