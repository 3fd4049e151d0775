"""A lower and an upper bound for a column that has none, chosen privately on a public ladder of rungs.

Rungs are zero and powers of two of either sign, or years. The bound is the rung of the row that has a hundredth of the
rows outside it, chosen by the exponential mechanism on ranks (McSherry & Talwar 2007; Smith 2011) instead of the noisy
histogram of Wilson et al. (2020, section 5.1.1), so that no threshold has to be set.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.dp.mechanisms.selection import Selection
from sfumato.dp.questions.clock import time_words
from sfumato.dp.questions.grids import DAY, EPOCH, attribute_of
from sfumato.dp.questions.request import CandidateGrid, Cell, Measure, PositionCounts
from sfumato.dp.share import Norms, Share
from sfumato.dp.stored_answer import CONFIDENCE, AnswerColumn
from sfumato.errors import ParameterError, SchemaError
from sfumato.promise.cost import Accountant
from sfumato.random import Noise
from sfumato.schema import Kind, Schema

OUTSIDE = 100  # one row in so many may lie outside a bound
HIGHEST = 50  # the power of two of the last rung, beyond 10^15
LOWEST = -20  # that of the first one from zero, where the column holds decimals
FARTHEST = 2.0**HIGHEST
YEARS = (1, *range(100, 1900, 100), *range(1900, 2101), *range(2200, 10_000, 100))


@dataclass(frozen=True)
class RungLine:
    """The ladder of a column.

    >>> from sfumato.schema import Attribute, Role
    >>> ages = Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER)})
    >>> line = rungs_of(ages, "age", None)
    >>> len(line.grid.values), line.grid.values[51:55], line.show(4.0)
    (103, (0.0, 1.0, 2.0, 4.0), 4)
    """

    grid: CandidateGrid
    kind: Kind

    def show(self, value: float) -> Cell:
        """A rung as it is published."""
        if self.kind is Kind.TIMESTAMP:
            return time_words(value)
        if self.kind is Kind.DATE:
            return (EPOCH + dt.timedelta(days=round(value))).isoformat()
        return int(value) if float(value).is_integer() else value


def rungs_of(schema: Schema, name: str, resolution: float | None) -> RungLine:
    """Return the ladder of a column by its type alone; `resolution` is the first rung from zero, doubled up.

    >>> rungs_of(Schema.from_roles(quasi=["age"]), "age", None)
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'age' has no type; declare it as integer, number, date or timestamp
    """
    kind = attribute_of(schema, name).kind
    if kind is None or not kind.numeric:
        raise SchemaError(f"column '{name}' has no type; declare it as integer, number, date or timestamp")
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        if resolution is not None:
            raise ParameterError(f"column '{name}' holds {kind}s, whose bounds are years; leave the resolution out")
        return RungLine(CandidateGrid(name, tuple(_first_of(year, kind) for year in YEARS)), kind)
    first = 2.0 ** (0 if kind is Kind.INTEGER else LOWEST) if resolution is None else float(resolution)
    if not 2.0**LOWEST <= first <= FARTHEST:
        raise ParameterError(
            f"the resolution of '{name}' is {resolution}; give a number from 2^{LOWEST} to 2^{HIGHEST}"
        )
    doubled = itertools.accumulate(itertools.repeat(2.0), lambda rung, two: rung * two, initial=first)
    above = [*itertools.takewhile(lambda rung: rung < FARTHEST, doubled), FARTHEST]
    return RungLine(CandidateGrid(name, (*(-rung for rung in reversed(above)), 0.0, *above)), kind)


def _first_of(year: int, kind: Kind) -> float:
    days = float((dt.date(year, 1, 1) - EPOCH).days)
    return days * DAY if kind is Kind.TIMESTAMP else days


def rows_on_rungs(counts: Sequence[int] | npt.NDArray[np.int64], *, upper: bool) -> npt.NDArray[np.int64]:
    """Return how many rows stand on each rung: the next one above a value for an upper bound, below it for a lower.

    Values beyond the last rung stand on it. `counts` are of gaps and rungs in turn.

    >>> rows_on_rungs([1, 2, 3, 4, 5], upper=True), rows_on_rungs([1, 2, 3, 4, 5], upper=False)
    (array([ 3, 12]), array([6, 9]))
    """
    held = np.asarray(counts, dtype=np.int64)
    rungs, gaps = held[1::2].copy(), held[0::2]
    rungs += gaps[:-1] if upper else gaps[1:]
    rungs[-1 if upper else 0] += gaps[-1 if upper else 0]
    return rungs


def bound_scores(rungs: Sequence[int] | npt.NDArray[np.int64], margin: int, *, upper: bool) -> list[int]:
    """Return each rung's score: minus the distance of the wanted rank to the ranks of its rows.

    With n rows the wanted rank is `margin` or a hundredth of n inside the end, whichever is more, at most the middle.
    It grows by at most one where a row comes, so that a row moves every score by at most one.

    >>> bound_scores([0, 2, 0, 3], 1, upper=False), bound_scores([0, 2, 0, 3], 1, upper=True)
    ([-1, 0, -1, -1], [-4, -2, -2, 0])
    """
    held = np.asarray(rungs, dtype=np.int64)
    held = held[::-1] if upper else held
    rows = int(held.sum())
    rank = min(max(margin, rows // OUTSIDE), (rows + 1) // 2)
    reached = np.cumsum(held)
    scores = np.minimum(0, np.minimum(reached - rank, rank - (reached - held)))
    found: list[int] = (scores[::-1] if upper else scores).tolist()
    return found


@dataclass(frozen=True)
class BoundChoice:
    """A lower or an upper bound of each group, chosen on the ladder."""

    name: str
    line: RungLine
    upper: bool

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is asked of the rows: how many stand on each rung and between two."""
        return (PositionCounts(self.line.grid),)

    @property
    def unit(self) -> str:
        """What the scale of the choice counts in."""
        return "rows of rank"

    def scale(self, share: Share, rows: int | None) -> float | None:
        """How many rows of rank make a choice e times less likely."""
        del rows
        return float(self._mechanism(share).scale)

    def _mechanism(self, share: Share) -> Selection:
        return share.selection(share.norms.rows)

    def margin(self, share: Share) -> int:
        """How many rows inside the end are aimed at at least: as many as make all rungs outside unlikely."""
        return max(1, self._mechanism(share).score_error(len(self.line.grid.values), CONFIDENCE))

    def error(self, share: Share, confidence: float, rows: int | None) -> float:
        """By how many rows the rank of the bound is off at most, the margin on top."""
        del rows
        return float(self._mechanism(share).score_error(len(self.line.grid.values), confidence) + self.margin(share))

    def spent(self, share: Share, norms: Norms) -> Fraction:
        """What the choices cost: each group a unit touches has its own, and a row moves a score by one."""
        mechanism = self._mechanism(share)
        epsilon = mechanism.epsilon * norms.rows / mechanism.sensitivity
        each = epsilon if share.accountant is Accountant.PURE else epsilon**2 / 8
        return each * norms.touched_groups

    def least_rows(self, share: Share) -> int:
        """How many rows a group needs for the bound to be more than the median."""
        return 2 * self.margin(share) + 1

    def words(self, share: Share) -> str:
        """What share of the values the bound aims to leave outside."""
        side = "above" if self.upper else "below"
        return (
            f"{self.name} aims to leave {100 // OUTSIDE} % of the values {side} it, or {self.margin(share)} rows where "
            "that is more"
        )

    def answer(self, tallies: Sequence[Sequence[Any]], share: Share, noise: Noise) -> AnswerColumn:
        """The public column for a share of the price."""
        mechanism, margin, values = self._mechanism(share), self.margin(share), self.line.grid.values
        on_rungs = [rows_on_rungs(counts, upper=self.upper) for counts in tallies[0]]
        chosen = [mechanism.choose(bound_scores(rungs, margin, upper=self.upper), noise) for rungs in on_rungs]
        ranks = self.error(share, CONFIDENCE, None)
        return AnswerColumn(
            name=self.name,
            mechanism=mechanism.words,
            values=[self.line.show(values[place]) for place in chosen],
            low=[None] * len(chosen),
            high=[None] * len(chosen),
            scale=[ranks] * len(chosen),
            unit_of_scale="rows by which the rank may be off, with 95 % confidence",
            rank_error=ranks,
            least_rows=self.least_rows(share),
        )
