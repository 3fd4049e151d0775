"""What the public sees of a run, as plain values, and the first place where two runs differ.

Everything that leaves counts, also an error's sentence: a run tells by all of its outputs (Haeberlen, Pierce & Narayan
2011).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

LONGEST = 80  # characters of a value that evidence shows


def plain(outcome: Any) -> Any:
    """Return an outcome as dictionaries, lists and single values, fit to be compared.

    >>> plain({"rows": np.array([1.0, 2.0]), "card": None})
    {'rows': [1.0, 2.0], 'card': None}
    """
    if isinstance(outcome, Mapping):
        return {str(key): plain(value) for key, value in outcome.items()}
    if isinstance(outcome, list | tuple):
        return [plain(value) for value in outcome]
    unpacked = _unpack(outcome)
    return outcome if unpacked is outcome else plain(unpacked)


def _unpack(outcome: Any) -> Any:
    """Return what is inside an array, a dataframe or a record, or the value itself."""
    if isinstance(outcome, np.ndarray | np.generic):
        return outcome.tolist()
    if hasattr(outcome, "to_dicts"):  # a dataframe
        return {"columns": list(outcome.columns), "rows": outcome.to_dicts()}
    if isinstance(outcome, msgspec.Struct):
        return msgspec.structs.asdict(outcome)
    if dataclasses.is_dataclass(outcome) and not isinstance(outcome, type):
        return {entry.name: getattr(outcome, entry.name) for entry in dataclasses.fields(outcome)}
    return outcome


def first_difference(left: Any, right: Any, where: str = "the outcome") -> str | None:
    """Return in words where two plain outcomes differ first, or None.

    >>> first_difference({"rows": [1, 2]}, {"rows": [1, 3]})
    "the outcome, 'rows', [1]: 2 on the left, 3 on the right"
    """
    if isinstance(left, dict) and isinstance(right, dict):
        if list(left) != list(right):
            return f"{where} has {_shown(list(left))} on the left, {_shown(list(right))} on the right"
        parts = ((left[key], right[key], f"{where}, '{key}'") for key in left)
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return f"{where}: {len(left)} entries on the left, {len(right)} on the right"
        parts = ((one, other, f"{where}, [{at}]") for at, (one, other) in enumerate(zip(left, right, strict=True)))
    else:
        same = left == right or (left != left and right != right)  # noqa: PLR0124 - NaN
        return None if same else f"{where}: {_shown(left)} on the left, {_shown(right)} on the right"
    return next((found for part in parts if (found := first_difference(*part))), None)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
