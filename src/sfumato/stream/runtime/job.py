"""A whole stream as one thing to run: from an input to an output, with its card, and from its checkpoint if it has one.

The card names what left and nothing else: rows, groups and the file's hash (Dwork & Roth 2014, section 2, on why a
count of the records themselves would need noise).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sfumato.errors import InputError, ParameterError
from sfumato.release import Card
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.outlet import STDOUT
from sfumato.stream.connectors.file.sink import Sink
from sfumato.stream.runtime.checkpoint import FILE, Store
from sfumato.stream.runtime.journal import Journal
from sfumato.stream.runtime.live import Progress
from sfumato.stream.runtime.runner import Hooks, Pace, Runner
from sfumato.stream.screens.base import Screen


@dataclass(frozen=True)
class Outcome:
    """What came of a stream: its card, how far it came, and whether its input ended."""

    card: Card
    progress: Progress
    complete: bool


@dataclass(frozen=True, eq=False)
class Job:
    r"""One stream: where it comes from, where it goes, through which publisher, and where its checkpoint lies.

    The screen says which columns are read and released, and what becomes of bad records.

    >>> import tempfile
    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\nx\n")
    >>> screen = NumberScreen({"hours": (0, 10)})
    >>> outcome = Job(folder / "in.csv", folder / "out.csv", NaiveLaplace(bounds=(0, 10)), screen).run()
    >>> outcome.progress.rows, outcome.card.released.file, (folder / "out.csv.card.json").exists()
    (3, 'out.csv', True)
    """

    source: Path
    target: Path
    publisher: Publisher
    screen: Screen
    checkpoint: Path | None = None
    card: Path | None = None
    follow: bool = False
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], Published] | None = None

    def __post_init__(self) -> None:
        promised = "epsilon" in self.promise.guarantee.parameters
        if self.screen.on_bad.file is not None and promised:
            raise ParameterError(
                f"{self.publisher.name} maps bad records to a public value, since leaving one out would tell of it; "
                "give --on-bad clamp or default"
            )

    @property
    def promise(self) -> Card:
        """The card before a row has left."""
        return self.publisher.card(*self.screen.released)

    @property
    def card_file(self) -> Path:
        """Where the card goes."""
        return self.card or self.target.with_name(f"{self.target.name}.card.json")

    def run(self, hooks: Hooks | None = None) -> Outcome:
        """Publish until the input ends or a hook says stop; what has left by then has its card."""
        self._refuse_card()
        with nullcontext() if self.checkpoint is None else Store.open(self.checkpoint) as store:
            feed = Feed(self.source, self.screen.wanted, follow=self.follow)
            sink = Sink(self.target, self.publisher, self.screen.released)
            journal = Journal(self.publisher, sink, store, self._question(), self.screen.on_bad.file)
            runner = Runner(feed, self.screen, self.publisher, journal, self.pace, hooks or Hooks(), self.clock)
            try:
                complete = runner.run()
            except InputError as error:
                raise InputError(f"{error}{self._left_behind(runner.progress)}") from error
            return Outcome(self._write_card(runner.progress), runner.progress, complete)

    def _refuse_card(self) -> None:
        resumed = self.checkpoint is not None and (self.checkpoint / FILE).exists()
        if self.card_file.exists() and not resumed:
            raise InputError(f"card '{self.card_file}' exists; remove it or choose another name")
        if not self.card_file.parent.is_dir():
            raise InputError(f"card '{self.card_file}' cannot be written: there is no folder '{self.card_file.parent}'")

    def _question(self) -> dict[str, Any]:
        """Return what must be the same for a checkpoint to be gone on with."""
        bad = self.screen.on_bad
        return {
            "publisher": self.publisher.name,
            "columns": self.screen.wanted.names,
            "output": str(self.target if self.target == STDOUT else self.target.resolve()),
            **self.publisher.parameters(),
            "on-bad": bad.action,
            "quarantine": None if bad.file is None else str(bad.file.resolve()),
        }

    def _left_behind(self, progress: Progress) -> str:
        """Return what an error must add about records that were held when it came."""
        if self.checkpoint is not None or not progress.held:
            return ""
        self._write_card(progress)
        return f"; {progress.held} records were held and not released"

    def _write_card(self, progress: Progress) -> Card:
        card = self.promise
        released = msgspec.structs.replace(card.released, rows=progress.rows, classes=progress.groups)
        card = msgspec.structs.replace(card, released=released)
        if self.target.is_file():
            with self.target.open("rb") as file:
                card = card.for_file(self.target.name, hashlib.file_digest(file, "sha256").hexdigest())
        fresh = self.card_file.with_name(f".{os.getpid()}.partial-{self.card_file.name}")
        try:
            fresh.write_text(card.to_json(), encoding="utf-8")
            fresh.replace(self.card_file)
        except OSError as error:
            raise InputError(f"card '{self.card_file}' cannot be written: {error.strerror}") from error
        return card
