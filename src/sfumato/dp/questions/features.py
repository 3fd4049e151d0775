"""The stage that makes one row of each person's rows, with what every feature can be by public bounds alone.

Counts are clamped to a declared number of rows and sums to as many times the column's bounds, so that nothing has to be
left out by chance: after the stage a person is one row, whatever its rows held, and noise is scaled to one row (the
stage is stable from persons to rows with factor 1; Hay, Gaboardi & Vadhan 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sfumato.dp.questions.clips import clipped_schema
from sfumato.dp.questions.grids import NumberLine, attribute_of, line_of
from sfumato.dp.questions.people import Feature, FeatureFunction, People
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.promise.unit import ProtectPersons, Unit
from sfumato.schema import Attribute, Kind, Role, Schema

EXACT = 2**53  # whole numbers up to it are doubles
FINE = 2**32  # positions of a mean: sums of a million of them and more are exact
MOST_ROWS = 10**6
MOST_FEATURES = 100
TIMES = {Kind.DATE, Kind.TIMESTAMP}


@dataclass(frozen=True)
class PersonColumn:
    """A feature, the column that it makes with its derived bounds, and the grid of what it adds up.

    >>> PersonColumn(Feature(FeatureFunction.COUNT), Attribute("n", Role.OTHER, Kind.INTEGER, bounds=(1, 6)), 6).text
    'n = count(*) of at most 6'
    """

    feature: Feature
    attribute: Attribute
    cap: int
    line: NumberLine | None = None

    @property
    def text(self) -> str:
        """The canonical text, with everything public that the column depends on."""
        grid = self.line.grid if self.line else None
        on = f" on [{grid.low!r}, {grid.high!r}]/{grid.steps!r}" if grid else ""
        capped = self.feature.function in {*COUNTS, FeatureFunction.SUM}
        return f"{self.attribute.name} = {self.feature.text}{on}{f' of at most {self.cap}' if capped else ''}"


@dataclass(frozen=True)
class PerPerson:
    """One row for each person: the person and its features; all other columns are gone.

    >>> PerPerson(Attribute("rider", Role.IDENTIFIER), ()).keeps
    ('rider',)
    """

    person: Attribute
    columns: tuple[PersonColumn, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that it reads."""
        named = [name for one in self.columns for name in (one.feature.column, one.feature.order) if name is not None]
        return tuple(dict.fromkeys([self.person.name, *named]))

    @property
    def makes(self) -> tuple[Attribute, ...]:
        """The columns that it adds."""
        return tuple(one.attribute for one in self.columns)

    @property
    def keeps(self) -> tuple[str, ...]:
        """The columns that are still there afterwards."""
        return (self.person.name,)

    @property
    def words(self) -> str:
        """The features as a person reads them."""
        return ", ".join(f"{one.attribute.name} = {one.feature.text}" for one in self.columns)

    @property
    def text(self) -> str:
        """The canonical text."""
        return f"per {self.person.name}: {', '.join(one.text for one in self.columns)}"


def person_stage(people: People, schema: Schema, unit: Unit) -> PerPerson:
    """Return the stage that a question about persons asks for; every bound is derived from declared ones.

    >>> from sfumato.dp.questions.people import per_person
    >>> from sfumato.promise.unit import ProtectRows
    >>> person_stage(People((("n", Feature(FeatureFunction.COUNT)),)), Schema(), ProtectRows())
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the budget protects rows, so that no column says whose rows belong together; make a \
budget with --protect person:ID:ROWS:GROUPS
    """
    if not isinstance(unit, ProtectPersons):
        raise ParameterError(
            "the budget protects rows, so that no column says whose rows belong together; make a budget with "
            "--protect person:ID:ROWS:GROUPS"
        )
    if people.person is not None and people.person != unit.person:
        raise InputError(f"rows are brought together by '{people.person}'; the budget's persons are in '{unit.person}'")
    every = people.at_most or unit.rows * unit.groups
    caps = [every if feature.at_most is None else feature.at_most for _, feature in people.features]
    if not 1 <= min(caps) <= max(caps) <= MOST_ROWS or len(caps) > MOST_FEATURES:
        raise ParameterError(
            f"{len(caps)} features of {min(caps)} to {max(caps)} rows are asked for; at most {MOST_FEATURES} of 1 to "
            f"{MOST_ROWS} rows are covered"
        )
    made: dict[str, PersonColumn] = {}
    for (name, feature), cap in zip(people.features, caps, strict=True):
        if name in schema.columns or name in made:
            raise InputError(f"the feature '{name}' has the name of another column; name it otherwise")
        made[name] = MAKERS[feature.function](name, feature, cap, schema)
    return PerPerson(attribute_of(schema, unit.person), tuple(made.values()))


def _counted(name: str, feature: Feature, cap: int, schema: Schema) -> PersonColumn:
    if feature.column is not None:
        attribute_of(schema, feature.column)
    least = 1 if feature.function is FeatureFunction.COUNT else 0  # a person with a row has one
    return PersonColumn(feature, _other(name, Kind.INTEGER, (least, cap)), cap)


def _summed(name: str, feature: Feature, cap: int, schema: Schema) -> PersonColumn:
    line = _number_line(feature, schema)
    low, high = cap * min(line.first, 0), cap * max(line.first + line.grid.steps, 0)
    if max(-low, high) > EXACT:
        raise ParameterError(
            f"the sum of '{feature.column}' over {cap} rows does not fit a double exactly; give a smaller at_most, or "
            "declare narrower bounds"
        )
    limits = (low, high) if line.kind is Kind.INTEGER else (low * line.step, high * line.step)
    return PersonColumn(feature, _other(name, line.kind, limits), cap, line)


def _averaged(name: str, feature: Feature, cap: int, schema: Schema) -> PersonColumn:
    line = _number_line(feature, schema)
    if line.grid.steps > FINE:
        raise ParameterError(
            f"the bounds of '{feature.column}' are too wide for a person's mean; declare narrower ones"
        )
    return PersonColumn(feature, _other(name, Kind.NUMBER, (line.grid.low, line.grid.high)), cap, line)


def _extreme(name: str, feature: Feature, cap: int, schema: Schema) -> PersonColumn:
    column = attribute_of(clipped_schema(schema, feature.column or "", feature.clip), feature.column or "")
    if column.kind is None or not column.kind.numeric:
        raise SchemaError(f"column '{column.name}' has no smallest or largest value; ask for numbers, dates or times")
    return PersonColumn(feature, _taken(name, column), cap)


def _ordered(name: str, feature: Feature, cap: int, schema: Schema) -> PersonColumn:
    order = attribute_of(schema, feature.order or "")
    if order.kind is None or not order.kind.numeric:
        raise SchemaError(f"column '{order.name}' has no order in time or number; order by a number, date or timestamp")
    return PersonColumn(feature, _taken(name, attribute_of(schema, feature.column or "")), cap)


def _number_line(feature: Feature, schema: Schema) -> NumberLine:
    line = line_of(clipped_schema(schema, feature.column or "", feature.clip), feature.column or "")
    if line.kind in TIMES:
        raise SchemaError(f"column '{feature.column}' holds {line.kind}s, of which there is no {feature.function}")
    return line


def _other(name: str, kind: Kind, bounds: tuple[int, int] | tuple[float, float]) -> Attribute:
    return Attribute(name, Role.OTHER, kind, bounds=bounds, missing=())


def _taken(name: str, column: Attribute) -> Attribute:
    """Return a column of single cells of another one: all that is declared of these holds, and cells are read once."""
    return replace(column, name=name, role=Role.OTHER, missing=())


Maker = Callable[[str, Feature, int, Schema], PersonColumn]
COUNTS = {FeatureFunction.COUNT, FeatureFunction.PRESENT, FeatureFunction.DISTINCT}
MAKERS: dict[FeatureFunction, Maker] = {
    **dict.fromkeys(COUNTS, _counted),
    FeatureFunction.SUM: _summed,
    FeatureFunction.MEAN: _averaged,
    FeatureFunction.MIN: _extreme,
    FeatureFunction.MAX: _extreme,
    FeatureFunction.FIRST: _ordered,
    FeatureFunction.LAST: _ordered,
}
