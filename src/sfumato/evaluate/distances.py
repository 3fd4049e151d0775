"""How far the distribution of each released column lies from that of the original.

Total variation and the Hellinger distance compare bars, the Wasserstein distance (Vallender 1974, for numbers) says how
far mass must be moved. A released cell spreads its row evenly over the values that it covers, which is how counting
queries read it too (LeFevre, DeWitt & Ramakrishnan 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.evaluate.features import ColumnFeatures
from sfumato.evaluate.regions import Regions, is_worded
from sfumato.evaluate.sides import Sides, read_sides
from sfumato.evaluate.utility import compare_marginals
from sfumato.schema import Schema
from sfumato.table import Table

Floats = npt.NDArray[np.float64]
MOST_POINTS = 1 << 20  # beyond these, whole numbers are as good as a continuous scale


@dataclass(frozen=True)
class ColumnDistance:
    """One column's distances: `total_variation` and `hellinger` from 0 (alike) to 1 (nothing in common).

    `wasserstein` is in the column's own units (days for dates and times, places for ordered words) and
    `wasserstein_share` its share of the column's scale; both are None for words without an order.

    >>> ColumnDistance(0.25, 0.2, wasserstein=2.5, wasserstein_share=0.05).hellinger
    0.2
    """

    total_variation: float
    hellinger: float
    wasserstein: float | None = None
    wasserstein_share: float | None = None


def column_distances(
    original: Table, schema: Schema, released: Table, columns: Sequence[str] | None = None
) -> dict[str, ColumnDistance]:
    """Return the distances of each column; without names those of quasi-identifiers and sensitive columns.

    Bars are words, whole numbers while there are at most 100 of them, and 100 equal bins otherwise; a missing value has
    a bar of its own, and is left out of Wasserstein distances. Never publish them: they are computed from raw rows.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 21, 22, 23]}))
    >>> coarse = Table(pl.DataFrame({"age": ["[20-21]", "[20-21]", "[20-23]", "[20-23]"]}))
    >>> found = column_distances(people, Schema.from_roles(quasi=["age"]), coarse)["age"]
    >>> found.total_variation, found.wasserstein
    (0.25, 0.5)
    """
    return {name: column_distance(sides) for name, sides in read_sides(original, schema, released, columns).items()}


def column_distance(sides: Sides) -> ColumnDistance:
    """Return the distances of one column, its cells read on both sides, as `column_distances` does.

    >>> import polars as pl
    >>> people, coarse = Table(pl.DataFrame({"sex": ["F", "M"]})), Table(pl.DataFrame({"sex": ["F", "F"]}))
    >>> column_distance(read_sides(people, Schema.from_roles(quasi=["sex"]), coarse)["sex"]).total_variation
    0.5
    """
    shape = compare_marginals(sides.released)
    bars = [
        np.maximum(0.0, np.append(rows, lost))
        for rows, lost in ((shape.before, shape.missing[0]), (shape.after, shape.missing[1]))
    ]
    before, after = (each / each.sum() for each in bars)
    apart = ((np.sqrt(before) - np.sqrt(after)) ** 2).sum() / 2
    features = ColumnFeatures(sides.column)
    moved = _moved(features, sides) if features.ordered else None
    low, high = features.scale
    return ColumnDistance(
        total_variation=float(np.abs(before - after).sum() / 2),
        hellinger=float(np.sqrt(min(1.0, apart))),
        wasserstein=None if moved is None else moved / features.unit,
        wasserstein_share=None if moved is None else moved / (high - low) if high > low else moved,
    )


def _moved(features: ColumnFeatures, sides: Sides) -> float | None:
    """Return how far mass is moved on average; None where a side has no value."""
    masses = [features.run_masses(regions) for regions in (sides.original, sides.released)]
    if any(mass.sum() <= 0 for mass in masses):
        return None
    masses = [mass / mass.sum() for mass in masses]
    low = min(regions.low.min() for regions in (sides.original, sides.released))
    high = max(regions.high.max() for regions in (sides.original, sides.released))
    if is_worded(sides.column):
        points = np.asarray(features.points)
    elif sides.original.grain and high - low < MOST_POINTS:
        points = np.arange(low, high + 1)
    else:
        return _moved_between(sides, masses)
    start = 0.0 if is_worded(sides.column) else low
    before, after = (
        _on_points(regions, mass, start, len(points))
        for regions, mass in zip((sides.original, sides.released), masses, strict=True)
    )
    order = np.argsort(points, kind="stable")
    return float((np.abs(np.cumsum((before - after)[order]))[:-1] * np.diff(points[order])).sum())


def _on_points(regions: Regions, mass: Floats, start: float, count: int) -> Floats:
    """Return the mass on each of `count` neighbouring points."""
    first, last = ((ends - start).astype(np.int64) for ends in (regions.low, regions.high))
    steps, each = np.zeros(count + 1), mass / (last - first + 1)
    np.add.at(steps, first, each)
    np.add.at(steps, last + 1, -each)
    return np.cumsum(steps)[:-1]


def _moved_between(sides: Sides, masses: Sequence[Floats]) -> float:
    """Return the area between the distribution functions of masses on stretches of a continuous scale."""
    both = [*zip((sides.original, sides.released), masses, strict=True)]
    places = np.unique(np.concatenate([ends for regions, _ in both for ends in (regions.low, regions.high)]))
    (before, before_above), (after, after_above) = (_distribution(regions, mass, places) for regions, mass in both)
    left, right = (before_above - after_above)[:-1], (before - after)[1:]
    size = np.abs(left) + np.abs(right)
    crossing = (left**2 + right**2) / np.where(size > 0, size, 1.0)
    return float((np.where(left * right < 0, crossing, size) / 2 * np.diff(places)).sum())


def _distribution(regions: Regions, mass: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Return the mass below each place, without and with what lies on it."""
    first, last = (np.searchsorted(places, ends) for ends in (regions.low, regions.high))
    point = first == last
    on = np.bincount(first[point], weights=mass[point], minlength=len(places))
    slopes, density = np.zeros(len(places)), mass[~point] / (regions.high - regions.low)[~point]
    np.add.at(slopes, first[~point], density)
    np.add.at(slopes, last[~point], -density)
    spread = np.concatenate([[0.0], np.cumsum(np.cumsum(slopes)[:-1] * np.diff(places))])
    above = spread + np.cumsum(on)
    return above - on, above
