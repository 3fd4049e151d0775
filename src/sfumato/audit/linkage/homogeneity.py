"""What the rows that fit a person tell: one value that all of them share, or one left once others are ruled out.

The homogeneity and the background-knowledge attack of Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007),
"l-Diversity: Privacy Beyond k-Anonymity", on the people of an identified list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.audit.linkage.matching import Candidates, Join, worst
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

ANY = "any"
NOT = "not "


@dataclass(frozen=True)
class Knowledge:
    """What an attacker knows besides: values that nobody has, or that one value, any one, can be ruled out.

    >>> Knowledge.of(["not flu", "not gout"]).without
    ('flu', 'gout')
    >>> Knowledge.of(["flu"])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: background knowledge is "not VALUE" or "any"; found 'flu'
    """

    without: tuple[str, ...] = ()
    any_one: bool = False

    @classmethod
    def of(cls, said: Sequence[str]) -> Knowledge:
        """Return what a few sentences say."""
        for sentence in said:
            named = sentence.startswith(NOT) and sentence.removeprefix(NOT).strip()
            if sentence != ANY and not named:
                raise ParameterError(f'background knowledge is "not VALUE" or "any"; found {sentence!r}')
        without = tuple(sentence.removeprefix(NOT).strip() for sentence in said if sentence.startswith(NOT))
        return cls(without, ANY in said)

    @property
    def words(self) -> str:
        """The knowledge as the end of a sentence."""
        parts = [f"that it is not {value}" for value in self.without]
        parts += ["one value that it is not, whichever helps most"] if self.any_one else []
        return f" by whoever knows {' and '.join(parts)}" if parts else ""


NOTHING = Knowledge()


def left_with(join: Join, sensitive: str, l: int, knowledge: Knowledge = NOTHING) -> Finding:
    """Return whether anybody of a list is left with fewer than `l` values of a sensitive column.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> release = Table(pl.DataFrame({"zip": ["47*", "47*"], "ill": ["flu", "gout"]}))
    >>> join = Join(release, Table(pl.DataFrame({"zip": ["471"]})), ["zip"])
    >>> left_with(join, "ill", 2).verdict, left_with(join, "ill", 2, Knowledge.of(["not flu"])).evidence["reason"]
    ('NOT_REFUTED', 'of 1 persons 1 is left with fewer than 2 values; row 1 of the list (zip 471) has gout')
    """
    values, _ = join.values(sensitive)
    for value in knowledge.without:
        if value not in values:
            raise InputError(f"column '{sensitive}' of the release has no value '{value}'{suggestion(value, values)}")
    found = join.candidates(sensitive, knowledge.without)
    fitting = found.rows > 0
    left = np.maximum(found.values - knowledge.any_one, np.minimum(found.values, 1))
    few = np.flatnonzero(fitting & (left < l))
    examples = [_example(join, found, point, sensitive, knowledge) for point in worst(left, few)]
    evidence: dict[str, Any] = {
        "attack": "background knowledge" if knowledge != NOTHING else "homogeneity",
        "column": sensitive,
        "on": list(join.on),
        "persons": int(join.weights.sum()),
        "fitting": int(join.weights[fitting].sum()),
        "exposed": int(join.weights[few].sum()),
        "most likely value": _certainty(found, fitting, any_one=knowledge.any_one),
        "examples": examples,
    }
    if len(few):
        evidence["reason"] = _reason(evidence, l)
    return Finding(
        claim=f"nobody of the list is left with fewer than {l} values of '{sensitive}'{knowledge.words}",
        verdict=REFUTED if len(few) else NOT_REFUTED,
        bound=int(left[fitting].min()) if fitting.any() else None,
        evidence=evidence,
    )


def _certainty(found: Candidates, fitting: np.ndarray[tuple[int], np.dtype[np.bool_]], *, any_one: bool) -> float:
    """Return the largest share of one value among the rows that fit somebody.

    Of all single values that could be ruled out, the second most frequent raises the share of another one most: with
    counts a ≥ b of n, a/(n - b) ≥ b/(n - a).
    """
    if not fitting.any():
        return 0.0
    rows = found.rows - (found.second if any_one else 0)
    return round(float((found.first[fitting] / rows[fitting]).max()), 6)


def _example(join: Join, found: Candidates, point: int, sensitive: str, knowledge: Knowledge) -> dict[str, Any]:
    """Return one person for the evidence, with how often each value occurs among the rows that fit."""
    values, codes = join.values(sensitive)
    classes = join.classes_of(point)
    times = np.bincount(codes[np.isin(join.rows, classes)], minlength=len(values))
    shown = {value: int(times[place]) for place, value in enumerate(values) if times[place]}
    left = {value: count for value, count in shown.items() if value not in knowledge.without}
    if knowledge.any_one and len(left) > 1:
        top = values[found.top[point]]
        left.pop(max((value for value in left if value != top), key=lambda value: left[value]))
    return {
        "row of the list": int(join.first[point]) + 1,
        "known": join.known(point),
        "values": shown,
        "left": sorted(left),
        "classes": len(classes),
        "boxes": join.boxes_of(point),
    }


def _reason(evidence: dict[str, Any], l: int) -> str:
    example = evidence["examples"][0]
    who = ", ".join(f"{name} {value}" for name, value in example["known"].items())
    exposed = f"{evidence['exposed']} {'is' if evidence['exposed'] == 1 else 'are'}"
    return (
        f"of {evidence['persons']} persons {exposed} left with fewer than {l} values; "
        f"row {example['row of the list']} of the list ({who}) has {' or '.join(example['left'])}"
    )
