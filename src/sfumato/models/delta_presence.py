"""δ-presence: nobody in a population is known to be in the table, or not to be (Nergiz, Atzori & Clifton 2007)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Option, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.k_map import POPULATION, UNSHOWN, WITHIN, as_words
from sfumato.models.population import Population, PopulationRule, population_of
from sfumato.release.card import MeasuredModel

ALIKE = "For δ-presence an attacker thinks of all people of the population alike before the release."


@dataclass(frozen=True)
class DeltaPresence(Model):
    """The share of a class's people who are in the table lies between `least` and `most`, in every class.

    Classes must part the whole population, so that everybody in it fits one: full-domain generalisation without
    suppression does. With `least` above 0 no class may be without rows of the table.

    >>> DeltaPresence(0.5, Population("voters", 100, "ab12"), least=0.1).asked
    0.5
    """

    most: float
    population: str | Population
    least: float = 0.0

    RULES: ClassVar = {"most": Real(0, 1, above=True), "population": PopulationRule(), "least": Real(0, 1)}
    OPTIONS: ClassVar = {
        "most": Option("Nobody in the population is in the table with a higher probability.", name="presence_most"),
        "population": POPULATION,
        "least": Option("Nobody in the population is in the table with a lower probability.", name="presence_least"),
    }
    called: ClassVar = "delta-presence"
    asks: ClassVar = "most"
    at_least: ClassVar = False
    card_names: ClassVar = ("δ-presence",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # whoever is left out is no longer seen to be in the table
    parts_population: ClassVar = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.most:
            raise ParameterError(
                f"δ-presence from {self.least:g} to {self.most:g} is empty; give the lower limit first"
            )
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
        low = f" or less than {100 * self.least:.4g} %" if self.least else ""
        return (
            "Nobody is in the table with a probability of more than {asked_percent}"
            f"{low}, for somebody who knows everybody in the population {as_words(self.people)}"
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (WITHIN.format(people="" if self.people is None else self.people.words), ALIKE)

    def parameters(self) -> dict[str, float | str]:
        named = "" if self.people is None else self.people.words
        return {"presence_most": self.most, "population": named, "presence_least": self.least}

    @classmethod
    def from_card(cls, entry: MeasuredModel, parameters: Mapping[str, Any]) -> Self:
        people = Population.named(str(parameters["population"]))
        return cls(entry.asked, people, least=parameters.get("presence_least", 0.0))

    def class_value(self, one: ClassCounts) -> float:
        """The share of the class's people who are in the table; infinite where it is below the least."""
        if one.population is None:
            raise ParameterError(f"δ-presence needs the population {self.people}; nobody counted it here")
        share = one.units / one.population if one.population else math.inf
        return share if self.holds_below(share) else math.inf

    def holds_below(self, share: float) -> bool:
        """Whether a share is not too small."""
        return share >= self.least * (1 - 1e-9)

    def measure(self, groups: Groups) -> float:
        """The largest share of a class; infinite where one is too small, or where people fit no class at all."""
        worst = super().measure(groups)
        return worst if self.holds_below(0.0) or not groups.unfitted else math.inf

    @property
    def untold(self) -> str:
        return UNSHOWN

    def measure_again(self, groups: Groups, kind: str | None) -> float | None:
        """The value of a released file; None where it would take the population."""
        return None if groups.population is None else super().measure_again(groups, kind)

    def leaves_out(self, groups: Groups, failing: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the failing classes, which are all where people of the population fit no class."""
        alone = bool(groups.unfitted) and not self.holds_below(0.0)
        return failing | self.failing(groups) | alone
