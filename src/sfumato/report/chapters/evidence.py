"""Everything the steward's report needs to know about one table and its release, measured once.

Risks are measured on the original and on the released rows alike (El Emam 2013), loss against the
original (Xu et al. 2006). None of it may be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from sfumato.core.cells import SUPPRESSED
from sfumato.evaluate.check import Measures, Risk, check, risks, written_groups
from sfumato.evaluate.released_rows import rows_with_values
from sfumato.evaluate.utility import Utility, utility
from sfumato.models.groups import Groups
from sfumato.release import Card, Release
from sfumato.release.row_counts import ADDED, STARRED, RowCounts
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.tabular.anatomy import GROUP
from sfumato.tabular.coarsen import coarsen_table


@dataclass(frozen=True, eq=False)
class Evidence:
    """A table, its release, and what was measured on both.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)])
    >>> evidence = Evidence.of(people, schema, release)
    >>> evidence.withheld, int(evidence.sizes.sum()), evidence.after.k >= 10
    (0, 100, True)
    """

    table: Table
    schema: Schema
    release: Release
    released: Table
    before: Measures
    after: Measures
    utility: Utility
    sizes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, schema: Schema, release: Release) -> Evidence:
        """Return the evidence, measured."""
        table, settled = coarsen_table(table, schema.settled(table))
        quasi, sensitive = settled.names(Role.QUASI), settled.names(Role.SENSITIVE)
        released = rows_with_values(release)
        shown = [column.name for column in release.card.released.columns if column.role == Role.QUASI]
        classes = [GROUP] if release.companions else shown
        return cls(
            table,
            settled,
            release,
            released,
            before=check(table, quasi, sensitive, schema=settled),
            after=_measures_after(released, shown, classes, sensitive, settled),
            utility=utility(table, settled, released),
            sizes=written_groups(released, classes).sizes,
        )

    @property
    def information_loss(self) -> float | None:
        """The share of variance lost where groups are shown as their centroids; None for other releases."""
        loss = self.release.steward.get("information_loss")
        return None if loss is None else loss / 100

    @property
    def card(self) -> Card:
        """The release's public card."""
        return self.release.card

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers, by their names in the original."""
        return self.schema.names(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.schema.names(Role.SENSITIVE)

    @property
    def withheld(self) -> int:
        """The number of rows that were not released."""
        return self.counts.withheld

    @property
    def counts(self) -> RowCounts:
        """How many rows were read, withheld, added and released, counted again from the two tables."""
        read, released = self.table.rows, self.release.table.rows
        added, starred = (int(self.card.released.measures.get(name, 0)) for name in (ADDED, STARRED))
        return RowCounts(read, read + added - released, added, released, starred)

    @property
    def counts_persons(self) -> bool:
        """Whether the promise counts persons, which the released rows no longer show."""
        return self.schema.person is not None

    @property
    def risk_before(self) -> Risk:
        """The risks of the original values, per protected unit."""
        if self.schema.person is None:
            return self.before.risk
        classes = self.table.frame.group_by(self.quasi).agg(pl.len(), pl.col(self.schema.person).n_unique())
        return risks(Groups(classes["len"].to_numpy(), classes[self.schema.person].to_numpy()))

    @property
    def risk_after(self) -> Risk:
        """The risks of the released values; for persons, upper bounds from the card's smallest class."""
        if not self.counts_persons:
            return self.after.risk
        most = 1 / self.card.released.measures["smallest_class"]
        return Risk(most, most, most, most)

    @property
    def suppressed_cells(self) -> int:
        """The number of suppressed cells of released quasi-identifiers."""
        table = self.release.table
        return sum(_stars(*table.counted(name)) for name in self.quasi if name in table.names)


def _stars(cells: pl.Series, times: npt.NDArray[np.int64] | None) -> int:
    """Return how many cells are suppressed, of a column or of its counted cells."""
    suppressed = (cells.cast(pl.String) == SUPPRESSED).fill_null(value=False)
    return int(suppressed.sum() if times is None else times[suppressed.to_numpy()].sum())


def _measures_after(
    released: Table, shown: Sequence[str], classes: Sequence[str], sensitive: Sequence[str], schema: Schema
) -> Measures:
    """Return the measures of the release: risks by the released columns, sensitive values by the classes."""
    found = check(released, shown, sensitive, schema=schema)
    return replace(found, sensitive=check(released, classes, sensitive, schema=schema).sensitive)
