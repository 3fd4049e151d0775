"""The steward's chapter on one run of a stream: what became of its records, over time, and what was lost.

It is computed from the records and is never public. Released and true values are compared in bins that both share,
since nobody keeps an endless feed (histogram intersection, Swain & Ballard 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.evaluate.utility import Histogram
from sfumato.report import charts
from sfumato.report.chapters.promise import guarantee, limits, names_and_day, shown_card
from sfumato.report.chapters.signing import card_warnings
from sfumato.report.charts.stream_run import duration_words, group_sizes, over_time, waits
from sfumato.report.page.markup import Markup, element, figure, fold, grid, join, tiles
from sfumato.report.page.overview import Gist
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, pledge

if TYPE_CHECKING:
    from sfumato.dp.ledger.ledger import Ledger
    from sfumato.stream.operate.diary import Diary, PairedHistogram, Span
    from sfumato.stream.runtime.job import Outcome

KEY = ("came: filled", "released: line")
RAW = "Counts, delays and true values are those of the records themselves."
NOT_COMPARED = (
    "Values are not compared: what leaves is a range or a label, or the column has more categories than the picture "
    "has bars."
)
WAITED = (
    "From the moment a record was read to the moment it left or was left out. Records are taken to leave in the order "
    "in which they came."
)
NO_LEDGER = "No ledger was charged: nobody adds this stream to what else was told of the same people."


@dataclass(frozen=True, eq=False)
class StreamRun:
    """One run of a stream: what came of it, its diary, the names of categories, and the ledger that paid."""

    outcome: Outcome
    diary: Diary
    categories: Sequence[str] = ()
    ledger: Ledger | None = None

    @property
    def page(self) -> str:
        """The page about it, as HTML without scripts."""
        return collect("Report on a stream", [run_chapter(self)], about=names_and_day(self.outcome.card))


def run_chapter(run: StreamRun) -> Chapter:
    """Return the chapter on one run."""
    card, diary = run.outcome.card, run.diary
    sections = [Section("What became of the records", _records(run))]
    spans = [span for span in diary.all_spans if span.seconds > 0]
    if len(spans) > 1:
        sections.append(Section("Over time", _over_time(run, spans)))
    if diary.sizes or diary.waits.seconds:
        sections.append(Section("Sizes and delays", _sizes_and_delays(diary)))
    sections += [
        Section("What was lost", _lost(run)),
        Section("What was charged", _charged(run)),
        Section("What is promised", join([guarantee(card), limits([card])])),
        Section("The public card", shown_card(card)),
    ]
    gist = Gist("stream", f"{count(run.outcome.progress.rows)} rows", pledge(card))
    return Chapter("One run of a stream", _summary(run), sections, RAW, [gist], card_warnings([card]))


def _summary(run: StreamRun) -> Markup:
    progress, diary = run.outcome.progress, run.diary
    how = "The input ended." if run.outcome.complete else "The stream was stopped; records that are held did not leave."
    before = progress.records - diary.records
    lead = f"{count(diary.records)} records came and {count(diary.rows)} rows left in this run. {how}"
    earlier = (
        f" {count(before)} records came in earlier runs from the same checkpoint. The tables of records count them; "
        "times, sizes, delays and losses are of this run alone."
    )
    figures = {
        "Records": count(progress.records),
        "Rows released": count(progress.rows),
        "Windows or groups": count(progress.groups),
        "Held": count(progress.held),
    }
    return join([element("p", lead + earlier * (before > 0), class_="lead"), tiles(figures)])


def _records(run: StreamRun) -> Markup:
    intake, progress = run.outcome.intake, run.outcome.progress
    fates = [
        ["Records read", count(progress.records)],
        ["Broken lines among them", count(intake.broken.cells)],
        *[[why.capitalize(), count(number)] for why, number in intake.left_out.items()],
        ["Held, not released", count(progress.held)],
        ["Rows released", count(progress.rows)],
        ["Windows without a row", count(progress.vacant)],
    ]
    cells = [
        [name, *(count(number) for number in (each.cells, each.missing.cells, each.failed.cells, each.outside.cells))]
        for name, each in intake.columns.items()
    ]
    header = ["Column", "Cells", "Missing", "Not readable", "Out of bounds"]
    return join([grid("Records", [], fates), grid("Cells by column", header, cells) if cells else Markup()])


def _over_time(run: StreamRun, spans: Sequence[Span]) -> Markup:
    times = [spans[0].start, *(span.end for span in spans)]
    label = f"Records that came and rows that left in a second, in {len(spans)} spans of the run."
    came, left = ([each / span.seconds for each, span in zip(counts, spans, strict=True)] for counts in _counts(spans))
    pictures = [figure("Records and rows in a second", over_time(times, came, left, "per second", label))]
    means = [span for span in spans if span.records and span.rows]
    name = next(iter(run.diary.columns), None)
    if name is not None and not run.categories and len(means) > 1:
        times = [means[0].start, *(span.end for span in means)]
        true, told = [span.came / span.records for span in means], [span.left / span.rows for span in means]
        label = f"Means of {name} in {len(means)} spans of the run, of records that came and of rows that left."
        pictures.append(figure(f"Mean {name}", over_time(times, true, told, f"mean {name}", label, zero=False)))
    rows = [
        [f"{number}", count(span.records), count(span.rows), count(span.groups), duration_words(span.seconds)]
        for number, span in enumerate(spans, 1)
    ]
    numbers = grid("Spans of the run", ["", "Records", "Rows", "Groups", "Lasted"], rows)
    lead = "A span ends when a window leaves; where there are many, neighbours are taken together."
    return join([element("p", lead), _keys(), element("div", *pictures, class_="pictures"), _folded(numbers)])


def _counts(spans: Sequence[Span]) -> tuple[list[int], list[int]]:
    return [span.records for span in spans], [span.rows for span in spans]


def _sizes_and_delays(diary: Diary) -> Markup:
    pictures = []
    if diary.sizes:
        pictures.append(figure("Sizes of groups", group_sizes(diary.sizes)))
    if diary.waits.seconds:
        longest = element("p", f"The longest wait was {duration_words(diary.waits.longest)}. {WAITED}", class_="note")
        pictures.append(figure("How long records waited", waits(diary.waits.seconds), longest))
    return element("div", *pictures, class_="pictures")


def _lost(run: StreamRun) -> Markup:
    shown = {name: pair for name, pair in run.diary.columns.items() if all(pair.numbers)}
    if not shown:
        return element("p", NOT_COMPARED if not run.diary.columns else "Nothing left in this run.")
    rows = []
    for name, pair in shown.items():
        (mean, told), (spread, noisy) = pair.means, pair.spreads
        common = percent(pair.in_common)
        if run.categories:
            rows.append([name, *map(count, pair.numbers), "", "", common])
        else:
            rows.append(
                [name, *map(count, pair.numbers), f"{mean:.5g} ± {spread:.4g}", f"{told:.5g} ± {noisy:.4g}", common]
            )
    header = ["Column", "Records", "Rows", "Mean ± deviation of records", "Of rows", "In common"]
    pictures = [figure(name, _shape_picture(name, pair, run.categories)) for name, pair in shown.items()]
    lead = (
        "Records as the publisher took them: clamped to their bounds, with the public default in place of what could "
        "not be read. Held records are among them. In common is the share of both histograms that overlaps."
    )
    return join(
        [element("p", lead), _keys(), element("div", *pictures, class_="pictures"), grid("Values", header, rows)]
    )


def _shape_picture(name: str, pair: PairedHistogram, categories: Sequence[str]) -> Markup:
    came, left = pair.counts
    if categories:
        size = len(categories)
        return charts.categories(Histogram(name, tuple(categories), came[:size], left[:size]))
    step = 4  # fewer bars than bins, so that each can be seen
    edges = pair.edges[::step]
    coarse = [side.reshape(-1, step).sum(axis=1) for side in (came, left)]
    labels = tuple(f"{low:.6g}" for low in edges[:-1])
    return charts.spans(Histogram(name, labels, coarse[0], coarse[1], edges), dates=False)


def _charged(run: StreamRun) -> Markup:
    cost = pledge(run.outcome.card)
    if run.ledger is None:
        return join([element("p", f"The promise: {cost}."), element("p", NO_LEDGER)])
    ledger = run.ledger
    rows = [["This stream", cost], ["Budget", f"{ledger.budget.total}"], ["Spent by all", f"{ledger.spent}"]]
    rows.append(["Left", f"{ledger.left}"])
    lead = "The whole stream was charged once, before its first noise was drawn; runs that go on cost nothing more."
    return join([element("p", lead), grid("The ledger after this run", [], rows, words=True)])


def _keys() -> Markup:
    keys = (element("span", word, class_=f"key {kind}") for word, kind in zip(KEY, ("before", "after"), strict=True))
    return element("p", *keys, class_="keys")


def _folded(numbers: Markup) -> Markup:
    return fold("Numbers", numbers, class_="numbers")
