"""The part a column plays in a release, and a guess at it from the column's name and values.

The four roles are those of the disclosure-control literature (Samarati & Sweeney 1998; Hundepool et
al. 2012): direct identifiers, quasi-identifiers, sensitive (confidential) attributes, and the rest.
"""

from __future__ import annotations

import re
from enum import StrEnum

import polars as pl


class Role(StrEnum):
    """What may happen to a column: dropped, generalised, protected, or passed on.

    >>> Role("quasi")
    <Role.QUASI: 'quasi'>
    """

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    OTHER = "other"


IDENTIFIER_WORDS = re.compile(
    r"(^|_)(id|name|surname|firstname|lastname|ssn|passport|email|mail|phone|mobile|iban|account|address|url|ip"
    r"|serial|patient|nif|cpf|steuernummer)(_|$|number|no)"
)
SENSITIVE_WORDS = re.compile(
    r"disease|diagnos|illness|condition|icd|medication|drug|salary|income|wage|inctot|wealth|debt|religion"
    r"|politic|party|orientation|crime|offen[cs]e|score|grade|balance"
)
QUASI_WORDS = re.compile(
    r"age|birth|dob|sex|gender|zip|postal|postcode|city|town|region|state|country|race|ethnic|nationality|marital"
    r"|marstat|education|educ|occupation|profession|job|workclass|employer|admission|discharge"
)


def guess_role(name: str, series: pl.Series) -> Role:
    """Return a first guess for a person to correct; nearly unique texts count as identifiers.

    >>> guess_role("patient_id", pl.Series([1, 2])), guess_role("zip", pl.Series(["1"]))
    (<Role.IDENTIFIER: 'identifier'>, <Role.QUASI: 'quasi'>)
    """
    folded = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())
    if IDENTIFIER_WORDS.search(folded):
        return Role.IDENTIFIER
    if SENSITIVE_WORDS.search(folded):
        return Role.SENSITIVE
    if QUASI_WORDS.search(folded):
        return Role.QUASI
    nearly_unique = series.dtype == pl.String and series.n_unique() > 0.9 * len(series) > 18
    numbers = series.cast(pl.Float64, strict=False) if nearly_unique else None
    if numbers is not None and numbers.null_count() > len(series) / 2:
        return Role.IDENTIFIER
    return Role.OTHER
