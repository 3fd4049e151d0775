"""The part a column plays in a release.

The four roles are those of the disclosure-control literature (Samarati & Sweeney 1998; Hundepool et
al. 2012): direct identifiers, quasi-identifiers, sensitive (confidential) attributes, and the rest.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What may happen to a column: dropped, generalised, protected, or passed on.

    >>> Role("quasi")
    <Role.QUASI: 'quasi'>
    """

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    OTHER = "other"
