"""What a sample tells about its population by numbers alone: how many classes have each size, and how many people live.

All estimators of population uniques read these counts and nothing else (Bethlehem, Keller & Pannekoek 1990).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SampledClasses:
    """The sizes that classes of a sample have, smallest first, how many have each, and the size of the population.

    >>> sample = SampledClasses.of(np.array([1, 3, 1, 2]), population=70)
    >>> sample.rows, sample.classes, sample.uniques, sample.pairs, sample.fraction
    (7.0, 4.0, 2.0, 1.0, 0.1)
    """

    sizes: Floats
    numbers: Floats
    population: float

    @classmethod
    def of(cls, sizes: Int64s, population: float) -> SampledClasses:
        """Return the counts of a sample whose classes have these sizes."""
        if population < sizes.sum():
            raise ParameterError(
                f"the population has {population:g} people and the sample {sizes.sum()} rows; give at least as many"
            )
        found, numbers = np.unique(sizes, return_counts=True)
        return cls(found.astype(np.float64), numbers.astype(np.float64), float(population))

    @property
    def rows(self) -> float:
        """The number of rows."""
        return float(self.sizes @ self.numbers)

    @property
    def classes(self) -> float:
        """The number of classes."""
        return float(self.numbers.sum())

    @property
    def fraction(self) -> float:
        """The share of the population that was sampled."""
        return self.rows / self.population

    @property
    def uniques(self) -> float:
        """The number of classes of one row."""
        return self.number_of(1)

    @property
    def pairs(self) -> float:
        """The number of classes of two rows."""
        return self.number_of(2)

    @property
    def complete(self) -> bool:
        """Whether the sample is the whole population."""
        return self.population <= self.rows

    def number_of(self, size: int) -> float:
        """Return how many classes have a size.

        >>> SampledClasses.of(np.array([1, 3, 1]), 50).number_of(3)
        1.0
        """
        return float(self.numbers[self.sizes == size].sum())

    def with_more(self, place: int, more: float) -> SampledClasses:
        """Return the counts with more classes of the size at a place; rows follow, the population stays.

        >>> SampledClasses.of(np.array([1, 3, 1]), 50).with_more(1, 1.0).rows
        8.0
        """
        numbers = self.numbers.copy()
        numbers[place] += more
        return replace(self, numbers=numbers)
