"""Which publisher a record goes to, and what that means for a person: by a key of the records, or by their person.

Disjoint parts of the records may each be released at ε (parallel composition, McSherry 2009); what is disjoint decides
what is protected: a record has one key, but a person may have records under many, unless persons decide the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from sfumato.core.parameters import Validated, Whole
from sfumato.errors import InputError, suggestion
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

        from sfumato.engines.spark.folders import quoted

        refuse_missing(frame, self.column)
        return functions.col(quoted(self.column)).cast("string")

    @property
    def settings(self) -> dict[str, Any]:
        """What the card says about it."""
        return {"key": self.column}

    def kind(self, frame: DataFrame) -> str:
        """Return the type under which the key leaves: that of the column."""
        return frame.schema[self.column].dataType.simpleString()

    def describe(self, card: Card) -> Card:
        """Return a publisher's card with what it says about many of them."""
        within = f"within one value of '{self.column}'"
        promise = msgspec.structs.replace(card.guarantee, unit=f"{card.guarantee.unit}, {within}")
        private = "epsilon" in card.guarantee.parameters
        notes = [
            f"Each value of '{self.column}' has a publisher of its own, and what is promised holds {within}.",
            SUMS_UP if private else "What rows under several of them tell together about one person is not covered.",
            PUBLIC,
        ]
        return _with_notes(
            card, promise if "person" in card.guarantee.unit else card.guarantee, notes, self.column, "text"
        )


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

        from sfumato.engines.spark.folders import quoted

        refuse_missing(frame, self.column)
        person = functions.xxhash64(functions.col(quoted(self.column)).cast("string"))
        return functions.pmod(person, functions.lit(self.buckets)).cast("string")

    @property
    def settings(self) -> dict[str, Any]:
        """What the card says about it."""
        return {"person": self.column, "buckets": self.buckets}

    def kind(self, frame: DataFrame) -> str:
        """Return the type under which a bucket's number leaves."""
        del frame
        return "int"

    def describe(self, card: Card) -> Card:
        """Return a publisher's card with what it says about many of them."""
        notes = [
            f"Persons ('{self.column}') are spread by a public hash over {self.buckets} buckets with a publisher each.",
            "All records of a person are in one bucket, so the promise is that of a single stream.",
            PUBLIC,
        ]
        return _with_notes(card, card.guarantee, notes, self.name, "integer")


Keys = ByKey | ByPerson


def refuse_missing(frame: DataFrame, column: str) -> None:
    """Refuse a column that the frame has not."""
    if column not in frame.columns:
        raise InputError(f"there is no column '{column}'{suggestion(column, frame.columns)}")


def _with_notes(card: Card, promise: Guarantee, notes: list[str], name: str, kind: str) -> Card:
    columns = [*card.released.columns, ReleasedColumn(name=name, role="other", type=kind)]
    released = msgspec.structs.replace(card.released, columns=columns)
    return msgspec.structs.replace(card, guarantee=promise, assumptions=[*card.assumptions, *notes], released=released)
