"""Candidates as lines of an aligned table, each printed as soon as it is there: widths are known from names alone."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.cli.terminal import single_line

if TYPE_CHECKING:
    from sfumato.evaluate import Candidate

STEWARD = "Do not publish: for the data steward alone, since it is computed from the original rows."
NO_ROWS = "For the data steward: simulated on made-up rows; no row of the table was read."
COUNTS = ("classes", "starred", "added", "withheld")
LONGEST = 18
LEGEND = (
    "loss: detail of quasi-identifiers that is lost, of all cells (0 none, 100 all); ~ simulated on made-up rows",
    "starred, withheld: rows released as * alone, and not released; added: rows that belong to nobody",
    "highest, mean: chance to find a person of the smallest class, and of all, for whoever knows the quasi-identifiers",
    "guess: largest share of one value of the column in a class, which is how sure a guess can be",
)


class CandidateLines:
    """A header, a line for each candidate, and below it what its numbers do not tell.

    >>> lines = CandidateLines(["mondrian-k5"], ["disease"])
    >>> lines.header.split()[:3]
    ['candidate', 'loss', '%']
    """

    def __init__(self, names: Sequence[str], sensitive: Sequence[str], scores: Sequence[str] = ()) -> None:
        self.sensitive, self.scores = list(sensitive), list(scores)
        self._width = max(len("candidate"), *(len(single_line(name)) for name in names))
        guesses = [f"guess {_short(name)} %" for name in self.sensitive]
        self._titles = ["loss %", *COUNTS, "highest %", "mean %", *guesses, *map(_short, self.scores), "seconds"]

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
        rows = candidate.rows
        counts = [candidate.classes, *((rows.starred, rows.added, rows.withheld) if rows else (None,) * 3)]
        guesses = [_percent(candidate.guesses.get(name)) for name in self.sensitive]
        scores = ["–" if (score := candidate.scores.get(name)) is None else f"{score:.4g}" for name in self.scores]
        loss = _percent(candidate.loss)
        return [
            f"~{loss}" if candidate.simulated and candidate.loss is not None else loss,
            *("–" if number is None else f"{number}" for number in counts),
            _percent(candidate.highest_risk),
            _percent(candidate.mean_risk),
            *guesses,
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


def _short(name: str) -> str:
    shown = single_line(name)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
