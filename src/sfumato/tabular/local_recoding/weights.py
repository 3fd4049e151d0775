"""Weights of quasi-identifiers by what they tell about a target, so that a search spares what a model learns from.

Mutual information: Shannon 1948; without its bias from few rows: Miller 1955.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sfumato.errors import SchemaError
from sfumato.schema import Role, Schema
from sfumato.schema.kinds import detect
from sfumato.table import Table
from sfumato.table.coding import Column, code, code_held

Int64s = npt.NDArray[np.int64]
LEAST = 0.1  # the weight of a column that tells nothing: its loss still counts
PARTS = 10  # a target of numbers, days or times is cut into so many parts of equal size


def target_weights(table: Table, schema: Schema, target: str) -> dict[str, float]:
    """Return a weight for each quasi-identifier, one on average before the least: what its values tell about a target.

    They are computed from raw rows, so they are the steward's.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({
    ...     "sex": ["F", "M"] * 50, "age": [20] * 50 + [60] * 50, "income": ["low"] * 50 + ["high"] * 50}))
    >>> schema = sf.Schema.from_roles(quasi=["sex", "age"], other="keep")
    >>> target_weights(people, schema, "income")
    {'sex': 0.1, 'age': 2.0}
    """
    settled = schema.settled(table)
    names = settled.names(Role.QUASI)
    if target in names:
        raise SchemaError(f"the target '{target}' is a quasi-identifier; name a column that is released as it is")
    series, declared = table.column(target), settled.columns.get(target)
    if declared is None or declared.role is Role.IDENTIFIER:
        raise SchemaError(f"the target '{target}' is left out of the release; name a column that is released")
    kind = declared.kind or detect(series, declared.missing)
    aims = _parts(code(series, replace(declared, kind=kind)))
    if len(np.unique(aims)) < 2:
        raise SchemaError(f"the target '{target}' has one value in all rows; name a column whose values differ")
    columns = {name: code_held(table.held(name), settled.columns[name], code) for name in names}
    told = {name: mutual_information(column.codes, aims) for name, column in columns.items()}
    mean = sum(told.values()) / len(told)
    return {name: max(LEAST, each / mean) if mean > 0 else 1.0 for name, each in told.items()}


def weights_note(target: str, weights: Mapping[str, float]) -> str:
    """Return the steward's sentence about weights, the heaviest column first; they are computed from raw rows.

    >>> weights_note("income", {"sex": 0.1, "age": 1.9})
    "what columns tell about 'income' weighs them: age 1.9, sex 0.1"
    >>> weights_note("income", {"sex": 1.0, "age": 1.0})
    "no column tells more about 'income' than another, so all weigh the same"
    """
    if len(set(weights.values())) == 1:
        return f"no column tells more about '{target}' than another, so all weigh the same"
    ordered = sorted(weights.items(), key=lambda entry: -entry[1])
    return f"what columns tell about '{target}' weighs them: " + ", ".join(
        f"{name} {weight:.2g}" for name, weight in ordered
    )


def mutual_information(one: npt.NDArray[np.integer], two: npt.NDArray[np.integer]) -> float:
    """Return how much one column tells about another in nats, less what chance alone would seem to tell.

    >>> round(mutual_information(np.array([0, 1] * 500), np.array([0, 1] * 500)), 3)
    0.693
    >>> mutual_information(np.array([0, 1] * 500), np.array([0, 0, 1, 1] * 250))
    0.0
    """
    places, index = np.unique(one, return_inverse=True)
    others, other = np.unique(two, return_inverse=True)
    counts = np.bincount(index * len(others) + other, minlength=len(places) * len(others))
    shares = counts.reshape(len(places), len(others)) / len(one)
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    seen = shares > 0
    told = float((shares[seen] * np.log(shares[seen] / apart[seen])).sum())
    return max(0.0, told - (len(places) - 1) * (len(others) - 1) / (2 * len(one)))


def _parts(column: Column) -> Int64s:
    """Return the codes of a target, those of numbers cut into parts of equal size; a missing one is a part."""
    codes = column.codes.astype(np.int64)
    if not column.kind.numeric or column.size <= PARTS:
        return codes
    known = codes[codes >= column.has_missing]
    edges = np.unique(np.quantile(known, np.arange(1, PARTS) / PARTS))
    return np.where(codes < column.has_missing, -1, np.searchsorted(edges, codes, side="left"))
