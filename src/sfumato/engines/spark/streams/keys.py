"""Which publisher a record goes to, and what that means for a person: by a key of the records, or by their person.

Disjoint parts of the records may each be released at ε (parallel composition, McSherry 2009); what is disjoint decides
what is protected: a record has one key, but a person may have records under many, unless persons decide the parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from sfumato.core.parameters import Validated, Whole
from sfumato.errors import InputError, suggestion
from sfumato.promise import CapPersons, Promise, ProtectPersons
from sfumato.release.card import Card, Guarantee, ReleasedColumn

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SUMS_UP = "A person with records under m of them is promised m times ε only; --person alone keeps them together."
PUBLIC = "Which keys there are, how many records each has and in which order they come is public; their values are not."


@dataclass(frozen=True)
class ByKey:
    """One publisher for each value of a column, such as a station: the promise holds within each.

    >>> ByKey("station").name
    'station'
    """

    column: str

    @property
    def name(self) -> str:
        """The column under which the key leaves."""
        return self.column

    def value(self, frame: DataFrame) -> Column:
        """Return the key of each record as text."""
        from pyspark.sql import functions

        from sfumato.engines.spark.folders import quote_name

        refuse_missing(frame, self.column)
        return functions.col(quote_name(self.column)).cast("string")

    @property
    def settings(self) -> dict[str, Any]:
        """What the card says about it."""
        return {"key": self.column}

    def kind(self, frame: DataFrame) -> str:
        """Return the type under which the key leaves: that of the column."""
        return frame.schema[self.column].dataType.simpleString()

    def together(self, promise: Promise) -> Promise:
        """Return what publishers promise together that each promise that: persons only within one key."""
        unit = promise.metric.unit
        if not isinstance(unit, ProtectPersons):
            return promise
        within = f"{unit.person}, within one value of '{self.column}'"
        steps = (replace(step, person=within) if isinstance(step, CapPersons) else step for step in promise.steps)
        metric = replace(promise.metric, unit=replace(unit, person=within))
        return replace(promise, metric=metric, steps=tuple(steps))

    def extend_card(self, card: Card, promise: Promise | None) -> Card:
        """Return a publisher's card with what it says about many of them, under their promise."""
        within = f"within one value of '{self.column}'"
        notes = [
            f"Each value of '{self.column}' has a publisher of its own, and what is promised holds {within}.",
            SUMS_UP if promise else "What rows under several of them tell together about one person is not covered.",
            PUBLIC,
        ]
        return _with_key(card, promise, notes, ReleasedColumn(name=self.column, role="other", type="text"))


@dataclass(frozen=True)
class ByPerson(Validated):
    """One publisher for each of `buckets` buckets, over which persons are spread by a public hash.

    >>> ByPerson("rider", buckets=0)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: The 'buckets' parameter of ByPerson must be an integer of at least 1. Got 0 instead.
    """

    column: str
    buckets: int = 16

    RULES: ClassVar = {"buckets": Whole(1)}
    name: ClassVar[str] = "bucket"

    def value(self, frame: DataFrame) -> Column:
        """Return the bucket of each record's person as text; records without a person share one."""
        from pyspark.sql import functions

        from sfumato.engines.spark.folders import quote_name

        refuse_missing(frame, self.column)
        person = functions.xxhash64(functions.col(quote_name(self.column)).cast("string"))
        return functions.pmod(person, functions.lit(self.buckets)).cast("string")

    @property
    def settings(self) -> dict[str, Any]:
        """What the card says about it."""
        return {"person": self.column, "buckets": self.buckets}

    def kind(self, frame: DataFrame) -> str:
        """Return the type under which a bucket's number leaves."""
        del frame
        return "int"

    def together(self, promise: Promise) -> Promise:
        """Return what publishers promise together that each promise that: the same, a person has one."""
        return promise

    def extend_card(self, card: Card, promise: Promise | None) -> Card:
        """Return a publisher's card with what it says about many of them, under their promise."""
        notes = [
            f"Persons ('{self.column}') are spread by a public hash over {self.buckets} buckets with a publisher each.",
            "All records of a person are in one bucket, so the promise is that of a single stream.",
            PUBLIC,
        ]
        return _with_key(card, promise, notes, ReleasedColumn(name=self.name, role="other", type="integer"))


Keys = ByKey | ByPerson


def refuse_missing(frame: DataFrame, column: str) -> None:
    """Refuse a column that the frame has not."""
    if column not in frame.columns:
        raise InputError(f"there is no column '{column}'{suggestion(column, frame.columns)}")


def _with_key(card: Card, promise: Promise | None, notes: list[str], key: ReleasedColumn) -> Card:
    parts = {name: value for name, value in card.guarantee.parameters.items() if name == "per_record"}
    return Card(
        version=card.version,
        door=card.door,
        algorithm=card.algorithm,
        guarantee=card.guarantee if promise is None else Guarantee.of(promise, **parts),
        assumptions=[*card.assumptions, *notes],
        released=msgspec.structs.replace(card.released, columns=[*card.released.columns, key]),
        warnings=card.warnings,
    )
