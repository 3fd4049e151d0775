"""Post-processing: what is done to noisy numbers once they are public, which costs nothing.

It looks at released numbers alone (Dwork & Roth 2014, proposition 2.1). A value stays inside its interval, and the
interval covers the truth whenever the one before did: its ends move only to where no truth can lie, or outwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from sfumato.dp.stored_answer import AnswerColumn, StoredAnswer, Value
from sfumato.errors import ParameterError


def postprocess(stored: StoredAnswer, steps: Sequence[str]) -> StoredAnswer:
    """Return the answer after the named steps, which it then names too.

    `nonnegative` sets negative counts to 0; `consistent` does so while the groups keep their noisy total, taking the
    same amount from every other group (Norm-Sub, Wang et al. 2020); `integer` rounds values, and intervals outwards.

    >>> numbers = {"values": [-4, 10, 20], "low": [-9, 5, 15], "high": [1, 15, 25], "scale": [2.0]}
    >>> column = AnswerColumn(name="count", mechanism="", counts=True, **numbers)
    >>> answer = StoredAnswer(question="q", keys=["k"], cells=[["a"], ["b"], ["c"]], columns=[column], epsilon="1")
    >>> made = postprocess(answer, ["consistent"]).columns[0]
    >>> made.values, made.low, made.high
    ([0, 8.0, 18.0], [0, 5, 15], [1, 15, 25])
    """
    columns = stored.columns
    check_postprocessing(steps)
    for step in steps:
        columns = [STEPS[step](column) for column in columns]
    return msgspec.structs.replace(stored, columns=columns, postprocessing=[*stored.postprocessing, *steps])


def check_postprocessing(steps: Sequence[str]) -> None:
    """Refuse a step that does not exist, before anything is paid.

    >>> check_postprocessing(["positive"])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the post-processing is 'positive'; choose from nonnegative, consistent, integer
    """
    for step in steps:
        if step not in STEPS:
            raise ParameterError(f"the post-processing is '{step}'; choose from {', '.join(STEPS)}")


def norm_sub(values: Sequence[float]) -> list[float]:
    """Return the nearest non-negative numbers with the same sum (all 0 where the sum is not above 0).

    >>> norm_sub([5, -1, 0])
    [4.0, 0, 0]
    """
    total = sum(values)
    if total <= 0:
        return [0 for _ in values]
    ranked = sorted(values, reverse=True)
    shift, running = 0.0, 0.0
    for place, value in enumerate(ranked, start=1):
        running += value
        taken = (running - total) / place
        if value > taken:
            shift = taken
    return [value - shift if value > shift else 0 for value in values]


def _nonnegative(column: AnswerColumn) -> AnswerColumn:
    """Counts and their intervals, cut at 0: no true count lies below."""
    if not column.counts:
        return column
    lists = {name: [_above(value) for value in getattr(column, name)] for name in ("values", "low", "high")}
    return msgspec.structs.replace(column, **lists)


def _make_consistent(column: AnswerColumn) -> AnswerColumn:
    """Counts that keep their total; an interval is stretched to a value that was moved out of it, and never moved.

    Moved by the same amount, an interval would no longer cover the truth as often as it says: the amount comes from all
    groups' noise.
    """
    if not column.counts:
        return column
    made = norm_sub([value for value in column.values if isinstance(value, int | float)])
    cut = _nonnegative(column)
    low = [_least(end, value) for end, value in zip(cut.low, made, strict=True)]
    high = [_most(end, value) for end, value in zip(cut.high, made, strict=True)]
    return msgspec.structs.replace(cut, values=list(made), low=low, high=high)


def _integer(column: AnswerColumn) -> AnswerColumn:
    """Whole numbers; an interval's ends go outwards, so that they enclose what they enclosed."""
    return msgspec.structs.replace(
        column,
        values=[_whole(value, round) for value in column.values],
        low=[_whole(value, math.floor) for value in column.low],
        high=[_whole(value, math.ceil) for value in column.high],
    )


def _above(value: Value) -> Value:
    return max(value, 0) if isinstance(value, int | float) else value


def _least(end: Value, value: float) -> Value:
    return min(end, value) if isinstance(end, int | float) else end


def _most(end: Value, value: float) -> Value:
    return max(end, value) if isinstance(end, int | float) else end


def _whole(value: Value, rounded: Callable[[float], int]) -> Value:
    return rounded(value) if isinstance(value, float) else value


STEPS: dict[str, Callable[[AnswerColumn], AnswerColumn]] = {
    "nonnegative": _nonnegative,
    "consistent": _make_consistent,
    "integer": _integer,
}
