"""Marketer's risk: rows of a release are matched with their people in a population, with a given chance on average.

Dankar & El Emam 2010: whoever matches every row with one of the F people of the population who fit it is right for a
share of the rows that is the mean of 1/F. A journalist who draws one row has the same chance on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Option, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import SLACK
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.k_map import POPULATION, UNSHOWN, WITHIN, as_words
from sfumato.models.population import Population, PopulationRule, population_of
from sfumato.release.card import MeasuredModel

UNKNOWN = (
    "For the marketer's risk an attacker does not know who of the population is in the table; whoever knows it faces "
    "the classes of the table alone."
)


@dataclass(frozen=True)
class MarketerRisk(Model):
    """On average over all rows, 1/F is at most `risk`, F being the people of the population who fit the row's class.

    It belongs to the whole table. Searches of a lattice test it as it is; those that find classes one by one keep 1/F
    in every class, which suffices and asks for more.

    >>> from dataclasses import replace
    >>> town = Population("voters", 100, "ab12")
    >>> groups = replace(Groups.of(np.array([0, 0, 0, 1])), population=np.array([10, 2]))
    >>> MarketerRisk(0.2, town).measure(groups), MarketerRisk(0.2, town).failing(groups).tolist()
    (0.2, [False, True])
    """

    risk: float
    population: str | Population

    RULES: ClassVar = {"risk": Real(0, 1, above=True), "population": PopulationRule()}
    OPTIONS: ClassVar = {
        "risk": Option(
            "Rows are matched with their people in the population with at most this probability on average.",
            name="marketer_risk",
        ),
        "population": POPULATION,
    }
    called: ClassVar = "marketer-risk"
    asks: ClassVar = "risk"
    at_least: ClassVar = False
    card_names: ClassVar = ("marketer's risk",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # without a class that many people fit the average is higher
    of_table: ClassVar = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "population", population_of(self.population))

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        """Return nothing: the suite's tables have no population."""
        return ()

    @property
    def people(self) -> Population | None:
        return self.population if isinstance(self.population, Population) else None

    @property
    def sentence(self) -> str:
        return (
            "Whoever matches every one of the {units} with somebody of the population who fits it is right for at most "
            f"{{asked_percent}} of them on average; the population is {as_words(self.people)}"
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (WITHIN.format(people="" if self.people is None else self.people.words), UNKNOWN)

    def parameters(self) -> dict[str, float | str]:
        return {"marketer_risk": self.risk, "population": "" if self.people is None else self.people.words}

    @classmethod
    def from_card(cls, entry: MeasuredModel, parameters: Mapping[str, Any]) -> Self:
        return cls(entry.asked, Population.named(str(parameters["population"])))

    def class_value(self, one: ClassCounts) -> float:
        """The chance to match a row of the class: one over the people who fit it."""
        if one.population is None:
            raise ParameterError(f"the marketer's risk needs the population {self.people}; nobody counted it here")
        return 1 / max(1, one.population)

    def measure(self, groups: Groups) -> float:
        return float(self._links(groups) @ groups.units / groups.units.sum())

    @property
    def untold(self) -> str:
        return UNSHOWN

    def measure_again(self, groups: Groups, kind: str | None) -> float | None:
        """The value of a released file; None where it would take the population."""
        del kind
        return None if groups.population is None else self.measure(groups)

    def leaves_out(self, groups: Groups, failing: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the failing classes and those that fewest people fit, until the rest has the average.

        It need not be the fewest rows: with a larger class that slightly more people fit, the average may be reached
        sooner.
        """
        kept = np.flatnonzero(~failing)
        order = kept[np.argsort(-self._links(groups)[kept], kind="stable")]
        units, links = groups.units[order], self._links(groups)[order]
        left = units.sum() - np.concatenate([[0], np.cumsum(units)])
        matched = np.concatenate([np.cumsum((units * links)[::-1])[::-1], [0.0]])
        gone = failing.copy()
        gone[order[: int((matched <= (self.risk + SLACK) * left).argmax())]] = True
        return gone

    def _links(self, groups: Groups) -> npt.NDArray[np.float64]:
        """Return the chance to match a row of each class."""
        if groups.population is None:
            raise ParameterError(f"the marketer's risk needs the population {self.people}; nobody counted it here")
        links: npt.NDArray[np.float64] = 1 / np.maximum(1, groups.population)
        return links
