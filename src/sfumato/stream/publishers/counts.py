"""Windows as noisy counts of public categories or cells: one bin for each, read by what was released before.

The filter is Wiener's (1949): a count is trusted as far as its own spread exceeds the known variance of the noise;
counts are projected to the simplex only behind the filter, so that small shares are not biased upwards. Noise is that
of `docs/algorithms/adaptive-histogram.md`; ordered categories are the ranks of `rank-windows.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np

from sfumato.core.parameters import OneOf, Option, Whole
from sfumato.errors import ParameterError
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.stream.base import Integers, Numbers, Published, ReleasedColumns, Sample
from sfumato.stream.noise import Intervals, add_noise_to_rows, noise_scale
from sfumato.stream.publishers.rank import RankGrid, RankWindows, sample_pairs
from sfumato.stream.state import Array
from sfumato.stream.windows import WindowedPublisher

SENSITIVITY = 2  # a replaced record leaves one bin and enters another
MOST_CELLS = 2**20
MEMORY = 300  # windows after which the past fades
FADE = 0.05  # how fast what is known about the windows' differences fades


class Shares:
    """What released counts say about the shares of `count` categories under noise of a scale.

    >>> shares = Shares(3, 2.0)
    >>> shares.learn(np.array([71, -2, 31]), 100).tolist()
    [70, 0, 30]
    """

    def __init__(self, count: int, scale: float) -> None:
        fade = math.exp(-1 / scale)
        self._noise = 2 * fade / (1 - fade) ** 2
        self._long = np.full(count, 1 / count)
        self._facts = np.zeros(3)  # windows seen, and the two sums whose ratio is how windows differ

    def arrays(self) -> dict[str, Array]:
        """What was learnt, as it stands in a state."""
        return {"long": self._long, "facts": self._facts}

    def learn(self, noisy: Integers, size: int) -> Integers:
        """Take the noisy counts of a window; return counts that add up to `size`."""
        seen = self._facts[0]
        expected = simplex(self._long) * size
        trusted = np.ones(len(noisy)) if seen == 0 else self._trust(noisy, expected)
        read = simplex((expected + trusted * (noisy - expected)) / max(size, 1)) * size
        self._long += max(1 / (seen + 1), 1 / MEMORY) * (noisy / max(size, 1) - self._long)
        self._facts[0] += 1
        return apportion(read, size)

    def _trust(self, noisy: Integers, expected: Numbers) -> Numbers:
        """Return the weight of each count: its variance from window to window over that plus the noise's."""
        excess = float(((noisy - expected) ** 2 - self._noise - expected).sum())
        self._facts[1:] += FADE * (np.array([excess, float((expected**2).sum())]) - self._facts[1:])
        spread = max(self._facts[1] / max(self._facts[2], 1e-9), 0.0)
        variance = expected + spread * expected**2 + (spread > 0) * 1e-9
        weights: Numbers = variance / (variance + self._noise)
        return weights


def simplex(values: Numbers) -> Numbers:
    """Return the nearest probabilities to some numbers (Held, Wolfe & Crowder 1974).

    >>> simplex(np.array([0.9, 0.3, -0.2])).round(6).tolist()
    [0.8, 0.2, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    nearest: Numbers = np.maximum(values - excess[kept], 0)
    return nearest


def apportion(shares: Numbers, total: int) -> Integers:
    """Return whole numbers nearest to some that add up to `total`: the largest remainders go up (Hamilton 1792).

    >>> apportion(np.array([1.4, 1.4, 0.2]), 3).tolist()
    [2, 1, 0]
    """
    whole = np.floor(shares + 1e-9).astype(np.int64)
    missing = int(total - whole.sum())
    whole[np.argsort(whole - shares, kind="stable")[:missing]] += 1
    return whole


@dataclass(frozen=True)
class CategoryList:
    """The rule of a list of categories: at least two different texts."""

    wanted: str = "a tuple of at least two different texts"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, tuple) or not all(isinstance(entry, str) for entry in value):
            return False
        return len(set(value)) == len(value) > 1

    def bad_values(self) -> list[object]:
        return [(), ("a",), ("a", "a"), ("a", 1), "ab", None]


@dataclass(eq=False)
class CategoryWindows(WindowedPublisher):
    """Windows of categories: noisy counts (scale 2/ε), or, if `ordered`, noisy sums of rank blocks of their codes.

    Records are texts, or codes 0, 1, 2 … in the categories' order.

    >>> from sfumato.random import SeededSource
    >>> publisher = CategoryWindows(("red", "blue"), window=100, rng=SeededSource(1))
    >>> out = publisher.push_many(["red"] * 90 + ["blue"] * 10)
    >>> colours = publisher.columns(out, ["colour"])["colour"]
    >>> len(colours), 80 < colours.count("red") < 100
    (100, True)
    """

    categories: tuple[str, ...]
    window: int = 1000
    epsilon: float = 1.0
    ordered: bool = False
    block: int = 50
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "categories": CategoryList(),
        **WindowedPublisher.RULES,
        "ordered": OneOf((False, True)),
        "block": Whole(1),
    }
    OPTIONS: ClassVar = RankWindows.OPTIONS
    NOTES: ClassVar = (
        "Categories are public and declared; a value that is none of them stands as the first one in its place.",
        "Rows of a window leave in the categories' order; none comes from a record.",
    )
    name: ClassVar[str] = "categories"
    released_type: ClassVar[str] = "text"

    def prepare(self) -> None:
        self._codes = {category: float(code) for code, category in enumerate(self.categories)}
        self._scale = noise_scale(SENSITIVITY, self.epsilon)
        self._grid = RankGrid((0, len(self.categories) - 1), self.block, self.epsilon)
        self._shares = Shares(len(self.categories), float(self._scale))

    def learnt_arrays(self) -> dict[str, Array]:
        return self._shares.arrays()

    def read(self, record: str | float) -> float:
        if isinstance(record, str):
            return self._codes.get(record, 0.0)
        return float(record) if record in range(len(self.categories)) else 0.0

    def read_many(self, batch: Any) -> Numbers:
        return np.array([self.read(record) for record in batch], dtype=np.float64)

    def release(self, values: Numbers, number: int) -> Numbers:
        return self.release_many(values[None], number)[0]

    def release_many(self, windows: Numbers, first: int) -> Sequence[Numbers] | Numbers:
        if self.ordered:
            ranked: Numbers = np.rint(self._grid.release(windows, self._run, first))
            return ranked
        codes = np.arange(float(len(self.categories)))
        noisy = noisy_counts(self._run, windows.astype(np.int64), len(codes), self._scale, first)
        return [np.repeat(codes, self._shares.learn(counts, windows.shape[1])) for counts in noisy]

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the released categories as texts."""
        texts = [self.categories[int(code)] for code in published.values.tolist()]
        return dict.fromkeys(names, texts)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        colours = ("red", "green", "blue", "grey", "black")
        return tuple(Sample(cls(colours, window=70, ordered=ordered), sample_codes) for ordered in (False, True))


@dataclass(eq=False)
class CellHistogram(WindowedPublisher):
    """Windows of records with several numbers: noisy counts of public cells, `cells` to each attribute (scale 2/ε).

    >>> from sfumato.random import SeededSource
    >>> publisher = CellHistogram(((0, 10), (0, 100)), cells=2, window=40, epsilon=5.0, rng=SeededSource(1))
    >>> out = publisher.push_many([[1, 90]] * 40)
    >>> np.unique(out.values, axis=0).tolist()
    [[2.5, 75.0]]
    """

    bounds: tuple[tuple[float, float], ...]
    cells: int = 8
    window: int = 1000
    epsilon: float = 1.0
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {"bounds": Intervals(), "cells": Whole(2), **WindowedPublisher.RULES}
    OPTIONS: ClassVar = {**WindowedPublisher.OPTIONS, "cells": Option("How many cells each column has.", name="bins")}
    NOTES: ClassVar = (
        "Rows are middles of public cells, so what attributes have to do with each other is kept as far as cells go.",
    )
    name: ClassVar[str] = "cells"

    @property
    def width(self) -> int:
        return len(self.bounds)

    def prepare(self) -> None:
        self._cells = (self.cells,) * self.width
        if prod(self._cells) > MOST_CELLS:
            raise ParameterError(f"{self.cells} cells for each of {self.width} attributes are more than 2^20")
        self._scale = noise_scale(SENSITIVITY, self.epsilon)
        self._shares = Shares(prod(self._cells), float(self._scale))
        self._low, high = np.array(self.bounds, dtype=np.float64).T
        self._cell_width = (high - self._low) / self.cells

    def learnt_arrays(self) -> dict[str, Array]:
        return self._shares.arrays()

    def release(self, values: Numbers, number: int) -> Numbers:
        return self.release_many(values[None], number)[0]

    def release_many(self, windows: Numbers, first: int) -> Sequence[Numbers]:
        places = np.nan_to_num((windows - self._low) / self._cell_width, nan=self.cells / 2)
        codes = np.clip(places, 0, self.cells - 1).astype(np.int64)
        flat: Integers = np.ravel_multi_index(tuple(np.moveaxis(codes, -1, 0)), self._cells)
        noisy = noisy_counts(self._run, flat, prod(self._cells), self._scale, first)
        return [self._middles(self._shares.learn(counts, windows.shape[1])) for counts in noisy]

    def _middles(self, counts: Integers) -> Numbers:
        """Return the middle of each cell, as often as its count says."""
        drawn = np.repeat(np.arange(len(counts)), counts)
        middles = np.column_stack(np.unravel_index(drawn, self._cells)) + 0.5
        rows: Numbers = self._low + self._cell_width * middles
        return rows

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return (Sample(cls(((0, 99), (0, 4)), window=70), sample_pairs),)


def noisy_counts(run: WordRun, codes: Integers, bins: int, scale: Fraction, first: int) -> Iterator[Integers]:
    """Yield how often each of `bins` codes occurs in each window, with noise on every count.

    >>> from sfumato.random import SeededSource
    >>> run, windows = WordRun(SeededSource(1), "a publisher"), np.array([[0, 0, 1], [2, 2, 2]])
    >>> [counts.tolist() for counts in noisy_counts(run, windows, 3, Fraction(1, 50), 0)]
    [[2, 1, 0], [0, 0, 3]]
    """
    together = max(1, MOST_CELLS // bins)
    for start in range(0, len(codes), together):
        counts = np.array([np.bincount(window, minlength=bins) for window in codes[start : start + together]])
        yield from add_noise_to_rows(run, counts, scale, first + start)


def sample_codes(seed: int, rows: int) -> Numbers:
    """Return a stream of codes of five categories.

    >>> sample_codes(1, 3).shape
    (3,)
    """
    return sample_pairs(seed, rows)[:, 1].copy()
