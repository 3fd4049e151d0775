"""One candidate release as a steward weighs it: loss, rows, risks, surest guesses; and which candidates are worth it.

Loss against risk is the map of Duncan, Keller-McNulty & Stokes 2001 ("Disclosure risk vs. data utility: the R-U
confidentiality map"). All numbers come from the original rows and are the steward's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.display import as_html, one_line
from sfumato.errors import ParameterError
from sfumato.evaluate.candidates.distances import Distances
from sfumato.random import Source
from sfumato.release import Release
from sfumato.release.row_counts import RowCounts

DIGITS = 6


@dataclass(frozen=True, eq=False)
class Candidate:
    """What was measured of one candidate, or why there is none (`refusal`); never to be published.

    `loss` is the GCP of `sfumato.evaluate.utility`, `highest_risk` and `mean_risk` a prosecutor's, `guesses` the
    largest share of one value in a class for each sensitive column. `levels` has for each column the lowest and highest
    level that was chosen and the top one. `distances` say how far columns, and ties between them, moved. `simulated` is
    the number of made-up rows that a private candidate was tried on. `journalist_risk` (the highest) and
    `marketer_risk` (the average) are those in a population, where a model speaks of one.

    >>> candidate = Candidate("mondrian-k5", "sfumato anonymize --algorithm mondrian --k 5", loss=0.1, highest_risk=0.2)
    >>> candidate
    <Candidate: name mondrian-k5; loss 0.1; highest risk 0.2>
    """

    name: str
    command: str
    loss: float | None = None
    classes: int | None = None
    rows: RowCounts | None = None
    highest_risk: float | None = None
    mean_risk: float | None = None
    journalist_risk: float | None = None
    marketer_risk: float | None = None
    guesses: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    distances: Distances | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    refusal: str = ""
    simulated: int = 0
    notes: Sequence[str] = ()
    publish: Callable[[Source | None], Release] | None = field(default=None, repr=False)

    def _facts(self) -> dict[str, object]:
        if self.refusal:
            return {"name": self.name, "refused": self.refusal}
        facts = {"loss": self.loss, "highest risk": self.highest_risk, "made-up rows": self.simulated or None}
        return {"name": self.name, **{name: _short(value) for name, value in facts.items() if value is not None}}

    def __repr__(self) -> str:
        return one_line("Candidate", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Candidate (do not publish)", self._facts())

    @property
    def made(self) -> bool:
        """Whether the release could be made, or simulated."""
        return not self.refusal

    @property
    def population_risks(self) -> dict[str, float]:
        """The risks in a population, where one was counted."""
        found = {"journalist_risk": self.journalist_risk, "marketer_risk": self.marketer_risk}
        return {name: value for name, value in found.items() if value is not None}

    def release(self, *, rng: Source | None = None) -> Release:
        """Return this very release, its classes as they were measured; `rng=None` shuffles it by the secure source.

        >>> Candidate("safepub-k5", "…", simulated=10_000).release()
        Traceback (most recent call last):
        sfumato.errors.ParameterError: candidate 'safepub-k5' was only simulated on made-up rows; make it with its \
anonymizer and a ledger that pays
        """
        if self.publish is not None:
            return self.publish(rng)
        if self.simulated:
            raise ParameterError(
                f"candidate '{self.name}' was only simulated on made-up rows; make it with its anonymizer and a ledger "
                "that pays"
            )
        raise ParameterError(f"candidate '{self.name}' could not be made: {self.refusal}")

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data, for the steward alone.

        >>> Candidate("mondrian-k5", "…", refusal="the table has 3 rows").as_json()["refused"]
        'the table has 3 rows'
        """
        head = {"name": self.name, "do_not_publish": True, "command": self.command}
        if self.refusal:
            return {**head, "refused": self.refusal}
        rows = self.rows
        counts = rows and {
            "read": rows.read,
            "withheld": rows.withheld,
            "added": rows.added,
            "starred": rows.starred,
            "released": rows.released,
        }
        return {
            **head,
            "simulated_on_made_up_rows": self.simulated,
            "loss": _rounded(self.loss),
            "rows": counts,
            "classes": self.classes,
            "highest_risk": _rounded(self.highest_risk),
            "mean_risk": _rounded(self.mean_risk),
            **{name: _rounded(value) for name, value in self.population_risks.items()},
            "surest_guess": {name: _rounded(value) for name, value in self.guesses.items()},
            "levels": {name: list(levels) for name, levels in self.levels.items()},
            "distances": None if self.distances is None else self.distances.as_json(),
            "scores": {name: _rounded(value) for name, value in self.scores.items()},
            "seconds": _rounded(self.seconds),
            "notes": list(self.notes),
        }


def _short(value: float) -> str:
    return f"{value:.4g}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def front(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that no other one beats, with less of loss or risk and no more of the other.

    Those without a risk on this scale, which were simulated, are left out.

    >>> some = [Candidate(name, "", loss=loss, highest_risk=risk)
    ...         for name, loss, risk in (("a", 0.1, 0.5), ("b", 0.2, 0.2), ("c", 0.3, 0.2))]
    >>> [one.name for one in front(some)]
    ['a', 'b']
    """
    placed = {candidate.name: spot for candidate in candidates if (spot := place(candidate)) is not None}
    return [
        candidate
        for candidate in candidates
        if candidate.name in placed and not any(_beats(other, placed[candidate.name]) for other in placed.values())
    ]


def place(candidate: Candidate) -> tuple[float, float] | None:
    """Return where a candidate lies on the map of risk and loss; None if it has no place there.

    >>> place(Candidate("a", "", loss=0.1, highest_risk=0.5))
    (0.5, 0.1)
    """
    if candidate.highest_risk is None or candidate.loss is None:
        return None
    return candidate.highest_risk, candidate.loss


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]
