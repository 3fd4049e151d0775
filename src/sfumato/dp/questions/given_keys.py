"""Keys that the analyst declares: a list, the column of a public file, a range of dates; each is answered for.

Keys that are declared without looking at the rows need no threshold and no δ (Wilson et al. 2020, section 3.3): which
groups leave is known beforehand, and rows with another value are in no group. A value that the column cannot have is
refused before anything is paid.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.dp.questions.clock import bound_position, seconds_of, time_words
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.ranges import range_of_column
from sfumato.dp.questions.request import Cell, Declared
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.schema import Attribute, Kind, Schema
from sfumato.schema.times import read_time

MOST_KEYS = 1_000_000
MOST_PLACED = 10_000  # of numbers and times, among which cells are searched by halving
SHOWN = 60  # characters of a value in an error
MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}


@dataclass(frozen=True, init=False)
class Keys:
    """The values of a column for which groups are answered, declared by whoever asks.

    >>> Keys("station", ["A", "B"]).values
    ('A', 'B')
    """

    column: str
    values: tuple[Cell, ...]

    def __init__(self, column: str, values: Iterable[Cell | dt.date]) -> None:
        if isinstance(values, str):
            raise ParameterError(f"the keys of '{column}' are a text; give a list of values")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "values", tuple(_plain(column, value) for value in values))
        if not 1 <= len(self.values) <= MOST_KEYS:
            raise ParameterError(f"column '{column}' is given {len(self.values)} keys; give 1 to {MOST_KEYS}")

    @classmethod
    def from_file(cls, column: str, path: str | Path, of: str | None = None) -> Keys:
        r"""Return the different values in a column of a public file, CSV or Parquet: `of`, or the only one.

        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "stations.csv"
        >>> _ = file.write_text("name\nA\nB\nA\n")
        >>> Keys.from_file("station", file).values
        ('A', 'B')
        """
        from sfumato.table import read

        frame = read(path).frame
        names = frame.columns
        wanted = of or (column if column in names else names[0])
        if wanted not in names or (of is None and wanted != column and len(names) > 1):
            listed = ", ".join(names)[:SHOWN]
            raise InputError(f"the file '{path}' has the columns {listed}; name the one that holds keys of '{column}'")
        values = frame[wanted].unique(maintain_order=True)
        if values.null_count():
            raise InputError(f"column '{wanted}' of '{path}' has missing values; keys of '{column}' have none")
        return cls(column, [str(value) if isinstance(value, int) else value for value in values])


AskedKey = str | HistogramKey | Keys


def dates(start: str | dt.date, end: str | dt.date, step: str = "day") -> list[dt.date]:
    """Return the days from one to another, both included, or the first of every week, month, quarter or year.

    Steps begin at `start`; to match `truncate("week")`, begin on a Monday.

    >>> [str(day) for day in dates("2026-01-01", "2026-03-31", step="month")]
    ['2026-01-01', '2026-02-01', '2026-03-01']
    """
    first, last = _day(start), _day(end)
    if step not in {*DAYS, *MONTHS}:
        raise ParameterError(f"the step is '{step}'; choose from {', '.join([*DAYS, *MONTHS])}")
    if first > last:
        raise ParameterError(f"the dates go from {first} to {last}; give the earlier one first")
    if step in DAYS:
        return [first + dt.timedelta(days=days) for days in range(0, (last - first).days + 1, DAYS[step])]
    if first.day > 28:
        raise ParameterError(f"the dates begin at {first}, which not every month has; begin at most on the 28th")
    months = range(0, (last.year - first.year) * 12 + last.month - first.month + 1, MONTHS[step])
    return [day for day in (_months_later(first, many) for many in months) if day <= last]


def _months_later(day: dt.date, many: int) -> dt.date:
    months = day.year * 12 + day.month - 1 + many
    return day.replace(year=months // 12, month=months % 12 + 1)


def _day(day: str | dt.date) -> dt.date:
    if isinstance(day, dt.date):
        return day.date() if isinstance(day, dt.datetime) else day
    try:
        return dt.date.fromisoformat(day)
    except (TypeError, ValueError):
        raise ParameterError(f"the date is {str(day)[:SHOWN]!r}; write it as 2026-01-31") from None


def _plain(column: str, value: object) -> Cell:
    """Return a value as cells hold it: dates and times as texts."""
    if isinstance(value, dt.datetime):
        return time_words(seconds_of(value.replace(tzinfo=None)))
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    raise ParameterError(f"a key of '{column}' is {str(value)[:SHOWN]!r}; give texts, numbers or dates")


def declared_by(keys: Keys, attribute: Attribute) -> Declared:
    """Return the groups that given keys make, in the order of the column's categories or values.

    >>> from sfumato.schema import Role
    >>> hour = Attribute("hour", Role.OTHER, Kind.INTEGER, bounds=(0, 23))
    >>> declared_by(Keys("hour", ["17", 8]), hour).cells
    (8, 17)
    """
    cells = [_cell(value, attribute) for value in keys.values]
    if len(set(cells)) < len(cells):
        twice = next(cell for cell in cells if cells.count(cell) > 1)
        raise InputError(f"the keys of '{keys.column}' have '{twice}' twice; give each once")
    if attribute.kind in {Kind.NUMBER, Kind.TIMESTAMP} and len(cells) > MOST_PLACED:
        raise InputError(f"column '{keys.column}' is given {len(cells)} keys; of a {attribute.kind} give {MOST_PLACED}")
    words = range_of_column(attribute).words
    if words is None:
        return Declared(keys.column, tuple(sorted(cells, key=lambda cell: cell)))
    return Declared(keys.column, tuple(word for word in words if word in set(cells)))


def _cell(value: Cell, attribute: Attribute) -> Cell:
    """Return a key as the column holds its values, or refuse one that it cannot have."""
    kind = attribute.kind
    cell = _number_cell(value, kind) if kind is not None and kind.numeric else value
    if cell is None or (isinstance(cell, str) is not _is_written(kind)):
        wanted = "a text" if kind is None or not kind.numeric else f"of type {kind}"
        raise InputError(
            f"the key {_short(value)} of '{attribute.name}' is not {wanted}; give keys of the column's type"
        )
    found = range_of_column(attribute)
    if found.words is not None and cell not in found.words:
        hint = suggestion(str(cell), found.words)
        raise InputError(f"column '{attribute.name}' has no declared category {_short(value)}{hint}")
    if found.words is None and str(cell) in attribute.missing:
        raise InputError(f"column '{attribute.name}' has {_short(value)} as a mark of a missing value; leave it out")
    if found.low is not None and found.high is not None and not found.low <= _position(cell, kind) <= found.high:
        raise InputError(f"the key {_short(value)} of '{attribute.name}' lies beyond its declared bounds; leave it out")
    return cell


def _is_written(kind: Kind | None) -> bool:
    """Return whether cells of a kind are shown as texts."""
    return kind not in {Kind.INTEGER, Kind.NUMBER}


def _number_cell(value: Cell, kind: Kind) -> Cell | None:
    """Return a number, day or time in one form; None where the value is none."""
    try:
        if kind is Kind.DATE:
            return dt.date.fromisoformat(str(value)).isoformat()
        if kind is Kind.TIMESTAMP:
            time = read_time(str(value))
            return None if time is None else time_words(seconds_of(time))
        number = float(value)
        if kind is Kind.NUMBER:
            return number if abs(number) < 1e300 else None
        return int(value) if number.is_integer() else None
    except (ValueError, OverflowError):
        return None


def _position(cell: Cell, kind: Kind | None) -> float:
    """Return where a cell lies between bounds."""
    if kind is Kind.DATE:
        return bound_position(dt.date.fromisoformat(str(cell)))
    return seconds_of(cell)


def _short(value: Cell) -> str:
    text = str(value)
    return f"'{text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}'"


def read_keys(column: str, text: str) -> Keys:
    """Return keys as the command line gives them: a file, `FIRST..LAST` dates with `/STEP`, or values with commas.

    >>> read_keys("day", "2026-01-01..2026-03-31/month").values
    ('2026-01-01', '2026-02-01', '2026-03-01')
    >>> read_keys("station", "A,B").values
    ('A', 'B')
    """
    if text.lower().endswith((".csv", ".parquet", ".csv.gz", ".tsv")):
        return Keys.from_file(column, text)
    first, between, rest = text.partition("..")
    if between:
        last, _, step = rest.partition("/")
        return Keys(column, dates(first, last, step or "day"))
    return Keys(column, [value.strip() for value in text.split(",")])


def given_of(keys: Sequence[object]) -> list[Keys]:
    """Return those of a question's keys that the analyst declared.

    >>> given_of(["hour", Keys("sex", ["F"])])
    [Keys(column='sex', values=('F',))]
    """
    return [key for key in keys if isinstance(key, Keys)]


def key_cells(schema: Schema, keys: Keys) -> Declared:
    """Return the groups of given keys, or say that there is no such column.

    >>> key_cells(Schema.from_roles(quasi=["sex"]), Keys("sexx", ["F"]))
    Traceback (most recent call last):
    sfumato.errors.InputError: the schema has no column 'sexx'; did you mean 'sex'?
    """
    if keys.column not in schema.columns:
        raise InputError(f"the schema has no column '{keys.column}'{suggestion(keys.column, schema.columns)}")
    return declared_by(keys, schema.columns[keys.column])


def column_of_key(key: AskedKey) -> str:
    """Return the column that a key groups by.

    >>> column_of_key(Keys("hour", [8]))
    'hour'
    """
    return key if isinstance(key, str) else key.column
