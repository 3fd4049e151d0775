"""k-map: every released row fits at least k people of the population (Sweeney 2002; El Emam & Dankar 2008).

With a table of the population they are counted. Without one, k is tested from the sampling fraction: class sizes are
taken as Poisson, cut off at zero, as El Emam & Dankar (2008) do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

from sfumato.core.parameters import Option, Optional, Real, Whole
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import smallest
from sfumato.models.population import Population, PopulationRule, population_of
from sfumato.release.card import MeasuredModel
from sfumato.table.coding import Column

WITHIN = "All people of the table are in the population {people}, each with one row."
UNKNOWN = (
    "For k-map an attacker does not know who of the population is in the table; whoever knows it faces the classes of "
    "the table alone."
)
UNSHOWN = "the card names the population and shows no row of it; sfumato check --population FILE counts it"
COUNTED, ESTIMATED = "k-map", "k-map by estimate"
POPULATION = Option(
    "File with the people whom an attacker looks through, among them those of the table; local-recoding then keeps the "
    "classes of mondrian."
)


@dataclass(frozen=True)
class KMap(Model):
    """Whoever looks for a released row in the population finds at least k people who fit it (Sweeney 2002).

    Give a `population`, or the `sampling` fraction with which the table was drawn at random: then a class of the table
    must be so large that a class of k people would give one as large with a chance of at most `significance`.

    >>> KMap(20, sampling=0.1).least_units, KMap(20, sampling=0.5).least_units
    (6, 16)
    >>> KMap(20)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: k-map needs the population it speaks of; give --population or --sampling
    """

    k: int
    population: str | Population | None = None
    sampling: float | None = None
    significance: float = 0.05

    RULES: ClassVar = {
        "k": Whole(2),
        "population": Optional(PopulationRule()),
        "sampling": Optional(Real(0, 1, above=True)),
        "significance": Real(0, 0.5, above=True),
    }
    OPTIONS: ClassVar = {
        "k": Option("Every released row fits at least so many people of the population.", name="k_map"),
        "population": POPULATION,
        "sampling": Option("Share of the population that is in the table, drawn at random."),
        "significance": Option("How often the estimate of a class by --sampling may be wrong."),
    }
    called: ClassVar = "k-map"
    asks: ClassVar = "k"
    at_least: ClassVar = True
    card_names: ClassVar = (COUNTED, ESTIMATED)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True  # the labels of the other classes stay as they are
    sparing_monotone: ClassVar = True  # each class is judged by itself

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.population is None) == (self.sampling is None):
            what = "needs the population it speaks of; give" if self.population is None else "takes one of"
            raise ParameterError(f"k-map {what} --population or --sampling")
        object.__setattr__(self, "population", population_of(self.population))

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(5, sampling=0.3), cls(9, sampling=0.5, significance=0.2)

    @property
    def name(self) -> str:
        return COUNTED if self.sampling is None else ESTIMATED

    @property
    def people(self) -> Population | None:
        return self.population if isinstance(self.population, Population) else None

    @property
    def sentence(self) -> str:
        if self.sampling is None:
            return "Every combination of {quasi} fits at least {asked} people of the population " + as_words(
                self.people
            )
        return (
            "Every combination of {quasi} is shared by so many {units} that at least {asked} people of the population "
            "are estimated to have it; for a combination that fewer have, the estimate is wrong with a chance of at "
            f"most {100 * self.significance:.4g} %."
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        sampled = (
            f"The table is a random sample of the share {self.sampling} of the population, and how many of a class are "
            "in it is Poisson distributed."
        )
        return sampled if self.people is None else WITHIN.format(people=self.people.words), UNKNOWN

    def parameters(self) -> dict[str, float | str]:
        if self.people is not None:
            return {"k_map": self.k, "population": self.people.words}
        return {"k_map": self.k, "sampling": self.sampling or 1.0, "significance": self.significance}

    @classmethod
    def from_card(cls, entry: MeasuredModel, parameters: Mapping[str, Any]) -> Self:
        asked = int(entry.asked)
        if entry.model == COUNTED:
            return cls(asked, population=Population.named(str(parameters["population"])))
        return cls(asked, sampling=parameters["sampling"], significance=parameters["significance"])

    @property
    def least_units(self) -> int:
        return 1 if self.sampling is None else least_sample(self.k, self.sampling, self.significance)

    def class_value(self, one: ClassCounts) -> float:
        """The people whom the class's labels fit or, by estimate, the largest k that its size supports."""
        if self.sampling is not None:
            return supported(one.units, self.sampling, self.significance)
        if one.population is None:
            raise ParameterError(f"k-map needs the population {self.people}; nobody counted it here")
        return one.population

    def measure(self, groups: Groups) -> float:
        if self.sampling is not None:
            return supported(smallest(groups), self.sampling, self.significance)
        return super().measure(groups)

    @property
    def untold(self) -> str:
        return UNSHOWN

    def measure_again(self, groups: Groups, kind: str | None) -> float | None:
        """The value of a released file; None where it would take the population."""
        return (
            super().measure_again(groups, kind) if self.sampling is not None or groups.population is not None else None
        )

    def measure_unseen_persons(self, groups: Groups) -> float | None:
        """By estimate the value of as many persons as rows; a class has no more."""
        return None if self.sampling is None else self.measure(groups)

    @property
    def compiled(self) -> bool:
        return self.sampling is not None

    def criterion(self, column: Column) -> Criterion | None:
        """Return None: by estimate `least_units` says it all."""
        del column
        return None


def as_words(people: Population | None) -> str:
    """Return the end of a sentence on a population: its name, in a text that will be formatted.

    >>> as_words(Population("voters{1}.csv", 9, "ab12"))
    'voters{{1}}.csv.'
    """
    return "" if people is None else people.name.replace("{", "{{").replace("}", "}}") + "."


@lru_cache(maxsize=1 << 14)
def least_sample(k: int, fraction: float, significance: float) -> int:
    """Return the smallest class of a sample that k people would give with a chance of at most `significance`.

    Its size is Poisson distributed with mean k · fraction, given that it is not 0. No class is smaller in the
    population than in the sample, so k is always enough.

    >>> [least_sample(k, 0.1, 0.05) for k in (2, 10, 100)]
    [2, 4, 16]
    """
    from scipy.stats import poisson

    mean = k * fraction
    size = 1
    while size < k and poisson.sf(size - 1, mean) / poisson.sf(0, mean) > significance:
        size += 1
    return size


def supported(units: int, fraction: float, significance: float) -> int:
    """Return the largest k for which a class of the sample is large enough.

    >>> supported(4, 0.1, 0.05), least_sample(supported(4, 0.1, 0.05) + 1, 0.1, 0.05)
    (12, 5)
    """
    low, high = units, 2 * units
    while least_sample(high, fraction, significance) <= units:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if least_sample(middle, fraction, significance) <= units else (low, middle)
    return low
