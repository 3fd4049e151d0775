"""The linkage attack: who of an identified list is tied to how few rows of a release, and so to which values.

Sweeney (2002), "k-Anonymity: A Model for Protecting Privacy", joined hospital records with a list of voters; what the
rows then tell is the matter of `homogeneity`. Evidence names rows of the list and is the steward's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.audit.linkage.homogeneity import Knowledge, left_with
from sfumato.audit.linkage.matching import Candidates, Join, worst
from sfumato.core.parameters import Whole
from sfumato.errors import ParameterError
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Schema
from sfumato.table import Table

SUPPOSED = "a person of the list whom rows fit is in the release"


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
    findings = [_tied(join, join.candidates(next(iter(sensitive), None)), k)]
    for name in sensitive:
        findings.append(left_with(join, name, l))
        if knows:
            findings.append(left_with(join, name, l, knowledge))
    return findings


def _tied(join: Join, found: Candidates, k: int) -> Finding:
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
        "examples": [_example(join, found, point) for point in worst(found.rows, few)],
    }
    if len(few):
        evidence["reason"] = _reason(evidence, k)
    return Finding(
        claim=f"nobody of the list is tied to fewer than {k} rows of the release",
        verdict=REFUTED if len(few) else NOT_REFUTED,
        bound=int(found.rows[fitting].min()) if fitting.any() else None,
        evidence=evidence,
    )


def _example(join: Join, found: Candidates, point: int) -> dict[str, Any]:
    """Return one person for the evidence: the row of the list, what it says, and the rows that fit."""
    return {
        "row of the list": int(join.first[point]) + 1,
        "known": join.known(point),
        "rows": int(found.rows[point]),
        "classes": int(found.classes[point]),
        "boxes": join.boxes_of(point),
    }


def _reason(evidence: dict[str, Any], k: int) -> str:
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
