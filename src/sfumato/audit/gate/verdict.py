"""The verdict on an attack: the risk with its interval, the column to blame, what helps, and a sentence for people.

A claim is refuted when even the low end of the risk is above a declared threshold (Giomi et al. 2023 report intervals
for the same reason); who is to blame is found by attacking again without each column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.audit.gate.inference import marks_rows
from sfumato.audit.gate.remedy import remedy
from sfumato.audit.gate.risk import CONFIDENCE, Tally
from sfumato.audit.gate.view import View
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, leave_unaudited
from sfumato.schema import Role

DIGITS = 3


@dataclass(frozen=True)
class Verdict:
    """An attack that was made: its name, its claim, what it counted, and the threshold it is held against."""

    attack: str
    claim: str
    tally: Tally
    threshold: float
    confidence: float = CONFIDENCE
    secret: str | None = None

    @property
    def falls(self) -> bool:
        """Whether the claim is refuted."""
        return self.tally.interval(self.confidence)[0] > self.threshold

    def finding(self, view: View, blamed: Sequence[str]) -> Finding:
        """Return the finding; `blamed` are the columns through which the attack succeeds."""
        claim = f"{self.claim} (risk at most {self.threshold:g})"
        if not self.tally.attacks:
            return leave_unaudited(claim, "the release shares too few columns with the original")
        low, high = self.tally.interval(self.confidence)
        evidence: dict[str, object] = {
            "attack": self.attack,
            "attacks": self.tally.attacks,
            "success": round(self.tally.rate, DIGITS),
            "success on the control group": round(self.tally.control, DIGITS),
            "success of a naive guess": round(self.tally.naive, DIGITS),
            "risk": round(self.tally.risk, DIGITS),
            "interval": [round(low, DIGITS), round(high, DIGITS)],
            "confidence": round(self.confidence, 4),
            "threshold": self.threshold,
        }
        if self.secret is not None:
            evidence["secret"] = self.secret
        if self.falls:
            evidence |= {"columns to blame": list(blamed), "remedy": _remedies(view, blamed)}
            evidence["reason"] = f"{self._rates()}; {_remedies(view, blamed)}"
        return Finding(
            claim=claim,
            verdict=REFUTED if self.falls else NOT_REFUTED,
            bound=round(low, DIGITS),
            evidence=evidence,
        )

    def _rates(self) -> str:
        low, high = self.tally.interval(self.confidence)
        of = "" if self.secret is None else f" of '{self.secret}'"
        return (
            f"{self.attack}{of} succeeds on {self.tally.rate:.0%} of people, on {self.tally.control:.0%} of the "
            f"control group: risk {self.tally.risk:.2f} [{low:.2f}, {high:.2f}]"
        )


def _remedies(view: View, blamed: Sequence[str]) -> str:
    named = {column.facts.name: column for column in view.columns}
    return "; ".join(f"column '{name}' is to blame: {remedy(named[name])}" for name in blamed)


def blame(view: View, verdict: Verdict, attack: Callable[[View], Tally]) -> list[str]:
    """Return the columns through which an attack succeeds: those that mark rows by themselves, or the one that helps.

    The one that helps is found by attacking without each; where none alone lowers the risk, it is the secret.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"cost": [x / 7 for x in range(50)], "ill": ["a", "b"] * 25}))
    >>> view = View.of(people, people)
    >>> blame(view, Verdict("singling out", "", Tally(50, 50, 50, 0), 0.05), lambda view: Tally(50, 0, 50, 0))
    ['cost']
    """
    rare = [
        column.facts.name
        for column in view.columns
        if column.facts.role is not Role.QUASI and column.facts.name != verdict.secret and marks_rows(column)
    ]
    if rare or len(view.columns) == 1:
        return rare or view.names
    risks = {name: attack(view.without(place)).risk for place, name in enumerate(view.names) if name != verdict.secret}
    best = min(risks, key=lambda name: risks[name])
    helps = risks[best] < 0.75 * verdict.tally.risk
    return [best] if helps or verdict.secret is None else [verdict.secret]
