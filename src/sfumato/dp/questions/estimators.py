"""From exact integers to noisy answers: for each aggregate, what it asks of the rows and how it makes that public.

Counts and sums get additive noise; means and variances are made of noisy counts and sums around the middle of the
bounds (Dwork & Roth 2014, section 3.3), so nothing but released numbers enters them; quantiles, minimum and maximum
are chosen by the exponential mechanism (McSherry & Talwar 2007; Smith 2011).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.dp.mechanisms.additive import AdditiveNoise
from sfumato.dp.mechanisms.selection import ExponentialMechanism, quantile_scores, quantile_sensitivity
from sfumato.dp.questions.grids import CandidateLine, NumberLine
from sfumato.dp.questions.request import Count, Distinct, Measure, Persons, PositionCounts, Present, Total
from sfumato.dp.share import Norms, Share, noise_cost
from sfumato.dp.stored_answer import CONFIDENCE, OF_CANDIDATES, AnswerColumn, Value
from sfumato.promise.cost import Accountant
from sfumato.random import Noise

Tally = Sequence[Any]
HALF = Fraction(1, 2)
THIRD = Fraction(1, 3)
OF_RANKS = "rows by which the rank may be off, with 95 % confidence"


class Estimator(Protocol):
    """One aggregate: the measures it needs, the noise a share buys it (in `unit`), and the public column it makes."""

    @property
    def measures(self) -> tuple[Measure, ...]: ...
    @property
    def unit(self) -> str: ...
    def error(self, share: Share, confidence: float, rows: int | None) -> float: ...
    def scale(self, share: Share, rows: int | None) -> float | None: ...
    def spent(self, share: Share, norms: Norms) -> Fraction: ...
    def answer(self, tallies: Sequence[Tally], share: Share, noise: Noise) -> AnswerColumn: ...


class OneNumber(ABC):
    """Base for a single number of each group, with additive noise."""

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """What is asked of the rows."""

    @property
    @abstractmethod
    def reach(self) -> tuple[int, int]:
        """By how much one row adds at most, and changes at most."""

    @abstractmethod
    def with_noise(self, tally: Tally, mechanism: AdditiveNoise, noise: Noise) -> AnswerColumn:
        """The public column, with noise of a given mechanism."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What the answer counts in."""

    @property
    def step(self) -> float:
        """What the answer's smallest change is worth."""
        return 1.0

    def norms(self, norms: Norms) -> Norms:
        """How far one unit moves the answers."""
        return norms

    def _mechanism(self, share: Share) -> AdditiveNoise:
        return replace(share, norms=self.norms(share.norms)).additive(*self.reach)

    def error(self, share: Share, confidence: float, rows: int | None) -> float:
        """Half the width of the noise's interval; the number of rows changes nothing about it."""
        del rows
        return float(self._mechanism(share).half_width(confidence) * self.step)

    def scale(self, share: Share, rows: int | None) -> float | None:
        """The scale of the noise in the unit of the answer."""
        del rows
        return self._mechanism(share).noise_scale * self.step

    def answer(self, tallies: Sequence[Tally], share: Share, noise: Noise) -> AnswerColumn:
        """The public column for a share of the price."""
        return self.with_noise(tallies[0], self._mechanism(share), noise)

    def spent(self, share: Share, norms: Norms) -> Fraction:
        """What the noise of a share costs units that move the numbers so far."""
        return noise_cost(self._mechanism(share), self.norms(norms), self.reach)


@dataclass(frozen=True)
class Counting(OneNumber):
    """Rows, rows with a value, persons or different values: an integer with noise.

    A row that comes adds at most one value that nobody else has; a row that changes takes away one at most and adds one
    at most, so that the number of values moves by at most one for each row of a unit, as a number of rows does.
    """

    name: str
    measure: Count | Present | Persons | Distinct

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (self.measure,)

    @property
    def unit(self) -> str:
        return "persons" if isinstance(self.measure, Persons) else "rows"

    @property
    def reach(self) -> tuple[int, int]:
        return 1, 1

    def norms(self, norms: Norms) -> Norms:
        """How far one unit moves the answers; persons count once in a group."""
        return norms.per_person() if isinstance(self.measure, Persons) else norms

    def with_noise(self, tally: Tally, mechanism: AdditiveNoise, noise: Noise) -> AnswerColumn:
        return count_column(self.name, mechanism.release(tally, noise), mechanism)


def count_column(name: str, values: Sequence[int], mechanism: AdditiveNoise) -> AnswerColumn:
    """The public column of noisy counts."""
    half = round(mechanism.half_width(CONFIDENCE))
    return AnswerColumn(
        name=name,
        mechanism=mechanism.words,
        values=list(values),
        low=[value - half for value in values],
        high=[value + half for value in values],
        scale=[mechanism.noise_scale] * len(values),
        counts=True,
    )


@dataclass(frozen=True)
class Summing(OneNumber):
    """The sum of a column on its grid."""

    name: str
    line: NumberLine

    @property
    def step(self) -> float:
        return self.line.step

    @property
    def unit(self) -> str:
        return f"unit of {self.line.grid.column}"

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (Total(self.line.grid, origin=-self.line.first),)

    @property
    def reach(self) -> tuple[int, int]:
        return self.line.most, max(self.line.most, self.line.grid.steps)

    def with_noise(self, tally: Tally, mechanism: AdditiveNoise, noise: Noise) -> AnswerColumn:
        step, half = self.line.step, mechanism.half_width(CONFIDENCE)
        noisy = mechanism.release(tally, noise)
        return AnswerColumn(
            name=self.name,
            mechanism=mechanism.words,
            values=[self.line.show(value * step) for value in noisy],
            low=[self.line.show((value - half) * step) for value in noisy],
            high=[self.line.show((value + half) * step) for value in noisy],
            scale=[mechanism.noise_scale * step] * len(noisy),
        )


@dataclass(frozen=True)
class Averaging:
    """The mean: a noisy sum around the middle of the bounds over a noisy count."""

    name: str
    line: NumberLine

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (Present(self.line.grid), Total(self.line.grid, origin=self.line.middle))

    @property
    def unit(self) -> str:
        return f"unit of {self.line.grid.column}"

    @property
    def _reaches(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (1, 1), (self.line.grid.steps - self.line.middle, self.line.grid.steps)

    def _mechanisms(self, share: Share) -> tuple[AdditiveNoise, AdditiveNoise]:
        counts, sums = self._reaches
        return share.part(HALF).additive(*counts), share.part(HALF).additive(*sums)

    def spent(self, share: Share, norms: Norms) -> Fraction:
        pairs = zip(self._mechanisms(share), self._reaches, strict=True)
        return sum((noise_cost(mechanism, norms, reach) for mechanism, reach in pairs), Fraction(0))

    def error(self, share: Share, confidence: float, rows: int | None) -> float:
        counts, sums = self._mechanisms(share)
        halves = [mechanism.half_width((1 + confidence) / 2) for mechanism in (counts, sums)]
        least = max((rows or 0) - halves[0], 1)
        reach = self.line.grid.steps - self.line.middle
        return float(min((halves[1] + reach * halves[0]) / least, self.line.grid.steps) * self.line.step)

    def scale(self, share: Share, rows: int | None) -> float | None:
        return None if rows is None else self._mechanisms(share)[1].noise_scale / rows * self.line.step

    def answer(self, tallies: Sequence[Tally], share: Share, noise: Noise) -> AnswerColumn:
        counts, sums = self._mechanisms(share)
        noisy = list(zip(counts.release(tallies[0], noise), sums.release(tallies[1], noise), strict=True))
        halves = [mechanism.half_width((1 + CONFIDENCE) / 2) for mechanism in (counts, sums)]
        spans = [ratio_span((total, halves[1]), (count, halves[0])) for count, total in noisy]
        return AnswerColumn(
            name=self.name,
            mechanism=f"{sums.words} (sum and count)",
            values=[self._show_offset(total / max(count, 1)) for count, total in noisy],
            low=[self._show_offset(low) for low, _ in spans],
            high=[self._show_offset(high) for _, high in spans],
            scale=[sums.noise_scale / max(count, 1) * self.line.step for count, _ in noisy],
        )

    def _show_offset(self, offset: float) -> Value:
        position = min(max(self.line.middle + offset, 0), self.line.grid.steps)
        return (self.line.first + position) * self.line.step


def ratio_span(above: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest quotient of two numbers known to within their half widths; the divisor is at least 1.

    >>> ratio_span((10, 2), (4, 0))
    (2.0, 3.0)
    """
    divisors = [max(below[0] - below[1], 1.0), max(below[0] + below[1], 1.0)]
    quotients = [(above[0] + sign * above[1]) / divisor for sign in (-1, 1) for divisor in divisors]
    return min(quotients), max(quotients)


@dataclass(frozen=True)
class Spreading:
    """The variance: mean of squares around the middle, less the square of the mean around the middle."""

    name: str
    line: NumberLine

    @property
    def measures(self) -> tuple[Measure, ...]:
        grid, middle = self.line.grid, self.line.middle
        return (Present(grid), Total(grid, origin=middle), Total(grid, origin=middle, power=2))

    @property
    def unit(self) -> str:
        return f"square unit of {self.line.grid.column}"

    @property
    def _reach(self) -> int:
        return self.line.grid.steps - self.line.middle

    @property
    def _reaches(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        reach = self._reach
        return (1, 1), (reach, self.line.grid.steps), (reach**2, reach**2)

    def _mechanisms(self, share: Share) -> tuple[AdditiveNoise, AdditiveNoise, AdditiveNoise]:
        third, (counts, sums, squares) = share.part(THIRD), self._reaches
        return third.additive(*counts), third.additive(*sums), third.additive(*squares)

    def spent(self, share: Share, norms: Norms) -> Fraction:
        pairs = zip(self._mechanisms(share), self._reaches, strict=True)
        return sum((noise_cost(mechanism, norms, reach) for mechanism, reach in pairs), Fraction(0))

    def error(self, share: Share, confidence: float, rows: int | None) -> float:
        halves = [mechanism.half_width((2 + confidence) / 3) for mechanism in self._mechanisms(share)]
        least, reach = max((rows or 0) - halves[0], 1), self._reach
        mean = min((halves[1] + reach * halves[0]) / least, 2 * reach)
        square = min((halves[2] + reach**2 * halves[0]) / least, reach**2)
        return float(min(square + 2 * reach * mean, reach**2) * self.line.step**2)

    def scale(self, share: Share, rows: int | None) -> float | None:
        return None if rows is None else self._mechanisms(share)[2].noise_scale / rows * self.line.step**2

    def answer(self, tallies: Sequence[Tally], share: Share, noise: Noise) -> AnswerColumn:
        mechanisms = self._mechanisms(share)
        noisy = [mechanism.release(tally, noise) for mechanism, tally in zip(mechanisms, tallies, strict=True)]
        halves = [mechanism.half_width((2 + CONFIDENCE) / 3) for mechanism in mechanisms]
        rows = [self._variance(numbers, halves) for numbers in zip(*noisy, strict=True)]
        return AnswerColumn(
            name=self.name,
            mechanism=f"{mechanisms[0].words} (squares, sum and count)",
            values=[value for value, _, _ in rows],
            low=[low for _, low, _ in rows],
            high=[high for _, _, high in rows],
            scale=[mechanisms[2].noise_scale / max(count, 1) * self.line.step**2 for count in noisy[0]],
        )

    def _variance(self, numbers: tuple[int, ...], halves: Sequence[float]) -> tuple[float, float, float]:
        count, total, squares = numbers
        unit, most = self.line.step**2, float(self._reach**2)
        mean_low, mean_high = ratio_span((total, halves[1]), (count, halves[0]))
        square_low, square_high = ratio_span((squares, halves[2]), (count, halves[0]))
        nearest = 0.0 if mean_low <= 0 <= mean_high else min(mean_low**2, mean_high**2)
        farthest = max(mean_low**2, mean_high**2)
        divisor = max(count, 1)
        raw = squares / divisor - (total / divisor) ** 2, square_low - farthest, square_high - nearest
        value, low, high = (min(max(number, 0.0), most) * unit for number in raw)
        return value, low, high


@dataclass(frozen=True)
class Choosing:
    """A quantile (minimum and maximum are the quantiles at 0 and 1), chosen on a public ladder of values."""

    name: str
    line: NumberLine | CandidateLine
    level: Fraction

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (PositionCounts(self.line.grid),)

    @property
    def unit(self) -> str:
        """What the scale of the choice counts in; `rehearsal` translates errors to the unit of the answer."""
        return "rows of rank"

    def _mechanism(self, share: Share) -> ExponentialMechanism:
        return share.selection(quantile_sensitivity(self.level, share.norms.rows, share.norms.neighbours))

    def error(self, share: Share, confidence: float, rows: int | None) -> float:
        """By how many rows the rank of the answer is off at most, beyond that of the best value on the ladder.

        At the ends the wanted rank lies the margin inside, which comes on top.
        """
        del rows
        mechanism, candidates = self._mechanism(share), len(self.line.places)
        margin = self._margin(mechanism) if self.level in {0, 1} else 0
        return float(mechanism.score_error(candidates, confidence) / self.level.denominator + margin)

    def scale(self, share: Share, rows: int | None) -> float | None:
        """How many rows of rank make a choice e times less likely."""
        del rows
        return float(self._mechanism(share).scale / self.level.denominator)

    def law(self, counts: Sequence[int] | npt.NDArray[np.int64], share: Share) -> npt.NDArray[np.float64]:
        """The probability with which each position is chosen where so many rows lie at each."""
        mechanism = self._mechanism(share)
        return mechanism.probabilities(quantile_scores(counts, self.level, self._margin(mechanism)))

    def _margin(self, mechanism: ExponentialMechanism) -> int:
        """How many rows inside the ends are aimed at: as many as make all positions outside unlikely."""
        return max(1, int(mechanism.score_error(len(self.line.places), CONFIDENCE)))

    def spent(self, share: Share, norms: Norms) -> Fraction:
        """What the choices cost: each group a unit touches has its own, at the sensitivity of the unit's rows."""
        mechanism = self._mechanism(share)
        moved = quantile_sensitivity(self.level, norms.rows, norms.neighbours)
        epsilon = mechanism.epsilon * moved / mechanism.sensitivity
        each = epsilon if share.accountant is Accountant.PURE else epsilon**2 / 8
        return each * norms.touched_groups

    def least_rows(self, share: Share) -> int:
        """How many rows a group needs for the answer to be more than the median.

        The ends lie the margin inside; with so many rows on either side of it, that is before the middle. Another
        quantile needs twice the rows by which its rank may be off.
        """
        if self.level in {0, 1}:
            return 2 * self._margin(self._mechanism(share)) + 1
        return 2 * math.ceil(self.error(share, CONFIDENCE, None)) + 1

    def answer(self, tallies: Sequence[Tally], share: Share, noise: Noise) -> AnswerColumn:
        mechanism = self._mechanism(share)
        margin = self._margin(mechanism)
        places = self.line.places
        scores = (quantile_scores(counts, self.level, margin)[places.start :: places.step] for counts in tallies[0])
        chosen = [places[mechanism.choose(one, noise)] for one in scores]
        ranks = self.error(share, CONFIDENCE, None)
        return AnswerColumn(
            name=self.name,
            mechanism=mechanism.words,
            values=[self.line.show(self.line.grid.value(position)) for position in chosen],
            low=[None] * len(chosen),
            high=[None] * len(chosen),
            scale=[float(ranks)] * len(chosen),
            unit_of_scale=OF_CANDIDATES if isinstance(self.line, CandidateLine) else OF_RANKS,
            rank_error=float(ranks),
            least_rows=self.least_rows(share),
        )
