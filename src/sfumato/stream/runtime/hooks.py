"""Who is told what while a stream runs: how far it is on a terminal's line, where a pipe resumes, and whether to stop.

The line is written over in place a few times a second where somebody looks: records come, groups left, records held, ε.
It is the steward's, since some promises hide how many records come, and it is drawn on a terminal alone. A signal only
leaves a mark (Stevens & Rago 2013, section 10), so that a batch is whole.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from sfumato.stream.base import Numbers, Published
    from sfumato.stream.intake import Intake
    from sfumato.stream.setup import StreamSetup

REFRESH = 0.25


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream has come; `vacant` windows are those of the groups that have no row.

    >>> StreamProgress(records=10, rows=8, groups=2, held=2).held
    2
    """

    records: int
    rows: int
    groups: int
    held: int
    vacant: int = 0


@dataclass(frozen=True)
class Pace:
    """How often a checkpoint is written: after so many records, or after so many seconds if any came.

    >>> Pace().seconds
    1.0
    """

    records: int = 1 << 18
    seconds: float = 1.0


def _nothing(_: object) -> None:
    """Nobody listens."""


def _ignore(came: object, left: object, held: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Hooks:
    """Who is told what: before the first noise is drawn, where a pipe resumes, how far it is, and whether to stop.

    `see` is given the names of the feed's columns when it begins. For the steward alone are `tell`, `keep` (what became
    of the records, at every checkpoint) and `watch` (the records that a publisher takes, what leaves, and how many it
    holds then).

    >>> Hooks().stop()
    False
    """

    begin: Callable[[str], object] = _nothing
    see: Callable[[tuple[str, ...]], object] = _nothing
    say: Callable[[str], object] = _nothing
    tell: Callable[[str], object] = _nothing
    listen: Callable[[StreamProgress], object] = _nothing
    keep: Callable[[Intake], object] = _nothing
    watch: Callable[[Numbers | None, Published, int], object] = _ignore
    stop: Callable[[], bool] = bool

    def with_charge(self, charge: Callable[[str], object]) -> Hooks:
        """Return hooks that also charge the stream of an id, before anything else begins.

        >>> Hooks().with_charge(print).begin("0123")
        0123
        """

        def begin(stream: str) -> None:
            charge(stream)
            self.begin(stream)

        return replace(self, begin=begin)

    def with_listener(self, listener: Callable[[StreamProgress], object]) -> Hooks:
        """Return hooks that also tell a listener how far the stream is.

        >>> Hooks().with_listener(print).listen(StreamProgress(1, 0, 0, 1))
        StreamProgress(records=1, rows=0, groups=0, held=1, vacant=0)
        """

        def listen(progress: StreamProgress) -> None:
            self.listen(progress)
            listener(progress)

        return replace(self, listen=listen)

    def with_watcher(self, watcher: Callable[[Numbers | None, Published, int], object]) -> Hooks:
        """Return hooks that also show somebody what comes and what leaves.

        >>> Hooks().with_watcher(print).watch(None, "nothing", 0)
        None nothing 0
        """

        def watch(came: Numbers | None, left: Published, held: int) -> None:
            self.watch(came, left, held)
            watcher(came, left, held)

        return replace(self, watch=watch)

    def with_keeper(self, keeper: Callable[[Intake], object]) -> Hooks:
        """Return hooks that also give somebody what became of the records, at every checkpoint.

        >>> Hooks().with_keeper(print).keep("an intake")
        an intake
        """

        def keep(intake: Intake) -> None:
            self.keep(intake)
            keeper(intake)

        return replace(self, keep=keep)


class Live:
    """Draws the line; `epsilon` is shown where the publisher promises one.

    >>> import io
    >>> line = Live(1.0, io.StringIO())
    >>> line(StreamProgress(records=10, rows=8, groups=2, held=2))
    >>> line.close()
    """

    def __init__(self, epsilon: float | None, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._promise = "" if epsilon is None else f"  ε {epsilon:g}"
        self._start: tuple[float, int] | None = None
        self._last, self._width = 0.0, 0

    def __call__(self, progress: StreamProgress) -> None:
        """Show how far the stream has come, unless the line is a moment old."""
        now = time.monotonic()
        if not self._shown or now - self._last < REFRESH:
            return
        if self._start is None:
            self._start = now, progress.records
        since, before = self._start
        rate = (progress.records - before) / (now - since) if now > since else 0.0
        self._last = now
        self._draw(
            f"{progress.records:,} records  {rate:,.0f}/s  {progress.groups:,} groups  {progress.held:,} held"
            f"{self._promise}"
        )

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._draw("")
            self._stream.write("\r")
            self._stream.flush()

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)


@contextmanager
def terminal_hooks(epsilon: float | None, *, resumes: bool, setup: StreamSetup | None = None) -> Iterator[Hooks]:
    """Yield the hooks of a run at a terminal: the live line, and Ctrl-C or a polite kill that stop the stream.

    `resumes` says that the run has a checkpoint, so that whoever feeds a pipe is told where to go on. What a `setup`
    has to say is said when the stream begins.

    >>> with terminal_hooks(1.0, resumes=False) as hooks:
    ...     hooks.stop()
    False
    """

    def write(sentence: str) -> None:
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()

    def open_stream(header: tuple[str, ...]) -> None:
        asked = None if setup is None else setup.ask_person(header)
        for sentence in ([] if setup is None else setup.opening) + ([] if asked is None else [asked]):
            write(sentence)

    def say(sentence: str) -> None:
        if resumes:
            write(sentence)

    def tell(sentence: str) -> None:
        write(f"sfumato: {sentence} (for the steward)")

    live = Live(epsilon)
    try:
        with stop_signals() as came:
            yield Hooks(see=open_stream, say=say, tell=tell, listen=live, stop=lambda: bool(came))
    finally:
        live.close()


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Yield a list that is no longer empty once a signal came that asks to stop; a second one stops at once.

    >>> with stop_signals() as came:
    ...     came
    []
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if came:
            signal.default_int_handler(number, frame)
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
