"""The rows of persons as SQL, bounded: at most some rows of a person in each of at most some groups.

Which rows are left is decided by a person's own values and a secret only, so that one person's removal moves nobody
else's rows (Wilson et al. 2020, "Differentially private SQL with bounded user contribution", section 3). Every person
is hashed and ranked, those over a limit and others alike.
"""

# ruff: noqa: S608  # names are our own

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sfumato.dp.rows.dialect import Dialect


@dataclass(frozen=True)
class Bounding:
    """The rows of persons: their keys, what else the rows hold, and what gives the SQL of the secret.

    `values` are cells, whose spelling engines may not share: each comes with the SQL of what is hashed of it, and rows
    whose hashes are alike are ordered by the values themselves.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> bounding = Bounding(DUCKDB, [], [], lambda: "$p0")
    >>> bounding.bound_rows("SELECT * FROM rides", rows=2, groups=1).endswith("WHERE nth <= 2")
    True
    """

    dialect: Dialect
    keys: list[str]
    positions: list[str]
    secret: Callable[[], str]
    values: Mapping[str, str] = field(default_factory=dict)

    def bound_values(self, grouped: str, rows: int, groups: int) -> str:
        """Return at most some different values of a person in each group, where nothing else of a row is asked for.

        Several rows with one value are one; no value gives way to any other, so that as many as can be are left.

        >>> from sfumato.dp.rows.dialect import DUCKDB
        >>> bounding = Bounding(DUCKDB, [], [], lambda: "$p0", {"v0": "v0"})
        >>> "SELECT DISTINCT person, v0 FROM" in bounding.bound_values("SELECT * FROM rides", rows=2, groups=1)
        True
        """
        (value,) = self.values
        each = f"SELECT DISTINCT {', '.join(['person', *self.keys, value])} FROM ({grouped}) AS grouped"
        return self.bound_rows(each, rows, groups, first=f"CASE WHEN {value} IS NULL THEN 1 ELSE 0 END")

    def bound_rows(self, grouped: str, rows: int, groups: int, first: str = "") -> str:
        """Return the rows that are left of `grouped` when every person is bounded; all are hashed and ranked."""
        hashes = [f"{self._hash([], self.keys)} AS of_group"] if self.keys else []
        order = self._hash(self.keys, [*self.positions, *self.values.values()])
        hashes += [f"{order} AS of_row"] if order else []
        left = f"SELECT {', '.join(['*', *hashes])} FROM ({grouped}) AS grouped"
        if self.keys:
            nth = f"DENSE_RANK() OVER (PARTITION BY person ORDER BY {', '.join(['of_group', *self.keys])})"
            left = (
                f"SELECT * FROM (SELECT *, {nth} AS nth_group FROM ({left}) AS hashed) AS r WHERE nth_group <= {groups}"
            )
        by = ", ".join(["person", *self.keys])
        ranked = [*([first] if first else []), "of_row" if order else "person", *self.values]
        nth = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {', '.join(ranked)})"
        return f"SELECT * FROM (SELECT *, {nth} AS nth FROM ({left}) AS left_groups) AS ranked WHERE nth <= {rows}"

    def bound_counts(self, grouped: str, rows: int, groups: int | None, *, counted: bool = False) -> str:
        """Return a row for each person and group that are left, with the number of rows that count as its `weight`.

        Where nothing tells the rows of a person in a group apart, only their number matters: these are the rows of
        `bound_rows`, counted, and only persons and groups are hashed and ranked. Where `groups` is None, no person can
        be in more than one, and nothing is hashed. Where rows are `counted` already, each person is there once,
        with the number of its rows as `n`.

        >>> from sfumato.dp.rows.dialect import DUCKDB
        >>> Bounding(DUCKDB, [], [], lambda: "$p0").bound_counts("SELECT * FROM rides", rows=2, groups=1)
        'SELECT person, LEAST(COUNT(*), 2) AS weight FROM (SELECT * FROM rides) AS grouped GROUP BY person'
        """
        by = ", ".join(["person", *self.keys])
        if counted:
            return f"SELECT {by}, LEAST(n, {rows}) AS weight FROM ({grouped}) AS grouped"
        each = f"SELECT {by}, LEAST(COUNT(*), {rows}) AS weight FROM ({grouped}) AS grouped GROUP BY {by}"
        if not self.keys or groups is None:
            return each
        hashed = f"SELECT *, {self._hash([], self.keys)} AS of_group FROM ({each}) AS counted"
        nth = f"ROW_NUMBER() OVER (PARTITION BY person ORDER BY {', '.join(['of_group', *self.keys])})"
        return f"SELECT * FROM (SELECT *, {nth} AS nth FROM ({hashed}) AS hashed) AS ranked WHERE nth <= {groups}"

    def _hash(self, within: list[str], values: list[str]) -> str:
        """Return the hash by which values of a person compete: of the secret, their number, person and all values.

        Each value stands with its length. Where there is nothing to tell rows apart, nothing is hashed.
        """
        if not values:
            return ""
        head = [self.secret(), f"':{len(within + values)}:'"]
        parts = [*head, *map(self.dialect.encode, ["person", *within, *values])]
        return self.dialect.digest.format(x=" || ".join(parts))
