"""How a stream is to run: a publisher and a screen made of declared columns and options, or refused in one sentence.

Options have their command-line names, so that Python and the command line mean the same and are refused the same.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sfumato import plugins
from sfumato.errors import ParameterError
from sfumato.promise import Promise
from sfumato.release import Card
from sfumato.schema import Attribute, Reading, Schema
from sfumato.stream.base import ColumnFactory, PublicBounds, Published, Publisher
from sfumato.stream.intake import SHARE
from sfumato.stream.loss import ask_person, loss_words
from sfumato.stream.marks import PLAIN, RecordMarks
from sfumato.stream.publishers.auto import PublisherChoice
from sfumato.stream.runtime.batch import CellMarks
from sfumato.stream.screens.base import CategoryScreen, NumberScreen, OnBad, Screen

if TYPE_CHECKING:
    from sfumato.stream.screens.times import TimeForm
    from sfumato.stream.timed import TimedWindows


@dataclass(frozen=True)
class StreamSetup:
    """A publisher, what stands between it and the feed, and the clock that ends its windows if one does.

    `marks` is what was said about persons and times, by which a feed is refused that does not fit; `notes` are public
    sentences about how the publisher was chosen; `events` says that single records are meant to be protected.

    >>> build("laplace", ["hours"], bounds=(0, 100)).promise.cost.epsilon
    Decimal('1')
    """

    publisher: Publisher
    screen: Screen
    clock: WallClock | None = None
    marks: RecordMarks = PLAIN
    notes: tuple[str, ...] = ()
    events: bool = False
    reading: Reading = Reading()  # noqa: RUF009 - frozen
    max_failed: float = SHARE

    @property
    def card(self) -> Card:
        """The card before a row has left."""
        card = self.publisher.card(*self.screen.released)
        return msgspec.structs.replace(card, assumptions=[*self.notes, *card.assumptions])

    @property
    def promise(self) -> Promise | None:
        """What is promised under an ε, if anything is."""
        return self.publisher.promise()

    @property
    def opening(self) -> list[str]:
        """What is said when the stream begins: how the publisher was chosen, and what one source loses in all."""
        return [*self.notes, *loss_words(self.promise)]

    def ask_person(self, header: Sequence[str]) -> str | None:
        """Return a question about a column that may tell persons apart, by its name alone; None where none may."""
        return None if self.events else ask_person(self.promise, header, self.screen.wanted.names)

    def refuse_feed(self, *, still: bool, endless: bool) -> None:
        """Refuse records that lie still where their arrival counts, and a feed without an end where that is awaited."""
        if still:
            self.marks.refuse_still()
        if endless:
            self.marks.refuse_endless()


@dataclass(frozen=True, eq=False)
class WallClock:
    """The clock on the wall before windows in time: a call ends those that are over, and `due` says whether one is.

    >>> from sfumato.stream import ClockWindows, TimedWindows
    >>> WallClock(TimedWindows(ClockWindows(bounds=(0, 1)), start=0.0, every=10.0, until=20.0, late=0.0)).due
    True
    """

    windows: TimedWindows

    @property
    def due(self) -> bool:
        return self.windows.over_at(time.time()) > self.windows.ended

    def __call__(self) -> Published:
        return self.windows.advance(time.time())


def build(
    publisher: str = "auto",
    columns: Sequence[str] = (),
    *,
    schema: Schema | str | Path | None = None,
    on_bad: OnBad | str = "clamp",
    events: bool = False,
    reading: Reading | None = None,
    **options: Any,
) -> StreamSetup:
    """Return how a stream of columns is published: by a publisher's name and options as at the command line.

    Options are those of the publisher (`epsilon`, `delay`, …) and of every stream: `bounds`, `quasi`, `person`,
    `per_person`, `horizon`, `time`, `late`, `every`, `from_`, `until`, `last`. `events` says that single records are
    protected though a column may tell persons apart; `reading` says how the feed is written where the schema does not.

    >>> setup = build("rank", ["hours"], bounds=(0, 100), delay=20)
    >>> setup.publisher.window, setup.screen.released
    (20, ('hours',))
    >>> build("rank", ["hours"], bounds=(0, 100), beta=3)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --beta is not an option of rank, but of castle, doca
    """
    given = {name: value for name, value in options.items() if value is not None and value is not False and value != ()}
    kind = _find(publisher)
    _refuse_untaken(kind, {**({} if schema is None else {"schema": schema}), **given})
    if events and "person" in given:
        raise ParameterError("--events protects single records and --person persons; give one of the two")
    bad = OnBad.read(on_bad) if isinstance(on_bad, str) else on_bad
    declared = Schema() if schema is None else _read_schema(schema)
    written = (reading or Reading()).or_else(declared.reading)
    share = SHARE if declared.failed is None else declared.failed
    if written.sheet is not None:
        raise ParameterError("--sheet is of workbooks, which are no feeds; write the sheet as CSV or Parquet")
    if kind.takes_tuples:
        tuples = None if schema is None else declared.read_as(written)
        return replace(_for_tuples(kind, tuples, columns, given, bad), reading=written, max_failed=share)
    taken = {name: given.pop(name) for name in RecordMarks.__dataclass_fields__ if name in given}
    if reading is not None and "time" not in taken and (reading.zone or reading.date_format):
        raise ParameterError("--zone and --date-format say how times are read; name their column with --time")
    form = _time_form(declared, taken.get("time"), written)
    marks = RecordMarks(**taken, zone=form.zone if "time" in taken else None)
    marks.refuse_contradictions(columns)
    named = {name: declared.columns.get(name) for name in columns}
    screen = _Cells(on_bad=bad, reading=written, form=form)
    return replace(_for_columns(kind, named, marks, given, screen), events=events, reading=written, max_failed=share)


def choices() -> dict[str, type[ColumnFactory]]:
    """Return what may be named as a publisher, ours and anybody's; `auto` picks one of ours.

    >>> list(choices())[-1]
    'auto'
    """
    return {**plugins.every("publishers", Publisher), PublisherChoice.name: PublisherChoice}


def _find(name: str) -> type[ColumnFactory]:
    return PublisherChoice if name == PublisherChoice.name else plugins.find("publishers", name, Publisher)


def _option_names(kind: type[ColumnFactory]) -> Iterator[str]:
    yield from kind.SHARED
    yield from (option.name or parameter for parameter, option in kind.OPTIONS.items())


def _refuse_untaken(kind: type[ColumnFactory], given: Mapping[str, Any]) -> None:
    """Refuse an option that the publisher does not take, and say which ones do."""
    untaken = next((name for name in given if name not in _option_names(kind)), None)
    if untaken is None:
        return
    flag = f"--{untaken.rstrip('_').replace('_', '-')}"
    takers = ", ".join(name for name, other in choices().items() if untaken in _option_names(other))
    raise ParameterError(f"{flag} is not an option of {kind.name}" + (f", but of {takers}" if takers else ""))


@dataclass(frozen=True)
class _Cells:
    """How cells are read, and what becomes of bad ones."""

    on_bad: OnBad
    reading: Reading
    form: TimeForm

    def marks(self, attribute: Attribute | None) -> CellMarks:
        """Return how the cells of a column are written: as it declares, or as the feed is."""
        decimal, thousands = self.reading.decimal, self.reading.thousands
        missing = self.reading.missing or ()
        if attribute is not None:
            decimal, thousands = attribute.decimal or decimal, attribute.thousands or thousands
            missing = tuple(filter(None, attribute.missing)) or missing
        return CellMarks(decimal or ".", thousands, missing)


def _time_form(schema: Schema, time: str | None, reading: Reading) -> TimeForm:
    """Return how the times of a feed are written and on which clock they count, as declared."""
    from sfumato.stream.screens.times import TimeForm

    column = schema.columns.get(time or "")
    own = (None, None) if column is None else (column.format, column.zone)
    return TimeForm(own[0] or reading.date_format, own[1] or reading.zone)


def _read_schema(schema: Schema | str | Path) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.from_toml(schema)


def _for_columns(
    kind: type[ColumnFactory],
    declared: Mapping[str, Attribute | None],
    marks: RecordMarks,
    given: dict[str, Any],
    cells: _Cells,
) -> StreamSetup:
    """Return the setup for one column of numbers or categories, or for several of numbers."""
    if not declared or (len(declared) > 1 and not kind.takes_several):
        raise ParameterError(f"{kind.name} publishes one column; name it with --column")
    attribute = next(iter(declared.values()))
    worded = len(declared) == 1 and attribute is not None and attribute.categories is not None
    if attribute is not None and worded and not kind.takes_columns:
        coded = _for_categories(kind, attribute, marks, given, cells)
        if coded is not None:
            return coded
    common, last = given.pop("bounds", None), given.pop("last", None)
    if kind.takes_columns:
        return _for_statistics(kind, declared, common, last, marks, given, cells)
    bounds = {name: _declared_bounds(entry) or common for name, entry in declared.items()}
    screen = NumberScreen(bounds, cells.on_bad, {name: cells.marks(entry) for name, entry in declared.items()})
    if len(declared) == 1:
        return _for_number(kind, marks, given, screen, cells.form)
    marks.refuse_any()
    return StreamSetup(kind.for_numbers(_complete_bounds(bounds), given), screen)


def _for_categories(
    kind: type[ColumnFactory], attribute: Attribute, marks: RecordMarks, given: Mapping[str, Any], cells: _Cells
) -> StreamSetup | None:
    """Return the setup for a column of declared categories, or None where the publisher takes numbers only."""
    categories = attribute.categories or ()
    plain = {name: value for name, value in given.items() if name not in {"bins", "bounds"}}
    publisher = kind.for_categories(categories, plain)
    if publisher is None:
        return None
    marks.refuse_any()
    if len(plain) < len(given):
        raise ParameterError("--bins and --bounds are for numbers; each category has a bin of its own")
    return StreamSetup(publisher, CategoryScreen(attribute.name, categories, cells.on_bad, cells.marks(attribute)))


def _for_number(
    kind: type[ColumnFactory], marks: RecordMarks, given: Mapping[str, Any], screen: NumberScreen, form: TimeForm
) -> StreamSetup:
    """Return the setup for one column of numbers, with persons or a clock if they play a part."""
    bounds = next(iter(screen.bounds.values()))
    notes = () if marks.every is not None else kind.reasons(bounds, given)
    if marks.every is None:
        return _with_marks(kind.for_number(bounds, given), screen, marks, form, notes)
    return _with_marks(_for_clock(kind, bounds, marks, given), screen, marks, form, notes)


def _with_marks(
    publisher: Publisher, screen: Screen, marks: RecordMarks, form: TimeForm, notes: tuple[str, ...] = ()
) -> StreamSetup:
    """Return the setup of a publisher, with persons before it and a clock if they play a part."""
    from sfumato.stream.screens.times import MarkedScreen, duration
    from sfumato.stream.timed import TimedWindows
    from sfumato.stream.wrappers import CappedPersons

    if not (marks.timed or marks.person):
        return StreamSetup(publisher, screen, notes=notes)
    clock = WallClock(publisher) if isinstance(publisher, TimedWindows) and marks.arrives else None
    if marks.person is not None:
        horizon = None if marks.horizon is None else duration(marks.horizon)
        publisher = CappedPersons(publisher, marks.per_person, horizon, marks.lateness, marks.person)
    marked = MarkedScreen(screen, marks.person, marks.time, timed=marks.timed, arrives=marks.arrives, form=form)
    return StreamSetup(publisher, marked, clock, marks, notes)


def _for_statistics(
    kind: type[ColumnFactory],
    declared: Mapping[str, Attribute | None],
    common: PublicBounds | None,
    last: str | None,
    marks: RecordMarks,
    given: Mapping[str, Any],
    cells: _Cells,
) -> StreamSetup:
    """Return the setup for columns of numbers and categories together, with persons or a clock if they play a part."""
    from sfumato.stream.screens.columns import ColumnScreens
    from sfumato.stream.timed import TimedWindows

    domains: dict[str, PublicBounds | tuple[str, ...]] = {}
    for name, entry in declared.items():
        worded = None if entry is None else entry.categories
        domains[name] = worded or _complete_bounds({name: _declared_bounds(entry) or common})[0]
    marked = {name: cells.marks(entry) for name, entry in declared.items()}
    parts = tuple(
        CategoryScreen(name, domain, cells.on_bad, marked[name])
        if isinstance(domain[0], str)
        else NumberScreen({name: domain}, cells.on_bad, {name: marked[name]})
        for name, domain in domains.items()
    )
    edges = None if marks.every is None else marks.edges
    publisher = kind.for_columns(domains, given, last, None if edges is None else edges[1])
    if edges is not None:
        publisher = TimedWindows(publisher, *edges, marks.lateness, marks.zone)
    return _with_marks(publisher, ColumnScreens(parts), marks, cells.form)


def _for_clock(
    kind: type[ColumnFactory], bounds: PublicBounds | None, marks: RecordMarks, given: Mapping[str, Any]
) -> TimedWindows:
    """Return windows with declared edges; `delay` then says about how many records they have."""
    from sfumato.stream.timed import TimedWindows

    if bounds is None:
        raise ParameterError(f"{kind.name} needs --bounds LOW HIGH, which are public")
    return TimedWindows(kind.for_clock(bounds, given), *marks.edges, marks.lateness, marks.zone)


def _for_tuples(
    kind: type[ColumnFactory],
    schema: Schema | None,
    columns: Sequence[str],
    given: dict[str, Any],
    on_bad: OnBad,
) -> StreamSetup:
    """Return the setup for tuples of declared columns, of which some may be named to leave the others behind."""
    from sfumato.stream.screens.tuples import TupleScreen

    quasi, person = given.pop("quasi", ()), given.pop("person", None)
    if schema is None:
        raise ParameterError(f"{kind.name} needs --schema with the columns' types, bounds and categories")
    roles = Schema.from_roles(quasi=quasi, sensitive=columns, person=person)
    declared = schema.updated(roles)
    if quasi or columns:
        declared = replace(declared, columns={name: declared.columns[name] for name in roles.columns})
    publisher = kind.for_tuples(declared, given)
    return StreamSetup(publisher, TupleScreen(publisher, on_bad))


def _declared_bounds(attribute: Attribute | None) -> PublicBounds | None:
    """Return the declared bounds of a number column; inferred ones are not public and are refused."""
    if attribute is None or attribute.bounds is None:
        return None
    if not attribute.public:
        raise ParameterError(f"the bounds of '{attribute.name}' were inferred from rows; declare public ones")
    low, high = attribute.bounds
    if isinstance(low, dt.date) or isinstance(high, dt.date):
        raise ParameterError(f"column '{attribute.name}' holds dates; a stream of them can go through castle only")
    return float(low), float(high)


def _complete_bounds(bounds: Mapping[str, PublicBounds | None]) -> list[PublicBounds]:
    """Return the bounds of several columns, none of which may lack them."""
    missing = next((name for name, limits in bounds.items() if limits is None), None)
    if missing is not None:
        raise ParameterError(f"column '{missing}' needs public bounds; declare them in --schema or give --bounds")
    return [limits for limits in bounds.values() if limits is not None]
