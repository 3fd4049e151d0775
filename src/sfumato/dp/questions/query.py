"""A question as data: which aggregates, of which rows, in which groups; never code that runs on a row.

The ancestor is PINQ (McSherry 2009), whose questions were programs; FUZZ (Haeberlen, Pierce & Narayan 2011) showed how
programs leak by time and state, so that here a question can only be read, checked and compiled.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sfumato.dp.questions.aggregate import CLIPPED, Aggregate, AggregateFunction, read_level
from sfumato.dp.questions.candidates import Candidate, read_candidates
from sfumato.dp.questions.clips import read_clip
from sfumato.dp.questions.column import ColumnExpression, UsedColumn, condition_text
from sfumato.dp.questions.computed import DerivedColumn, merge_derived
from sfumato.dp.questions.given_keys import AskedKey, Keys, column_of_key
from sfumato.dp.questions.join import Join
from sfumato.dp.questions.keys import Bins, HistogramKey, bins_of
from sfumato.dp.questions.people import People
from sfumato.dp.questions.presentation import AS_DECLARED, Ordering, Presentation
from sfumato.dp.questions.public import PublicTable
from sfumato.dp.questions.request import Cell
from sfumato.errors import ParameterError

ENDS = (AggregateFunction.LOWER, AggregateFunction.UPPER)


@dataclass(frozen=True)
class Query:
    """A question: aggregates, a condition on rows, and keys to group by.

    >>> count().where("gender = 2").by("station", "hour").keys
    ('station', 'hour')
    """

    aggregates: tuple[Aggregate, ...]
    condition: str | None = None
    keys: tuple[AskedKey, ...] = ()
    derived: tuple[DerivedColumn, ...] = ()
    presentation: Presentation = AS_DECLARED
    table: str | None = None  # which table of the ledger; its first one unless named
    joins: tuple[Join, ...] = ()  # before any column is derived
    people: People | None = None  # of whom it is asked, in place of rows

    def of(self, whom: People | str) -> Query:
        """Return the same question about another table of the ledger, or about persons (`sf.per_person`).

        Each person is then one row of features.

        >>> from sfumato.dp.questions.people import per_person
        >>> mean("rides").of(per_person(rides=count())).where("rides > 3").condition
        'rides > 3'
        >>> count().of("riders").table
        'riders'
        """
        if isinstance(whom, People):
            return replace(self, people=whom)
        if isinstance(whom, str):
            return replace(self, table=whom)
        raise ParameterError(
            f"the question is asked of {whom!r}; give the name of a table, or persons made by "
            "sf.per_person(rides=sf.count())"
        )

    def clip(self, low: object, high: object) -> Query:
        """Return the same question with the values of its columns moved into bounds that you give.

        They take the place of declared bounds, which a column then does not need; dates may be texts.

        >>> mean("fare").clip(0, 64).aggregates[0].text
        'mean(fare, clipped to [0, 64])'
        """
        ends = read_clip(low, high)
        for entry in self.aggregates:
            if entry.kind not in CLIPPED:
                raise ParameterError(f"{entry.text} has no values to clip; clip a sum, mean, variance or quantile")
        return replace(self, aggregates=tuple(replace(entry, clip=ends) for entry in self.aggregates))

    def joined(
        self,
        table: PublicTable | str,
        on: str | Sequence[str | tuple[str, str]],
        *,
        how: Literal["inner", "left"] = "inner",
        at_most: int | None = None,
    ) -> Query:
        """Return the same question about the rows joined with another table, before any column is derived.

        `on` names the columns that must be equal: one name, or several, or pairs (ours, theirs). Give a `PublicTable`,
        or the name of another table of the ledger, where the person's column must be among them.

        >>> count().joined("riders", "rider").joins[0].on
        (('rider', 'rider'),)
        """
        pairs = [on] if isinstance(on, str) else list(on)
        if how not in {"inner", "left"}:
            raise ParameterError(f"the join is '{how}'; give 'inner' or 'left'")
        keys = tuple((pair, pair) if isinstance(pair, str) else (str(pair[0]), str(pair[1])) for pair in pairs)
        return replace(self, joins=(*self.joins, Join(table, keys, how == "left", at_most)))

    def where(self, condition: str | ColumnExpression) -> Query:
        """Return the same question about the rows that meet a condition, written in SQL or by `sf.col`.

        >>> from sfumato.dp.questions.column import col
        >>> count().where("age < 30").where(col("sex") == "F").condition
        "(age < 30) AND (sex = 'F')"
        """
        text = condition_text(condition)
        both = text if self.condition is None else f"({self.condition}) AND ({text})"
        return replace(self, condition=both)

    def by(self, *columns: str | ColumnExpression | Keys, keys: Iterable[Cell | dt.date] | None = None) -> Query:
        """Return the same question, answered for each value of the keys.

        `keys` are the values of the one column that is named, where they are not those that the schema declares.

        >>> mean("fare").by("hour").keys
        ('hour',)
        >>> mean("fare").by("station", keys=["A", "B"]).keys
        (Keys(column='station', values=('A', 'B')),)
        """
        if keys is not None and len(columns) != 1:
            raise ParameterError(f"keys are given for {len(columns)} columns; name the one that they are of")
        used = [(one, UsedColumn.of(one.column if isinstance(one, Keys) else one)) for one in columns]
        given = None if keys is None else Keys(used[0][1].name, keys)
        asked = [given or (one if isinstance(one, Keys) else column.name) for one, column in used]
        return self.group_by_used(asked, [column for _, column in used])

    def group_by_used(self, keys: Sequence[AskedKey], columns: Sequence[UsedColumn]) -> Query:
        """Return the same question with more keys, each with the column that it uses.

        >>> count().group_by_used(["hour"], [UsedColumn.of("hour")]).keys
        ('hour',)
        """
        every = [column_of_key(key) for key in (*self.keys, *keys)]
        for name in every:
            if every.count(name) > 1:
                raise ParameterError(f"the key '{name}' stands twice; give it once")
        own = [{used.name, *(one.label for one in used.derived)} for used in columns]
        names = [(used.name, used.label) for used, known in zip(columns, own, strict=True) if used.label not in known]
        shown = replace(self.presentation, names=(*self.presentation.names, *names))
        derived = merge_derived(self.derived, [column for used in columns for column in used.derived])
        return replace(self, keys=(*self.keys, *keys), derived=derived, presentation=shown)

    def with_keys(self, given: Mapping[str, Iterable[Cell | dt.date]]) -> Query:
        """Return the same question, its keys declared by whoever asks: by the name of each, their values.

        >>> count().by("station", "hour").with_keys({"hour": [8, 17]}).keys
        ('station', Keys(column='hour', values=(8, 17)))
        """
        labels = [label.casefold() for label in key_labels(self)]
        keys = list(self.keys)
        for name, values in given.items():
            if name.casefold() not in labels:
                raise ParameterError(f"keys are given for '{name}', by which the question does not group")
            place = labels.index(name.casefold())
            if isinstance(keys[place], HistogramKey):
                raise ParameterError(
                    f"keys are given for '{name}', which the question cuts into bins; give one of both"
                )
            keys[place] = Keys(column_of_key(keys[place]), values)
        return replace(self, keys=tuple(keys))

    def with_candidates(self, given: Mapping[str, Iterable[Candidate]]) -> Query:
        """Return the same question; of a column's quantiles, minimum and maximum, the values to choose from are given.

        >>> quantile("fare", 0.9).with_candidates({"fare": [5, 10]}).aggregates[0].candidates
        (5.0, 10.0)
        """
        names = {column.name: column.label for column in self.derived}
        found = list(self.aggregates)
        for name, values in given.items():
            listed = read_candidates(name, values)
            places = [
                place
                for place, one in enumerate(found)
                if one.chosen and name in {one.column, names.get(one.column or "")}
            ]
            if not places:
                raise ParameterError(f"candidates are given for '{name}', of which no quantile is asked")
            for place in places:
                found[place] = replace(found[place], candidates=listed)
        return replace(self, aggregates=tuple(found))

    def named(self, *names: str) -> Query:
        """Return the same question with names for its aggregates, which are no part of what is paid for.

        >>> count().also(mean("fare")).named("rides", "fare").aggregates[1].label
        'fare'
        """
        if len(names) != len(self.aggregates):
            raise ParameterError(
                f"{len(names)} names are given for {len(self.aggregates)} aggregates; give one for each"
            )
        pairs = zip(self.aggregates, names, strict=True)
        return replace(self, aggregates=tuple(replace(entry, alias=name) for entry, name in pairs))

    def having(self, condition: str | ColumnExpression) -> Query:
        """Return the same question, of which groups are shown that meet a condition on the columns of the answer.

        This and what follows looks at released numbers alone, and costs nothing.

        >>> count().by("hour").having("count > 10").presentation.having
        'count > 10'
        """
        text = condition_text(condition)
        kept = self.presentation.having
        both = text if kept is None else f"({kept}) AND ({text})"
        return replace(self, presentation=replace(self.presentation, having=both))

    def sorted(self, *columns: str, descending: bool = False) -> Query:
        """Return the same question, its groups sorted by columns of the answer.

        >>> count().by("hour").sorted("count", descending=True).presentation.order
        (Ordering(column='count', descending=True, missing_first=False),)
        """
        order = (*self.presentation.order, *(Ordering(column, descending) for column in columns))
        return replace(self, presentation=replace(self.presentation, order=order))

    def limit(self, most: int, *, offset: int = 0) -> Query:
        """Return the same question, of which the first groups are shown, or those after an offset.

        >>> count().by("hour").limit(3).presentation.limit
        3
        """
        return replace(self, presentation=replace(self.presentation, limit=most, offset=offset))

    def top(self, groups: int, by: str | None = None) -> Query:
        """Return the same question, of which the groups with the largest released numbers are shown.

        They are those of the first aggregate, or of the column named. Which groups are shown depends on noise too.

        >>> count().by("hour").top(3).presentation.limit
        3
        """
        return self.sorted(by or self.aggregates[0].label, descending=True).limit(groups)

    def also(self, other: Query) -> Query:
        """Return both questions as one: same rows, same groups, the budget shared evenly by the aggregates.

        >>> [entry.label for entry in count().also(mean("fare")).by("hour").aggregates]
        ['count', 'mean_fare']
        """
        if other.presentation != AS_DECLARED:
            raise ParameterError("the question added with also() sorts or cuts its groups; do so after also()")
        plain = other.condition is None and not other.keys and other.people is None
        same = (other.condition, other.keys, other.people) == (self.condition, self.keys, self.people)
        if not (plain or same) or (other.joins and other.joins != self.joins):
            raise ParameterError("the question added with also() has rows or groups of its own; give it without them")
        derived = merge_derived(self.derived, other.derived)
        return replace(self, aggregates=(*self.aggregates, *other.aggregates), derived=derived)


def key_labels(query: Query) -> list[str]:
    """Return what the keys of a question are called: by their aliases, computed ones else by their words.

    >>> key_labels(count().by("hour"))
    ['hour']
    """
    labels = {column.name: column.label for column in query.derived} | dict(query.presentation.names)
    columns = [column_of_key(key) for key in query.keys]
    return [labels.get(column, column) for column in columns]


def _asked(
    kind: AggregateFunction,
    what: str | ColumnExpression,
    level: Fraction | None = None,
    candidates: Iterable[Candidate] | None = None,
    word: str | None = None,
) -> Query:
    """Return the question for an aggregate of a column or an expression, which is called by its words."""
    used = UsedColumn.of(what)
    listed = None if candidates is None else read_candidates(used.label, candidates)
    label = f"{word}_{used.label}" if word else Aggregate(kind, used.label, level).label
    plain = word is None and used.label == used.name
    return Query((Aggregate(kind, used.name, level, None if plain else label, listed),), derived=used.derived)


def count(column: str | ColumnExpression | None = None) -> Query:
    """Ask how many rows there are, or how many have a value in a column.

    >>> count().aggregates[0].text, count("fare").aggregates[0].text
    ('count(*)', 'count of(fare)')
    """
    return Query((Aggregate(AggregateFunction.COUNT),)) if column is None else _asked(AggregateFunction.PRESENT, column)


def count_distinct(column: str | ColumnExpression) -> Query:
    """Ask how many different values a column has: persons, where it is the column that the budget protects.

    >>> count_distinct("station").aggregates[0].label
    'count_distinct_station'
    """
    return _asked(AggregateFunction.DISTINCT, column)


def sum(column: str | ColumnExpression) -> Query:  # noqa: A001 - the field's own name, used as sf.sum
    """Ask for the sum of a column, its values clamped to the declared bounds.

    >>> sum("fare").aggregates[0].text
    'sum(fare)'
    >>> from sfumato.dp.questions.column import col
    >>> sum(col("fare") * 2).aggregates[0].text
    'sum(fare * 2)'
    """
    return _asked(AggregateFunction.SUM, column)


def mean(column: str | ColumnExpression) -> Query:
    """Ask for the mean of a column: a noisy sum around the middle of the bounds over a noisy count.

    >>> mean("fare").aggregates[0].text
    'mean(fare)'
    """
    return _asked(AggregateFunction.MEAN, column)


def variance(column: str | ColumnExpression) -> Query:
    """Ask for the (population) variance of a column, from noisy sums of values and of squares.

    >>> variance("fare").aggregates[0].text
    'variance(fare)'
    """
    return _asked(AggregateFunction.VARIANCE, column)


def min(column: str | ColumnExpression, *, candidates: Iterable[Candidate] | None = None) -> Query:  # noqa: A001 - the field's own name, used as sf.min
    """Ask for about the smallest value, chosen by the exponential mechanism (McSherry & Talwar 2007).

    >>> min("age").aggregates[0].text
    'min(age)'
    """
    return _asked(AggregateFunction.MIN, column, candidates=candidates)


def max(column: str | ColumnExpression, *, candidates: Iterable[Candidate] | None = None) -> Query:  # noqa: A001 - the field's own name, used as sf.max
    """Ask for about the largest value, chosen by the exponential mechanism (McSherry & Talwar 2007).

    >>> max("age").aggregates[0].text
    'max(age)'
    """
    return _asked(AggregateFunction.MAX, column, candidates=candidates)


def bounds(column: str | ColumnExpression, resolution: float | None = None) -> Query:
    """Ask for bounds of a column that has none, chosen privately: about one value in a hundred lies outside of each.

    They are zero or powers of two of either sign, times `resolution`; of dates, years. Use them with `clip` later.

    >>> [entry.label for entry in bounds("fare").aggregates]
    ['lower_bound_fare', 'upper_bound_fare']
    """
    used = UsedColumn.of(column)
    plain, ends = used.label == used.name, (AggregateFunction.LOWER, AggregateFunction.UPPER)
    names = [None if plain else Aggregate(end, used.label).label for end in ends]
    asked = (
        Aggregate(end, used.name, alias=name, resolution=resolution) for end, name in zip(ends, names, strict=True)
    )
    return Query(tuple(asked), derived=used.derived)


def quantile(
    column: str | ColumnExpression, level: float | str | Fraction, *, candidates: Iterable[Candidate] | None = None
) -> Query:
    """Ask for a quantile, chosen by the exponential mechanism between the declared bounds (Smith 2011).

    Or give the values to choose from as `candidates`, which may be anywhere: they are public.

    >>> quantile("age", 0.9).aggregates[0].level
    Fraction(9, 10)
    >>> quantile("fare", 0.9, candidates=[20, 5, 10]).aggregates[0].candidates
    (5.0, 10.0, 20.0)
    """
    return _asked(AggregateFunction.QUANTILE, column, read_level(level), candidates)


def median(column: str | ColumnExpression, *, candidates: Iterable[Candidate] | None = None) -> Query:
    """Ask for the median: the quantile at one half.

    >>> median("age").aggregates[0].level
    Fraction(1, 2)
    """
    return _asked(AggregateFunction.QUANTILE, column, Fraction(1, 2), candidates, word="median")


def histogram(column: str | ColumnExpression, bins: Bins) -> Query:
    """Ask how many rows lie in each bin: so many equal bins between the declared bounds, or those between edges.

    Bins of dates begin on whole days, bins of timestamps on whole seconds.

    >>> histogram("age", 8).keys
    (HistogramKey(column='age', parts=8, edges=None),)
    """
    used = UsedColumn.of(column)
    return count().group_by_used([bins_of(used.name, bins)], [used])
