"""Sensitive and other columns made coarser by their declared rules, before any model is enforced or measured.

Released values are then what models count: l-diversity on values that occur once protects nobody (Machanavajjhala et
al. 2007). Microaggregation of one column is the optimum of Hansen & Mukherjee 2003; other rules look at one cell alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core import calendar
from sfumato.core.calendar import CLOCK_STEPS
from sfumato.core.cells import read
from sfumato.errors import InputError, UnsatisfiableError
from sfumato.schema import Attribute, Coarsening, Kind, Schema
from sfumato.schema.attribute import Bound
from sfumato.schema.kinds import is_missing
from sfumato.schema.times import EPOCH, bound_number, wall_time
from sfumato.schema.values import parse_cells
from sfumato.table import Table
from sfumato.table.coding import code
from sfumato.tabular.persons import persons_of

SECOND = 1_000_000  # microseconds
HOUR = 3_600 * SECOND
EXACT = 2.0**53  # whole numbers up to here are the same as integers and as numbers
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]


def coarsen_table(table: Table, settled: Schema) -> tuple[Table, Schema]:
    """Return the table and its settled schema after every declared rule; what went through its rule is left alone.

    Cells that cannot be read, or lie outside declared bounds, are refused.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.NUMBER, coarsen=Coarsening(round=100))
    >>> table, schema = coarsen_table(Table(pl.DataFrame({"cost": [149.99, 1250.0]})), Schema({"cost": cost}))
    >>> table.frame["cost"].to_list(), schema.columns["cost"].coarsened.text
    ([100, 1300], 'round:100')
    """
    coarser, columns = table, dict(settled.columns)
    for name, attribute in settled.columns.items():
        if attribute.coarsen is not None:
            cells = table.column(name)
            code(cells, attribute)  # refuses what cannot be read
            person = None if attribute.coarsen.microaggregate is None else persons_of(table, settled)
            values, columns[name] = coarsen_cells(cells, attribute, person)
            _refuse_lost(cells, values, attribute)
            coarser = coarser.with_columns([values])
    return (table, settled) if coarser is table else (coarser, replace(settled, columns=columns))


def coarsen_cells(
    series: pl.Series, attribute: Attribute, person: Integers | None = None
) -> tuple[pl.Series, Attribute]:
    """Return a column by its rule, null where a cell is missing or cannot be read, and what is now true of it.

    `person` numbers the rows' persons, whom groups of a microaggregated column count.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.INTEGER, coarsen=Coarsening(bands=(0, 500, 1000)))
    >>> values, now = coarsen_cells(pl.Series("cost", ["499", "x", "500"]), cost)
    >>> values.to_list(), now.categories
    (['[0-499]', None, '[500-1000]'], ('[0-499]', '[500-1000]'))
    """
    rule = attribute.coarsen
    if rule is None:
        return series, attribute
    cells = parse_cells(series, attribute)
    present = cells.values.is_not_null()
    rows = None if person is None else person[present.to_numpy()]
    numbers = cells.values.filter(present).to_numpy()
    changed = _coarse(numbers, attribute, rule, rows).alias(series.name)
    place = pl.Series(np.maximum(present.to_numpy().cumsum() - 1, 0)).cast(pl.UInt32).set(~present, None)
    return changed.gather(place), coarse_attribute(attribute, changed)


def coarse_attribute(attribute: Attribute, values: pl.Series) -> Attribute:
    """Return the declaration of the coarse `values`: bands are words in their order, means are numbers.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.INTEGER, coarsen=Coarsening(microaggregate=2))
    >>> coarse_attribute(cost, pl.Series([2.5])).kind
    <Kind.NUMBER: 'number'>
    """
    rule = attribute.coarsen
    if rule is None:
        return attribute
    plain = replace(attribute, coarsen=None, coarsened=rule, decimal=None, thousands=None, format=None)
    if rule.bands is not None:
        labels = rule.labels(attribute.kind, attribute.bounds)
        return replace(plain, kind=Kind.ORDINAL, bounds=None, categories=labels)
    if rule.period is not None:
        labels, declared = _periods(rule.period, attribute, values)
        return replace(plain, kind=Kind.ORDINAL, bounds=None, categories=labels, public=declared and plain.public)
    if rule.microaggregate is not None:
        kind = Kind.NUMBER if attribute.kind is Kind.INTEGER else attribute.kind
        return replace(plain, kind=kind, public=False)
    return replace(plain, bounds=coarse_bounds(attribute))


def as_released(series: pl.Series, attribute: Attribute) -> Attribute:
    """Return the declaration under which a column is read that went through its rule, or will: an original is too.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.INTEGER, coarsen=Coarsening(bands=(0, 500, 1000)))
    >>> as_released(pl.Series(["[500-1000]", "[0-499]"]), cost).categories, as_released(pl.Series(["7"]), cost).kind
    (('[0-499]', '[500-1000]'), <Kind.INTEGER: 'integer'>)
    """
    rule = attribute.coarsen
    if rule is None:
        return attribute
    if rule.microaggregate is not None:
        return coarse_attribute(attribute, series)
    timed = attribute.kind is Kind.TIMESTAMP
    labels = ranges_in_order(series, attribute.missing, timed=timed) if rule.bands or rule.period else None
    if labels is None:
        return replace(attribute, coarsen=None, public=False)
    return replace(attribute, coarsen=None, kind=Kind.ORDINAL, bounds=None, categories=labels)


def ranges_in_order(
    series: pl.Series, marks: tuple[str, ...] = ("",), *, timed: bool = False
) -> tuple[str, ...] | None:
    """Return the ranges or calendar periods of a released column in their order; None where a cell is neither.

    >>> ranges_in_order(pl.Series(["[500-1000]", "[0-499]"])), ranges_in_order(pl.Series(["flu"]))
    (('[0-499]', '[500-1000]'), None)
    """
    texts = series.filter(~is_missing(series, marks)).unique().to_list() if series.dtype == pl.String else [""]
    timed = timed or any(calendar.HOUR.fullmatch(text) for text in texts)
    cells = {text: read(text, ()) for text in texts}
    found = {text: cell.on_clock() if timed else cell.on_calendar() for text, cell in cells.items()}
    limits = {text: cell.limits for text, cell in found.items() if cell.ends is not None and cell.limits is not None}
    return tuple(sorted(limits, key=limits.__getitem__)) if len(limits) == len(texts) else None


def rules_on_card(attributes: Iterable[Attribute]) -> dict[str, Any]:
    """Return the rules that columns went through as settings of a card; none where there was no rule.

    >>> from sfumato.schema import Role
    >>> rules_on_card([Attribute("cost", Role.SENSITIVE, coarsened=Coarsening(round=100))])
    {'coarsen': {'cost': {'round': 100}}}
    """
    rules = {one.name: one.coarsened.to_mapping() for one in attributes if one.coarsened is not None}
    return {"coarsen": rules} if rules else {}


def _coarse(numbers: Numbers, attribute: Attribute, rule: Coarsening, person: Integers | None) -> pl.Series:
    """Return the numbers of a column (days since 1970 for dates, microseconds for timestamps) by its rule."""
    if rule.bands is not None:
        edges = rule.edges(attribute.bounds)
        labels = pl.Series(rule.labels(attribute.kind, attribute.bounds), dtype=pl.String)
        place = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, len(labels) - 1)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        return labels.gather(pl.Series(np.where(inside, place, 0)).cast(pl.UInt32)).set(pl.Series(~inside), None)
    if rule.period is not None:
        days, place = np.unique(numbers, return_inverse=True)
        labels = pl.Series([_label(rule.period, attribute)(day) for day in days.tolist()], dtype=pl.String)
        return labels.gather(pl.Series(place).cast(pl.UInt32))
    numbers = coarsen_numbers(numbers, attribute)
    if rule.microaggregate is not None:
        numbers = group_means(numbers, rule.microaggregate, attribute.name, person)
    if attribute.kind is Kind.DATE:
        return pl.Series(np.round(numbers).astype(np.int32)).cast(pl.Date)
    if attribute.kind is Kind.TIMESTAMP:
        return pl.Series((np.round(numbers / SECOND) * SECOND).astype(np.int64)).cast(pl.Datetime("us"))
    return _as_plain(numbers, rule)


def coarsen_numbers(numbers: Numbers, attribute: Attribute) -> Numbers:
    """Return numbers (days since 1970 for dates) within the top and bottom of a column's rule, and rounded by it.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.NUMBER, coarsen=Coarsening(round=100, top=1000))
    >>> coarsen_numbers(np.array([149.9, 7e6]), cost).tolist()
    [100.0, 1000.0]
    """
    rule = attribute.coarsen
    if rule is None:
        return numbers
    whole = numbers.dtype.kind == "i"
    for limit, cut in ((rule.bottom, np.maximum), (rule.top, np.minimum)):
        if limit is not None:
            numbers = cut(numbers, int(bound_number(limit)) if whole else bound_number(limit))
    return numbers if rule.round is None else round_to(numbers, rule.round)


def coarse_bounds(attribute: Attribute) -> tuple[Bound, Bound] | None:
    """Return where a column's values lie after its rule, given declared bounds.

    >>> from sfumato.schema import Role
    >>> rule = Coarsening(round=500, top=4000)
    >>> coarse_bounds(Attribute("cost", Role.SENSITIVE, Kind.INTEGER, bounds=(0, 20_100), coarsen=rule))
    (0, 4000)
    """
    if attribute.bounds is None or attribute.coarsen is None:
        return attribute.bounds
    ends = [bound_number(bound) for bound in attribute.bounds]
    numbers = np.array(ends, dtype=np.float64 if attribute.kind is Kind.NUMBER else np.int64)
    low, high = coarsen_numbers(numbers, attribute).tolist()
    return (_day(low), _day(high)) if attribute.kind is Kind.DATE else (low, high)


def round_to(numbers: Numbers, step: float) -> Numbers:
    """Return numbers at the nearest multiple of a step, a half upwards.

    >>> round_to(np.array([149, 150, -150]), 100).tolist(), round_to(np.array([0.3, 0.25]), 0.1).tolist()
    ([100, 200, -100], [0.3, 0.3])
    """
    if numbers.dtype.kind == "i":
        whole = int(step)
        rest = numbers % whole
        return np.asarray(numbers - rest + np.where(rest >= whole - rest, whole, 0))
    decimals = max(0, -int(Decimal(str(step)).as_tuple().exponent))
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.round(np.floor(numbers / step + 0.5) * step, decimals) + 0.0
    return np.asarray(np.where(np.isfinite(found), found, numbers))


def group_means(numbers: Numbers, k: int, name: str, person: Integers | None = None) -> npt.NDArray[np.float64]:
    """Return the mean of each number's group: the groups of at least `k` neighbours with the least error.

    Where persons are numbered, a group holds at least k of them.

    >>> group_means(np.array([1, 2, 9, 10, 11]), 2, "age").tolist()
    [1.5, 1.5, 10.0, 10.0, 10.0]
    """
    from sfumato.tabular.microaggregation.algorithms.univariate import univariate

    units = len(numbers) if person is None else len(np.unique(person))
    if units < k:
        what = "values" if person is None else "persons"
        raise UnsatisfiableError(
            f"column '{name}': microaggregate asks for groups of {k} and there are {units} {what}; at most {units} is "
            "possible"
        )
    points = numbers.astype(np.float64)
    labels = univariate(points[:, None], k)
    if person is not None:
        labels = _merge_until_persons(labels, person, k)
    means = np.bincount(labels, points) / np.bincount(labels)
    return np.array([float(f"{mean:.12g}") for mean in means.tolist()])[labels]


def _merge_until_persons(labels: Integers, person: Integers, k: int) -> Integers:
    """Return the groups, numbered in the order of their values, merged with the next until each has k persons."""
    found: list[set[int]] = []
    merged = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    for label, persons in enumerate(_persons_by(labels, person)):
        if found and len(found[-1]) < k:
            found[-1] |= persons
        else:
            found.append(persons)
        merged[label] = len(found) - 1
    if len(found) > 1 and len(found[-1]) < k:
        merged[merged == len(found) - 1] -= 1
    return merged[labels]


def _persons_by(labels: Integers, person: Integers) -> Iterator[set[int]]:
    order = np.argsort(labels, kind="stable")
    for part in np.split(person[order], np.flatnonzero(np.diff(labels[order])) + 1):
        yield set(part.tolist())


def _as_plain(numbers: Numbers, rule: Coarsening) -> pl.Series:
    """Return whole numbers without a decimal point where the rule makes them whole."""
    whole = rule.round is not None and float(rule.round).is_integer()
    if whole and numbers.dtype.kind == "f" and (np.abs(numbers) < EXACT).all() and (numbers == np.round(numbers)).all():
        return pl.Series(numbers.astype(np.int64))
    return pl.Series(numbers)


def _periods(period: str, attribute: Attribute, values: pl.Series) -> tuple[tuple[str, ...], bool]:
    """Return the periods in their order, and whether declared bounds tell them; otherwise they are those observed."""
    label = _label(period, attribute)
    if attribute.bounds is None:
        return tuple(values.drop_nulls().unique().sort().to_list()), False
    first, last = (int(bound_number(bound)) for bound in attribute.bounds)
    step = 1 if attribute.kind is Kind.DATE else HOUR
    return tuple(dict.fromkeys(label(number) for number in (*range(first, last + 1, step), last))), True


def _label(period: str, attribute: Attribute) -> Callable[[float], str]:
    """Return what gives the period of a day or of a time."""
    label = CLOCK_STEPS[period]
    if attribute.kind is Kind.TIMESTAMP:
        return lambda number: label(wall_time(number))
    return lambda number: label(dt.datetime.combine(_day(number), dt.time()))


def _refuse_lost(series: pl.Series, values: pl.Series, attribute: Attribute) -> None:
    """Refuse a value outside the declared bands."""
    lost = parse_cells(series, attribute).values.is_not_null() & values.is_null()
    if lost.any():
        row = int(lost.arg_max() or 0)
        raise InputError(
            f"column '{series.name}' row {row + 1}: {series[row]} lies outside the declared bands; add an edge, or "
            "declare bounds"
        )


def _day(number: float) -> dt.date:
    return EPOCH + dt.timedelta(days=int(number))
