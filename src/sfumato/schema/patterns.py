"""What the values of a column look like: addresses, numbers with check digits, postcodes, dates of birth, free text.

A pattern counts where nine in ten distinct values have it. The kinds are those that HIPAA's Safe Harbor (45 CFR
164.514) and profilers of personal data look for (for example Presidio's recognisers).
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.schema.check_digits import CHECKED
from sfumato.schema.kinds import Kind

SAMPLE = 1000
FEW = 5
MOST = 0.9
YOUNGEST, OLDEST, GENERATION = 5, 110, 15
YEAR = 365.25
EPOCH = dt.date(1970, 1, 1)
SEXES = frozenset(
    re.split(
        r"\s+",
        """f m w d x h female male woman man weiblich mannlich männlich divers frau mann femme homme feminin féminin
        masculin mujer hombre femenino masculino feminino mulher homem femmina maschio donna uomo femminile maschile""",
    )
)


class Shape(StrEnum):
    """What a pattern says about a column.

    >>> Shape("direct").value
    'direct'
    """

    DIRECT = "direct"  # leads to a person without any other column
    TEXT = "text"
    POSTCODE = "postcode"
    BIRTH = "birth"
    SEX = "sex"
    DIAGNOSIS = "diagnosis"
    POSITION = "position"


@dataclass(frozen=True)
class Pattern:
    """A pattern found, and what the values are called."""

    shape: Shape
    words: str


def pattern_of(values: pl.Series, kind: Kind) -> Pattern | None:
    """Return the pattern of values that are there; None where they have no known one.

    >>> pattern_of(pl.Series([f"user{number}@example.org" for number in range(20)]), Kind.CATEGORY).words
    'e-mail addresses'
    """
    if kind is Kind.DATE or values.dtype.is_temporal():
        return None
    texts = values.cast(pl.String).unique(maintain_order=True).head(SAMPLE).str.strip_chars().to_list()
    if {text.casefold() for text in texts} <= SEXES and len(texts) in {2, 3} and kind is Kind.CATEGORY:
        return Pattern(Shape.SEX, "words for sexes")
    if len(texts) < FEW:
        return None
    for shape, words, test in TESTS:
        if _share(texts, test) >= MOST:
            return Pattern(shape, words)
    return Pattern(Shape.TEXT, "free text") if _is_prose(texts) else None


def births(days: npt.NDArray[np.int64], today: dt.date) -> Pattern | None:
    """Return the pattern of dates of birth: days since 1970 that lie 5 to 110 years ago, over more than 15 years.

    >>> births(np.arange(-10_000, 5_000, 100), dt.date(2026, 1, 1)).words
    'dates 5 to 110 years ago'
    """
    if len(days) == 0:
        return None
    ago = ((today - EPOCH).days - days) / YEAR
    inside = ((ago >= YOUNGEST) & (ago <= OLDEST)).mean() >= 0.95
    spread = float(np.quantile(ago, 0.95) - np.quantile(ago, 0.05))
    return Pattern(Shape.BIRTH, "dates 5 to 110 years ago") if inside and spread > GENERATION else None


def is_sequence(numbers: npt.NDArray[np.int64]) -> bool:
    """Return whether distinct integers fill a range, as numbers do that were given out one after the other.

    >>> is_sequence(np.array([105, 101, 102, 104, 103])), is_sequence(np.array([1, 50, 900]))
    (True, False)
    """
    distinct = len(np.unique(numbers))
    return distinct == len(numbers) > 1 and int(numbers.max()) - int(numbers.min()) < 1.1 * distinct


def is_amount(numbers: npt.NDArray[np.float64]) -> bool:
    """Return whether numbers look measured or paid: with decimals, below zero, or heaped at zero or round numbers.

    >>> is_amount(np.array([12.5, 3.75])), is_amount(np.array([10200.0, 500])), is_amount(np.array([8121, 9377.0]))
    (True, True, False)
    """
    if len(numbers) == 0:
        return False
    decimals = (numbers != np.round(numbers)).mean() > 0.1
    round_ones = (numbers % 100 == 0).mean() > 0.05
    return bool(decimals or round_ones or (numbers < 0).mean() > 0.01 or (numbers == 0).mean() > 0.02)


def _share(texts: list[str], test: Callable[[str], bool]) -> float:
    return sum(map(test, texts)) / len(texts)


def _is_prose(texts: list[str]) -> bool:
    """Whether values are long and of many words."""
    words = [len(text.split()) for text in texts]
    return float(np.median(words)) >= 6 and float(np.median([len(text) for text in texts])) >= 30


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_phone(text: str) -> bool:
    digits = sum(letter.isdigit() for letter in text)
    if not 8 <= digits <= 15 or not re.fullmatch(r"\+?[\d\s()./-]+", text):
        return False
    marked = text.startswith(("+", "00", "(")) or (text.startswith("0") and re.search(r"[\s()/-]", text))
    return bool(marked) or re.fullmatch(r"\d{3}[-. ]\d{3}[-. ]\d{4}", text) is not None


POSTCODES = {
    "GB": r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}",
    "CA": r"[A-Z]\d[A-Z] ?\d[A-Z]\d",
    "NL": r"\d{4} ?[A-Z]{2}",
    "BR": r"\d{5}-\d{3}",
    "PT": r"\d{4}-\d{3}",
    "PL": r"\d{2}-\d{3}",
    "US": r"\d{5}-\d{4}",
}
TESTS: tuple[tuple[Shape, str, Callable[[str], bool]], ...] = (
    (Shape.DIRECT, "e-mail addresses", _matches(r"[^@\s]+@[^@\s]+\.[a-z]{2,}")),
    (Shape.DIRECT, "UUIDs", _matches(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?")),
    (Shape.DIRECT, "URLs", _matches(r"(https?|ftp)://\S+|www\.\S+\.\S+")),
    (Shape.DIRECT, "IP addresses", _is_address),
    *((Shape.DIRECT, words, test) for words, test in CHECKED.items()),
    (Shape.POSITION, "coordinates", _matches(r"-?\d{1,3}\.\d{3,} ?[,;] ?-?\d{1,3}\.\d{3,}")),
    (Shape.POSTCODE, "postcodes", _matches("|".join(POSTCODES.values()))),
    (Shape.DIRECT, "telephone numbers", _is_phone),
    (Shape.DIAGNOSIS, "codes of diagnoses (ICD-10)", _matches(r"[A-TV-Z]\d[\dAB]\.[\dA-Z]{1,4}")),
)
