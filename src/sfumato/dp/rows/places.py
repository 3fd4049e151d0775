"""Where a number lies among public ones, as SQL that is alike in all engines: its bin, or the value that it equals.

Numbers are compared as doubles, never computed with, or computed and then put right by comparisons, so that no
rounding moves a row over an edge (Mironov 2012).
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.dp.rows.dialect import double


def bin_by_halving(x: str, edges: tuple[float, ...], first: int, last: int) -> str:
    """Return the number of the bin between two edges by halving.

    >>> bin_by_halving("x", (0.0, 1.0, 2.0), 0, 2)
    'CASE WHEN x < 1.0e0 THEN 0 ELSE 1 END'
    """
    if last - first == 1:
        return str(first)
    middle = (first + last) // 2
    below, above = bin_by_halving(x, edges, first, middle), bin_by_halving(x, edges, middle, last)
    return f"CASE WHEN {x} < {double(edges[middle])} THEN {below} ELSE {above} END"


def place_of(x: str, values: tuple[float, ...]) -> str:
    """Return the place of a number at or between values: odd at one of them, even in a gap.

    >>> place_of("x", (5.0,))
    'CASE WHEN x < 5.0e0 THEN 0 WHEN x > 5.0e0 THEN 2 ELSE 1 END'
    """
    return place_by_halving(x, values, lambda place: str(2 * place + 1), lambda gap: str(2 * gap))


def place_by_halving(
    x: str, values: tuple[float, ...], at: Callable[[int], str], between: Callable[[int], str], first: int = 0
) -> str:
    """Return what `at` gives for the value that a number equals, or `between` for the gap that holds it, by halving.

    >>> place_by_halving("x", (5.0,), str, lambda gap: "NULL")
    'CASE WHEN x < 5.0e0 THEN NULL WHEN x > 5.0e0 THEN NULL ELSE 0 END'
    """
    if not values:
        return between(first)
    middle = len(values) // 2
    below = place_by_halving(x, values[:middle], at, between, first)
    above = place_by_halving(x, values[middle + 1 :], at, between, first + middle + 1)
    value = double(values[middle])
    return f"CASE WHEN {x} < {value} THEN {below} WHEN {x} > {value} THEN {above} ELSE {at(first + middle)} END"


def is_even(edges: tuple[float, ...]) -> bool:
    """Return whether the edges lie so evenly that a bin computed from the width is off by one at most.

    >>> is_even((0.0, 1.0, 2.0)), is_even((0.0, 1.0, 5.0))
    (True, False)
    """
    width = (edges[-1] - edges[0]) / (len(edges) - 1)
    return all(abs(edge - edges[0] - place * width) < width / 4 for place, edge in enumerate(edges))


def even_bin(x: str, edges: tuple[float, ...], edge: Callable[[str], str]) -> str:
    """Return the number of one of many even bins: computed from the width, then put right by the edges themselves.

    >>> even_bin("x", (0.0, 1.0), lambda place: f"edge({place})").startswith("CASE WHEN x < edge(CAST(")
    True
    """
    bins = len(edges) - 1
    guess = f"floor(({x} - {double(edges[0])}) / {double((edges[-1] - edges[0]) / bins)})"
    place = f"CAST(least(greatest({guess}, 0), {bins - 1}) AS BIGINT)"
    too_far = f"{x} < {edge(place)} THEN {place} - 1"
    too_near = f"{x} >= {edge(f'{place} + 1')} THEN {place} + 1"  # beyond the last bin there is no edge: NULL
    return f"CASE WHEN {too_far} WHEN {too_near} ELSE {place} END"
