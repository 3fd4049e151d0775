"""Top and bottom coding: numbers beyond a declared threshold show the threshold instead.

Hundepool et al., "Statistical Disclosure Control" (2012, section 3.2). A threshold is declared, never learnt: one that
is a quantile of the rows tells how the rows are spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar, Self

import numpy as np
import polars as pl

from sfumato.core.parameters import Option, Optional
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.base import Model
from sfumato.release import Card, Finding
from sfumato.release.finding import compare_stated
from sfumato.release.plain_words import listed
from sfumato.schema import Coarsening, Kind, Role, Schema
from sfumato.schema.values import parse_cells
from sfumato.table import Table
from sfumato.tabular.coarsen import coarsen_cells
from sfumato.tabular.explanation import Explanation
from sfumato.tabular.perturbation.base import UNPROVEN, Masked, MaskingAnonymizer
from sfumato.tabular.perturbation.draft import MaskingDraft, is_number
from sfumato.tabular.perturbation.given import Amounts, ColumnAmounts, amounts_in

SHARES = (0.005, 0.01, 0.02, 0.05)
FAR_OUT = "Values between the thresholds are released as they are; a rare one of them still singles its row out."


@dataclass(frozen=True)
class TopBottomCoding(MaskingAnonymizer):
    """Top and bottom codes at declared thresholds, which stand for all that lies beyond.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [12, 40, 99]}))
    >>> release = TopBottomCoding(top="age=85", bottom="age=18").anonymize(people, sf.Schema.from_roles(quasi=["age"]))
    >>> sorted(release.frame["age"].to_list())
    [18, 40, 85]
    """

    top: Amounts | None = None
    bottom: Amounts | None = None

    RULES: ClassVar = {
        "top": Optional(ColumnAmounts(positive=False)),
        "bottom": Optional(ColumnAmounts(positive=False)),
    }
    OPTIONS: ClassVar = {
        "top": Option("Highest value that is shown, as in income=5000,age=85; all above it shows this value."),
        "bottom": Option("Lowest value that is shown, as in age=18; all below it shows this value."),
    }
    algorithm: ClassVar = "top-bottom-coding"
    notes: ClassVar = (FAR_OUT,)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(top="age=50", bottom={"age": 20, "weight": 50.5}), cls(bottom="income=1500")

    def mask(self, draft: MaskingDraft) -> Masked:
        top, bottom = amounts_in(self.top), amounts_in(self.bottom)
        if not (top or bottom):
            raise ParameterError(
                "top-bottom-coding needs --top or --bottom, for example --top income=5000; --explain proposes some"
            )
        names = tuple(dict.fromkeys((*top, *bottom)))
        columns = {name: _coded(draft, name, top.get(name), bottom.get(name)) for name in names}
        said = [f"{name}: {_words(top.get(name), bottom.get(name))}." for name in names]
        return Masked(columns, said, assumptions=(UNPROVEN,), steward=_cut(draft, columns))

    @classmethod
    def claims(cls, card: Card, table: Table) -> list[Finding]:
        """Return whether no released number lies beyond its threshold."""
        settings = card.released.settings
        found = []
        for key, beyond in (("top", "above"), ("bottom", "below")):
            for name, limit in amounts_in(settings.get(key)).items():
                numbers = table.column(name).cast(pl.Float64, strict=False).drop_nulls()
                wrong = numbers.filter(numbers > float(limit) if key == "top" else numbers < float(limit))
                odd = {name: (f"{wrong[0]:g}", f"none {beyond} {limit}")} if len(wrong) else {}
                found.append(compare_stated(f"no value of '{name}' is {beyond} {limit}", odd, {"cells": len(numbers)}))
        return found

    def explain(self, table: Table, schema: Schema, models: Sequence[Model]) -> Explanation:
        """Return thresholds for the steward to declare, each with the share of the rows beyond it.

        They are learnt from the rows: a steward who declares one should choose a round number that means something.

        >>> import polars as pl, sfumato as sf
        >>> people = sf.Table.from_frame(pl.DataFrame({"age": list(range(1, 101))}))
        >>> TopBottomCoding().explain(people, sf.Schema.from_roles(quasi=["age"]), []).lines[1]
        'age: 2 % of the rows lie above 98, and 2 % below 3'
        """
        draft = MaskingDraft.of(table, schema, models)
        names = [name for name in draft.released if is_number(draft.attribute(name))]
        found = {name: _proposals(draft, name) for name in names}
        lines = [
            f"{name}: {100 * one['share_above']:.2g} % of the rows lie above {one['top']:g}, and "
            f"{100 * one['share_below']:.2g} % below {one['bottom']:g}"
            for name, every in found.items()
            for one in every
        ]
        return Explanation("thresholds learnt from the rows, to declare rounder ones", lines, found)

    def settings(self) -> dict[str, dict[str, float]]:
        """The thresholds as the card states them."""
        return {
            key: {name: float(limit) for name, limit in amounts_in(given).items()}
            for key, given in (("top", self.top), ("bottom", self.bottom))
        }


def _coded(draft: MaskingDraft, name: str, top: Decimal | None, bottom: Decimal | None) -> pl.Series:
    """Return a column with its codes, by the rule that a schema could declare too."""
    numbers = draft.numbers(name)  # refuses what cannot be read or lies outside of declared bounds
    kind = numbers.attribute.kind
    if kind is None or not is_number(numbers.attribute):
        raise SchemaError(f"column '{name}' is {kind}; top and bottom codes are for numbers; coarsen dates by period")
    limits = [_limit(name, limit, kind, numbers.bounds) for limit in (top, bottom)]
    rule = Coarsening(top=limits[0], bottom=limits[1])
    plain = replace(numbers.attribute, role=Role.OTHER, hierarchy=None, hierarchy_file=None, missing_is_value=False)
    return coarsen_cells(draft.table.column(name), replace(plain, coarsen=rule))[0]


def _limit(name: str, limit: Decimal | None, kind: Kind, bounds: tuple[float, float] | None) -> int | float | None:
    if limit is None:
        return None
    if kind is Kind.INTEGER and limit != limit.to_integral_value():
        raise ParameterError(f"column '{name}' holds integers; the threshold {limit} is none")
    if bounds is not None and not bounds[0] <= float(limit) <= bounds[1]:
        raise ParameterError(
            f"the threshold {limit} lies outside the declared bounds [{bounds[0]:g}, {bounds[1]:g}] of column '{name}'"
        )
    return int(limit) if kind is Kind.INTEGER else float(limit)


def _words(top: Decimal | None, bottom: Decimal | None) -> str:
    told = [] if top is None else [f"{top} stands for {top} and all above"]
    return listed([*told, *([] if bottom is None else [f"{bottom} stands for {bottom} and all below"])])


def _cut(draft: MaskingDraft, columns: Mapping[str, pl.Series]) -> dict[str, float]:
    """Return for the steward how many cells of each column were cut."""
    found: dict[str, float] = {}
    for name, column in columns.items():
        before = parse_cells(draft.table.column(name), draft.attribute(name)).values.cast(pl.Float64)
        found[f"cut_{name}"] = int((column.cast(pl.Float64) != before).sum())
    return found


def _proposals(draft: MaskingDraft, name: str) -> list[dict[str, float]]:
    """Return thresholds with the shares of the rows beyond them."""
    numbers = np.sort(draft.numbers(name).numbers)
    if len(numbers) == 0:
        return []
    found: list[dict[str, float]] = []
    for share in SHARES:
        least = max(1, int(share * len(numbers)))
        high = numbers[-least - 1 :][0] if least < len(numbers) else numbers[0]
        low = numbers[min(least, len(numbers) - 1)]
        if numbers[0] == low and numbers[-1] == high:
            continue
        above, below = float((numbers > high).mean()), float((numbers < low).mean())
        one = {"top": float(high), "share_above": above, "bottom": float(low), "share_below": below}
        found += [] if one in found else [one]
    return found
