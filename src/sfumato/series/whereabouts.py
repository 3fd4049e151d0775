"""Which classes of a release a person may be in, by the person's quasi-identifiers and the published cells alone.

Classes are boxes (LeFevre, DeWitt & Ramakrishnan 2006); where boxes of one release overlap, a person in the overlap may
be in either, and the attacker knows no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import column_text
from sfumato.schema import Attribute
from sfumato.series.published import PublishedClasses, code_texts
from sfumato.table.axis import CellAxis
from sfumato.table.distinct import distinct

Truths = npt.NDArray[np.bool_]
AT_ONCE = 4096


def possible_classes(
    people: pl.DataFrame, release: PublishedClasses, columns: Mapping[str, Attribute]
) -> list[tuple[int, ...]]:
    """Return for each row of people the classes of a release whose cells it fits.

    >>> from sfumato.schema import Role
    >>> table = pl.DataFrame({"age": ["[20-25]", "[25-30]"], "ill": ["flu", "gout"]})
    >>> published = PublishedClasses.of(table, ["age"], "ill")
    >>> possible_classes(pl.DataFrame({"age": ["21", "25", "40"]}), published, {"age": Attribute("age", Role.QUASI)})
    [(0,), (0, 1), ()]
    """
    fits, codes, sizes = [], [], []
    for place, (name, attribute) in enumerate(columns.items()):
        texts, code = code_texts(column_text(people, name))
        meets = _fits(texts, release.texts[place], attribute)
        fits.append(np.packbits(meets[:, release.cells[:, place]], axis=1))
        codes.append(code)
        sizes.append(len(texts))
    points = distinct(codes, sizes)
    examples = points.examples
    found = list(_classes([fit[code[examples]] for fit, code in zip(fits, codes, strict=True)], len(release.cells)))
    return [found[point] for point in points.ids.tolist()]


def _classes(fits: Sequence[npt.NDArray[np.uint8]], count: int) -> Iterator[tuple[int, ...]]:
    """Yield the classes that every column of a point fits."""
    for start in range(0, len(fits[0]), AT_ONCE):
        both = np.bitwise_and.reduce([fit[start : start + AT_ONCE] for fit in fits])
        point, number = np.nonzero(np.unpackbits(both, axis=1, count=count))
        parts = np.split(number, np.searchsorted(point, np.arange(1, len(both))))
        yield from (tuple(part.tolist()) for part in parts)


def _fits(values: Sequence[str], cells: Sequence[str], attribute: Attribute) -> Truths:
    """Return which original values lie in which published cells of a column."""
    axis = CellAxis((*values, *cells), attribute)
    if not axis.numeric:
        return np.array([[bool(axis[value] & axis[cell]) for cell in cells] for value in values], dtype=np.bool_)
    inside = np.zeros((len(values), len(cells)), dtype=np.bool_)
    limits = [axis.cells[cell].limits for cell in cells]
    for row, value in enumerate(values):
        own = axis.cells[value].limits
        if own is None:  # a missing value, or one that is not told
            inside[row] = [bool(axis[value] & axis[cell]) for cell in cells]
    told = [row for row, value in enumerate(values) if axis.cells[value].limits is not None]
    everything = np.array([axis.cells[cell].everything for cell in cells], dtype=np.bool_)
    low, high = _ends([axis.cells[values[row]].limits for row in told])
    start, end = _ends(limits)
    inside[told] = ((low[:, None] <= end[None, :]) & (start[None, :] <= high[:, None])) | everything[None, :]
    return inside


def _ends(limits: Sequence[object]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the lower and upper ends of ranges; no range begins after it ends."""
    pairs = [sorted(limit) if isinstance(limit, tuple) else (np.inf, -np.inf) for limit in limits]
    ends = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2)
    return ends[:, 0], ends[:, 1]
