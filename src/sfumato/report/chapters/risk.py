"""Class sizes and risks, of the original and of the released rows side by side.

Classes are counted by size, which takes as little space for a billion rows as for a thousand. The three attackers are
those of El Emam (2013, chapters 16-19), discernibility is that of Bayardo & Agrawal 2005; what a class reveals about a
sensitive column follows Machanavajjhala et al. 2007 and Li, Li & Venkatasubramanian 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.evaluate.check import Risk, SensitiveMeasures
from sfumato.evaluate.starred import starred_words
from sfumato.report import charts
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.page.markup import Markup, element, figure, grid, join
from sfumato.report.page.words import count, percent

Int64s = npt.NDArray[np.int64]
CLASSES = (
    "A class is the set of rows with the same released quasi-identifiers; these columns cannot tell its rows apart."
)
DISCERNIBILITY = (
    "The sum of squared class sizes, plus the number of all rows for each row withheld. Lower means finer classes."
)
ATTACKERS = {
    "prosecutor_max": (
        "Prosecutor, worst case",
        "Knows that a person is in the table. Probability of finding the person most at risk.",
    ),
    "prosecutor_mean": ("Prosecutor, on average", "The same for a person drawn at random from the table."),
    "journalist_max": (
        "Journalist, worst case",
        "Does not know who is in the table. Without a register of the population, the table is used instead.",
    ),
    "marketer": ("Marketer", "Links everybody at once. Expected share of correct links."),
}
ATTACKED = "Probability that somebody who knows the exact quasi-identifiers finds the person again."
PERSONS = (
    "Probabilities of being found count persons; everything else counts rows. The release does not show which rows "
    "belong to one person, so the probabilities after are upper bounds from its smallest class."
)


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """The sizes that occur, smallest first, and how many classes have each.

    >>> sizes = ClassSizes.of(np.array([3, 5, 3]))
    >>> sizes.classes, sizes.rows, sizes.smallest, sizes.median
    (3, 11, 3, 3.0)
    """

    size: Int64s
    number: Int64s

    @classmethod
    def of(cls, sizes: Int64s) -> ClassSizes:
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
        """The probabilities of being found again in classes of these sizes."""
        most, mean = 1 / self.smallest, self.classes / self.rows
        return Risk(most, mean, most, mean)


def sizes_and_chart(sizes: ClassSizes, least: int | None, discernibility: float) -> Markup:
    """Return how large the classes are, as a chart and in numbers; `least` is the size asked for, if rows are counted.

    >>> "Classes by size" in sizes_and_chart(ClassSizes.of(np.array([3, 5])), 3, 34)
    True
    """
    rows = [
        ["Number of classes", count(sizes.classes)],
        ["Smallest", count(sizes.smallest)],
        ["Median", count(sizes.median)],
        ["Average", count(sizes.rows / sizes.classes)],
        ["Largest", count(sizes.largest)],
        [join(["Discernibility", element("small", DISCERNIBILITY)]), count(discernibility)],
    ]
    picture = figure("Classes by size", charts.class_sizes(sizes.size, sizes.number, least))
    numbers = grid("Classes, their sizes in rows", [], rows)
    return join([element("p", CLASSES), element("div", picture, numbers, class_="pictured")])


def risks_before_and_after(evidence: Evidence) -> Markup:
    """Return the attackers' probabilities, and what classes reveal, in the original and in the release."""
    header = ["Risk", "Before", "After"]
    risks = (evidence.risk_before, evidence.risk_after)
    uniques = (evidence.before.uniques, evidence.after.uniques)
    tables = [grid("Being found again", header, attackers(*risks, uniques, persons=evidence.counts_persons))]
    for name in evidence.sensitive:
        rows = _disclosure(evidence.before.sensitive[name], evidence.after.sensitive[name])
        tables.append(grid(f"What a class reveals about {name}", header, rows))
    notes = [PERSONS] if evidence.counts_persons else []
    notes += [starred_words(evidence.after.starred)] if evidence.after.starred else []
    said = join(element("p", words, class_="note") for words in notes)
    return join([element("p", ATTACKED), said, element("div", *tables, class_="beside")])


def attackers(before: Risk, after: Risk, uniques: tuple[int, int], *, persons: bool) -> list[list[str]]:
    """Return a line for each attacker's probabilities before and after, and one for unique rows.

    Where persons are counted, the probabilities after are upper bounds.
    """
    bound = "≤\N{NO-BREAK SPACE}" if persons else ""
    rows = [
        [_name_and_meaning(*words), percent(getattr(before, name)), bound + percent(getattr(after, name))]
        for name, words in ATTACKERS.items()
    ]
    unique = _name_and_meaning("Unique rows", "No other row has the same quasi-identifiers.")
    return [*rows, [unique, *map(count, uniques)]]


def _disclosure(before: SensitiveMeasures, after: SensitiveMeasures) -> list[list[str]]:
    shares = _name_and_meaning(
        "Surest guess", "The largest share of one value in a class: an attacker’s confidence in that value."
    )
    values = _name_and_meaning("Different values", "In the class with the fewest.")
    entropy = _name_and_meaning("Effective values", "In the least varied class; rare values count less (entropy).")
    distance = _name_and_meaning("Distance from the whole table", "Of the class that differs most, from 0 to 1.")
    return [
        [shares, percent(before.alpha), percent(after.alpha)],
        [values, count(before.l_distinct), count(after.l_distinct)],
        [entropy, f"{before.l_entropy:.2f}", f"{after.l_entropy:.2f}"],
        [distance, f"{before.t:.3f}", f"{after.t:.3f}"],
    ]


def _name_and_meaning(name: str, meaning: str) -> Markup:
    return join([name, element("small", meaning)])
