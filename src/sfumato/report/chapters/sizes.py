"""How large the classes of a table are, counted by size: as small for a billion rows as for a thousand.

Risks are those of El Emam 2013, discernibility that of Bayardo & Agrawal 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.evaluate.check import Risk
from sfumato.report.charts import charts
from sfumato.report.page.markup import Markup, element, figure, grid, joined
from sfumato.report.page.words import count

Int64s = npt.NDArray[np.int64]
LEAD = "A class is all rows with the same released quasi-identifiers: nobody can tell them apart by these."
DISCERNIBILITY = "Sum of squared class sizes, and the whole table for each row withheld. Lower is finer."


@dataclass(frozen=True, eq=False)
class Sizes:
    """The sizes that occur, smallest first, and how many classes have each.

    >>> sizes = Sizes.of(np.array([3, 5, 3]))
    >>> sizes.classes, sizes.rows, sizes.smallest, sizes.median
    (3, 11, 3, 3.0)
    """

    size: Int64s
    number: Int64s

    @classmethod
    def of(cls, sizes: Int64s) -> Sizes:
        """Return the sizes of classes, counted."""
        return cls(*np.unique(sizes, return_counts=True))

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.number.sum())

    @property
    def rows(self) -> int:
        """The number of rows, or of whatever the sizes count."""
        return int(self.size @ self.number)

    @property
    def smallest(self) -> int:
        """The size of the smallest class."""
        return int(self.size[0])

    @property
    def largest(self) -> int:
        """The size of the largest class."""
        return int(self.size[-1])

    @property
    def median(self) -> float:
        """The middle size, or the mean of the two in the middle."""
        ends = np.cumsum(self.number)
        middle = np.searchsorted(ends, [(self.classes - 1) // 2, self.classes // 2], side="right")
        return float(self.size[middle].mean())

    @property
    def unique(self) -> int:
        """The number of classes of one."""
        return int(self.number[0]) if self.smallest == 1 else 0

    @property
    def squares(self) -> int:
        """The sum of squared sizes."""
        return int(sum(int(size) ** 2 * int(number) for size, number in zip(self.size, self.number, strict=True)))

    @property
    def risk(self) -> Risk:
        """The chances of being found again in classes of these sizes."""
        most, mean = 1 / self.smallest, self.classes / self.rows
        return Risk(most, mean, most, mean)


def sizes_shown(sizes: Sizes, least: int | None, discernibility: float) -> Markup:
    """Return how large the classes are, as a chart and in numbers; `least` is the size asked for, if rows are counted.

    >>> "Classes by size" in sizes_shown(Sizes.of(np.array([3, 5])), 3, 34)
    True
    """
    rows = [
        ["Number of classes", count(sizes.classes)],
        ["Smallest", count(sizes.smallest)],
        ["Median", count(sizes.median)],
        ["Average", count(sizes.rows / sizes.classes)],
        ["Largest", count(sizes.largest)],
        [joined(["Discernibility", element("small", DISCERNIBILITY)]), count(discernibility)],
    ]
    picture = figure("Classes by size", charts.class_sizes(sizes.size, sizes.number, least))
    numbers = grid("Classes, their sizes in rows", [], rows)
    return joined([element("p", LEAD), element("div", picture, numbers, class_="pictured")])
