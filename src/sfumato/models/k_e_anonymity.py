"""(k, e)-anonymity: numbers of a class differ, and by at least e (Zhang, Koudas, Srivastava & Yu 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Name, Option, Real, Whole
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import SPAN, Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import spans
from sfumato.models.parts import worst_part
from sfumato.schema import Attribute, Kind
from sfumato.table.coding import Column

KINDS = (Kind.INTEGER, Kind.NUMBER, Kind.DATE)


@dataclass(frozen=True)
class KEAnonymity(Model):
    """Every class has at least k different numbers, the highest at least e above the lowest (Zhang et al. 2007).

    Where persons have several numbers, each is counted for one of them, as unevenly as the counts allow: then no part
    of the scale shorter than e may hold a number of everybody.

    >>> KEAnonymity(1000, 5, "income").parameters()
    {'e': 1000, 'k': 5}
    """

    e: float
    k: int
    column: str

    RULES: ClassVar = {"e": Real(0, above=True), "k": Whole(2), "column": Name()}
    OPTIONS: ClassVar = {
        "e": Option("Numbers of a class reach over at least this range; for dates, days (needs --k)."),
        "k": Option("Every class has at least k different numbers."),
    }
    called: ClassVar = "ke-anonymity"
    asks: ClassVar = "e"
    at_least: ClassVar = True
    card_names: ClassVar = ("(k, e)-anonymity",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(20, 3, "income"), cls(4, 2, "income")

    @classmethod
    def suits(cls, attribute: Attribute) -> bool:
        return attribute.kind is None or (attribute.kind in KINDS and attribute.hierarchy is None)

    @property
    def sentence(self) -> str:
        return (
            "Among the {units} that share {one}, {column} has at least {k} different numbers, and the highest lies at "
            "least {asked} above the lowest."
        )

    @property
    def least_units(self) -> int:
        return self.k

    def class_value(self, one: ClassCounts) -> float:
        """How far the numbers of a class reach; 0 where they are fewer than k, since then nothing is promised."""
        if one.column is None:
            raise ParameterError(f"(k, e)-anonymity needs the counts of column '{self.column}'")
        if len(one.pinned) < self.k:
            return 0.0
        held = [(number, count) for number, count in zip(numbers(one.column), one.value_counts, strict=True) if count]
        reach = [
            high - low
            for place, (low, _) in enumerate(held)
            for end, (high, _) in enumerate(held[place:], place)
            if sum(count for _, count in held[place : end + 1]) >= one.known_units
        ]
        return float(min(reach))

    def holds_in_parts(self, whole: ClassCounts, size: int) -> bool:
        """Whether every part satisfies it: the least even one, and the nearest numbers, with all missing ones."""
        if whole.column is None:
            raise ParameterError(f"(k, e)-anonymity needs the counts of column '{self.column}'")
        counts, levels = whole.value_counts, numbers(whole.column)
        least = max(0, size - int(whole.counts.sum() - counts.sum()))  # those of a part who have a number
        if size < self.least_units or np.count_nonzero(worst_part(counts, least)) < self.k:
            return False
        counts, levels = counts[counts > 0], levels[counts > 0]
        until = np.cumsum(counts)
        last = np.searchsorted(until, until - counts + least)  # the nearest number that completes so many from here on
        ends = last < len(until)
        return self.holds(float((levels[last[ends]] - levels[ends]).min()))

    def measure(self, groups: Groups) -> float:
        histograms = groups.sensitive[self.column]
        return spans(histograms, numbers(histograms.column), self.k)

    @property
    def untold(self) -> str:
        return "the card does not tell how its numbers are to be read"

    def measure_again(self, groups: Groups, kind: str | None) -> float | None:
        """The value of a released file, unless its numbers cannot be read as such."""
        del kind
        return self.measure(groups) if self.suits(groups.sensitive[self.column].column.attribute) else None

    def criterion(self, column: Column) -> Criterion:
        levels = numbers(column)
        none = np.zeros(len(levels), dtype=np.int64)
        return Criterion(SPAN, self.e, float(self.k), (none, none), levels, skip=column.unknown)


def numbers(column: Column) -> npt.NDArray[np.float64]:
    """Return the numbers behind a column's codes, in order; a missing value that is declared one is refused.

    >>> import polars as pl
    >>> from sfumato.schema import Role
    >>> from sfumato.table.coding import code_sensitive
    >>> numbers(code_sensitive(pl.Series("ill", ["flu"]), Attribute("ill", Role.SENSITIVE, Kind.CATEGORY)))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: (k, e)-anonymity speaks of numbers, and column 'ill' has none; ask for another \
model of it
    """
    if not KEAnonymity.suits(column.attribute) or column.kind not in KINDS:
        raise ParameterError(
            f"(k, e)-anonymity speaks of numbers, and column '{column.name}' has none; ask for another model of it"
        )
    if column.has_missing and not column.unknown:
        raise ParameterError(
            f"(k, e)-anonymity cannot tell how far a missing value of column '{column.name}' lies from a number; "
            "leave missing_is_value out"
        )
    return np.asarray(column.levels, dtype=np.float64)
