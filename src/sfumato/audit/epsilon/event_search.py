"""Choosing the event that tells two samples of outputs apart best, to be measured on others.

Ding, Wang, Wang, Zhang & Kifer (2018) choose events on one part of the trials and test on the rest; candidates are
ordered by likelihood ratio (Neyman & Pearson 1933) and scored by the limits of Wilson (1927).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.audit.epsilon.events import (
    Along,
    Among,
    Event,
    Floats,
    Integers,
    Itself,
    Largest,
    OnGrid,
    Outputs,
    Test,
    View,
    Within,
    bit_places,
)
from sfumato.errors import InputError

CAUTION = 3.0  # standard errors that a candidate's score is put down by, so that rare events do not win by luck
CUTS = 256
COARSE = 32
MOST_VALUES = 256
MOST_ENTRIES = 16
FEWEST_REPEATS = 8  # a column with this many outputs to a value is taken for discrete
ROW_WEIGHTS = 0.6180339887498949  # powers of the golden ratio's inverse tell short rows of small integers apart


@dataclass(frozen=True)
class ChosenEvent:
    """An event, whether it is likelier on the left input, and its score: a cautious estimate of ε."""

    event: Event
    on_left: bool
    score: float


def choose(left: Outputs, right: Outputs, delta: float, given: Sequence[Event] = ()) -> ChosenEvent:
    """Return the event and the direction of the largest cautious estimate of ε; as many outputs of one as of the other.

    >>> from fractions import Fraction
    >>> from sfumato.random import SeededSource, discrete_laplace
    >>> source = SeededSource(1)
    >>> left, right = (value + discrete_laplace(10_000, Fraction(1), source) for value in (0, 1))
    >>> 0.8 < choose(left, right, 0.0).score < 1.1
    True
    """
    found = [_score_given(event, left, right, delta) for event in given]
    for view in _views(left, right):
        seen = [_plain(view.of(outputs)) for outputs in (left, right)]
        found += [ChosenEvent(Event(view, test), on, score) for test, on, score in _tests(seen[0], seen[1], delta)]
    return max(found, key=lambda choice: choice.score)


def cautious_epsilon(likelier: Integers, other: Integers, trials: int, delta: float) -> Floats:
    """Return estimates of ε from hits on two inputs, `trials` on each, put down by their error.

    >>> cautious_epsilon(np.array([500]), np.array([184]), 1000, 0.0).round(2).tolist()
    [0.71]
    """
    surely, at_most = _wilson(likelier, trials, -CAUTION) - delta, _wilson(other, trials, CAUTION)
    estimates: Floats = np.where(surely > 0, np.log(np.maximum(surely, 1e-300) / at_most), -np.inf)
    return estimates


def _wilson(hits: Integers, trials: int, z: float) -> Floats:
    """Return Wilson's limit of a probability, below for a negative z, above for a positive one."""
    share = hits / trials
    spread = z * np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    limit: Floats = np.maximum((share + z * z / (2 * trials) + spread) / (1 + z * z / trials), 0)
    return limit


def _views(left: Outputs, right: Outputs) -> Iterator[View]:
    """Yield the ways to look at the outputs: as they are, or along a few directions where they are vectors."""
    if left.shape != right.shape or left.ndim > 2:
        raise InputError(f"outputs of shapes {left.shape} and {right.shape}; give values, or vectors of one length")
    if left.ndim == 1:
        yield Itself()
        return
    size = left.shape[1]
    for place in range(min(size, MOST_ENTRIES)):
        yield Along(tuple(float(place == other) for other in range(size)))
    if size > 1:
        yield Along((1.0,) * size)
        yield Largest()
        yield Along(tuple(float(ROW_WEIGHTS**power) for power in range(1, size + 1)))
        apart = left.mean(axis=0) - right.mean(axis=0)
        spread = np.maximum(left.var(axis=0) + right.var(axis=0), 1e-12)
        yield Along(tuple((apart / spread).tolist()))


def _plain(seen: Outputs) -> Outputs:
    """Return numbers as floats, with what is no number beyond all others; words as they are."""
    if seen.dtype.kind not in "biuf":
        return seen.astype(np.str_)
    return np.nan_to_num(seen.astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)


Scored = tuple[Test, bool, float]


class BinCounts(NamedTuple):
    """How often each bin came up on two inputs: in the outputs that order the bins, and in those that score them.

    Bins that were put in order by the same outputs would look better than they are.
    """

    ordering: tuple[Integers, Integers]
    scoring: tuple[Integers, Integers]

    @classmethod
    def of(cls, left: Integers, right: Integers, bins: int) -> BinCounts:
        """Return the counts of coded outputs: every other one orders, the rest scores."""
        halves = [tuple(np.bincount(part[start::2], minlength=bins) for part in (left, right)) for start in (0, 1)]
        return cls((halves[0][0], halves[0][1]), (halves[1][0], halves[1][1]))

    @property
    def with_inputs_swapped(self) -> BinCounts:
        """The same counts with the inputs exchanged."""
        return BinCounts(self.ordering[::-1], self.scoring[::-1])

    @property
    def by_ratio(self) -> Integers:
        """The bins from the one that favours the first input most to the one that does least."""
        likelier, other = self.ordering
        return np.argsort(-(likelier + 0.5) / (other + 0.5), kind="stable")

    def best_prefix(self, order: Integers, delta: float) -> tuple[int, float]:
        """Return how many bins of an order make the best event, and its score."""
        likelier, other = self.scoring
        scores = cautious_epsilon(np.cumsum(likelier[order]), np.cumsum(other[order]), int(likelier.sum()), delta)
        return int(np.argmax(scores)) + 1, float(scores.max())


def _tests(left: Outputs, right: Outputs, delta: float) -> Iterator[Scored]:
    values, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
    if len(values) * FEWEST_REPEATS <= len(codes) or left.dtype.kind == "U":
        yield from _sets(values, BinCounts.of(codes[: len(left)], codes[len(left) :], len(values)), delta)
    if left.dtype.kind != "U":
        yield from _ranges(left, right, CUTS, delta, ratio=False)
        yield from _ranges(left, right, COARSE, delta, ratio=True)
        if (values != np.round(values)).any():
            yield from _grids(left, right, delta)


def _sets(values: Outputs, counts: BinCounts, delta: float) -> Iterator[Scored]:
    for on_left, part in ((True, counts), (False, counts.with_inputs_swapped)):
        order = part.by_ratio[:MOST_VALUES]
        length, score = part.best_prefix(order, delta)
        yield Among(tuple(np.sort(values[order[:length]]).tolist())), on_left, score


def _ranges(left: Floats, right: Floats, cuts: int, delta: float, *, ratio: bool) -> Iterator[Scored]:
    pooled = np.sort(np.concatenate([left, right]))
    edges = np.unique(pooled[(np.arange(1, cuts) * len(pooled)) // cuts])
    counts = BinCounts.of(np.searchsorted(edges, left), np.searchsorted(edges, right), len(edges) + 1)
    rising = np.arange(len(edges) + 1)
    for on_left, part in ((True, counts), (False, counts.with_inputs_swapped)):
        for order in (part.by_ratio,) if ratio else (rising, rising[::-1]):
            length, score = part.best_prefix(order, delta)
            yield Within(_join_bins(edges, order[:length])), on_left, score


def _join_bins(edges: Floats, bins: Integers) -> tuple[tuple[float | None, float | None], ...]:
    """Return some of the bins between edges as ranges, neighbours joined."""
    ends = [None, *edges.tolist(), None]
    ranges: list[tuple[float | None, float | None]] = []
    for place in sorted(bins.tolist()):
        if ranges and ranges[-1][1] is not None and ranges[-1][1] == ends[place]:
            ranges[-1] = (ranges[-1][0], ends[place + 1])
        else:
            ranges.append((ends[place], ends[place + 1]))
    return tuple(ranges)


def _grids(left: Floats, right: Floats, delta: float) -> Iterator[Scored]:
    """Yield the best grid of floating-point numbers: lowest bit at least so high, size below so much."""
    bits = [bit_places(part) for part in (left, right)]
    steps = _few(np.concatenate([lowest for lowest, _ in bits]))
    sizes = _few(np.concatenate([highest for _, highest in bits]))
    cells = [
        np.searchsorted(steps, lowest, side="right") * (len(sizes) + 1) + np.searchsorted(sizes, highest)
        for lowest, highest in bits
    ]
    shape = len(steps) + 1, len(sizes) + 1
    counts = BinCounts.of(cells[0], cells[1], shape[0] * shape[1])
    for on_left, part in ((True, counts), (False, counts.with_inputs_swapped)):
        found, scored = ([_count_on_grids(table.reshape(shape)) for table in tables] for tables in part)
        place = int(np.argmax(cautious_epsilon(found[0], found[1], len(left) - len(left) // 2, delta)))
        score = cautious_epsilon(scored[0][[place]], scored[1][[place]], len(left) // 2, delta)[0]
        yield OnGrid(int(steps[place // len(sizes)]), int(sizes[place % len(sizes)])), on_left, float(score)


def _count_on_grids(table: Integers) -> Integers:
    """Return for every step and size how many outputs lie on that grid and below that size."""
    reached: Integers = table[::-1].cumsum(axis=0)[::-1].cumsum(axis=1)
    return reached[1:, :-1].ravel()


def _few(places: Integers) -> Integers:
    """Return the different places of bits, the commonest if there are many."""
    values, counts = np.unique(places, return_counts=True)
    return np.sort(values[np.argsort(-counts)[:CUTS]])


def _score_given(event: Event, left: Outputs, right: Outputs, delta: float) -> ChosenEvent:
    hits = np.array([event.holds(part[1::2]).sum() for part in (left, right)])
    scores = cautious_epsilon(hits, hits[::-1], len(left) // 2, delta)
    return ChosenEvent(event, bool(scores[0] >= scores[1]), float(scores.max()))
