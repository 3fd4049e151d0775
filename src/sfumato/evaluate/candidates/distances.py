"""How far a candidate's columns, and the ties between them, lie from the original, which is read once for all.

The measures are those of `sfumato.evaluate.distances` and `sfumato.evaluate.pairs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sfumato.evaluate.distances import column_distance
from sfumato.evaluate.pairs import OriginalTies
from sfumato.evaluate.regions import Regions, exact_regions, read_regions
from sfumato.evaluate.sides import Sides, read_columns, refuse_empty
from sfumato.schema import Schema
from sfumato.table import Table

DIGITS = 6


@dataclass(frozen=True)
class Distances:
    """The total variation of each column, and how much the tie of every two changed; both from 0 (none) on.

    A tie's change is the larger one of those of Cramér's V and of the correlation.

    >>> found = Distances({"age": 0.3, "sex": 0.1}, {("age", "sex"): 0.25})
    >>> found.worst_column, found.mean_column, found.worst_pair, found.mean_pair
    (('age', 0.3), 0.2, (('age', 'sex'), 0.25), 0.25)
    """

    columns: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]

    @property
    def worst_column(self) -> tuple[str, float] | None:
        """The column that moved most, and its total variation."""
        return max(self.columns.items(), key=lambda each: each[1], default=None)

    @property
    def worst_pair(self) -> tuple[tuple[str, str], float] | None:
        """The pair of columns whose tie changed most, and its change; None where there is one column alone."""
        return max(self.pairs.items(), key=lambda each: each[1], default=None)

    @property
    def mean_column(self) -> float | None:
        """The mean total variation of all columns."""
        return sum(self.columns.values()) / len(self.columns) if self.columns else None

    @property
    def mean_pair(self) -> float | None:
        """The mean change of all pairs."""
        return sum(self.pairs.values()) / len(self.pairs) if self.pairs else None

    def as_json(self) -> dict[str, Any]:
        """Return every column, and the worst and the mean of columns and of pairs.

        >>> Distances({"age": 0.25}, {}).as_json()
        {'columns': {'age': 0.25}, 'worst_column': 0.25, 'mean_column': 0.25, 'worst_pair': None, 'mean_pair': None, \
'worst_pair_of': None}
        """
        column, pair = self.worst_column, self.worst_pair
        return {
            "columns": {name: round(value, DIGITS) for name, value in self.columns.items()},
            "worst_column": None if column is None else round(column[1], DIGITS),
            "mean_column": None if self.mean_column is None else round(self.mean_column, DIGITS),
            "worst_pair": None if pair is None else round(pair[1], DIGITS),
            "mean_pair": None if self.mean_pair is None else round(self.mean_pair, DIGITS),
            "worst_pair_of": None if pair is None else list(pair[0]),
        }


@dataclass(frozen=True, eq=False)
class OriginalColumns:
    """The original's columns, coded and counted once.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(50))
    >>> columns = OriginalColumns.of(people, sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop"))
    >>> columns.compare(people).mean_column, columns.compare(people).worst_pair
    (0.0, (('age', 'disease'), 0.0))
    """

    regions: Mapping[str, Regions]
    ties: OriginalTies

    @classmethod
    def of(cls, table: Table, schema: Schema) -> Self:
        """Return the quasi-identifiers and sensitive columns of a table."""
        columns = read_columns(table, schema)
        return cls({name: exact_regions(column) for name, column in columns.items()}, OriginalTies.of(columns))

    def compare(self, released: Table) -> Distances:
        """Return how far a released table lies from the original."""
        refuse_empty(released)
        shown = {name: read_regions(regions.column, released) for name, regions in self.regions.items()}
        columns = {
            name: column_distance(Sides(regions, shown[name])).total_variation for name, regions in self.regions.items()
        }
        return Distances(columns, {(pair.first, pair.second): pair.change for pair in self.ties.compare(shown)})
