"""Mutants of the library: each is a small mistake that a twin run must refute, through the door where it would show."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from twin_doors import (
    CLOCKED,
    JOINED,
    LEDGER,
    NAMED,
    PARTS,
    PERSON,
    PERSONS,
    SPARK,
    STREAM,
    WIDE,
    ZCDP_KEYS,
    ZONES,
    Maker,
    capped_clock,
    changed,
    command,
    mondrian,
    picked_safepub,
    presence_of_events,
    question,
    registered,
    restored_twice,
    safepub,
    scraped,
    sequences,
    several_runs,
    sliding,
    spark_task,
    w_event_at_the_limit,
    w_event_persons,
)

from sfumato.audit.twin import TwinPath
from sfumato.audit.twin.neighbours import odd_times
from sfumato.audit.twin.paths import joined
from sfumato.cli.main import run as main
from sfumato.dp.mechanisms import Gaussian, Laplace, RandomizedResponse, Selection, Threshold
from sfumato.dp.questions import private_bounds
from sfumato.dp.questions.estimators import Counting
from sfumato.dp.questions.lookup import Lookup
from sfumato.dp.questions.private_bounds import BoundChoice
from sfumato.dp.rows import features
from sfumato.dp.rows import stages as rows_stages
from sfumato.dp.rows.bounding import Bounding
from sfumato.dp.rows.statement import Statement
from sfumato.dp.session import Session
from sfumato.dp.share import Norms
from sfumato.errors import InputError
from sfumato.local.means.protocols import Duchi, LaplaceMean
from sfumato.local.protocols import randomized_response, unary
from sfumato.local.protocols.rappor import Rappor
from sfumato.local.reports.memory import Memory
from sfumato.local.surveys import attributes
from sfumato.promise import Overlapping, Together
from sfumato.promise.cost import Cost
from sfumato.promise.unit import Neighbours, ProtectPersons
from sfumato.random import SecureSource, noise_from
from sfumato.stream import (
    AdaptiveHistogram,
    CappedPersons,
    ClockStatistics,
    ClockTotals,
    ClockWindows,
    NaiveLaplace,
    RankWindows,
    WEventWindows,
)
from sfumato.stream.noise import add_gaussian_to_rows, add_noise
from sfumato.stream.operate.numbers import PublicPage
from sfumato.stream.publishers import adaptive, clock, counts, linked, rank, w_event
from sfumato.stream.publishers.statistics import measures
from sfumato.stream.publishers.statistics import plan as statistic_plan
from sfumato.stream.publishers.statistics.window import PaneHistory
from sfumato.stream.publishers.totals import engine
from sfumato.stream.publishers.totals import kernel as totals_kernel
from sfumato.stream.publishers.totals.factor import RootPlan
from sfumato.stream.publishers.totals.measure import Measure
from sfumato.stream.publishers.totals.prefix import Factored
from sfumato.tabular.private import safepub as safepub_room
from sfumato.tabular.private.mondrian import PrivateMondrian, tree
from sfumato.tabular.private.safepub import sampling
from sfumato.tabular.private.safepub import scheme as scheme_room

Patch = Callable[[], AbstractContextManager[Any]]
COUNTED = AdaptiveHistogram((0, 100), window=10, bins=8)
COUNTS = "SELECT hour, COUNT(*) FROM rides GROUP BY hour"


@dataclass(frozen=True)
class Mutant:
    """One mistake, and the path on which it shows; `quick` ones run in every test."""

    name: str
    patch: Patch
    path: Maker
    quick: bool = False


def put(where: Any, name: str, new: Any) -> Patch:
    return lambda: patch.object(where, name, new)


@contextmanager
def as_it_is() -> Iterator[None]:
    """No change: the mistake is in the claim or in how parts are put together."""
    yield


# Mistakes in the pages of a running stream.

public_numbers = PublicPage.collect


def cells_for_all(page: PublicPage) -> Iterator[Any]:
    yield from public_numbers(page)
    yield page.numbers.steward._cells(page.numbers.intake)


# Mistakes in mechanisms.

epsilon_of_laplace = Laplace.for_epsilon.__func__  # type: ignore[attr-defined]
rho_of_gaussian = Gaussian.for_rho.__func__  # type: ignore[attr-defined]


def half_the_scale(cls: Any, epsilon: Any, l1: int) -> Any:
    return cls(epsilon_of_laplace(cls, epsilon, l1).scale / 2)


def half_the_variance(cls: Any, rho: Any, l2_squared: int) -> Any:
    return cls(rho_of_gaussian(cls, rho, l2_squared).variance / 2)


def noise_where_rows_are(self: Laplace, values: Sequence[int], noise: Any = None) -> list[int]:
    found = iter((noise or noise_from()).laplace([value for value in values if value], self.scale))
    return [next(found) if value else 0 for value in values]


def draw_with_half(self: Laplace, values: Sequence[int], noise: Any = None) -> list[int]:
    return (noise or noise_from()).laplace(values, self.scale / 2)


def first_one_exact(self: Laplace, values: Sequence[int], noise: Any = None) -> list[int]:
    return [*values[:1], *(noise or noise_from()).laplace(values[1:], self.scale)]


# Mistakes behind a question.

true_bounding = Bounding.bound_counts
true_values = Bounding.bound_values
true_collect = Session._tallies
true_scores = Selection.scale


def one_row_more(self: Bounding, grouped: str, rows: int, groups: int | None, *, counted: bool) -> str:
    return true_bounding(self, grouped, rows + 1, groups, counted=counted)


def no_bound_after(self: Bounding, grouped: str, rows: int, groups: int | None, *, counted: bool) -> str:
    return true_bounding(self, grouped, 10**6, groups, counted=counted)


def one_value_more(self: Bounding, grouped: str, rows: int, groups: int) -> str:
    return true_values(self, grouped, rows + 1, groups)


def stumble_over_a_cell(self: Session, *given: Any, **named: Any) -> Any:
    found = true_collect(self, *given, **named)
    if sum(int(count) for count in found.columns[0]) > 24:
        raise InputError("there are more than 24 rows")
    return found


true_persons = features.select_people


def everybody_counted(stage: Any, inner: str, cells: Any) -> str:
    """A quarter of everybody's rows in place of each person's own."""
    return true_persons(stage, inner, cells).replace("LEAST(COUNT(*)", "LEAST(FLOOR(SUM(COUNT(*)) OVER () / 4)")


def all_rows_of_persons(stage: Any, inner: str, cells: Any) -> str:
    """A row of features for every row of a person, instead of one."""
    whole = true_persons(stage, inner, cells)
    person = cells.cell(stage.person.name)
    return f"SELECT whole.* FROM ({whole}) AS whole JOIN ({inner}) AS each ON whole.{person} = each.{person}"  # noqa: S608


@contextmanager
def features_for_every_row() -> Iterator[None]:
    """Persons keep all their rows, and nothing bounds them after the stage."""
    with (
        patch.object(rows_stages, "select_people", all_rows_of_persons),
        patch.object(Statement, "_bounded_rows", lambda self, grouped: grouped),
    ):
        yield


@contextmanager
def bounds_of_one_row() -> Iterator[None]:
    """Bounds are chosen as if a person had one row, and the promise does not notice."""
    with (
        patch.object(BoundChoice, "_mechanism", lambda self, share: share.selection(1)),
        patch.object(BoundChoice, "spent", lambda self, share, norms: share.amount),
    ):
        yield


def nine_times(rungs: Any, margin: int, *, upper: bool) -> list[int]:
    return [9 * score for score in true_bounds(rungs, margin, upper=upper)]


true_bounds = private_bounds.bound_scores


# Mistakes in streams.


def half_of(sensitivity: int, epsilon: Any) -> Fraction:
    return Fraction(sensitivity) / Fraction(str(epsilon)) / 2


def unclamped_sums(windows: Any, low: float, step: float, steps: int, middle: int, block: int) -> Any:
    places = np.nan_to_num((np.sort(windows, axis=1) - low) / step, nan=middle, posinf=1e12, neginf=-1e12)
    starts = np.arange(0, windows.shape[1], block)
    return np.add.reduceat(np.clip(places, -1e12, 1e12), starts, axis=1).astype(np.int64)


@contextmanager
def sums_without_clamping() -> Iterator[None]:
    from sfumato.stream.publishers.rank import kernel

    with patch.object(kernel, "block_sums", unclamped_sums):
        yield


def bins_of_the_records(self: AdaptiveHistogram, values: Any, number: int) -> Any:
    bins = self._model.bins()
    inside = np.clip(np.nan_to_num(values), *self.bounds)
    edges = np.unique(np.quantile(inside, np.linspace(0, 1, 4)).astype(np.int64))
    noisy = self.add_noise(np.histogram(inside, [*edges, 10**6])[0], self._plain, number)
    return np.sort(np.concatenate([np.repeat(edges, 1).astype(float), noisy.astype(float), [len(bins.edges)]]))


true_naive = NaiveLaplace.push_many
true_capped = CappedPersons.counted
true_tick = ClockWindows.tick
true_statistics = ClockStatistics.tick


def withhold_missing(self: NaiveLaplace, batch: Any) -> Any:
    values = np.asarray(batch, dtype=np.float64)
    return true_naive(self, values[~np.isnan(values)])


def one_record_more(self: CappedPersons, records: Any) -> Any:
    kept, self.limit = self.limit, self.limit + 1
    try:
        return true_capped(self, records)
    finally:
        self.limit = kept


def exact_size(self: ClockWindows, values: Any, number: int) -> Any:
    return self._grid.release(values[None], self._run, number)[0] if len(values) else np.empty(0)


def no_empty_window(self: ClockWindows) -> Any:
    if self.held:
        return true_tick(self)
    self._ticks += 1
    return self.push_many(np.empty(0))


def noise_for_each_window(self: PaneHistory, run: Any, exact: Any, records: int, number: int) -> Any:
    """Panes that are kept as they are, and added up before the noise."""
    self._past[number % self.plan.panes] = exact
    whole = self._past.sum(axis=0)
    noisy = [add_noise(run, whole[share.place], share.scale, number) for share in self.plan.shares]
    return np.concatenate(noisy)[:, None] * np.ones(3)


def no_window_of_nobody(self: ClockStatistics) -> Any:
    return true_statistics(self) if self.held else self.push_many([])


def driven_by_records(_: Path) -> TwinPath:
    """Windows that end when a record of a later time comes, as they once did."""
    draw = np.random.default_rng(1)
    records = np.column_stack([draw.integers(0, 100, 30), np.arange(30) * 2.0]).astype(np.float64)

    def run(given: Any) -> Any:
        publisher, now, left = ClockWindows(bounds=(0, 100), rng=SecureSource()), -1, []
        for value, time in given:
            place = now if np.isnan(time) else int(time // 10)
            while 0 <= now < place:
                left.append(publisher.tick())
                now += 1
            now = max(now, place)
            publisher.push_many(np.array([value]))
        return joined([*left, publisher.flush()])

    return TwinPath("a clock that records drive", run, odd_times(records, 10.0), Cost(epsilon=1), 1)


def copied_publisher(records: Any) -> Any:
    """A publisher and its copy, which share the words that the first has drawn ahead."""
    first = RankWindows((0, 100), window=32, block=4, rng=SecureSource())
    left = [first.push_many(records[:32])]
    words = first._run.words.copy()
    second = copy.deepcopy(first)
    first._run.words, second._run.words = words, words.copy()
    return joined([*left, first.push_many(records[:32]), second.push_many(records[32:])])


def one_context_for_two(records: Any) -> Any:
    """Two runs at two ε whose noise is read from the same words."""
    left = []
    for epsilon in (0.5, 1.0):
        publisher = RankWindows((0, 100), window=32, block=4, epsilon=epsilon, rng=SameWords())
        left.append(publisher.push_many(records))
    return joined(left)


class SameWords:
    """A source that begins anew: what a key without the parameters in its context comes to."""

    secure = True

    def __init__(self) -> None:
        self._generator = np.random.default_rng(7)

    def words(self, count: int) -> Any:
        return self._generator.integers(0, 2**32, size=count, dtype=np.uint32)


def half_the_sigma(run: Any, exact: Any, sigma: int, first: int, *context: Any) -> Any:
    return true_gaussian(run, exact, sigma // 2, first, *context)


def noise_beside_the_totals(self: Factored, rows: Any) -> Any:
    """Exact totals plus weighed noise, in floats: the same numbers but for their last bits."""
    first, _ = self._at.tolist()
    totals = true_extend(self, rows)
    last = first + len(rows)
    drawn = np.empty_like(totals)
    images = np.empty((last, rows.shape[1]), dtype=np.int64)
    totals_kernel.weigh(self.factor.weights, self._kept, 0, images)
    totals_kernel.unweigh(self.factor.inverse, self._noisy[:last] - images, first, drawn)
    return np.cumsum(self._kept[:last], axis=0)[first:] + drawn


def unclamped_steps(self: Measure, windows: Any) -> Any:
    steps = np.nan_to_num(windows / self._step, posinf=1e12, neginf=-1e12)
    return np.clip(steps, -1e12, 1e12).astype(np.int64).sum(axis=1, keepdims=True)


def count_as_it_is(self: Any, values: Any, number: int) -> Any:
    """The mean so far from the true number of records."""
    del values, number
    totals = self._sums.extend(self._sum[None])
    self._true = getattr(self, "_true", 0) + int(self._come[0])
    totals[:, 0] = self._true * self._measure._half
    self._sum[:] = self._come[:] = 0
    return self._measure.rows(totals, self._come)


def exact_distance(self: Any, exact: Any, scale: Fraction, number: int, *context: Any) -> Any:
    return exact if context[0] == "distance" else add_noise(self._run, exact, scale, number, *context)


true_gaussian = add_gaussian_to_rows
true_extend = Factored.extend


# Mistakes in tables.

true_sample = sampling.sample_rows
true_draw = PrivateMondrian._draw
true_score = tree.cut_score
true_scale = tree.scale_of


def sample_too_many(rows: int, rate: Fraction, source: Any) -> Any:
    return true_sample(rows, min(rate * Fraction(3, 2), Fraction(99, 100)), source)


def refuse_odd_cells(self: PrivateMondrian, table: Any, columns: Any, *rest: Any) -> Any:
    if any((column.points < 0).any() for column in columns):
        raise InputError("a cell lies outside its domain")
    return true_draw(self, table, columns, *rest)


def stop_where_few_are(boxes: Any, epsilon: Fraction, noise: Any) -> None:
    scale = true_scale(epsilon)
    for box in boxes:
        drawn = noise.laplace([len(box.rows)], scale)[0] if len(box.rows) else 0
        box.add_count(drawn, scale)


@contextmanager
def top_scheme_of_nobody() -> Iterator[None]:
    """SafePub takes the top scheme where there is no row, as it once did."""
    true_of = scheme_room.Schemes.of.__func__  # type: ignore[attr-defined]

    def of(cls: Any, table: Any, *rest: Any) -> Any:
        found = true_of(cls, table, *rest)
        return found if table.rows else TopScheme(found)

    with patch.object(scheme_room.Schemes, "of", classmethod(of)):
        yield


class TopScheme:
    """Schemes among which the widest is always taken."""

    def __init__(self, schemes: Any) -> None:
        self._schemes = schemes

    def pick(self, epsilon: Fraction, noise: Any) -> Any:
        del epsilon, noise
        return self._schemes.choice.candidates[-1]


# Mistakes in local reports.

true_thresholds = randomized_response.response_thresholds
true_report = Memory.report


def thresholds_of_more(epsilon: float, size: int) -> tuple[int, int]:
    return true_thresholds(epsilon * 1.2, size)


def forget_answers(self: Memory, protocol: Any, value: Any, *, period: str) -> Any:
    return protocol.report_answer(protocol.draw_answer(value, []))


# Mistakes in commands.


def exit_by_value(argv: Sequence[str]) -> int:
    code = main(argv)
    return 3 if any("-7" in path.read_text(errors="ignore") for path in Path().glob("*.csv")) else code


def count_in_a_message(argv: Sequence[str]) -> int:
    lines = sum(len(path.read_text(errors="ignore").splitlines()) for path in Path().glob("rides.csv"))
    sys.stderr.write(f"{lines} lines read\n")
    return main(argv)


def log_what_is_bad(argv: Sequence[str]) -> int:
    bad = [line for path in Path().glob("rides.csv") for line in path.read_text().splitlines() if "?!" in line]
    code = main(argv)
    Path("bad.log").write_text("x" * len(bad))
    return code


def file_for_others(argv: Sequence[str]) -> int:
    code = main(argv)
    rows = [line for path in Path().glob("rides.csv") for line in path.read_text().splitlines()]
    Path("out.csv").chmod(0o600 if any("9" * 30 in line for line in rows) else 0o644)
    return code


MUTANTS = [
    Mutant(
        "laplace: half the scale",
        put(Laplace, "for_epsilon", classmethod(half_the_scale)),
        registered("mechanism laplace"),
        quick=True,
    ),
    Mutant(
        "gaussian: half the variance",
        put(Gaussian, "for_rho", classmethod(half_the_variance)),
        registered("mechanism gaussian"),
        quick=True,
    ),
    Mutant(
        "exponential: the factor 2 forgotten",
        put(Selection, "scale", property(lambda self: self.sensitivity / self.epsilon)),
        registered("mechanism exponential"),
        quick=True,
    ),
    Mutant(
        "noisy max: the sensitivity forgotten",
        put(Selection, "scale", property(lambda self: 1 / self.epsilon)),
        registered("mechanism noisy-max"),
    ),
    Mutant(
        "response: the truth rounded up",
        put(RandomizedResponse, "truth", property(lambda _: Fraction(732, 1000))),
        registered("mechanism randomized-response"),
        quick=True,
    ),
    Mutant(
        "threshold: too low",
        put(Threshold, "least", property(lambda _: 9)),
        registered("mechanism threshold"),
        quick=True,
    ),
    Mutant("question: half the scale", put(Laplace, "release", draw_with_half), question(COUNTS)),
    Mutant("question: empty groups without noise", put(Laplace, "release", noise_where_rows_are), question(COUNTS)),
    Mutant("question: the first group exact", put(Laplace, "release", first_one_exact), question(COUNTS)),
    Mutant(
        "question: sensitivity forgets groups",
        put(Norms, "l1", lambda self, most, swing: max(1, self.rows * most)),
        question(COUNTS, WIDE),
    ),
    Mutant(
        "question: sensitivity forgets rows",
        put(Norms, "l1", lambda self, most, swing: max(1, self.groups * most)),
        question("SELECT COUNT(*) FROM rides", PERSON),
    ),
    Mutant(
        "question: changed values count once",
        put(Norms, "l1", lambda self, most, swing: max(1, self.groups * self.rows * most)),
        question(COUNTS, neighbours=Neighbours.VALUE),
    ),
    Mutant(
        "question: one row of a person too many",
        put(Bounding, "bound_counts", one_row_more),
        question("SELECT COUNT(*) FROM rides", PERSON),
    ),
    Mutant(
        "public join: the copies of a row are forgotten",
        put(Lookup, "copies", property(lambda self: 1)),
        question(NAMED, public={"zones": ZONES}),
        quick=True,
    ),
    Mutant(
        "private join: a person's rows are not bounded after it",
        put(Bounding, "bound_counts", no_bound_after),
        question(JOINED, PERSON, tables=PARTS),
    ),
    Mutant(
        "question: different values without the rows of a person",
        put(Counting, "norms", lambda self, norms: norms.per_person()),
        question("SELECT COUNT(DISTINCT cost) FROM rides", PERSON),
        quick=True,
    ),
    Mutant(
        "question: one value of a person too many",
        put(Bounding, "bound_values", one_value_more),
        question("SELECT COUNT(DISTINCT cost) FROM rides", PERSON),
    ),
    Mutant(
        "question: features of everybody's rows",
        put(rows_stages, "select_people", everybody_counted),
        question(PERSONS, WIDE),
    ),
    Mutant("question: a row of features for every row", features_for_every_row, question(PERSONS, WIDE), quick=True),
    Mutant(
        "question: private bounds move by 9",
        put(private_bounds, "bound_scores", nine_times),
        question("SELECT BOUNDS(cost) FROM rides", PERSON),
        quick=True,
    ),
    Mutant(
        "question: private bounds without the rows of a person",
        bounds_of_one_row,
        question("SELECT BOUNDS(cost) FROM rides", ProtectPersons("rider", rows=5)),
    ),
    Mutant(
        "question: unknown keys under zcdp, a threshold too low",
        put(Threshold, "least", property(lambda _: 3)),
        question("SELECT zone, COUNT(*) FROM rides GROUP BY zone", WIDE, budget=ZCDP_KEYS, rho="0.5", delta="1e-5"),
    ),
    Mutant("question: a refusal by rows", put(Session, "_tallies", stumble_over_a_cell), question(COUNTS)),
    Mutant(
        "question: a selection in groups gets the whole price",
        put(Norms, "touched_groups", property(lambda self: 1)),
        question("SELECT hour, MEDIAN(cost) FROM rides GROUP BY hour", WIDE),
    ),
    Mutant(
        "rank: half the scale",
        put(rank, "noise_scale", half_of),
        registered("publisher RankWindows"),
        quick=True,
    ),
    Mutant("rank: values not clamped", sums_without_clamping, registered("publisher RankWindows"), quick=True),
    Mutant(
        "ranked attributes: ε not shared",
        put(rank.RankedAttributes, "width", property(lambda _: 1)),
        registered("publisher RankedAttributes"),
    ),
    Mutant("adaptive: sensitivity 1", put(adaptive, "SENSITIVITY", 1), registered("publisher AdaptiveHistogram")),
    Mutant(
        "adaptive: bins of the records",
        put(AdaptiveHistogram, "release", bins_of_the_records),
        registered("publisher AdaptiveHistogram"),
    ),
    Mutant(
        "categories: sensitivity 1", put(counts, "SENSITIVITY", 1), registered("publisher CategoryWindows"), quick=True
    ),
    Mutant("cells: sensitivity 1", put(counts, "SENSITIVITY", 1), registered("publisher CellHistogram")),
    Mutant(
        "linked: the truth too often",
        put(linked, "truthful", lambda epsilon: int(0.9 * 2**64)),
        registered("publisher LinkedResponse"),
        quick=True,
    ),
    Mutant(
        "laplace stream: values not clamped",
        put(NaiveLaplace, "_clamp_all", lambda self, values: np.nan_to_num(values, posinf=1e9, neginf=-1e9)),
        registered("publisher NaiveLaplace"),
        quick=True,
    ),
    Mutant(
        "laplace stream: missing records withheld",
        put(NaiveLaplace, "push_many", withhold_missing),
        registered("publisher NaiveLaplace"),
        quick=True,
    ),
    Mutant(
        "persons: one record too many",
        put(CappedPersons, "counted", one_record_more),
        registered("publisher CappedPersons"),
        quick=True,
    ),
    Mutant("persons before the clock, by value", as_it_is, capped_clock(Neighbours.VALUE), quick=True),
    Mutant(
        "totals: half the sigma",
        put(engine, "add_gaussian_to_rows", half_the_sigma),
        registered("publisher RunningTotals", 2),
        quick=True,
    ),
    Mutant(
        "totals: the reach inside blocks forgotten",
        put(RootPlan, "reach", property(lambda self: self.top.reach)),
        registered("publisher RunningTotals", 2),
        quick=True,
    ),
    Mutant(
        "totals: exact totals and noise added in floats",
        put(Factored, "extend", noise_beside_the_totals),
        registered("publisher RunningTotals", 2),
        quick=True,
    ),
    Mutant(
        "totals: a histogram's record in one bin only",
        put(Measure, "moves", property(lambda self: (1, 1))),
        registered("publisher RunningTotals", 6),
    ),
    Mutant(
        "totals: values not clamped",
        put(Measure, "of_windows", unclamped_steps),
        registered("publisher RunningTotals"),
    ),
    Mutant(
        "totals: the mean by the true count",
        put(ClockTotals, "release", count_as_it_is),
        registered("publisher TimedWindows", 4),
        quick=True,
    ),
    Mutant(
        "w-event: what was spent is forgotten",
        put(w_event, "distributed", lambda spent: w_event.UNITS // 2),
        sequences("distribution"),
        quick=True,
    ),
    Mutant(
        "w-event: shares are absorbed and not given back",
        put(w_event, "absorbed", lambda spent: w_event.UNITS // 3 * 3),
        sequences("absorption"),
        quick=True,
    ),
    Mutant(
        "w-event: an exact distance",
        put(WEventWindows, "add_noise", exact_distance),
        w_event_at_the_limit,
    ),
    Mutant(
        "w-event: persons uncapped in a window",
        put(CappedPersons, "counted", one_record_more),
        w_event_persons,
    ),
    Mutant(
        "clock: the count without noise",
        put(ClockWindows, "release", exact_size),
        registered("publisher ClockWindows"),
        quick=True,
    ),
    Mutant(
        "clock: empty windows kept silent",
        put(ClockWindows, "tick", no_empty_window),
        registered("publisher ClockWindows"),
    ),
    Mutant(
        "clock: half the noise of counts", put(clock, "noise_scale", half_of), registered("publisher ClockWindows", 2)
    ),
    Mutant(
        "statistics: half the scale",
        put(statistic_plan, "noise_scale", half_of),
        registered("publisher StatisticWindows"),
        quick=True,
    ),
    Mutant(
        "statistics: values not clamped",
        put(measures, "clamp", lambda values, bounds: np.nan_to_num(values, posinf=1e9, neginf=-1e9)),
        registered("publisher StatisticWindows"),
        quick=True,
    ),
    Mutant(
        "statistics: a changed value counted once",
        put(measures.BinCounts, "sensitivity", lambda self, neighbours: 1),
        registered("publisher StatisticWindows", 4),
        quick=True,
    ),
    Mutant(
        "statistics: of several parts one alone is charged",
        put(Together, "privacy", lambda self, near: self.parts[-1].privacy(near)),
        registered("publisher ClockStatistics"),
        quick=True,
    ),
    Mutant(
        "statistics: a choice in several windows is paid for once",
        put(Overlapping, "privacy", lambda self, near: self.mechanism.privacy(near)),
        sliding("median"),
        quick=True,
    ),
    Mutant(
        "statistics: noise drawn anew for each window",
        put(PaneHistory, "release", noise_for_each_window),
        sliding("count, mean, histogram"),
        quick=True,
    ),
    Mutant(
        "statistics: windows without records kept silent",
        put(ClockStatistics, "tick", no_window_of_nobody),
        registered("publisher ClockStatistics"),
        quick=True,
    ),
    Mutant("clock: driven by records", as_it_is, driven_by_records, quick=True),
    Mutant(
        "metrics: records told where they are hidden",
        put(PublicPage, "tells_records", new=True),
        command(CLOCKED, called=scraped),
    ),
    Mutant(
        "metrics: cells that failed told",
        put(PublicPage, "collect", cells_for_all),
        command(f"{STREAM} rank", called=scraped),
    ),
    Mutant("ledger: event level taken for presence", as_it_is, presence_of_events, quick=True),
    Mutant(
        "checkpoint: restored and drawn again",
        as_it_is,
        several_runs(restored_twice(keyed=False), "1"),
        quick=True,
    ),
    Mutant("key: a context without scale", as_it_is, several_runs(one_context_for_two, "1.5"), quick=True),
    Mutant("copy: words drawn ahead are shared", as_it_is, several_runs(copied_publisher, "2"), quick=True),
    Mutant("spark: ordered by the published column", as_it_is, spark_task(COUNTED, "cost", changed)),
    Mutant(
        "spark: half the scale",
        put(rank, "noise_scale", half_of),
        spark_task(SPARK, "arrival", changed),
    ),
    Mutant("safepub: too many sampled", put(safepub_room, "sample_rows", sample_too_many), safepub, quick=True),
    Mutant(
        "safepub: δ claimed too small",
        put(safepub_room, "exact_delta", lambda *given: 1e-9),
        safepub,
        quick=True,
    ),
    Mutant("safepub: no rows, the top scheme", top_scheme_of_nobody, picked_safepub),
    Mutant(
        "private mondrian: half the scale", put(tree, "scale_of", lambda epsilon: true_scale(epsilon) / 2), mondrian
    ),
    Mutant("private mondrian: small boxes without noise", put(tree, "_count", stop_where_few_are), mondrian),
    Mutant("private mondrian: cells refuse", put(PrivateMondrian, "_draw", refuse_odd_cells), mondrian, quick=True),
    Mutant(
        "private mondrian: scores move by 9",
        put(tree, "cut_score", lambda *given: 9 * true_score(*given)),
        mondrian,
    ),
    Mutant(
        "grr: thresholds of a larger ε",
        put(randomized_response, "response_thresholds", thresholds_of_more),
        registered("protocol grr"),
        quick=True,
    ),
    Mutant(
        "grr in bulk: thresholds of a larger ε",
        put(randomized_response, "response_thresholds", thresholds_of_more),
        registered("protocol grr", 1),
    ),
    Mutant(
        "oue: other bits too rare",
        put(unary.OptimizedUnary, "bits", property(lambda _: (2**63, 2**61))),
        registered("protocol oue", 1),
    ),
    Mutant("memory: a fresh report every time", put(Memory, "report", forget_answers), registered("protocol rr", 2)),
    Mutant(
        "rappor: bits flipped too rarely",
        put(Rappor, "flip", property(lambda _: 2**64 // 10)),
        registered("protocol rappor", 2),
    ),
    Mutant(
        "duchi: the truth too often",
        put(Duchi, "truth", property(lambda _: int(0.8 * 2**64))),
        registered("mean protocol duchi", 1),
        quick=True,
    ),
    Mutant(
        "laplace mean: half the scale",
        put(LaplaceMean, "scale", property(lambda _: Fraction(2**16))),
        registered("mean protocol laplace"),
    ),
    Mutant(
        "several attributes: each gets the whole ε",
        put(attributes, "_largest_part", lambda epsilon, parts: epsilon),
        registered("several attributes, split"),
    ),
    Mutant("command: exit code by value", as_it_is, command(f"{STREAM} rank", called=exit_by_value)),
    Mutant(
        "command: a count in a message",
        as_it_is,
        command("query {ledger} SELECT~COUNT(*)~FROM~rides --epsilon 1", called=count_in_a_message, setup=LEDGER),
    ),
    Mutant("command: a log of bad lines", as_it_is, command(f"{STREAM} adaptive", called=log_what_is_bad)),
    Mutant("command: a file's mode by value", as_it_is, command(f"{STREAM} adaptive", called=file_for_others)),
    Mutant(
        "command: half the scale of a stream",
        put(rank, "noise_scale", half_of),
        command(f"{STREAM} rank"),
    ),
    Mutant(
        "command: local thresholds of a larger ε",
        put(randomized_response, "response_thresholds", thresholds_of_more),
        command("local perturb {rides} -o out.bin --column zone --domain {domain} --protocol grr --epsilon 1"),
    ),
]
