"""The linkage attack: who of an identified list is tied to how few rows of a release, and so to which values.

Sweeney (2002), "k-Anonymity: A Model for Protecting Privacy", joined hospital records with a list of voters. What the
rows then tell are the homogeneity and the background-knowledge attack of Machanavajjhala, Kifer, Gehrke &
Venkitasubramaniam (2007), "l-Diversity: Privacy Beyond k-Anonymity". Evidence names rows of the list and is the
steward's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.audit.linkage.matching import Candidates, Join, worst
from sfumato.core.parameters import Whole
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Schema
from sfumato.table import Table

SUPPOSED = "a person of the list whom rows fit is in the release"
ANY = "any"
NOT = "not "


def linkage(  # noqa: PLR0913  # two tables, and what an attacker knows and is not to learn
    release: Table,
    voters: Table,
    on: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    k: int = 2,
    l: int = 2,
    knows: Sequence[str] = (),
    schema: Schema | None = None,
) -> list[Finding]:
    """Return whether anybody of an identified list is tied to fewer than `k` rows or left with fewer than `l` values.

    Cells of the release may be generalised; the list holds exact values. `knows` adds the attacker's background
    knowledge: `"not flu"` rules a value out for everybody, `"any"` rules out for each person the one value that
    helps the attacker most. The schema tells hierarchies, orders and missing marks.

    >>> import polars as pl
    >>> release = Table(pl.DataFrame({"age": ["21", "[22-24]", "[22-24]"], "ill": ["flu", "gout", "gout"]}))
    >>> voters = Table(pl.DataFrame({"name": ["João", "Maria"], "age": [21, 24]}))
    >>> rows, values = linkage(release, voters, ["age"], ["ill"])
    >>> rows.verdict, rows.bound, rows.evidence["examples"][0]["known"], values.evidence["exposed"]
    ('REFUTED', 1, {'age': '21'}, 2)
    """
    for name, value in (("k", k), ("l", l)):
        if not Whole(2).accepts(value):
            raise ParameterError(f"The '{name}' parameter of linkage must be {Whole(2).wanted}. Got {value!r} instead.")
    knowledge = Knowledge.of(knows)
    join = Join(release, voters, on, schema)
    findings = [_tied_finding(join, join.candidates(next(iter(sensitive), None)), k)]
    for name in sensitive:
        findings.append(left_values_finding(join, name, l))
        if knows:
            findings.append(left_values_finding(join, name, l, knowledge))
    return findings


def _tied_finding(join: Join, found: Candidates, k: int) -> Finding:
    """Return whether somebody is tied to fewer than k rows."""
    fitting = found.rows > 0
    few = np.flatnonzero(fitting & (found.rows < k))
    alone = few[found.rows[few] == 1]
    evidence: dict[str, Any] = {
        "attack": "linkage",
        "on": list(join.on),
        "supposed": SUPPOSED,
        "persons": int(join.weights.sum()),
        "fitting": int(join.weights[fitting].sum()),
        "tied to fewer rows": int(join.weights[few].sum()),
        "tied to one row": int(join.weights[alone].sum()),
        "nobody else fits the row": int((found.persons[found.only[alone]] == 1).sum()),
        "examples": [_tied_example(join, found, point) for point in worst(found.rows, few)],
    }
    if len(few):
        evidence["reason"] = _tied_reason(evidence, k)
    return Finding(
        claim=f"nobody of the list is tied to fewer than {k} rows of the release",
        verdict=REFUTED if len(few) else NOT_REFUTED,
        bound=int(found.rows[fitting].min()) if fitting.any() else None,
        evidence=evidence,
    )


def _tied_example(join: Join, found: Candidates, point: int) -> dict[str, Any]:
    """Return one person for the evidence: the row of the list, what it says, and the rows that fit."""
    return {
        "row of the list": int(join.first[point]) + 1,
        "known": join.facts_at(point),
        "rows": int(found.rows[point]),
        "classes": int(found.classes[point]),
        "boxes": join.boxes_of(point),
    }


def _tied_reason(evidence: dict[str, Any], k: int) -> str:
    example = evidence["examples"][0]
    who = ", ".join(f"{name} {value}" for name, value in example["known"].items())
    box = ", ".join(f"{name} {text}" for name, text in example["boxes"][0].items())
    rows = f"{example['rows']} row{'s' * (example['rows'] != 1)}"
    few, alone = evidence["tied to fewer rows"], evidence["tied to one row"]
    tied = "to a single row" if few == alone else f"to fewer than {k} rows, {alone} of them to a single one"
    return (
        f"of {evidence['persons']} persons {few} {'is' if few == 1 else 'are'} tied {tied}; "
        f"row {example['row of the list']} of the list ({who}) fits {rows} only ({box})"
    )


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


def left_values_finding(join: Join, sensitive: str, l: int, knowledge: Knowledge = NOTHING) -> Finding:
    """Return whether anybody of a list is left with fewer than `l` values of a sensitive column.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> release = Table(pl.DataFrame({"zip": ["47*", "47*"], "ill": ["flu", "gout"]}))
    >>> join = Join(release, Table(pl.DataFrame({"zip": ["471"]})), ["zip"])
    >>> left_values_finding(join, "ill", 2).verdict
    'NOT_REFUTED'
    >>> left_values_finding(join, "ill", 2, Knowledge.of(["not flu"])).evidence["reason"]
    'of 1 persons 1 is left with fewer than 2 values; row 1 of the list (zip 471) has gout'
    """
    values, _ = join.values(sensitive)
    for value in knowledge.without:
        if value not in values:
            raise InputError(f"column '{sensitive}' of the release has no value '{value}'{suggestion(value, values)}")
    found = join.candidates(sensitive, knowledge.without)
    fitting = found.rows > 0
    left = np.maximum(found.values - knowledge.any_one, np.minimum(found.values, 1))
    few = np.flatnonzero(fitting & (left < l))
    examples = [_exposed_example(join, found, point, sensitive, knowledge) for point in worst(left, few)]
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
        evidence["reason"] = _exposed_reason(evidence, l)
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


def _exposed_example(join: Join, found: Candidates, point: int, sensitive: str, knowledge: Knowledge) -> dict[str, Any]:
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
        "known": join.facts_at(point),
        "values": shown,
        "left": sorted(left),
        "classes": len(classes),
        "boxes": join.boxes_of(point),
    }


def _exposed_reason(evidence: dict[str, Any], l: int) -> str:
    example = evidence["examples"][0]
    who = ", ".join(f"{name} {value}" for name, value in example["known"].items())
    exposed = f"{evidence['exposed']} {'is' if evidence['exposed'] == 1 else 'are'}"
    return (
        f"of {evidence['persons']} persons {exposed} left with fewer than {l} values; "
        f"row {example['row of the list']} of the list ({who}) has {' or '.join(example['left'])}"
    )
