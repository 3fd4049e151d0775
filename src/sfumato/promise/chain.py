"""A chain of steps between the people and the noise, each with a map that says how far neighbours can move apart.

The idea is OpenDP's and Tumult Core's (Hay, Gaboardi & Vadhan 2020; Berghel et al. 2022): a step is stable between two
metrics, a mechanism turns a distance into a cost, and a chain without a map from one to the next cannot be built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from sfumato.errors import ParameterError
from sfumato.promise.cost import Cost
from sfumato.promise.group_privacy import group
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit


class Input(StrEnum):
    """What neighbours are inputs of: a table's rows, a stream's records, or what one device holds.

    >>> Input("records").one
    'record'
    """

    ROWS = "rows"
    RECORDS = "records"
    REPORTS = "reports"

    @property
    def one(self) -> str:
        """One of them, in words."""
        return self.removesuffix("s")


NEIGHBOURS = {
    (Input.ROWS, Neighbours.PRESENCE): "presence: one unit is there or not",
    (Input.ROWS, Neighbours.VALUE): "value: one unit's values are others",
    (Input.RECORDS, Neighbours.PRESENCE): "presence: streams that differ in the records of one unit, there or not",
    (Input.RECORDS, Neighbours.VALUE): "value: streams with the same arrivals that differ in the values of one unit",
    (Input.REPORTS, Neighbours.PRESENCE): "presence: one unit reports or not",
    (Input.REPORTS, Neighbours.VALUE): "value: any two values that one unit may hold",
}


@dataclass(frozen=True)
class Metric:
    """What one unit may change between two neighbouring inputs.

    >>> Metric(ProtectRows(), Neighbours.VALUE, Input.RECORDS).words
    'the value of one record'
    """

    unit: Unit
    neighbours: Neighbours
    of: Input = Input.ROWS

    @property
    def words(self) -> str:
        """What differs between two neighbours."""
        part = "presence" if self.neighbours is Neighbours.PRESENCE else "value"
        if isinstance(self.unit, ProtectPersons):
            return f"the {part}{'' if part == 'presence' else 's'} of one person ({self.unit.person})"
        count = self.unit.rows
        return f"the {part} of {'one ' + self.of.one if count == 1 else f'{count} {self.of}'}"

    @property
    def unit_words(self) -> str:
        """The unit as cards print it.

        >>> Metric(ProtectRows(), Neighbours.VALUE, Input.RECORDS).unit_words
        'record (event level)'
        """
        if isinstance(self.unit, ProtectPersons):
            whole = {Input.RECORDS: "all records of one", Input.REPORTS: "all reports of one"}
            return self.unit.words if self.of is Input.ROWS else f"person ({self.unit.person}): {whole[self.of]}"
        level = {Input.RECORDS: " (event level)", Input.REPORTS: " (what one device holds)", Input.ROWS: ""}[self.of]
        return (self.of.one if self.unit.rows == 1 else f"{self.unit.rows} {self.of}") + level

    @property
    def neighbours_words(self) -> str:
        """The neighbours as cards print them.

        >>> Metric(ProtectRows(), Neighbours.PRESENCE).neighbours_words
        'presence: one unit is there or not'
        """
        return NEIGHBOURS[self.of, self.neighbours]


@dataclass(frozen=True)
class Distance:
    """How far two neighbours are after the steps so far: one unit, or `rows` rows in each of at most `groups` groups.

    >>> Distance.between(Metric(ProtectRows(3), Neighbours.PRESENCE)).rows
    3
    """

    metric: Metric
    rows: int | None
    groups: int = 1

    @classmethod
    def between(cls, metric: Metric) -> Distance:
        """Return the distance of two neighbours before any step: a person's rows are not bounded yet."""
        return cls(metric, metric.unit.rows if isinstance(metric.unit, ProtectRows) else None)

    @property
    def counted(self) -> int:
        """The rows that differ at most; refused where nothing bounds them."""
        if self.rows is None:
            person = self.metric.unit.person if isinstance(self.metric.unit, ProtectPersons) else "?"
            raise ParameterError(
                f"nothing bounds how many {self.metric.of} of one person ({person}) count, so that nothing can be "
                "promised to a person; cap them"
            )
        return self.rows * self.groups


class Step(Protocol):
    """Anything that is done to the input before the noise; its map says how far neighbours are afterwards."""

    def stability(self, near: Distance) -> Distance:
        """Return the distance after the step, or refuse where there is no bound."""


class Excess(StrEnum):
    """What becomes of a person's records beyond the limit: nothing is left of them, or a public value in their place.

    >>> Excess("dropped") is Excess.DROPPED
    True
    """

    DROPPED = "dropped"
    REPLACED = "replaced"


@dataclass(frozen=True)
class CapPersons:
    """At most `rows` rows of a person count in each of at most `groups` groups; which ones depends on nobody else.

    Under changed values a record keeps its place, its person and its time, so both ways are stable. Where a record may
    be there or not, an excess record that leaves a trace in its place would be counted still.

    >>> near = Distance.between(Metric(ProtectPersons("drive"), Neighbours.PRESENCE))
    >>> CapPersons("drive", 30).stability(near).rows
    30
    >>> CapPersons("drive", 30, excess=Excess.REPLACED).stability(near)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: records of a person beyond the limit leave a trace in their place, so that the \
presence of a person cannot be hidden; drop them
    """

    person: str
    rows: int
    groups: int = 1
    excess: Excess = Excess.DROPPED

    def stability(self, near: Distance) -> Distance:
        unit, presence = near.metric.unit, near.metric.neighbours is Neighbours.PRESENCE
        if isinstance(unit, ProtectPersons):
            if unit.person != self.person:
                raise ParameterError(f"the cap counts by '{self.person}', the unit is a person by '{unit.person}'")
            if presence and self.excess is Excess.REPLACED:
                raise ParameterError(
                    "records of a person beyond the limit leave a trace in their place, so that the presence of a "
                    "person cannot be hidden; drop them"
                )
            return replace(near, rows=self.rows, groups=self.groups)
        if not presence:
            return near
        if self.groups > 1:  # a row that leaves may let in a whole group of the same person
            return replace(near, rows=near.counted * (1 + self.rows), groups=1)
        return replace(near, rows=2 * near.counted)  # one comes and, beyond the limit, another one goes


@dataclass(frozen=True)
class Copies:
    """Each row becomes at most `most` rows by its own values, as a join with a public table makes them.

    A person's rows are bounded later, whatever their number is by then.

    >>> Copies(3).stability(Distance.between(Metric(ProtectRows(2), Neighbours.PRESENCE))).rows
    6
    """

    most: int

    def stability(self, near: Distance) -> Distance:
        return near if near.rows is None else replace(near, rows=near.rows * self.most)


@dataclass(frozen=True)
class JoinPersons:
    """A person's rows are joined with the same person's rows of another table: nobody else's rows change.

    How many rows of a person come out is bounded later; of how many a single row is a part is not.

    >>> near = Distance.between(Metric(ProtectPersons("rider"), Neighbours.PRESENCE))
    >>> JoinPersons("rider").stability(near) == near
    True
    >>> JoinPersons("rider").stability(Distance.between(Metric(ProtectRows(), Neighbours.PRESENCE)))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: tables are joined by the person 'rider', so that one row may be a part of any \
number of rows; only a person by 'rider' can be protected
    """

    person: str

    def stability(self, near: Distance) -> Distance:
        unit = near.metric.unit
        if not isinstance(unit, ProtectPersons) or unit.person != self.person:
            raise ParameterError(
                f"tables are joined by the person '{self.person}', so that one row may be a part of any number of "
                f"rows; only a person by '{self.person}' can be protected"
            )
        return near


class Edges(StrEnum):
    """What ends a window: a public count of arrivals, a public clock, or the records' own times.

    >>> Edges("position") is Edges.POSITION
    True
    """

    POSITION = "position"
    DECLARED = "declared"
    RECORDS = "records"


@dataclass(frozen=True)
class Windows:
    """Disjoint windows: every record is in one, so that the windows together cost what the dearest of them costs.

    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.PRESENCE, Input.RECORDS))
    >>> Windows(Edges.DECLARED).stability(near) == near
    True
    >>> Windows(Edges.POSITION).stability(near)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: windows count arrivals, so that one record more moves all later ones into other \
windows; declare the windows' edges, or protect values only
    """

    edges: Edges

    def stability(self, near: Distance) -> Distance:
        if near.metric.neighbours is Neighbours.VALUE or self.edges is Edges.DECLARED:
            return near
        what = "count arrivals" if self.edges is Edges.POSITION else "end by the records' own times"
        raise ParameterError(
            f"windows {what}, so that one record more moves all later ones into other windows; declare the windows' "
            "edges, or protect values only"
        )


@dataclass(frozen=True)
class Clamp:
    """Values are cut to public bounds, cell by cell: nobody else's row changes.

    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.VALUE))
    >>> Clamp().stability(near) == near
    True
    """

    def stability(self, near: Distance) -> Distance:
        return near


@dataclass(frozen=True)
class GroupBy:
    """Rows are put into declared groups by their own values: nobody else's row changes its group.

    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.VALUE))
    >>> GroupBy().stability(near) == near
    True
    """

    def stability(self, near: Distance) -> Distance:
        return near


@dataclass(frozen=True)
class OrderBy:
    """Records are put in the order of a column, which decides the window of each of them.

    >>> OrderBy("cost", protected=True).stability(Distance.between(Metric(ProtectRows(), Neighbours.VALUE)))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: column 'cost' is published and orders the records, so that one value moves others \
into other windows; order them by a public column
    """

    column: str
    protected: bool

    def stability(self, near: Distance) -> Distance:
        if self.protected:
            raise ParameterError(
                f"column '{self.column}' is published and orders the records, so that one value moves others into "
                "other windows; order them by a public column"
            )
        return near


class Mechanism(Protocol):
    """Anything that draws noise; its map says what a distance costs."""

    def privacy(self, near: Distance) -> Cost:
        """Return what two inputs at that distance cost, or refuse where there is no bound."""


@dataclass(frozen=True)
class PerRow:
    """A mechanism with a proof for one row: it costs `cost` where one row differs by `neighbours`.

    A changed value is one row that goes and one that comes; the other way round nothing follows, since the number of
    rows was public.

    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.VALUE))
    >>> PerRow(Cost(epsilon=1), Neighbours.PRESENCE).privacy(near).epsilon
    Decimal('2')
    """

    cost: Cost
    neighbours: Neighbours

    def privacy(self, near: Distance) -> Cost:
        asked = near.metric.neighbours
        if asked is Neighbours.PRESENCE and self.neighbours is Neighbours.VALUE:
            raise ParameterError(
                f"the number of {near.metric.of} is public here, so that the presence of one cannot be hidden"
            )
        return group(self.cost, near.counted * (2 if asked is not self.neighbours else 1))


@dataclass(frozen=True)
class WholeUnit:
    """A mechanism whose noise was scaled to the whole unit, with a proof for exactly that metric and those bounds.

    >>> metric = Metric(ProtectPersons("rider", 4), Neighbours.PRESENCE)
    >>> near = CapPersons("rider", 4).stability(Distance.between(metric))
    >>> WholeUnit(Cost(epsilon=1), rows=4, groups=1, neighbours=Neighbours.PRESENCE).privacy(near).epsilon
    Decimal('1')
    """

    cost: Cost
    rows: int
    groups: int
    neighbours: Neighbours

    def privacy(self, near: Distance) -> Cost:
        fits = near.counted <= self.rows * self.groups and (near.rows or 0) <= self.rows
        if not fits or near.metric.neighbours is not self.neighbours:
            raise ParameterError(
                f"the noise was scaled to {self.rows} rows in {self.groups} groups ({self.neighbours}), the chain "
                f"gives {near.rows} in {near.groups} ({near.metric.neighbours})"
            )
        return self.cost


def run_chain(metric: Metric, steps: Iterable[Step], mechanism: Mechanism) -> Cost:
    """Return what the chain costs between two neighbours of a metric; refuse one that has no map somewhere.

    >>> drives = Metric(ProtectPersons("drive"), Neighbours.VALUE, Input.RECORDS)
    >>> steps = [CapPersons("drive", 2, excess=Excess.REPLACED), Clamp(), Windows(Edges.POSITION)]
    >>> run_chain(drives, steps, PerRow(Cost(epsilon="0.5"), Neighbours.VALUE)).epsilon
    Decimal('1')
    """
    near = Distance.between(metric)
    for step in steps:
        near = step.stability(near)
    return mechanism.privacy(near)
