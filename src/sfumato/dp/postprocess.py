"""What costs nothing: changes that look at released numbers alone (Dwork & Roth 2014, proposition 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from sfumato.dp.answer import Column, Stored, Value
from sfumato.errors import ParameterError


def postprocess(stored: Stored, steps: Sequence[str]) -> Stored:
    """Return the answer after the named steps, which it then names too.

    `nonnegative` sets negative counts to 0; `consistent` does so while the groups keep their noisy total, taking the
    same amount from every other group (Norm-Sub, Wang et al. 2020); `integer` rounds.

    >>> numbers = {"values": [-4, 10, 20], "low": [-9, 5, 15], "high": [1, 15, 25], "scale": [2.0]}
    >>> column = Column(name="count", mechanism="", counts=True, **numbers)
    >>> answer = Stored(question="q", keys=["k"], cells=[["a"], ["b"], ["c"]], columns=[column], epsilon="1")
    >>> postprocess(answer, ["consistent"]).columns[0].values
    [0, 8.0, 18.0]
    """
    columns = stored.columns
    postprocess_known(steps)
    for step in steps:
        columns = [STEPS[step](column) for column in columns]
    return msgspec.structs.replace(stored, columns=columns, postprocessing=[*stored.postprocessing, *steps])


def postprocess_known(steps: Sequence[str]) -> None:
    """Refuse a step that does not exist, before anything is paid.

    >>> postprocess_known(["positive"])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the post-processing is 'positive'; choose from nonnegative, consistent, integer
    """
    for step in steps:
        if step not in STEPS:
            raise ParameterError(f"the post-processing is '{step}'; choose from {', '.join(STEPS)}")


def _nonnegative(column: Column) -> Column:
    if not column.counts:
        return column
    lists = {name: [_above(value) for value in getattr(column, name)] for name in ("values", "low", "high")}
    return msgspec.structs.replace(column, **lists)


def _consistent(column: Column) -> Column:
    if not column.counts:
        return column
    made = norm_sub([value for value in column.values if isinstance(value, int | float)])
    return msgspec.structs.replace(_nonnegative(column), values=list(made))


def _integer(column: Column) -> Column:
    lists = {name: [_whole(value) for value in getattr(column, name)] for name in ("values", "low", "high")}
    return msgspec.structs.replace(column, **lists)


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


def _above(value: Value) -> Value:
    return max(value, 0) if isinstance(value, int | float) else value


def _whole(value: Value) -> Value:
    return round(value) if isinstance(value, float) else value


STEPS: dict[str, Callable[[Column], Column]] = {
    "nonnegative": _nonnegative,
    "consistent": _consistent,
    "integer": _integer,
}
