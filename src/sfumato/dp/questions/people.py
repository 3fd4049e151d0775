"""Persons in place of rows: a question about what each person's rows come to, as data.

First every person's rows become one row of features, then the question is asked about persons, whose noise no longer
grows with the rows that a person may have (Wilson et al. 2020, section 3, bound each person in the same place).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from sfumato.dp.questions.clips import Clip, clip_words
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.questions.computed import DerivedColumn
    from sfumato.dp.questions.query import Query


class FeatureFunction(StrEnum):
    """What can be made of one person's rows.

    >>> FeatureFunction("first") is FeatureFunction.FIRST
    True
    """

    COUNT = "count"
    PRESENT = "count of"
    DISTINCT = "count distinct"
    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True)
class Feature:
    """One number or value of each person; `order` is the column by which there is a first and a last row.

    `at_most` is how many rows of a person a count reckons with, where it is another number than for all features.

    >>> Feature(FeatureFunction.FIRST, "station", "start").text
    'first(station by start)'
    """

    function: FeatureFunction
    column: str | None = None
    order: str | None = None
    clip: Clip | None = None
    at_most: int | None = None

    @property
    def text(self) -> str:
        """The canonical text."""
        clip = f", clipped to {clip_words(self.clip)}" if self.clip is not None else ""
        return f"{self.function}({self.column or '*'}{f' by {self.order}' if self.order else ''}{clip})"


@dataclass(frozen=True)
class People:
    """One row for each person with a row that meets the condition; questions are asked of it with `of`.

    `at_most` bounds how many rows of a person its counts and sums reckon with; by default as many as the budget lets
    count of a person, rows times groups. `person` is the column that SQL groups by: it must be the budget's.

    >>> import sfumato as sf
    >>> riders = sf.per_person(rides=sf.count(), total=sf.sum("minutes")).where("minutes > 0")
    >>> sf.mean("rides").of(riders).where("total < 60").people == riders
    True
    """

    features: tuple[tuple[str, Feature], ...]
    condition: str | None = None
    derived: tuple[DerivedColumn, ...] = ()
    at_most: int | None = None
    person: str | None = None

    def where(self, condition: str) -> People:
        """Return the same persons, of whose rows only those count that meet a condition, written in SQL.

        >>> per_person(rides=first("hour", order="hour")).where("hour > 3").where("hour < 9").condition
        '(hour > 3) AND (hour < 9)'
        """
        if not str(condition).strip() or str(condition) != condition:
            raise ParameterError(f'the condition is {condition!r}; give a text such as "gender = 2"')
        both = condition if self.condition is None else f"({self.condition}) AND ({condition})"
        return replace(self, condition=both)


def per_person(*, at_most: int | None = None, **features: Query | Feature) -> People:
    """Make one row of each person's rows: every feature by its name, as a count, a sum, or the first of a column.

    Features are `count()`, `count(column)` (rows that have a value), `count_distinct`, `sum`, `mean`, `min`, `max`, and
    `first` and `last`. A person without any row that counts has no row.

    >>> import sfumato as sf
    >>> [name for name, _ in sf.per_person(rides=sf.count(), zone=sf.first("zone", order="start")).features]
    ['rides', 'zone']
    >>> sf.per_person(spread=sf.variance("minutes"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the feature 'spread' is variance(minutes), which is not made of a person's rows; \
give count, count_distinct, sum, mean, min, max, first or last
    """
    if not features:
        raise ParameterError("per_person has no feature; give at least one, such as rides=sf.count()")
    if at_most is not None and (isinstance(at_most, bool) or at_most != int(at_most) or at_most < 1):
        raise ParameterError(f"at_most is {at_most!r}; give a whole number of at least 1")
    return People(tuple((name, _feature(name, given)) for name, given in features.items()), at_most=at_most)


def first(column: str, *, order: str) -> Feature:
    """Take the value of a person's first row by the column `order`, among the rows that have both.

    Rows that `order` does not tell apart are ordered by the value, so that it depends on the person's rows alone.

    >>> first("station", order="start").text
    'first(station by start)'
    """
    return Feature(FeatureFunction.FIRST, column, order)


def last(column: str, *, order: str) -> Feature:
    """Take the value of a person's last row by the column `order`; of several last rows, the smallest value.

    >>> last("station", order="start").text
    'last(station by start)'
    """
    return Feature(FeatureFunction.LAST, column, order)


def _feature(name: str, given: Query | Feature) -> Feature:
    from sfumato.dp.questions.query import Query

    if isinstance(given, Feature):
        return given
    if given != Query(given.aggregates[:1]):
        raise ParameterError(f"the feature '{name}' is {given!r}; give one aggregate, and conditions to where(…)")
    (aggregate,) = given.aggregates
    return replace(feature_of(name, aggregate.kind, aggregate.column, aggregate.text), clip=aggregate.clip)


def feature_of(name: str, function: str, column: str | None, text: str) -> Feature:
    """Return the feature that an aggregate of a person's rows makes, or refuse it.

    >>> feature_of("rides", "count", None, "count(*)").text
    'count(*)'
    """
    known = {str(one): one for one in FeatureFunction}
    if function not in known:
        raise ParameterError(
            f"the feature '{name}' is {text}, which is not made of a person's rows; give count, count_distinct, sum, "
            "mean, min, max, first or last"
        )
    return Feature(known[function], column)
