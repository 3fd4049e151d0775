"""A model of anonymity: a question about a class's counts, its measured value, and how it behaves in a search.

Monotonicity under merging and under suppression is declared apart, as ARX does (Prasser et al. 2014).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from sfumato.core.parameters import Validated
from sfumato.models.criteria import Criterion
from sfumato.models.groups import Groups
from sfumato.table.coding import Column


class Model(Validated, ABC):
    """What a release must satisfy in every class; frozen dataclasses derive from it.

    >>> import sfumato as sf
    >>> [issubclass(model, Model) for model in (sf.KAnonymity, sf.LDiversity, sf.TCloseness, sf.AlphaK)]
    [True, True, True, True]
    """

    merge_monotone: ClassVar[bool]
    suppression_monotone: ClassVar[bool]
    at_least: ClassVar[bool]

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name as it stands on a card."""

    @property
    @abstractmethod
    def asked(self) -> float:
        """The value that the release must reach, or must not exceed."""

    @property
    def sensitive(self) -> str | None:
        """The sensitive column the model speaks of, if any."""
        return None

    @property
    def least_units(self) -> int:
        """The fewest units a class may have, whatever their sensitive values."""
        return 1

    @abstractmethod
    def parameters(self) -> dict[str, float | str]:
        """The parameters as they stand on a card."""

    @abstractmethod
    def measure(self, groups: Groups) -> float:
        """The value a table has."""

    @abstractmethod
    def holds(self, measured: float) -> bool:
        """Whether a table with this value satisfies the model."""

    def criterion(self, column: Column) -> Criterion | None:
        """The test of one class's sensitive counts, or None when only its size matters."""
        del column
        return None
