"""What a release has lost against its original: certainty per cell, class sizes, shapes of the marginals.

NCP and GCP follow Xu et al. 2006 and Ghinita et al. 2007, discernibility Bayardo & Agrawal 2005; these
numbers come from the original rows and belong in the steward's report, never on the public card. Group means lose
exactly the variance within groups (Domingo-Ferrer & Mateo-Sanz 2002), so what is left shows what was lost.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.core.cells import joint
from sfumato.core.parameters import Whole
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.regions import (
    Regions,
    code_original,
    domain,
    exact_regions,
    is_continuous,
    is_worded,
    read_regions,
)
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.kinds import is_missing, parse
from sfumato.schema.times import EPOCH, wall_time
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.table.distinct import distinct
from sfumato.tabular.coarsen import coarsen_table

Floats = npt.NDArray[np.float64]
BINS = Whole(1)
DISTANCE_BINS = 100
MOST_BARS = 20
MOST_NODES = 10
MISSING = "missing"
OTHER = "other"


@dataclass(frozen=True)
class ColumnLoss:
    """One quasi-identifier's loss: `ncp` and `histogram_distance`, both from 0 (none) to 1 (everything).

    >>> ColumnLoss(ncp=0.04, histogram_distance=0.01).ncp
    0.04
    """

    ncp: float
    histogram_distance: float


@dataclass(frozen=True)
class Utility:
    """How much a release has lost; `gcp` is the mean NCP of all quasi-identifying cells.

    >>> loss = ColumnLoss(ncp=0.25, histogram_distance=0.1)
    >>> Utility(rows=4, classes=2, gcp=0.25, discernibility=8, columns={"age": loss}).average_class
    2.0
    """

    rows: int
    classes: int
    gcp: float
    discernibility: int
    columns: Mapping[str, ColumnLoss]

    @property
    def average_class(self) -> float:
        """The mean number of rows in a class."""
        return self.rows / self.classes


@dataclass(frozen=True, eq=False)
class Histogram:
    """A column before and after: one label and two counts per bar, and the ends of the bins where it is numeric.

    Categories stand by frequency, ordinals in their order, values under a hierarchy in its order and by the finest
    `level` that has few enough nodes, with a bar for missing values. Where bars are bins, `missing` has the rows
    without a value, before and after. A generalised cell spreads evenly over its region.

    >>> Histogram("sex", ("F", "M"), np.array([3.0, 1.0]), np.array([2.0, 2.0])).distance
    0.25
    """

    name: str
    labels: tuple[str, ...]
    before: Floats
    after: Floats
    edges: Floats | None = None
    missing: tuple[float, float] = (0.0, 0.0)
    level: int = 0

    @property
    def distance(self) -> float:
        """The total variation distance between the two, from 0 (same shape) to 1 (nothing in common)."""
        before, after = np.append(self.before, self.missing[0]), np.append(self.after, self.missing[1])
        return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)


def utility(original: Table, schema: Schema, released: Table) -> Utility:
    """Return what the quasi-identifiers of a release have lost.

    A cell's NCP is its range over the column's (public bounds where declared, else as observed), or the
    share of the categories or leaves it may be; 0 for a single value, 1 for `*` (the whole domain) and for
    a cell that a missing value joined. A row left out of the release counts as a row of `*`, and adds the number of
    original rows to discernibility. Histogram distances compare single points where a column has at most
    100 of them, and 100 equal bins otherwise.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 30, 50, 60]}))
    >>> coarse = Table(pl.DataFrame({"age": ["[20-30]", "[20-30]", "[50-60]", "[50-60]"]}))
    >>> loss = utility(people, Schema.from_roles(quasi=["age"]), coarse)
    >>> loss.gcp, loss.classes, loss.discernibility, round(loss.columns["age"].histogram_distance, 3)
    (0.25, 2, 8, 0.818)
    """
    if released.rows == 0:
        raise InputError("the released table has no rows; there is nothing to measure")
    settled = schema.settled(original)
    columns = [code_original(original, settled, name) for name in settled.names(Role.QUASI)]
    if not columns:
        raise InputError("no column has the role quasi; name the columns an attacker may know")
    regions = [read_regions(column, released) for column in columns]
    left_out = max(0, original.rows - released.rows)
    losses = {each.column.name: _loss(each, left_out) for each in regions}
    sizes = distinct([each.index for each in regions], [each.count for each in regions]).counts
    return Utility(
        rows=released.rows,
        classes=len(sizes),
        gcp=float(np.mean([loss.ncp for loss in losses.values()])),
        discernibility=int((sizes**2).sum()) + left_out * original.rows,
        columns=losses,
    )


def histogram(original: Table, schema: Schema, released: Table, name: str, bins: int = 30) -> Histogram:
    """Return a column's counts before and after, ready to plot.

    Numbers fall into at most `bins` bins of equal width, whole numbers wide on integers and dates; of the
    categories the 20 most frequent have a bar each, the rest one together. Values under a hierarchy are added up to its
    finest level of at most 10 nodes, in the hierarchy's order.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 21, 22, 23]}))
    >>> coarse = Table(pl.DataFrame({"age": ["[20-21]", "[20-21]", "[22-23]", "[22-23]"]}))
    >>> shape = histogram(people, Schema.from_roles(quasi=["age"]), coarse, "age", bins=4)
    >>> shape.labels, shape.before.tolist(), shape.after.tolist()
    (('20', '21', '22', '23'), [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0])
    """
    if not BINS.accepts(bins):
        raise ParameterError(f"The 'bins' parameter of histogram must be {BINS.wanted}. Got {bins!r} instead.")
    column = code_original(*coarsen_table(original, schema.settled(original)), name)
    shape = compare_marginals(read_regions(column, released), bins)
    if shape.edges is not None:
        return shape
    if column.attribute.hierarchy is not None:
        shape = _roll_up(shape, column.attribute.hierarchy)
    return _shorten_bars(shape, ordered=column.kind is Kind.ORDINAL or column.attribute.hierarchy is not None)


def _loss(regions: Regions, left_out: int) -> ColumnLoss:
    cells = certainty_penalties(regions)[regions.index]
    ncp = (cells.sum() + left_out) / (len(cells) + left_out)
    return ColumnLoss(float(ncp), compare_marginals(regions, DISTANCE_BINS).distance)


def certainty_penalties(regions: Regions) -> Floats:
    """Return the normalised certainty penalty (NCP) of each region.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> age = code(pl.Series("age", [20, 60]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> certainty_penalties(read_regions(age, Table(pl.DataFrame({"age": ["20", "[20-30]", "*"]})))).tolist()
    [0.0, 0.25, 1.0]
    """
    valued = np.diff(regions.starts) > 0
    penalty = np.where(regions.missing & valued, 1.0, 0.0)
    if not valued.any():
        return penalty
    if is_worded(regions.column):
        share = np.where(regions.sizes > 1, regions.sizes, 0.0) / len(regions.column.levels)
    else:
        low, high = domain(regions.column)
        widths = np.bincount(regions.owners, weights=regions.high - regions.low, minlength=regions.count)
        share = widths / max(high - low, np.finfo(np.float64).tiny)
    return np.maximum(penalty, np.minimum(1.0, share))


def compare_marginals(regions: Regions, bins: int = DISTANCE_BINS) -> Histogram:
    """Return the two marginals of a released column: a bar per category, or at most `bins` bins.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> sex = code(pl.Series("sex", ["F", "M"]), Attribute("sex", Role.QUASI, Kind.CATEGORY))
    >>> compare_marginals(read_regions(sex, Table(pl.DataFrame({"sex": ["{F, M}", "M"]})))).after.tolist()
    [0.5, 1.5]
    """
    column = regions.column
    both = exact_regions(column), regions
    lost = _missing_mass(both[0]), _missing_mass(both[1])
    if column.kind.numeric and column.attribute.hierarchy is None and len(column.levels):
        edges = _edges(column, regions, bins)
        before, after = (_on_bins(each, edges) for each in both)
        return Histogram(column.name, _bin_labels(column, edges), before, after, edges, lost)
    labels = tuple(str(level) for level in column.levels)
    before, after = (_on_places(each, len(labels)) for each in both)
    if any(lost):
        labels, before, after = (*labels, MISSING), np.append(before, lost[0]), np.append(after, lost[1])
    return Histogram(column.name, labels, before, after)


def _densities(regions: Regions) -> Floats:
    """Return the rows that fall on each point of each run, or on each unit of length; 0 on a run without length."""
    rows = np.bincount(regions.index, minlength=regions.count).astype(np.float64)
    sizes = regions.sizes
    return np.divide(rows, sizes, out=np.zeros(regions.count), where=sizes > 0)[regions.owners]


def _missing_mass(regions: Regions) -> float:
    rows = np.bincount(regions.index, minlength=regions.count)
    alone = np.diff(regions.starts) == 0
    shares = np.divide(regions.missing, regions.sizes, out=np.zeros(regions.count), where=regions.sizes > 0)
    return float((rows * np.where(alone, 1.0, shares * regions.grain)).sum())


def _on_places(regions: Regions, count: int) -> Floats:
    """Return the mass on each of `count` places."""
    steps, density = np.zeros(count + 1), _densities(regions)
    np.add.at(steps, regions.low.astype(np.int64), density)
    np.add.at(steps, regions.high.astype(np.int64) + 1, -density)
    return np.maximum(0.0, np.cumsum(steps)[:-1])


def _on_bins(regions: Regions, edges: Floats) -> Floats:
    """Return the mass in each bin; a point on an edge falls into the bin above, the last one closed."""
    density, pad = _densities(regions), regions.grain / 2
    low, high = regions.low - pad, regions.high + pad
    below = np.array([(density * (np.clip(edge, low, high) - low)).sum() for edge in edges])
    points = np.flatnonzero(high == low)
    rows = np.bincount(regions.index, minlength=regions.count)[regions.owners[points]]
    masses: Floats = np.diff(below) + np.histogram(low[points], edges, weights=rows)[0]
    return masses


def _edges(column: Column, regions: Regions, bins: int) -> Floats:
    """Return the ends of equal bins over the column's domain, widened where a region reaches beyond it."""
    low, high = domain(column)
    low, high = float(regions.low.min(initial=low)), float(regions.high.max(initial=high))
    if is_continuous(column):
        return np.linspace(low, high if high > low else low + 1, bins + 1).astype(np.float64)
    width = math.ceil((high - low + 1) / bins)
    count = math.ceil((high - low + 1) / width)
    edges: Floats = low - 0.5 + width * np.arange(count + 1, dtype=np.float64)
    return edges


def _bin_labels(column: Column, edges: Floats) -> tuple[str, ...]:
    if column.kind is Kind.TIMESTAMP:
        times = [wall_time(edge).isoformat(sep=" ", timespec="minutes") for edge in edges]
        return tuple(f"{low}{joint(whole=False)}{high}" for low, high in pairwise(times))
    if column.kind is Kind.NUMBER:
        return tuple(f"{low:.6g}{joint(whole=False)}{high:.6g}" for low, high in pairwise(edges))
    firsts, lasts = (edges[:-1] + 0.5).astype(np.int64), (edges[1:] - 0.5).astype(np.int64)
    between = joint(whole=column.kind is Kind.INTEGER)
    ends = [(_point(column, first), _point(column, last)) for first, last in zip(firsts, lasts, strict=True)]
    return tuple(first if first == last else f"{first}{between}{last}" for first, last in ends)


def _point(column: Column, place: np.int64) -> str:
    return str(place) if column.kind is Kind.INTEGER else str(EPOCH + dt.timedelta(days=int(place)))


def _roll_up(shape: Histogram, tree: Hierarchy) -> Histogram:
    """Return the bars added up to the finest level that has at most ten nodes, unless only the root has so few."""
    levels: dict[int, list[tuple[str, int]]] = {}
    for label, level, start, _ in tree.nodes():
        levels.setdefault(level, []).append((label, start))
    few = [level for level, nodes in levels.items() if 1 < len(nodes) <= MOST_NODES]
    if not few:
        return shape
    names, starts = zip(*levels[min(few)], strict=True)
    leaves = len(tree.leaves)
    before, after = (
        np.append(np.add.reduceat(bars[:leaves], starts), bars[leaves:]) for bars in (shape.before, shape.after)
    )
    return replace(shape, labels=(*names, *shape.labels[leaves:]), before=before, after=after, level=min(few))


def _shorten_bars(shape: Histogram, *, ordered: bool) -> Histogram:
    """Return the histogram with bars by frequency, those beyond the most frequent as one."""
    order = np.argsort(-shape.before, kind="stable")
    kept, rest = order[:MOST_BARS], order[MOST_BARS:]
    if ordered:
        kept = np.sort(kept)
    labels = tuple(shape.labels[place] for place in kept)
    before, after = shape.before[kept], shape.after[kept]
    if len(rest):
        labels = (*labels, OTHER)
        before, after = np.append(before, shape.before[rest].sum()), np.append(after, shape.after[rest].sum())
    return replace(shape, labels=labels, before=before, after=after)


def variance_lost(original: Table, schema: Schema, released: Table) -> dict[str, float]:
    """Return the lost share of variance of each numeric quasi-identifier that is released as group means.

    >>> import polars as pl, sfumato as sf
    >>> people = Table(pl.DataFrame({"age": [20, 22, 70, 72]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> release = sf.MDAV().anonymize(people, schema, [sf.KAnonymity(2)])
    >>> round(variance_lost(people, schema, release.table)["age"], 6)
    0.001597
    """
    settled = schema.settled(original)
    lost = {}
    for name in settled.names(Role.QUASI):
        attribute = settled.columns[name]
        shown = released.column(name)
        if attribute.kind is None or not attribute.kind.numeric or not shown.dtype.is_float():
            continue
        series = original.column(name)
        missing = is_missing(series, attribute.missing)
        before = float(parse(series, attribute.kind, missing, attribute.written).var())
        lost[name] = 1 - float(shown.to_numpy().var()) / before if before > 0 else 0.0
    return lost
