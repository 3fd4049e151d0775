"""Hierarchies built by rule: intervals of growing width, masked prefixes, calendar steps, runs of ordered words.

The four rules are those the field uses by hand (Sweeney 2002 masks postal codes digit by digit; the
interval and order builders follow what Prasser & Kohlmayer 2015 found people ask for).
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from sfumato.core.calendar import CLOCK_STEPS, MONTHS, PERIODS
from sfumato.core.cells import INTEGER, SUPPRESSED, Number, masked_text, range_text
from sfumato.errors import ParameterError
from sfumato.hierarchy.tree import Hierarchy

LONG = 16  # digits before an edge is written with an exponent


def intervals(values: Sequence[Number | str], widths: Sequence[Number], origin: Number = 0) -> Hierarchy:
    """Return values under intervals of growing width, aligned at `origin`, each width a multiple of the one before.

    Whole numbers get the interval's own limits, `[15-19]`; other numbers its edges, `[1.5..2]`, of which the upper one
    begins the next interval: labels never end at a value of the data. Numbers given as texts keep their form.

    >>> intervals(range(1, 5), [2, 4], origin=1).paths[2]
    ('3', '[3-4]', '[1-4]', '*')
    >>> intervals([1, 2], [5, 12])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the interval width 12 is not a larger multiple of 5; give widths like 5, 10, 20
    """
    if widths and widths[0] <= 0:
        raise ParameterError(f"the interval width {widths[0]} is not above 0; give widths like 5, 10, 20")
    for before, width in pairwise(widths):
        if width <= before or not _whole(width / before):
            raise ParameterError(
                f"the interval width {width} is not a larger multiple of {before}; give widths like 5, 10, 20"
            )
    scale = _scale(values)
    numbers = list(scale.values())
    if all(isinstance(number, int) for number in (*numbers, *widths, origin)):
        return _stack_levels(list(scale), [_aligned_intervals(numbers, width, origin) for width in widths])
    return _stack_levels(list(scale), [_edged_intervals(numbers, width, origin) for width in widths])


def custom_intervals(values: Sequence[Number | str], edges: Sequence[Sequence[Number]]) -> Hierarchy:
    """Return values under intervals that begin at the given edges, one list per level, each within the one before.

    >>> custom_intervals(range(80), [[0, 18, 65], [0, 18]]).paths[18]
    ('18', '[18-64]', '[18-79]', '*')
    >>> custom_intervals([3, 17], [[0, 18], [0, 16]])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the edge 16 of level 2 is no edge of level 1; a wider level can only leave edges out
    """
    _refuse_empty("edges", edges)
    scale = _scale(values)
    numbers = list(scale.values())
    for level, starts in enumerate(edges):
        _refuse_empty(f"edges of level {level + 1}", starts)
        known = set(edges[level - 1]) if level else set(starts)
        stray = next((edge for edge in starts if edge not in known), None)
        if stray is not None:
            raise ParameterError(
                f"the edge {stray} of level {level + 1} is no edge of level {level}; "
                "a wider level can only leave edges out"
            )
        if numbers[0] < min(starts):
            raise ParameterError(f"the value {numbers[0]} lies before the first edge {min(starts)}; add an edge")
    in_order = [sorted(starts) for starts in edges]
    columns = [[starts[bisect_right(starts, number) - 1] for number in numbers] for starts in in_order]
    return _stack_levels(list(scale), [_tight_ranges(list(scale), column) for column in columns])


def prefixes(values: Sequence[str], lengths: Sequence[int]) -> Hierarchy:
    """Return codes under ever shorter prefixes, what is cut off masked by `*` (postal codes).

    >>> prefixes(["02139", "02144"], [4, 2]).paths[0]
    ('02139', '0213*', '02***', '*')
    """
    _refuse_empty("values", values)
    width = len(values[0])
    odd = next((value for value in values if len(value) != width), None)
    if odd is not None:
        raise ParameterError(f"the code '{odd}' has {len(odd)} characters and '{values[0]}' {width}; pad one of them")
    if list(lengths) != sorted(set(lengths), reverse=True) or not all(0 < length < width for length in lengths):
        raise ParameterError(f"prefix lengths must fall from below {width} to 1; found {list(lengths)}")
    texts = sorted(set(values))
    return _stack_levels(texts, [[masked_text(text, length) for text in texts] for length in lengths])


def dates(days: Sequence[dt.date], steps: Sequence[str] = MONTHS) -> Hierarchy:
    """Return days under months, quarters, years and decades, or those of them named in `steps`; or under weeks.

    >>> dates([dt.date(2024, 12, 31), dt.date(2025, 1, 1)]).paths[1]
    ('2025-01-01', '2025-01', '2025-Q1', '2025', '2020s', '*')
    >>> dates([dt.date(2025, 1, 1)], ["week"]).paths
    (('2025-01-01', '2025-W01', '*'),)
    """
    _refuse_empty("days", days)
    _refuse_steps(steps, list(PERIODS))
    in_order = sorted(set(days))
    return _stack_levels(
        [day.isoformat() for day in in_order], [[PERIODS[step](day) for day in in_order] for step in steps]
    )


def times(moments: Sequence[dt.datetime], steps: Sequence[str] = ("hour", "day", *MONTHS)) -> Hierarchy:
    """Return hours or days, the first of `steps`, under the longer periods that follow; times are shown by them alone.

    >>> times([dt.datetime(2024, 12, 31, 23, 5)], ["hour", "day", "week"]).paths
    (('2024-12-31 23h', '2024-12-31', '2025-W01', '*'),)
    """
    _refuse_empty("times", moments)
    _refuse_steps(steps, list(CLOCK_STEPS))
    if not steps or steps[0] not in {"hour", "day"}:
        raise ParameterError(f"the steps of times begin with hour or day; found {list(steps)}")
    paths = {CLOCK_STEPS[steps[0]](moment): moment for moment in sorted(moments)}
    rows = [[CLOCK_STEPS[step](moment) for moment in paths.values()] for step in steps[1:]]
    return _stack_levels(list(paths), rows)


def _refuse_steps(steps: Sequence[str], known: Sequence[str]) -> None:
    if not set(steps) <= set(known) or list(steps) != [step for step in known if step in steps]:
        raise ParameterError(f"calendar steps must be some of {', '.join(known)}, in this order; found {list(steps)}")
    if "week" in steps and steps[-1] != "week":
        raise ParameterError(
            f"a week may lie in two months, so {steps[-1]} cannot stand above it; end with week, or leave it out"
        )


def ordered(values: Sequence[str], sizes: Sequence[int] | None = None) -> Hierarchy:
    """Return words in their order under runs of growing length (2, 4, 8 unless given), named by their ends.

    >>> ordered(["primary", "secondary", "bachelor", "master"], [2]).paths[3]
    ('master', '[bachelor..master]', '*')
    """
    _refuse_empty("values", values)
    if sizes is None:
        sizes = [size for size in (2, 4, 8) if size < len(values)]
    for before, size in pairwise([1, *sizes]):
        if size <= before or size % before:
            raise ParameterError(f"the run length {size} is not a larger multiple of {before}; give lengths like 2, 4")
    levels = []
    for size in sizes:
        runs = [values[start : start + size] for start in range(0, len(values), size)]
        levels.append([range_text(run[0], run[-1], whole=False) for run in runs for _ in run])
    return _stack_levels(list(values), levels)


def flat(values: Sequence[str]) -> Hierarchy:
    """Return values with nothing above them but `*`.

    >>> flat(["F", "M"]).paths
    (('F', '*'), ('M', '*'))
    """
    _refuse_empty("values", values)
    return _stack_levels(list(values), [])


def growing_widths(low: Number, high: Number) -> list[Number]:
    """Return round interval widths for a scale, from about a sixteenth of it, doubling; none for one or two numbers.

    >>> growing_widths(16, 94), growing_widths(0, 1.5), growing_widths(1, 2)
    ([5, 10, 20, 40], [0.1, 0.2, 0.4, 0.8], [])
    """
    whole = isinstance(low, int) and isinstance(high, int)
    wanted = (high - low) / 16
    if wanted <= 0 or (whole and high - low < 2):
        return []
    power = math.floor(math.log10(wanted))
    rounded = min((1, 2, 5, 10), key=lambda digit: abs(math.log(digit * 10.0**power / wanted)))
    first = rounded * 10**power if power >= 0 else rounded / 10**-power
    if whole:
        first = max(2, round(first))
    widths = [first * 2**step for step in range(4)]
    return [width for width in widths if width < high - low] or widths[:1]


def aligned_interval(value: Number, width: Number, origin: Number = 0) -> str:
    """Return the interval of whole numbers that a value lies in.

    >>> aligned_interval(17, 5), aligned_interval(17, 1)
    ('[15-19]', '17')
    """
    start = origin + (value - origin) // width * width
    return range_text(str(start), str(start + width - 1), whole=True)


def _aligned_intervals(numbers: Sequence[Number], width: Number, origin: Number) -> list[str]:
    """Return the interval of every number; those that share one share its text, which saves memory."""
    labels: dict[Number, str] = {}
    found = []
    for number in numbers:
        place = (number - origin) // width
        if place not in labels:
            labels[place] = aligned_interval(number, width, origin)
        found.append(labels[place])
    return found


def decimal_edges(first: Number, last: Number, width: Number, origin: Number = 0) -> tuple[str, str]:
    """Return the edges, as texts, of the intervals of a width from the one of `first` to the one of `last`.

    Decimals are written exactly, and edges lie outwards where binary fractions are a hair off.

    >>> decimal_edges(1.7, 2.25, 0.5), decimal_edges(0.3, 0.3, 0.1)
    (('1.5', '2.5'), ('0.2', '0.3'))
    """
    step, start = Decimal(str(width)), Decimal(str(origin))
    low, high = ((number - origin) // width for number in (first, last))
    below, above = start + Decimal(low) * step, start + (Decimal(high) + 1) * step
    below -= step * (below > Decimal(str(first)))
    above += step * (above < Decimal(str(last)))
    return _plain(below), _plain(above)


def _plain(number: Decimal) -> str:
    """Return a number as digits, or with an exponent where those would be many."""
    short = number.normalize()
    return f"{short:f}" if -LONG < short.adjusted() < LONG else str(float(short))


def _edged_intervals(numbers: Sequence[Number], width: Number, origin: Number) -> list[str]:
    """Return the interval of every number, in rising order, by the edges that it lies between."""
    members: dict[Number, list[Number]] = {}
    for number in numbers:
        members.setdefault((number - origin) // width, []).append(number)
    labels = {
        place: range_text(*decimal_edges(found[0], found[-1], width, origin), whole=False)
        for place, found in members.items()
    }
    return [labels[(number - origin) // width] for number in numbers]


def _stack_levels(values: Sequence[object], levels: Sequence[Sequence[str]]) -> Hierarchy:
    top = [SUPPRESSED] * len(values)
    return Hierarchy.from_rows(zip([str(value) for value in values], *levels, top, strict=True))


def _scale(values: Sequence[Number | str]) -> dict[str, Number]:
    """Return each value's text with its number, in the numbers' order."""
    _refuse_empty("values", values)
    found = {str(value): _number(value) for value in values}
    return dict(sorted(found.items(), key=lambda entry: entry[1]))


def _number(value: Number | str) -> Number:
    try:
        number = float(value)
    except ValueError:
        raise ParameterError(f"the value '{value}' is not a number; leave it out or use other labels") from None
    return value if isinstance(value, int) else number


def _tight_ranges(texts: Sequence[str], places: Sequence[Number]) -> list[str]:
    """Return each value's interval, written from the first to the last value in the same place."""
    whole = all(INTEGER.fullmatch(text) for text in texts)
    members: dict[Number, list[str]] = {}
    for text, place in zip(texts, places, strict=True):
        members.setdefault(place, []).append(text)
    labels = {place: range_text(found[0], found[-1], whole=whole) for place, found in members.items()}
    return [labels[place] for place in places]


def _whole(ratio: float) -> bool:
    return abs(ratio - round(ratio)) < 1e-9


def _refuse_empty(name: str, values: Sequence[object]) -> None:
    if not values:
        raise ParameterError(f"a hierarchy needs {name}; found none")
