"""Nasty neighbours of a table, as rows of text: how a file holds them before anything is parsed.

Neighbours differ by the presence or by the values of one row, or of all rows of one person (Kifer & Machanavajjhala
2011 name both).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from sfumato.audit.twin import Pair
from sfumato.audit.twin.neighbours import places_of
from sfumato.promise.unit import Neighbours

Row = Mapping[str, str]
Rows = Sequence[Row]
CELLS = {"missing": "", "unparseable": "?!", "huge": "9" * 30, "negative": "-7"}
NOBODY = "nobody-else"
MANY = 3  # times as many rows as the busiest person has


def as_frame(rows: Rows, columns: Sequence[str]) -> pl.DataFrame:
    """Return rows of text as a dataframe, its columns in their order also where there is no row.

    >>> as_frame([], ["age", "sex"]).columns
    ['age', 'sex']
    """
    cells = {name: [row[name] for row in rows] for name in columns}
    return pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))


def as_rows(frame: pl.DataFrame) -> list[dict[str, str]]:
    """Return the rows of a dataframe as text, empty where a value is missing.

    >>> as_rows(pl.DataFrame({"age": [31, None]}))
    [{'age': '31'}, {'age': ''}]
    """
    return frame.cast(pl.String).fill_null("").to_dicts()


def row_pairs(rows: Rows, neighbours: Neighbours, fixed: Sequence[str] = ()) -> Iterator[Pair]:
    """Yield tables that differ by one row, or by the values of one; cells of `fixed` columns are never spoilt.

    >>> rows = [{"age": "31"}, {"age": "47"}]
    >>> [pair.words for pair in row_pairs(rows, Neighbours.PRESENCE)][:2]
    ['the first row is there or not', 'the last row is there or not']
    """
    rows = list(rows)
    odd = {kind: _spoilt(rows[0], cell, fixed) for kind, cell in CELLS.items()}
    if neighbours is Neighbours.PRESENCE:
        for name, place in places_of(len(rows)).items():
            yield Pair(rows, rows[:place] + rows[place + 1 :], f"the {name} row is there or not")
        yield Pair(rows[:1], [], "the only row is there or not")
        yield Pair(rows, [*rows, rows[0]], "a row more, equal to another")
        for kind, row in odd.items():
            yield Pair(rows, [*rows, row], f"a last row more, its cells {kind}")
            yield Pair(rows, [row, *rows], f"a first row more, its cells {kind}")
        return
    for name, place in places_of(len(rows)).items():
        kept = {column: rows[place][column] for column in fixed}
        for kind, row in {**odd, "equal to another": dict(rows[place - 1])}.items():
            yield Pair(rows, [*rows[:place], {**row, **kept}, *rows[place + 1 :]], f"the {name} row's cells: {kind}")


def person_pairs(rows: Rows, person: str, neighbours: Neighbours, fixed: Sequence[str] = ()) -> Iterator[Pair]:
    """Yield tables that differ by the rows of one person: the one with most rows, the first, one with very many.

    >>> rows = [{"id": "a", "x": "1"}, {"id": "b", "x": "2"}, {"id": "a", "x": "3"}]
    >>> [pair.words for pair in person_pairs(rows, "id", Neighbours.PRESENCE)][0]
    'the 2 rows of the busiest person are there or not'
    """
    rows = list(rows)
    counts = Counter(row[person] for row in rows)
    chosen = {"busiest": max(counts, key=counts.__getitem__), "first": rows[0][person], "last": rows[-1][person]}
    if neighbours is Neighbours.PRESENCE:
        for name, one in chosen.items():
            kept = [row for row in rows if row[person] != one]
            yield Pair(rows, kept, f"the {counts[one]} rows of the {name} person are there or not")
        alone = [row for row in rows if row[person] == chosen["busiest"]]
        yield Pair(alone, [], "the only person is there or not")
        many = MANY * max(counts.values())
        crowd = [{**rows[at % len(rows)], person: NOBODY} for at in range(many)]
        yield Pair(rows, [*crowd, *rows], f"a person with {many} rows more, the first ones")
        yield Pair(rows, [*rows, *crowd], f"a person with {many} rows more, the last ones")
        return
    for name, one in chosen.items():
        for kind, cell in CELLS.items():
            changed = [_spoilt(row, cell, [person, *fixed]) if row[person] == one else row for row in rows]
            yield Pair(rows, changed, f"the cells of the {name} person's {counts[one]} rows: {kind}")


def _spoilt(row: Row, cell: str, fixed: Sequence[str]) -> dict[str, str]:
    return {name: value if name in fixed else cell for name, value in row.items()}
