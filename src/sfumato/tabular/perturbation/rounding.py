"""Rounding to multiples of a declared base: to the nearest one, or at random so that means stay as they are.

Hundepool et al., "Statistical Disclosure Control" (2012, section 3.3); unbiased random rounding is Nargundkar &
Saveland (1972), "Random Rounding to Prevent Statistical Disclosure".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.parameters import OneOf, Option, Optional
from sfumato.core.seam import choose
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.random import Source
from sfumato.random.laws import Uniform
from sfumato.release import Card, Finding
from sfumato.release.finding import compare_stated
from sfumato.schema import Coarsening, Kind, Role
from sfumato.table import Table
from sfumato.tabular.coarsen import coarsen_cells
from sfumato.tabular.perturbation.base import ONLY_ONE, UNPROVEN, Masked, MaskingAnonymizer
from sfumato.tabular.perturbation.draft import MaskingDraft, NumberColumn, is_number
from sfumato.tabular.perturbation.given import Amounts, ColumnAmounts, amounts_in

Numbers = npt.NDArray[Any]
LARGEST = 2.0**62
FINE = 2**53  # parts of a base, where numbers have decimals
NEAR = 1e-6
WITHIN = "A rounded value tells its own value to within the base: it is coarser, not uncertain."


@dataclass(frozen=True)
class Rounding(MaskingAnonymizer):
    """Numbers rounded to multiples of `base`; `at_random` rounds up with the probability that keeps the mean.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"income": [1049, 1951]}))
    >>> schema = sf.Schema.from_roles(quasi=["income"])
    >>> sorted(Rounding(base="income=100").anonymize(people, schema).frame["income"].to_list())
    [1000, 2000]
    """

    base: Amounts | None = None
    at_random: bool = False

    RULES: ClassVar = {"base": Optional(ColumnAmounts()), "at_random": OneOf((False, True))}
    OPTIONS: ClassVar = {
        "base": Option("Multiples that are shown, as in income=100,age=5."),
        "at_random": Option("Round up or down at random, so that means stay as they are on average."),
    }
    algorithm: ClassVar = "rounding"
    notes: ClassVar = (WITHIN,)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls("age=5,weight=0.5"), cls({"age": 10, "income": 250}, at_random=True)

    def mask(self, draft: MaskingDraft) -> Masked:
        bases = amounts_in(self.base)
        if not bases:
            raise ParameterError("rounding needs --base, for example --base income=100")
        columns = {name: self._rounded(draft, name, base) for name, base in bases.items()}
        how = (
            "up or down at random, so that its mean stays as it was" if self.at_random else "to the nearest, halves up"
        )
        said = [f"{name}: rounded to multiples of {base}, {how}." for name, base in bases.items()]
        return Masked(columns, said, assumptions=(UNPROVEN, *([ONLY_ONE] if self.at_random else [])))

    @classmethod
    def claims(cls, card: Card, table: Table) -> list[Finding]:
        """Return whether every released number is a multiple of its base."""
        found = []
        for name, base in amounts_in(card.released.settings.get("base")).items():
            numbers = table.column(name).cast(pl.Float64, strict=False).drop_nulls()
            parts = (numbers / float(base)).to_numpy()
            odd = np.flatnonzero(np.abs(parts - np.rint(parts)) > NEAR * np.maximum(1, np.abs(parts)))
            wrong = {name: (f"{numbers[int(odd[0])]:g}", f"multiples of {base}")} if len(odd) else {}
            found.append(compare_stated(f"every value of '{name}' is a multiple of {base}", wrong, {}))
        return found

    def settings(self) -> dict[str, Any]:
        """The bases as the card states them."""
        bases = {name: float(base) for name, base in amounts_in(self.base).items()}
        return {"base": bases, "at_random": self.at_random}

    def _rounded(self, draft: MaskingDraft, name: str, base: Decimal) -> pl.Series:
        column = draft.numbers(name)
        kind = column.attribute.kind
        if not is_number(column.attribute):
            raise SchemaError(f"column '{name}' is {kind}; rounding is for numbers; coarsen dates by period")
        if kind is Kind.INTEGER and base != base.to_integral_value():
            raise ParameterError(f"column '{name}' holds integers; the base {base} is none")
        _refuse_outside(column, base, at_random=self.at_random)
        if not self.at_random:
            plain = replace(
                column.attribute, role=Role.OTHER, hierarchy=None, hierarchy_file=None, missing_is_value=False
            )
            rule = Coarsening(round=int(base) if base == base.to_integral_value() else float(base))
            return coarsen_cells(draft.table.column(name), replace(plain, coarsen=rule))[0]
        numbers = round_randomly(column.numbers, base, draft.source)
        return column.written(numbers)


def round_randomly(numbers: Numbers, base: Decimal, source: Source) -> Numbers:
    """Return each number rounded to a multiple of `base`: up with its distance from the multiple below, over the base.

    Of whole numbers the probability is exact; of others it is within 2^-53.

    >>> from sfumato.random import SeededSource
    >>> round_randomly(np.array([100, 200]), Decimal(100), SeededSource(1)).tolist()
    [100, 200]
    """
    if numbers.dtype.kind == "i":
        whole = int(base)
        if (np.abs(numbers.astype(np.float64)) > LARGEST).any():
            raise InputError(f"a number goes beyond {LARGEST:g}, where multiples of {base} may not fit 64 bits")
        rest = numbers % whole
        return np.asarray(numbers - rest + whole * _coins(rest, whole, source))
    step = float(base)
    below = np.floor(numbers / step)
    rest = np.clip((numbers / step - below) * FINE, 0, FINE).astype(np.int64)
    decimals = max(0, -int(base.normalize().as_tuple().exponent))
    return np.asarray(np.round((below + _coins(rest, FINE, source)) * step, decimals) + 0.0)


def _coins(tops: npt.NDArray[np.int64], bottom: int, source: Source) -> npt.NDArray[np.int64]:
    """Return 1 with probability top/bottom for each top, else 0."""
    return choose(lambda: Uniform("coins", len(tops)), lambda: _toss(tops, bottom, source))


def _toss(tops: npt.NDArray[np.int64], bottom: int, source: Source) -> npt.NDArray[np.int64]:
    from sfumato.tabular.perturbation.rounding_kernel import toss_from

    coins, done, unread = np.zeros(len(tops), dtype=np.int64), 0, np.empty(0, dtype=np.uint32)
    while done < len(tops):
        words = np.concatenate([unread, source.words(3 * (len(tops) - done) + 64)])
        done, place = toss_from(coins, done, tops, bottom, words)
        unread = words[place:]
    return coins


def _refuse_outside(column: NumberColumn, base: Decimal, *, at_random: bool) -> None:
    """Refuse a base that would carry values at the ends of the declared bounds beyond them."""
    if column.bounds is None:
        return
    step = Fraction(base)
    low, high = (Fraction(repr(bound)) for bound in column.bounds)
    half = 0 if at_random else Fraction(1, 2)
    lowest = math.floor(low / step + half) * step
    highest = (math.ceil(high / step) if at_random else math.floor(high / step + half)) * step
    if lowest < low or highest > high:
        raise ParameterError(
            f"multiples of {base} go beyond the declared bounds [{column.bounds[0]:g}, {column.bounds[1]:g}] of column "
            f"'{column.attribute.name}'; declare bounds that are multiples of {base}, or give another base"
        )
