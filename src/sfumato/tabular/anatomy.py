"""Anatomy: quasi-identifiers and sensitive values in two tables that meet only in groups (Xiao & Tao 2006).

Quasi-identifiers stay exact, so counts stay accurate; what is hidden is which value belongs to whom. The
paper draws each group from the l most frequent values left; we deal rows sorted by value out to the groups
in turn, which yields the same groups of different values in one pass whenever the table is eligible. Where models
ask for more than l different values, groups grow until they hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
from sfumato.models.l_diversity import LDiversity
from sfumato.models.words import promise_words
from sfumato.random import SecureSource, Source, permutation
from sfumato.release import Release
from sfumato.release.card import Card, Companion, ReleasedColumn
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column, code_sensitive
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER, Partition, PartitionAnonymizer, kept_promises
from sfumato.tabular.card import choice_words
from sfumato.tabular.level_rules import refuse_unkept
from sfumato.tabular.problem import Problem

GROUP, COUNT, SENSITIVE = "group", "count", "sensitive"
FEW_FAIL = 0.25  # share of the groups of a size that may fail and be merged, rather than all be larger
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
    draws: ClassVar = True
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
        refuse_unkept(self, schema)
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
        shown = _groups_shown(exact, second, problem.sensitive[name])
        groups = kept_promises(shown if problem.person is None else problem.groups(partition.rows), problem.models)
        seeded = not source.secure and not self.keep_order
        plain = self._card(problem, groups, exact.drop(GROUP).columns, seeded=seeded)
        units = "rows" if problem.person is None else "persons"
        words = promise_words(problem.models, problem.schema.names(Role.QUASI), units, one="a group number")
        told = [*plain.assumptions, PRESENCE, *choice_words(problem.models, blind=partition.blind)]
        card = self._anatomy_card(msgspec.structs.replace(plain, assumptions=told), second, name, words)
        table, companion = (Table(frame, problem.table.backend, problem.table.delimiter) for frame in (exact, second))
        return Release(table, card, {SENSITIVE: companion}, notes=problem.notes)

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
        return msgspec.structs.replace(card, released=released)


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
    """Return groups drawn at random, as small as the models allow, the rows of a person always in one group."""
    _refuse_other_columns(problem)
    column = next(iter(problem.sensitive.values()))
    _refuse_frequent(problem, column)
    rows = problem.table.rows
    unit = np.arange(rows) if problem.person is None else np.unique(problem.person, return_inverse=True)[1]
    dealt = _dealing_order(unit, column, source)
    place = np.empty(len(dealt), dtype=np.int64)
    place[dealt] = np.arange(len(dealt))
    groups = _smallest_groups(problem, place, unit)
    count = int(groups.max()) + 1
    every = Numbering(np.arange(rows), np.ones(rows, dtype=np.int64))
    return Partition(every, permutation(count, source)[groups], count, blind=len(dealt) == rows)


def _smallest_groups(problem: Problem, place: Integers, unit: Integers) -> Integers:
    """Return the group of each row: as small as most groups can be, those that still fail merged in pairs.

    Groups have no person in common, so two that hold hold together, and at last all are one group, which holds.
    """
    for size in _sizes(problem, len(place)):
        groups = (place % (len(place) // size))[unit]
        failing = _failing(problem, groups)
        if failing.mean() <= FEW_FAIL:
            break
    while failing.any():
        groups = _merge_pairs(groups, failing)
        failing = _failing(problem, groups)
    return groups


def _merge_pairs(groups: Integers, failing: npt.NDArray[np.bool_]) -> Integers:
    """Return the groups, each failing one joined with another failing one, an odd one with any other."""
    joined = np.arange(len(failing))
    first = np.flatnonzero(failing)
    others = np.flatnonzero(~failing)
    if len(first) % 2 and len(others):
        first = np.append(first, others[0])
    joined[first[1::2]] = first[: len(first) // 2 * 2 : 2]
    return np.unique(joined[groups], return_inverse=True)[1]


def _dealing_order(unit: Integers, column: Column, source: Source) -> Integers:
    """Return the units in the order they are dealt out: by value, in random order otherwise.

    A person with several values is dealt by the one that is most frequent in the table, which is the hardest to hide.
    """
    turn = permutation(column.size, source)
    frequency = np.bincount(column.codes, minlength=column.size)
    hardest = np.lexsort((turn[column.codes], frequency[column.codes], unit))
    last = np.flatnonzero(np.diff(unit[hardest], append=-1))
    value = turn[column.codes[hardest[last]]]
    shuffled = permutation(len(value), source)
    return shuffled[np.argsort(value[shuffled], kind="stable")]


def _sizes(problem: Problem, units: int) -> Iterator[int]:
    """Yield sizes of groups to try: l units first, then ever more; at last all, for which the models are known to hold.

    Groups of l different values are enough for distinct l-diversity. Recursive (c, l)-diversity with c up to 1, missing
    values and persons with several values need larger ones.
    """
    size = _asked_values(problem)
    while size < units:
        yield size
        size += 1 + size // 16
    yield units


def _asked_values(problem: Problem) -> int:
    return max(math.ceil((model.distinct_values or 1) - 1e-9) for model in problem.models)


def _refuse_frequent(problem: Problem, column: Column) -> None:
    """Refuse distinct l-diversity of a table in which one value is too frequent (the paper's eligibility)."""
    if not _failing(problem, np.zeros(problem.table.rows, dtype=np.int64)).any():
        return
    l, every = _asked_values(problem), problem.whole.sensitive[column.name]
    most = int(np.where(every.known, every.counts, 0).argmax())
    count, holders = int(every.counts[most]), int(every.holders[0])
    value, units = column.text(int(every.values[most])), "rows" if problem.person is None else "persons"
    raise UnsatisfiableError(
        f"column '{column.name}': value '{value}' has {count} of {holders} {units}, more than one in {l}; at most "
        f"l={holders // count} is possible"
    )


def _asks_distinct(problem: Problem) -> bool:
    return any(isinstance(model, LDiversity) and model.kind == "distinct" for model in problem.models)


def _failing(problem: Problem, rows: Integers) -> npt.NDArray[np.bool_]:
    """Return which groups break a model or, for distinct l-diversity, the paper's bound on frequencies."""
    groups = problem.groups(rows)
    (found,) = groups.sensitive.values()
    failing = np.zeros(groups.count, dtype=np.bool_)
    for model in problem.models:
        if not model.holds(model.measure(groups)):
            failing |= model.failing(groups)
    if _asks_distinct(problem):
        often = found.known & (found.counts * _asked_values(problem) > found.holders[found.classes])
        failing[found.classes[often]] = True
    return failing


def _refuse_other_columns(problem: Problem) -> None:
    sensitive = problem.schema.names(Role.SENSITIVE)
    if len(sensitive) != 1:
        raise SchemaError(f"anatomy hides one sensitive column; found {', '.join(sensitive)}; declare or drop the rest")
    taken = [name for name in problem.schema.columns if name in {GROUP, COUNT}]
    if taken:
        raise SchemaError(f"column '{taken[0]}' has a name that anatomy's tables use; rename it")


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
    return Groups.of(groups, {column.name: code_sensitive(repeated.get_column(column.name), column.attribute)})
