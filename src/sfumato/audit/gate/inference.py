"""Inference: a secret value read from the row that fits all else that is known about a person.

The attacker knows a person's other columns and reads the secret from the nearest released row. Columns declared
sensitive are not known, unless their values are so rare that they mark a row (Article 29 Working Party, WP216, 2014;
measured as by Giomi et al. 2023).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.audit.gate.nearest import Target, targets
from sfumato.audit.gate.risk import THRESHOLD, Tally, wilson
from sfumato.audit.gate.view import Column, View
from sfumato.schema import Role

Outcomes = npt.NDArray[np.bool_]


def marks_rows(column: Column) -> bool:
    """Return whether a column's exact values mark rows: more than the threshold's share of them occur once.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"cost": [x / 7 for x in range(99)], "ill": ["flu", "gout", "flu"] * 33}))
    >>> [marks_rows(column) for column in View.of(people, people).columns]
    [True, False]
    """
    once = int((column.facts.exact & (column.facts.counts == 1)).sum())
    return wilson(once, len(column.facts.rows))[0] > THRESHOLD


class Reader:
    """Who reads secrets: which columns are known, and which are wanted.

    >>> import polars as pl
    >>> from sfumato.schema import Schema
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"age": [20, 30], "ill": ["flu", "flu"]}))
    >>> reader = Reader(View.of(people, people, Schema.from_roles(quasi=["age"], sensitive=["ill"])))
    >>> reader.known, reader.wanted
    ([0], [1])
    """

    def __init__(self, view: View) -> None:
        roles = [column.facts.role for column in view.columns]
        self.columns = view.columns
        self.known = [
            place for place, role in enumerate(roles) if role is not Role.SENSITIVE or marks_rows(view.columns[place])
        ]
        self.wanted = [
            place for place, role in enumerate(roles) if role is not Role.QUASI and set(self.known) - {place}
        ]

    def read(self, target: Target) -> list[tuple[bool, bool]]:
        """Return for each wanted column whether its value is read rightly, and whether without the person's own row."""
        whole = target.distances[self.known].sum(axis=0)
        found = []
        for place in self.wanted:
            distances = whole - target.distances[place] if place in self.known else whole
            present, absent = target.nearest(distances)
            right = self.is_right(place, target.person, present)
            found.append((right, right if absent == present else self.is_right(place, target.person, absent)))
        return found

    def is_right(self, place: int, person: int, row: int) -> bool:
        """Whether a released row tells the truth about a person in one column."""
        column = self.columns[place]
        return column.is_guessed(int(column.facts.rows[row]), int(column.facts.values[person]))


def inference(view: View, attacks: int, seed: int) -> dict[str, Tally]:
    """Return, for each secret column, how often it is read rightly from the nearest row.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"a": list(range(40)), "b": [x * 10 for x in range(40)]}))
    >>> {name: tally.rate for name, tally in inference(View.of(people, people), 40, 1).items()}
    {'a': 1.0, 'b': 1.0}
    """
    reader, draw = Reader(view), np.random.default_rng(seed)
    if not reader.wanted:
        return {}
    found, naive = [], []
    for target in targets(view, attacks, draw):
        found.append(reader.read(target))
        naive.append([reader.is_right(place, target.person, int(draw.integers(view.rows))) for place in reader.wanted])
    inside = np.array(found, dtype=np.bool_)
    outside: Outcomes = inside[:, :, 1]
    if view.control:
        outside = np.array([reader.read(target) for target in targets(view, attacks, draw, control=True)])[:, :, 0]
    guessed = np.array(naive, dtype=np.bool_)
    return {
        view.columns[place].facts.name: Tally(
            len(inside), int(inside[:, at, 0].sum()), len(outside), int(outside[:, at].sum()), int(guessed[:, at].sum())
        )
        for at, place in enumerate(reader.wanted)
    }
