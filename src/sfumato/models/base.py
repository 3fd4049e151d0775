"""A model of anonymity: a question about a class's counts, its measured value, and how it behaves in a search.

Monotonicity under merging and under suppression is declared apart, as ARX does (Prasser et al. 2014).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Validated
from sfumato.errors import ParameterError
from sfumato.models.criteria import SLACK, Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.parts import worst_part
from sfumato.models.population import Population
from sfumato.release.card import MeasuredModel
from sfumato.schema import Attribute
from sfumato.table.coding import Column


class Model(Validated, ABC):
    """What a release must satisfy in every class; frozen dataclasses derive from it.

    A class declares its name at the command line (`called`), its options there (`OPTIONS`), which of its parameters is
    the limit (`asks`), whether that is the least or the most (`at_least`), and its names on cards (`card_names`). It
    writes one method, `class_value`: the value of one class's counts. A field `column` names a sensitive column.

    >>> from dataclasses import dataclass
    >>> from sfumato.core.parameters import Whole
    >>> @dataclass(frozen=True)
    ... class AtLeast(Model):
    ...     n: int
    ...     RULES = {"n": Whole(1)}
    ...     called, asks, at_least, card_names = "at-least", "n", True, ("at-least-n",)
    ...     merge_monotone = suppression_monotone = True
    ...     def class_value(self, one):
    ...         return one.units
    >>> groups = Groups.of(np.array([0, 0, 1]))
    >>> AtLeast(2).measure(groups), AtLeast(2).failing(groups).tolist()
    (1.0, [False, True])
    """

    called: ClassVar[str]
    asks: ClassVar[str]
    at_least: ClassVar[bool]
    card_names: ClassVar[tuple[str, ...]]
    merge_monotone: ClassVar[bool]
    suppression_monotone: ClassVar[bool]  # leaving whole classes out never makes the value of the others worse
    kept_in_series: ClassVar[bool] = False  # can be kept where rows come and go between releases (`republish`)
    evenness_monotone: ClassVar[bool] = False  # moving a unit from a frequent value to a rarer one never makes it worse

    parts_population: ClassVar[bool] = False  # everybody in the population must fit one class, and no more
    of_table: ClassVar[bool] = False  # speaks of all classes together; `least_units` of each is more than it asks
    sparing_monotone: ClassVar[bool] = False  # where classes merge, `leaves_out` never has to lose more units

    @abstractmethod
    def class_value(self, one: ClassCounts) -> float:
        """The value that one class has: the criterion, slow and obvious."""

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite, whose sensitive columns are `disease` and `income`.

        >>> from sfumato import KAnonymity
        >>> KAnonymity.sample()
        (KAnonymity(k=3),)
        """
        raise ParameterError(f"{cls.__name__} has no sample() for the conformance suite; write one")

    @classmethod
    def suits(cls, attribute: Attribute) -> bool:
        """Return whether it can speak of a sensitive column, as far as that is declared."""
        del attribute
        return True

    @property
    def name(self) -> str:
        """The model's name as it stands on a card."""
        return type(self).card_names[0]

    @property
    def asked(self) -> float:
        """The value that the release must reach, or must not exceed."""
        limit: float = getattr(self, type(self).asks)
        return limit

    @property
    def sensitive(self) -> str | None:
        """The sensitive column the model speaks of, if any."""
        return getattr(self, "column", None)

    @property
    def people(self) -> Population | None:
        """The population the model speaks of, if it counts one."""
        return None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a card must say is assumed for it, a sentence each."""
        return ()

    @property
    def least_units(self) -> int:
        """The fewest units a class may have, whatever their sensitive values."""
        return 1

    @property
    def distinct_values(self) -> float | None:
        """How many different sensitive values a class must show, where that is what the model asks for."""
        return None

    @property
    def sentence(self) -> str:
        """The promise in plain words, for the report.

        Names in braces stand for what a release has: `units`, `quasi`, `one` (a combination of quasi-identifiers),
        `column`, `asked`, `asked_percent`, and the parameters as they stand on the card.
        """
        return f"The release satisfies {self.name} with {{asked}}."

    def parameters(self) -> dict[str, float | str]:
        """The parameters as they stand on a card: by the names of their options."""
        return {option.name or name: getattr(self, name) for name, option in type(self).OPTIONS.items()}

    @classmethod
    def from_card(cls, entry: MeasuredModel, parameters: Mapping[str, Any]) -> Self:
        """Return the model that a card's entry and its parameters speak of.

        >>> from sfumato import KAnonymity
        >>> KAnonymity.from_card(MeasuredModel(model="k-anonymity", asked=5, measured=7), {"k": 5})
        KAnonymity(k=5)
        """
        stated = {name: stated_for(parameters, option.name or name, entry) for name, option in cls.OPTIONS.items()}
        stated[cls.asks] = entry.asked
        own = {field.name for field in fields(cls)}  # type: ignore[arg-type]  # models are dataclasses
        column = {"column": entry.column} if "column" in own else {}
        given = {name: _whole(value) for name, value in stated.items() if value is not None and name in own}
        return cls(**given, **column)

    def measure(self, groups: Groups) -> float:
        """The value a table has: that of its worst class."""
        worst = min if self.at_least else max
        return float(worst(self.class_value(one) for one in groups.each(self.sensitive)))

    def measure_again(self, groups: Groups, kind: str | None) -> float | None:
        """The value of a released file, known by its card alone; None where the card does not tell enough.

        `kind` is the type that the card gives the model's column.
        """
        del kind
        return self.measure(groups)

    @property
    def untold(self) -> str:
        """Why a released file and its card do not tell the value, where `measure_again` returns None."""
        return "the card does not tell enough to measure it again"

    def measure_unseen_persons(self, groups: Groups) -> float | None:
        """The best value that a released file allows where a person may have several of its rows; None if any.

        A release does not tell its persons apart, so a promise to persons can be refuted by its rows, never confirmed.
        """
        del groups
        return None

    def holds(self, measured: float) -> bool:
        """Whether a table with this value satisfies the model."""
        return measured >= self.asked * (1 - SLACK) if self.at_least else measured <= self.asked + SLACK

    def satisfied(self, one: ClassCounts) -> bool:
        """Whether one class satisfies the model."""
        return one.units >= self.least_units and self.holds(self.class_value(one))

    @property
    def knows_parts(self) -> bool:
        """Whether `holds_in_parts` can be asked."""
        return self.evenness_monotone or type(self).holds_in_parts is not Model.holds_in_parts

    def holds_in_parts(self, whole: ClassCounts, size: int) -> bool:
        """Whether every part of so many units of a class satisfies it, whoever they are; a unit has one row here.

        A model that is never worse for an even part (`evenness_monotone`) is asked of the least even one.
        """
        if not self.evenness_monotone:
            raise ParameterError(f"{self.name} does not know whether all parts of a class satisfy it")
        blanks = {None, 0} if whole.column is not None and whole.column.has_missing else {None}
        parts = (worst_part(whole.counts, size, first) for first in blanks)
        return all(self.satisfied(ClassCounts(size, size, part, whole.reference, whole.column)) for part in parts)

    def failing(self, groups: Groups) -> npt.NDArray[np.bool_]:
        """Which classes break the model."""
        return np.array([not self.satisfied(one) for one in groups.each(self.sensitive)], dtype=np.bool_)

    def leaves_out(self, groups: Groups, failing: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which classes must go so that the others satisfy a model of the table, where some fail anyway."""
        return failing | self.failing(groups)

    @property
    def compiled(self) -> bool:
        """Whether compiled searches can test it: its class has a `criterion` of its own.

        Another model is tested class by class in Python, by `satisfied`: slower, and the same everywhere.
        """
        return type(self).criterion is not Model.criterion

    def criterion(self, column: Column) -> Criterion | None:
        """The test of one class's sensitive counts as flat numbers: an optional speed-up of `satisfied`.

        None, from a class that says so, means that `least_units` is all that a class must have.
        """
        del column
        return None

    def criterion_of_persons(self, column: Column) -> Criterion | None:
        """The compiled test where persons may have several rows: the same, unless a model says otherwise."""
        return self.criterion(column)


def stated_for(parameters: Mapping[str, Any], name: str, entry: MeasuredModel) -> Any:
    """Return a card's parameter for one of its models: cards give it by column where models differ on it.

    >>> stated_for({"l": {"disease": 3}}, "l", MeasuredModel(model="l", column="disease", asked=3, measured=3))
    3
    """
    value = parameters.get(name)
    return value.get(str(entry.column)) if isinstance(value, dict) else value


def _whole(value: Any) -> Any:
    """Return a number as an integer where it is one, as before it went through a card."""
    return int(value) if isinstance(value, float) and value == int(value) else value
