"""The aggregates that a question asks for: one number in each group, with its canonical text and its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sfumato.dp.questions.candidates import Candidate
from sfumato.dp.questions.clips import Clip, clip_words
from sfumato.errors import ParameterError

SHORT_NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,2})?|\d{1,9}/\d{1,9}")
SHOWN = 60  # characters of a number in an error


class AggregateFunction(StrEnum):
    """The aggregates that can be asked for.

    >>> AggregateFunction("mean") is AggregateFunction.MEAN
    True
    """

    COUNT = "count"
    DISTINCT = "count distinct"
    PRESENT = "count of"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    MIN = "min"
    MAX = "max"
    LOWER = "lower bound"
    UPPER = "upper bound"
    QUANTILE = "quantile"


CLIPPED = {
    AggregateFunction.SUM,
    AggregateFunction.MEAN,
    AggregateFunction.VARIANCE,
    AggregateFunction.MIN,
    AggregateFunction.MAX,
    AggregateFunction.QUANTILE,
}


@dataclass(frozen=True)
class Aggregate:
    """One number asked for in each group; `level` is the quantile's, between 0 and 1.

    `candidates` are the values that it may have, where whoever asks has given them.

    >>> Aggregate(AggregateFunction.MEAN, "fare").label
    'mean_fare'
    """

    kind: AggregateFunction
    column: str | None = None
    level: Fraction | None = None
    alias: str | None = None
    candidates: tuple[Candidate, ...] | None = None
    clip: Clip | None = None  # bounds that the question gives, in place of declared ones
    resolution: float | None = None  # of the ladder of a private bound: its first rung from zero

    @property
    def chosen(self) -> bool:
        """Whether it is chosen among public values."""
        return self.kind in {AggregateFunction.MIN, AggregateFunction.MAX, AggregateFunction.QUANTILE}

    @property
    def label(self) -> str:
        """The name of the answer's column."""
        if self.alias:
            return self.alias
        parts = [str(self.kind).replace(" ", "_"), *([self.column] if self.column else [])]
        if self.kind is AggregateFunction.QUANTILE and self.level is not None:
            parts.insert(1, f"{float(self.level):g}")
        return "_".join(parts)

    @property
    def text(self) -> str:
        """The canonical text, without the alias, which changes nothing about the question."""
        level = f", {self.level}" if self.level is not None else ""
        among = f" among {len(self.candidates)} candidates" if self.candidates else ""
        clip = f", clipped to {clip_words(self.clip)}" if self.clip is not None else ""
        rungs = f", rungs from {self.resolution:g}" if self.resolution is not None else ""
        return f"{self.kind}({self.column or '*'}{level}{among}{clip}{rungs})"


def read_level(level: float | str | Fraction) -> Fraction:
    """Return the level of a quantile, exactly.

    >>> read_level("0.9")
    Fraction(9, 10)
    """
    exact = level if isinstance(level, Fraction | int) else _level(str(level))
    if exact is None or not 0 <= exact <= 1 or exact.denominator > 1_000_000:
        raise ParameterError(
            f"the level of the quantile is {_shortened(level)}; give a number between 0 and 1, to six decimals"
        )
    return Fraction(exact)


def _level(text: str) -> Fraction | None:
    """The number that a short text writes, or None; one with a large exponent is never built."""
    try:
        return Fraction(text) if SHORT_NUMBER.fullmatch(text) else None
    except (ValueError, ZeroDivisionError):
        return None


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
