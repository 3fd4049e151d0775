"""How a stream is seen while it runs and when it ends: pages of numbers, and the steward's report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.plugin_options import given
from sfumato.cli.terminal import single_line
from sfumato.errors import InputError, ParameterError

if TYPE_CHECKING:
    from sfumato.stream.operate.diary import Diary
    from sfumato.stream.runtime.hooks import Hooks
    from sfumato.stream.runtime.job import Outcome
    from sfumato.stream.setup import StreamSetup


@Parameter(name="*", group="Operation")
@dataclass(frozen=True, kw_only=True)
class OperationOptions:
    """What is seen of a stream while it runs.

    Attributes:
        report: Where the steward's HTML report about this run goes when the input ends or the stream is stopped; do not
            publish it.
        metrics: Where a page with public numbers for Prometheus is, as PORT or HOST:PORT; only this machine can read it
            unless a host is named.
        steward_metrics: Socket that only its owner can open, with numbers computed from the records; do not publish
            them.
    """

    report: Annotated[Path | None, Parameter(metavar="FILE")] = None
    metrics: Annotated[str | None, Parameter(metavar="PORT")] = None
    steward_metrics: Annotated[Path | None, Parameter(metavar="SOCKET")] = None

    def refuse_on_spark(self) -> None:
        """Refuse what is about one process, where many work."""
        unused = next(iter(given(self, "")), None)
        if unused is not None:
            raise ParameterError(f"--{unused.replace('_', '-')} is about one process; leave --engine spark out")

    @contextmanager
    def open(self, setup: StreamSetup, hooks: Hooks, ledger: Path | str | None) -> Iterator[Operator]:
        """Yield the operator of a stream; nothing is read or charged before its pages can be opened and drawn."""
        numbers = None
        if self.metrics is not None or self.steward_metrics is not None:
            from sfumato.stream.operate.numbers import StreamNumbers

            numbers = StreamNumbers(setup)
            hooks = numbers.hooks(hooks)
        diary = None
        if self.report is not None:
            from sfumato.report.charts.svg import refuse_without_matplotlib
            from sfumato.stream.operate.diary import Diary

            refuse_without_matplotlib()
            diary = Diary.of(setup)
            hooks = hooks.with_watcher(diary.watch)
        operator = Operator(setup, hooks, diary, self.report, ledger)
        if numbers is None:
            yield operator
            return
        from sfumato.stream.operate.server import serve_numbers

        with serve_numbers(numbers, self.metrics, self.steward_metrics):
            yield operator


@dataclass(frozen=True, eq=False)
class Operator:
    """Who watches a stream: the hooks to run it with, and the report to write when it has ended or was stopped."""

    setup: StreamSetup
    hooks: Hooks
    diary: Diary | None = None
    report: Path | None = None
    ledger: Path | str | None = None

    def write_report(self, outcome: Outcome) -> None:
        """Write the steward's report, which only its owner may read, if one was asked for."""
        if self.diary is None or self.report is None:
            return
        from sfumato.core.files import write_durably
        from sfumato.dp.ledger.ledger import Ledger
        from sfumato.report.chapters.stream_run import StreamRun

        account = None if self.ledger is None else Ledger.open(self.ledger)
        run = StreamRun(outcome, self.diary, getattr(self.setup.screen, "categories", ()), account)
        try:
            write_durably(self.report, run.page.encode())
        except OSError as error:
            raise InputError(f"report '{self.report}' cannot be written: {error.strerror}") from error
        sys.stderr.write(f"sfumato: steward's report (do not publish): {single_line(str(self.report))}\n")
