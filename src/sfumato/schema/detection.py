"""What a column's type and marks seem to be, guessed from all of its cells and only where nothing else fits.

A guess is a proposal that is said and can be pinned in a schema; what two readings fit is not guessed (van den Burg,
Nazabal & Sutton 2019, "Wrangling messy CSV files by detecting row and type patterns").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import polars as pl

from sfumato.schema.attribute import Attribute
from sfumato.schema.kinds import PROBE, Kind, Weights, detect, is_missing, numbers_in
from sfumato.schema.written import Written

PAIRS = ((",", None), (",", "."), (",", " "), (",", "'"), (".", ","), (".", " "), (".", "'"))
DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
NAMED_DAYS = ("%d %b %Y", "%d-%b-%Y", "%d. %b %Y", "%b %d, %Y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", ", %H:%M:%S")


def detect_marks(series: pl.Series) -> tuple[str, str | None] | None:
    """Return the decimal and the thousands mark of numbers that are no plain ones; None where it is not certain.

    >>> detect_marks(pl.Series(["1.234,56", "7"])), detect_marks(pl.Series(["2,5"]))
    ((',', '.'), (',', None))
    >>> detect_marks(pl.Series(["1,234", "5,678"]))  # thousands or decimals?
    """
    fitting = possible_marks(series)
    return next((pair for pair in fitting if series.str.contains(_proof(*pair)).any()), None)


def possible_marks(series: pl.Series) -> list[tuple[str, str | None]]:
    """Return every pair of marks with which all cells are numbers, where they are not plain ones.

    >>> possible_marks(pl.Series(["1,234"]))
    [(',', None), (',', '.'), (',', ' '), (',', "'"), ('.', ',')]
    """
    if series.dtype != pl.String or series.is_empty() or not series.str.contains(r"[0-9][ ,.']").any():
        return []
    return [pair for pair in PAIRS if _all_numbers(series, Written(*pair))]


def _all_numbers(series: pl.Series, written: Written) -> bool:
    marks = written.numbers()
    return marks is not None and all(marks.texts(part).null_count() == 0 for part in (series.head(PROBE), series))


def _proof(decimal: str, thousands: str | None) -> str:
    """Return the pattern of a cell that can be read with these marks and with no others."""
    point = f"[{decimal}]"
    both = [] if thousands is None else [f"[{thousands}].*{point}"]
    if thousands in {",", "."}:
        return "|".join([*both, f"[{thousands}].*[{thousands}]"])
    if thousands is not None:
        return both[0]
    return f"{point}[0-9]{{1,2}}$|{point}[0-9]{{4,}}$|^[+-]?0?{point}|[0-9]{{4,}}{point}"


def detect_format(series: pl.Series) -> str | None:
    """Return the one format in which all cells are dates or times; None where none or several fit.

    >>> detect_format(pl.Series(["31.12.2024", "01.02.2024"])), detect_format(pl.Series(["12/31/2024 9:05"]))
    ('%d.%m.%Y', '%m/%d/%Y %H:%M')
    >>> detect_format(pl.Series(["01/02/2024", "03/04/2024"]))  # day or month first?
    """
    fitting = possible_formats(series)
    return fitting[0] if len(fitting) == 1 else None


def possible_formats(series: pl.Series) -> list[str]:
    """Return every known format in which all cells are dates or times.

    >>> possible_formats(pl.Series(["01/02/2024"]))
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    if series.dtype != pl.String or series.is_empty():
        return []
    first = series.max()  # one cell tells which formats are worth trying
    near = [form for form, guard in _guards().items() if isinstance(first, str) and guard.fullmatch(first)]
    return [form for form in near if _all_times(series, form)]


@lru_cache(maxsize=1)
def _guards() -> dict[str, re.Pattern[str]]:
    """Return the pattern of a whole cell in every known format."""
    forms = [day + clock for day in (*DAYS, *NAMED_DAYS) for clock in CLOCKS]
    rules = {form: Written(format=form).calendar() for form in forms}
    return {form: re.compile(rule.guard) for form, rule in rules.items() if rule is not None}


def _all_times(series: pl.Series, form: str) -> bool:
    written = Written(format=form)
    return all(
        numbers_in(part, Kind.TIMESTAMP, written).null_count() == 0 for part in (series.head(PROBE), series.unique())
    )


def detected(attribute: Attribute, series: pl.Series, weights: Weights | None = None) -> Attribute:
    """Return the attribute with the type that its cells suggest, and the marks, format or zone that this needs.

    >>> from sfumato.schema import Role
    >>> found = detected(Attribute("wage", Role.OTHER), pl.Series(["1.234,56", "99,00"]))
    >>> found.kind.value, found.decimal, found.thousands
    ('number', ',', '.')
    """
    zone = getattr(series.dtype, "time_zone", None)
    if zone is not None:
        return replace(attribute, kind=Kind.TIMESTAMP, zone=attribute.zone or zone)
    if series.dtype != pl.String:
        return replace(attribute, kind=detect(series, attribute.missing, weights))
    if weights is None:
        counted = series.alias("cell").value_counts(sort=False, name="times")
        series, weights = counted["cell"], counted["times"].cast(pl.Int64).to_numpy()
    there = ~is_missing(series, attribute.missing)
    present = Present(series.filter(there), weights[there.to_numpy()])
    declared = _as_declared(attribute, present)
    if declared is not None:
        return replace(attribute, kind=declared)
    kind = detect(series, attribute.missing, weights)
    return _guessed(replace(attribute, kind=kind), present) if kind is Kind.CATEGORY else replace(attribute, kind=kind)


@dataclass(frozen=True, eq=False)
class Present:
    """The different cells of a column that are not missing, and how often each is there."""

    cells: pl.Series
    times: Weights


def _as_declared(attribute: Attribute, present: Present) -> Kind | None:
    """Return the type that the declared marks or format make of the cells; None where they fit nothing."""
    written, marks = attribute.written, attribute.written.numbers()
    if written.format is not None:
        kind = Kind.TIMESTAMP if written.clocked else Kind.DATE
        if len(present.cells) and numbers_in(present.cells, kind, written).null_count() == 0:
            return kind
    if marks is not None and len(present.cells):
        plain = marks.texts(present.cells)
        fitting = plain.is_not_null()
        times = present.times[fitting.to_numpy()]
        if times.sum() * 2 >= present.times.sum():
            return detect(plain.filter(fitting), weights=times)
    return None


def _guessed(attribute: Attribute, present: Present) -> Attribute:
    marks = detect_marks(present.cells)
    if marks is not None and attribute.decimal is None and attribute.thousands is None:
        found = replace(attribute, decimal=marks[0], thousands=marks[1])
        kind = _as_declared(found, present)
        return replace(found, kind=kind) if kind is not None and kind.numeric else attribute
    form = detect_format(present.cells) if attribute.format is None else None
    if form is None:
        return attribute
    kind = Kind.TIMESTAMP if Written(format=form).clocked else Kind.DATE
    return replace(attribute, format=form, kind=kind)
