"""What a window says, read from its panes: values and intervals that cost nothing beyond the noise of the panes.

Noise falls on a pane once; windows that slide add panes up (post-processing, Dwork & Roth 2014, proposition 2.1), so a
window of r panes has r times the variance of one. A quantile is chosen anew for each window, or read from its bins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from sfumato.core.cells import range_text
from sfumato.random.random_words import WordRun
from sfumato.stream.base import Integers, Numbers
from sfumato.stream.noise import add_noise, choose_one
from sfumato.stream.publishers.statistics.grammar import Statistic
from sfumato.stream.publishers.statistics.measures import (
    BinCounts,
    CentredSum,
    CodeCounts,
    Measure,
    RankMeasure,
    middle_of,
)
from sfumato.stream.publishers.statistics.plan import Share, StatisticPlan
from sfumato.stream.publishers.statistics.reach import noise_reach
from sfumato.stream.publishers.totals.measure import edge_texts
from sfumato.stream.state import Array

OUTSIDE = 0.05  # the probability that an interval misses
Told = tuple[float, float, float]  # a value, and the ends of its interval
UNTOLD = float("nan")


@dataclass(frozen=True)
class Heading:
    """What stands before a released value: whose it is, which statistic, and at which level or in which bin."""

    column: str | None
    statistic: str
    at: str | None


class PaneHistory:
    """The last panes of a stream as they count in windows: noisy numbers, and exact ranks where windows choose.

    >>> from sfumato.promise import Neighbours
    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream.publishers.statistics.plan import Asked
    >>> plan = StatisticPlan(Asked({"cost": (0, 10)}, "count, mean", 8, True), 50.0, Neighbours.PRESENCE, panes=2)
    >>> run, history = WordRun(SeededSource(1), "a publisher"), PaneHistory(plan)
    >>> for number in range(3):
    ...     rows = history.release(run, plan_tally(plan, np.full((100, 1), 4.0)), 100, number)
    >>> rows[:, 0].round().tolist()
    [200.0, 4.0]
    """

    def __init__(self, plan: StatisticPlan) -> None:
        self.plan = plan
        self._past: Integers = np.zeros((plan.panes, plan.cells), dtype=np.int64)
        self._sizes: Integers = np.zeros(plan.panes, dtype=np.int64)
        self.headings = list(chain.from_iterable(map(self._headings, plan.statistics)))

    def arrays(self) -> dict[str, Array]:
        """Return what is kept from pane to pane; exact ranks make it secret."""
        return {"past": self._past, "sizes": self._sizes}

    def release(self, run: WordRun, exact: Integers, records: int, number: int) -> Numbers:
        """Return value, low and high of every row of the window that ends with the pane of that number."""
        here = number % self.plan.panes
        for share in self.plan.shares:
            pane = exact[share.place]
            if not share.chosen:
                pane = add_noise(run, pane, share.scale, number, share.place.start, share.measure.label)
            self._past[here, share.place] = pane
        self._sizes[here] = 0 if self.plan.presence else records  # a hidden count is not kept
        drawn = min(number + 1, self.plan.panes)
        window = _Window(self.plan, self._past.sum(axis=0), int(self._sizes.sum()), drawn)
        rows = (window.told(one, run, number) for one in self.plan.statistics)
        return np.concatenate([np.atleast_2d(np.array(row, dtype=np.float64)) for row in rows])

    def _headings(self, one: Statistic) -> Iterator[Heading]:
        if one.kind == "quantile":
            yield Heading(one.column, one.kind, f"{float(one.level):g}")
        elif one.kind != "histogram":
            yield Heading(one.column or None, one.kind, None)
        else:
            yield from (Heading(one.column, one.kind, at) for at in _bins(self.plan.share_of(one).measure))


def plan_tally(plan: StatisticPlan, values: Numbers) -> Integers:
    """Return all that is counted of some records, one row of values each; the numbers of two panes add up.

    >>> from sfumato.promise import Neighbours
    >>> from sfumato.stream.publishers.statistics.plan import Asked
    >>> plan = StatisticPlan(Asked({"zone": ("a", "b")}, "histogram", 8, True), 1.0, Neighbours.VALUE, panes=1)
    >>> plan_tally(plan, np.array([[0.0], [1.0], [1.0]])).tolist()
    [1, 2]
    """
    return np.concatenate([share.measure.tally(values) for share in plan.shares])


def _bins(measure: Measure) -> list[str]:
    if isinstance(measure, CodeCounts):
        return list(measure.categories)
    ends = edge_texts(measure.edges) if isinstance(measure, BinCounts) else []
    return [range_text(low, high, whole=False) for low, high in pairwise(ends)]


@dataclass(frozen=True)
class _Window:
    """The sums of a window's panes: noisy ones but for ranks; `records` is known where it is public."""

    plan: StatisticPlan
    sums: Integers
    records: int
    drawn: int

    def told(self, one: Statistic, run: WordRun, number: int) -> Told | Numbers:
        """Return the value of a statistic with its interval; several rows for a histogram."""
        if one.kind == "count":
            return self._count(OUTSIDE)
        share = self.plan.share_of(one)
        measure, counts = share.measure, self.sums[share.place]
        if isinstance(measure, CentredSum):
            return self._sum(share, measure) if one.kind == "sum" else self._mean(share, measure)
        if isinstance(measure, RankMeasure):
            place = choose_one(run, measure.scores(counts), share.scale, number, share.place.start, measure.label)
            return measure.candidates[place], UNTOLD, UNTOLD
        if isinstance(measure, BinCounts) and one.kind == "quantile":
            return read_quantile(counts, measure.edges, float(one.level)), UNTOLD, UNTOLD
        reach = noise_reach(share.scale, self.drawn, OUTSIDE)
        return np.column_stack([counts, np.maximum(counts - reach, 0), np.maximum(counts + reach, 0)])

    def _count(self, outside: float) -> Told:
        share = self.plan.count
        if share is None:
            return float(self.records), float(self.records), float(self.records)
        count = float(self.sums[share.place][0])
        reach = noise_reach(share.scale, self.drawn, outside)
        return count, max(count - reach, 0.0), max(count + reach, 0.0)

    def _distance(self, share: Share, step: float, outside: float) -> Told:
        """Return the sum of the distances from the centre."""
        total = float(self.sums[share.place][0])
        reach = noise_reach(share.scale, self.drawn, outside)
        return total * step, (total - reach) * step, (total + reach) * step

    def _sum(self, share: Share, measure: CentredSum) -> Told:
        if not measure.centre:
            return self._distance(share, measure.step, OUTSIDE)
        total, count = self._distance(share, measure.step, self._each), self._count(self._each)
        ends = sorted(measure.centre * end for end in count[1:])
        return total[0] + measure.centre * count[0], total[1] + ends[0], total[2] + ends[1]

    def _mean(self, share: Share, measure: CentredSum) -> Told:
        """Return the centre and the mean distance from it; an interval of both numbers where both are noisy.

        Where there may be no record, and so no mean, the interval is the whole of the bounds.
        """
        total, count = self._distance(share, measure.step, self._each), self._count(self._each)
        least, most = max(count[1], 1.0), max(count[2], 1.0)  # of a mean there is at least one record
        low = min(total[1] / least, total[1] / most)
        high = max(total[2] / least, total[2] / most)
        found = np.array([total[0] / max(count[0], 1.0), low, high]) + measure.centre
        value, low, high = np.clip(found, *measure.bounds).tolist()
        return (value, low, high) if count[1] >= 1 else (value, *measure.bounds)

    @property
    def _each(self) -> float:
        """The probability that each of two intervals may miss, where the count is noisy too."""
        return OUTSIDE / 2 if self.plan.presence else OUTSIDE


def read_quantile(counts: Integers, edges: tuple[float, ...], level: float) -> float:
    """Return where the noisy counts of bins reach a level, on a straight line within its bin.

    Cumulated counts are first fitted by rising ones; without a record it is the middle of the bounds.

    >>> read_quantile(np.array([10, 0, 30]), (0.0, 1.0, 2.0, 3.0), 0.5)
    2.3333333333333335
    """
    from sfumato.stream.publishers.rank.kernel import isotonic

    cumulated = np.cumsum(counts, dtype=np.float64)
    if cumulated[-1] <= 0:
        return middle_of((edges[0], edges[-1]))
    rising = np.clip(cumulated[None, :], 0.0, cumulated[-1])
    isotonic(rising, np.ones(len(counts)))
    return float(np.interp(level * cumulated[-1], np.concatenate([[0.0], rising[0]]), edges))
