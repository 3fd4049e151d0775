"""People who are attacked, the released rows nearest to them, and the row that is their own.

A person's own row is the nearest one over all columns; an attack without it is the attack on somebody who is not in the
release. So everybody is their own control, where Giomi et al. (2023) hold rows out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.audit.gate.distinct_rows import DistinctRows
from sfumato.audit.gate.view import Distances, Integers, View
from sfumato.core.progress import tell

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Target:
    """A person who is attacked: how far each kind of released row is, column by column, and which row is the own one.

    `own` is NOBODY for somebody of a control group, and where the person's row was withheld.
    """

    person: int
    distances: Distances  # to each kind of row
    own: int
    rows: DistinctRows

    def nearest(self, distances: Distances) -> tuple[int, int]:
        """Return the row nearest by some columns' summed distances, and the one if the own row were not there."""
        return self.rows.nearest(distances, self.own)


def targets(view: View, count: int, draw: np.random.Generator, *, control: bool = False) -> Iterator[Target]:
    """Yield people drawn at random, of the data or of the control group.

    Where rows were withheld and no row covers a person, that person has no row.

    >>> from sfumato.table import Table
    >>> import polars as pl
    >>> view = View.of(Table(pl.DataFrame({"age": ["[20-29]", "35"]})), Table(pl.DataFrame({"age": [21, 35]})))
    >>> [(target.person, target.own) for target in targets(view, 2, np.random.default_rng(1))]
    [(0, 0), (1, 1)]
    """
    first, size = (view.people, view.control) if control else (0, view.people)
    chosen: Integers = np.sort(draw.choice(size, min(count, size), replace=False)) + first
    complete = view.rows >= view.people
    for number, person in enumerate(chosen.tolist()):
        if number % 50 == 0:
            tell(number / len(chosen), f"{number} of {len(chosen)} people")
        distances = view.distances(person)
        whole = distances.sum(axis=0)
        own, kind = view.distinct.draw_nearest(whole, draw)  # the first one would be the one attackers meet
        nobody = control or (whole[kind] > 0 and not complete)
        yield Target(person, distances, NOBODY if nobody else own, view.distinct)
