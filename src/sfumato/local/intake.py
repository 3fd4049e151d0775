"""Which rows of a column can be reported, and what the cells of the others are: missing, not readable, not declared.

A device whose value the protocol cannot encode has nothing to send, as with the non-respondents of a survey (Warner
1965). That it is silent is visible, and no promise covers it; so the steward hears how many are, and decides. What is
told here is computed from the rows and is never public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from sfumato.core.arrays import Codes, Reals
from sfumato.errors import InputError, ParameterError
from sfumato.schema import Attribute, Kind, Reading, Role
from sfumato.schema.file_defaults import with_file_defaults
from sfumato.schema.values import parse_cells
from sfumato.table import ParseReport
from sfumato.table.parse_report import SHARE, CellCount, ColumnReport, Fate, report_column

if TYPE_CHECKING:
    import polars as pl

    from sfumato.local.base import LocalProtocol
    from sfumato.local.domain import Value
    from sfumato.local.means.base import MeanProtocol

SILENT = "in no report"
IN_REPORTS = Fate(SILENT, SILENT, SILENT)


@dataclass(frozen=True)
class SilentRows:
    """The rows of a column that cannot be reported: their number of all, the first ones, and what their cells are.

    >>> SilentRows(ParseReport({}), CellCount(3, (2, 5, 6)), 100, "a value").lines()
    ['3 of 100 rows have no report, which the number of reports shows']
    """

    cells: ParseReport
    silent: CellCount
    rows: int
    wanted: str
    remedy: str = "clean the rows"

    def refuse(self, share: float | None = None) -> None:
        """Refuse a column of which more than a share of the rows, 1 % unless said, cannot be reported.

        One row alone decides nothing where no share is said and others can be reported: it would decide whether
        anything is published.

        >>> ages = ParseReport({"age": ColumnReport("age", "number", 4)})
        >>> SilentRows(ages, CellCount(2, (3, 4)), 4, "number").refuse()
        Traceback (most recent call last):
        sfumato.errors.InputError: column 'age': 2 rows have no number, the first is row 3, and at most 1 % of 4 \
rows may have none; clean the rows, or allow more with --max-failed 0.5
        """
        if share is not None and not 0 <= share <= 1:
            raise ParameterError(f"--max-failed is {share:g}; give a share from 0 to 1")
        most = SHARE if share is None else share
        found = self.silent.cells
        if found and found == self.rows:
            raise InputError(f"{self._found}; {self.remedy}")
        if found > most * self.rows and (share is not None or found > 1):
            allowed = -(-found * 10_000 // self.rows) / 10_000  # rounded up, so that it is enough
            raise InputError(
                f"{self._found}, and at most {100 * most:g} % of {self.rows} rows may have none; {self.remedy}, or "
                f"allow more with --max-failed {allowed:g}"
            )

    def lines(self) -> list[str]:
        """Return what the steward must know of the silent rows together, a line each."""
        if not self.silent.cells:
            return []
        have = "have" if self.silent.cells > 1 else "has"
        return [f"{self.silent.cells} of {self.rows} rows {have} no report, which the number of reports shows"]

    @property
    def _found(self) -> str:
        """What was found, without any cell of it."""
        (column, entry), *_ = self.cells.columns.items()
        empty = entry.missing.cells
        missing = f" ({empty} of them no value at all)" if empty else ""
        place = f", the first is row {self.silent.rows[0]}" if self.silent.rows else ""
        return f"column '{column}': {rows_have(self.silent.cells)} no {self.wanted}{missing}{place}"


class ReportedCodes(NamedTuple):
    """The places in a domain of the rows that can be reported, and the rows that cannot."""

    codes: Codes
    others: SilentRows


class ReportedNumbers(NamedTuple):
    """The numbers of the rows that can be reported, and the rows that cannot."""

    numbers: Reals
    others: SilentRows


def domain_column(column: str, domain: Sequence[Value], reading: Reading | None = None) -> Attribute:
    """Return a column of values of a domain as it is declared; a missing mark that the domain lists is a value.

    >>> domain_column("vote", ["no", "?"], Reading(missing=("?", "NA"))).missing
    ('NA', '')
    """
    texts = tuple(str(value) for value in domain)
    if len(set(texts)) < len(texts):
        raise InputError("two values of the domain are the same text, such as 1 and '1'; give each its own")
    declared = _as_written(Attribute(column, Role.OTHER, Kind.CATEGORY, categories=texts), reading)
    known = set(texts)
    return replace(declared, missing=tuple(mark for mark in declared.missing if mark not in known))


def number_column(column: str, bounds: tuple[float, float], reading: Reading | None = None) -> Attribute:
    """Return a column of numbers within bounds as it is declared.

    >>> number_column("age", (16, 94), Reading(decimal=",")).decimal
    ','
    """
    return _as_written(Attribute(column, Role.OTHER, Kind.NUMBER, bounds=bounds), reading)


def reported_codes(
    protocol: LocalProtocol, values: pl.Series, reading: Reading | None = None, max_failed: float | None = None
) -> ReportedCodes:
    """Return the place in the domain of every row that has one, compared as text, and the rows that have none.

    Refused where more than a share of the rows have none.

    >>> import polars as pl
    >>> from sfumato.local import WarnerResponse
    >>> protocol = WarnerResponse(["no", "yes"], 1)
    >>> found = reported_codes(protocol, pl.Series("vote", ["yes", "maybe", "no"]))
    >>> found.codes.tolist(), found.others.silent
    ([1, 0], CellCount(cells=1, rows=(2,)))
    >>> reported_codes(protocol, pl.Series("vote", ["yes", "maybe"]), max_failed=0)
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'vote': 1 row has no value of the domain, the first is row 2, and at most 0 % \
of 2 rows may have none; complete the domain or clean the rows, or allow more with --max-failed 0.5
    """
    import polars as pl

    declared = domain_column(values.name, protocol.domain, reading)
    order = {text: place for place, text in enumerate(declared.categories or ())}
    codes = values.cast(pl.String).replace_strict(order, default=None, return_dtype=pl.Int64)
    others = silent_values(report_column(values, declared), CellCount.of(codes.is_null()))
    others.refuse(max_failed)
    return ReportedCodes(codes.drop_nulls().to_numpy(), others)


def reported_numbers(
    protocol: MeanProtocol, values: pl.Series, reading: Reading | None = None, max_failed: float | None = None
) -> ReportedNumbers:
    """Return the number of every row that has one within the bounds, and the rows that have none.

    Refused where more than a share of the rows have none.

    >>> import polars as pl
    >>> from sfumato.local import Duchi
    >>> found = reported_numbers(Duchi(16, 94, 1), pl.Series("age", ["31", "x", "47", "", "120"]), max_failed=0.6)
    >>> found.numbers.tolist(), found.others.silent
    ([31.0, 47.0], CellCount(cells=3, rows=(2, 4, 5)))
    """
    import polars as pl

    declared = number_column(values.name, (protocol.low, protocol.high), reading)
    numbers = parse_cells(values, declared).values.cast(pl.Float64)
    within = numbers.is_between(protocol.low, protocol.high).fill_null(value=False)
    others = silent_numbers(report_column(values, declared), CellCount.of(~within), protocol)
    others.refuse(max_failed)
    return ReportedNumbers(numbers.filter(within).to_numpy(), others)


def silent_values(cells: ColumnReport, silent: CellCount) -> SilentRows:
    """Return the rows without a value of the domain, whose cells are counted already.

    >>> silent_values(ColumnReport("vote", "category", 9), CellCount(1, (4,))).lines()
    ['1 of 9 rows has no report, which the number of reports shows']
    """
    told = ParseReport({cells.column: replace(cells, limits="the domain")})
    return SilentRows(told, silent, cells.cells, "value of the domain", "complete the domain or clean the rows")


def silent_numbers(cells: ColumnReport, silent: CellCount, protocol: MeanProtocol) -> SilentRows:
    """Return the rows without a number within the bounds, whose cells are counted already.

    >>> from sfumato.local import Duchi
    >>> silent_numbers(ColumnReport("age", "number", 9), CellCount(1, (4,)), Duchi(0, 9, 1)).wanted
    'number within 0 and 9'
    """
    limits = f"[{protocol.low:g}, {protocol.high:g}]"
    remedy = "widen the bounds or clean the rows" if cells.remedy is None else f"declare {cells.remedy}"
    told = ParseReport({cells.column: replace(cells, limits=limits)})
    return SilentRows(told, silent, cells.cells, f"number within {protocol.low:g} and {protocol.high:g}", remedy)


def rows_have(number: int) -> str:
    """Return the opening words of a sentence about so many rows.

    >>> rows_have(1), rows_have(3)
    ('1 row has', '3 rows have')
    """
    return f"{number} rows have" if number > 1 else "1 row has"


def _as_written(declared: Attribute, reading: Reading | None) -> Attribute:
    return declared if reading is None else with_file_defaults(declared, reading)
