"""Singling out: a sentence learnt from the release that is true of exactly one person of the data.

Sentences are about one column (a value that is released once, the highest, the lowest) or about up to three, taken from
a released row; success is to isolate one original row (Article 29 Working Party, WP216, 2014; Cohen & Nissim 2020,
"Towards Formalizing the GDPR's Notion of Singling Out"; predicates as by Giomi et al. 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.audit.gate.risk import Tally
from sfumato.audit.gate.view import MISSING, Booleans, Codes, Column, Integers, Numbers, View
from sfumato.core.progress import tell

MOST_COLUMNS = 3
TRIES = 8


@dataclass(frozen=True, eq=False)
class Term:
    """One part of a sentence about a column: a released text itself, at least its low end or at most its high end."""

    column: Column
    text: int
    side: int  # -1 at most, 0 the text, 1 at least

    def holds(self, texts: Codes) -> Booleans:
        """Return for which of some released texts the term is true."""
        if self.side == 0 or not isinstance(self.column, Numbers):
            return np.asarray(texts == self.text)
        ends = self.column.ends[:, 0 if self.side > 0 else 1]
        beyond = ends >= ends[self.text] if self.side > 0 else ends <= ends[self.text]
        return np.asarray(beyond[texts])

    @property
    def people(self) -> Booleans:
        """Which people the term is true of."""
        values = self.column.facts.values
        if self.side == 0 or not isinstance(self.column, Numbers):
            return covered(self.column, self.text)
        line, ends = self.column.line, self.column.ends[self.text]
        beyond = line >= ends[0] if self.side > 0 else line <= ends[1]
        return np.asarray((values != MISSING) & beyond[values])


def covered(column: Column, text: int) -> Booleans:
    """Return which people's values a released text may stand for."""
    facts, size = column.facts, int(column.facts.values.max(initial=0)) + 1
    if isinstance(column, Numbers):
        places = np.arange(size) * 2
        inside = (column.low[text] <= places) & (places <= column.high[text]) & ~facts.nothing[text]
    else:
        inside = np.zeros(size, dtype=np.bool_)
        for low, high in column.fits.runs(text):
            inside[low : high + 1] = not facts.nothing[text]
    return np.asarray(np.where(facts.values == MISSING, facts.lenient[text], inside[facts.values]))


class Speaker:
    """Makes sentences from released rows, and counts how many were true of one row and of two.

    Their ratio is what Good (1953, "The Population Frequencies of Species") gives as the number of people of another
    sample, of the same size, of whom a sentence that was true of one row is true.
    """

    def __init__(self, view: View, draw: np.random.Generator) -> None:
        self.view, self.draw = view, draw
        self.times = {1: 0, 2: 0}

    @property
    def by_chance(self) -> float:
        """The chance that a sentence true of one row is true of exactly one person of another sample, by Poisson."""
        expected = self.times[2] / max(1, self.times[1])
        return expected * math.exp(-expected)

    def _isolates(self, times: int) -> bool:
        if times in self.times:
            self.times[times] += 1
        return times == 1

    @cached_property
    def _middles(self) -> list[float]:
        """The median of each column of numbers, beyond which sentences look."""
        found = []
        for column in self.view.columns:
            middle = column.guesses[column.facts.rows] if isinstance(column, Numbers) else np.array([np.nan])
            found.append(float(np.nanmedian(middle)) if np.isfinite(middle).any() else np.nan)
        return found

    @cached_property
    def _beyond(self) -> list[dict[int, Integers]]:
        """How many released rows lie at or beyond each text, on either side."""
        found = []
        for column in self.view.columns:
            sides = {}
            for side in (-1, 1) if isinstance(column, Numbers) else ():
                ends = side * column.ends[:, 0 if side > 0 else 1]  # type: ignore[union-attr]  # a column of numbers
                line = np.sort(ends[column.facts.rows][np.isfinite(ends[column.facts.rows])])
                sides[side] = len(line) - np.searchsorted(line, ends, "left")
            found.append(sides)
        return found

    def sentence(self, row: int) -> list[Term] | None:
        """Return a sentence that is true of one released row alone, if a few tries find one."""
        for place, column in enumerate(self.view.columns):
            text = int(column.facts.rows[row])
            if column.facts.exact[text] and self._isolates(int(column.facts.counts[text])):
                return [Term(column, text, 0)]
            term = self._term(place, row)
            if term.side and self._isolates(int(self._beyond[place][term.side][text])):
                return [term]
        most = min(MOST_COLUMNS, len(self.view.columns))
        for _ in range(TRIES if most > 1 else 0):
            size = int(self.draw.integers(2, most + 1))
            chosen = self.draw.choice(len(self.view.columns), size, replace=False)
            terms = {int(place): self._term(int(place), row) for place in chosen}
            true = np.logical_and.reduce([term.holds(self.view.kinds[place]) for place, term in terms.items()])
            if self._isolates(int(self.view.distinct.times[true].sum())):
                return list(terms.values())
        return None

    def _term(self, place: int, row: int) -> Term:
        """Return what a sentence says of a row's cell: a word itself, a number by the half-line that it begins."""
        column = self.view.columns[place]
        text = int(column.facts.rows[row])
        if not isinstance(column, Numbers) or not np.isfinite(column.guesses[text]):
            return Term(column, text, 0)
        return Term(column, text, 1 if column.guesses[text] > self._middles[place] else -1)


def singling_out(view: View, attacks: int, seed: int) -> Tally:
    """Return how often a sentence from a released row is true of exactly one person.

    A sentence isolates somebody in a control group by chance. Without such a group that chance is told by how many
    sentences are true of two rows, and by the other people of the data, of whom one alone may fit.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"cost": [x / 7 for x in range(50)]}))
    >>> singling_out(View.of(people, people), 50, 1).rate
    1.0
    """
    draw = np.random.default_rng(seed)
    speaker = Speaker(view, draw)
    rows = draw.choice(view.rows, min(attacks, view.rows), replace=False).tolist()
    hits, outside = 0, 0
    for number, row in enumerate(rows):
        if number % 50 == 0:
            tell(number / len(rows), f"{number} of {len(rows)} rows")
        terms = speaker.sentence(row)
        if terms is None:
            continue
        whom = np.logical_and.reduce([term.people for term in terms])
        inside, among = _counts(view, whom, draw)
        hits += inside == 1
        outside += among == 1
    chance = 0 if view.control else round(hits * speaker.by_chance)
    return Tally(len(rows), hits, len(rows), max(outside, chance))


def _counts(view: View, whom: Booleans, draw: np.random.Generator) -> tuple[int, int]:
    """Return of how many people a sentence is true: of the data, and of a control group of as many people.

    Where the control group is smaller, the data are thinned to its size around the one who is meant.
    """
    inside = int(whom[: view.people].sum())
    if not view.control:
        return inside, inside - 1
    others = max(0, inside - 1)
    if view.control < view.people:
        others = int(draw.hypergeometric(others, view.people - 1 - others, view.control - 1))
    return min(inside, 1 + others), int(whom[view.people :].sum())
