"""Anatomy: quasi-identifiers and sensitive values in two tables that meet only in groups (Xiao & Tao 2006).

Quasi-identifiers stay exact, so counts stay accurate; what is hidden is which value belongs to whom. The
paper draws each group from the l most frequent values left; we deal rows sorted by value out to the groups
in turn, which yields the same groups of different values in one pass whenever the table is eligible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.parameters import OneOf
from sfumato.errors import BrokenPromiseError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.models.base import Model
from sfumato.models.groups import Groups
from sfumato.models.words import promise_words
from sfumato.random import SecureSource, Source, permutation
from sfumato.release import Release
from sfumato.release.card import Card, Companion, ReleasedColumn
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column, code
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER, Partition, PartitionAnonymizer, kept_promises
from sfumato.tabular.problem import Problem

GROUP, COUNT, SENSITIVE = "group", "count", "sensitive"
PRESENCE = (
    "Quasi-identifiers are published unchanged: whoever knows a person's learns that the person is in the table. "
    "Only the link to the sensitive value is hidden; k-anonymity is not promised."
)
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Anatomy(PartitionAnonymizer):
    """Two tables, exact quasi-identifiers with a group number and each group's sensitive values (Xiao & Tao 2006).

    The models must be l-diversity of the one sensitive column; l says how large groups are. The release's
    companion `sensitive` is the second table.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80], "ill": ["flu", "flu", "gout", "cold"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> release = Anatomy().anonymize(people, schema, [sf.LDiversity(2, "ill")])
    >>> release.frame.columns, release.companions["sensitive"].frame.columns
    (['age', 'group'], ['group', 'ill', 'count'])
    >>> estimate_count(release, pl.col("age") < 30, pl.col("ill") == "flu")
    1.0
    """

    keep_order: bool = False

    RULES: ClassVar = {"keep_order": OneOf((False, True))}
    OPTIONS: ClassVar = {"keep_order": KEEP_ORDER}
    algorithm: ClassVar = "anatomy"
    has_boxes: ClassVar = False
    shown: ClassVar = (
        "{quasi}: published unchanged. {sensitive}: moved to a second table, tied to the rows by group numbers alone."
    )

    def partition(self, problem: Problem) -> Partition:
        """Return groups of rows with different sensitive values, drawn by the secure source."""
        return _deal_groups(problem, SecureSource())

    def anonymize(self, table: Table, schema: Schema, models: Sequence[Model], *, rng: Source | None = None) -> Release:
        """Return the two tables; rows, group numbers and who shares a group are drawn by `rng`."""
        source = SecureSource() if rng is None else rng
        _refuse_other_models(models)
        problem = Problem.of(table, schema, list(models))
        return self.publish(problem, _deal_groups(problem, source), source)

    def publish(self, problem: Problem, partition: Partition, source: Source) -> Release:
        """Return the two tables of finished groups, once every model holds on what they say together."""
        name = next(iter(problem.sensitive))
        order = np.arange(problem.table.rows) if self.keep_order else permutation(problem.table.rows, source)
        number = partition.rows + 1
        kept = [entry for entry, part in problem.schema.columns.items() if part.role in {Role.QUASI, Role.OTHER}]
        exact = problem.table.frame.select(kept).with_columns(pl.Series(GROUP, number))[order]
        second = _sensitive_table(problem.table.column(name), number)
        groups = kept_promises(_groups_shown(exact, second, problem.sensitive[name]), problem.models)
        seeded = not source.secure and not self.keep_order
        plain = self._card(problem, groups, exact.drop(GROUP).columns, seeded=seeded)
        words = promise_words(problem.models, problem.schema.names(Role.QUASI), "rows", one="a group number")
        card = self._anatomy_card(plain, second, name, words)
        table, companion = (Table(frame, problem.table.backend, problem.table.delimiter) for frame in (exact, second))
        return Release(table, card, {SENSITIVE: companion})

    def _anatomy_card(self, card: Card, second: pl.DataFrame, name: str, words: Sequence[str]) -> Card:
        group = ReleasedColumn(name=GROUP, role=GROUP, type="integer")
        columns = [group, ReleasedColumn(name=name, role=str(Role.SENSITIVE)), ReleasedColumn(name=COUNT, role=COUNT)]
        released = msgspec.structs.replace(
            card.released,
            columns=[*card.released.columns, group],
            models=[
                msgspec.structs.replace(entry, words=text)
                for entry, text in zip(card.released.models, words, strict=True)
            ],
            companions=[Companion(name=SENSITIVE, rows=second.height, columns=columns)],
        )
        return msgspec.structs.replace(card, released=released, assumptions=[*card.assumptions, PRESENCE])


def estimate_count(release: Release, quasi: pl.Expr, sensitive: pl.Expr) -> float:
    """Return how many people the two tables say satisfy both conditions, values spread evenly in a group.

    In each group, the share of its sensitive values that satisfy `sensitive` is counted for every row that
    satisfies `quasi` (Xiao & Tao 2006, section 3).

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(400))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> release = Anatomy().anonymize(people, schema, [sf.LDiversity(4, "disease")])
    >>> everybody = estimate_count(release, pl.col("age") > 0, pl.col("disease") == "flu")
    >>> round(everybody) == (people.column("disease") == "flu").sum()
    True
    """
    if SENSITIVE not in release.companions:
        raise SchemaError("counts are estimated from Anatomy's two tables; this release has one")
    second = release.companions[SENSITIVE].frame
    shares = second.group_by(GROUP).agg((pl.col(COUNT) * sensitive.cast(pl.Int64)).sum() / pl.col(COUNT).sum())
    chosen = release.table.frame.filter(quasi).group_by(GROUP).len()
    return float(chosen.join(shares, on=GROUP).select(pl.col("len") * pl.col(COUNT)).sum().item())


def _refuse_other_models(models: Sequence[Model]) -> None:
    columns = {model.sensitive for model in models}
    for model in models:
        if model.distinct_values is None:
            raise ParameterError(
                f"anatomy publishes quasi-identifiers unchanged and cannot promise {model.name}; "
                "ask for l-diversity, or choose another algorithm"
            )
    if len(columns) > 1:
        named = ", ".join(sorted(str(column) for column in columns))
        raise ParameterError(f"anatomy hides one sensitive column; found models of {named}; declare one as sensitive")


def _deal_groups(problem: Problem, source: Source) -> Partition:
    """Return groups of at least l rows, no two with the same sensitive value, drawn at random."""
    _refuse_other_columns(problem)
    column = next(iter(problem.sensitive.values()))
    count = _group_count(problem, column)
    rows = problem.table.rows
    turn = permutation(column.size, source)[column.codes]
    shuffled = permutation(rows, source)
    dealt = shuffled[np.argsort(turn[shuffled], kind="stable")]
    groups = np.empty(rows, dtype=np.int64)
    groups[dealt] = permutation(count, source)[np.arange(rows) % count]
    return Partition(Numbering(np.arange(rows), np.ones(rows, dtype=np.int64)), groups, count)


def _group_count(problem: Problem, column: Column) -> int:
    """Return how many groups there are; refuse a table in which one value is too frequent (the eligibility check)."""
    l = max(math.ceil((model.distinct_values or 1) - 1e-9) for model in problem.models)
    rows = problem.table.rows
    counts = np.bincount(column.codes)
    most = int(counts.max())
    if most * l > rows:
        raise UnsatisfiableError(
            f"column '{column.name}': value '{column.text(int(counts.argmax()))}' has {most} of {rows} rows, more than "
            f"one in {l}; at most l={rows // most} is possible"
        )
    return rows // l


def _refuse_other_columns(problem: Problem) -> None:
    sensitive = problem.schema.names(Role.SENSITIVE)
    if len(sensitive) != 1:
        raise SchemaError(f"anatomy hides one sensitive column; found {', '.join(sensitive)}; declare or drop the rest")
    taken = [name for name in problem.schema.columns if name in {GROUP, COUNT}]
    if taken:
        raise SchemaError(f"column '{taken[0]}' has a name that anatomy's tables use; rename it")
    if problem.person is not None and len(np.unique(problem.person)) < problem.table.rows:
        raise SchemaError("anatomy needs one row for each person; gather each person's rows into one")


def _sensitive_table(values: pl.Series, number: Integers) -> pl.DataFrame:
    """Return how often each value occurs in each group, in an order that says nothing about rows."""
    pairs = pl.DataFrame([pl.Series(GROUP, number), values])
    return pairs.group_by(GROUP, values.name).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(GROUP, values.name)


def _groups_shown(exact: pl.DataFrame, second: pl.DataFrame, column: Column) -> Groups:
    """Return the groups as the two released tables show them, counted from those tables alone."""
    repeated = second.select(pl.exclude(COUNT).repeat_by(COUNT)).explode(GROUP, column.name)
    groups = repeated.get_column(GROUP).to_numpy() - 1
    sizes = np.bincount(exact.get_column(GROUP).to_numpy() - 1)
    if not np.array_equal(sizes, np.bincount(groups)):
        raise BrokenPromiseError("the release was withheld: its two tables disagree on the size of a group; report it")
    return Groups.of(groups, {column.name: code(repeated.get_column(column.name), column.attribute)})
