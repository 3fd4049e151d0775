"""Numbers and tables as the page of the scale benchmark writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table_of(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    >>> print(table_of(("what", "how much"), [("rows", "3")]))
    | what | how much |
    | --- | --- |
    | rows | 3 |
    """
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cell(value: float | None, unit: float) -> str:
    """Return a number in some unit as a cell, empty where there is none.

    >>> cell(2_500_000, 1e6), cell(None, 1)
    ('2', '')
    """
    return "" if value is None else f"{value / unit:,.0f}"


def many_of(rows: float) -> str:
    """Return a number of rows in short.

    >>> many_of(10_000_000), many_of(25_000)
    ('10M', '25k')
    """
    return f"{rows / 1e6:g}M" if rows >= 1e6 else f"{rows / 1e3:g}k"


def power(value: float) -> str:
    """Return a large number as a power of ten.

    >>> power(1e12), power(2.5e9)
    ('10¹²', '2.5·10⁹')
    """
    digits, _, exponent = f"{value:.1e}".partition("e")
    raised = str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1.0" else f"{float(digits):g}·10{raised}"


def in_time(value: float) -> str:
    """Return a time in the unit a person would use.

    >>> in_time(90), in_time(9000)
    ('90 s', '2.5 h')
    """
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if value < limit:
            return f"{value / size:.3g} {unit}"
    return f"{value / 86_400:.3g} days"


def in_bytes(value: float) -> str:
    """Return bytes in the unit a person would use.

    >>> in_bytes(12.5), in_bytes(3e9)
    ('12.5 bytes', '3 GB')
    """
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} bytes"
