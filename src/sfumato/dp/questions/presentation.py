"""Which released groups are shown, and in which order: post-processing, computed from what has left alone.

Post-processing costs nothing (Dwork & Roth 2014, proposition 2.1): a question with it and the one without are the same
question, and are paid for once. So are the largest groups: noisy counts of disjoint groups cost as much for all groups
as for one, so that the top k need no mechanism of their own. Peeling (Durfee & Rogers 2019) would pay for k choices,
where a person may be in many groups, and is not built here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from sfumato.dp.questions.clock import seconds_of
from sfumato.dp.questions.expression import (
    MOST,
    Arithmetic,
    ColumnReference,
    Condition,
    InList,
    Junction,
    Like,
    Literal,
    Missing,
    Negation,
    Predicate,
    Truth,
    ValueComparison,
    walk,
)
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.shown_values import condition_holds
from sfumato.errors import InputError, suggestion
from sfumato.schema import Attribute, Kind, Role, Schema

Shown = int | float | str | None
EVALUATED = (Arithmetic, ColumnReference, InList, Junction, Like, Literal, Missing, Negation, Truth, ValueComparison)
NUMBERS = {Kind.INTEGER, Kind.NUMBER}
SORTED = "sorted by"
FARTHEST = 10**18  # the largest LIMIT and OFFSET


@dataclass(frozen=True)
class Ordering:
    """A column of the answer by which groups are sorted; missing values come last unless they come first.

    >>> Ordering("count", descending=True).words
    'count, descending'
    """

    column: str
    descending: bool = False
    missing_first: bool = False

    @property
    def words(self) -> str:
        """How a card says it."""
        return f"{self.column}{', descending' if self.descending else ''}"


@dataclass(frozen=True)
class Presentation:
    """Which released groups are shown, in which order and under which names: post-processing, which costs nothing.

    `having` is a condition on the columns of the answer, in SQL; `order` sorts by them; `names` are what keys are
    called.

    >>> Presentation(order=(Ordering("count", descending=True),), limit=10).limit
    10
    """

    having: str | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    names: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for what, number in (("limit", self.limit), ("offset", self.offset)):
            if number is not None and not (type(number) is int and 0 <= number <= FARTHEST):
                raise InputError(f"the {what} is {str(number)[:40]}; give a whole number from 0 to 10^18")


AS_DECLARED = Presentation()


@dataclass(frozen=True)
class ShownColumn:
    """A column of an answer: its name, the kind of its values, whether it is a key, and public values in their order.

    >>> ShownColumn("count", Kind.NUMBER).attribute.bounds
    (-1000000000000000.0, 1000000000000000.0)
    """

    name: str
    kind: Kind | None
    key: bool = False
    values: tuple[str, ...] | None = None

    @property
    def attribute(self) -> Attribute:
        """The column as a condition sees it."""
        if self.kind in NUMBERS:
            return Attribute(self.name, Role.OTHER, Kind.NUMBER, bounds=(-MOST, MOST), missing=())
        return Attribute(self.name, Role.OTHER, self.kind, categories=self.values, missing=())


@dataclass(frozen=True)
class Arrangement:
    """A presentation checked against the columns of an answer.

    >>> columns = [ShownColumn("hour", Kind.INTEGER, key=True), ShownColumn("count", Kind.NUMBER)]
    >>> top = arrange(Presentation(having="count > 2", order=(Ordering("count", descending=True),), limit=2), columns)
    >>> top.places({"hour": [7, 8, 9], "count": [5, 1, 30]}, 3), top.words
    ([2, 0], ['kept where "count" > 2', 'sorted by count, descending', 'the first 2 kept'])
    """

    columns: tuple[ShownColumn, ...] = ()
    predicate: Predicate | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def words(self) -> list[str]:
        """What was done to the groups, for the card."""
        kept = [f"kept where {self.predicate.text}"] if self.predicate else []
        after = [f"{SORTED} {' and '.join(one.words for one in self.order)}"] if self.order else []
        skipped = [f"the first {self.offset} left out"] if self.offset else []
        most = [] if self.limit is None else [f"the first {self.limit} kept"]
        return [*kept, *after, *skipped, *most]

    @property
    def chooses_by_noise(self) -> bool:
        """Whether noisy numbers decide which groups are shown."""
        noisy = {column.name for column in self.columns if not column.key}
        cut = self.limit is not None or self.offset > 0
        sorts = cut and any(one.column in noisy for one in self.order)
        return sorts or (self.predicate is not None and not noisy.isdisjoint(self.predicate.columns))

    def places(self, values: Mapping[str, Sequence[Shown]], groups: int) -> list[int]:
        """Return the places of the groups that are shown, in their order."""
        places = list(range(groups))
        if self.predicate is not None:
            read = {name: self._positions(name, values[name]) for name in self.predicate.columns}
            condition = self.predicate.condition
            places = [place for place in places if condition_holds(condition, {n: read[n][place] for n in read})]
        for one in reversed(self.order):
            places = self._sorted(places, one, values[one.column])
        return places[self.offset :][: self.limit]

    def _sorted(self, places: list[int], by: Ordering, values: Sequence[Shown]) -> list[int]:
        """Return the places sorted by one column; those with equal values stay in their order."""
        ranks = {value: rank for rank, value in enumerate(self._column(by.column).values or ())}
        ordinal = self._column(by.column).kind is Kind.ORDINAL
        missing = [place for place in places if values[place] is None]
        there = [place for place in places if values[place] is not None]
        found = sorted(
            there,
            key=lambda place: ranks[str(values[place])] if ordinal else values[place],  # type: ignore[return-value,arg-type]
            reverse=by.descending,
        )
        return [*missing, *found] if by.missing_first else [*found, *missing]

    def _positions(self, name: str, values: Sequence[Shown]) -> list[Shown]:
        """Return values as conditions compare them: dates as days, times as seconds."""
        kind = self._column(name).kind
        if kind is Kind.DATE:
            return [None if day is None else (date.fromisoformat(str(day)) - date(1970, 1, 1)).days for day in values]
        if kind is Kind.TIMESTAMP:
            return [None if time is None else seconds_of(str(time)) for time in values]
        return list(values)

    def _column(self, name: str) -> ShownColumn:
        return next(column for column in self.columns if column.name == name)


UNCHANGED = Arrangement()


def arrange(presentation: Presentation, columns: Sequence[ShownColumn]) -> Arrangement:
    """Return the presentation checked against the columns of the answer.

    >>> arrange(Presentation(order=(Ordering("cuont"),)), [ShownColumn("count", Kind.NUMBER)])
    Traceback (most recent call last):
    sfumato.errors.InputError: the answer has no column 'cuont' to sort by; did you mean 'count'?
    """
    names = [column.name for column in columns]
    for one in presentation.order:
        if one.column not in names:
            raise InputError(f"the answer has no column '{one.column}' to sort by{suggestion(one.column, names)}")
    predicate = None
    if presentation.having is not None:
        predicate = parse_predicate(presentation.having, Schema({one.name: one.attribute for one in columns}))
        _refuse_uncovered(predicate.condition)
    return Arrangement(tuple(columns), predicate, presentation.order, presentation.limit, presentation.offset)


def _refuse_uncovered(condition: Condition) -> None:
    for node in walk(condition):
        if not isinstance(node, EVALUATED):
            raise InputError(
                f"HAVING uses {node.text}, which is not covered; compare columns of the answer, with + - * /"
            )
