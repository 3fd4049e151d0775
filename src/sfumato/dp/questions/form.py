"""The JSON form of a question: what a program sends where a person writes SQL; read into the same `Query`.

A question is data, never code (Haeberlen, Pierce & Narayan 2011), so that it can be sent as it is: expressions and
conditions stay texts of SQL, which the compiler reads and checks like any other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sfumato.dp.questions.aggregate import Aggregate, AggregateFunction, read_level
from sfumato.dp.questions.candidates import read_candidates
from sfumato.dp.questions.clips import Clip, read_clip
from sfumato.dp.questions.computed import DerivedColumn
from sfumato.dp.questions.given_keys import AskedKey, Keys
from sfumato.dp.questions.join import Join
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.people import Feature, FeatureFunction, People
from sfumato.dp.questions.presentation import Ordering, Presentation
from sfumato.dp.questions.public import PublicTable
from sfumato.dp.questions.query import Query
from sfumato.errors import ParameterError
from sfumato.schema import Kind
from sfumato.schema.attribute import Bound

MOST_AGGREGATES, MOST_LISTED = 256, 10_000
Text = Annotated[str, Meta(max_length=20_000)]
Name = Annotated[str, Meta(max_length=1_000)]
End = int | float | Name
Pair = Annotated[list[End], Meta(min_length=2, max_length=2)]
Whole = Annotated[int, Meta(ge=0, le=10**18)]


class AggregateForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One number asked for in each group.

    >>> AggregateForm(AggregateFunction.MEAN, "fare").column
    'fare'
    """

    function: AggregateFunction
    column: Name | None = None
    level: Annotated[str, Meta(max_length=30)] | None = None
    name: Name | None = None
    candidates: Annotated[list[float | Name], Meta(max_length=1_000)] | None = None
    clip: Pair | None = None
    resolution: float | None = None


class KeyForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A column to group by: its declared values, bins of it, or values that whoever asks has declared.

    >>> KeyForm("age", bins=8).keys is None
    True
    """

    column: Name
    bins: int | Annotated[list[float], Meta(max_length=MOST_LISTED)] | None = None
    edges: Literal["date", "timestamp"] | None = None
    keys: Annotated[list[int | float | Name], Meta(max_length=MOST_LISTED)] | None = None


class DerivedForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column that the question computes, by its name and its SQL.

    >>> DerivedForm("hour", "EXTRACT(HOUR FROM start)").name
    'hour'
    """

    name: Text
    expression: Text


class OrderForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A column of the answer by which its groups are sorted.

    >>> OrderForm("count", descending=True).missing_first
    False
    """

    column: Name
    descending: bool = False
    missing_first: bool = False


class JoinForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Another table of the data set whose columns are added to the rows.

    >>> JoinForm("riders", [("rider", "rider")]).left
    False
    """

    table: Name
    on: Annotated[list[tuple[Name, Name]], Meta(max_length=20)]
    left: bool = False


class FeatureForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One number or value of each person.

    >>> FeatureForm("rides", FeatureFunction.COUNT).column is None
    True
    """

    name: Name
    function: FeatureFunction
    column: Name | None = None
    order: Name | None = None
    clip: Pair | None = None
    at_most: Whole | None = None


class PeopleForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Persons in place of rows: each has one row of features.

    >>> PeopleForm([FeatureForm("rides", FeatureFunction.COUNT)]).where is None
    True
    """

    features: Annotated[list[FeatureForm], Meta(max_length=100)]
    where: Text | None = None
    derived: Annotated[list[DerivedForm], Meta(max_length=100)] = []
    at_most: Whole | None = None
    person: Name | None = None


class QuestionForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A whole question.

    >>> form = msgspec.json.decode('{"aggregates": [{"function": "count"}], "by": ["sex"]}', type=QuestionForm)
    >>> read_form(form).keys
    ('sex',)
    """

    aggregates: Annotated[list[AggregateForm], Meta(min_length=1, max_length=MOST_AGGREGATES)]
    where: Text | None = None
    by: Annotated[list[Name | KeyForm], Meta(max_length=100)] = []
    derived: Annotated[list[DerivedForm], Meta(max_length=100)] = []
    having: Text | None = None
    order: Annotated[list[OrderForm], Meta(max_length=100)] = []
    limit: Whole | None = None
    offset: Whole = 0
    names: Annotated[list[tuple[Name, Name]], Meta(max_length=100)] = []
    table: Name | None = None
    joins: Annotated[list[JoinForm], Meta(max_length=20)] = []
    people: PeopleForm | None = None


def read_form(form: QuestionForm) -> Query:
    """Return the question that a form writes.

    >>> read_form(QuestionForm([AggregateForm(AggregateFunction.COUNT)], where="age < 30")).condition
    'age < 30'
    """
    order = tuple(Ordering(one.column, one.descending, one.missing_first) for one in form.order)
    return Query(
        aggregates=tuple(_aggregate(one) for one in form.aggregates),
        condition=form.where,
        keys=tuple(one if isinstance(one, str) else _key(one) for one in form.by),
        derived=_derived(form.derived),
        presentation=Presentation(form.having, order, form.limit, form.offset, tuple(form.names)),
        table=form.table,
        joins=tuple(Join(one.table, tuple(one.on), one.left) for one in form.joins),
        people=None if form.people is None else _people(form.people),
    )


def write_form(query: Query) -> QuestionForm:
    """Return the form of a question; public tables have none.

    >>> from sfumato.dp.questions.query import mean
    >>> asked = mean("fare").where("hour > 7").by("station").top(3)
    >>> read_form(write_form(asked)) == asked
    True
    """
    shown = query.presentation
    return QuestionForm(
        aggregates=[_aggregate_form(one) for one in query.aggregates],
        where=query.condition,
        by=[_key_form(one) for one in query.keys],
        derived=[DerivedForm(one.name, one.expression) for one in query.derived],
        having=shown.having,
        order=[OrderForm(one.column, one.descending, one.missing_first) for one in shown.order],
        limit=shown.limit,
        offset=shown.offset,
        names=list(shown.names),
        table=query.table,
        joins=[_join_form(one) for one in query.joins],
        people=None if query.people is None else _people_form(query.people),
    )


def _aggregate(form: AggregateForm) -> Aggregate:
    level = None if form.level is None else read_level(form.level)
    if (level is None) != (form.function is not AggregateFunction.QUANTILE):
        raise ParameterError(f"the aggregate is {form.function}; a quantile has a level, and nothing else has")
    if (form.column is None) != (form.function is AggregateFunction.COUNT):
        raise ParameterError(f"the aggregate is {form.function}; a count has no column, and everything else has one")
    candidates = None if form.candidates is None else read_candidates(form.column or "*", form.candidates)
    return Aggregate(form.function, form.column, level, form.name, candidates, _clip(form.clip), form.resolution)


def _aggregate_form(one: Aggregate) -> AggregateForm:
    level = None if one.level is None else str(one.level)
    candidates = None if one.candidates is None else list(one.candidates)
    return AggregateForm(one.kind, one.column, level, one.alias, candidates, _clip_form(one.clip), one.resolution)


def _key(form: KeyForm) -> AskedKey:
    if form.keys is not None:
        if form.bins is not None:
            raise ParameterError(f"the key '{form.column}' has bins and keys; give one of both")
        return Keys(form.column, form.keys)
    if form.bins is None:
        return form.column
    parts = form.bins if isinstance(form.bins, int) else tuple(form.bins)
    return HistogramKey(form.column, parts, None if form.edges is None else Kind(form.edges))


def _key_form(key: AskedKey) -> str | KeyForm:
    if isinstance(key, str):
        return key
    if isinstance(key, Keys):
        return KeyForm(key.column, keys=list(key.values))
    edges = None if key.edges is None else key.edges.value
    bins = key.parts if isinstance(key.parts, int) else list(key.parts)
    return KeyForm(key.column, bins=bins, edges=edges)  # type: ignore[arg-type]  # edges are of dates or timestamps


def _clip(ends: Sequence[End] | None) -> Clip | None:
    return None if ends is None else read_clip(*ends)


def _clip_form(clip: Clip | None) -> list[End] | None:
    return None if clip is None else [_end(one) for one in clip]


def _end(bound: Bound) -> End:
    return bound.isoformat() if isinstance(bound, dt.date) else bound


def _derived(forms: Sequence[DerivedForm]) -> tuple[DerivedColumn, ...]:
    return tuple(DerivedColumn(one.name, one.expression) for one in forms)


def _join_form(join: Join) -> JoinForm:
    if isinstance(join.table, PublicTable) or join.at_most is not None:
        raise ParameterError("the question joins a public table, which cannot be sent; ask where the data are")
    return JoinForm(join.table, list(join.on), join.left)


def _people(form: PeopleForm) -> People:
    features = tuple(
        (one.name, Feature(one.function, one.column, one.order, _clip(one.clip), one.at_most)) for one in form.features
    )
    if not features:
        raise ParameterError("the question is about persons without a feature; give at least one")
    return People(features, form.where, _derived(form.derived), form.at_most, form.person)


def _people_form(people: People) -> PeopleForm:
    features = [
        FeatureForm(name, one.function, one.column, one.order, _clip_form(one.clip), one.at_most)
        for name, one in people.features
    ]
    derived = [DerivedForm(one.name, one.expression) for one in people.derived]
    return PeopleForm(features, people.condition, derived, people.at_most, people.person)
