"""The rows that a question is about: its derived columns and filters as checked stages, over an extended schema.

The schema of the result is derived too (Hay, Gaboardi & Vadhan 2020): what comes after a stage sees the columns that
it adds as if they were declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.dp.questions.computed import DerivedColumn
from sfumato.dp.questions.features import person_stage
from sfumato.dp.questions.people import People
from sfumato.dp.questions.predicate import parse_predicate, parse_value
from sfumato.dp.questions.ranges import derived_attribute
from sfumato.dp.questions.stages import Derive, Keep, Stage, after, with_made
from sfumato.errors import InputError
from sfumato.promise.unit import ProtectRows, Unit
from sfumato.schema import Schema

MOST_DERIVED = 100


@dataclass(frozen=True)
class Relation:
    """Rows after some stages, and the schema by which later parts of a question see them.

    >>> Relation(Schema()).stages
    ()
    """

    schema: Schema
    stages: tuple[Stage, ...] = ()


def relate(
    derived: Sequence[DerivedColumn],
    schema: Schema,
    joined: Sequence[Stage] = (),
    people: People | None = None,
    unit: Unit = ProtectRows(),  # noqa: B008 - frozen
) -> Relation:
    """Return the rows with the derived columns that a question names, after the stages of its joins.

    Where the question is about `people`, the rows are those of persons, each with its features.


    >>> from sfumato.schema import Attribute, Kind, Role
    >>> people = Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))})
    >>> relate([DerivedColumn("double", "2 * age")], people).schema.columns["double"].bounds
    (0, 198)
    """
    if len(derived) > MOST_DERIVED:
        raise InputError(f"the question derives {len(derived)} columns; at most {MOST_DERIVED} are covered")
    stages: list[Stage] = list(joined)
    if people is not None:
        stages += _derive(people.derived, schema, stages)
        now = after(schema, stages)
        stages += [Keep(parse_predicate(people.condition, now))] if people.condition else []
        stages.append(person_stage(people, now, unit))
    stages += _derive(derived, schema, stages)
    return Relation(after(schema, stages), tuple(stages))


def _derive(derived: Sequence[DerivedColumn], schema: Schema, before: Sequence[Stage]) -> list[Stage]:
    """Return the stages that add derived columns; no column ever had the name of another."""
    stages: list[Stage] = []
    for column in derived:
        if column.name in with_made(schema, [*before, *stages]).columns:
            raise InputError(f"the derived column '{column.name}' has the name of another column; name it otherwise")
        now = after(schema, [*before, *stages])
        value = parse_value(column.expression, now)
        stages.append(Derive(derived_attribute(column.name, value, now), value))
    return stages
