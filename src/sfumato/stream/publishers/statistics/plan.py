"""How a window's statistics share one ε: what must be counted for them, and what each count may cost.

Counts of one window add up their losses, panes are disjoint; the promise is derived from exactly these shares (Dwork &
Roth 2014, theorem 3.16; McSherry 2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.promise import (
    Clamp,
    Cost,
    Edges,
    Input,
    Metric,
    Neighbours,
    Overlapping,
    PerRow,
    Promise,
    ProtectRows,
    Together,
    Windows,
    derive,
)
from sfumato.stream.noise import exact_epsilon, noise_scale
from sfumato.stream.publishers.statistics.grammar import Domain, Statistic, is_number, read_statistics
from sfumato.stream.publishers.statistics.measures import (
    BinCounts,
    BinRanks,
    CandidateRanks,
    CentredSum,
    CodeCounts,
    Measure,
    RankMeasure,
    RecordCount,
    equal_edges,
    middle_of,
)

UNITS = 10**18  # shares of ε are whole multiples of 1/UNITS, so that they add up exactly
MOST_BINS = 2**20
MOST_KEPT = 2**23  # numbers that wait in the panes of a window, and lie in every checkpoint
CHOICES = 1000  # bins that a quantile is chosen among: many cost little, since the error grows with their logarithm


@dataclass(frozen=True)
class Share:
    """A measure with its part of ε: for each look at a record, of which there are several where windows choose anew."""

    measure: Measure
    epsilon: Fraction
    looks: int
    scale: Fraction
    place: slice

    @property
    def chosen(self) -> bool:
        """Whether it decides a choice, so that it carries no noise itself."""
        return isinstance(self.measure, RankMeasure)


@dataclass(frozen=True)
class Asked:
    """What is asked of every window: columns, statistics, bins, and whether quantiles are chosen among candidates."""

    domains: Mapping[str, Domain]
    statistics: str
    bins: int
    chosen: bool


class StatisticPlan:
    """The measures behind some statistics under one kind of neighbours, and the share of ε that pays for each.

    >>> plan = StatisticPlan(Asked({"cost": (0, 10)}, "count, mean:2", 8, True), 0.9, Neighbours.PRESENCE, panes=6)
    >>> [(share.measure.label, float(share.epsilon)) for share in plan.shares]
    [('count', 0.3), ('sum of cost', 0.6)]
    """

    def __init__(self, asked: Asked, epsilon: float, neighbours: Neighbours, panes: int) -> None:
        self.asked, self.neighbours, self.panes = asked, neighbours, panes
        self.statistics = read_statistics(asked.statistics, asked.domains)
        if asked.bins > MOST_BINS:
            raise ParameterError(f"{asked.bins} bins are more than {MOST_BINS}; give fewer")
        self._columns = {name: place for place, name in enumerate(asked.domains)}
        wanted = self._wanted()
        if not wanted:
            raise ParameterError(
                "windows of so many records have a public count, so that nothing is left to pay for; ask for a "
                "statistic of a column"
            )
        self.shares = list(self._share(exact_epsilon(epsilon), wanted))
        self._places = {share.measure: share for share in self.shares}
        paid = (one for one in self.statistics if one.kind != "count" or self.presence)
        self._answers = {one: self._places[self._measure_of(one)] for one in paid}
        self.cells = self.shares[-1].place.stop
        if self.cells * panes > MOST_KEPT:
            raise ParameterError(
                f"a window of {panes} steps with {self.cells} counts each would keep more than {MOST_KEPT}; give a "
                "longer step, or fewer bins"
            )

    @property
    def presence(self) -> bool:
        """Whether it is hidden how many records there are."""
        return self.neighbours is Neighbours.PRESENCE

    def share_of(self, statistic: Statistic) -> Share:
        """Return what answers a statistic."""
        return self._answers[statistic]

    @property
    def count(self) -> Share | None:
        """What counts the records where that is paid for."""
        return self._places.get(RecordCount())

    def promise(self, edges: Edges) -> Promise:
        """Return what the measures together promise one record in windows with such edges."""
        parts = []
        for share in self.shares:
            part = PerRow(Cost(epsilon=_decimal(share.epsilon)), self.neighbours)
            parts.append(Overlapping(part, share.looks) if share.looks > 1 else part)
        metric = Metric(ProtectRows(), self.neighbours, Input.RECORDS)
        return derive(metric, [Clamp(), Windows(edges)], Together(tuple(parts)))

    def words(self) -> Iterator[str]:
        """Yield what the card says of the shares."""
        for share in self.shares:
            looks = f" in each of {share.looks} windows" if share.looks > 1 else ""
            what = "choice" if share.chosen else "noise"
            yield f"{share.measure.label}: {what} at ε = {float(share.epsilon):.4g}{looks}"

    def _wanted(self) -> dict[Measure, Fraction]:
        """Return the measures that the statistics need, each with the largest share that is asked for it."""
        found: dict[Measure, Fraction] = {}
        if self.presence and any(one.kind in {"count", "mean"} for one in self.statistics):
            found[RecordCount()] = next((one.share for one in self.statistics if one.kind == "count"), Fraction(1))
        for one in self.statistics:
            if one.kind != "count":
                measure = self._measure_of(one)
                found[measure] = max(one.share, found.get(measure, Fraction(0)))
        return found

    def _measure_of(self, one: Statistic) -> Measure:
        if one.kind == "count":
            return RecordCount()
        place, domain = self._columns[one.column], self.asked.domains[one.column]
        if not is_number(domain):
            return CodeCounts(f"histogram of {one.column}", place, tuple(map(str, domain)))
        low, high = float(domain[0]), float(domain[1])
        if one.kind in {"sum", "mean"}:
            return CentredSum(f"sum of {one.column}", place, (low, high), self._centre(one.column, (low, high)))
        if one.kind == "quantile" and self.asked.chosen:
            if one.at:
                return CandidateRanks(one.words, place, (low, high), one.at, one.level)
            return BinRanks(one.words, place, equal_edges((low, high), CHOICES), one.level)
        edges = (low, *(at for at in one.at if low < at < high), high)
        edges = edges if one.at else equal_edges((low, high), self.asked.bins)
        shown = "" if not one.at else f" at {' '.join(map(repr, edges))}"
        return BinCounts(f"histogram of {one.column}{shown}", place, edges)

    def _centre(self, column: str, bounds: tuple[float, float]) -> float:
        """Return what a column's values are summed from: the middle, which halves the noise, where a count is there."""
        mean = any(one.kind == "mean" and one.column == column for one in self.statistics)
        return middle_of(bounds) if mean or not self.presence else 0.0

    def _share(self, epsilon: Fraction, wanted: Mapping[Measure, Fraction]) -> Iterator[Share]:
        looks = [self.panes if isinstance(measure, RankMeasure) else 1 for measure in wanted]
        start = 0
        for measure, part, times in zip(wanted, split(epsilon, list(wanted.values()), looks), looks, strict=True):
            sensitivity = measure.sensitivity(self.neighbours)
            twice = 2 if isinstance(measure, RankMeasure) else 1  # a score may rise while another one falls
            scale = noise_scale(twice * sensitivity, part)
            yield Share(measure, part, times, scale, slice(start, start + measure.cells))
            start += measure.cells


def split(epsilon: Fraction, shares: Sequence[Fraction], looks: Sequence[int]) -> list[Fraction]:
    """Return what one look may cost for each share; parts times looks add up to at most ε, exactly to ε if they can.

    What rounding leaves over goes to the last part that is looked at once.

    >>> [str(part) for part in split(Fraction(1), [Fraction(1), Fraction(3)], [1, 3])]
    ['1/4', '1/4']
    """
    whole, units = sum(shares), int(epsilon * UNITS)
    parts = [int(units * share / whole) // times for share, times in zip(shares, looks, strict=True)]
    if not all(parts):
        raise ParameterError(f"ε is {float(epsilon):g}, which is too small to be shared; give a larger one")
    once = [place for place, times in enumerate(looks) if times == 1]
    if once:
        parts[once[-1]] += units - sum(part * times for part, times in zip(parts, looks, strict=True))
    return [Fraction(part, UNITS) for part in parts]


def _decimal(part: Fraction) -> str:
    """Return a multiple of 1/UNITS as the decimal that it is."""
    return f"{int(part * UNITS)}e-18"
