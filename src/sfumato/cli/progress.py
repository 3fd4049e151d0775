"""A progress bar on a terminal's error stream, silent everywhere else, and Ctrl-C that was not in vain."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from sfumato.core.progress import listening

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

INTERRUPTED = 130


class Steps:
    """Announces what is being done: call it for the next step, `share` for how far a step has come.

    >>> step = Steps(None, None)
    >>> step("reading")
    """

    def __init__(self, bar: Progress | None, task: TaskID | None) -> None:
        self._bar, self._task, self._done, self._label = bar, task, -1, ""

    def __call__(self, label: str) -> None:
        self._done, self._label = self._done + 1, label
        self._show(0.0, "")

    def share(self, share: float, note: str) -> None:
        """Show that a share of the present step is done, with a few words about it."""
        self._show(share, note)

    def _show(self, share: float, note: str) -> None:
        if self._bar is not None and self._task is not None:
            text = f"{self._label} {note}".strip()
            self._bar.update(self._task, description=text, completed=self._done + share)


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Yield a function that announces the next of `total` steps and hears what algorithms tell; the bar vanishes.

    >>> with steps(2) as step:
    ...     step("reading")
    """
    if not sys.stderr.isatty():
        yield Steps(None, None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<32}"), BarColumn(), TimeElapsedColumn())
    # The stream of this moment: the bar goes on while a command runs others and captures what they print.
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        shown = Steps(bar, bar.add_task("starting", total=total))
        with listening(shown.share):
            yield shown


class Interrupts:
    """Remembers that Ctrl-C came, for commands that keep the best they had found by then.

    >>> with Interrupts() as interrupts:
    ...     pass
    >>> interrupts.happened
    False
    """

    def __init__(self) -> None:
        self.happened = False

    def __enter__(self) -> Self:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.happened = True
        signal.default_int_handler(number, frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._before)
