"""Everything an anonymizer works on: coded quasi-identifiers, sensitive columns, persons, and the models.

Rows that agree on all of these are counted once; searches work on the distinct points. A table of rows that were
counted before carries how often each occurs (`weights`), and everything is as if the rows were all there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.models.base import Model
from sfumato.models.criteria import Criteria, Criterion, flatten
from sfumato.models.groups import Groups
from sfumato.models.population import Population
from sfumato.schema import Role, Schema
from sfumato.schema.separation import Distinctness
from sfumato.table import Table
from sfumato.table.coding import Column, code, code_held, code_sensitive, merged_variants, only_observed
from sfumato.table.distinct import Integers, Numbering, distinct
from sfumato.table.parse_report import take_in
from sfumato.tabular.coarsen import coarsen_table
from sfumato.tabular.persons import persons_of
from sfumato.tabular.population import (
    CodedPeople,
    Masks,
    TightLabels,
    code_together,
    people_of,
    population_notes,
    tight_mask,
)
from sfumato.tabular.uniqueness import refuse_unique, unique_columns


@dataclass(frozen=True, eq=False)
class Problem:
    """A table coded for a search, with the models that every class must satisfy."""

    table: Table
    schema: Schema
    models: Sequence[Model]
    quasi: Sequence[Column]
    sensitive: dict[str, Column]
    person: npt.NDArray[np.int64] | None
    weights: npt.NDArray[np.int64] | None = None
    references: Mapping[str, npt.NDArray[np.float64]] | None = None  # shares in the whole, where this is a part of it
    unique: Mapping[str, Distinctness] = field(default_factory=dict)  # columns released although they single out
    notes: Sequence[str] = ()  # what the steward must know of the sensitive values
    population: CodedPeople | None = None  # the people among whom an attacker looks, where a model counts them
    among: Population | None = None  # where these people come from

    @classmethod
    def of(
        cls, table: Table, schema: Schema, models: Sequence[Model], weights: npt.NDArray[np.int64] | None = None
    ) -> Problem:
        """Return the coded problem, or say in one sentence why there is none."""
        if not models:
            raise ParameterError("no model was asked for; give at least one, for example KAnonymity(10)")
        if table.rows == 0:
            raise InputError("the table has no rows; there is nothing to release")
        settled = schema.settled(table, weights)
        if weights is None:  # counted rows have no number; who counted them has read them
            table = take_in(table, schema)
        if not settled.names(Role.QUASI):
            raise SchemaError("no column has the role quasi; name the columns an attacker may know")
        _refuse_undeclared(models, table, settled)
        person = persons_of(table, settled)
        table, settled = coarsen_table(table, settled)
        rows = None if weights is None else int(weights.sum())
        among = people_of(models)
        quasi, people = _code_quasi(table, settled, among, rows)
        unique = unique_columns(table, settled, person) if weights is None else {}
        refuse_unique(unique, settled)
        plain = cls(table, settled, [], quasi, {}, person, weights, unique=unique, population=people, among=among)
        return plain.asking(models)

    def asking(self, models: Sequence[Model]) -> Problem:
        """The same rows under other models, as `of` gives them; what was coded and counted of the rows is kept.

        >>> import polars as pl
        >>> from sfumato.models import KAnonymity
        >>> people = Table(pl.DataFrame({"age": [20, 20, 31]}))
        >>> problem = Problem.of(people, Schema.from_roles(quasi=["age"]), [KAnonymity(2)])
        >>> problem.asking([KAnonymity(3)]).quasi[0] is problem.quasi[0]
        True
        """
        _refuse_undeclared(models, self.table, self.schema)
        if (among := people_of(models)) != self.among:
            return self._among(among).asking(models)
        sensitive = {name: self.sensitive.get(name) or self.code_sensitive(name) for name in _wanted(models)}
        table, weights = self.table, self.weights
        notes = [note for name in sensitive for note in value_notes(table.counted(name)[0], sensitive[name], weights)]
        notes += [] if among is None else population_notes(among, self.schema)
        other = replace(self, models=models, sensitive=sensitive, notes=notes)
        if list(sensitive) == list(self.sensitive):  # then neither of these depends on the models
            vars(other).update({name: vars(self)[name] for name in ("points", "whole") if name in vars(self)})
        refuse_impossible(models, other.whole, "rows" if self.person is None else "persons")
        return other

    def _among(self, population: Population | None) -> Problem:
        """The same rows, coded anew beside the people of another population, or without any."""
        rows = None if self.weights is None else int(self.weights.sum())
        quasi, people = _code_quasi(self.table, self.schema, population, rows)
        return replace(self, models=[], quasi=quasi, sensitive={}, population=people, among=population)

    def code_sensitive(self, name: str) -> Column:
        """Return a sensitive column coded for models: every value that occurs, and no other."""
        rows = None if self.weights is None else int(self.weights.sum())
        return only_observed(code_held(self.table.held(name), self.schema.columns[name], code_sensitive, rows))

    @property
    def rows(self) -> int:
        """The number of rows, each counted as often as it occurs."""
        return self.table.rows if self.weights is None else int(self.weights.sum())

    @property
    def least_units(self) -> int:
        """The fewest units any class may have."""
        return max(model.least_units for model in self.models)

    @cached_property
    def points(self) -> Numbering:
        """The distinct rows over quasi-identifiers, sensitive columns and persons."""
        columns: list[Integers] = [column.codes for column in (*self.quasi, *self.sensitive.values())]
        sizes = [column.size for column in (*self.quasi, *self.sensitive.values())]
        if self.person is not None:
            columns, sizes = [*columns, self.person], [*sizes, int(self.person.max()) + 1]
        return distinct(columns, sizes).with_weights(self.weights)

    @cached_property
    def whole(self) -> Groups:
        """The table as one class that everybody fits: the reference for t-closeness, and the most that is possible."""
        every = [np.ones(column.size, dtype=np.bool_) for column in self.quasi]
        return self.groups(np.zeros(self.table.rows, dtype=np.int64), lambda _: every)

    def groups(self, classes: npt.NDArray[np.int64], labels: Masks | None = None) -> Groups:
        """The counts inside classes of rows; a population is counted under `labels`, tight ones unless given."""
        found = Groups.of(classes, self.sensitive, self.person, self.weights, self.references)
        if self.population is None:
            return found
        people, unfitted = self.population.count(labels or TightLabels(self.quasi, classes), found.count)
        return replace(found, population=people, unfitted=unfitted)

    def only(self, rows: npt.NDArray[np.bool_]) -> Problem:
        """The same problem on some of the rows."""
        return replace(
            self,
            table=self.table.take(rows),
            quasi=[replace(column, codes=column.codes[rows]) for column in self.quasi],
            sensitive={name: replace(column, codes=column.codes[rows]) for name, column in self.sensitive.items()},
            person=None if self.person is None else self.person[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def criteria(self) -> Criteria:
        """The models on sensitive columns as flat numbers for a compiled search; `uncompiled` ones are left out."""
        names = list(self.sensitive)
        found = [(model, names.index(model.sensitive)) for model in self.models if model.sensitive is not None]
        tests = [(self._criterion(model, self.sensitive[names[index]]), index) for model, index in found]
        references = [self.shares[name] for name in names]
        return flatten([(test, index) for test, index in tests if test is not None], references)

    def _criterion(self, model: Model, column: Column) -> Criterion | None:
        return model.criterion(column) if self.person is None else model.criterion_of_persons(column)

    @property
    def uncompiled(self) -> list[Model]:
        """The models that only their own slow criterion can test."""
        return [model for model in self.models if not model.compiled]

    @cached_property
    def shares(self) -> Mapping[str, npt.NDArray[np.float64]]:
        """The share of each value of the sensitive columns in the whole table."""
        return self.references or {name: found.reference for name, found in self.whole.sensitive.items()}

    def class_of(self, rows: npt.NDArray[np.int64], weights: npt.NDArray[np.int64] | None = None) -> Groups:
        """The counts of some rows as one class, beside the whole table."""
        sensitive = {name: replace(column, codes=column.codes[rows]) for name, column in self.sensitive.items()}
        person = None if self.person is None else self.person[rows]
        if weights is None and self.weights is not None:
            weights = self.weights[rows]
        one = Groups.of(np.zeros(len(rows), dtype=np.int64), sensitive, person, weights, self.shares)
        if self.population is None:
            return one
        fits = self.population.fitting([tight_mask(column, column.codes[rows]) for column in self.quasi])
        return replace(one, population=self.population.counts[fits].sum(keepdims=True))

    def admits(
        self,
        rows: npt.NDArray[np.int64],
        weights: npt.NDArray[np.int64] | None = None,
        models: Sequence[Model] | None = None,
    ) -> bool:
        """Whether some rows may be a class: every model holds, or every one of `models`, by its slow criterion."""
        one = self.class_of(rows, weights)
        return not any(model.failing(one)[0] for model in (self.models if models is None else models))


def _wanted(models: Sequence[Model]) -> list[str]:
    """Return the sensitive columns that models speak of."""
    return sorted({model.sensitive for model in models if model.sensitive is not None})


def _refuse_undeclared(models: Sequence[Model], table: Table, settled: Schema) -> None:
    """Refuse models of columns that are not declared as sensitive."""
    for name in _wanted(models):
        table.held(name)
        if name not in settled.names(Role.SENSITIVE):
            raise SchemaError(f"column '{name}' has a diversity model but not the role sensitive; declare it")


def _code_quasi(
    table: Table, settled: Schema, population: Population | None, rows: int | None
) -> tuple[list[Column], CodedPeople | None]:
    """Return the coded quasi-identifiers, and the people of the population if there is one."""
    if population is None:
        names = settled.names(Role.QUASI)
        return [code_held(table.held(name), settled.columns[name], code, rows) for name in names], None
    if rows is not None:
        raise ParameterError("a population is counted beside the rows themselves, and these were counted before")
    return code_together(table, settled, population)


def value_notes(series: pl.Series, column: Column, weights: npt.NDArray[np.int64] | None = None) -> list[str]:
    """Return what models do with some values of a sensitive column that may surprise: variants, and missing ones.

    >>> from sfumato.schema import Attribute
    >>> ill = pl.Series("ill", ["flu", " flu", None])
    >>> [note[:30] for note in value_notes(ill, code_sensitive(ill, Attribute("ill", Role.SENSITIVE)))]
    ['ill: 1 text differs from anoth', 'ill: 1 missing value counts as']
    """
    notes, variants = [], merged_variants(series)
    if variants:
        differ = "text differs" if variants == 1 else "texts differ"
        notes.append(
            f"{column.name}: {variants:,} {differ} from another only by blanks around it or by how Unicode composes "
            "its letters; models count them as one value, and each is released as it is written"
        )
    if column.unknown:
        absent = column.codes == 0
        missing = int(absent.sum() if weights is None else weights[absent].sum())
        count = "missing value counts" if missing == 1 else "missing values count"
        notes.append(
            f"{column.name}: {missing:,} {count} as no value for the models; declare missing_is_value = true if a "
            "missing one says as much as any other"
        )
    return notes


def refuse_impossible(models: Sequence[Model], whole: Groups, unit: str) -> None:
    """Refuse models that even the whole table, as one class, does not satisfy; `unit` is rows or persons.

    >>> from sfumato.models import KAnonymity
    >>> refuse_impossible([KAnonymity(5)], Groups.of(np.zeros(4, dtype=np.int64)), "rows")
    Traceback (most recent call last):
    sfumato.errors.UnsatisfiableError: k-anonymity asks for 5 rows in a class and the table has 4; at most k=4 is \
possible
    """
    for model in models:
        if model.least_units > whole.units[0]:
            raise UnsatisfiableError(
                f"{model.name} asks for {model.least_units} {unit} in a class and the table has "
                f"{whole.units[0]}; at most k={whole.units[0]} is possible"
            )
        best = model.measure(whole)
        if not model.holds(best) and model.sensitive is None:
            raise UnsatisfiableError(
                f"{model.name} with {model.asked:g} cannot be reached: the whole table as one class has {best:.6g}"
            )
        if not model.holds(best):
            side = "at most" if model.at_least else "at least"
            raise UnsatisfiableError(
                f"{model.name} with {model.asked:g} cannot be reached: column '{model.sensitive}' over the whole "
                f"table has {best:.6g}, so {side} {_askable(best, up=not model.at_least)} is possible"
            )


def _askable(value: float, *, up: bool) -> str:
    """Return a value that can be asked for: cut, never rounded past what the table has."""
    scaled = np.ceil(value * 1e4 - 1e-6) if up else np.floor(value * 1e4 + 1e-6)
    return f"{scaled / 1e4:g}"
