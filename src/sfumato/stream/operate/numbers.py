"""The numbers of a running stream: those that anybody may see, and those that are the steward's alone.

A number is public only if the release or its promise tells it already; everything else that can be measured of a
program is a channel (Haeberlen, Pierce & Narayan 2011). The form is that of Prometheus (Volz & Rabenstein 2015).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sfumato.errors import MissingExtraError
from sfumato.promise import Neighbours
from sfumato.stream.intake import Intake
from sfumato.stream.runtime.hooks import Hooks, StreamProgress
from sfumato.stream.setup import StreamSetup
from sfumato.version import __version__

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import CollectorRegistry

SECRET = "Do not publish. "  # noqa: S105 - a warning
NO_METRICS = "metrics need prometheus-client; pip install 'sfumato[metrics]'"


class Page(Protocol):
    """Anything that tells its numbers when it is asked."""

    def collect(self) -> Iterator[Metric]: ...


@dataclass(eq=False)
class StreamNumbers:
    """How far a stream is, kept from what its hooks are told; `public` and `steward` are the two pages.

    >>> from sfumato.stream import build
    >>> numbers = StreamNumbers(build("rank", ["hours"], bounds=(0, 100), delay=20))
    >>> numbers.listen(StreamProgress(records=50, rows=40, groups=2, held=10))
    >>> [metric.name for metric in numbers.public.collect()][2:]
    ['sfumato_stream_epsilon', 'sfumato_stream_rows', 'sfumato_stream_groups', 'sfumato_stream_records']
    """

    setup: StreamSetup
    progress: StreamProgress = field(default=StreamProgress(0, 0, 0, 0), init=False)
    intake: Intake = field(default=Intake(), init=False)
    last_record: float | None = field(default=None, init=False)
    last_checkpoint: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.promise, self.guarantee = self.setup.promise, self.setup.card.guarantee  # a page never asks the publisher
        self.publisher = self.setup.card.algorithm

    def hooks(self, before: Hooks) -> Hooks:
        """Return hooks that also keep these numbers."""
        return before.with_listener(self.listen).with_keeper(self.keep)

    def listen(self, progress: StreamProgress) -> None:
        """Take how far the stream is."""
        if progress.records > self.progress.records:
            self.last_record = time.time()
        self.progress = progress

    def keep(self, intake: Intake) -> None:
        """Take what became of the records at a checkpoint."""
        self.intake, self.last_checkpoint = intake, time.time()

    @property
    def public(self) -> PublicPage:
        """The page that anybody may see."""
        return PublicPage(self)

    @property
    def steward(self) -> StewardPage:
        """The page that only the steward may see."""
        return StewardPage(self)


@dataclass(frozen=True)
class PublicPage:
    """What the release tells already: its promise, rows, groups and the end of its last window by the clock.

    How many records came is told only where the promise itself says that this is public. Under a promise that hides
    presence every number here is a function of the clock, of the options and of rows that have left.
    """

    numbers: StreamNumbers

    @property
    def tells_records(self) -> bool:
        """Whether the promise says that how many records come, and when, is public."""
        promise = self.numbers.promise
        return promise is not None and promise.metric.neighbours is Neighbours.VALUE

    def collect(self) -> Iterator[Metric]:
        """Yield the public numbers."""
        progress = self.numbers.progress
        yield _info("sfumato_build", "The version of sfumato.", {"version": __version__})
        yield from self._promise()
        yield _counter("sfumato_stream_rows", "Rows that were released.", progress.rows)
        yield _counter("sfumato_stream_groups", "Groups or windows that were released.", progress.groups)
        yield from self._windows(progress)
        if self.tells_records:
            yield _counter(
                "sfumato_stream_records", "Records that came; the promise does not hide them.", progress.records
            )

    def _promise(self) -> Iterator[Metric]:
        promise, guarantee = self.numbers.promise, self.numbers.guarantee
        told = {
            "publisher": self.numbers.publisher,
            "model": guarantee.model,
            "unit": guarantee.unit,
            "neighbours": guarantee.neighbours or "",
        }
        yield _info("sfumato_stream", "What is promised to whom, as the card says.", told)
        if promise is not None:
            words = "Privacy loss for one unit, in each horizon if it has one, as the card says and in its terms."
            for name, value in promise.parameters.items():
                yield _gauge(f"sfumato_stream_{name}", words, value)

    def _windows(self, progress: StreamProgress) -> Iterator[Metric]:
        """Yield what there is of windows that end by the clock."""
        clock = self.numbers.setup.clock
        if clock is None:
            return
        windows = clock.windows
        end = windows.start + windows.every * progress.groups
        yield _counter("sfumato_stream_windows_without_rows", "Windows whose noisy count was 0.", progress.vacant)
        yield _gauge("sfumato_stream_last_window_end_timestamp_seconds", "Where the last released window ends.", end)


@dataclass(frozen=True)
class StewardPage:
    """What is computed from the records themselves, or tells of them: never public."""

    numbers: StreamNumbers

    def collect(self) -> Iterator[Metric]:
        """Yield the steward's numbers."""
        numbers, progress, intake = self.numbers, self.numbers.progress, self.numbers.intake
        yield _counter("sfumato_steward_records", f"{SECRET}Records that came.", progress.records)
        yield _gauge("sfumato_steward_held_records", f"{SECRET}Records that have not left.", progress.held)
        yield _counter("sfumato_steward_broken_records", f"{SECRET}Records without cells.", intake.broken.cells)
        yield self._cells(intake)
        yield self._left_out(intake)
        yield from _moment("last_record", "When records came last.", numbers.last_record)
        yield from _moment("last_checkpoint", "When a checkpoint was last begun.", numbers.last_checkpoint)

    def _cells(self, intake: Intake) -> Metric:
        from prometheus_client.metrics_core import CounterMetricFamily

        words = f"{SECRET}Cells by column: all, and those that are missing, cannot be read or are out of bounds."
        family = CounterMetricFamily("sfumato_steward_cells", words, labels=("column", "sort"))
        for name, count in intake.columns.items():
            sorts = {"missing": count.missing, "failed": count.failed, "outside": count.outside}
            family.add_metric([name, "all"], count.cells)
            for sort, found in sorts.items():
                family.add_metric([name, sort], found.cells)
        return family

    def _left_out(self, intake: Intake) -> Metric:
        from prometheus_client.metrics_core import CounterMetricFamily

        family = CounterMetricFamily(
            "sfumato_steward_left_out", f"{SECRET}What was left out, and why.", labels=("why",)
        )
        for why, count in intake.left_out.items():
            family.add_metric([why], count)
        return family


def registry_of(pages: Sequence[Page], *, process: bool = False) -> CollectorRegistry:
    """Return a registry of these pages alone; `process` adds memory and processor time, which records drive.

    >>> from sfumato.stream import build
    >>> from prometheus_client import generate_latest
    >>> page = StreamNumbers(build("laplace", ["hours"], bounds=(0, 100))).public
    >>> generate_latest(registry_of([page])).decode().splitlines()[2][:19]
    'sfumato_build_info{'
    """
    try:
        from prometheus_client import ProcessCollector
        from prometheus_client.registry import CollectorRegistry
    except ImportError as error:
        raise MissingExtraError(NO_METRICS) from error
    registry = CollectorRegistry(auto_describe=False)
    for page in pages:
        registry.register(page)
    if process:
        ProcessCollector(namespace="sfumato_steward", registry=registry)
    return registry


def _moment(name: str, words: str, seconds: float | None) -> Iterator[Metric]:
    if seconds is not None:
        yield _gauge(f"sfumato_steward_{name}_timestamp_seconds", SECRET + words, seconds)


def _gauge(name: str, words: str, value: float) -> Metric:
    from prometheus_client.metrics_core import GaugeMetricFamily

    return GaugeMetricFamily(name, words, value)


def _counter(name: str, words: str, value: float) -> Metric:
    from prometheus_client.metrics_core import CounterMetricFamily

    return CounterMetricFamily(name, words, value)


def _info(name: str, words: str, value: dict[str, str]) -> Metric:
    from prometheus_client.metrics_core import InfoMetricFamily

    return InfoMetricFamily(name, words, value)
