"""The one verb of every anonymizer; and for those that find classes: recode them, check the output, write the card.

A release that fails its own models is withheld; recoding unseen rows later would void the promise, so
there is no fit/transform (see Ciriani et al. 2007 on what k-anonymous tables promise).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Option, Validated
from sfumato.core.threads import most_threads
from sfumato.errors import BrokenPromiseError, ParameterError, SchemaError
from sfumato.models.base import Model
from sfumato.models.groups import Groups
from sfumato.random import SecureSource, Source, permutation
from sfumato.release import Card, Release
from sfumato.release.row_counts import RowCounts
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.table.coded import Held, take
from sfumato.table.distinct import Numbering, distinct
from sfumato.table.parse_report import IN_PRIVATE_TABLES, IN_TABLES, Fate, take_in
from sfumato.tabular.card import choice_words, make_card
from sfumato.tabular.changes import column_changes, starred_columns
from sfumato.tabular.explanation import Explanation
from sfumato.tabular.level_rules import refuse_unkept
from sfumato.tabular.population import Masks
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, recode

KEEP_ORDER = Option("Leave rows in their order, which the card reports as a risk.")
RANGES = Option("Write numeric ranges as text, or as two columns x_min and x_max.")
LEFT_OUT = "rows that no class could hold were left out of the release"
FITTED = (
    "its classes do not say who of a population fits them; use mondrian, local-recoding, datafly, incognito or optimal"
)
PARTED = (
    "everybody in a population must fit one class; use datafly, incognito or optimal without --suppress and --local"
)
Classes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of points: which distinct row each row is, the class of each distinct row, and their number.

    Class -1 is left out of the release. An algorithm that chose labels itself gives them in `coarse`,
    and in `measures` what it has to say about the released rows; without, ranges are tight. What is measured
    against the original goes into `steward`, never on the card, and sentences about it into `notes`; `changes` are
    sentences of the card, from released values alone. `blind` says that the classes would be the same had
    the members of each exchanged their sensitive values, which takes a proof. `levels` tells for each column which
    levels of its hierarchy were chosen, lowest and highest, and which one is the top.
    """

    points: Numbering
    classes: Classes
    count: int
    coarse: Mapping[str, list[Coarse]] | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    steward: Mapping[str, float] = field(default_factory=dict)
    blind: bool = False
    notes: Sequence[str] = ()
    changes: Sequence[str] = ()
    levels: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    labels: Masks | None = None  # what each class's labels stand for, where they are not tight around its rows

    @property
    def leaves_out(self) -> bool:
        """Whether some rows are not released."""
        return bool((self.classes < 0).any())

    @property
    def rows(self) -> Classes:
        """The class of each row; secret, since it leads back from a class to its people."""
        return self.classes[self.points.ids]


@dataclass(frozen=True, eq=False)
class Settled:
    """A release before its rows are written: the problem of the released rows, their classes and what these show.

    `kept` says which of the original rows are released, None all of them; `row_class` is as secret as `Partition.rows`.
    """

    problem: Problem
    partition: Partition
    coarse: Mapping[str, list[Coarse]]
    kept: npt.NDArray[np.bool_] | None
    row_class: Classes
    groups: Groups


class Anonymizer(Validated, ABC):
    """A frozen dataclass of parameters that turns a table into a release with a card.

    A class declares its name at the command line (`algorithm`, with `aliases`), its options there (`OPTIONS`), what
    its cards say beside the promise (`notes`), and where its own attack lies (`audit`, as "module:function": called
    with a card, a number of trials and a source of randomness, it returns findings).

    >>> import sfumato as sf
    >>> isinstance(sf.Mondrian(), Anonymizer), isinstance(sf.SafePub(epsilon=1), Anonymizer)
    (True, True)
    """

    algorithm: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()
    audit: ClassVar[str | None] = None
    private: ClassVar[bool] = False  # promises differential privacy: no model is needed, a ledger may pay
    has_levels: ClassVar[bool] = False  # keeps the lowest and highest levels that a schema declares
    weighs_columns: ClassVar[bool] = False  # heeds the weights that a schema declares
    needs_models: ClassVar[bool] = True  # a release without a model would promise nothing that was asked for

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        """Return instances with small parameters, for the conformance suite.

        >>> import sfumato as sf
        >>> [one.relaxed for one in sf.Mondrian.sample()]
        [False, True, False]
        """
        return (cls(),)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Files that the parameters name, which no output may replace."""
        return ()

    @abstractmethod
    def anonymize(self, table: Table, schema: Schema, models: Sequence[Model], *, rng: Source | None = None) -> Release:
        """Return an anonymous release of `table`; `rng=None` is the secure source."""

    def accepts(self, model: Model) -> bool:
        """Return whether the algorithm can promise a model; another one it refuses in a sentence.

        >>> import sfumato as sf
        >>> sf.Mondrian().accepts(sf.TCloseness(0.2, "disease"))
        True
        """
        del model
        return True

    @property
    def fate(self) -> Fate:
        """What becomes of cells that cannot be read or lie outside of what is declared."""
        return IN_PRIVATE_TABLES if self.private else IN_TABLES

    def take_in(self, table: Table, schema: Schema) -> Table:
        """Return the table with what became of its cells (`intake`); refused where more than the declared share failed.

        What a private algorithm does must not depend on one row, so that it refuses only if a share is declared.

        >>> import polars as pl, sfumato as sf
        >>> schema = sf.Schema({"age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 99))})
        >>> people = sf.Table(pl.DataFrame({"age": ["x", "31"]}))
        >>> sf.PrivateMondrian(epsilon=1).take_in(people, schema).column("age").to_list()
        [None, '31']
        """
        declared = replace(schema, failed=1.0) if self.private and schema.failed is None else schema
        return take_in(table, declared)

    def explain(self, table: Table, schema: Schema, models: Sequence[Model]) -> Explanation:
        """Return the releases that the algorithm chooses among, for the steward; refused where it weighs none.

        >>> import sfumato as sf
        >>> sf.Mondrian().explain(sf.Table.from_frame(sf.samples.patients(9)), sf.Schema(), [])
        Traceback (most recent call last):
        sfumato.errors.ParameterError: --explain lists the generalisations that datafly, incognito or optimal chooses \
among; mondrian weighs none
        """
        del table, schema, models
        raise ParameterError(
            "--explain lists the generalisations that datafly, incognito or optimal chooses among; "
            f"{self.algorithm} weighs none"
        )


class PartitionAnonymizer(Anonymizer):
    """An anonymizer that finds classes of rows; what they are shown as, and the check of it, is the same for all.

    >>> import sfumato as sf
    >>> isinstance(sf.Mondrian(), PartitionAnonymizer), isinstance(sf.SafePub(epsilon=1), PartitionAnonymizer)
    (True, False)
    """

    reads_counts: ClassVar[bool] = False  # needs nothing but counts of distinct rows, which Spark can bring
    shown: ClassVar[str] = "{quasi}: shown as a range, a set or a wider label that all rows of a class share."
    has_boxes: ClassVar[bool] = True  # classes are written as ranges and sets, which a series of releases can widen
    draws: ClassVar[bool] = False  # classes are drawn at random, so that the same rows have other classes next time
    top_down: ClassVar[bool] = (
        False  # cuts from above: what becomes of a part depends on its rows and the whole's shares
    )
    ranges: str
    keep_order: bool

    @property
    def fits_people(self) -> Literal["none", "labels", "parts"]:
        """Whether people of a population can be fitted to classes: by their labels, and if so, each to just one."""
        return "none"

    def accepts(self, model: Model) -> bool:
        """Return whether the algorithm can promise a model: one of a population needs labels that people fit."""
        return model.people is None or self.fits_people in (
            ("parts",) if model.parts_population else ("parts", "labels")
        )

    @abstractmethod
    def partition(self, problem: Problem) -> Partition:
        """Return classes of the problem's rows that satisfy every model."""

    def partition_worlds(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return what partitions problems that differ from this one in sensitive values alone.

        An algorithm whose longest step does not read these values takes it once.
        """
        del problem
        return self.partition

    def anonymize(self, table: Table, schema: Schema, models: Sequence[Model], *, rng: Source | None = None) -> Release:
        """Return an anonymous release of `table`; `rng=None` shuffles it by the secure source.

        >>> import sfumato as sf
        >>> people = sf.Table.from_frame(sf.samples.patients(100))
        >>> schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
        >>> sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)]).card.released.rows
        100
        """
        source = SecureSource() if rng is None else rng
        refuse_unkept(self, schema)
        self.refuse_unfitted(models)
        problem = Problem.of(table, schema, list(models))
        if self.keep_order or most_threads() == 1:
            return self.publish(problem, self.partition(problem), source)
        with ThreadPoolExecutor(1) as other_core:
            drawn = other_core.submit(permutation, table.rows, source)
            return self._write_release(problem, self.partition(problem), source, drawn.result)

    def refuse_unfitted(self, models: Sequence[Model]) -> None:
        """Refuse a model of a population, where people could not be fitted to the classes.

        >>> import sfumato as sf
        >>> sf.MDAV().refuse_unfitted([sf.KMap(5, sf.Population("voters", 9, "ab12"))])
        Traceback (most recent call last):
        sfumato.errors.ParameterError: mdav cannot promise k-map, since its classes do not say who of a population \
fits them; use mondrian, local-recoding, datafly, incognito or optimal
        """
        for model in models:
            if model.people is not None and not self.accepts(model):
                why = PARTED if model.parts_population else FITTED
                raise ParameterError(f"{self.algorithm} cannot promise {model.name}, since {why}")

    def publish(self, problem: Problem, partition: Partition, source: Source) -> Release:
        """Return the release of finished classes, once every model holds on what is released."""
        drawn = None if self.keep_order else partial(permutation, problem.table.rows, source)
        return self._write_release(problem, partition, source, drawn)

    def _write_release(
        self, problem: Problem, partition: Partition, source: Source, drawn: Callable[[], Classes] | None
    ) -> Release:
        settled = self.settle(problem, partition)
        order = None if drawn is None else _order_of(settled.kept, drawn())
        table = write_rows(settled, order)
        card = self.card(settled, table.names, seeded=not source.secure and not self.keep_order)
        return Release(table, card, steward=partition.steward, notes=[*problem.notes, *partition.notes])

    def settle(self, problem: Problem, partition: Partition) -> Settled:
        """Return what the release shows of each class, once every model holds on it."""
        coarse = self._recode(problem, partition) if partition.coarse is None else partition.coarse
        row_class = partition.rows
        kept = row_class >= 0 if partition.leaves_out else None
        released = problem if kept is None else problem.only(kept)
        row_class = row_class if kept is None else row_class[kept]
        shown = [column for columns in coarse.values() for column in columns]
        groups = self._check_classes(released, shown, row_class, partition.labels)
        return Settled(released, partition, coarse, kept, row_class, groups)

    def card(self, settled: Settled, names: Sequence[str], *, seeded: bool) -> Card:
        """Return the public card of a settled release with columns of these names."""
        plain = self._card(settled.problem, settled.groups, names, seeded=seeded)
        told = [*plain.assumptions, *choice_words(settled.problem.models, blind=settled.partition.blind)]
        card = _with_suppression(msgspec.structs.replace(plain, assumptions=told), settled.partition)
        counts = RowCounts.of(card, settled.partition.steward)
        stars = starred_columns(settled.coarse, settled.row_class, settled.problem.weights, counts.starred)
        changes = [*card.changes, *settled.partition.changes, *counts.changes(), *stars]
        return msgspec.structs.replace(card, changes=changes)

    def settings(self) -> dict[str, Any]:
        """The algorithm's own parameters, as they stand on the card."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        return {name: value.algorithm if isinstance(value, Anonymizer) else value for name, value in values.items()}

    def _recode(self, problem: Problem, partition: Partition) -> dict[str, list[Coarse]]:
        kept = partition.classes >= 0
        examples, classes = partition.points.examples[kept], partition.classes[kept]
        return {
            column.name: recode(column, column.codes[examples], classes, partition.count, self.ranges)
            for column in problem.quasi
        }

    def _check_classes(
        self, problem: Problem, coarse: list[Coarse], row_class: Classes, labels: Masks | None
    ) -> Groups:
        """Return the classes that the released values themselves form, once every model holds on them."""
        shown = distinct([column.index for column in coarse], [len(column.values) for column in coarse])
        masks = None if labels is None else lambda number: labels(int(shown.examples[number]))
        return kept_promises(problem.groups(shown.ids[row_class], masks), problem.models)

    def _card(self, problem: Problem, groups: Groups, names: Sequence[str], *, seeded: bool) -> Card:
        card = make_card(
            problem,
            groups,
            names,
            algorithm=self.algorithm,
            settings=self.settings(),
            notes=self.notes,
            seeded=seeded,
        )
        return msgspec.structs.replace(card, changes=column_changes(problem.schema, self.shown))


def kept_promises(groups: Groups, models: Sequence[Model]) -> Groups:
    """Return the released classes, or withhold the release if a model does not hold on them.

    >>> from sfumato.models import KAnonymity
    >>> kept_promises(Groups.of(np.array([0, 0, 1])), [KAnonymity(2)])
    Traceback (most recent call last):
    sfumato.errors.BrokenPromiseError: the release was withheld: k-anonymity asked for 2, the output has 1; \
this is a defect of the algorithm, please report it
    """
    for model in models:
        measured = model.measure(groups)
        if not model.holds(measured):
            raise BrokenPromiseError(
                f"the release was withheld: {model.name} asked for {model.asked:g}, the output has {measured:g}; "
                "this is a defect of the algorithm, please report it"
            )
    return groups


def _order_of(kept: npt.NDArray[np.bool_] | None, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the order of the kept rows among themselves, each by its place in the release."""
    return order if kept is None else (np.cumsum(kept) - 1)[order[kept[order]]]


def _with_suppression(card: Card, partition: Partition) -> Card:
    """Return the card with the algorithm's own measures, and a warning where rows were left out."""
    released = msgspec.structs.replace(card.released, measures={**card.released.measures, **partition.measures})
    warnings = [*card.warnings, LEFT_OUT] if partition.leaves_out else card.warnings
    return msgspec.structs.replace(card, released=released, warnings=warnings)


def write_rows(settled: Settled, order: npt.NDArray[np.int64] | None = None) -> Table:
    """Return the released rows in their final order, columns in the order they came in.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(9).select("age"))
    >>> problem = Problem.of(people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(9)])
    >>> write_rows(sf.Mondrian().settle(problem, sf.Mondrian().partition(problem))).rows
    9
    """
    problem, coarse = settled.problem, settled.coarse
    released_names(problem.schema, coarse)
    shown = settled.row_class if order is None else settled.row_class[order]
    columns: list[Held] = []
    for name, attribute in problem.schema.columns.items():
        if attribute.role is Role.QUASI:
            columns += [column.coded(shown) for column in coarse[name]]
        elif attribute.role is not Role.IDENTIFIER:
            raw = problem.table.held(name)
            columns.append(raw if order is None else take(raw, order))
    return problem.table.made_of(columns)


def released_names(schema: Schema, coarse: Mapping[str, list[Coarse]]) -> list[str]:
    """Return the released columns in the order they came in, refusing two of one name."""
    names = []
    for name, attribute in schema.columns.items():
        if attribute.role is Role.QUASI:
            names += [column.name for column in coarse[name]]
        elif attribute.role is not Role.IDENTIFIER:
            names.append(name)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(f"the release would have two columns '{twice}'; rename the one in the input")
    return names
