"""Persons bounded in SQL: at most some rows of each in each of at most some groups, chosen by a keyed hash.

A person's rows are chosen by that person's own values and a secret only, so one person's removal moves nobody else's
rows (Wilson et al. 2020, "Differentially private SQL with bounded user contribution", section 3, bound by sampling).
Only persons with too many groups, and groups with too many rows of one person, are hashed and ranked: the others stay.
"""

# ruff: noqa: S608  # the words are our own

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.dp.rows.dialect import Dialect


@dataclass(frozen=True)
class Bounding:
    """The rows of persons as SQL: their keys, what else the rows hold, and what gives the SQL of the secret.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> bounding = Bounding(DUCKDB, [], [], lambda: "$p0")
    >>> bounding.bounded("SELECT * FROM rides", rows=2, groups=1).partition(" AS ")[0]
    'WITH grouped'
    """

    dialect: Dialect
    keys: list[str]
    positions: list[str]
    secret: Callable[[], str]

    def bounded(self, grouped: str, rows: int, groups: int) -> str:
        """Return the rows that are left of `grouped` when every person is bounded."""
        if not self.dialect.materialized:
            return self._ranked(grouped, rows, groups)
        by = ", ".join(["person", *self.keys])
        steps = {
            "grouped": grouped,
            "sizes": f"SELECT {by}, COUNT(*) AS size FROM grouped GROUP BY {by}",
            "lost": self._lost(by, groups),
            "kept": f"SELECT * FROM grouped WHERE NOT {self._in('lost', 'grouped')}" if self.keys else "TABLE grouped",
            "many": f"SELECT {by} FROM sizes WHERE size > {rows}",
        }
        if not self.keys:
            del steps["lost"]
        names = ", ".join([*self.keys, *self.positions, "person"])
        order = self._hash(self.keys, self.positions)
        nth = f"ROW_NUMBER() OVER (PARTITION BY {by}{f' ORDER BY {order}' if order else ''}) AS nth"
        ranked = f"SELECT *, {nth} FROM kept WHERE {self._in('many', 'kept')}"
        few = f"SELECT {names} FROM kept WHERE NOT {self._in('many', 'kept')}"
        chosen = f"SELECT {names} FROM ({ranked}) AS ranked WHERE nth <= {rows}"
        listed = ", ".join(f"{name} AS MATERIALIZED ({step})" for name, step in steps.items())
        return f"WITH {listed} {few} UNION ALL {chosen}"

    def _ranked(self, grouped: str, rows: int, groups: int) -> str:
        """Return the same rows where a step that is used twice would be computed twice: all are hashed and ranked."""
        hashes = [f"{self._hash([], self.keys)} AS of_group"] if self.keys else []
        order = self._hash(self.keys, self.positions)
        hashes += [f"{order} AS of_row"] if order else []
        left = f"SELECT {', '.join(['*', *hashes])} FROM ({grouped}) AS grouped"
        if self.keys:
            nth = f"DENSE_RANK() OVER (PARTITION BY person ORDER BY {', '.join(['of_group', *self.keys])})"
            left = (
                f"SELECT * FROM (SELECT *, {nth} AS nth_group FROM ({left}) AS hashed) AS r WHERE nth_group <= {groups}"
            )
        by = ", ".join(["person", *self.keys])
        nth = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {'of_row' if order else 'person'})"
        return f"SELECT * FROM (SELECT *, {nth} AS nth FROM ({left}) AS left_groups) AS ranked WHERE nth <= {rows}"

    def _lost(self, by: str, groups: int) -> str:
        """Return the groups that persons with too many of them lose."""
        wide = f"SELECT person FROM sizes GROUP BY person HAVING COUNT(*) > {groups}"
        order = ", ".join([self._hash([], self.keys), *self.keys])
        nth = f"ROW_NUMBER() OVER (PARTITION BY person ORDER BY {order}) AS nth"
        ranked = f"SELECT {by}, {nth} FROM sizes WHERE person IN ({wide})"
        return f"SELECT {by} FROM ({ranked}) AS ranked WHERE nth > {groups}"

    def _in(self, some: str, of: str) -> str:
        """Return the test that a person's group is among some."""
        same = " AND ".join(f"{some}.{name} = {of}.{name}" for name in ["person", *self.keys])
        return f"EXISTS (SELECT 1 FROM {some} WHERE {same})"

    def _hash(self, within: list[str], values: list[str]) -> str:
        """Return the hash by which values of a person compete: of the secret, their number, person and all values.

        Each value stands with its length. Where there is nothing to tell rows apart, nothing is hashed.
        """
        if not values:
            return ""
        head = [self.secret(), f"':{len(within + values)}:'"]
        parts = [*head, *map(self.dialect.encoded, ["person", *within, *values])]
        return self.dialect.digest.format(x=" || ".join(parts))
