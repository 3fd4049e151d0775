"""Every measure of a table at a glance: ours or anybody's, values or ranges, from the table alone.

Rows belong to one class when their quasi-identifiers are written alike (Samarati & Sweeney 1998). The risks are those
of El Emam (2013, chapters 16-19): a prosecutor knows that a person is in the table, a journalist does not, a marketer
wants as many people as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl

from sfumato.core.cells import limit_columns
from sfumato.core.display import as_html, one_line
from sfumato.core.parameters import Real
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.evaluate.fitting_people import people_fitting
from sfumato.evaluate.starred import starred_cells
from sfumato.models import Model, Population, measures
from sfumato.models.groups import Groups, Histograms
from sfumato.models.t_closeness import closeness
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.kinds import Kind, Weights, detect, is_missing
from sfumato.table import Table
from sfumato.table.coded import spread
from sfumato.table.coding import Column, code_held, code_sensitive
from sfumato.table.distinct import distinct
from sfumato.table.parse_report import take_in
from sfumato.tabular.coarsen import as_released
from sfumato.tabular.persons import number_persons
from sfumato.tabular.perturbation.matching import MOST_MATCHED, Cases, coded_texts, match_counts
from sfumato.tabular.population import people_of


class Risk(msgspec.Struct, frozen=True):
    """Chances of re-identification; without a population table the sample itself is the population.

    >>> import numpy as np
    >>> risks(Groups.of(np.array([0, 0, 1, 1, 1])))
    Risk(prosecutor_max=0.5, prosecutor_mean=0.4, journalist_max=0.5, marketer=0.4)
    """

    prosecutor_max: float
    prosecutor_mean: float
    journalist_max: float
    marketer: float


def risks(groups: Groups) -> Risk:
    """Return the risks of a table whose quasi-identifiers form these classes.

    Where a population was counted, a journalist and a marketer look among its people who fit a class.

    A person in a class of f units is found with probability 1/f; the mean over all units is the number
    of classes divided by the number of units, which is also the share a marketer can expect to find.
    """
    largest = 1 / float(groups.units.min())
    mean = groups.count / float(groups.units.sum())
    if groups.population is None:
        return Risk(largest, mean, largest, mean)
    links = 1 / np.maximum(1, groups.population)
    return Risk(largest, mean, float(links.max()), float(links @ groups.units / groups.units.sum()))


class SensitiveMeasures(msgspec.Struct, frozen=True):
    """What the classes give away about one sensitive column (see `models.measures` for each).

    >>> SensitiveMeasures(3, 2.9, 2, 0.1, 0.1, 0.5, 1.0, 0.7, ordered=False).t
    0.1
    """

    l_distinct: int
    l_entropy: float
    l_recursive: int
    t_equal: float
    t_ordered: float
    alpha: float
    beta: float
    delta: float
    ordered: bool

    @property
    def t(self) -> float:
        """The distance that fits the column: ordered for numbers, dates and ordinals, else equal."""
        return self.t_ordered if self.ordered else self.t_equal


MATCHING = "k_matching"
SIMPLE = ("k", "rows", "classes", "uniques")
BY_COLUMN = {"l": "l_distinct", **{field: field for field in (*SensitiveMeasures.__struct_fields__[:-1], "t")}}
AT_LEAST = frozenset({"k", MATCHING, "rows", "classes", "l", "l_distinct", "l_entropy", "l_recursive"})  # more is safer


class Measures(msgspec.Struct, frozen=True):
    """All measures of a table: its classes, its risks, and each sensitive column.

    >>> table = Table(pl.DataFrame({"age": ["[20-29]", "[20-29]", "40"], "disease": ["flu", "gout", "flu"]}))
    >>> found = check(table, ["age"], ["disease"])
    >>> found.rows, found.classes, found.k, found.uniques, found.sensitive["disease"].l_distinct
    (3, 2, 1, 1, 1)
    """

    rows: int
    classes: int
    k: int
    uniques: int
    risk: Risk
    sensitive: dict[str, SensitiveMeasures]
    models: dict[str, float] = {}  # of further models: by the option that asks for one, its value
    persons: int | None = None  # how many there are, where a column tells them apart
    starred: int = 0  # rows with * in every quasi-identifier, which count as one class
    k_matching: int | None = None  # where cells are suppressed: the fewest rows that agree with a row, * with any value

    def _facts(self) -> dict[str, object]:
        sensitive = {f"l of {name}": column.l_distinct for name, column in self.sensitive.items()}
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "unique rows": self.uniques,
            **sensitive,
            "highest risk": f"{self.risk.prosecutor_max:.4g}",
        }

    def __repr__(self) -> str:
        return one_line("Measures", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Measures", self._facts())

    def value(self, name: str) -> float:
        """Return one measure by its short name, the worst over all sensitive columns.

        >>> Measures(3, 1, 3, 0, Risk(0, 0, 0, 0), {}).value("k")
        3.0
        """
        if name in SIMPLE:
            return float(getattr(self, name))
        if name == MATCHING:
            return float(self.k if self.k_matching is None else self.k_matching)
        if name in self.models:
            return self.models[name]
        if name not in BY_COLUMN:
            raise ParameterError(f"there is no measure '{name}'{suggestion(name, ['k', *BY_COLUMN])}")
        if not self.sensitive:
            raise ParameterError(f"measure '{name}' needs a sensitive column; name one with --sensitive")
        worst = min if name in AT_LEAST else max
        return float(worst(getattr(column, BY_COLUMN[name]) for column in self.sensitive.values()))

    def as_json(self) -> dict[str, object]:
        """Return the measures as plain data; for one sensitive column its l and t also at the top."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        for column in plain["sensitive"].values():
            del column["ordered"]
        if not self.models:
            del plain["models"]
        for name in ("persons", MATCHING):
            if plain[name] is None:
                del plain[name]
        if not self.starred:
            del plain["starred"]
        if len(self.sensitive) == 1:
            (only,) = self.sensitive.values()
            plain |= {"l_distinct": only.l_distinct, "l_entropy": only.l_entropy, "t": only.t}
        return plain


def check(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    schema: Schema | None = None,
    c: float = 2.0,
    weights: Weights | None = None,
    models: Sequence[Model] = (),
) -> Measures:
    """Return every measure of `table`, whose cells may be values, ranges, sets or `*`.

    A schema tells the order of ordinal sensitive columns and their missing marks; `c` is that of
    recursive (c, l)-diversity. Where rows were counted before, `weights` says how often each occurs. Further `models`
    are measured too; if one speaks of a population, so are the risks among its people. Where the schema names the
    column of persons and the table has it, all measures count persons.

    >>> visits = Table(pl.DataFrame({"zip": ["1*", "1*"], "id": [7, 7]}))
    >>> check(visits, ["zip"]).k, check(visits, ["zip"], schema=Schema.from_roles(quasi=["zip"], person="id")).k
    (2, 1)
    """
    if not Real(0, above=True).accepts(c):
        raise ParameterError(f"The 'c' parameter of check must be {Real(0, above=True).wanted}. Got {c!r} instead.")
    if weights is None:
        table = take_in_sensitive(table, sensitive, schema)
    persons = _persons(table, schema) if weights is None else None  # counted rows tell no persons
    told: Any = {"schema": schema, "weights": weights, "persons": persons, "population": people_of(models)}
    groups = written_groups(table, quasi, sensitive, **told)
    return Measures(
        rows=groups.rows,
        classes=groups.count,
        k=int(groups.units.min()),
        uniques=int((groups.units == 1).sum()),
        risk=risks(groups),
        sensitive={name: _measure(groups, found, c) for name, found in groups.sensitive.items()},
        models=_measure_models(groups, models),
        persons=None if persons is None else len(np.unique(persons)),
        starred=_starred(table, quasi, weights),
        k_matching=_k_matching(table, quasi) if weights is None and persons is None else None,
    )


def _starred(table: Table, quasi: Sequence[str], weights: Weights | None) -> int:
    """Return how many rows have `*` in every quasi-identifier."""
    rows = starred_cells(table, [found for name in quasi for found in class_columns(table, name)])
    return int(rows.sum() if weights is None else weights[rows].sum())


def _k_matching(table: Table, quasi: Sequence[str]) -> int | None:
    """Return the fewest rows that agree with a row where `*` agrees with any value; None where no cell is suppressed.

    That classes count `*` as a value of its own is what an attacker sees who does so too.
    """
    columns = [table.column(part) for name in quasi for part in class_columns(table, name)]
    if len(columns) > MOST_MATCHED or not any(
        column.dtype == pl.String and (column == "*").any() for column in columns
    ):
        return None
    return int(match_counts(Cases.of(coded_texts(columns))).min())


def _persons(table: Table, schema: Schema | None) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Return each row's person, where the schema names their column and the table still has it."""
    if schema is None or schema.person is None or schema.person not in table.names:
        return None
    return number_persons(table.column(schema.person), schema.columns[schema.person].missing)


def take_in_sensitive(table: Table, sensitive: Sequence[str], schema: Schema | None) -> Table:
    """Return the table with its sensitive columns read as declared, and what became of their cells (`intake`).

    Quasi-identifiers are compared as they are written, since a cell may be a range, a set or `*`.

    >>> schema = Schema({"cost": Attribute("cost", Role.SENSITIVE, Kind.NUMBER)})
    >>> take_in_sensitive(Table(pl.DataFrame({"cost": ["1,5"]})), ["cost"], schema)
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'cost': 1 of 1 filled cells is no number, the first is '1,5' in row 1, and at \
most 1 % may fail; declare decimal = ",", clean the rows, or allow more with --max-failed 1 (failed = 1 \
in the schema)
    """
    if schema is None:
        return table
    named = [name for name in sensitive if name in schema.columns]
    declared = {name: as_released(table.counted(name)[0], schema.columns[name]) for name in named}
    return take_in(table, replace(schema, columns=declared, person=None))


def written_groups(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    schema: Schema | None = None,
    weights: Weights | None = None,
    persons: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None,
    population: Population | None = None,
) -> Groups:
    """Return the classes of a table as its cells are written, with their sensitive values; `persons` numbers them.

    People of a `population` are counted under the labels of each class.

    >>> sorted(written_groups(Table(pl.DataFrame({"zip": ["1*", "1*", "2"]})), ["zip"]).sizes.tolist())
    [1, 2]
    """
    if table.rows == 0:
        raise InputError("the table has no rows; there is nothing to measure")
    if not quasi:
        raise ParameterError("no quasi-identifier was named; give the columns an attacker may know with --quasi")
    names = [found for name in quasi for found in class_columns(table, name)]
    codes = [spread(table.held(name), as_written) for name in names]
    classes = distinct(codes, [int(column.max()) + 1 for column in codes])
    columns = {name: _sensitive(table, name, schema, weights) for name in sensitive}
    found = Groups.of(classes.ids, columns, persons, weights)
    if population is None:
        return found
    people, unfitted = people_fitting(Table(table.frame[classes.examples]), quasi, schema, population)
    return replace(found, population=people, unfitted=unfitted)


def class_columns(table: Table, name: str) -> list[str]:
    """Return the column, or the two or three that `--ranges columns` made of it.

    >>> class_columns(Table(pl.DataFrame({"age_min": [1], "age_max": [2]})), "age")
    ['age_min', 'age_max']
    """
    return limit_columns(table.names, name) or [table.held(name).name]


def as_written(series: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a code for each distinct way a cell is written; 0 is the empty cell.

    >>> as_written(pl.Series(["a", None, "a"])).tolist()
    [1, 0, 1]
    """
    texts = series.cast(pl.String)
    words = texts.drop_nulls().unique()
    physical = texts.cast(pl.Enum(words)).to_physical().cast(pl.Int64)
    return (physical + 1).fill_null(0).to_numpy()


def _sensitive(table: Table, name: str, schema: Schema | None, weights: Weights | None) -> Column:
    cells, times = table.counted(name)
    attribute = Attribute(name, Role.SENSITIVE) if schema is None else schema.columns.get(name)
    attribute = as_released(cells, attribute or Attribute(name, Role.SENSITIVE))
    if attribute.kind is None and attribute.hierarchy is None and attribute.categories is None:
        attribute = replace(
            attribute, kind=_clean_kind(cells, attribute.missing, times if weights is None else weights)
        )
    return code_held(table.held(name), attribute, code_sensitive)


def _clean_kind(series: pl.Series, marks: tuple[str, ...], weights: Weights | None) -> Kind:
    """Return the detected kind, or category when some values do not fit it: here nothing is refused."""
    kind = detect(series, marks, weights)
    if series.dtype != pl.String or kind not in {Kind.INTEGER, Kind.NUMBER}:
        return kind
    numbers = series.cast(pl.Float64, strict=False)
    fits = (numbers.is_finite() | is_missing(series, marks)).fill_null(value=False).all()
    return kind if fits else Kind.CATEGORY


def _measure_models(groups: Groups, models: Sequence[Model]) -> dict[str, float]:
    """Return the worst value of each kind of model, by the option that asks for it."""
    found: dict[str, float] = {}
    for model in models:
        name = model.OPTIONS[model.asks].name or model.asks
        worst = min if model.at_least else max
        found[name] = worst(found.get(name, model.measure(groups)), model.measure(groups))
    return found


def _measure(groups: Groups, histograms: Histograms, c: float) -> SensitiveMeasures:
    return SensitiveMeasures(
        l_distinct=measures.l_distinct(histograms),
        l_entropy=measures.l_entropy(histograms),
        l_recursive=measures.l_recursive(histograms, c),
        t_equal=closeness(histograms, "equal"),
        t_ordered=closeness(histograms, "ordered"),
        alpha=measures.alpha(groups, histograms),
        beta=measures.beta(histograms),
        delta=measures.delta(histograms),
        ordered=histograms.column.kind.ordered,
    )
