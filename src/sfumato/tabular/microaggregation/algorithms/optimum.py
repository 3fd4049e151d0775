"""The exact optimum of small instances, by set partitioning over generated columns.

Aloise, Hansen, Rocha & Santi, "Column generation bounds for numerical microaggregation"
(2014).
"""

from math import comb

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_array

from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.algorithms.optimum_kernel import cheap_groups, pair_distances
from sfumato.tabular.microaggregation.loss import Labels, Records

MOST_GROUPS = 20_000_000
BATCH = 20_000

Groups = npt.NDArray[np.int64]


def incidence(groups: Groups, n: int) -> csc_array:
    """Return the matrix with a row per record and a column per group."""
    column, place = np.nonzero(groups >= 0)
    return csc_array((np.ones(len(column)), (groups[column, place], column)), (n, len(groups)))


def price_groups(pairs: Records, k: int, prices: Records, limit: float, room: int) -> tuple[Groups, Records]:
    """Return the groups with a reduced cost below ``limit``, all of them if ``room`` allows."""
    groups = np.empty((room, 2 * k - 1), np.int64)
    errors = np.empty(room)
    count = min(cheap_groups(pairs, k, prices, limit, groups, errors), room)
    return groups[:count], errors[:count]


def solve_relaxation(pairs: Records, k: int, groups: Groups, errors: Records) -> tuple[float, Records]:
    """Return value and record prices of the linear relaxation, proved by a last empty pricing."""
    n = len(pairs)
    while True:
        solved = linprog(errors, A_eq=incidence(groups, n), b_eq=np.ones(n), method="highs")
        prices = np.asarray(solved.eqlin.marginals, np.float64)
        fresh, costs = price_groups(pairs, k, prices, -1e-9, MOST_GROUPS // 20)
        if len(fresh) == 0:
            return float(solved.fun), prices
        gain = costs - np.where(fresh >= 0, prices[fresh], 0.0).sum(axis=1)
        best = np.argsort(gain, kind="stable")[:BATCH]
        groups = np.concatenate([groups, fresh[best]])
        errors = np.concatenate([errors, costs[best]])


def columns_of(pairs: Records, k: int, start: Labels) -> tuple[Groups, Records]:
    """Return the groups of a solution and their errors."""
    groups = np.full((int(start.max()) + 1, 2 * k - 1), -1, np.int64)
    errors = np.empty(len(groups))
    for group in range(len(groups)):
        members = np.flatnonzero(start == group)
        groups[group, : len(members)] = members
        errors[group] = pairs[np.ix_(members, members)].sum() / (2 * len(members))
    return groups, errors


def optimum(x: Records, k: int, start: Labels) -> tuple[Labels, float]:
    """Return labels of least error and the lower bound of the linear relaxation.

    ``start`` is any solution with groups of k to 2k-1 records, the better the faster: a
    group of the optimum has a reduced cost of at most the gap between ``start`` and the
    relaxation, so that these groups are all the integer program needs.
    """
    n = len(x)
    if sum(comb(n, size) for size in range(k, 2 * k)) > MOST_GROUPS:
        message = f"The exact optimum is for small instances. Got {n} records with k = {k}."
        raise ParameterError(message)
    pairs = pair_distances(x)
    if n < 2 * k:
        return np.zeros(n, np.int64), float(pairs.sum() / (2 * n))
    groups, errors = columns_of(pairs, k, start)
    bound, prices = solve_relaxation(pairs, k, groups, errors)
    slack = float(errors.sum()) - bound + 1e-9
    groups, errors = price_groups(pairs, k, prices, slack, MOST_GROUPS // 20)
    if len(groups) == MOST_GROUPS // 20:
        message = "The start is too far from the optimum: too many groups could still be in it."
        raise ParameterError(message)
    cover = LinearConstraint(incidence(groups, n), 1.0, 1.0)
    solved = milp(errors, constraints=cover, integrality=np.ones(len(groups)), bounds=Bounds(0, 1))
    labels = np.empty(n, np.int64)
    for label, group in enumerate(groups[solved.x > 0.5]):
        labels[group[group >= 0]] = label
    return labels, bound
