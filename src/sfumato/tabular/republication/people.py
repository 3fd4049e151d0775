"""Who was in a series with which sensitive values: what its cards assume of them is checked against the rows.

The attacks of a series, and the layers against them, take values that do not change (Xiao & Tao 2007, section 2; Bu et
al. 2008 show what changes undo). Where a column names the persons, the rows can refute it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sfumato.errors import InputError
from sfumato.tabular.problem import Problem

Values = Mapping[str, Sequence[tuple[str, ...]]]
UNCHECKED = "no column names the persons, so nobody checked that their sensitive values are those of earlier releases"
CHANGED = (
    "sensitive values of some persons have changed since an earlier release, against an assumption of this card; the "
    "series promises nothing about them"
)


@dataclass(frozen=True)
class People:
    """The sensitive values of every person in a table, and in all earlier ones."""

    columns: Sequence[str]
    earlier: Values
    now: Values

    @classmethod
    def of(cls, problem: Problem, columns: Sequence[str], earlier: Values) -> People | None:
        """Return the people of a table, or None where no column names them."""
        person = problem.schema.person
        if person is None:
            return None
        cells = problem.table.frame.select(pl.col(person, *columns).cast(pl.String).fill_null(""))
        now: dict[str, list[tuple[str, ...]]] = {}
        for one, *values in cells.iter_rows():
            now.setdefault(one, []).append(tuple(values))
        return cls(columns, earlier, now)

    @property
    def recorded(self) -> dict[str, list[tuple[str, ...]]]:
        """The values of everybody who was ever in the series; of a person with fewer rows than before, all of them."""
        kept = {one: list(map(tuple, values)) for one, values in self.earlier.items()}
        fewer = {one for one, values in self.now.items() if one in kept and _among(values, kept[one])}
        return kept | {one: list(values) for one, values in self.now.items() if one not in fewer}

    @cached_property
    def changed(self) -> list[str]:
        """The persons whose values are others now: neither do the new rows hold the old ones, nor the other way round.

        >>> People(["ill"], {"p": [("flu",)], "q": [("flu",)]}, {"p": [("flu",), ("cold",)], "q": [("gout",)]}).changed
        ['q']
        """
        found = []
        for one, values in self.now.items():
            before = [tuple(row) for row in self.earlier.get(one, values)]
            if not (_among(before, values) or _among(values, before)):
                found.append(one)
        return found

    def refuse_changed(self) -> None:
        """Refuse a table in which values have changed.

        >>> People(["ill"], {"p": [("flu",)]}, {"p": [("gout",)]}).refuse_changed()
        Traceback (most recent call last):
        sfumato.errors.InputError: 1 of 1 persons published before has other values of ill now, the first is 'p'; a \
series promises nothing about values that change: keep the old values, give changed persons new ids, or add \
--changed warn
        """
        changed = self.changed
        if changed:
            there = sum(one in self.earlier for one in self.now)
            raise InputError(
                f"{len(changed)} of {there} persons published before {'have' if len(changed) > 1 else 'has'} other "
                f"values of {', '.join(self.columns)} now, the first is '{changed[0]}'; a series promises nothing "
                "about values that change: keep the old values, give changed persons new ids, or add --changed warn"
            )

    def notes(self) -> list[str]:
        """Return who came and went since the earlier releases, for the steward."""
        if not self.earlier:
            return []
        gone = len(self.earlier.keys() - self.now.keys())
        new = len(self.now.keys() - self.earlier.keys())
        lines = [
            f"{gone:,} of {len(self.earlier):,} persons of earlier releases are not in this table, {new:,} are new"
        ]
        changed = len(self.changed)
        return [*lines, *([f"{changed:,} persons have other sensitive values than before"] if changed else [])]


def _among(few: Sequence[tuple[str, ...]], many: Sequence[tuple[str, ...]]) -> bool:
    """Return whether all rows of one list are among those of another; most lists are equal, which is quick to see."""
    return few == many or Counter(few) <= Counter(many)
