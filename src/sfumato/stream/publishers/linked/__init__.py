"""Linked response: one value per record, in order, decoded from one exactly randomised bit about the record.

The bit says on which side of a public cut the value lies (Warner 1965); for a single number and squared error such a
cut is the best staircase channel (Kairouz, Oh & Viswanath 2014), see `docs/algorithms/linked-response.md`.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
from decimal import Decimal, localcontext
from typing import ClassVar

import numpy as np

from sfumato.core.parameters import Option, Whole
from sfumato.errors import ParameterError
from sfumato.random import Source
from sfumato.stream.base import Integers, Numbers, Sample
from sfumato.stream.noise import Interval, randomised_bits
from sfumato.stream.publishers.linked.prior import Bits, Prior, slot_thresholds, threshold_shares
from sfumato.stream.publishers.linked.staircase import best_cut
from sfumato.stream.state import Array
from sfumato.stream.windows import WindowedPublisher

WHOLE = 2**64
CENTRAL = 0.3  # neighbours are heard about thresholds that between 20 % and 80 % of the records exceed
SURE = 1e-3  # nothing is thought surer than this from neighbours alone
REACH = 32  # how many records on each side may say something about a record
FADING = 0.9  # how long the strength of neighbours' likeness is remembered, from window to window
LEAST_LEAN = 2**30  # of 2^64: how much more often than a coin the truth must be told for floats to see it


@dataclass(eq=False)
class LinkedResponse(WindowedPublisher):
    """One row for each record: its posterior mean given one ε-private bit, earlier bits and its neighbours'.

    `bins` is the number of cells of the prior over the public `bounds`; `window` records are decoded together, so that
    neighbours that are alike can say something about each other.

    >>> from sfumato.random import SeededSource
    >>> publisher = LinkedResponse(bounds=(0, 100), window=2, rng=SeededSource(1))
    >>> out = publisher.push_many(np.array([10.0, 20.0, 30.0]))
    >>> out.position.tolist(), len(publisher.flush())
    ([0, 1], 1)
    """

    bounds: tuple[float, float]
    window: int = 1000
    epsilon: float = 1.0
    bins: int = 32
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {"bounds": Interval(), **WindowedPublisher.RULES, "bins": Whole(2)}
    OPTIONS: ClassVar = {**WindowedPublisher.OPTIONS, "bins": Option("How many cells the value range has.")}
    NOTES: ClassVar = (
        "Each record gives one randomised bit; everything else is computed from the bits alone.",
        "Rows keep the places of their records: a row is the best guess about its record that ε allows.",
    )
    name: ClassVar[str] = "linked"
    linked: ClassVar[bool] = True

    def prepare(self) -> None:
        self._truthful = truthful(self.epsilon)
        if self._truthful - WHOLE // 2 < LEAST_LEAN:
            raise ParameterError(f"ε is {self.epsilon:g}, under which a bit tells nothing; give a larger ε")
        self._prior = Prior(self.bins, self._truthful / WHOLE)
        self._likeness = np.zeros(2)
        low, high = self.bounds
        self._middles = low + (high - low) * (np.arange(self.bins) + 0.5) / self.bins

    def learnt_arrays(self) -> dict[str, Array]:
        return {"answers": self._prior.answers, "sums": self._prior.sums, "likeness": self._likeness}

    def release(self, values: Numbers, number: int) -> Numbers:
        first = number * self.window
        shares = threshold_shares(self._prior, self._middles, first)
        asked = slot_thresholds(np.arange(first, first + len(values)), shares)
        low, high = self.bounds
        cuts = low + (high - low) * asked / self.bins
        reports = randomised_bits(self._run, values, cuts, (low + high) / 2, self._truthful, number)
        self._prior.learn(asked, reports)
        return self._decode(asked, reports)

    def _decode(self, asked: Integers, reports: Bits) -> Numbers:
        """Return each record's posterior mean, from its own report, the prior, and its neighbours' reports."""
        from sfumato.stream.publishers.linked.kernel import decode, neighbour_mean

        cells = self._prior.cells()
        main = best_cut(cells, self._middles, self._prior.truth).place
        survival = np.concatenate([[1.0], self._prior.survival()])
        used = (np.abs(survival[asked] - 0.5) < CENTRAL).astype(np.uint8)
        signal = self._prior.debias(reports) - survival[asked]
        means = neighbour_mean(signal, used, REACH)
        above = survival[main] + self._trust(signal, means, used) * means
        return decode(reports, asked, np.clip(above, SURE, 1 - SURE), self._tables(cells, main))

    def _trust(self, signal: Numbers, means: Numbers, used: Bits) -> float:
        """Return how far neighbours predict a record's answer: 0 for independent records, near 1 for equal ones.

        It is the slope of answers on their neighbours' means over recent windows, less two standard errors.
        """
        own, others = signal[used > 0], means[used > 0]
        self._likeness *= FADING
        self._likeness += own @ others, others @ others
        agreed, spread = self._likeness
        return float(np.clip((agreed - 2 * math.sqrt(self._prior.noise * spread)) / max(spread, 1e-9), 0, 1))

    def _tables(self, cells: Numbers, main: int) -> Numbers:
        """Return, by threshold and report, the prior's mass and moment on either side of the main cut."""
        truth = self._prior.truth
        side = np.arange(self.bins)[None, :] >= np.arange(self.bins)[:, None]
        likelihood = np.stack([np.where(side, 1 - truth, truth), np.where(side, truth, 1 - truth)], axis=1)
        parts = []
        for part in (slice(0, main), slice(main, self.bins)):
            share = cells[part] / cells[part].sum()
            parts += [likelihood[:, :, part] @ share, likelihood[:, :, part] @ (share * self._middles[part])]
        return np.stack(parts, axis=2)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return (Sample(cls(bounds=(0, 1000), window=70, bins=8)),)


def truthful(epsilon: float) -> int:
    """Return the largest integer t such that telling the truth with probability t/2^64 is ε-private.

    >>> truthful(1.0) / WHOLE
    0.7310585786300049
    >>> (Decimal(truthful(0.1)) / (WHOLE - truthful(0.1))).ln() <= Decimal("0.1")
    True
    """
    with localcontext(prec=60):
        odds = Decimal(repr(float(epsilon))).exp()
        return min(int(WHOLE * odds / (1 + odds)), WHOLE - 1)
