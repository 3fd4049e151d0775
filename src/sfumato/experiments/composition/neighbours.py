"""Classes of a k-anonymous table, and those that do not survive the loss or gain of one row.

Pereira 2014, section 5.2: figures 14 and 15, tables 12, 13 and 18; and its case of chapter 3, table 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from sfumato.audit.composition.neighbours import Change, Classes, Neighbourhood, change
from sfumato.errors import UnsatisfiableError
from sfumato.experiments.composition.tables import Known, known
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.models.k_anonymity import KAnonymity
from sfumato.schema import Role
from sfumato.tabular.mondrian import Mondrian

REMOVAL, ADDITION = "removal", "addition"
MONDRIAN = Mondrian()


def classes(data: Data, *, table: str, k: int, seed: int) -> Iterable[Row]:
    """Return how many classes have how many rows.

    >>> sum(row["classes"] * row["rows"] for row in classes(Data(None), table="census-10k", k=10, seed=2014))
    10000
    """
    _, base = _anonymised(known(data, table, seed), k, additions=1, seed=seed)
    sizes = Counter(base.sizes.tolist())
    return [{"rows": size, "classes": sizes[size]} for size in sorted(sizes)]


def changes(data: Data, *, table: str, k: int, neighbour: str, trials: int, seed: int) -> Iterable[Row]:
    """Return how often how many classes, and rows of classes, are gone or new when a row goes or comes.

    >>> rows = list(changes(Data(None), table="census-10k", k=10, neighbour="removal", trials=5, seed=2014))
    >>> sum(row["occurrences"] for row in rows if row["changed"] == "classes")
    5
    """
    found = list(changed(known(data, table, seed), k, neighbour, trials, seed))
    for name, numbers in zip(("classes", "rows"), zip(*found, strict=True), strict=True):
        for number, occurrences in sorted(Counter(numbers).items()):
            yield {"changed": name, "number": number, "occurrences": occurrences}


def changed(people: Known, k: int, neighbour: str, trials: int, seed: int) -> Iterator[tuple[int, int]]:
    """Return, for each random neighbour, the classes gone and new together and the rows that all of them hold.

    >>> from sfumato.experiments.composition.tables import CENSUS
    >>> len(list(changed(known(Data(None), CENSUS, 2014), 10, REMOVAL, 3, 1)))
    3
    """
    around, base = _anonymised(people, k, additions=trials, seed=seed)
    removed = np.random.default_rng(seed).permutation(around.rows)[:trials].tolist()
    for place in range(trials):
        kept = around.without(removed[place]) if neighbour == REMOVAL else around.with_one(place)
        after = around.classes(MONDRIAN, kept)
        if after is not None:
            found = change(base, after)
            yield found.count, int(base.sizes[found.gone].sum() + after.sizes[found.new].sum())


def vanished(data: Data, *, table: str, k: int, seed: int) -> Iterable[Row]:
    """Return the classes gone and new when a class of exactly k loses a row: the case that changes fewest classes.

    >>> rows = list(vanished(Data(None), table="census-10k", k=10, seed=2014))
    >>> min(row["rows"] for row in rows if row["release"] == "with the row")
    10
    """
    people = known(data, table, seed)
    around, base = _anonymised(people, k, additions=1, seed=seed)
    fewest: tuple[Change, Classes] | None = None
    for number in np.flatnonzero(base.sizes == k).tolist():
        after = around.classes(MONDRIAN, around.without(int(np.flatnonzero(base.labels == number)[0])))
        if after is None:
            continue
        found = change(base, after)
        if fewest is None or found.count < fewest[0].count:
            fewest = found, after
    if fewest is None:
        return []
    found, after = fewest
    sides = [("with the row", base, found.gone), ("without it", after, found.new)]
    return [
        {"release": side, "box": _box(people, owner, int(number)), "rows": int(owner.sizes[number])}
        for side, owner, numbers in sides
        for number in numbers
    ]


def _anonymised(people: Known, k: int, *, additions: int, seed: int) -> tuple[Neighbourhood, Classes]:
    around = Neighbourhood.of(people.table, people.schema, [KAnonymity(k)], additions=additions, seed=seed)
    base = around.classes(MONDRIAN, around.whole)
    if base is None:
        raise UnsatisfiableError(f"the table has {people.table.rows} rows, fewer than k={k}; ask for less")
    return around, base


def _box(people: Known, owner: Classes, number: int) -> str:
    """Return a class's ranges as the dissertation writes them."""
    rows = np.flatnonzero(owner.labels[: people.table.rows] == number)
    values = [people.table.column(name).gather(rows).to_numpy() for name in people.schema.names(Role.QUASI)]
    return ", ".join(f"[{column.min()}:{column.max()}]" for column in values)
