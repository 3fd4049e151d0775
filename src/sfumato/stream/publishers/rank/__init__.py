"""Rank windows: each window's sorted values leave as noisy sums of rank blocks, tied to no record.

The successor of DOCA (Leal, Vidal & Machado 2018) with a proof: all block sums of a window together have L1
sensitivity U−L, since order statistics are monotone in every value (`docs/algorithms/rank-windows.md`). Blocks along a
space-filling curve are not offered for several attributes: moving one record can move every attribute of many blocks,
so their sensitivity is several times the width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Option, Whole
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.stream.base import AUDITED, Integers, Numbers, PublicBounds, Publisher, Sample
from sfumato.stream.noise import Interval, Intervals, add_noise_to_rows, noise_scale, step_for
from sfumato.stream.windows import WindowedPublisher

if TYPE_CHECKING:
    from sfumato.stream.publishers.clock import ClockWindows

STEPS = 2**16
BLOCK = Option("How many ranks share one noise.")


class RankGrid:
    """One attribute's public grid, and how its windows are released at a share 1/`parts` of ε.

    >>> from sfumato.random import SeededSource
    >>> grid = RankGrid((0, 10), 2, 1000.0)
    >>> grid.release(np.array([[7.0, 1.0, 3.0, 9.0]]), WordRun(SeededSource(1), "x"), 0)[0, [0, 3]].round().tolist()
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
        noisy: Integers = add_noise_to_rows(run, sums, self.scale, first, part)
        size = windows.shape[1]
        sizes = np.minimum(self.block, size - self.block * np.arange(sums.shape[1])).astype(np.float64)
        levels: Numbers = noisy / sizes * self.step + low
        isotonic(levels, sizes)
        return spread(np.clip(levels, low, high), self.block, size)


@dataclass(eq=False)
class RankWindows(WindowedPublisher):
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

    RULES: ClassVar = {"bounds": Interval(), **WindowedPublisher.RULES, "block": Whole(1)}
    OPTIONS: ClassVar = {**WindowedPublisher.OPTIONS, "block": BLOCK}
    SHARED: ClassVar = (*WindowedPublisher.SHARED, "every", "from_", "until")
    NOTES: ClassVar = (
        "Rows of a window leave in rank order; which record a row comes from is not said and not known to be any.",
        "Noise of scale (U−L)/ε falls on each sum of a rank block; together the sums of a window cost ε.",
    )
    name: ClassVar[str] = "rank"
    takes_several: ClassVar[bool] = True

    def prepare(self) -> None:
        self._grid = RankGrid(self.bounds, self.block, self.epsilon)

    def release(self, values: Numbers, number: int) -> Numbers:
        rows: Numbers = self.release_many(values[None], number)[0]
        return rows

    def release_many(self, windows: Numbers, first: int) -> Numbers:
        return self._grid.release(windows, self._run, first)

    @classmethod
    def for_numbers(cls, bounds: Sequence[PublicBounds], given: Mapping[str, Any]) -> Publisher:
        return RankedAttributes.from_options(given, called=cls.name, bounds=tuple(bounds))

    @classmethod
    def for_categories(cls, categories: tuple[str, ...], given: Mapping[str, Any]) -> Publisher:
        from sfumato.stream.publishers.counts import CategoryWindows

        return CategoryWindows.from_options(given, called=cls.name, categories=categories, ordered=True)

    @classmethod
    def for_clock(cls, bounds: PublicBounds, given: Mapping[str, Any]) -> ClockWindows:
        from sfumato.stream.publishers.clock import ClockWindows

        return ClockWindows.from_options(given, called=cls.name, bounds=bounds, kind="rank")

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> Publisher:
        return cls(AUDITED, delay, epsilon, max(1, delay // 20), rng=rng)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return (Sample(cls(bounds=(0, 1000), window=70, block=8)), *RankedAttributes.sample())


@dataclass(eq=False)
class RankedAttributes(WindowedPublisher):
    """Windows of records with several numbers: every attribute in rank blocks of its own, each at ε over their number.

    >>> from sfumato.random import SeededSource
    >>> publisher = RankedAttributes(((0, 10), (0, 100)), window=2, rng=SeededSource(1))
    >>> publisher.push_many([[1, 10], [9, 90], [5, 50]]).values.shape
    (2, 2)
    """

    bounds: tuple[tuple[float, float], ...]
    window: int = 1000
    epsilon: float = 1.0
    block: int = 50
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {"bounds": Intervals(), **WindowedPublisher.RULES, "block": Whole(1)}
    OPTIONS: ClassVar = RankWindows.OPTIONS
    NOTES: ClassVar = ("Each attribute leaves in its own rank order: the attributes of a row do not belong together.",)
    name: ClassVar[str] = "ranked-attributes"

    @property
    def width(self) -> int:
        return len(self.bounds)

    def prepare(self) -> None:
        self._grids = [RankGrid(bounds, self.block, self.epsilon, self.width) for bounds in self.bounds]

    def release(self, values: Numbers, number: int) -> Numbers:
        columns = [
            grid.release(np.ascontiguousarray(values[:, place])[None], self._run, number, place)[0]
            for place, grid in enumerate(self._grids)
        ]
        return np.column_stack(columns)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return (Sample(cls(((0, 99), (0, 4)), window=70, block=8), sample_pairs),)


def sample_pairs(seed: int, rows: int) -> Numbers:
    """Return a stream of pairs, from 0 to 99 and from 0 to 4.

    >>> sample_pairs(1, 3).shape
    (3, 2)
    """
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.integers(0, 100, rows), draw.integers(0, 5, rows)]).astype(np.float64)
