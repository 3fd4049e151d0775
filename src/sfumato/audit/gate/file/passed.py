"""The columns that a release passes on as single values: all but its quasi-identifiers, as text and as numbers.

A range, a set or a label covers several values and marks nobody; a plain value may (Samarati & Sweeney 1998).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import MISSING_MARKS, number, read
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Role
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class PassedColumn:
    """A column that is passed on: its texts, its role, and which of its cells are single values."""

    name: str
    role: str
    texts: pl.Series

    @cached_property
    def exact(self) -> pl.Series:
        """The cells that are single values; others are null."""
        distinct = [text for text in self.texts.unique().to_list() if text is not None]
        single = [text for text in distinct if len(read(text).words) == 1 and text not in MISSING_MARKS]
        return self.texts.set(~self.texts.is_in(single), None)

    @cached_property
    def once(self) -> pl.Series:
        """Which rows hold a single value that no other row holds."""
        return (self.exact.is_unique() & self.exact.is_not_null()).rename(self.name)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The numbers in the cells that are numbers, where nearly all are; else none."""
        told = {text: number(text) for text in self.exact.drop_nulls().unique().to_list()}
        if not told or sum(value is None for value in told.values()) > len(told) / 10:
            return np.zeros(0)
        values = self.exact.replace_strict(told, default=None, return_dtype=pl.Float64)
        return values.drop_nulls().to_numpy()


@dataclass(frozen=True, eq=False)
class Passed:
    """The columns of a released table that are passed on.

    >>> from sfumato.release.card import Guarantee, Released, ReleasedColumn
    >>> columns = [ReleasedColumn(name="age", role="quasi"), ReleasedColumn(name="cost", role="sensitive")]
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=1, columns=columns),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={}, unit="row"), assumptions=[])
    >>> [column.name for column in Passed.of(card, Table(pl.DataFrame({"age": [1], "cost": [2]}))).columns]
    ['cost']
    """

    columns: Sequence[PassedColumn]
    quasi: pl.DataFrame
    rows: int

    @classmethod
    def of(cls, card: Card, table: Table) -> Passed:
        """Return the columns that are not declared quasi-identifiers on the card."""
        roles = {column.name: column.role for column in card.released.columns}
        texts = table.frame.cast(pl.String)
        columns = [
            PassedColumn(name, roles.get(name, str(Role.OTHER)), texts[name])
            for name in table.names
            if roles.get(name) != Role.QUASI
        ]
        quasi = texts.select(name for name in table.names if roles.get(name) == Role.QUASI)
        return cls(columns, quasi, table.rows)


def told(claim: str, reason: str | None, evidence: Mapping[str, Any], remedy: str) -> Finding:
    """Return a finding that is a refutation where there is a reason, with what helps.

    >>> told("nothing is wrong", "all is", {}, "mend it").evidence["reason"]
    'all is; mend it'
    """
    facts = dict(evidence)
    if reason is not None:
        facts |= {"remedy": remedy, "reason": f"{reason}; {remedy}"}
    return Finding(claim=claim, verdict=NOT_REFUTED if reason is None else REFUTED, evidence=facts)
