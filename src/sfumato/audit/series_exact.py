"""What an exact attack on a series found, said: how many persons are below l, certain, below k, and why.

What is excluded comes with certificates (Farkas 1902) that `sfumato.series.certificate_checker` verifies; what is not
excluded is not refuted, never safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.series.attackers import KNOWS, Known, possible_for
from sfumato.series.cells import Cells
from sfumato.series.possible import PossibleValues
from sfumato.series.published import PublishedClasses

SHOWN = 20  # exposed cells that are written out with their certificates


def exact_findings(
    known: Known, releases: Sequence[PublishedClasses], name: str, l: int, k: int | None = None
) -> list[Finding]:
    """Return whether a series leaves every known person `l` values of a column, and `k` records if asked."""
    found = possible_for(known, releases, name, l, k)
    return [_values_finding(known, found, name, l), *([] if k is None else [_records_finding(known, found, name, k)])]


def _values_finding(known: Known, found: PossibleValues, name: str, l: int) -> Finding:
    left = found.left[found.cells.members]
    there = _present(found)
    below, certain = int((left[there] < l).sum()), int((left[there] < 2).sum())
    persons = int(there.sum())
    evidence: dict[str, Any] = {
        **_common(known, found, persons),
        "persons_below_l": below,
        "persons_certain": certain,
    }
    if below:
        evidence["reason"] = (
            f"{below:,} of {persons:,} persons are left with fewer than {l} values, {certain:,} of them with one"
            f"{_condition(found)}"
        )
        evidence["exposed"] = [_exposed(known, found, cell) for cell in _worst(found, found.left < l)]
    elif unsure := int((found.settled[found.cells.members][there] < l).sum()):
        evidence["reason"] = (
            f"for {unsure:,} of {persons:,} persons it was not settled whether {l} values are left, since the counts "
            "are too entangled"
        )
    claim = f"the releases together leave every person at least {l} values of '{name}'"
    bound = int(left[there].min()) if persons else None
    return Finding(claim=claim, verdict=REFUTED if below else NOT_REFUTED, bound=bound, evidence=evidence)


def _records_finding(known: Known, found: PossibleValues, name: str, k: int) -> Finding:
    there = _present(found)
    candidates = found.candidates[found.cells.members][there]
    below, persons = int((candidates < k).sum()), int(there.sum())
    evidence: dict[str, Any] = {**_common(known, found, persons), "persons_below_k": below}
    if below:
        least = int(candidates.min())
        evidence["reason"] = (
            f"{below:,} of {persons:,} persons can be fewer than {k} records of a release, the fewest are {least}"
            f"{_condition(found)}"
        )
        evidence["exposed"] = [_exposed(known, found, cell) for cell in _worst(found, found.candidates < k)]
    claim = f"the releases together leave every person at least {k} records by '{name}'"
    bound = int(candidates.min()) if persons else None
    return Finding(claim=claim, verdict=REFUTED if below else NOT_REFUTED, bound=bound, evidence=evidence)


def _present(found: PossibleValues) -> Any:
    """Return which persons are surely in some release; where nobody surely is, which may be."""
    somewhere = np.zeros(found.cells.count, dtype=np.bool_)
    any_certain = any(release.certain for release in found.cells.releases)
    for release, places in zip(found.cells.releases, found.cells.places, strict=True):
        if release.certain or not any_certain:
            somewhere |= np.array([bool(place) for place in places], dtype=np.bool_)
    return somewhere[found.cells.members]


def _common(known: Known, found: PossibleValues, persons: int) -> dict[str, Any]:
    cells = found.cells
    unsure = [number + 1 for number, release in enumerate(cells.releases) if not release.certain]
    return {
        "attacker": KNOWS[known.attacker],
        "releases": len(cells.releases),
        "persons": persons,
        "cells": cells.count,
        "values_changed": found.changes,
        "complete": not (found.undecided or found.unclear.any()),
        **({"undecided": found.undecided} if found.undecided else {}),
        **({"presence_not_certain_in": unsure} if unsure else {}),
        **({"rows_of_nobody": _rows_of_nobody(known, cells)} if not all(one.whole for one in cells.releases) else {}),
        **({"persons_with_several_rows": known.unlinked} if known.unlinked else {}),
    }


def _rows_of_nobody(known: Known, cells: Cells) -> list[int] | bool:
    """Return how many rows of each release belong to nobody, or that some do where nobody told how many."""
    fits = zip(cells.releases, known.nobody, known.there, strict=True)
    return True if any(one.counts.sum() - none > there for one, none, there in fits) else list(known.nobody)


def _condition(found: PossibleValues) -> str:
    """Return on which condition a conclusion stands, where counts show that values have changed."""
    changes = found.changes
    if not changes:
        return ""
    return f", if no more than {changes} value{'s' * (changes > 1)} changed, the fewest that the counts show"


def _worst(found: PossibleValues, below: Any) -> list[int]:
    """Return exposed cells with people in them, those with the fewest values first."""
    cells = np.flatnonzero(below & np.isin(np.arange(found.cells.count), found.cells.members[_present(found)]))
    worst: list[int] = cells[np.lexsort((found.candidates[cells], found.left[cells]))][:SHOWN].tolist()
    return worst


def _exposed(known: Known, found: PossibleValues, cell: int) -> dict[str, Any]:
    """Return one exposed cell: its people, where they are, what is left to them, and why the rest is excluded."""
    people = [known.names[one] for one in np.flatnonzero(found.cells.members == cell).tolist()]
    values = [word for word, possible in zip(found.words, found.possible[cell].tolist(), strict=True) if possible]
    return {
        "cell": str(cell),
        "persons": people,
        "classes": [list(places[cell]) for places in found.cells.places],
        "values": values,
        "records": int(found.candidates[cell]),
        "certificates": list(found.certificates(cell)),
    }
