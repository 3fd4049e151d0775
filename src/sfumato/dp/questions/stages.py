"""What is done to the rows before they are counted: columns derived, rows kept, each a step that no row can fail.

The steps are data, as the question is (McSherry 2009): they are checked and priced before any row is read, and every
engine carries them out in the same way. A person's rows are bounded after the last of them, so that no step can undo a
bound (Wilson et al. 2020, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sfumato.dp.questions.expression import ColumnReference, Predicate, Value, walk
from sfumato.schema import Attribute, Schema


@dataclass(frozen=True)
class Derive:
    """A column computed from others of the same row; `attribute` is its type, and bounds or categories that hold.

    >>> from sfumato.dp.questions.expression import Domain
    >>> from sfumato.schema import Kind, Role
    >>> age = ColumnReference("age", Domain.NUMBER, (0, 99))
    >>> Derive(Attribute("same", Role.OTHER, Kind.NUMBER, bounds=(0.0, 99.0)), age).uses
    ('age',)
    """

    attribute: Attribute
    value: Value

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(node.name for node in walk(self.value) if isinstance(node, ColumnReference)))

    @property
    def makes(self) -> tuple[Attribute, ...]:
        """The columns that it adds."""
        return (self.attribute,)

    @property
    def keeps(self) -> None:
        """All columns are still there afterwards."""

    @property
    def text(self) -> str:
        """The canonical text."""
        return f"{self.attribute.name} = {self.value.text}"


@dataclass(frozen=True)
class Keep:
    """The rows that meet a condition; a row for which it is unknown does not.

    >>> from sfumato.dp.questions.expression import Truth
    >>> Keep(Predicate(Truth(True))).text
    'TRUE'
    """

    predicate: Predicate

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return self.predicate.columns

    @property
    def makes(self) -> tuple[Attribute, ...]:
        """The columns that it adds: none."""
        return ()

    @property
    def keeps(self) -> None:
        """All columns are still there afterwards."""

    @property
    def text(self) -> str:
        """The canonical text."""
        return self.predicate.text


class Stage(Protocol):
    """One step: the columns that it reads, makes and keeps (None: all that were there), and its canonical text."""

    @property
    def uses(self) -> tuple[str, ...]: ...
    @property
    def makes(self) -> tuple[Attribute, ...]: ...
    @property
    def keeps(self) -> tuple[str, ...] | None: ...
    @property
    def text(self) -> str: ...


def made_by(stages: Sequence[Stage]) -> tuple[Attribute, ...]:
    """Return all columns that stages add.

    >>> made_by([])
    ()
    """
    return tuple(attribute for stage in stages for attribute in stage.makes)


def with_made(schema: Schema, stages: Sequence[Stage]) -> Schema:
    """Return the schema with the columns that stages add, those that are gone afterwards among them.

    >>> with_made(Schema(), []) == Schema()
    True
    """
    made = {attribute.name: attribute for attribute in made_by(stages)}
    return replace(schema, columns={**schema.columns, **made}) if made else schema


def after(schema: Schema, stages: Sequence[Stage]) -> Schema:
    """Return the schema of the rows after the stages: what the rest of a question can name.

    >>> after(Schema(), []) == Schema()
    True
    """
    columns = dict(schema.columns)
    for stage in stages:
        kept = columns if stage.keeps is None else {name: columns[name] for name in stage.keeps}
        columns = {**kept, **{attribute.name: attribute for attribute in stage.makes}}
    return replace(schema, columns=columns) if stages else schema


def read_from_rows(stages: Sequence[Stage], names: Sequence[str]) -> list[str]:
    """Return the columns that must be read from the rows, so that `names` are there after the stages.

    >>> read_from_rows([], ["age", "age"])
    ['age']
    """
    made = {attribute.name for attribute in made_by(stages)}
    used = [*names, *(name for stage in stages for name in stage.uses)]
    return [name for name in dict.fromkeys(used) if name not in made]
