"""The laws of local reports as a twin run sees them: a whole report is one choice, by the protocol's exact probability.

A local promise is about one device's value (Kasiviswanathan, Lee, Nissim, Raskhodnikova & Smith 2011): how many devices
report, and which one, is public. Standard library alone, as on a device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.local.base import LocalProtocol
    from sfumato.local.means.base import MeanProtocol
    from sfumato.random.laws import Loss


@dataclass(frozen=True, eq=False)
class ReportLaw:
    """Fresh reports of values at some places of a protocol's domain; the outcome is their payloads.

    >>> from sfumato.local import WarnerResponse
    >>> protocol = WarnerResponse(["no", "yes"], 1)
    >>> ReportLaw(protocol, [0]).loss(ReportLaw(protocol, [1]), bytes(1)).forward <= 1
    True
    """

    protocol: LocalProtocol
    codes: Sequence[int]

    @property
    def public(self) -> tuple[Any, ...]:
        return "local report", self.protocol.design_hash, self.protocol.domain_hash, len(self.codes)

    def loss(self, other: ReportLaw, outcome: Any) -> Loss:
        """Return the log-ratio of the probabilities of the reports that were sent."""
        payloads = [outcome] if isinstance(outcome, bytes) else [bytes(row) for row in outcome]
        return _sum_of_ratios(
            (self.protocol.probability(payload, left), other.protocol.probability(payload, right))
            for payload, left, right in zip(payloads, self.codes, other.codes, strict=True)
            if left != right
        )


@dataclass(frozen=True, eq=False)
class MeanReportLaw:
    """Fresh reports of numbers, given by their places on the protocol's grid; the outcome is whole numbers.

    >>> from sfumato.local import Duchi
    >>> protocol = Duchi(0, 1, 1)
    >>> MeanReportLaw(protocol, [-2.0**16]).loss(MeanReportLaw(protocol, [2.0**16]), [1]).backward <= 1
    True
    """

    protocol: MeanProtocol
    places: Sequence[float]

    @property
    def public(self) -> tuple[Any, ...]:
        return "local report of a number", self.protocol.design_hash, len(self.places)

    def loss(self, other: MeanReportLaw, outcome: Any) -> Loss:
        """Return the log-ratio of the probabilities of the reports that were sent."""
        reports = [outcome] if isinstance(outcome, int) else [int(report) for report in outcome]
        return _sum_of_ratios(
            (_weight(self.protocol, report, left), _weight(other.protocol, report, right))
            for report, left, right in zip(reports, self.places, other.places, strict=True)
            if left != right
        )


@dataclass(frozen=True, eq=False)
class KeptBitsLaw:
    r"""Bits that are set with one probability where `own` has them and with another elsewhere; the outcome is `bytes`.

    `shown` is what the law has in common on both sides: a cohort, a permanent answer.

    >>> law = KeptBitsLaw({0}, 2, (Fraction(3, 4), Fraction(1, 4)))
    >>> round(law.loss(KeptBitsLaw({1}, 2, (Fraction(3, 4), Fraction(1, 4))), b"\x01").forward, 6)  # 2 ln 3
    2.197225
    """

    own: set[int]
    bits: int
    chances: tuple[Fraction, Fraction]
    shown: bytes = b""

    @property
    def public(self) -> tuple[Any, ...]:
        return "randomised bits", self.bits, self.chances, self.shown

    def loss(self, other: KeptBitsLaw, outcome: Any) -> Loss:
        """Return the log-ratio of the probabilities of the bits that came out."""
        return _sum_of_ratios(
            [(self.probability(outcome), other.probability(outcome))] if self.own != other.own else []
        )

    def probability(self, outcome: bytes) -> Fraction:
        """Return the probability of some bits."""
        found, product = int.from_bytes(outcome, "little"), Fraction(1)
        for bit in range(self.bits):
            chance = self.chances[0] if bit in self.own else self.chances[1]
            product *= chance if found >> bit & 1 else 1 - chance
        return product


@dataclass(frozen=True)
class Lots:
    """Public lots of some devices, which no value decides: a cohort, the attribute to report.

    >>> Lots(3).loss(Lots(3), None).epsilon
    0.0
    """

    count: int

    @property
    def public(self) -> tuple[Any, ...]:
        return "lot", self.count

    def loss(self, other: Lots, outcome: object) -> Loss:
        """Return nothing: both sides draw alike."""
        del other, outcome
        return _sum_of_ratios([])


def _weight(protocol: MeanProtocol, report: int, place: float) -> Fraction | float:
    """Return how likely a report is for a place between two grid points: one of them, by its distance."""
    step = math.floor(place)
    part = place - step
    low = protocol.probability(report, step)
    return low if part == 0 else (1 - part) * low + part * protocol.probability(report, step + 1)


def _sum_of_ratios(pairs: Any) -> Loss:
    from sfumato.random.laws import Loss

    total = 0.0
    for left, right in pairs:
        if (left > 0) != (right > 0):
            return Loss(math.inf, math.inf, math.inf)
        total += math.log(left) - math.log(right) if left > 0 else 0.0
    return Loss(total, -total, total**2 / 2)
