"""Statistics of windows: counts, sums, means, quantiles and histograms of several columns from one ε.

Each pane of so many records gets its noise once; windows that slide add panes up (Dwork & Roth 2014, proposition 2.1;
panes after Li, Maier, Tufte, Papadimos & Tucker 2005). Quantiles may be chosen anew for every window instead, which is
paid for as often as a record is in one (`docs/algorithms/window-statistics.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.core.parameters import OneOf, Option, Optional, Real, Whole
from sfumato.errors import ParameterError
from sfumato.promise import Edges, Neighbours, Promise
from sfumato.random import Source
from sfumato.release.card import Card, ReleasedColumn
from sfumato.stream.base import AUDITED, DELAY, EPSILON, Numbers, PublicBounds, Published, ReleasedColumns, Sample
from sfumato.stream.card import EVENT, guarantee_of, make_card
from sfumato.stream.publishers.rank import sample_pairs
from sfumato.stream.publishers.statistics.grammar import Domain, Domains, is_number
from sfumato.stream.publishers.statistics.plan import Asked, StatisticPlan
from sfumato.stream.publishers.statistics.window import PaneHistory, plan_tally
from sfumato.stream.state import Array
from sfumato.stream.windows import WindowedPublisher

Chosen = Literal["choice", "histogram"]
STATISTICS = Option(
    "What is released of each window, by commas: count, sum, mean, median, quantile LEVEL, histogram; behind one of "
    "them 'of COLUMN', 'at NUMBERS' (edges or candidates) and ':SHARE' of ε."
)
BINS = Option("How many bins a histogram of numbers has, those that a quantile is read from included.")
QUANTILES = Option(
    "How quantiles are found: chosen among candidates, in each window anew, or read from the bins of a histogram.",
    name="quantiles_by",
)
ROWS = ("column", "statistic", "at", "value", "low", "high")
START, END = "window_start", "window_end"


class StatisticTexts:
    """The rule of a list of statistics: a text; what it says is read against the columns."""

    wanted: str = "a text such as 'count, mean of cost'"

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and bool(value.strip())

    def bad_values(self) -> list[object]:
        return ["", " ", 3, None, ("count",)]


class StatisticsPublisher(WindowedPublisher):
    """What windows of so many records and windows by the clock have in common: columns in, rows of statistics out.

    A record has a number for each column of `domains`, a category its place there or its text. A subclass has the
    parameters `domains`, `statistics`, `bins` and `quantiles`, and says in which windows.
    """

    domains: dict[str, Domain]
    statistics: str
    bins: int
    quantiles: Chosen

    RULES: ClassVar = {
        "domains": Domains(),
        "statistics": StatisticTexts(),
        "bins": Whole(2),
        "quantiles": OneOf(("choice", "histogram")),
        "epsilon": Real(0, above=True),
    }

    @property
    def width(self) -> int:
        return 0 if len(self.domains) == 1 else len(self.domains)

    @property
    def bounds(self) -> Any:
        """The public bounds of every column, codes of categories included; of the only one as they are."""
        pairs = [domain if is_number(domain) else (0.0, len(domain) - 1.0) for domain in self.domains.values()]
        return pairs[0] if len(pairs) == 1 else tuple(pairs)

    def lay_out(self, neighbours: Neighbours, panes: int) -> None:
        """Set up what is counted of a pane, and the panes that a window has."""
        asked = Asked(self.domains, self.statistics, self.bins, self.quantiles == "choice")
        self.plan = StatisticPlan(asked, self.epsilon, neighbours, panes)
        self.history = PaneHistory(self.plan)
        domains = self.domains.values()
        self._codes = [{} if is_number(one) else {text: float(at) for at, text in enumerate(one)} for one in domains]

    def read(self, record: Any) -> Any:
        cells = [self._number(cell, place) for place, cell in enumerate(record if self._shape else [record])]
        return tuple(cells) if self._shape else cells[0]

    def read_many(self, batch: Any) -> Numbers:
        if not isinstance(batch, np.ndarray) or batch.dtype.kind not in "fiub":
            batch = [self.read(record) for record in batch]
        return np.asarray(batch, dtype=np.float64).reshape(-1, *self._shape)

    def _number(self, cell: Any, place: int) -> float:
        return self._codes[place].get(cell, 0.0) if isinstance(cell, str) else float(cell)

    def tally(self, values: Numbers) -> Any:
        """Return all that is counted of some records."""
        return plan_tally(self.plan, values.reshape(-1, len(self.domains)))

    def learnt_arrays(self) -> dict[str, Array]:
        return self.history.arrays()

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return whose value a row is, which statistic, at which level or in which bin, the value and its interval."""
        del names  # they stand in the rows
        headings = [self.history.headings[place] for place in (published.seq % len(self.history.headings)).tolist()]
        texts = {name: [getattr(heading, name) for heading in headings] for name in ROWS[:3]}
        return {**texts, **{name: published.values[:, place] for place, name in enumerate(ROWS[3:])}}

    def stated_card(self, notes: Sequence[str], *ends: ReleasedColumn) -> Card:
        """Return the card, with what the columns of rows are and which part of ε pays for what."""
        texts = [ReleasedColumn(name=name, role="other", type="text") for name in ROWS[:3]]
        numbers = [ReleasedColumn(name=name, role="sensitive", type="number") for name in ROWS[3:]]
        shares = f"Of every record are paid: {'; '.join(self.plan.words())}."
        return make_card(
            self,
            guarantee_of(self),
            [*texts, *numbers, *ends],
            assumptions=[*notes, shares, *self._sentences()],
            source=self._run.source,
        )

    def _sentences(self) -> list[str]:
        told = [
            "Bins, candidates and categories are public and declared; a value that is no category counts as the first.",
            "low and high hold the true number of the window, of values clamped to the bounds, in 95 of 100 cases.",
            "Counts are not cut at 0, so that those of several windows or bins add up without a bias.",
        ]
        if self.plan.panes > 1:
            told.append(
                f"A window is the last {self.plan.panes} panes. The noise of a pane is drawn once, and windows add "
                "panes up, so that a record pays once however many windows it is in."
            )
        again = [share.measure.label for share in self.plan.shares if share.looks > 1]
        if again:
            told.append(
                f"Chosen anew in every window, and paid for by a record {self.plan.panes} times: {', '.join(again)}."
            )
        return told


@dataclass(eq=False)
class StatisticWindows(StatisticsPublisher):
    """Statistics of the last `last` records, after every `step` records; `last` is `step` unless given.

    Every record has a number for each column of `domains`: numbers within bounds, categories by their place or text.
    `statistics` says what is released, and `:2` behind one gives it two shares of ε. Under replacement the number of
    records is public, so that a count costs nothing.

    >>> from sfumato.random import SeededSource
    >>> publisher = StatisticWindows({"cost": (0, 100)}, "mean, median", step=500, epsilon=20.0, rng=SeededSource(1))
    >>> out = publisher.push_many(np.full(1000, 40.0))
    >>> publisher.columns(out, [])["statistic"], out.values[:, 0].round(0).tolist()
    (['mean', 'quantile', 'mean', 'quantile'], [40.0, 40.0, 40.0, 40.0])
    """

    domains: dict[str, Domain]
    statistics: str = "count, histogram"
    step: int = 1000
    last: int | None = None
    epsilon: float = 1.0
    bins: int = 32
    quantiles: Chosen = "choice"
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {**StatisticsPublisher.RULES, "step": Whole(1), "last": Optional(Whole(1))}
    OPTIONS: ClassVar = {
        "epsilon": EPSILON,
        "step": DELAY,
        "statistics": STATISTICS,
        "bins": BINS,
        "quantiles": QUANTILES,
    }
    SHARED: ClassVar = (*WindowedPublisher.SHARED, "every", "from_", "until", "last")
    name: ClassVar[str] = "statistics"
    takes_several: ClassVar[bool] = True
    takes_columns: ClassVar[bool] = True

    def prepare(self) -> None:
        self.lay_out(Neighbours.VALUE, panes_of(self.last, self.step, "records"))
        self._nothing = Published.empty(len(ROWS) - 3 + 1)

    @property
    def window(self) -> int:
        """How many records a pane has."""
        return self.step

    def release(self, values: Numbers, number: int) -> Numbers:
        rows = self.history.release(self._run, self.tally(values), len(values), number)
        return np.column_stack([rows, np.full(len(rows), number * self.step + len(values))])

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the rows, and the numbers of the first record of their window and of the first one behind it."""
        starts = np.maximum(published.group + 1 - self.plan.panes, 0) * self.step
        return {**super().columns(published, names), START: starts.astype(np.float64), END: published.values[:, 3]}

    def card(self, *names: str) -> Card:
        del names
        held = f"Every {self.step} records a window of the last {self.plan.panes * self.step} ends, the first ones of "
        held += "fewer; window_start and window_end count records."
        ends = [ReleasedColumn(name=name, role="other", type="number") for name in (START, END)]
        return self.stated_card([*EVENT, held], *ends)

    def promise(self) -> Promise | None:
        return self.plan.promise(Edges.POSITION)

    @classmethod
    def for_number(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> StatisticWindows:
        if bounds is None:
            raise ParameterError(f"{cls.name} needs --bounds LOW HIGH, which are public")
        return cls.from_options(given, called=cls.name, domains={"value": bounds})

    @classmethod
    def for_columns(
        cls, domains: Mapping[str, Domain], given: Mapping[str, Any], last: str | None, every: float | None
    ) -> WindowedPublisher:
        """Return the publisher of several columns; with `every`, that of windows in time of so many seconds."""
        from sfumato.stream.publishers.statistics.clocked import ClockStatistics
        from sfumato.stream.screens.times import duration

        if every is not None:
            span = None if last is None else duration(last)
            panes = panes_of(span, every, "seconds")
            return ClockStatistics.from_options(given, called=cls.name, domains=dict(domains), panes=panes)
        if last is not None and not (last.isascii() and last.isdecimal()):
            raise ParameterError(f"--last is '{last}'; give a number of records, or --every too for a time")
        records = None if last is None else int(last)
        return cls.from_options(given, called=cls.name, domains=dict(domains), last=records)

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> StatisticWindows:
        return cls({"value": AUDITED}, "mean, histogram", delay, epsilon=epsilon, bins=8, rng=rng)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        pairs: dict[str, Domain] = {"cost": (0, 99), "zone": ("a", "b", "c", "d", "e")}
        all_of_them = "mean, sum of cost, histogram, quantile 0.25 of cost:2, median of cost at 10 20 50"
        return (
            Sample(cls({"cost": (0, 1000)}, "count, mean", step=70), keeps_rows=False),
            Sample(cls(pairs, all_of_them, 40, 120, bins=4), sample_pairs, keeps_rows=False),
            Sample(cls(pairs, all_of_them, 40, 120, bins=4, quantiles="histogram"), sample_pairs, keeps_rows=False),
        )


def panes_of(last: float | None, step: float, what: str) -> int:
    """Return how many panes a window has, which must be a whole number.

    >>> panes_of(None, 10, "seconds"), panes_of(3600.0, 600.0, "seconds")
    (1, 6)
    >>> panes_of(25, 10, "records")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: a window of the last 25 records is no whole number of steps of 10 records; give a \
multiple of the step
    """
    if last is None:
        return 1
    panes = round(last / step)
    if panes < 1 or abs(panes * step - last) > 1e-9 * last:
        raise ParameterError(
            f"a window of the last {last:.12g} {what} is no whole number of steps of {step:.12g} {what}; give a "
            "multiple of the step"
        )
    return panes
