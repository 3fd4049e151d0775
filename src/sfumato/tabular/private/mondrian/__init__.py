"""Private Mondrian: a differentially private generalised table that answers any number of counting queries.

Mondrian's recursive cuts (LeFevre, DeWitt & Ramakrishnan 2006) chosen by the exponential mechanism over a public
domain, with noisy counts made consistent up the tree (in the line of Xiao, Xiong & Yuan 2010 and Cormode et al. 2012).
No k-anonymity is claimed. Proof: docs/algorithms/private-mondrian.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from sfumato.core.cells import range_text, set_text
from sfumato.core.parameters import Option, Real, Whole
from sfumato.dp.mechanisms.base import exact
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.promise import Cost, Promise
from sfumato.promise.cost import amount
from sfumato.random import Source, noise_from, permutation
from sfumato.release import Release
from sfumato.release.card import Guarantee, Released
from sfumato.schema import Kind, Schema
from sfumato.schema.times import EPOCH, time_text
from sfumato.table import Table
from sfumato.tabular.changes import coarsened_columns
from sfumato.tabular.coarsen import rules_on_card
from sfumato.tabular.private.base import PrivateAnonymizer, PrivateDraw, private_card, released_columns, row_promise
from sfumato.tabular.private.mondrian.tree import Box, Spending, grow, make_consistent, merge_even_cuts, share_out
from sfumato.tabular.private.public_columns import (
    GRID,
    OUTSIDE,
    PublicColumn,
    domain_ends,
    domain_words,
    public_columns,
)

DEEPEST = 30
CHOSEN = 5  # levels of cuts that look at the rows
LEAST_EPSILON = 1e-6  # below, noise alone would make a table of billions of rows
LEAST = 35  # a box with fewer noisy rows than this over ε is not cut
PENALTY = 1.0  # the squared deviation that noise alone has on average, in variances
NOTES = (
    "A row is one of its box's noisy count and stands for nobody; k-anonymity is not promised.",
    "Rows with a value that is missing or outside the declared domain are not counted.",
    "Counts are best read as evenly spread inside a box.",
)
CHANGES = (
    "No row is a person's: each stands for one of the noisy count of its box, and their number is a noisy count.",
    "Rows with a value that is missing or outside the declared domain are in no count. How many is not told.",
)


@dataclass(frozen=True)
class PrivateMondrian(PrivateAnonymizer):
    """Boxes of a public domain with noisy counts, ε-differentially private (LeFevre et al. 2006; Cormode et al. 2012).

    The release shows each box as often as its noisy count says, so that it is read like any generalised table;
    `sf.evaluate.expected_count` answers counting queries on it. `depth` is how often the domain is cut at most.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.census_10k())
    >>> schema = sf.Schema({
    ...     "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69)),
    ...     "salary": sf.Attribute("salary", sf.Role.SENSITIVE, sf.Kind.INTEGER, bounds=(10000, 300100))}, other="drop")
    >>> release = PrivateMondrian(epsilon=1).anonymize(people, schema)
    >>> release.card.guarantee.model, release.card.guarantee.parameters
    ('differential privacy', {'epsilon': 1.0})
    >>> bool(abs(release.table.rows - 10_000) < 200)
    True
    """

    epsilon: float
    depth: int = 10

    RULES: ClassVar = {"epsilon": Real(LEAST_EPSILON, 100), "depth": Whole(1)}
    OPTIONS: ClassVar = {
        "epsilon": Option("Privacy loss ε: how much one person can change what is published; smaller is safer."),
        "depth": Option("Largest number of cuts between the whole domain and a box."),
    }
    algorithm: ClassVar = "private-mondrian"
    notes: ClassVar = NOTES
    audit: ClassVar = "sfumato.audit.release.private_tables:box_findings"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(epsilon=1),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth > DEEPEST:
            raise ParameterError(
                f"The 'depth' parameter of PrivateMondrian must be at most {DEEPEST}. Got {self.depth} instead."
            )

    def accepts(self, model: Model) -> bool:
        del model
        return False

    def prepare(self, table: Table, schema: Schema, models: Sequence[Model]) -> PrivateDraw:
        if models:
            raise ParameterError(f"private-mondrian promises differential privacy, not {models[0].name}; leave it out")
        columns = public_columns(table, schema)
        asked = {"algorithm": self.algorithm, **self.settings(), "schema": schema.to_toml()}
        return PrivateDraw(self.promise, asked, partial(self._draw, table, columns))

    @property
    def promise(self) -> Promise:
        """What one row that is there or not is promised."""
        return row_promise(Cost(amount(self.epsilon)))

    @property
    def spending(self) -> Spending:
        """How ε is spent, level by level."""
        return Spending.of(exact(self.epsilon), self.depth, CHOSEN)

    def settings(self) -> dict[str, Any]:
        """The parameters as they stand on the card."""
        return {"epsilon": self.epsilon, "depth": self.depth, "epsilon_cuts": float(sum(self.spending.cuts))}

    def _draw(self, table: Table, columns: Sequence[PublicColumn], source: Source) -> Release:
        points = np.stack([column.points for column in columns], axis=1)
        inside = (points != OUTSIDE).all(axis=1)
        sizes = [column.size for column in columns]
        tree = grow(points[inside], sizes, self.spending, LEAST / self.epsilon, noise_from(source))
        make_consistent(tree)
        merge_even_cuts(tree, PENALTY)
        boxes = [(box, count) for box, count in share_out(tree, max(0, round(tree.count))) if count]
        frame = _write_boxes(columns, boxes, source)
        released = Released(
            rows=frame.height,
            columns=released_columns(columns),
            classes=len(boxes),
            settings=self.settings() | rules_on_card(column.attribute for column in columns),
        )
        card = private_card(
            algorithm=self.algorithm,
            guarantee=Guarantee.of(self.promise),
            released=released,
            notes=self.notes,
            secure=source.secure,
            changes=[*CHANGES, *coarsened_columns(column.attribute for column in columns)],
        )
        left_out = {"rows_not_counted": float((~inside).sum())}
        return Release(Table(frame, table.backend, table.delimiter), card, steward=left_out)


def _write_boxes(columns: Sequence[PublicColumn], boxes: Sequence[tuple[Box, int]], source: Source) -> pl.DataFrame:
    """Return each box as many times as its count says, in random order."""
    order = permutation(sum(count for _, count in boxes), source)
    owner = np.repeat(np.arange(len(boxes)), [count for _, count in boxes])[order]
    series = []
    for place, column in enumerate(columns):
        texts = [side_text(column, box.low[place], box.high[place]) for box, _ in boxes]
        series.append(pl.Series(column.name, texts, dtype=pl.String).gather(pl.Series(owner.astype(np.uint32))))
    return pl.DataFrame(series)


def side_text(column: PublicColumn, low: int, high: int) -> str:
    """Return one side of a box as text: a range, a set, or a single value.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.schema import Role
    >>> age = Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(20, 69))
    >>> side_text(PublicColumn.of(pl.Series([20]), age), 0, 9)
    '[20-29]'
    """
    words = domain_words(column.attribute)
    kind = column.attribute.kind
    if words is not None and kind is not Kind.ORDINAL:
        return set_text(words[low : high + 1])
    ends = (words[low], words[high]) if words is not None else _ends(column, low, high)
    return range_text(*ends, whole=kind is Kind.INTEGER)


def _ends(column: PublicColumn, low: int, high: int) -> tuple[str, str]:
    first, last = domain_ends(column.attribute)
    if column.attribute.kind is Kind.NUMBER:
        step = (last - first) / GRID
        return str(first + low * step), str(first + (high + 1) * step)
    if column.attribute.kind is Kind.TIMESTAMP:
        step = (last - first) / GRID
        return time_text(first + low * step), time_text(first + (high + 1) * step)
    numbers = (int(first) + low, int(first) + high)
    if column.attribute.kind is Kind.DATE:
        days = [(EPOCH + dt.timedelta(days=number)).isoformat() for number in numbers]
        return days[0], days[1]
    return str(numbers[0]), str(numbers[1])
