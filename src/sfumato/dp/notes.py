"""What a reader must know of an answer's numbers: bounds, computed columns, rows and groups that are not there, ranks.

All of it follows from the schema, the question and its price, never from the rows, so that saying it costs nothing
(Wilson et al. 2020, sections 3.2 and 3.3).
"""

from __future__ import annotations

from sfumato.dp.stored_answer import OF_CANDIDATES, AnswerColumn, KeyColumn, StoredAnswer

CHOSEN = "the noisy numbers decided which groups are shown, so that shown numbers lean to what was asked for"


def notes_of(stored: StoredAnswer) -> list[str]:
    """Return what must be known of an answer, a sentence each.

    >>> stored = StoredAnswer(question="q", keys=["zone"], cells=[], columns=[], epsilon="1", clipped={"age": [0, 99]})
    >>> notes_of(stored)
    ['values of age are clipped to [0, 99]', 'rows with a value of zone that is not listed, or without one, are in no \
group']
    """
    return [
        *(f"{name} is computed: {expression}" for name, expression in stored.derived.items() if name != expression),
        *(f"values of {name} are clipped to [{low}, {high}]" for name, (low, high) in stored.clipped.items()),
        *stored.said,
        *_missing_groups(stored),
        *_missing_rows(stored),
        *([CHOSEN] if stored.chosen_by_noise else []),
        *(words for column in stored.columns if (words := rank_words(column))),
    ]


def rank_words(column: AnswerColumn) -> str:
    """Return what a quantile's rank is worth, in words; nothing for other answers.

    >>> numbers = {"values": [3], "low": [None], "high": [None], "scale": [40.0]}
    >>> rank_words(AnswerColumn(name="min_age", mechanism="", **numbers, rank_error=40.0, least_rows=41))
    'min_age is within ±40 rows of its rank (95 %); in a group of fewer than 41 rows it may be any value'
    """
    if column.rank_error is None:
        return ""
    whose = "the best candidate's" if column.unit_of_scale == OF_CANDIDATES else "its"
    return (
        f"{column.name} is within ±{column.rank_error:.0f} rows of {whose} rank (95 %); in a group of fewer than "
        f"{column.least_rows} rows it may be any value"
    )


def withheld_words(least: int, present_from: int | None, units: str) -> list[str]:
    """Return which keys a threshold withholds, and which it lets out nearly always; both follow from the noise alone.

    >>> withheld_words(29, 41, "rows")[1]
    'a key with 41 rows or more is there with 95 % probability; how many smaller ones are missing is not told'
    """
    told = [f"keys with fewer than about {least} {units} are withheld (threshold)"]
    if present_from is None:
        return told
    sure = f"a key with {present_from} {units} or more is there with 95 % probability"
    return [*told, f"{sure}; how many smaller ones are missing is not told"]


def _missing_groups(stored: StoredAnswer) -> list[str]:
    if stored.threshold is None:
        return []
    units = "persons" if stored.unit.startswith("person") else "rows"
    return withheld_words(stored.threshold, stored.present_from, units)


def _missing_rows(stored: StoredAnswer) -> list[str]:
    """Return which rows are in no group; answers of the first ledgers kept the keys' names alone."""
    first = [KeyColumn(name=name, declared=stored.threshold is None, ordered=False) for name in stored.keys]
    keys = stored.key_columns or [key for key in first if key.declared]
    listed = [key.name for key in keys if key.declared and key.edges is None]
    parts = [f"a value of {' or '.join(listed)} that is not listed"] if listed else []
    parts += [f"a value of {key.name} outside [{key.edges[0]}, {key.edges[-1]}]" for key in keys if key.edges]
    if parts:
        return [f"rows with {', or with '.join(parts)}, or without one, are in no group"]
    unlisted = [key.name for key in keys]
    return [f"rows without a value of {' or '.join(unlisted)} are in no group"] if unlisted else []
