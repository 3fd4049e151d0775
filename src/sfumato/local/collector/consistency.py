"""Consistent counts: not negative, and together as many as there are users; post-processing, which costs no privacy.

Wang, Lopuhaä-Zwakenberg, Li, Skoric & Li (2020), "Locally Differentially Private Frequency Estimation with
Consistency"; `rounded` is what source 002 did to its answers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.core.arrays import Reals
from sfumato.errors import ParameterError, suggestion


def norm_sub(counts: Reals, users: float) -> Reals:
    """Return the nearest counts that are not negative and add up to `users`: one amount is taken from all.

    The Euclidean projection to the simplex, which maximum likelihood gives for equal variances.

    >>> norm_sub(np.array([6.0, 3.0, -2.0]), 8).tolist()
    [5.5, 2.5, 0.0]
    """
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - users) / np.arange(1, counts.size + 1)
    kept = max(1, int(np.count_nonzero(falling > excess)))
    nearest: Reals = np.maximum(counts - excess[kept - 1], 0.0)
    return nearest


def norm(counts: Reals, users: float) -> Reals:
    """Return counts shifted by one amount so that they add up to `users`; they may be negative.

    >>> norm(np.array([6.0, 3.0, -3.0]), 9).tolist()
    [7.0, 4.0, -2.0]
    """
    shift = (users - float(counts.sum())) / counts.size
    return counts + shift


def norm_mul(counts: Reals, users: float) -> Reals:
    """Return counts without the negative ones, multiplied so that they add up to `users`.

    >>> norm_mul(np.array([6.0, 2.0, -3.0]), 4).tolist()
    [3.0, 1.0, 0.0]
    """
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    return positive * (users / total) if total > 0 else np.full(counts.size, users / counts.size)


def rounded(counts: Reals) -> Reals:
    """Return counts rounded to whole numbers, the negative ones as 0: source 002's way.

    >>> rounded(np.array([1.6, -2.0])).tolist()
    [2.0, 0.0]
    """
    return np.maximum(np.rint(counts), 0.0)


def base_cut(counts: Reals, deviation: Reals, level: float = 0.05) -> Reals:
    """Return counts with those set to 0 that noise alone would reach with probability `level` somewhere in the domain.

    The limit is the normal quantile at 1 - level/d times a value's standard deviation.

    >>> base_cut(np.array([50.0, 3.0, -2.0]), np.array([2.0, 2.0, 2.0])).tolist()
    [50.0, 0.0, 0.0]
    """
    from statistics import NormalDist

    limit = NormalDist().inv_cdf(1 - level / counts.size) * deviation
    return np.where(counts > limit, counts, 0.0)


METHODS: dict[str, Callable[[Reals, Reals, int], Reals]] = {
    "norm-sub": lambda counts, _, users: norm_sub(counts, users),
    "norm": lambda counts, _, users: norm(counts, users),
    "norm-mul": lambda counts, _, users: norm_mul(counts, users),
    "base-cut": lambda counts, deviation, _: base_cut(counts, deviation),
    "rounded": lambda counts, _, __: rounded(counts),
}


def method_name(consistent: bool | str) -> str | None:  # noqa: FBT001  # a switch that also takes a name
    """Return the name of the method asked for: Norm-Sub for True, None for raw counts.

    >>> method_name(True), method_name(False), method_name("rounded")
    ('norm-sub', None, 'rounded')
    """
    if isinstance(consistent, bool):
        return "norm-sub" if consistent else None
    if consistent not in METHODS:
        raise ParameterError(f"there is no consistency method '{consistent}'{suggestion(consistent, METHODS)}")
    return consistent
