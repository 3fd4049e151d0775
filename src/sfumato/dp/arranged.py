"""An answer as a question wants to see it: its columns called by their names, its groups kept, sorted and cut.

All of it is computed from what has left, and from public names (Dwork & Roth 2014, proposition 2.1): what the ledger
keeps is the answer before, so that another view of it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sfumato.dp.questions.presentation import Arrangement
from sfumato.dp.stored_answer import RANK_ERROR, StoredAnswer, Value


def rename_columns(stored: StoredAnswer, keys: Sequence[str], names: Sequence[str]) -> StoredAnswer:
    """Return the answer with its keys and its columns called otherwise.

    >>> rename_columns(StoredAnswer(question="q", keys=["h"], cells=[], columns=[], epsilon="1"), ["hour"], []).keys
    ['hour']
    """
    pairs = zip(stored.columns, names, strict=True)
    columns = [msgspec.structs.replace(one, name=name) for one, name in pairs]
    called = dict(zip(stored.keys, keys, strict=True))
    key_columns = [msgspec.structs.replace(one, name=called.get(one.name, one.name)) for one in stored.key_columns]
    derived = {called.get(name, name): expression for name, expression in stored.derived.items()}
    return msgspec.structs.replace(stored, keys=list(keys), columns=columns, key_columns=key_columns, derived=derived)


def arrange_groups(stored: StoredAnswer, arrangement: Arrangement) -> StoredAnswer:
    """Return the answer with the groups that a question wants to see, in its order.

    >>> from sfumato.dp.stored_answer import AnswerColumn
    >>> numbers = {"values": [4, 10, 20], "low": [0, 5, 15], "high": [9, 15, 25], "scale": [2.0] * 3}
    >>> column = AnswerColumn(name="count", mechanism="", **numbers)
    >>> answer = StoredAnswer(question="q", keys=["k"], cells=[["a"], ["b"], ["c"]], columns=[column], epsilon="1")
    >>> arrange_groups(answer, Arrangement(limit=2, offset=1)).cells
    [['b'], ['c']]
    """
    words = arrangement.words
    if not words:
        return stored
    places = arrangement.places(values_of(stored), len(stored.cells))
    lists = ("values", "low", "high", "scale")
    columns = [
        msgspec.structs.replace(one, **{name: [getattr(one, name)[place] for place in places] for name in lists})
        for one in stored.columns
    ]
    cells = [stored.cells[place] for place in places]
    chosen = arrangement.chooses_by_noise
    return msgspec.structs.replace(stored, cells=cells, columns=columns, arranged=words, chosen_by_noise=chosen)


def values_of(stored: StoredAnswer) -> dict[str, list[Value]]:
    """Return the columns of an answer: keys, then for each aggregate its value, low and high.

    >>> list(values_of(StoredAnswer(question="q", keys=["k"], cells=[["a"]], columns=[], epsilon="1")))
    ['k']
    """
    data: dict[str, list[Value]] = {
        name: [cells[place] for cells in stored.cells] for place, name in enumerate(stored.keys)
    }
    for column in stored.columns:
        for suffix, values in (("", column.values), ("_low", column.low), ("_high", column.high)):
            data[column.name + suffix] = values
        if column.rank_error is not None:
            data[column.name + RANK_ERROR] = [column.rank_error] * len(column.values)
    return data
