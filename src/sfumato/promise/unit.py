"""The unit a differentially private answer protects, and which inputs count as its neighbours.

A unit is a row, or a person with at most some rows in each of at most some groups; neighbours differ by the presence of
one unit or by the values of one (Dwork & Roth 2014, section 2.3; Kifer & Machanavajjhala 2011 name both).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from sfumato.core.parameters import Name, Rule, Validated, Whole
from sfumato.errors import ParameterError


class Neighbours(StrEnum):
    """What one unit may do between two neighbouring inputs: be there or not, or change its values.

    >>> Neighbours("presence") is Neighbours.PRESENCE
    True
    """

    PRESENCE = "presence"
    VALUE = "value"


@dataclass(frozen=True)
class ProtectRows(Validated):
    """Any `rows` rows are protected: right where every person has at most that many.

    >>> ProtectRows().words, ProtectRows(2).bounds(grouped=True)
    ('row', (2, 1))
    """

    rows: int = 1

    RULES: ClassVar[dict[str, Rule]] = {"rows": Whole(1)}

    @property
    def words(self) -> str:
        """The unit in words, for cards and answers."""
        return "row" if self.rows == 1 else f"{self.rows} rows"

    def bounds(self, *, grouped: bool) -> tuple[int, int]:
        """Return how many rows one unit has in a group at most, and in how many groups it is at most.

        Several rows may lie in several groups or all in one; counting them as `rows` in one group bounds both norms.
        """
        del grouped
        return self.rows, 1


@dataclass(frozen=True)
class ProtectPersons(Validated):
    """A person, named by a column: at most `rows` rows count in each of at most `groups` groups, the rest are left out.

    >>> unit = ProtectPersons("rider", rows=4, groups=3)
    >>> unit.bounds(grouped=True), unit.bounds(grouped=False)
    ((4, 3), (4, 1))
    """

    person: str
    rows: int = 1
    groups: int = 1

    RULES: ClassVar[dict[str, Rule]] = {"person": Name(), "rows": Whole(1), "groups": Whole(1)}

    @property
    def words(self) -> str:
        """The unit in words, for cards and answers."""
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        groups = "1 group" if self.groups == 1 else f"{self.groups} groups"
        return f"person ({self.person}): at most {rows} in each of at most {groups}"

    def bounds(self, *, grouped: bool) -> tuple[int, int]:
        """Return how many rows one person has in a group at most, and in how many groups that person is at most."""
        return self.rows, (self.groups if grouped else 1)


Unit = ProtectRows | ProtectPersons


def read_neighbours(text: Neighbours | str) -> Neighbours:
    """Return what a text names.

    >>> read_neighbours("values")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: neighbours is 'values'; give 'presence' or 'value'
    """
    try:
        return Neighbours(text)
    except ValueError:
        raise ParameterError(f"neighbours is '{text}'; give 'presence' or 'value'") from None


def read_unit(text: str) -> Unit:
    """Return the unit that `rows`, `rows:NUMBER` or `person:ID:ROWS:GROUPS` names.

    >>> read_unit("person:rider:4:2"), read_unit("rows:2")
    (ProtectPersons(person='rider', rows=4, groups=2), ProtectRows(rows=2))
    >>> read_unit("people")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the unit to protect is 'people'; give 'rows' or 'person:ID:ROWS:GROUPS'
    """
    if text == "rows":
        return ProtectRows()
    parts = text.rsplit(":", 2) if text.startswith("person:") else text.split(":")
    if len(parts) == 3 and parts[0].startswith("person:"):
        parts = ["person", parts[0].removeprefix("person:"), *parts[1:]]
    if len(parts) == 2 and parts[0] == "rows" and parts[1].isdecimal():
        return ProtectRows(int(parts[1]))
    if len(parts) == 4 and parts[0] == "person" and parts[2].isdecimal() and parts[3].isdecimal():
        return ProtectPersons(parts[1], int(parts[2]), int(parts[3]))
    raise ParameterError(f"the unit to protect is '{text}'; give 'rows' or 'person:ID:ROWS:GROUPS'")


def write_unit(unit: Unit) -> str:
    """Return the text that `read_unit` reads back.

    >>> write_unit(ProtectPersons("rider", 4, 2)), write_unit(ProtectRows(2))
    ('person:rider:4:2', 'rows:2')
    """
    if isinstance(unit, ProtectRows):
        return "rows" if unit.rows == 1 else f"rows:{unit.rows}"
    return f"person:{unit.person}:{unit.rows}:{unit.groups}"
