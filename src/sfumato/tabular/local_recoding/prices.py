"""Prices of rows that prove a high bound on the loss, found by subgradients; any prices found are proven anew.

Steps after Polyak, "Minimization of unsmooth functionals" (1969), smoothed as in Camerini, Fratta & Maffioli 1975.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.tabular.local_recoding.bound import counts_of, lattice_of, mean_penalty, slack_of, whole
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import Penalties

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ROOM = 1 << 22  # members of groups that there is room for at first
MARGIN = 0.5  # slack above a cell's least one up to which a group is looked at, in columns
STEPS = 120  # steps on the same groups
PATIENCE = 8  # steps without gain after which they become shorter
SHORTER = 0.7
FLAT = 1e-12  # a direction that leads nowhere
KEPT = 0.7  # share of the last direction in the next one


class CellGroups(NamedTuple):
    """Groups of cells under nodes: the members of group g from starts[g] to starts[g + 1], and what a row costs."""

    starts: Int64s
    penalty: Floats
    members: Int32s


def price_bound(cells: Cells, penalties: Penalties, least: int, reached: float, rounds: int = 4) -> float:
    """Return the best bound that prices prove, where all columns are trees; `reached` is a loss that a search reached.

    It is a bound whatever `reached` is. Each round looks for the groups that matter under the prices so far.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.local_recoding.penalties import penalties
    >>> from sfumato.tabular.problem import Problem
    >>> town = sf.Hierarchy.from_rows([["Bern", "CH"], ["Basel", "CH"], ["Rome", "IT"]])
    >>> schema = sf.Schema({"town": sf.Attribute("town", sf.Role.QUASI, hierarchy=town)})
    >>> table = sf.Table.from_frame(pl.DataFrame({"town": ["Bern", "Basel", "Basel", "Rome"]}))
    >>> problem = Problem.of(table, schema, [sf.KAnonymity(2)])
    >>> 0.43 < price_bound(Cells.of(problem), penalties(problem.quasi), 2, 0.5) <= 0.5  # {Bern, Rome}, {Basel, Basel}
    True
    """
    prices, step, groups = np.zeros(cells.count), 1.0, None
    target = reached * len(cells.of_row) * len(penalties.facts)
    slack = slack_of(cells, penalties, least, prices)
    best = mean_penalty(cells, penalties, slack)
    for _ in range(rounds):
        groups = joined(groups, groups_that_matter(cells, penalties, least, prices, slack + MARGIN))
        prices, step = climb(groups, counts_of(cells), prices, whole(penalties), least, target, step)
        slack = slack_of(cells, penalties, least, prices)
        best = max(best, mean_penalty(cells, penalties, prices + slack))
    return best


def joined(old: CellGroups | None, new: CellGroups) -> CellGroups:
    """Return the groups of both."""
    if old is None:
        return new
    starts = np.concatenate([old.starts, old.starts[-1] + new.starts[1:]])
    return CellGroups(starts, np.concatenate([old.penalty, new.penalty]), np.concatenate([old.members, new.members]))


def groups_that_matter(cells: Cells, penalties: Penalties, least: int, prices: Floats, most: Floats) -> CellGroups:
    """Return the groups whose slack is at most that of one of their cells, each under its smallest node."""
    from sfumato.tabular.local_recoding.bound_kernel import tight_groups

    facts, nodes, costs, _ = penalties
    order, every = np.argsort(-prices, kind="stable"), lattice_of(penalties)
    made, filled = ROOM >> 4, ROOM
    while True:
        starts, penalty = np.zeros(made + 1, dtype=np.int64), np.empty(made)
        members = np.empty(filled, dtype=np.int32)
        made, filled = tight_groups(
            facts,
            nodes,
            costs,
            cells.codes,
            counts_of(cells),
            every,
            prices,
            order,
            least,
            most,
            starts,
            penalty,
            members,
        )
        if made <= len(penalty) and filled <= len(members):
            return CellGroups(starts[: made + 1], penalty[:made], members[:filled])


def climb(
    groups: CellGroups, counts: Int64s, prices: Floats, dearest: float, least: int, target: float, step: float
) -> tuple[Floats, float]:
    """Return prices that raise the bound, as far as these groups know, and the length of the last step."""
    from sfumato.tabular.local_recoding.prices_kernel import fill_slack, fill_slope

    slack, slope, kept = np.empty(len(counts)), np.empty(len(counts)), np.zeros(len(counts))
    chosen = np.zeros(len(counts), dtype=np.int64)
    best, found, idle = -np.inf, prices, 0
    for _ in range(STEPS):
        fill_slack(*groups, counts, prices, least, slack, chosen)
        value = float(counts @ (prices + np.minimum(slack, dearest - prices)))
        idle = 0 if value > best else idle + 1
        if value > best:
            best, found = value, prices
        if idle > PATIENCE:
            step, idle, prices, kept = step * SHORTER, 0, found, np.zeros(len(counts))
            continue
        fill_slope(groups.starts, groups.members, counts, prices, least, chosen, slope)
        kept = KEPT * kept + (1 - KEPT) * slope
        steepness = float(counts @ kept**2)
        if value >= target or steepness < FLAT:
            break
        prices = prices + step * (target - value) / steepness * kept
    return found, step
