"""Linkability: two files about the same people, joined through the release.

The attacker knows one half of a person's columns from one file and the other half from another file. Both halves are
looked up in the release; when both lead to the same row, the two records are linked (Article 29 Working Party, WP216,
2014; measured as by Giomi et al. 2023).
"""

from __future__ import annotations

import numpy as np

from sfumato.audit.gate.nearest import Target, targets
from sfumato.audit.gate.risk import Tally
from sfumato.audit.gate.view import View

LEAST_COLUMNS = 2


def linkability(view: View, attacks: int, seed: int) -> Tally:
    """Return how often two halves of a person's columns lead to one row.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"a": list(range(40)), "b": list(range(40))}))
    >>> linkability(View.of(people, people), 40, 1).rate
    1.0
    """
    if len(view.columns) < LEAST_COLUMNS:
        return Tally(0, 0, 0, 0)
    draw = np.random.default_rng(seed)
    inside = [_linked(target, draw) for target in targets(view, attacks, draw)]
    outside = [absent for _, absent in inside]
    if view.control:
        outside = [
            linked for linked, _ in (_linked(target, draw) for target in targets(view, attacks, draw, control=True))
        ]
    naive = sum(bool(first == second) for first, second in draw.integers(view.rows, size=(len(inside), 2)))
    return Tally(len(inside), sum(linked for linked, _ in inside), len(outside), sum(outside), naive)


def _linked(target: Target, draw: np.random.Generator) -> tuple[bool, bool]:
    """Return whether two random halves of the columns lead to one row, and whether without the person's own."""
    order = draw.permutation(len(target.distances))
    half = len(order) // 2
    left, right = (target.nearest(target.distances[part].sum(axis=0)) for part in (order[:half], order[half:]))
    return left[0] == right[0], left[1] == right[1]
