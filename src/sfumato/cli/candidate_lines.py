"""Candidates as lines of an aligned table, each printed as soon as it is there: widths are known from names alone."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from sfumato.cli.terminal import single_line

if TYPE_CHECKING:
    from sfumato.evaluate import Candidate, Comparison

STEWARD = "Do not publish: for the data steward alone, since it is computed from the original rows."
NO_ROWS = "For the data steward: simulated on made-up rows; no row of the table was read."
COUNTS = ("classes", "starred", "added", "withheld")
LONGEST = 18
LONGEST_SCORE = 32
PEOPLE = "journalist, marketer: chance to find a person of the population in the smallest class, and on average"
LEGEND = (
    "loss: detail of quasi-identifiers that is lost, of all cells (0 none, 100 all); ~ simulated on made-up rows",
    "starred, withheld: rows released as * alone, and not released; added: rows that belong to nobody",
    "highest, mean: chance to find a person of the smallest class, and of all, for whoever knows the quasi-identifiers",
    "guess: largest share of one value of the column in a class, which is how sure a guess can be",
    "column: total variation of the column that moved most; pair: largest change of a tie (Cramér's V, correlation)",
)


class CandidateLines:
    """A header, a line for each candidate, and below it what its numbers do not tell.

    >>> lines = CandidateLines(["mondrian-k5"], ["disease"])
    >>> lines.header.split()[:3]
    ['candidate', 'loss', '%']
    """

    def __init__(
        self, names: Sequence[str], sensitive: Sequence[str], scores: Sequence[str] = (), *, people: bool = False
    ) -> None:
        self.sensitive, self.scores, self.people = list(sensitive), list(scores), people
        self._width = max(len("candidate"), *(len(single_line(name)) for name in names))
        guesses = [f"guess {_short(name)} %" for name in self.sensitive]
        among = ["journalist %", "marketer %"] if people else []
        self._titles = ["loss %", *COUNTS, "highest %", "mean %", *among, *guesses, "column %", "pair %"]
        self._titles += [*(_short(name, LONGEST_SCORE) for name in self.scores), "seconds"]

    @classmethod
    def of(cls, comparison: Comparison) -> Self:
        """Return the lines of a comparison that is about to begin."""
        return cls(comparison.names, comparison.sensitive, comparison.scores, people=comparison.counts_people)

    @property
    def header(self) -> str:
        """The titles of the columns."""
        return "  ".join([f"{'candidate':<{self._width}}", *self._titles])

    def line(self, candidate: Candidate) -> str:
        """Return a candidate's numbers, or why there are none.

        >>> from sfumato.evaluate import Candidate
        >>> CandidateLines(["mondrian-k5"], []).line(Candidate("mondrian-k5", "", refusal="the table has 3 rows"))
        'mondrian-k5  not made: the table has 3 rows'
        """
        name = f"{single_line(candidate.name):<{self._width}}"
        if not candidate.made:
            return f"{name}  not made: {single_line(candidate.refusal)}"
        cells = [f"{cell:>{len(title)}}" for cell, title in zip(self._cells(candidate), self._titles, strict=True)]
        remarks = [*([f"levels {levels_words(candidate)}"] if candidate.levels else []), *candidate.notes]
        return "\n    ".join(["  ".join([name, *cells]), *map(single_line, remarks)])

    def _cells(self, candidate: Candidate) -> list[str]:
        rows, distances = candidate.rows, candidate.distances
        counts = [candidate.classes, *((rows.starred, rows.added, rows.withheld) if rows else (None,) * 3)]
        among = [_percent(candidate.journalist_risk), _percent(candidate.marketer_risk)] if self.people else []
        guesses = [_percent(candidate.guesses.get(name)) for name in self.sensitive]
        scores = ["–" if (score := candidate.scores.get(name)) is None else f"{score:.4g}" for name in self.scores]
        moved = [None, None] if distances is None else [distances.worst_column, distances.worst_pair]
        loss = _percent(candidate.loss)
        return [
            f"~{loss}" if candidate.simulated and candidate.loss is not None else loss,
            *("–" if number is None else f"{number}" for number in counts),
            _percent(candidate.highest_risk),
            _percent(candidate.mean_risk),
            *among,
            *guesses,
            *(_percent(None if worst is None else worst[1]) for worst in moved),
            *scores,
            "–" if candidate.seconds is None else f"{candidate.seconds:.2f}",
        ]


def json_line(candidate: Candidate) -> str:
    """Return a candidate as JSON in one line.

    >>> from sfumato.evaluate import Candidate
    >>> json_line(Candidate("a", "sfumato anonymize", refusal="no"))
    '{"name": "a", "do_not_publish": true, "command": "sfumato anonymize", "refused": "no"}'
    """
    return json_text.dumps(candidate.as_json(), ensure_ascii=False)


def levels_words(candidate: Candidate) -> str:
    """Return the chosen levels of a candidate: each column with its level of how many.

    >>> from sfumato.evaluate import Candidate
    >>> levels_words(Candidate("a", "", levels={"age": (1, 1, 4), "zip": (0, 2, 5)}))
    'age 1/4, zip 0-2/5'
    """
    return ", ".join(
        f"{name} {low if low == high else f'{low}-{high}'}/{top}" for name, (low, high, top) in candidate.levels.items()
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f}"


def _short(name: str, longest: int = LONGEST) -> str:
    shown = single_line(name)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
