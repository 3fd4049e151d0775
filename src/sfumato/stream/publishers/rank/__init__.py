"""Rank windows: each window's sorted values leave as noisy sums of rank blocks, tied to no record.

The successor of DOCA (Leal, Vidal & Machado 2018) with a proof: all block sums of a window together have L1
sensitivity U−L, since order statistics are monotone in every value (`docs/algorithms/rank-windows.md`).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.core.parameters import Real, Whole
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.release import Card
from sfumato.stream.base import Integers, Numbers, Published, Publisher
from sfumato.stream.grid import Interval, step_for
from sfumato.stream.noise import covered, laplace_draws, noise_scale
from sfumato.stream.promise import private_card, windows_note
from sfumato.stream.state import pack, unpack
from sfumato.stream.windows import Tumbling

STEPS = 2**16
NOTES = (
    "Rows of a window leave in rank order; which record a row comes from is not said and not known to be any.",
    "Noise of scale (U−L)/ε falls on each sum of a rank block; together the sums of a window cost ε.",
)


class RankGrid:
    """One attribute's public grid, and how its windows are released at a share 1/`parts` of ε.

    >>> from sfumato.random import SeededSource
    >>> grid = RankGrid((0, 10), 2, 1000.0)
    >>> grid.release(np.array([[7.0, 1.0, 3.0, 9.0]]), WordRun(SeededSource(1)), 0)[0, [0, 3]].round().tolist()
    [2.0, 8.0]
    """

    def __init__(self, bounds: tuple[float, float], block: int, epsilon: float | Fraction, parts: int = 1) -> None:
        self.bounds, self.block = bounds, block
        span = Fraction(bounds[1]) - Fraction(bounds[0])
        self.step = step_for(span, STEPS)
        self.steps = int(-(-span // Fraction(self.step)))
        self.scale = noise_scale(self.steps * parts, epsilon)

    def release(self, windows: Numbers, run: WordRun, first: int, part: int = 0) -> Numbers:
        """Return the rows of full windows numbered from `first` on, in rank order.

        The records are looked at in `block_sums` alone; `part` tells grids apart that share windows and a run.
        """
        from sfumato.stream.publishers.rank.kernel import block_sums, isotonic, spread

        low, high = self.bounds
        sums = block_sums(windows, low, self.step, self.steps, self.steps // 2, self.block)
        noisy = self._covered(sums, run, first, part)
        size = windows.shape[1]
        sizes = np.minimum(self.block, size - self.block * np.arange(sums.shape[1])).astype(np.float64)
        levels: Numbers = noisy / sizes * self.step + low
        isotonic(levels, sizes)
        return spread(np.clip(levels, low, high), self.block, size)

    def _covered(self, sums: Integers, run: WordRun, first: int, part: int) -> Integers:
        """Return the sums of windows with their noise: all at once, or each window's own where noise is keyed."""
        if not run.keyed:
            return sums + laplace_draws(run, sums.size, self.scale).reshape(sums.shape)
        noisy = np.empty_like(sums)
        for ahead, row in enumerate(sums):
            noisy[ahead] = covered(run, row, self.scale, first + ahead, part)
        return noisy


@dataclass(eq=False)
class RankWindows(Publisher):
    """Windows of `window` records within public `bounds`, cut by rank into blocks of `block` records.

    Each block's sum leaves with discrete Laplace noise of scale (U−L)/ε on a public integer grid; the rows are the
    isotonic fit of the blocks' means, joined by straight lines and clamped.

    >>> from sfumato.random import SeededSource
    >>> publisher = RankWindows(bounds=(0, 100), window=4, block=2, epsilon=50.0, rng=SeededSource(1))
    >>> out = publisher.push_many(np.array([90.0, 10.0, 12.0, 88.0]))
    >>> out.values.shape, bool((np.diff(out.values) >= 0).all()), out.position is None
    ((4,), True, True)
    """

    bounds: tuple[float, float]
    window: int = 1000
    epsilon: float = 1.0
    block: int = 50
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "bounds": Interval(),
        "window": Whole(1),
        "epsilon": Real(0, above=True),
        "block": Whole(1),
    }
    name: ClassVar[str] = "rank"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._grid = RankGrid(self.bounds, self.block, self.epsilon)
        self._run = WordRun(rng)
        self._windows = Tumbling(self.window)

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._windows.waiting)

    def push(self, record: float) -> Published:
        full = self._windows.one(record)
        return self._windows.nothing if full is None else self._windows.published(self._release(full[None]))

    def push_many(self, batch: Numbers) -> Published:
        return self._windows.published(self._release(self._windows.many(batch)))

    def flush(self) -> Published:
        """Return the rows of the last, shorter window: its number of records is public."""
        rest = self._windows.rest()
        return self._windows.published(self._release(rest[None]) if len(rest) else rest[None][:0])

    def _release(self, windows: Numbers) -> Numbers:
        return self._grid.release(windows, self._run, self._windows.group)

    def state(self) -> bytes:
        self._run.forget()
        return pack(self.name, self.parameters(), {"waiting": self._windows.held()}, self._windows.plain())

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self._windows.restore(saved.arrays["waiting"], **saved.plain)
        self._run.forget()

    def card(self, *names: str) -> Card:
        return private_card(
            self, names, self.epsilon, notes=[windows_note(self.window), *NOTES], source=self._run.source
        )
