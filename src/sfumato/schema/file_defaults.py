"""What a file says about all of its columns, folded into every column that says nothing itself.

A declaration for the whole file and one for a column are then read alike by every door (W3C 2015, "Metadata vocabulary
for tabular data", section 5.1.2, has the same inherited properties).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.schema.attribute import Attribute
from sfumato.schema.kinds import Kind
from sfumato.schema.reading import Reading

UNSAID = ("",)  # the missing marks of a column that names none
NUMBERS = (Kind.INTEGER, Kind.NUMBER)
OF_NUMBERS = {"decimal": "decimal", "thousands": "thousands"}
OF_TIMES = {"date_format": "format", "zone": "zone"}


def with_file_defaults(attribute: Attribute, reading: Reading) -> Attribute:
    """Return the column with the marks of its file, where it has none of its own and its type can have them.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.NUMBER, decimal=".")
    >>> with_file_defaults(cost, Reading(decimal=",", missing=("NA",))).decimal
    '.'
    >>> with_file_defaults(cost, Reading(decimal=",", missing=("NA",))).missing
    ('NA', '')
    """
    taken: dict[str, Any] = {
        ours: getattr(reading, theirs)
        for theirs, ours in _possible(attribute.kind).items()
        if getattr(attribute, ours) is None and getattr(reading, theirs) is not None
    }
    if reading.missing is not None and attribute.missing == UNSAID:
        taken["missing"] = (*reading.missing, *(mark for mark in UNSAID if mark not in reading.missing))
    return replace(attribute, **taken) if taken else attribute


def without_file_defaults(attribute: Attribute, reading: Reading) -> Attribute:
    """Return the column as it was before `with_file_defaults`; what it says itself, and the file too, is left out.

    >>> from sfumato.schema import Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.NUMBER)
    >>> without_file_defaults(with_file_defaults(cost, Reading(decimal=",")), Reading(decimal=",")) == cost
    True
    """
    alone = replace(attribute, decimal=None, thousands=None, format=None, zone=None, missing=UNSAID)
    folded = with_file_defaults(alone, reading)
    keys = (*_possible(attribute.kind).values(), "missing")
    same: dict[str, Any] = {key: getattr(alone, key) for key in keys if getattr(attribute, key) == getattr(folded, key)}
    return replace(attribute, **same) if same else attribute


def of_kind(attribute: Attribute, kind: Kind) -> Attribute:
    """Return a column whose type was found, without the marks that such a type cannot have.

    >>> from sfumato.schema import Role
    >>> of_kind(Attribute("sex", Role.QUASI, decimal=","), Kind.CATEGORY).decimal is None
    True
    """
    every: dict[str, Any] = dict.fromkeys((*OF_NUMBERS.values(), *OF_TIMES.values()))
    gone = {key: none for key, none in every.items() if key not in _possible(kind).values()}
    return replace(attribute, kind=kind, **gone)


def _possible(kind: Kind | None) -> dict[str, str]:
    """Return what a file can say about a column of a type: its key there, and the column's own key."""
    if kind is None:
        return OF_NUMBERS | OF_TIMES
    if not kind.numeric:
        return {}
    return OF_NUMBERS if kind in NUMBERS else OF_TIMES
