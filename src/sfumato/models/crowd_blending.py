"""Crowd blending: everybody either looks like k others to a mechanism, or is ignored by it.

Gehrke, Hay, Lui & Pass 2012, definition 3: a histogram that leaves out cells below k is (k, 0)-crowd-blending. That
alone is no differential privacy; a secret random sample before it makes it one, and zero-knowledge private as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.parameters import Validated, Whole
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

Mechanism = Callable[[Sequence[int]], Sequence[int]]


@dataclass(frozen=True)
class CrowdBlending(Validated):
    """(k, 0)-crowd-blending of mechanisms on histograms (Gehrke, Hay, Lui & Pass 2012).

    A person in a cell of at least k is blended: all in the cell have the same values, so exchanging them changes
    nothing. A person in a smaller cell must be ignored: the output is the same without that person.

    >>> blending = CrowdBlending(3)
    >>> blending.suppressed([5, 2, 3])
    [5, 0, 3]
    >>> blending.check(blending.suppressed, [[5, 2, 3], [1, 0, 4]]).verdict
    'NOT_REFUTED'
    >>> blending.check(list, [[5, 2, 3]]).evidence
    {'counts': [5, 2, 3], 'cell': 1, 'with': [5, 2, 3], 'without': [5, 1, 3]}
    """

    k: int

    RULES: ClassVar = {"k": Whole(2)}

    def suppressed(self, counts: Sequence[int]) -> list[int]:
        """Return the histogram with cells below k left out (as 0): the mechanism that the paper proves."""
        return [count if count >= self.k else 0 for count in counts]

    def check(self, mechanism: Mechanism, histograms: Iterable[Sequence[int]]) -> Finding:
        """Return whether a mechanism without noise was refuted to be (k, 0)-crowd-blending, and by which cell."""
        claim = f"(k, 0)-crowd-blending with k={self.k}"
        tried = 0
        for counts in histograms:
            whole = list(mechanism(list(counts)))
            for cell, count in enumerate(counts):
                tried += 1
                without = [other - (place == cell) for place, other in enumerate(counts)]
                if 0 < count < self.k and list(mechanism(without)) != whole:
                    evidence = {
                        "counts": list(counts),
                        "cell": cell,
                        "with": whole,
                        "without": list(mechanism(without)),
                    }
                    return Finding(claim=claim, verdict=REFUTED, bound=count, evidence=evidence)
        return Finding(claim=claim, verdict=NOT_REFUTED, evidence={"cells tried": tried})

    def statement(self, beta: float | None = None, epsilon: float | None = None, delta: float | None = None) -> str:
        """Return what may be said on a card, with the sampling rate and its exact (ε, δ) where there was a sample.

        >>> CrowdBlending(10).statement()
        'The table is (10, 0)-crowd-blending; nobody was sampled, so it is neither differentially private nor \
zero-knowledge private.'
        """
        blending = f"The table is ({self.k}, 0)-crowd-blending"
        if beta is None:
            return (
                f"{blending}; nobody was sampled, so it is neither differentially private nor zero-knowledge private."
            )
        private = f"({epsilon:g}, {delta:g})-differentially private"
        return (
            f"{blending} after a secret sample of rate {beta:g}, so it is {private} and zero-knowledge private with "
            "respect to what a random sample of that rate tells (Gehrke, Hay, Lui & Pass 2012; their theorem names no "
            "constant, so the δ is the exact one of the mechanism)."
        )
