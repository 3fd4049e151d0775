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

from sfumato.core.parameters import Real, Whole
from sfumato.errors import ParameterError
from sfumato.random import SecureSource, Source, of_group
from sfumato.release import Card
from sfumato.stream.base import Integers, Numbers, Published, Publisher
from sfumato.stream.grid import Interval
from sfumato.stream.promise import private_card, windows_note
from sfumato.stream.publishers.linked.kernel import Bits
from sfumato.stream.publishers.linked.prior import Prior
from sfumato.stream.publishers.linked.slots import shares, thresholds
from sfumato.stream.publishers.linked.staircase import best_cut
from sfumato.stream.state import pack, unpack
from sfumato.stream.windows import Tumbling

WHOLE = 2**64
CENTRAL = 0.3  # neighbours are heard about thresholds that between 20 % and 80 % of the records exceed
SURE = 1e-3  # nothing is thought surer than this from neighbours alone
REACH = 32  # how many records on each side may say something about a record
FADING = 0.9  # how long the strength of neighbours' likeness is remembered, from window to window
LEAST_LEAN = 2**30  # of 2^64: how much more often than a coin the truth must be told for floats to see it
NOTES = (
    "Each record gives one randomised bit; everything else is computed from the bits alone.",
    "Rows keep the places of their records: a row is the best guess about its record that ε allows.",
)


@dataclass(eq=False)
class LinkedResponse(Publisher):
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

    RULES: ClassVar = {
        "bounds": Interval(),
        "window": Whole(1),
        "epsilon": Real(0, above=True),
        "bins": Whole(2),
    }
    name: ClassVar[str] = "linked"
    linked: ClassVar[bool] = True

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._source = SecureSource() if rng is None else rng
        self._truthful = truthful(self.epsilon)
        if self._truthful - WHOLE // 2 < LEAST_LEAN:
            raise ParameterError(f"ε is {self.epsilon:g}, under which a bit tells nothing; give a larger ε")
        self._prior = Prior(self.bins, self._truthful / WHOLE)
        self._windows = Tumbling(self.window, linked=True)
        self._likeness = np.zeros(2)
        low, high = self.bounds
        self._middles = low + (high - low) * (np.arange(self.bins) + 0.5) / self.bins

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._windows.waiting)

    def push(self, record: float) -> Published:
        full = self._windows.one(record)
        return self._windows.nothing if full is None else self._windows.published([self._release(full, 0)])

    def push_many(self, batch: Numbers) -> Published:
        full = self._windows.many(batch)
        return self._windows.published([self._release(window, ahead) for ahead, window in enumerate(full)])

    def flush(self) -> Published:
        rest = self._windows.rest()
        return self._windows.published([self._release(rest, 0)] if len(rest) else [])

    def _release(self, values: Numbers, ahead: int) -> Numbers:
        """Return the rows of a window that comes `ahead` windows behind the last one that left."""
        from sfumato.stream.publishers.linked.kernel import respond

        number = self._windows.group + ahead
        first = number * self.window
        asked = thresholds(np.arange(first, first + len(values)), shares(self._prior, self._middles, first))
        low, high = self.bounds
        words = of_group(self._source, number, asked, values).words(2 * len(values))
        cuts = low + (high - low) * asked / self.bins
        reports = respond(values, cuts, (low + high) / 2, np.uint64(self._truthful), words)
        self._prior.learn(asked, reports)
        return self._decoded(asked, reports)

    def _decoded(self, asked: Integers, reports: Bits) -> Numbers:
        """Return each record's posterior mean, from its own report, the prior, and its neighbours' reports."""
        from sfumato.stream.publishers.linked.kernel import decode, neighbour_mean

        cells = self._prior.cells()
        main = best_cut(cells, self._middles, self._prior.truth).place
        survival = np.concatenate([[1.0], self._prior.survival()])
        used = (np.abs(survival[asked] - 0.5) < CENTRAL).astype(np.uint8)
        signal = self._prior.debiased(reports) - survival[asked]
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

    def state(self) -> bytes:
        arrays = {"waiting": self._windows.held(), **self._learnt()}
        return pack(self.name, self.parameters(), arrays, self._windows.plain())

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self._windows.restore(saved.arrays["waiting"], **saved.plain)
        for name, array in self._learnt().items():
            array[:] = saved.arrays[name]

    def _learnt(self) -> dict[str, Numbers]:
        return {"answers": self._prior.answers, "sums": self._prior.sums, "likeness": self._likeness}

    def card(self, *names: str) -> Card:
        notes = [windows_note(self.window), *NOTES]
        return private_card(self, names, self.epsilon, notes=notes, source=self._source)


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
