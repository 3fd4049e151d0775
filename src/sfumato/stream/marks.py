"""What the options of a stream say about a record besides its value: who it is of, when it was, when it comes.

A record's own time is event time; the moment at which it is read is its arrival, a public clock that no record moves
(Akidau et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from sfumato.errors import ParameterError


@dataclass(frozen=True)
class RecordMarks:
    """Persons, times and windows in time, as far as the options speak of them; names are those of the options.

    >>> marks = RecordMarks(every="10s", from_="2016-09-01")
    >>> marks.arrives, marks.lateness, marks.edges
    (True, 0.0, (1472688000.0, 10.0, None))
    """

    person: str | None = None
    per_person: int = 1
    horizon: str | None = None
    time: str | None = None
    late: str | None = None
    every: str | None = None
    from_: str | None = None
    until: str | None = None
    zone: str | None = None

    @property
    def timed(self) -> bool:
        """Whether a record has a time."""
        return self.every is not None or self.horizon is not None

    @property
    def arrives(self) -> bool:
        """Whether the moment counts at which a record is read."""
        return self.timed and (self.time is None or self.late is not None)

    @property
    def lateness(self) -> float | None:
        """How many seconds behind the end of its window a record may arrive; None where none arrives."""
        from sfumato.stream.screens.times import duration

        if not self.arrives:
            return None
        return 0.0 if self.late is None else duration(self.late, zero=True)

    @property
    def edges(self) -> tuple[float, float, float | None]:
        """Where windows begin, how long they last and where they end, in seconds."""
        from sfumato.stream.screens.times import duration

        until = None if self.until is None else _moment("until", self.until, self.zone)
        return _moment("from", self.from_ or "", self.zone), duration(self.every or ""), until

    def refuse_any(self) -> None:
        """Refuse persons and a clock where only plain records are taken."""
        if self != PLAIN:
            raise ParameterError("--person and --every go with one column of numbers; publish the others without them")

    def refuse_contradictions(self, columns: Collection[str]) -> None:
        """Refuse options that say nothing without others, and marks that are published themselves."""
        if self.person is None and (self.horizon is not None or self.per_person != 1):
            raise ParameterError("--per-person and --horizon speak of persons; name their column with --person")
        if self.time is not None and not self.timed:
            raise ParameterError("--time goes with --every or --horizon; leave it out")
        for flag, column in (("person", self.person), ("time", self.time)):
            if column in columns:
                raise ParameterError(
                    f"--{flag} and --column are both '{column}': a value that is hidden cannot decide which records "
                    f"count; name another column for --{flag}"
                )
        self._refuse_edges()

    def _refuse_edges(self) -> None:
        edge = next((name for name in ("from_", "until") if getattr(self, name) is not None), None)
        if self.every is None and edge is not None:
            raise ParameterError(f"--{edge.rstrip('_')} is an edge of windows in time; give --every LENGTH too")
        if self.late is not None and self.time is None:
            raise ParameterError("--late compares a record's own time with its arrival; name that time with --time")
        if self.every is None:
            return
        if self.zone is not None and self.arrives:
            raise ParameterError(
                "--zone with --every is for records that do not arrive: a clock that is put back would end a window "
                "twice; leave it out"
            )
        if self.from_ is None:
            raise ParameterError("--every needs --from START, where the first window begins, which is public")
        if self.until is None and not self.arrives:
            raise ParameterError(
                "--every with --time needs --until END, where the last window ends, or --late where records arrive"
            )

    def refuse_still(self) -> None:
        """Refuse records that lie still where the moment of reading counts."""
        if not self.arrives:
            return
        if self.late is not None:
            raise ParameterError("--late is for records that arrive, and those of a file do not; leave it out")
        flag = "every" if self.every is not None else "horizon"
        raise ParameterError(f"--{flag} needs --time COLUMN here: the records of a file do not arrive")

    def refuse_endless(self) -> None:
        """Refuse a feed without an end where all windows wait for it."""
        if self.every is not None and not self.arrives:
            raise ParameterError(
                "--follow has no end, and windows with --time wait for it; say with --late when they end"
            )


PLAIN = RecordMarks()


def _moment(flag: str, text: str, zone: str | None) -> float:
    from sfumato.stream.screens.times import TimeForm

    found = float(TimeForm(zone=zone).seconds([text])[0])
    if math.isnan(found):
        raise ParameterError(f"--{flag} is '{text}'; give a date, a time in ISO 8601, or seconds since 1970")
    return found
